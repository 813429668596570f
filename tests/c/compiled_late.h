/*
 * Of compiled.c: failures that come from outside: a rank that does not come, a message that is too long, a communicator that ends
 * under a request; and the first use of MPI_COMM_SELF by many threads at once.
 */
#ifndef COMPILED_LATE_H
#define COMPILED_LATE_H

#include "compiled.h"

#include <pthread.h>

/* A barrier under a time limit tells whose message has not come. */
static void a_rank_that_does_not_come(void)
{
    reactant_mpi_comm *c = NULL;
    char who[32];
    OK(reactant_mpi_comm_dup(comm, &c));
    OK(reactant_mpi_comm_set_timeout(c, 300));
    RIGHT(Barrier((word)c));
    snprintf(who, sizeof who, "rank %d", size - 1);
    if (size > 1 && rank < size - 1)
        REFUSED(CLASS_OTHER, REACTANT_MPI_ERR_TIMEOUT, Barrier, size == 2 ? who : "", Barrier((word)c));
    host_barrier(host.world);
    if (size > 1 && rank < size - 1)
        CHECK(reactant_mpi_comm_error(c) == REACTANT_MPI_ERR_TIMEOUT, "%d", reactant_mpi_comm_error(c));
    OK(reactant_mpi_comm_free(c));
    world_works(__LINE__);
}

static void a_message_that_is_too_long(void)
{
    const int32_t x[4] = {1, 2, 3, 4};
    int32_t y[2] = {-1, -1};
    struct requests r;
    requests_new(&r, 1);
    RIGHT(Isend(x, 4, WORD(INT), rank, 70, WORLD, request(&r, 0)));
    REFUSED(CLASS_OTHER, REACTANT_MPI_ERR_MPI, Recv, "", Recv(y, 1, WORD(INT), rank, 70, WORLD, NULL));
    CHECK(y[1] == -1, "%d", y[1]);
    CHECK(Wait(request(&r, 0), NULL) == 0, "%s", reactant_mpi_last_error());
    if (size > 1) { /* Open MPI itself says nothing of one to the own rank that is awaited */
        requests_new(&r, 2);
        RIGHT(Irecv(y, 1, WORD(INT), (rank + 1) % size, 71, WORLD, request(&r, 0)));
        RIGHT(Isend(x, 4, WORD(INT), (rank + size - 1) % size, 71, WORLD, request(&r, 1)));
        REFUSED(CLASS_OTHER, REACTANT_MPI_ERR_MPI, Waitall, "", Waitall(2, request(&r, 0), NULL));
        requests_done(__LINE__, &r, 2); /* they are gone, and a program that does not look waits for nothing */
        CHECK(y[1] == -1, "%d", y[1]);
    }
    world_works(__LINE__);
}

static void a_communicator_that_ends(void)
{
    reactant_mpi_comm *c = NULL;
    int32_t x = 5, y = -1;
    struct requests r;
    OK(reactant_mpi_comm_dup(comm, &c));
    requests_new(&r, 2);
    RIGHT(Irecv(&y, 1, WORD(INT), rank, 1, (word)c, request(&r, 0)));
    RIGHT(Isend(&x, 1, WORD(INT), rank, 1, (word)c, request(&r, 1)));
    OK(reactant_mpi_comm_free(c));
    for (int i = 0; i < 2; i++) {
        REFUSED(CLASS_COMM, REACTANT_MPI_ERR_COMM, Wait, "", Wait(request(&r, i), NULL));
        RIGHT(Request_free(request(&r, i)));
    }
    requests_done(__LINE__, &r, 2);
    REFUSED(CLASS_COMM, REACTANT_MPI_ERR_COMM, Isend, "", Isend(&x, 1, WORD(INT), rank, 1, (word)c, request(&r, 0)));
    requests_done(__LINE__, &r, 2);
    world_works(__LINE__);
}

enum { AT_ONCE = 6 };
static pthread_barrier_t all_begin;

static void *use_self(void *unused)
{
    int32_t n = -1, me = -1;
    (void)unused;
    pthread_barrier_wait(&all_begin);
    CHECK(Comm_size(WORD(COMM_SELF), &n) == 0 && n == 1, "%d: %s", n, reactant_mpi_last_error());
    CHECK(Comm_rank(WORD(COMM_SELF), &me) == 0 && me == 0, "%d", me);
    return NULL;
}

/* MPI at MULTIPLE. */
static void the_first_use_of_self(void)
{
    pthread_t thread[AT_ONCE];
    pthread_barrier_init(&all_begin, NULL, AT_ONCE);
    for (int i = 0; i < AT_ONCE; i++)
        NEED(pthread_create(&thread[i], NULL, use_self, NULL) == 0, "a thread");
    for (int i = 0; i < AT_ONCE; i++)
        pthread_join(thread[i], NULL);
    CHECK(reactant_mpi_compiled_error(NULL, 0) == 0, "");
    world_works(__LINE__);
}

static void test_late(void)
{
    a_message_that_is_too_long();
    a_communicator_that_ends();
}

#endif
