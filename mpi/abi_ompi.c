/* The Open MPI ABI: Open MPI 3 and later, Spectrum MPI. Handles are pointers; a status starts with source, tag, error. */
#include <stdint.h>

typedef struct ompi_communicator *MPI_Comm;
typedef struct ompi_datatype *MPI_Datatype;
typedef struct ompi_op *MPI_Op;
typedef struct ompi_request *MPI_Request;
typedef struct ompi_errhandler *MPI_Errhandler;
typedef struct ompi_group *MPI_Group;

#define WORD_OF(handle) ((uint64_t)(uintptr_t)(handle))
#define STATUS_SOURCE_WORD 0
#define STATUS_TAG_WORD 1
#define RUN_TABLE rmpi_run_ompi
#define START_TABLE rmpi_start_ompi
#define CONTROL_TABLE rmpi_control_ompi

#include "mpi/family.inc"
