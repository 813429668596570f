/*
 * Option trace: every call becomes an event of a file in the Chrome trace event format, one file a rank. The file is a whole JSON array
 * after each write, so that it can be loaded whatever happens to the process afterwards. Times are of CLOCK_MONOTONIC, in nanoseconds.
 */
#ifndef RMPI_TRACE_H
#define RMPI_TRACE_H

#include "internal/handle/handle.h"

#pragma GCC visibility push(hidden)

/* Make DIR/rank-N.json, and DIR if it is missing; 0 or an errno. Only the first success of a process counts. */
int rmpi_trace_open(const char *dir, int rank, int size, const char *host, const char *mpi);
/* Ranks of the world in a communicator, as "0-3,7": what tells communicators of one number apart. */
void rmpi_trace_comm(int id, const char *members);
/* The clock of the reference (a rank of the world) is ahead of ours by `offset`, known to half of `round_trip`. */
void rmpi_trace_clock(int reference, int64_t offset, int64_t round_trip);
/* Write what is buffered. */
void rmpi_trace_flush(void);

int64_t rmpi_trace_now(void);
/* A blocking call that ends now. code: its result. */
void rmpi_trace_call(const struct rmpi_comm *c, const struct rmpi_call *a, int64_t begin, int code);
/* The start of a call, from f->since to now. If it went well the call is under way until rmpi_trace_done: `begin` is that of the wait. */
void rmpi_trace_started(const struct rmpi_comm *c, const struct rmpi_call *a, const struct rmpi_flight *f, int code);
void rmpi_trace_done(const struct rmpi_comm *c, const struct rmpi_call *a, const struct rmpi_flight *f, int64_t begin, int code);
/* A call on a stream that has been enqueued by now. */
void rmpi_trace_enqueued(const struct rmpi_comm *c, const struct rmpi_call *a, int64_t begin, int code);

#pragma GCC visibility pop

#endif
