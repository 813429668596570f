/* An MPI program as users have them: compiled with an mpi.h, linked to that MPI, and to us. */
#include <mpi.h>
#include <reactant_mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    double mine, sum = 0;
    int rank, size, rc;
    MPI_Comm odd;
    reactant_mpi_comm *comm;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &odd); /* the other way round */
    comm = reactant_mpi_initialize((uintptr_t)odd);
    if (!comm || reactant_mpi_rank(comm) != size - 1 - rank)
        return printf("%s\n", reactant_mpi_last_error()), 1;
    mine = rank + 1;
    rc = reactant_mpi_allreduce(&mine, &sum, 1, REACTANT_MPI_FLOAT64, REACTANT_MPI_SUM, comm);
    if (rc != 0 || sum != size * (size + 1) / 2.0)
        return printf("%d %g %s\n", rc, sum, reactant_mpi_last_error()), 1;
    rc = reactant_mpi_finalize(comm);
    MPI_Comm_free(&odd);
    MPI_Finalize();
    printf("ok 3 checks\n");
    return rc;
}
