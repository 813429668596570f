/*
 * An MPI of an ABI that nobody knows: MPI_Init and a version string, and no mark of any family.
 * Not modelled: everything else.
 */
#include "fake.h"

FAKE_MPI("Example MPI 1.0, of its own ABI")
