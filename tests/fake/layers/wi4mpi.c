/*
 * WI4MPI 4: from the ABI that APP_* says to that of the MPI which WI4MPI_RUN_MPI_C_LIB names, opened in the constructor. Compiled
 * for programs of Open MPI or MPICH it is a library for LD_PRELOAD (libwi4mpi_OMPI_MPICH.so ...: MPI_*, PMPI_*, A_MPI_*); with
 * APP_WI4MPI it is what the interface library opens (libwi4mpi_OMPI.so ...: CCMPI_*). Handles that are not predefined are numbers
 * from 100000 on. As in the original, MPI_Reduce_scatter_block passes a wrong receive buffer on.
 * Not modelled: see layer.h.
 */
#define APP_NUMBERED
#ifdef APP_WI4MPI
#define NAME(name) CCMPI_##name
#else
#define NAME(name) MPI_##name
#endif
#define MPI_Reduce_scatter_block right_reduce_scatter_block
#define CCMPI_Reduce_scatter_block right_reduce_scatter_block
#include "layer.h"
#undef MPI_Reduce_scatter_block
#undef CCMPI_Reduce_scatter_block

__attribute__((constructor)) static void load(void)
{
    run_open(getenv("WI4MPI_RUN_MPI_C_LIB"));
}

int NAME(Reduce_scatter_block)(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    (void)recv;
    return right_reduce_scatter_block(send, NULL, count, type, op, comm);
}

int NAME(Get_library_version)(char *text, int *n)
{
    return run_call(RUN("Get_library_version"), (word[13]){(word)text, (word)n});
}

#ifndef APP_WI4MPI
int PMPI_Init(int *argc, char ***argv)
{
    return MPI_Init(argc, argv);
}

int A_MPI_Init(int *argc, char ***argv)
{
    return MPI_Init(argc, argv);
}
#endif
