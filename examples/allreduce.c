/*
 * A dot product and a mean over data that no single process holds. Each rank makes its own part of two vectors,
 * x[i] = i and y[i] = 2 for i = 0 ... N - 1; the answers are N (N - 1) and (N - 1) / 2.
 *
 *     cc allreduce.c -lreactant_mpi && mpiexec -n 3 ./a.out
 * No mpi.h, and the same program under every MPI: the library finds out which one started it.
 */
#include <reactant_mpi.h>

#include <stdio.h>
#include <string.h>

static int failed(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, reactant_mpi_last_error());
    return 1;
}

/* The text that the description of a communicator, JSON, gives for a key. */
static void print_value(const char *json, const char *key)
{
    const char *at = strstr(json, key);
    if (at)
        printf("%.*s", (int)strcspn(at + strlen(key), "\""), at + strlen(key));
}

int main(void)
{
    enum { N = 1000000 };
    reactant_mpi_comm *comm = reactant_mpi_initialize(REACTANT_MPI_COMM_WORLD);
    if (!comm)
        return failed("initialize");
    int rank = reactant_mpi_rank(comm), size = reactant_mpi_size(comm);
    /* This rank's part: i from first to last - 1. */
    long first = (long)N * rank / size, last = (long)N * (rank + 1) / size;
    double local[2] = {0, 0}, total[2];
    for (long i = first; i < last; i++) {
        double x = (double)i, y = 2;
        local[0] += x * y;
        local[1] += x;
    }
    if (reactant_mpi_allreduce(local, total, 2, REACTANT_MPI_FLOAT64, REACTANT_MPI_SUM, comm) != 0)
        return failed("allreduce");

    double dot = total[0], mean = total[1] / N;
    int right = dot == (double)N * (N - 1) && mean == (N - 1) / 2.0;
    printf("rank %d of %d: I summed %ld elements; dot = %.0f, mean = %.1f: %s\n", rank, size, last - first, dot, mean,
           right ? "right" : "WRONG");
    if (rank == 0) {
        char about[16384];
        reactant_mpi_describe(comm, about, sizeof about);
        print_value(about, "\"path\": \"");
        printf(", ");
        print_value(about, "\"abi\": \"");
        printf("\n");
    }
    if (reactant_mpi_finalize(NULL) != 0)
        return failed("finalize");
    return right ? 0 : 1;
}
