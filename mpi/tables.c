/* The .inc tables as data for the binder. */
#include "mpi/mpi.h"

const struct rmpi_constant_row rmpi_type_rows[RMPI_TYPES] = {
#define TYPE(name, kind, bytes, mpich, symbol, mpi5, nccl) {{mpich, 0, mpi5}, symbol},
#define OP(...)
#include "internal/table/types.inc"
#undef TYPE
#undef OP
};

const int rmpi_type_bytes[RMPI_TYPES] = {
#define TYPE(name, kind, bytes, ...) bytes,
#define OP(...)
#include "internal/table/types.inc"
#undef TYPE
#undef OP
};

const struct rmpi_constant_row rmpi_op_rows[RMPI_OPS] = {
#define TYPE(...)
#define OP(name, mpich, symbol, nccl) {{mpich, 0, REACTANT_MPI_##name}, symbol},
#include "internal/table/types.inc"
#undef TYPE
#undef OP
};

const struct rmpi_constant_row rmpi_constant_rows[RMPI_CONSTANTS] = {
#define HANDLE(name, mpich, symbol, mpi5) {{mpich, 0, mpi5}, symbol},
#define NUMBER(name, mpich, ompi, mpi5) {{(uint64_t)(int64_t)(mpich), (uint64_t)(int64_t)(ompi), (uint64_t)(int64_t)(mpi5)}, 0},
#include "mpi/constants.inc"
#undef HANDLE
#undef NUMBER
};

const struct rmpi_function_row rmpi_function_rows[RMPI_FUNCTIONS] = {
#define NEEDED(name, ...) {"MPI_" #name, 1},
#define OPTIONAL(name, ...) {"MPI_" #name, 0},
#define EXTENSION(name, ...) {"MPIX_" #name, 0},
#include "mpi/functions.inc"
#undef NEEDED
#undef OPTIONAL
#undef EXTENSION
};
