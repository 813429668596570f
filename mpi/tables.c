/* The .inc tables as data for the binder. */
#include "mpi/mpi.h"

const struct rmpi_constant_row rmpi_type_rows[RMPI_TYPES] = {
#define TYPE(name, kind, bytes, mpi, mpich, symbol, mpi5, muk, wi4mpi, nccl) {mpi, 8, {mpich, 0, mpi5, 0, muk, wi4mpi}, symbol},
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
#define OP(name, mpi, mpich, symbol, muk, nccl) {mpi, 8, {mpich, 0, REACTANT_MPI_##name, 0, muk, muk}, symbol},
#include "internal/table/types.inc"
#undef TYPE
#undef OP
};

const struct rmpi_constant_row rmpi_constant_rows[RMPI_CONSTANTS] = {
#define WORD(value) (uint64_t)(int64_t)(value)
#define HANDLE(name, mpich, symbol, mpi5, muk, wi4mpi) {#name, 8, {mpich, 0, mpi5, 0, muk, wi4mpi}, symbol},
#define VALUE(name, bytes, mpich, ompi, mpi5, muk, wi4mpi) \
    {#name, bytes, {WORD(mpich), WORD(ompi), WORD(mpi5), 0, WORD(muk), WORD(wi4mpi)}, 0},
#define NUMBER(name, ...) VALUE(name, 4, __VA_ARGS__)
#define ADDRESS(name, ...) VALUE(name, 8, __VA_ARGS__)
#define EXTENSION(name, mpich, ompi, mpi5) {#name, 0, {WORD(mpich), WORD(ompi), WORD(mpi5), WORD(-1), WORD(-1), WORD(-1)}, 0},
#include "mpi/constants.inc"
#undef HANDLE
#undef NUMBER
#undef ADDRESS
#undef EXTENSION
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
