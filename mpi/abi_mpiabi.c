/* The ABI of MPItrampoline, which MPIwrapper exports as MPIABI_*. Handles are words; a status holds the status of the MPI behind it
 * first, in 24 bytes, then source, tag, error. */
#include <stdint.h>

typedef struct MPIABI_Comm *MPI_Comm;
typedef struct MPIABI_Datatype *MPI_Datatype;
typedef struct MPIABI_Op *MPI_Op;
typedef struct MPIABI_Request *MPI_Request;
typedef struct MPIABI_Errhandler *MPI_Errhandler;
typedef struct MPIABI_Group *MPI_Group;

#define WORD_OF(handle) ((uint64_t)(uintptr_t)(handle))
#define STATUS_SOURCE_WORD 6
#define STATUS_TAG_WORD 7
#define RUN_TABLE rmpi_run_mpiabi
#define START_TABLE rmpi_start_mpiabi
#define CONTROL_TABLE rmpi_control_mpiabi

#include "mpi/family.inc"
