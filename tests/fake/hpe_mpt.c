/*
 * HPE MPT: a libmpi.so of its own ABI, recognised by mpi_sgi_inplace.
 * Not modelled: everything else.
 */
#include "fake.h"

FAKE_MPI("HPE MPT 2.23  08/26/21 02:57:37")

int mpi_sgi_inplace;
