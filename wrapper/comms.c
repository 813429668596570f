/* Handles of communicators: small numbers, so that any word can be looked at before anything is touched. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "wrapper.h"

#define MAX_COMMS 16384

static _Atomic(struct comm *) comms[MAX_COMMS];
static atomic_int used;

struct comm *comm_of(uintptr_t word)
{
    if (word - WRAPPER_COMM_FIRST < MAX_COMMS)
        return atomic_load_explicit(&comms[word - WRAPPER_COMM_FIRST], memory_order_acquire);
    return word == WRAPPER_COMM_WORLD && world.comm.core ? &world.comm : NULL;
}

uintptr_t comm_publish(const struct comm *comm)
{
    struct comm *own = malloc(sizeof *own);
    const int slot = own ? atomic_fetch_add(&used, 1) : MAX_COMMS;
    if (slot >= MAX_COMMS) {
        atomic_store(&used, MAX_COMMS);
        free(own);
        return 0;
    }
    *own = *comm;
    atomic_store_explicit(&comms[slot], own, memory_order_release);
    return WRAPPER_COMM_FIRST + (uintptr_t)slot;
}

EXPORT int MPIABI_Comm_rank(uintptr_t word, int *rank)
{
    const struct comm *comm = comm_of(word);
    *rank = comm ? comm->rank : 0;
    return comm ? 0 : comm_wrong(word, "MPI_Comm_rank");
}

EXPORT int MPIABI_Comm_size(uintptr_t word, int *size)
{
    const struct comm *comm = comm_of(word);
    *size = comm ? comm->size : 0;
    return comm ? 0 : comm_wrong(word, "MPI_Comm_size");
}

/*
 * XLA frees its communicators when the process ends, after MPI_Finalize and each process by itself, so nothing that the others take part in
 * is done: the library ends its communicators with MPI.
 */
EXPORT int MPIABI_Comm_free(uintptr_t *word)
{
    const bool ours = *word - WRAPPER_COMM_FIRST < MAX_COMMS && atomic_exchange(&comms[*word - WRAPPER_COMM_FIRST], NULL);
    const uintptr_t was = *word;
    *word = WRAPPER_COMM_NULL;
    return ours || life_ended() ? 0 : comm_wrong(was, "MPI_Comm_free");
}
