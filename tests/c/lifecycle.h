/*
 * What the lives of lifecycle.c share: beginning, and a communicator's words about itself against those of the host's MPI.
 */
#ifndef LIFECYCLE_H
#define LIFECYCLE_H

#include "check.h"
#include "hostmpi.h"

static reactant_mpi_comm *comm;
static int rank, size;

#define I64 REACTANT_MPI_INT64

static reactant_mpi_comm *begin(uintptr_t word)
{
    reactant_mpi_comm *c = reactant_mpi_initialize(word);
    NEED(c, "initialize(0x%llx): %d %s", (unsigned long long)word, reactant_mpi_last_error_code(), reactant_mpi_last_error());
    return c;
}

static void begin_world(void)
{
    comm = begin(REACTANT_MPI_COMM_WORLD);
    check_rank = rank = reactant_mpi_rank(comm);
    size = reactant_mpi_size(comm);
    CHECK(size >= 1 && rank >= 0 && rank < size, "rank %d of %d", rank, size);
}

/* The id is the same on every member: compared through the host's MPI. */
static void check_id(reactant_mpi_comm *c, hword h)
{
    int64_t mine = reactant_mpi_comm_id(c), all[64];
    int n = host_size(h);
    CHECK(mine > 0 && mine < 65536, "id %lld", (long long)mine);
    NEED(n <= 64, "%d ranks", n);
    host_allgather(&mine, sizeof mine, all, h);
    for (int i = 0; i < n; i++)
        CHECK(all[i] == mine, "id %lld here, %lld at rank %d", (long long)mine, (long long)all[i], i);
}

/* What a communicator says of itself against what the host's MPI says. */
static void check_comm(reactant_mpi_comm *c, hword h)
{
    CHECK(reactant_mpi_rank(c) == host_rank(h), "%d %d", reactant_mpi_rank(c), host_rank(h));
    CHECK(reactant_mpi_size(c) == host_size(h), "%d %d", reactant_mpi_size(c), host_size(h));
    /* One host: the local numbers are the global ones. */
    CHECK(reactant_mpi_local_rank(c) == reactant_mpi_rank(c), "local rank %d", reactant_mpi_local_rank(c));
    CHECK(reactant_mpi_local_size(c) == reactant_mpi_size(c), "local size %d", reactant_mpi_local_size(c));
    CHECK(reactant_mpi_device(c) == -1, "device %d", reactant_mpi_device(c));
    hword dup = (hword)reactant_mpi_mpi_comm(c);
    CHECK(dup != 0 && dup != h, "mpi_comm 0x%llx of 0x%llx", (unsigned long long)dup, (unsigned long long)h);
    if (dup) {
        CHECK(host_congruent(dup, h), "the duplicate has the same ranks");
    }
    check_id(c, h);
    ALIVE(c);
}

#endif
