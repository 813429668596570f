/*
 * WI4MPI in preload mode, from Open MPI's ABI to MPICH: a library that shows Open MPI's marks and is none.
 * Not modelled: the translation, and the MPI behind it.
 */
#include "fake.h"

FAKE_MPI("Open MPI v4.1.4, as WI4MPI says it")

char ompi_mpi_comm_world[512], ompi_mpi_comm_self[512], ompi_mpi_comm_null[512];
