/*
 * A call under way: what MPI was asked to do for one record (one or several requests), and the buffers of ours that it works on, if
 * any. Every call that is not one plain MPI call is a flight: large, made of messages, started, under a timeout.
 */
#ifndef RMPI_CAPI_FLIGHT_H
#define RMPI_CAPI_FLIGHT_H

#include "capi/call.h"

#pragma GCC visibility push(hidden)

/* ---- stage.c: buffers of ours between MPI and the user's ---- */

/* Whether MPI must be given something else than the user's record. started: by its non-blocking form; copies: data must go through
 * buffers of ours. */
int rmpi_needs_stage(const struct rmpi_comm *c, const struct rmpi_call *a, int started, int copies);
/* The stage of a record, input copied in; its record for MPI is rmpi_staged(). NULL: out of memory (recorded, code in *rc). */
struct rmpi_stage *rmpi_stage_new(struct rmpi_comm *c, const struct rmpi_call *a, int started, int copies, int *rc);
const struct rmpi_call *rmpi_staged(const struct rmpi_stage *s);
/* The results to the user's buffers. received: bytes of a message. */
void rmpi_stage_out(struct rmpi_comm *c, const struct rmpi_stage *s, size_t received);
void rmpi_stage_free(struct rmpi_stage *s);

/* ---- parts.c, exchange.c: what MPI is asked ---- */

/* Start the MPI calls that a record becomes. MPI's code; parts that were started stay in the flight. */
int rmpi_start_parts(struct rmpi_comm *c, const struct rmpi_call *a, struct rmpi_flight *f);
/* One more call, of any row with a non-blocking form, on a communicator given by word. */
int rmpi_start_one(struct rmpi_comm *c, const struct rmpi_call *a, uint64_t comm, struct rmpi_flight *f);
/* A message of any size: one element of a derived type where an int cannot count. */
int rmpi_start_message(struct rmpi_comm *c, const struct rmpi_call *a, uint64_t comm, struct rmpi_flight *f);
/* Whether a receive has a status of its own: MPICH 4.0 fills in nonsense where the source is PROC_NULL. */
static inline int rmpi_from_a_rank(const struct rmpi_comm *c, const struct rmpi_call *a)
{
    return a->source != (int)c->mpi->constant[RMPI_K_PROC_NULL];
}
/* gatherv, scatterv, alltoallv, permute, sendrecv by messages. */
int rmpi_start_exchange(struct rmpi_comm *c, const struct rmpi_call *a, struct rmpi_flight *f);

/* ---- flight.c ---- */

enum { RMPI_FOR_EVER = -1 };

/* Begin a call. 0, or the public code with the failure recorded; then nothing is left to end. */
int rmpi_flight_begin(struct rmpi_comm *c, const struct rmpi_call *a, struct rmpi_flight *f);
/* One look: whether it can be ended without waiting. */
int rmpi_flight_done(struct rmpi_comm *c, const struct rmpi_call *a, struct rmpi_flight *f);
/*
 * Wait at most limit_ms (RMPI_FOR_EVER; 0 = one look) and end it. *open: still under way, to be waited for again; the code is then 0, or
 * 31 with a text that says where the other ranks are. Under a timeout it may be given up: its buffers of ours are left to MPI.
 * Else it is over: results are in the user's buffers, f->got is what a receive got, everything is given back; gives the public code.
 */
int rmpi_flight_end(struct rmpi_comm *c, const struct rmpi_call *a, struct rmpi_flight *f, int64_t limit_ms, int *open);

/* ---- layers.c, requests.c ---- */

/* Whether this thread may call now: 0, or the public code with the failure recorded. */
int rmpi_admit(struct rmpi_comm *c, const char *name);
/* Start a checked record, through the layers. */
int rmpi_begin(struct rmpi_comm *c, const struct rmpi_call *a, struct rmpi_flight *f);
/* As rmpi_flight_end, of a request. */
int rmpi_end_request(struct rmpi_request *r, int64_t limit_ms, int *open);
int rmpi_bad_request(const char *function, const void *word) __attribute__((cold, noinline));

/* ---- orphans.c: requests freed while under way ---- */

enum { RMPI_A_FEW = 4, RMPI_ALL = 1 << 30 };

void rmpi_adopt(struct rmpi_request *r);
/* Take back those that are done, among `most` of them. */
void rmpi_look_at_orphans(int most);
/* Before a communicator (NULL: every one) ends, its calls do, if they do so soon. */
void rmpi_settle(struct rmpi_comm *c);

/* With SERIALIZED: MPI for this thread alone, and back. */
static inline void rmpi_lock(const struct rmpi_comm *c)
{
    if (rmpi_modes(c) & RMPI_ONE_AT_A_TIME)
        rmpi_enter();
}

static inline void rmpi_unlock(const struct rmpi_comm *c)
{
    if (rmpi_modes(c) & RMPI_ONE_AT_A_TIME)
        rmpi_leave();
}

#pragma GCC visibility pop

#endif
