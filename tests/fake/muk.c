/*
 * Mukautuva (libmuk.so): recognised by whose_mpi and WRAP_CODE_IMPL_TO_MUK. As the real one, nothing but four functions may be
 * called before MPI_Init: the others are null pointers there, here they end the process. Not modelled: the MPI behind it, its 2023
 * constants.
 */
#include "fake.h"

FAKE_MPI("Mukautuva (the MPI behind it is not initialized)")

int whose_mpi = 0;
int WRAP_CODE_IMPL_TO_MUK(int code)
{
    return code;
}
int MPI_Comm_rank(void *comm, int *rank)
{
    (void)comm, (void)rank;
    return fake_touched("MPI_Comm_rank");
}
