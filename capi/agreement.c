/*
 * Option check: what each rank is about to do goes to every other rank, as a record of fixed size, over the control communicator. All see
 * the same records and come to the same verdict: go on, or code 30 everywhere with the text that names every rank's view.
 */
#include "capi/modes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_VIEWS = 12, MOST_RANGES = 8, NAME_PREFIX = sizeof "reactant_mpi_" - 1, REQUEST_BYTES = 16 };

static const char *const type_names[] = {
#define TYPE(name, ...) #name,
#define OP(...)
#include "internal/table/types.inc"
#undef TYPE
#undef OP
};
static const char *const op_names[] = {
#define TYPE(...)
#define OP(name, ...) #name,
#include "internal/table/types.inc"
#undef TYPE
#undef OP
};

/* What a row does not have, or what may differ, is 0. */
struct view {
    uint64_t sequence;
    uint64_t count;
    int32_t row, type, op, root;
    int32_t in_place;
    int32_t reserved;
};

static struct view view_of(const struct rmpi_comm *c, const struct rmpi_call *a)
{
    const unsigned rules = rmpi_rows[a->row].rules;
    struct view v;
    memset(&v, 0, sizeof v);
    v.sequence = c->sequence;
    v.row = (int32_t)a->row;
    if (rules & (HAS_SEND | HAS_RECV)) {
        v.type = a->type;
        v.count = a->count;
    }
    if (rules & HAS_OP)
        v.op = a->op;
    if (rules & HAS_ROOT)
        v.root = a->root;
    if (a->row == RMPI_alltoall) /* elsewhere each rank may choose for itself */
        v.in_place = a->send == REACTANT_MPI_IN_PLACE;
    return v;
}

const void *rmpi_everybodys(struct rmpi_comm *c, const struct rmpi_call *a, const void *own, size_t bytes, void **memory, int *code)
{
    const struct rmpi_mpi *m = c->mpi;
    const char *name = rmpi_rows[a->row].name;
    char *request = calloc(1, REQUEST_BYTES + bytes * ((size_t)c->size + 1)), *mine = request + REQUEST_BYTES;
    int rc = 0, end;
    *memory = request;
    if (!request) {
        *code = rmpi_call_failed(c, REACTANT_MPI_ERR_MEMORY, name, "no memory to compare the ranks' arguments");
        return NULL;
    }
    memcpy(mine, own, bytes);
    rc = m->control->iallgather(m, mine, mine + bytes, (int)bytes, c->control, request);
    end = rc != 0 ? 2 : rmpi_wait(m, request, c->modes & RMPI_TIMEOUT ? c->timeout_ms : 0, &rc);
    if (end == 0)
        return mine + bytes;
    if (end == 1) { /* MPI may still write into the memory: it is left there */
        *code = rmpi_call_failed(c, REACTANT_MPI_ERR_TIMEOUT, name, "some rank has not come to this call within %d ms", c->timeout_ms);
        return NULL;
    }
    *code = rmpi_mpi_failed(c, a->row, rc);
    free(request);
    return NULL;
}

/* ---- the text ---- */

struct text {
    char words[RMPI_STRING_BYTES - 512]; /* the failure adds who and where */
    size_t used;
};

__attribute__((format(printf, 2, 3))) static void say(struct text *t, const char *format, ...)
{
    const size_t room = sizeof t->words - t->used;
    va_list list;
    int n;
    va_start(list, format);
    n = vsnprintf(t->words + t->used, room, format, list);
    va_end(list);
    t->used += n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
}

/* "allreduce call 5, FLOAT32 x 1024, SUM, root 0" */
static void say_view(struct text *t, const struct view *v)
{
    const struct rmpi_row *row;
    if ((unsigned)v->row >= RMPI_ROWS || (unsigned)v->type >= RMPI_TYPES || (unsigned)v->op >= RMPI_OPS) {
        say(t, "a call of another version of this library");
        return;
    }
    row = &rmpi_rows[v->row];
    say(t, "%s call %llu", row->name + NAME_PREFIX, (unsigned long long)v->sequence);
    if (row->rules & (HAS_SEND | HAS_RECV))
        say(t, ", %s x %llu", type_names[v->type], (unsigned long long)v->count);
    if (row->rules & HAS_OP)
        say(t, ", %s", op_names[v->op]);
    if (row->rules & HAS_ROOT)
        say(t, ", root %d", v->root);
    if (v->in_place)
        say(t, ", in place");
}

/* The ranks of one view: "rank 3", "ranks 0, 2-7". */
static void say_ranks(struct text *t, const struct view *all, int size, int first)
{
    int more = 0, ranges = 0;
    for (int r = first + 1; r < size && !more; r++)
        more = memcmp(&all[r], &all[first], sizeof *all) == 0;
    say(t, more ? "ranks " : "rank ");
    for (int r = first; r < size; r++) {
        int last = r;
        if (memcmp(&all[r], &all[first], sizeof *all) != 0)
            continue;
        if (ranges == MOST_RANGES) {
            say(t, " and others");
            return;
        }
        while (last + 1 < size && memcmp(&all[last + 1], &all[first], sizeof *all) == 0)
            last++;
        say(t, last > r ? "%s%d-%d" : "%s%d", ranges++ ? ", " : "", r, last);
        r = last;
    }
}

static void say_views(struct text *t, const struct view *all, int size)
{
    int views = 0;
    for (int r = 0; r < size; r++) {
        int known = 0;
        for (int before = 0; before < r && !known; before++)
            known = memcmp(&all[before], &all[r], sizeof *all) == 0;
        if (known)
            continue;
        if (views == MOST_VIEWS) {
            say(t, "; and other views");
            return;
        }
        say(t, views++ ? "; " : "");
        say_ranks(t, all, size, r);
        say(t, ": ");
        say_view(t, &all[r]);
    }
}

/* The counter is that of the rank furthest on, so that ranks that agree again are in step again. */
static int differ(struct rmpi_comm *c, const struct rmpi_call *a, const struct view *all)
{
    struct text t = {.used = 0};
    for (int r = 0; r < c->size; r++)
        if (all[r].sequence > c->sequence)
            c->sequence = all[r].sequence;
    say_views(&t, all, c->size);
    return rmpi_call_failed(c, REACTANT_MPI_ERR_MISMATCH, rmpi_rows[a->row].name,
                            "the ranks do not make the same call: %s. Nothing was moved, and every rank has got this error", t.words);
}

int rmpi_check_ranks(struct rmpi_comm *c, const struct rmpi_call *a)
{
    const struct view own = view_of(c, a);
    const struct view *all;
    void *memory;
    int code = 0;
    if (c->size == 1)
        return 0;
    all = rmpi_everybodys(c, a, &own, sizeof own, &memory, &code);
    if (!all)
        return code;
    for (int r = 0; r < c->size && code == 0; r++)
        if (memcmp(&all[r], &own, sizeof own) != 0)
            code = differ(c, a, all);
    free(memory);
    return code;
}
