/*
 * A library with the marks of the MPICH ABI (MPIR_Dup_fn) in which most functions are missing, MPI_Allreduce
 * among them.
 * Not modelled: everything else.
 */
#include "fake.h"

FAKE_MPI("MPICH Version:      9.9.9")

int MPIR_Dup_fn(void)
{
    return fake_touched("MPIR_Dup_fn");
}
