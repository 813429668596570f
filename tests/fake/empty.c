/*
 * A shared library with nothing of MPI in it.
 */
int there_is_no_mpi_here = 1;
