/*
 * Handles, of badinput.c: words that are no live communicator or request, in every call; dead ones; requests that come and go.
 */
#ifndef BADINPUT_HANDLES_H
#define BADINPUT_HANDLES_H

#include "badinput.h"

#include <sys/mman.h>

static uint64_t random_state = 88172645463325252u;
static uint64_t random_word(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* All calls and queries on one word that is no live communicator. */
static void refuse_comm(uintptr_t word)
{
    struct args x = good();
    x.comm = (reactant_mpi_comm *)word;
    for (int k = 0; k < N_CALLS; k++)
        FAILS(REACTANT_MPI_ERR_COMM, call_name(k), call(k, x));
    for (int k = 0; k < N_QUERIES; k++)
        if (word != 0 || strcmp(query_names[k], "describe") != 0) /* NULL describes the process */
            FAILS(REACTANT_MPI_ERR_COMM, query_names[k], query(k, x.comm));
}

/* One call and one query, for the long lists. */
static void refuse_comm_quickly(uintptr_t word)
{
    reactant_mpi_comm *c = (reactant_mpi_comm *)word;
    int rc = reactant_mpi_allreduce(a, b, 1, I64, SUM, c);
    CHECK(rc == REACTANT_MPI_ERR_COMM, "allreduce on the word 0x%llx gave %d", (unsigned long long)word, rc);
    rc = reactant_mpi_rank(c);
    CHECK(rc == -REACTANT_MPI_ERR_COMM, "rank of the word 0x%llx gave %d", (unsigned long long)word, rc);
}

static void refuse_request(uintptr_t word)
{
    static const char *const names[] = {"run", "start", "wait", "wait_for", "test", "waitall", "testall", "request_free"};
    reactant_mpi_request *r = (reactant_mpi_request *)word, *list[2] = {NULL, r};
    int done = 7;
    const int rc[] = {reactant_mpi_run(r),
                      reactant_mpi_start(r),
                      reactant_mpi_wait(r, NULL),
                      reactant_mpi_wait_for(r, 0, NULL),
                      reactant_mpi_test(r, &done, NULL),
                      word ? reactant_mpi_waitall(2, list, NULL) : REACTANT_MPI_ERR_REQUEST, /* NULL counts as done there */
                      word ? reactant_mpi_testall(2, list, &done, NULL) : REACTANT_MPI_ERR_REQUEST,
                      reactant_mpi_request_free(r)};
    for (size_t i = 0; i < sizeof rc / sizeof rc[0]; i++)
        if (rc[i] != REACTANT_MPI_ERR_REQUEST)
            CHECK(0, "%s on the word 0x%llx gave %d", names[i], (unsigned long long)word, rc[i]);
    CHECK(done == 0, "a test of the word 0x%llx says done %d", (unsigned long long)word, done);
}

static void each_strange_word(void (*refuse)(uintptr_t), uintptr_t live, bool ids_live)
{
    int64_t id = reactant_mpi_comm_id(comm);
    void *heap = malloc(4096);
    void *page = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uintptr_t near[] = {(uintptr_t)heap,
                        (uintptr_t)heap + 4095,
                        (uintptr_t)page,
                        (uintptr_t)page + 8191,
                        (uintptr_t)&id,
                        (uintptr_t)&malloc,
                        (uintptr_t)&comm,
                        (uintptr_t)a,
                        (uintptr_t)&random_word,
                        (uintptr_t)"a string",
                        0x44000000,
                        0x44000001,
                        0x84000000,
                        0x84000005,
                        0xc4000000,
                        (uintptr_t)-1,
                        (uintptr_t)INT64_MIN,
                        (uintptr_t)INT64_MAX,
                        0xdeadbeef,
                        0xdeadbeefdeadbeef,
                        0x800000000000,
                        0xffff800000000000,
                        0x7fffffffffff,
                        0x101,
                        0x102,
                        (uintptr_t)host.world,
                        (uintptr_t)host.self,
                        (uintptr_t)spare,
                        (uintptr_t)stderr};
    for (size_t i = 0; i < sizeof near / sizeof near[0]; i++)
        refuse(near[i]);
    for (uintptr_t w = 1; w < 70000; w++) /* ids beyond the live ones, and all of the lowest page */
        if (!ids_live || (int64_t)w != id)
            refuse(w);
    for (int bit = 0; bit < 64; bit++)
        for (int d = -1; d <= 1; d++) {
            uintptr_t w = ((uintptr_t)1 << bit) + (uintptr_t)d;
            if (w != live && w != 0 && (!ids_live || (int64_t)w != id))
                refuse(w);
        }
    for (int d = 1; d < 4096; d++) { /* around a live one: misaligned, neighbours */
        refuse(live + (uintptr_t)d);
        refuse(live - (uintptr_t)d);
    }
    for (int stride = 64; stride <= 4096; stride *= 2)
        for (int k = -200; k <= 200; k++) /* other slots, in use or not yet, and beyond both ends of the arena */
            for (int scale = 1; scale <= 65536; scale *= 256)
                if (k != 0)
                    refuse(live + (uintptr_t)(intptr_t)(k * scale) * (uintptr_t)stride);
    for (int bit = 0; bit < 64; bit++)
        refuse(live ^ (uintptr_t)1 << bit);
    for (int i = 0; i < 20000; i++) {
        uintptr_t w = (uintptr_t)random_word();
        refuse(w);
        refuse(w >> 17 << 3); /* in the range of user addresses */
        refuse(live + 1 + (uintptr_t)(w % 0x20000000));
        refuse(live - 1 - (uintptr_t)(w % 0x20000000));
    }
    free(heap);
    munmap(page, 8192);
}

static void test_handles(void)
{
    /* A second communicator, ended: its word and its id are dead for ever. */
    hword h = host_dup(host.world);
    reactant_mpi_comm *dead = reactant_mpi_initialize((uintptr_t)h);
    NEED(dead, "%s", reactant_mpi_last_error());
    NEED(dead != comm, "another communicator");
    int64_t dead_id = reactant_mpi_comm_id(dead);
    reactant_mpi_request *old = NULL;
    OK(reactant_mpi_prepare_allreduce(a, b, 1, I64, SUM, dead, &old));
    OK(reactant_mpi_run(old));
    OK(reactant_mpi_finalize(dead));
    OK(reactant_mpi_finalize(dead)); /* safe to repeat */
    host_free(&h);

    refuse_comm(0);
    refuse_comm((uintptr_t)dead);
    refuse_comm((uintptr_t)dead_id);
    refuse_comm((uintptr_t)&rank);
    refuse_comm((uintptr_t)comm + 8);
    refuse_comm((uintptr_t)old);
    refuse_comm((uintptr_t)-1);
    refuse_comm(0x44000000);
    refuse_comm((uintptr_t)host.world);
    FAILS(REACTANT_MPI_ERR_COMM, "finalize", reactant_mpi_finalize((reactant_mpi_comm *)&rank));
    FAILS(REACTANT_MPI_ERR_COMM, "finalize", reactant_mpi_finalize((reactant_mpi_comm *)(uintptr_t)65000));
    FAILS(REACTANT_MPI_ERR_COMM, "abort", reactant_mpi_abort((reactant_mpi_comm *)&rank, 3));
    FAILS(REACTANT_MPI_ERR_COMM, "abort", reactant_mpi_abort(dead, 3));

    /* A request of a communicator that has ended: refused, but it can be given back, once. */
    FAILS(REACTANT_MPI_ERR_COMM, "run", reactant_mpi_run(old));
    OK(reactant_mpi_request_free(old));
    FAILS(REACTANT_MPI_ERR_REQUEST, "request_free", reactant_mpi_request_free(old));

    each_strange_word(refuse_comm_quickly, (uintptr_t)comm, true);
    CHECK(reactant_mpi_comm_error(comm) == 0, "words that are no handle of it must not mark a communicator, latched: %d",
          reactant_mpi_comm_error(comm));
    ALIVE(comm);
}

static void test_requests(void)
{
    reactant_mpi_request *one = NULL, *again = NULL;
    refuse_request(0);
    refuse_request((uintptr_t)comm);
    OK(reactant_mpi_prepare_allreduce(a, b, 1, I64, SUM, comm, &one));
    each_strange_word(refuse_request, (uintptr_t)one, false);
    OK(reactant_mpi_run(one));
    OK(reactant_mpi_request_free(one));
    FAILS(REACTANT_MPI_ERR_REQUEST, "request_free", reactant_mpi_request_free(one));
    FAILS(REACTANT_MPI_ERR_REQUEST, "run", reactant_mpi_run(one));
    for (int i = 0; i < 20000; i++) { /* slots come back, words do not */
        NEED(reactant_mpi_prepare_allreduce(a, b, 1, I64, SUM, comm, &again) == 0, "request %d: %s", i, reactant_mpi_last_error());
        if (again == one)
            CHECK(0, "a freed request word came back after %d requests", i);
        NEED(reactant_mpi_request_free(again) == 0, "request %d: %s", i, reactant_mpi_last_error());
    }
    FAILS(REACTANT_MPI_ERR_REQUEST, "run", reactant_mpi_run(one));
    FAILS(REACTANT_MPI_ERR_REQUEST, "request_free", reactant_mpi_request_free(one));
    ALIVE(comm);
}

#endif
