/*
 * WI4MPI (up to 4.0.1 at least) hands an uninitialised address on as the receive buffer of MPI_Reduce_scatter_block. One
 * MPI_Reduce per block takes its place. Handles pass through as words, whatever the ABI: an int is read from the low half.
 */
#include "mpi/mpi.h"

static const struct rmpi_mpi *bound;

static int reduce_scatter_block(const void *send, void *recv, int count, uint64_t type, uint64_t op, uint64_t comm)
{
    int (*reduce)(const void *, void *, int, uint64_t, uint64_t, int, uint64_t) = bound->function[RMPI_F_Reduce];
    int (*type_size)(uint64_t, int *) = bound->function[RMPI_F_Type_size];
    const void *in_place = (const void *)(uintptr_t)bound->constant[RMPI_K_IN_PLACE];
    const char *input = send == in_place ? recv : send;
    int rank, size, bytes, rc = type_size(type, &bytes);
    if (rc == 0)
        rc = bound->control->comm_rank(bound, comm, &rank);
    if (rc == 0)
        rc = bound->control->comm_size(bound, comm, &size);
    /* In place the input of block 0 lies where the result goes: it is used up first. */
    for (int block = 0; rc == 0 && block < size; block++) {
        const void *part = input + (size_t)block * (size_t)count * (size_t)bytes;
        rc = reduce(block == rank && part == recv ? in_place : part, recv, count, type, op, block, comm);
    }
    return rc;
}

void rmpi_mend_wi4mpi(struct rmpi_mpi *m)
{
    bound = m;
    m->function[RMPI_F_Reduce_scatter_block] = (void *)reduce_scatter_block;
}
