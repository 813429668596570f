/* Making and ending an NCCL communicator: what runs on the job thread (job.h). */
#ifndef RMPI_NCCL_INIT_H
#define RMPI_NCCL_INIT_H

#include "nccl/job.h"
#include "nccl/nccl.h"

#pragma GCC visibility push(hidden)

struct rmpi_nccl_start {
    const struct rmpi_nccl *nccl;
    struct rmpi_gpu *gpu;
    void *context;
    int ordinal, rank, size;
    int nonblocking;      /* let NCCL poll: abortable, on libraries where that works */
    int64_t timeout_ms;   /* for the warm-up, whose hang NCCL does not notice */
    struct rmpi_nccl_id id;
    /* or a parent: ncclCommSplit by colour and key; colour -1 = no part of it */
    void *parent;
    int color, key;
    int cancel; /* set by the waiter when it gives up: a non-blocking start then aborts */
    /* result */
    int failed;
    char text[2 * RMPI_NCCL_TEXT];
    void *comm;
    void *scratch;
};

/* s is malloc'ed. After LATE and STOPPED it is the thread's, and not to be touched. */
enum rmpi_job_end rmpi_nccl_start_run(struct rmpi_nccl_start *s, int64_t timeout_ms, int (*poke)(void *), void *poke_arg);

/* End a communicator: finalize and destroy, or abort, within the time. 0 = done. */
int rmpi_nccl_end(const struct rmpi_device *d, int abort, int64_t timeout_ms);

/* The watcher: one thread as long as there is a communicator to watch. */
int rmpi_watch_add(struct rmpi_comm *c);
void rmpi_watch_remove(struct rmpi_comm *c);

#pragma GCC visibility pop

#endif
