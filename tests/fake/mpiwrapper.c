/*
 * A bare MPIwrapper: MPIABI_* functions for MPItrampoline, and no MPI_* of its own but what it is linked to.
 * Not modelled: the MPI that it wraps.
 */
#include "fake.h"

int mpiwrapper_version_major = 2;
int MPIABI_Init(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return fake_touched("MPIABI_Init");
}
int MPIABI_Get_library_version(char *text, int *length)
{
    strcpy(text, "MPIwrapper 2.11.1, using MPIABI 2.10.0, wrapping: nothing");
    return *length = (int)strlen(text), 0;
}
