/* Bytes of the element types. */
#include "wrapper.h"

size_t type_size(uintptr_t type)
{
    switch (type) {
    case REACTANT_MPI_BOOL:
    case REACTANT_MPI_INT8:
    case REACTANT_MPI_UINT8:
    case REACTANT_MPI_BYTE: return 1;
    case REACTANT_MPI_INT16:
    case REACTANT_MPI_UINT16: return 2;
    case REACTANT_MPI_INT32:
    case REACTANT_MPI_UINT32:
    case REACTANT_MPI_FLOAT32: return 4;
    case REACTANT_MPI_INT64:
    case REACTANT_MPI_UINT64:
    case REACTANT_MPI_FLOAT64:
    case REACTANT_MPI_COMPLEX64: return 8;
    case REACTANT_MPI_COMPLEX128: return 16;
    default: return 0;
    }
}
