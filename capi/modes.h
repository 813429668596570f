/* Option check: the ranks compare a collective before it moves anything. */
#ifndef RMPI_CAPI_MODES_H
#define RMPI_CAPI_MODES_H

#include "capi/call.h"

#pragma GCC visibility push(hidden)

/* 0, or the public code, the same on every rank: then nothing has been moved. c->sequence counts this call already. */
int rmpi_check_ranks(struct rmpi_comm *c, const struct rmpi_call *a);

/* ---- capi/agreement.c and its parts ---- */

/* Everybody's `bytes`, in rank order, over the control communicator. NULL: it failed, and *code says how. Free what `all` points to. */
const void *rmpi_everybodys(struct rmpi_comm *c, const struct rmpi_call *a, const void *own, size_t bytes, void **memory, int *code);

#pragma GCC visibility pop

#endif
