/*
 * What making a further host communicator costs over the least that MPI itself needs for the like: duplicate, split by host, and
 * an allgather of a record of the same size, in turn. Rank 0 prints, in microseconds:
 *
 *     bare minimum median / ours minimum median
 *
 * Argument: rounds.
 */
#include "../c/check.h"
#include "../c/hostmpi.h"

#include <time.h>

enum { RECORD = 528 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int smaller(const void *a, const void *b)
{
    double d = *(const double *)a - *(const double *)b;
    return (d > 0) - (d < 0);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 50;
    double *times[2];
    reactant_mpi_comm *world = reactant_mpi_initialize(0), *again;
    NEED(world && rounds > 1, "%s", reactant_mpi_last_error());
    int rank = check_rank = reactant_mpi_rank(world), size = reactant_mpi_size(world);
    char *records = calloc((size_t)size + 1, RECORD);
    times[0] = calloc((size_t)rounds, sizeof(double));
    times[1] = calloc((size_t)rounds, sizeof(double));
    NEED(records && times[0] && times[1], "memory");
    host_open(0);
    for (int k = -2; k < rounds; k++) {
        double begin;
        hword dup, node, fresh = host_dup(host.world);
        OK(reactant_mpi_barrier(world));
        begin = now();
        dup = host_dup(fresh);
        node = host_split(fresh, 0, rank);
        host_allgather(records, RECORD, records + RECORD, fresh);
        if (k >= 0)
            times[0][k] = now() - begin;
        host_free(&node);
        host_free(&dup);
        OK(reactant_mpi_barrier(world));
        begin = now();
        OK(reactant_mpi_initialize_with((uintptr_t)fresh, NULL, &again));
        if (k >= 0)
            times[1][k] = now() - begin;
        OK(reactant_mpi_finalize(again));
        host_free(&fresh);
    }
    for (int way = 0; way < 2; way++) {
        qsort(times[way], (size_t)rounds, sizeof(double), smaller);
        if (rank == 0)
            printf("%s %.1f %.1f\n", way ? "ours" : "bare", times[way][0], times[way][rounds / 2]);
    }
    OK(reactant_mpi_finalize(NULL));
    return check_failures ? 1 : 0;
}
