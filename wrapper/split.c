/* MPI_Comm_split: how XLA makes a communicator for each clique of devices. */
#include <stdatomic.h>
#include <stdio.h>

#include "wrapper.h"

/* XLA does not look at the result of MPI_Comm_split, so what failed is told here, once, and again by every call on the COMM_NULL it gave. */
static _Atomic int split_error;

int comm_wrong(uintptr_t word, const char *function)
{
    if (word == WRAPPER_COMM_NULL && split_error)
        return split_error;
    if (word == WRAPPER_COMM_WORLD && world_error)
        return world_error;
    if (word == WRAPPER_COMM_WORLD)
        return fail(REACTANT_MPI_ERR_STATE, "%s: MPI_Init has not been called", function);
    return fail(REACTANT_MPI_ERR_COMM, "%s: %#zx is not a communicator%s", function, (size_t)word,
                word == WRAPPER_COMM_NULL ? ", but MPI_COMM_NULL" : "");
}

static int split_failed(int error, uintptr_t *out)
{
    char text[1024];
    int none = 0;
    *out = WRAPPER_COMM_NULL;
    if (atomic_compare_exchange_strong(&split_error, &none, error)) {
        latch(error);
        error_text(error, text, sizeof text);
        fprintf(stderr, "reactant_mpi: JAX gets no communicator: %s\n", text);
    }
    return error;
}

void split_forget(void)
{
    split_error = 0;
}

EXPORT int MPIABI_Comm_split(uintptr_t word, int color, int key, uintptr_t *out)
{
    const struct comm *parent = comm_of(word);
    struct comm new = {0};
    *out = WRAPPER_COMM_NULL;
    if (!parent)
        return split_failed(comm_wrong(word, "MPI_Comm_split"), out);
    if (parent != &world.comm)
        return split_failed(fail(REACTANT_MPI_ERR_UNSUPPORTED, "MPI_Comm_split: only MPI_COMM_WORLD is split, as XLA does"), out);
    const int error = round_join(color, key, &new);
    if (error)
        return split_failed(error, out);
    if (!new.size) /* no colour */
        return 0;
    *out = comm_publish(&new);
    return *out ? 0 : split_failed(fail(REACTANT_MPI_ERR_MEMORY, "MPI_Comm_split: out of memory, or of communicators"), out);
}
