/*
 * A library whose MPI_Abi_get_version answers (-1, -1), "I have no standard ABI", as the native ones of MPICH 5 and Open MPI 6 do,
 * and that carries no mark of another family. Not modelled: everything else.
 */
#include "fake.h"

FAKE_MPI("Example MPI 2.0, not of the standard ABI")

int MPI_Abi_get_version(int *major, int *minor)
{
    *major = *minor = -1;
    return 0;
}
