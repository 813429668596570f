/* Who is missing, and where they are, in words. */
#include "capi/company.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MOST_NAMES = 8 };

void rmpi_add(struct rmpi_text *t, const char *format, ...)
{
    va_list list;
    int n;
    va_start(list, format);
    n = vsnprintf(t->at, (size_t)(t->end - t->at), format, list);
    va_end(list);
    if (n > 0)
        t->at = n < t->end - t->at ? t->at + n : t->end - 1;
}

static const char *name_of_row(uint64_t word)
{
    return rmpi_row_of(word) < RMPI_ROWS ? rmpi_rows[rmpi_row_of(word)].name : "an unknown call";
}

/* "in reactant_mpi_bcast, call 16", "last seen after ..." */
static void add_where(struct rmpi_text *t, struct rmpi_whereabouts at)
{
    const int inside = at.now & RMPI_NOW_INSIDE, collective = rmpi_row_of(at.now) == rmpi_row_of(at.begun) && at.begun;
    if (at.now == 0) {
        rmpi_add(t, "has not called anything yet");
        return;
    }
    if (at.now & RMPI_NOW_GAVE_UP)
        rmpi_add(t, "gave up in ");
    else
        rmpi_add(t, inside ? "in " : "last seen after ");
    rmpi_add(t, "%s, ", name_of_row(at.now));
    if (collective)
        rmpi_add(t, "call %" PRIu64, rmpi_number_of(at.now));
    else if (at.begun == 0)
        rmpi_add(t, "before the first collective");
    else
        rmpi_add(t, "after call %" PRIu64 " (%s)", rmpi_number_of(at.begun), name_of_row(at.begun));
}

/* "rank 1 on node3 (pid 77; last seen after reactant_mpi_bcast, call 16)" */
static void add_rank(struct rmpi_text *t, const struct rmpi_company *all, int rank, int64_t since_ms)
{
    const struct rmpi_seen s = rmpi_company_see(all, rank, since_ms);
    rmpi_add(t, "rank %d on %s", rank, all->member[rank].host);
    if (!s.known) {
        rmpi_add(t, ": not heard from");
        return;
    }
    rmpi_add(t, " (pid %" PRId64 "; ", s.pid);
    if (rmpi_process_of(all, all->member[rank].slot) == RMPI_STOPPED)
        rmpi_add(t, "stopped by a signal or a debugger; ");
    add_where(t, s.at);
    rmpi_add(t, ")");
}

/* A list that grows to MOST_NAMES and then only counts. */
struct list {
    struct rmpi_text *t;
    const char *title;
    int n;
};

/* Whether the next one is to be named; writes what comes before it. */
static int next_of(struct list *l)
{
    if (l->n == 0)
        rmpi_add(l->t, "%s", l->title);
    else if (l->n < MOST_NAMES)
        rmpi_add(l->t, "; ");
    return l->n++ < MOST_NAMES;
}

static void end_of(const struct list *l)
{
    if (l->n > MOST_NAMES)
        rmpi_add(l->t, "; and %d more", l->n - MOST_NAMES);
}

enum part { ARRIVED, ELSEWHERE_IN_PROGRAM, MISSING };

/* Where a rank stands as to collective `number` of row `row`. */
static enum part part_of(const struct rmpi_company *all, int rank, uint64_t number, uint32_t row, int64_t since_ms)
{
    const struct rmpi_seen s = rmpi_company_see(all, rank, since_ms);
    const uint64_t theirs = rmpi_number_of(s.at.begun);
    if (theirs > number) /* also what was told before: nobody goes back */
        return ARRIVED;
    if (theirs < number)
        return MISSING;
    return rmpi_row_of(s.at.begun) == row ? ARRIVED : ELSEWHERE_IN_PROGRAM;
}

/* Whether another one that has arrived follows on the same host, before any of another host. */
static int next_on(const struct rmpi_company *all, int rank, uint64_t number, uint32_t row, int64_t since_ms)
{
    const char *host = all->member[rank].host;
    while (++rank < all->size)
        if (part_of(all, rank, number, row, since_ms) == ARRIVED)
            return strcmp(all->member[rank].host, host) == 0;
    return 0;
}

/* "arrived: ranks 0, 2 on node1; rank 4 on node2": by host, as the ranks come. */
static void add_arrived(struct rmpi_text *t, const struct rmpi_company *all, uint64_t number, uint32_t row, int64_t since_ms)
{
    const char *host = NULL;
    int n = 0;
    rmpi_add(t, " Arrived: ");
    for (int rank = 0; rank < all->size; rank++) {
        if (part_of(all, rank, number, row, since_ms) != ARRIVED || n++ >= MOST_NAMES)
            continue;
        if (host && strcmp(host, all->member[rank].host) == 0) {
            rmpi_add(t, ", %d", rank);
            continue;
        }
        if (host)
            rmpi_add(t, " on %s; ", host);
        host = all->member[rank].host;
        rmpi_add(t, "rank%s %d", next_on(all, rank, number, row, since_ms) ? "s" : "", rank);
    }
    rmpi_add(t, " on %s", host ? host : "no host");
    if (n > MOST_NAMES)
        rmpi_add(t, "; and %d more", n - MOST_NAMES);
}

static void late_collective(const struct rmpi_comm *c, const struct rmpi_vigil *v, struct rmpi_text *t)
{
    const uint32_t row = v->call->row;
    const struct rmpi_company *all = c->company;
    struct list other = {t, "; in another collective as that call: ", 0}, missing = {t, "; not arrived: ", 0};
    rmpi_add(t, "call %" PRIu64 " of this communicator did not end within %" PRId64 " ms.", v->number, v->timeout_ms);
    add_arrived(t, all, v->number, row, v->since_ms);
    for (int rank = 0; rank < all->size; rank++)
        if (part_of(all, rank, v->number, row, v->since_ms) == ELSEWHERE_IN_PROGRAM && next_of(&other))
            add_rank(t, all, rank, v->since_ms);
    end_of(&other);
    for (int rank = 0; rank < all->size; rank++)
        if (part_of(all, rank, v->number, row, v->since_ms) == MISSING && next_of(&missing))
            add_rank(t, all, rank, v->since_ms);
    end_of(&missing);
    if (other.n)
        rmpi_add(t, ". The ranks do not make the same calls in the same order");
    else if (!missing.n)
        rmpi_add(t, "; all are here, and the call itself takes longer: raise the timeout if that is to be expected");
}

static void late_message(const struct rmpi_comm *c, const struct rmpi_vigil *v, struct rmpi_text *t)
{
    const struct rmpi_call *a = v->call;
    const struct rmpi_company *all = c->company;
    const uint64_t *constant = c->mpi->constant;
    const unsigned rules = rmpi_rows[a->row].rules;
    struct list peers = {t, ". ", 0};
    rmpi_add(t, "did not end within %" PRId64 " ms:", v->timeout_ms);
    if (rules & HAS_DEST)
        rmpi_add(t, " a message with tag %d to rank %d%s", a->tag, a->root, rules & HAS_SOURCE ? ", and" : " is not received");
    if (rules & HAS_SOURCE) {
        if (a->recv_tag == (int)constant[RMPI_K_ANY_TAG])
            rmpi_add(t, " a message with any tag from ");
        else
            rmpi_add(t, " a message with tag %d from ", a->recv_tag);
        if (a->source == (int)constant[RMPI_K_ANY_SOURCE])
            rmpi_add(t, "any rank");
        else
            rmpi_add(t, "rank %d", a->source);
        rmpi_add(t, rules & HAS_DEST ? "" : " has not come");
    }
    for (int rank = 0; rank < all->size; rank++)
        if (rmpi_company_concerns(c, a, rank) && next_of(&peers))
            add_rank(t, all, rank, v->since_ms);
    end_of(&peers);
}

void rmpi_company_late(const struct rmpi_comm *c, const struct rmpi_vigil *v, struct rmpi_text *t)
{
    if (rmpi_rows[v->call->row].rules & IS_MESSAGE)
        late_message(c, v, t);
    else
        late_collective(c, v, t);
}

void rmpi_company_dead(const struct rmpi_comm *c, const struct rmpi_call *a, struct rmpi_text *t)
{
    const struct rmpi_company *all = c->company;
    struct list dead = {t, "a process has ended: ", 0};
    for (int rank = 0; rank < all->size; rank++)
        if (rmpi_company_concerns(c, a, rank) && rmpi_company_lost(all, rank, 1) && next_of(&dead))
            add_rank(t, all, rank, 0);
    end_of(&dead);
}
