/* What the device calls share: stream.c (the rows of the table), stream_v.c (blocks of different sizes). */
#ifndef RMPI_CAPI_DEVICE_H
#define RMPI_CAPI_DEVICE_H

#include "capi/call.h"
#include "nccl/stream.h"

#pragma GCC visibility push(hidden)

/* The live device communicator that a word means, or NULL with the failure recorded and its code in *rc. */
struct rmpi_comm *rmpi_device_comm(const char *name, const void *word, int *rc);
/* NCCL's code to ours: 0, or the failure recorded with NCCL's text. */
int rmpi_device_result(const char *name, struct rmpi_comm *c, int rc);

/* End a group; NCCL's code, never "in progress". */
int rmpi_group_end(const struct rmpi_nccl *n);

#pragma GCC visibility pop

#endif
