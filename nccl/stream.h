/* Device calls: the rows of the table on a stream, over a bound NCCL. */
#ifndef RMPI_NCCL_STREAM_H
#define RMPI_NCCL_STREAM_H

#include "nccl/nccl.h"

#pragma GCC visibility push(hidden)

/* How NCCL is told of an element type: its own type, and how many of it make one element. */
struct rmpi_nccl_type {
    int type;
    unsigned factor;
};

/* For moving: always possible. For reducing: 0, or why not (a sentence). *op is NCCL's. */
struct rmpi_nccl_type rmpi_nccl_moved(int type, int version);
const char *rmpi_nccl_reduced(int type, int op, int version, struct rmpi_nccl_type *out, int *nccl_op);

/*
 * Run a checked record on its stream; NCCL's code. a->type and a->op are indices, root and source ranks or -1 (nobody), buffers real
 * pointers. The calling thread gets the device's context if it has none.
 */
int rmpi_stream_run(const struct rmpi_comm *c, const struct rmpi_call *a);

/* Before any NCCL call: NCCL on a thread without a context would create one on device 0. */
static inline void rmpi_ensure_context(const struct rmpi_device *d)
{
    void *context = NULL;
    if (d->gpu->current_of && d->gpu->current_of(&context) == 0 && !context)
        d->gpu->set_current(d->context);
}

/* NCCL's own all-to-all, or a group of messages where the version has none. type is NCCL's. */
int rmpi_nccl_all_to_all(const struct rmpi_device *d, int size, const void *send, void *recv, size_t count, int type, void *stream);

/* A non-blocking communicator (the user's NCCL_COMM_BLOCKING=0) says "in progress": wait until the work is on the stream. */
int rmpi_nccl_settle(const struct rmpi_device *d, int rc);

#pragma GCC visibility pop

#endif
