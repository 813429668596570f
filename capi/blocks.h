/* Rows with blocks of different sizes, and permute: their checks, and where their data lie. */
#ifndef RMPI_CAPI_BLOCKS_H
#define RMPI_CAPI_BLOCKS_H

#include "capi/call.h"

#pragma GCC visibility push(hidden)

/* The rest of the check once type, operation and root have passed: 0 or the public code. */
int rmpi_check_blocks(const struct rmpi_row *row, struct rmpi_comm *c, struct rmpi_call *a) __attribute__((noinline));
int rmpi_check_permute(const struct rmpi_row *row, struct rmpi_comm *c, struct rmpi_call *a) __attribute__((noinline));

#pragma GCC visibility pop

#endif
