/* The events of calls. */
#include "events.h"

#include "internal/table/names.h"
#include "internal/table/shapes.h"
#include "mpi/mpi.h"

static const struct {
    const char *name, *started, *waited;
    unsigned rules;
} rows[RMPI_ROWS] = {
#define COLLECTIVE(name, shape, ...) [RMPI_##name] = {#name, "i" #name, "wait " #name, HAS_##shape},
#define VARIED COLLECTIVE
#define EXCHANGE COLLECTIVE
#define MESSAGE(name, shape, ...) [RMPI_##name] = {#name, "i" #name, "wait " #name, HAS_##shape | IS_MESSAGE},
#define PAIR MESSAGE
#define PROBE MESSAGE
#include "internal/table/rows.inc"
#include "internal/table/end.h"
};

static const unsigned type_bytes[] = {
#define TYPE(name, kind, bytes, ...) bytes,
#define OP(...)
#include "internal/table/types.inc"
#undef TYPE
#undef OP
};

static void put_peer(struct rmpi_line *l, const struct rmpi_comm *c, int peer)
{
    if (peer == (int)c->mpi->constant[RMPI_K_PROC_NULL])
        PUT(l, "\"none\"");
    else if (peer == (int)c->mpi->constant[RMPI_K_ANY_SOURCE])
        PUT(l, "\"any\"");
    else
        rmpi_put_number(l, peer);
}

/* What a receive got is told where the caller asked for it. */
static void put_peers(struct rmpi_line *l, unsigned rules, const struct rmpi_comm *c, const struct rmpi_call *a, int known)
{
    const reactant_mpi_status *status = known ? a->status : NULL;
    if (rules & HAS_DEST) {
        PUT(l, ",\"dest\":");
        put_peer(l, c, a->root);
        PUT_ARGUMENT(l, "tag", a->tag);
    }
    if (rules & HAS_SOURCE && status && status->source >= 0) {
        PUT_ARGUMENT(l, "source", status->source);
        PUT_ARGUMENT(l, "recv_tag", status->tag);
        PUT_ARGUMENT(l, "recv_bytes", (int64_t)status->bytes);
    } else if (rules & HAS_SOURCE) {
        PUT(l, ",\"source\":");
        put_peer(l, c, a->source);
        if (a->recv_tag != (int)c->mpi->constant[RMPI_K_ANY_TAG])
            PUT_ARGUMENT(l, "recv_tag", a->recv_tag);
    }
}

static void put_dests(struct rmpi_line *l, const struct rmpi_call *a)
{
    enum { MOST = 16 };
    if (a->source == REACTANT_MPI_PROC_NULL)
        PUT_WORD(l, "source", "none");
    else
        PUT_ARGUMENT(l, "source", a->source);
    PUT(l, ",\"dests\":[");
    for (int i = 0; i < a->n_dests && i < MOST; i++) {
        if (i > 0)
            PUT(l, ",");
        rmpi_put_number(l, a->dests[i]);
    }
    PUT(l, "]");
}

static size_t total(const struct rmpi_comm *c, const size_t *counts)
{
    size_t sum = 0;
    for (int r = 0; r < c->size; r++)
        sum += counts[r];
    return sum;
}

/* Of one rank's block, where an operation has blocks; of all blocks that are sent, where they have a count each. */
static void put_amount(struct rmpi_line *l, unsigned rules, const struct rmpi_comm *c, const struct rmpi_call *a)
{
    size_t count = rules & HAS_SOURCE && !(rules & HAS_DEST) ? a->recv_count : a->count;
    if (a->row == RMPI_reduce_scatterv || (a->row == RMPI_alltoallv && a->send == REACTANT_MPI_IN_PLACE))
        count = total(c, a->recv_counts);
    else if (a->row == RMPI_alltoallv)
        count = total(c, a->send_counts);
    PUT_WORD(l, "type", type_names[a->type]);
    if (rules & HAS_OP)
        PUT_WORD(l, "op", op_names[a->op]);
    PUT_ARGUMENT(l, "count", (int64_t)count);
    PUT_ARGUMENT(l, "bytes", (int64_t)(count * type_bytes[a->type]));
}

static void begin_arguments(struct rmpi_line *l, const struct rmpi_comm *c)
{
    PUT(l, ",\"args\":{\"comm\":");
    rmpi_put_number(l, rmpi_comm_number(c));
    PUT_ARGUMENT(l, "rank", c->rank);
}

enum { UNDER_WAY = -1 }; /* instead of a code */

static void put_call(struct rmpi_line *l, const struct rmpi_comm *c, const struct rmpi_call *a, int code)
{
    const unsigned rules = rows[a->row].rules;
    begin_arguments(l, c);
    if (!(rules & IS_MESSAGE))
        PUT_ARGUMENT(l, "seq", (int64_t)c->sequence);
    if (rules & (HAS_SEND | HAS_RECV))
        put_amount(l, rules, c, a);
    if (rules & HAS_ROOT)
        PUT_ARGUMENT(l, "root", a->root);
    if (rules & HAS_DESTS)
        put_dests(l, a);
    put_peers(l, rules, c, a, code == 0);
    if (code > 0)
        PUT_ARGUMENT(l, "code", code);
}

static const char *category(const struct rmpi_call *a)
{
    return rows[a->row].rules & IS_MESSAGE ? "message" : "collective";
}

void rmpi_trace_call(const struct rmpi_comm *c, const struct rmpi_call *a, int64_t begin, int code)
{
    const int64_t end = rmpi_trace_now();
    struct rmpi_line line, *const l = &line;
    if (!rmpi_line_begin(l, "X", rows[a->row].name, category(a), begin))
        return;
    PUT(l, ",\"dur\":");
    rmpi_put_time(l, end - begin);
    put_call(l, c, a, code);
    rmpi_line_end(l, end);
}

/* What the thread spends in starting and in waiting for a call that is under way on its own line. */
static void put_part(const struct rmpi_comm *c, const char *name, const char *part, int64_t begin, int64_t end, int code)
{
    struct rmpi_line line, *const l = &line;
    if (!rmpi_line_begin(l, "X", name, part, begin))
        return;
    PUT(l, ",\"dur\":");
    rmpi_put_time(l, end - begin);
    begin_arguments(l, c);
    if (code != 0)
        PUT_ARGUMENT(l, "code", code);
    rmpi_line_end(l, end);
}

/* Pairs of events are matched by category, name and number; the address is nobody else's while the call is under way. */
static int begin_pair(struct rmpi_line *l, const char *phase, const struct rmpi_call *a, const struct rmpi_flight *f, int64_t time)
{
    if (!rmpi_line_begin(l, phase, rows[a->row].name, category(a), time))
        return 0;
    PUT(l, ",\"id2\":{\"local\":\"");
    rmpi_put_number(l, (int64_t)(uintptr_t)f);
    PUT(l, "\"}");
    return 1;
}

void rmpi_trace_started(const struct rmpi_comm *c, const struct rmpi_call *a, const struct rmpi_flight *f, int code)
{
    const int64_t end = rmpi_trace_now();
    struct rmpi_line line, *const l = &line;
    put_part(c, rows[a->row].started, "start", f->since, end, code);
    if (code != 0 || !begin_pair(l, "b", a, f, f->since))
        return;
    put_call(l, c, a, UNDER_WAY);
    rmpi_line_end(l, end);
}

void rmpi_trace_done(const struct rmpi_comm *c, const struct rmpi_call *a, const struct rmpi_flight *f, int64_t begin, int code)
{
    const int64_t end = rmpi_trace_now();
    struct rmpi_line line, *const l = &line;
    put_part(c, rows[a->row].waited, "wait", begin, end, code);
    if (!begin_pair(l, "e", a, f, end))
        return;
    begin_arguments(l, c);
    if (code == 0 && f->got.source >= 0) {
        PUT_ARGUMENT(l, "source", f->got.source);
        PUT_ARGUMENT(l, "recv_tag", f->got.tag);
        PUT_ARGUMENT(l, "recv_bytes", (int64_t)f->got.bytes);
    }
    rmpi_line_end(l, end);
}

void rmpi_trace_enqueued(const struct rmpi_comm *c, const struct rmpi_call *a, int64_t begin, int code)
{
    const unsigned rules = rows[a->row].rules;
    const int64_t end = rmpi_trace_now();
    struct rmpi_line line, *const l = &line;
    if (!rmpi_line_begin(l, "X", rows[a->row].name, "device", begin))
        return;
    PUT(l, ",\"dur\":");
    rmpi_put_time(l, end - begin);
    begin_arguments(l, c);
    if (rules & (HAS_SEND | HAS_RECV))
        put_amount(l, rules, c, a);
    if (rules & HAS_ROOT)
        PUT_ARGUMENT(l, "root", a->root);
    if (rules & HAS_DEST)
        PUT_ARGUMENT(l, "dest", a->root);
    if (rules & HAS_SOURCE)
        PUT_ARGUMENT(l, "source", a->source);
    if (code != 0)
        PUT_ARGUMENT(l, "code", code);
    rmpi_line_end(l, end);
}
