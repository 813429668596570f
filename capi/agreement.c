/*
 * Option check: what each rank is about to do goes to every other rank, as a record of fixed size, over the control communicator. All see
 * the same records and come to the same verdict: go on, or code 30 everywhere with the text that names every rank's view.
 */
#include "capi/company.h"
#include "capi/flight.h"
#include "capi/modes.h"
#include "internal/table/names.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_VIEWS = 12, MOST_RANGES = 8, NAME_PREFIX = sizeof "reactant_mpi_" - 1, WAIT_HEAD = 16 };


/* What a row does not have, or what may differ, is 0. */
struct view {
    uint64_t sequence;
    uint64_t count;
    int32_t row, type, op, root;
    int32_t in_place;
    int32_t started;
};

struct record {
    struct view view;
    uint64_t given, awaited; /* amounts.c */
};

static struct record record_of(const struct rmpi_comm *c, const struct rmpi_call *a, int started)
{
    const unsigned rules = rmpi_rows[a->row].rules;
    const int amounts = rmpi_has_amounts(a->row);
    struct record r;
    memset(&r, 0, sizeof r);
    r.view.sequence = c->sequence;
    r.view.row = (int32_t)a->row;
    r.view.started = started;
    if (rules & (HAS_SEND | HAS_RECV)) {
        r.view.type = a->type;
        r.view.count = amounts ? 0 : a->count;
    }
    if (rules & HAS_OP)
        r.view.op = a->op;
    if (rules & HAS_ROOT)
        r.view.root = a->root;
    if (a->row == RMPI_alltoall || a->row == RMPI_alltoallv) /* elsewhere each rank may choose for itself */
        r.view.in_place = a->send == REACTANT_MPI_IN_PLACE;
    if (amounts)
        rmpi_sum_amounts(c, a, &r.given, &r.awaited);
    return r;
}

/* ---- the exchange ---- */

/* Under a timeout: 0, or the code with which the ranks that are missing are given up. */
static int look_around(struct rmpi_comm *c, const struct rmpi_call *a, int64_t since)
{
    const struct rmpi_vigil v = {a, c->sequence, since, c->timeout_ms};
    int code;
    rmpi_lock(c);
    code = rmpi_company_look(c, &v);
    rmpi_unlock(c);
    return code;
}

/* 0, or the public code. *done: MPI has ended the exchange, well or not. Looks are short, so that a second thread gets in between. */
static int wait_for_all(struct rmpi_comm *c, const struct rmpi_call *a, void *request, int *done)
{
    int64_t start = 0, looked = 4;
    for (int turn = 0;; turn++) {
        int64_t waited;
        int rc;
        rmpi_lock(c);
        rc = c->mpi->control->test(c->mpi, request, done);
        rmpi_unlock(c);
        if (rc != 0)
            *done = 1;
        if (*done)
            return rc == 0 ? 0 : rmpi_mpi_failed(c, a->row, rc);
        waited = rmpi_pace(turn, &start);
        if (rmpi_modes(c) & RMPI_TIMEOUT && waited > looked) {
            looked = waited;
            if ((rc = look_around(c, a, start)) != 0)
                return rc;
        }
    }
}

const void *rmpi_everybodys(struct rmpi_comm *c, const struct rmpi_call *a, const void *own, size_t bytes, void **memory, int *code)
{
    char *request = calloc(1, WAIT_HEAD + bytes * ((size_t)c->size + 1)), *mine = request + WAIT_HEAD;
    int rc, done = 1;
    *memory = request;
    if (!request) {
        *code = rmpi_call_failed(c, REACTANT_MPI_ERR_MEMORY, rmpi_rows[a->row].name, "no memory to compare the ranks' arguments");
        return NULL;
    }
    memcpy(mine, own, bytes);
    rmpi_lock(c);
    rc = c->mpi->control->iallgather(c->mpi, mine, mine + bytes, (int)bytes, c->control, request);
    rmpi_unlock(c);
    *code = rc == 0 ? wait_for_all(c, a, request, &done) : rmpi_mpi_failed(c, a->row, rc);
    if (*code == 0)
        return mine + bytes;
    if (done) /* else MPI may still write there */
        free(request);
    return NULL;
}

/* ---- the text ---- */

void rmpi_say(struct rmpi_words *t, const char *format, ...)
{
    const size_t room = sizeof t->words - t->used;
    va_list list;
    int n;
    va_start(list, format);
    n = vsnprintf(t->words + t->used, room, format, list);
    va_end(list);
    t->used += n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
}

/* "allreduce call 5, FLOAT32 x 1024, SUM", "iallreduce call 5, ..." */
static void say_view(struct rmpi_words *t, const struct view *v)
{
    const struct rmpi_row *row;
    if ((unsigned)v->row >= RMPI_ROWS || (unsigned)v->type >= RMPI_TYPES || (unsigned)v->op >= RMPI_OPS) {
        rmpi_say(t, "a call of another version of this library");
        return;
    }
    row = &rmpi_rows[v->row];
    rmpi_say(t, "%s%s call %llu", v->started ? "i" : "", row->name + NAME_PREFIX, (unsigned long long)v->sequence);
    if (row->rules & (HAS_SEND | HAS_RECV))
        rmpi_say(t, ", %s", type_names[v->type]);
    if (row->rules & (HAS_SEND | HAS_RECV) && !rmpi_has_amounts((uint32_t)v->row))
        rmpi_say(t, " x %llu", (unsigned long long)v->count);
    if (row->rules & HAS_OP)
        rmpi_say(t, ", %s", op_names[v->op]);
    if (row->rules & HAS_ROOT)
        rmpi_say(t, ", root %d", v->root);
    if (v->in_place)
        rmpi_say(t, ", in place");
}

static int same(const struct record *a, const struct record *b)
{
    return memcmp(&a->view, &b->view, sizeof a->view) == 0;
}

/* The ranks of one view: "rank 3", "ranks 0, 2-7". */
static void say_ranks(struct rmpi_words *t, const struct record *all, int size, int first)
{
    int more = 0, ranges = 0;
    for (int r = first + 1; r < size && !more; r++)
        more = same(&all[r], &all[first]);
    rmpi_say(t, more ? "ranks " : "rank ");
    for (int r = first; r < size; r++) {
        int last = r;
        if (!same(&all[r], &all[first]))
            continue;
        if (ranges == MOST_RANGES) {
            rmpi_say(t, " and others");
            return;
        }
        while (last + 1 < size && same(&all[last + 1], &all[first]))
            last++;
        rmpi_say(t, "%s%d", ranges++ ? ", " : "", r);
        if (last > r)
            rmpi_say(t, "-%d", last);
        r = last;
    }
}

static void say_views(struct rmpi_words *t, const struct record *all, int size)
{
    int views = 0;
    for (int r = 0; r < size; r++) {
        int known = 0;
        for (int before = 0; before < r && !known; before++)
            known = same(&all[before], &all[r]);
        if (known)
            continue;
        if (views == MOST_VIEWS) {
            rmpi_say(t, "; and other views");
            return;
        }
        rmpi_say(t, views++ ? "; " : "");
        say_ranks(t, all, size, r);
        rmpi_say(t, ": ");
        say_view(t, &all[r].view);
    }
}

/* ---- the verdict ---- */

#define NOTHING_MOVED "Nothing was moved, and every rank has got this error"

/* The counter becomes that of the rank furthest on, so that ranks that agree again are in step again. */
static int calls_differ(struct rmpi_comm *c, const struct rmpi_call *a, const struct record *all)
{
    struct rmpi_words t = {.used = 0};
    for (int r = 0; r < c->size; r++)
        if (all[r].view.sequence > c->sequence)
            c->sequence = all[r].view.sequence;
    say_views(&t, all, c->size);
    return rmpi_call_failed(c, REACTANT_MPI_ERR_MISMATCH, rmpi_rows[a->row].name,
                            "the ranks do not make the same call: %s. " NOTHING_MOVED, t.words);
}

static int amounts_differ(struct rmpi_comm *c, const struct rmpi_call *a, const struct record *own)
{
    struct rmpi_words t = {.used = 0};
    int code;
    say_view(&t, &own->view);
    rmpi_say(&t, ": ");
    if ((code = rmpi_say_amounts(c, a, &t)) != 0)
        return code;
    return rmpi_call_failed(c, REACTANT_MPI_ERR_MISMATCH, rmpi_rows[a->row].name,
                            "the ranks do not agree on what they give each other in %s. " NOTHING_MOVED, t.words);
}

int rmpi_check_ranks(struct rmpi_comm *c, const struct rmpi_call *a, int started)
{
    const struct record own = record_of(c, a, started);
    const struct record *all = &own;
    uint64_t given = 0, awaited = 0;
    void *memory = NULL;
    int code = 0, differ = 0;
    if (c->size > 1 && !(all = rmpi_everybodys(c, a, &own, sizeof own, &memory, &code)))
        return code;
    for (int r = 0; r < c->size; r++) {
        differ |= !same(&all[r], &own);
        given += all[r].given;
        awaited += all[r].awaited;
    }
    if (differ)
        code = calls_differ(c, a, all);
    else if (given != awaited)
        code = amounts_differ(c, a, &own);
    free(memory);
    return code;
}
