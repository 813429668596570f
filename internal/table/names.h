/* Types and operations by index, as people read them. */
#ifndef RMPI_NAMES_H
#define RMPI_NAMES_H

#include "internal/table/call.h"

static const char *const type_names[] = {
#define TYPE(name, ...) #name,
#define OP(...)
#include "internal/table/types.inc"
#undef TYPE
#undef OP
};

static const char *const op_names[] = {
#define TYPE(...)
#define OP(name, ...) #name,
#include "internal/table/types.inc"
#undef TYPE
#undef OP
};

#endif
