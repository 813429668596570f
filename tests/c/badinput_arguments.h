/*
 * Arguments, of badinput.c: types, operations, ranks, tags, counts, buffers and lists that no call may take, in every form of every
 * call.
 */
#ifndef BADINPUT_ARGUMENTS_H
#define BADINPUT_ARGUMENTS_H

#include "badinput.h"

#include <limits.h>

static void test_types_and_ops(void)
{
    int strange[] = {-1, INT_MIN, INT_MAX, 0x4c00040a, 0x10000250, 0x2f4, 0x2ff, 11, 58};
    for (int k = 0; k < N_CALLS; k++) {
        if (!has_type(k))
            continue;
        struct args x = good();
        for (int type = 0; type < 0x400; type++) {
            bool known = false;
            for (size_t t = 0; t < N_TYPES; t++)
                known = known || types[t].value == type;
            x.type = type;
            if (!known)
                FAILS(REACTANT_MPI_ERR_TYPE, call_name(k), call(k, x));
        }
        for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++) {
            x.type = strange[i];
            FAILS(REACTANT_MPI_ERR_TYPE, call_name(k), call(k, x));
        }
        x.type = 0, x.count = 0; /* checked whatever the count */
        FAILS(REACTANT_MPI_ERR_TYPE, call_name(k), call(k, x));
        if (!has_op(k))
            continue;
        for (int op = -3; op < (form_of(k) == BLOCKING ? 0x200 : 0x48); op++)
            for (size_t t = 0; t < N_TYPES; t++) {
                if (legal(&types[t], op) && !(op == REACTANT_MPI_AVG && (row_of(k) == SCAN || row_of(k) == EXSCAN)))
                    continue;
                x = good();
                x.type = types[t].value, x.op = op;
                FAILS(REACTANT_MPI_ERR_OP, call_name(k), call(k, x));
            }
        x = good();
        for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++) {
            x.op = strange[i];
            FAILS(REACTANT_MPI_ERR_OP, call_name(k), call(k, x));
        }
        x.op = REACTANT_MPI_LAND, x.type = REACTANT_MPI_FLOAT32, x.count = 0;
        FAILS(REACTANT_MPI_ERR_OP, call_name(k), call(k, x));
    }
    ALIVE(comm);
}

static void test_ranks_and_tags(void)
{
    int roots[] = {
        -1, size, size + 1, INT_MAX, INT_MIN, -2, -3, -4, REACTANT_MPI_ANY_SOURCE, REACTANT_MPI_ANY_TAG, REACTANT_MPI_PROC_NULL};
    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
        const int r = roots[i];
        struct args x = good();
        x.root = r;
        for (int k = 0; k < N_CALLS; k++) {
            const bool receives = k == RECV || k == IRECV || k == PROBE, sends = k == SEND || k == ISEND || k == SENDRECV;
            if (call_has_root(k) || (sends && r != REACTANT_MPI_PROC_NULL) ||
                (receives && r != REACTANT_MPI_PROC_NULL && r != REACTANT_MPI_ANY_SOURCE))
                FAILS(REACTANT_MPI_ERR_RANK, call_name(k), call(k, x));
        }
        if (r != REACTANT_MPI_PROC_NULL && r != REACTANT_MPI_ANY_SOURCE)
            FAILS(REACTANT_MPI_ERR_RANK, "sendrecv",
                  reactant_mpi_sendrecv(a, 1, REACTANT_MPI_PROC_NULL, 0, b, 1, r, 0, I64, comm, NULL));
    }
    int tags[] = {-1, -2, INT_MIN, REACTANT_MPI_ANY_SOURCE, REACTANT_MPI_PROC_NULL, REACTANT_MPI_ANY_TAG};
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++) {
        FAILS(REACTANT_MPI_ERR_RANK, "send", reactant_mpi_send(a, 1, I64, 0, tags[i], comm));
        FAILS(REACTANT_MPI_ERR_RANK, "send", reactant_mpi_isend(a, 1, I64, 0, tags[i], comm, &req));
        FAILS(REACTANT_MPI_ERR_RANK, "sendrecv", reactant_mpi_sendrecv(a, 1, 0, tags[i], b, 1, 0, 0, I64, comm, NULL));
        if (tags[i] == REACTANT_MPI_ANY_TAG)
            continue;
        FAILS(REACTANT_MPI_ERR_RANK, "recv", reactant_mpi_recv(b, 1, I64, 0, tags[i], comm, NULL));
        FAILS(REACTANT_MPI_ERR_RANK, "recv", reactant_mpi_irecv(b, 1, I64, 0, tags[i], comm, &req));
        FAILS(REACTANT_MPI_ERR_RANK, "probe", reactant_mpi_probe(0, tags[i], comm, NULL));
        FAILS(REACTANT_MPI_ERR_RANK, "sendrecv", reactant_mpi_sendrecv(a, 1, 0, 0, b, 1, 0, tags[i], I64, comm, NULL));
    }
    ALIVE(comm);
}

static void test_counts(void)
{
    struct {
        size_t count;
        int type;
    } huge[] = {
        {SIZE_MAX, I64},
        {SIZE_MAX / 2, I64},
        {SIZE_MAX / 8 + 1, I64},
        {SIZE_MAX / 16 + 1, REACTANT_MPI_COMPLEX128},
        {SIZE_MAX / 2 + 1, REACTANT_MPI_INT16},
        {SIZE_MAX, REACTANT_MPI_UINT8},
        {SIZE_MAX / 2 + 1, REACTANT_MPI_BYTE},
        {SIZE_MAX / 4 + 1, REACTANT_MPI_BFLOAT16},
        {SIZE_MAX / 2 + 1, REACTANT_MPI_FLOAT8_E5M2},
        {(size_t)-1000, REACTANT_MPI_INT8},
        {(size_t)1 << 63, REACTANT_MPI_COMPLEX64},
    };
    for (size_t i = 0; i < sizeof huge / sizeof huge[0]; i++)
        for (int k = 0; k < N_CALLS; k++) {
            struct args x = good();
            size_t large[8] = {1, 1, 1, 1, 1, 1, 1, 1};
            large[size - 1] = huge[i].count;
            x.type = huge[i].type;
            if (has_op(k) && x.type == REACTANT_MPI_FLOAT8_E5M2)
                continue;
            if (x.type == REACTANT_MPI_BYTE)
                x.op = REACTANT_MPI_BOR;
            x.count = huge[i].count;
            /* Lists do not look at count, and the ranks without lists not at these. */
            if (has_type(k) && row_of(k) != ALLTOALLV && row_of(k) != REDUCE_SCATTERV)
                FAILS(REACTANT_MPI_ERR_COUNT, call_name(k), call(k, x));
            x.count = 1;
            x.recv_counts = large;
            if (row_of(k) == ALLGATHERV || row_of(k) == ALLTOALLV || row_of(k) == REDUCE_SCATTERV ||
                (row_of(k) == GATHERV && rank == 0))
                FAILS(REACTANT_MPI_ERR_COUNT, call_name(k), call(k, x));
            x.recv_counts = ones, x.send_counts = large;
            if (row_of(k) == ALLTOALLV || (row_of(k) == SCATTERV && rank == 0))
                FAILS(REACTANT_MPI_ERR_COUNT, call_name(k), call(k, x));
            x.send_counts = ones, x.send_displs = large;
            if (row_of(k) == ALLTOALLV || (row_of(k) == SCATTERV && rank == 0))
                FAILS(REACTANT_MPI_ERR_COUNT, call_name(k), call(k, x));
            x.send_displs = places, x.recv_displs = large;
            if (row_of(k) == ALLGATHERV || row_of(k) == ALLTOALLV || (row_of(k) == GATHERV && rank == 0))
                FAILS(REACTANT_MPI_ERR_COUNT, call_name(k), call(k, x));
        }
    if (size > 1) { /* the block of one rank fits, all blocks do not */
        const size_t part = SIZE_MAX / 16 / (size_t)size + 1, parts[8] = {part, part, part, part, part, part, part, part};
        for (int k = 0; k < N_CALLS; k++) {
            const enum row f = row_of(k);
            struct args x = good();
            x.count = part * 2;
            if (f == REDUCE_SCATTER || f == ALLGATHER || f == ALLTOALL || ((f == GATHER || f == SCATTER) && rank == 0))
                FAILS(REACTANT_MPI_ERR_COUNT, call_name(k), call(k, x));
            x.count = part;
            x.send_counts = x.recv_counts = parts;
            if (f == REDUCE_SCATTERV || f == ALLGATHERV || f == ALLTOALLV || ((f == GATHERV || f == SCATTERV) && rank == 0))
                FAILS(REACTANT_MPI_ERR_COUNT, call_name(k), call(k, x));
        }
    }
    ALIVE(comm);
}

static void test_buffers(void)
{
    for (int k = 0; k < N_CALLS; k++) {
        const enum row f = row_of(k);
        const bool at_root = rank == 0, sends = send_counts_here(k, at_root), receives = recv_counts_here(k, at_root);
        const bool message = k >= N_COLLECTIVE, scatters = f == SCATTER || f == SCATTERV;
        struct args x = good();
        /* NULL with a count. */
        x.send = NULL;
        if (sends)
            FAILS(REACTANT_MPI_ERR_ARGUMENT, call_name(k), call(k, x));
        x = good(), x.recv = NULL;
        if (receives)
            FAILS(REACTANT_MPI_ERR_ARGUMENT, call_name(k), call(k, x));
        /* IN_PLACE where there is none. */
        x = good(), x.send = REACTANT_MPI_IN_PLACE;
        if (sends && (message || f == PERMUTE || scatters || !receives))
            FAILS(REACTANT_MPI_ERR_ARGUMENT, call_name(k), call(k, x));
        x = good(), x.recv = REACTANT_MPI_IN_PLACE;
        if (receives && !(scatters && at_root))
            FAILS(REACTANT_MPI_ERR_ARGUMENT, call_name(k), call(k, x));
        x = good(), x.send = x.recv = REACTANT_MPI_IN_PLACE;
        if (sends && receives)
            FAILS(REACTANT_MPI_ERR_ARGUMENT, call_name(k), call(k, x));
        /* Equal pointers say IN_PLACE only where the header says so. */
        x = good(), x.send = x.recv;
        if (f == ALLTOALL || f == ALLTOALLV || f == PERMUTE || k == SENDRECV)
            FAILS(REACTANT_MPI_ERR_ARGUMENT, call_name(k), call(k, x));
    }
    ALIVE(comm);
}

/* Counts and displacements that are not there, where they are read. */
static void test_lists(void)
{
    for (int k = 0; k < N_COLLECTIVE; k++) {
        const enum row f = row_of(k);
        const bool root = rank == 0;
        const bool send = f == ALLTOALLV || (f == SCATTERV && root);
        const bool recv = f == ALLTOALLV || f == ALLGATHERV || (f == GATHERV && root);
        struct args x = good();
        x.send_counts = NULL;
        if (send)
            FAILS(REACTANT_MPI_ERR_ARGUMENT, call_name(k), call(k, x));
        x = good(), x.send_displs = NULL;
        if (send)
            FAILS(REACTANT_MPI_ERR_ARGUMENT, call_name(k), call(k, x));
        x = good(), x.recv_counts = NULL;
        if (recv || f == REDUCE_SCATTERV)
            FAILS(REACTANT_MPI_ERR_ARGUMENT, call_name(k), call(k, x));
        x = good(), x.recv_displs = NULL;
        if (recv)
            FAILS(REACTANT_MPI_ERR_ARGUMENT, call_name(k), call(k, x));
    }
    ALIVE(comm);
}

static void test_destinations(void)
{
    const int strange[] = {-1, size, INT_MAX, INT_MIN, REACTANT_MPI_ANY_SOURCE, REACTANT_MPI_ANY_TAG};
    for (int k = PERMUTE; k < N_COLLECTIVE; k += N_ROWS) {
        struct args x = good();
        int many[9] = {0, 1, 2, 3, 4, 5, 6, 7, 0}, twice[2] = {rank, rank}, other = (rank + 1) % size;
        x.n_dests = -1;
        FAILS(REACTANT_MPI_ERR_ARGUMENT, call_name(k), call(k, x));
        x.n_dests = INT_MIN;
        FAILS(REACTANT_MPI_ERR_ARGUMENT, call_name(k), call(k, x));
        x = good(), x.dests = NULL;
        FAILS(REACTANT_MPI_ERR_ARGUMENT, call_name(k), call(k, x));
        x = good(), x.n_dests = size + 1, x.dests = many;
        FAILS(REACTANT_MPI_ERR_ARGUMENT, call_name(k), call(k, x));
        x = good(), x.n_dests = INT_MAX, x.dests = many;
        FAILS(REACTANT_MPI_ERR_ARGUMENT, call_name(k), call(k, x));
        x = good(), x.n_dests = 2, x.dests = twice;
        FAILS(size > 1 ? REACTANT_MPI_ERR_RANK : REACTANT_MPI_ERR_ARGUMENT, call_name(k), call(k, x));
        for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++) {
            x = good(), x.dests = &strange[i];
            FAILS(REACTANT_MPI_ERR_RANK, call_name(k), call(k, x));
            x = good(), x.source = strange[i], x.n_dests = 0;
            FAILS(REACTANT_MPI_ERR_RANK, call_name(k), call(k, x));
        }
        x = good(), x.dests = (int[]){REACTANT_MPI_PROC_NULL};
        FAILS(REACTANT_MPI_ERR_RANK, call_name(k), call(k, x));
        x = good(), x.source = REACTANT_MPI_PROC_NULL; /* to itself, from nobody */
        FAILS(REACTANT_MPI_ERR_RANK, call_name(k), call(k, x));
        x = good(), x.n_dests = 0; /* from itself, to nobody */
        FAILS(REACTANT_MPI_ERR_RANK, call_name(k), call(k, x));
        x = good(), x.dests = &other;
        if (size > 1)
            FAILS(REACTANT_MPI_ERR_RANK, call_name(k), call(k, x));
    }
    ALIVE(comm);
}

/* No place for a request, or for an answer. */
static void test_places(void)
{
    const struct args x = good();
    int done;
    for (int k = N_ROWS; k < N_COLLECTIVE; k++)
        FAILS(REACTANT_MPI_ERR_ARGUMENT, call_name(k), call_row(row_of(k), form_of(k), &x, NULL));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "isend", reactant_mpi_isend(a, 1, I64, 0, 0, comm, NULL));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "irecv", reactant_mpi_irecv(a, 1, I64, 0, 0, comm, NULL));
    OK(reactant_mpi_prepare_barrier(comm, &req));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "test", reactant_mpi_test(req, NULL, NULL));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "testall", reactant_mpi_testall(1, &req, NULL, NULL));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "testall", reactant_mpi_testall(1, NULL, &done, NULL));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "testall", reactant_mpi_testall(-1, &req, &done, NULL));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "waitall", reactant_mpi_waitall(1, NULL, NULL));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "waitall", reactant_mpi_waitall(-1, &req, NULL));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "waitall", reactant_mpi_waitall(INT_MIN, NULL, NULL));
    OK(reactant_mpi_waitall(0, NULL, NULL));
    OK(reactant_mpi_testall(0, NULL, &done, NULL));
    CHECK(done == 1, "all of none are done");
    OK(reactant_mpi_request_free(req));
    ALIVE(comm);
}

#endif
