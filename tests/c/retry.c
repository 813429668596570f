/*
 * initialize after a failed initialize. Arguments: libraries; all but the last must be refused, each after the other, and the last
 * must then work in the same process.
 */
#include "check.h"

int main(int argc, char **argv)
{
    const reactant_mpi_options init = REACTANT_MPI_OPTIONS_INIT;
    reactant_mpi_comm *comm = NULL;
    for (int i = 1; i < argc; i++) {
        reactant_mpi_options options = init;
        options.libmpi = argv[i];
        int rc = reactant_mpi_initialize_with(0, &options, &comm);
        if (i < argc - 1)
            CHECK((rc == REACTANT_MPI_ERR_NO_MPI || rc == REACTANT_MPI_ERR_MPI_ABI) && !comm, "%s: %d %s", argv[i], rc,
                  reactant_mpi_last_error());
        else
            NEED(rc == 0 && comm, "%s: %d %s", argv[i], rc, reactant_mpi_last_error());
    }
    ALIVE(comm);
    OK(reactant_mpi_finalize(NULL));
    return check_done(0);
}
