/*
 * What the tests of comms.c share: who is in a communicator, and who holds which device.
 */
#ifndef COMMS_H
#define COMMS_H

#include "lifecycle.h"

#include <pthread.h>

enum { MOST = 8 }; /* ranks */

/* A communicator has these ranks of the world, in this order, and one number on all of them. */
static void check_members(int line, reactant_mpi_comm *c, int n, const int *want)
{
    int64_t mine[2] = {rank, reactant_mpi_comm_id(c)}, all[2 * MOST];
    int place = -1;
    for (int i = 0; i < n; i++)
        if (want[i] == rank)
            place = i;
    CHECK(reactant_mpi_size(c) == n && reactant_mpi_rank(c) == place, "line %d: rank %d of %d, %d of %d wanted", line,
          reactant_mpi_rank(c), reactant_mpi_size(c), place, n);
    if (reactant_mpi_size(c) != n)
        return;
    OK(reactant_mpi_allgather(mine, all, 2, I64, c));
    for (int i = 0; i < n; i++)
        CHECK(all[2 * i] == want[i] && all[2 * i + 1] == mine[1] && mine[1] > 0,
              "line %d: place %d: rank %d with id %d; %d with %d wanted", line, i, (int)all[2 * i], (int)all[2 * i + 1], want[i], (int)mine[1]);
    ALIVE(c);
}
#define CHECK_MEMBERS(c, n, want) check_members(__LINE__, (c), (n), (want))

/* Rank 0 holds one device, rank 1 two, rank 2 none, and so on; ids are large, and negative on odd ranks. */
static inline int devices(int r) { return (r + 1) % 3; }
static inline int64_t device(int r, int k) { return (r % 2 ? -1 : 1) * ((int64_t)(r + 1) << 40) + k; }

#endif
