/*
 * Work that may never come back (NCCL waits for missing ranks without end) on a C thread of its own, all signals blocked, while the
 * caller waits with a deadline. The thread never enters Go and never calls MPI.
 */
#ifndef RMPI_NCCL_JOB_H
#define RMPI_NCCL_JOB_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

/* A detached thread of the library's own: all signals blocked. 0 or an errno. */
int rmpi_thread(void *(*run)(void *), void *arg);

enum rmpi_job_end { RMPI_JOB_DONE, RMPI_JOB_LATE, RMPI_JOB_STOPPED, RMPI_JOB_NO_THREAD };

/*
 * Run work(arg). Every few milliseconds the caller's thread calls poke(poke_arg), if given; non-zero stops the wait. After LATE or
 * STOPPED the thread still runs, and arg is its own: *cancel becomes 1, and late(arg) frees it when the work comes back.
 */
enum rmpi_job_end rmpi_job_run(void (*work)(void *), void *arg, int64_t timeout_ms, int (*poke)(void *), void *poke_arg,
                               void (*late)(void *), int *cancel);

#pragma GCC visibility pop

#endif
