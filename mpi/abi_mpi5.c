/* The MPI-5.0 standard ABI (libmpi_abi.so.1), whoever implements it. Handles are pointers, predefined ones small integers; a status
 * starts with source, tag, error. */
#include <stdint.h>

typedef struct MPI_ABI_Comm *MPI_Comm;
typedef struct MPI_ABI_Datatype *MPI_Datatype;
typedef struct MPI_ABI_Op *MPI_Op;
typedef struct MPI_ABI_Request *MPI_Request;
typedef struct MPI_ABI_Errhandler *MPI_Errhandler;
typedef struct MPI_ABI_Group *MPI_Group;

#define WORD_OF(handle) ((uint64_t)(uintptr_t)(handle))
#define STATUS_SOURCE_WORD 0
#define STATUS_TAG_WORD 1
#define RUN_TABLE rmpi_run_mpi5
#define START_TABLE rmpi_start_mpi5
#define CONTROL_TABLE rmpi_control_mpi5

#include "mpi/family.inc"
