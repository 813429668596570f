/* The life of a call under way: begin, wait or look, end. */
#include "capi/company.h"
#include "capi/flight.h"

#include <stdlib.h>
#include <string.h>

static int failed(struct rmpi_comm *c, const struct rmpi_call *a, int rc)
{
    if (rc == RMPI_NO_MEMORY)
        return rmpi_call_failed(c, REACTANT_MPI_ERR_MEMORY, rmpi_rows[a->row].name, "no memory for its requests");
    if (rmpi_modes(c) & RMPI_TIMEOUT) {
        const int code = rmpi_company_post_mortem(c, a);
        if (code != 0)
            return code;
    }
    return rmpi_mpi_failed(c, a->row, rc);
}

static void give_back(struct rmpi_flight *f)
{
    struct rmpi_parts *next;
    for (struct rmpi_parts *p = f->first.next; p; p = next) {
        next = p->next;
        free(p);
    }
    rmpi_stage_free(f->stage);
}

int rmpi_flight_begin(struct rmpi_comm *c, const struct rmpi_call *a, struct rmpi_flight *f)
{
    const int copies = (rmpi_modes(c) & RMPI_TIMEOUT) != 0;
    int rc = 0;
    f->first = (struct rmpi_parts){.room = sizeof f->few / sizeof *f->few, .part = f->few};
    f->last = f->at = &f->first;
    f->next = f->receives = 0;
    f->first_look = 0;
    f->rc = 0;
    f->got = (reactant_mpi_status){REACTANT_MPI_PROC_NULL, REACTANT_MPI_ANY_TAG, 0};
    f->stage = NULL;
    f->watched = copies != 0;
    f->number = c->sequence;
    if (rmpi_needs_stage(c, a, 1, copies) && !(f->stage = rmpi_stage_new(c, a, 1, copies, &rc)))
        return rc;
    rmpi_lock(c);
    rc = rmpi_start_parts(c, f->stage ? rmpi_staged(f->stage) : a, f);
    rmpi_unlock(c);
    if (likely(rc == 0))
        return 0;
    if (f->first.n == 0) /* else MPI may still write: its memory is left to it */
        give_back(f);
    return failed(c, a, rc);
}

/* The next part that is not done; NULL if all are. */
static uint64_t *pending(struct rmpi_flight *f)
{
    while (f->next == f->at->n) {
        if (!f->at->next)
            return NULL;
        f->at = f->at->next;
        f->next = 0;
    }
    return &f->at->part[f->next];
}

static reactant_mpi_status *status_of(struct rmpi_flight *f, const uint64_t *part)
{
    return f->receives && part == f->first.part ? &f->got : NULL;
}

/* A part that fails is done, the others are still waited for; the first failure is kept. */
static void note(struct rmpi_flight *f, int rc)
{
    if (rc != 0 && f->rc == 0)
        f->rc = rc;
}

/* Tests part after part: 1 = all are done. */
static int look(struct rmpi_comm *c, const struct rmpi_call *a, struct rmpi_flight *f)
{
    const struct rmpi_control *control = c->mpi->control;
    uint64_t *part;
    int done = 0, rc;
    if (a->row == RMPI_probe) {
        note(f, control->iprobe_status(c->mpi, c->word, a->source, a->recv_tag, &done, &f->got));
        return done || f->rc != 0;
    }
    for (; (part = pending(f)) != NULL; f->next++) {
        rc = control->test_status(c->mpi, part, &done, status_of(f, part));
        if (rc == 0 && !done)
            return 0;
        note(f, rc);
    }
    return 1;
}

int rmpi_flight_done(struct rmpi_comm *c, const struct rmpi_call *a, struct rmpi_flight *f)
{
    int done;
    rmpi_lock(c);
    done = look(c, a, f);
    rmpi_unlock(c);
    return done;
}

static void wait_all(struct rmpi_comm *c, struct rmpi_flight *f)
{
    uint64_t *part;
    for (; (part = pending(f)) != NULL; f->next++)
        note(f, c->mpi->control->wait(c->mpi, part, status_of(f, part)));
}

/* Under a timeout: 0, or the code with which the call is given up (MPI may still use its requests and buffers: they stay), or that ends
 * this wait for it (*open). */
static int look_around(struct rmpi_comm *c, const struct rmpi_call *a, const struct rmpi_flight *f, int64_t since, int64_t limit_ms,
                       int *open)
{
    const int passing = limit_ms > 0 && limit_ms < c->timeout_ms;
    const struct rmpi_vigil v = {a, f->number, since, passing ? limit_ms : c->timeout_ms};
    int code;
    rmpi_lock(c);
    code = passing ? rmpi_company_look_for(c, &v) : rmpi_company_look(c, &v);
    rmpi_unlock(c);
    *open = passing && code == REACTANT_MPI_ERR_TIMEOUT;
    return code;
}

/* A program that only tests waits as well: since its first look. */
static int64_t since_first_look(struct rmpi_flight *f, int64_t *start)
{
    const int64_t now = rmpi_now_ms();
    if (f->first_look == 0)
        f->first_look = now;
    *start = f->first_look;
    return now - f->first_look;
}

/* Polls. 0 = done, or *open without a word; else as above. */
static int poll(struct rmpi_comm *c, const struct rmpi_call *a, struct rmpi_flight *f, int64_t limit_ms, int *open)
{
    int64_t start = 0, looked = 4; /* most waits are over before anybody need be asked */
    for (int turn = 0; !rmpi_flight_done(c, a, f); turn++) {
        const int64_t waited = limit_ms != 0 ? rmpi_pace(turn, &start) : f->watched ? since_first_look(f, &start) : 0;
        int code;
        if (f->watched && rmpi_modes(c) & RMPI_TIMEOUT && waited > looked) {
            looked = waited;
            if ((code = look_around(c, a, f, start, limit_ms, open)) != 0)
                return code;
        }
        if (limit_ms != RMPI_FOR_EVER && waited >= limit_ms) {
            *open = 1;
            return 0;
        }
    }
    return 0;
}

int rmpi_flight_end(struct rmpi_comm *c, const struct rmpi_call *a, struct rmpi_flight *f, int64_t limit_ms, int *open)
{
    int rc;
    *open = 0;
    if (limit_ms != RMPI_FOR_EVER || f->watched || rmpi_modes(c) & RMPI_ONE_AT_A_TIME || a->row == RMPI_probe) {
        if ((rc = poll(c, a, f, limit_ms, open)) != 0 || *open)
            return rc;
    } else {
        wait_all(c, f);
    }
    rc = f->rc;
    if (likely(rc == 0) && f->stage)
        rmpi_stage_out(c, f->stage, f->got.bytes);
    give_back(f);
    return likely(rc == 0) ? 0 : failed(c, a, rc);
}
