/*
 * MPItrampoline: its constructor ends the process when MPITRAMPOLINE_LIB names no usable library, and without one its functions are
 * null pointers (here they end the process). So it must not be loaded to find out what it is, nor called when it is there.
 * Not modelled: MPIABI, loading of a wrapper.
 */
#include <stdlib.h>

#include "fake.h"

int mpitrampoline_version_major = 5;
int mpiwrapper_version_major = -1;

__attribute__((constructor)) static void load_wrapper(void)
{
    const char *lib = getenv("MPITRAMPOLINE_LIB");
    if (lib && access(lib, R_OK) != 0) {
        fprintf(stderr, "MPItrampoline: could not load %s\n", lib);
        exit(1);
    }
}

int MPI_Initialized(int *flag)
{
    (void)flag;
    return fake_touched("MPI_Initialized of MPItrampoline without a wrapper");
}
int MPI_Finalized(int *flag)
{
    (void)flag;
    return fake_touched("MPI_Finalized of MPItrampoline without a wrapper");
}
int MPI_Get_library_version(char *text, int *n)
{
    (void)text, (void)n;
    return fake_touched("MPI_Get_library_version of MPItrampoline without a wrapper");
}
int MPI_Init(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return fake_touched("MPI_Init of MPItrampoline without a wrapper");
}
int PMPI_Init(int *argc, char ***argv)
{
    return MPI_Init(argc, argv);
}
