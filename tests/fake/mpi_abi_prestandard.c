/*
 * The prototype libmpi_abi of MPICH 4.3 (to be loaded as libmpi_abi.so.0): no MPI_Abi_get_version, and constants that are not those
 * of MPI-5 (ERRORS_RETURN and ERRORS_ABORT swapped, thread levels 0, 1, 2, 7). Not modelled: those constants, everything else.
 */
#include "fake.h"

FAKE_MPI("MPICH Version:      4.3.0")
