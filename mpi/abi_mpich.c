/* The MPICH ABI: MPICH >= 3.1, Intel MPI, MVAPICH, Cray's ABI variant, ParaStation. Handles are ints; the integer fields of a status
 * are count_lo, count_hi, source, tag, error. */
#include <stdint.h>

typedef int MPI_Comm, MPI_Datatype, MPI_Op, MPI_Request, MPI_Errhandler, MPI_Group;

#define WORD_OF(handle) ((uint64_t)(uint32_t)(handle))
#define STATUS_SOURCE_WORD 2
#define STATUS_TAG_WORD 3
#define RUN_TABLE rmpi_run_mpich
#define START_TABLE rmpi_start_mpich
#define CONTROL_TABLE rmpi_control_mpich

#include "mpi/family.inc"
