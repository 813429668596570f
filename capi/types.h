/* The table's types and operations by public value. */
#ifndef RMPI_CAPI_TYPES_H
#define RMPI_CAPI_TYPES_H

#include "internal/table/call.h"

/* Index + 1 by public value; 0 = unknown. */
static const uint8_t type_index[0x100] = {
#define TYPE(name, ...) [REACTANT_MPI_##name - 0x200] = RMPI_##name + 1,
#define OP(...)
#include "internal/table/types.inc"
#undef TYPE
#undef OP
};
static const uint8_t op_index[0x40] = {
#define TYPE(...)
#define OP(name, ...) [REACTANT_MPI_##name] = RMPI_##name + 1,
#include "internal/table/types.inc"
#undef TYPE
#undef OP
};
static const struct {
    uint16_t legal; /* operations, as bits */
    uint16_t bytes;
} types[RMPI_TYPES] = {
#define TYPE(name, kind, bytes, ...) {KIND_##kind, bytes},
#define OP(...)
#include "internal/table/types.inc"
#undef TYPE
#undef OP
};

/* Index of a public value, -1 = unknown. */
static inline int rmpi_type_of(int value)
{
    const unsigned t = (unsigned)value - 0x200u;
    return t < sizeof type_index ? type_index[t] - 1 : -1;
}

static inline int rmpi_op_of(int value)
{
    return (unsigned)value < sizeof op_index ? op_index[value] - 1 : -1;
}

#endif
