/*
 * Calls that are not plain: a mode of the communicator is on, or one MPI call on the user's buffers cannot carry it. Each layer is
 * written once, over the record, in the order of rmpi_layers.
 */
#include "capi/company.h"
#include "capi/flight.h"
#include "capi/modes.h"
#include "internal/trace/trace.h"

int rmpi_admit(struct rmpi_comm *c, const char *name)
{
    const struct rmpi_mpi *m = c->mpi;
    const uint32_t modes = rmpi_modes(c);
    int flag = 0;
    if (unlikely(modes & RMPI_OUT_OF_STEP))
        return rmpi_out_of_step(c, name);
    if (modes & RMPI_LOOK_FINALIZED && m->control->finalized(m, &flag) == 0 && flag) {
        rmpi_mpi_ends();
        return rmpi_bad_comm(name, c);
    }
    if (modes & RMPI_MAIN_THREAD && (m->control->is_thread_main(m, &flag) != 0 || !flag))
        return rmpi_call_failed(c, REACTANT_MPI_ERR_THREAD, name,
                                "MPI was initialised with thread level funneled or single, so only the thread that initialised it "
                                "may call; initialise it with MPI_THREAD_MULTIPLE");
    return 0;
}

/* Collectives must be MPI's blocking ones on every rank, or non-blocking ones on every rank: what is asked here is the same on all. A
 * message matches either, and must not keep the lock of SERIALIZED while it waits. */
static int must_fly(const struct rmpi_comm *c, const struct rmpi_call *a)
{
    const unsigned rules = rmpi_rows[a->row].rules;
    return rmpi_modes(c) & RMPI_TIMEOUT || a->special & (SPECIAL_LARGE | SPECIAL_MADE) ||
           (rmpi_modes(c) & RMPI_ONE_AT_A_TIME && rules & IS_MESSAGE);
}

/* One MPI call after all, on buffers of ours where it must be. */
static int direct(struct rmpi_comm *c, const struct rmpi_call *a)
{
    struct rmpi_stage *s = NULL;
    int rc;
    if (rmpi_needs_stage(c, a, 0, 0) && !(s = rmpi_stage_new(c, a, 0, 0, &rc)))
        return rc;
    rmpi_lock(c);
    rc = c->run[a->row](c, s ? rmpi_staged(s) : a);
    rmpi_unlock(c);
    if (likely(rc == 0) && s)
        rmpi_stage_out(c, s, 0);
    rmpi_stage_free(s);
    return likely(rc == 0) ? 0 : rmpi_mpi_failed(c, a->row, rc);
}

static int in_flight(struct rmpi_comm *c, const struct rmpi_call *a)
{
    struct rmpi_flight f;
    int rc = rmpi_flight_begin(c, a, &f), open;
    if (rc != 0)
        return rc;
    rc = rmpi_flight_end(c, a, &f, RMPI_FOR_EVER, &open);
    if (rc == 0 && rmpi_rows[a->row].rules & HAS_SOURCE && a->status)
        *a->status = f.got;
    return rc;
}

/* What comes before anything is moved: 0, or the public code. */
static int before(struct rmpi_comm *c, const struct rmpi_call *a, int started)
{
    const int collective = !(rmpi_rows[a->row].rules & IS_MESSAGE);
    int rc = rmpi_admit(c, rmpi_rows[a->row].name);
    if (rc != 0)
        return rc;
    if (collective && rmpi_modes(c) & (RMPI_TIMEOUT | RMPI_CHECK | RMPI_TRACE))
        __atomic_add_fetch(&c->sequence, 1, __ATOMIC_RELAXED);
    if (rmpi_modes(c) & RMPI_TIMEOUT)
        rmpi_company_enter(c, a);
    return collective && rmpi_modes(c) & RMPI_CHECK ? rmpi_check_ranks(c, a, started) : 0;
}

static void after(struct rmpi_comm *c)
{
    if (rmpi_modes(c) & RMPI_TIMEOUT)
        rmpi_company_leave(c);
}

int rmpi_layers(struct rmpi_comm *c, const struct rmpi_call *a)
{
    const int64_t begin = rmpi_modes(c) & RMPI_TRACE ? rmpi_trace_now() : 0;
    int rc = unlikely(rmpi_modes(c)) ? before(c, a, 0) : 0;
    if (rc == 0)
        rc = must_fly(c, a) ? in_flight(c, a) : direct(c, a);
    after(c);
    if (begin)
        rmpi_trace_call(c, a, begin, rc);
    return rc;
}

int rmpi_begin(struct rmpi_comm *c, const struct rmpi_call *a, struct rmpi_flight *f)
{
    int rc;
    if (likely(!rmpi_modes(c))) {
        rmpi_look_at_orphans(RMPI_A_FEW);
        return rmpi_flight_begin(c, a, f);
    }
    f->since = rmpi_modes(c) & RMPI_TRACE ? rmpi_trace_now() : 0;
    rc = before(c, a, 1);
    if (rc == 0) {
        rmpi_look_at_orphans(RMPI_A_FEW);
        rc = rmpi_flight_begin(c, a, f);
    }
    after(c);
    if (f->since)
        rmpi_trace_started(c, a, f, rc);
    return rc;
}
