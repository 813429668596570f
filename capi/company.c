/* What a rank does while it waits under a timeout. */
#include "capi/company.h"

#include <time.h>

enum {
    FIRST_LOOK_MS = 10,   /* shorter waits are nobody's business */
    ALIVE_EVERY_MS = 50,  /* how often the processes of this node are looked at */
    ASK_AGAIN_MS = 1000,
    CLOSELY_AT_ONCE = 8,  /* of them are read in /proc each time, the others asked for by number */
    BELIEVE_DEAD_MS = 100 /* what a dead rank has done before may still end the call */
};

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int rmpi_company_concerns(const struct rmpi_comm *c, const struct rmpi_call *a, int rank)
{
    const unsigned rules = rmpi_rows[a->row].rules;
    if (rank == c->rank)
        return 0;
    if (!(rules & IS_MESSAGE))
        return 1;
    return (rules & HAS_DEST && a->root == rank) ||
           (rules & HAS_SOURCE && (a->source == rank || a->source == (int)c->mpi->constant[RMPI_K_ANY_SOURCE]));
}

struct rmpi_seen rmpi_company_see(const struct rmpi_company *all, int rank, int64_t since_ms)
{
    const struct rmpi_member *m = &all->member[rank];
    struct rmpi_seen s = {m->told, m->told_pid, m->told_ms >= since_ms && m->told_ms > 0};
    if (m->slot) {
        s.at.begun = __atomic_load_n(&m->slot->at.begun, __ATOMIC_ACQUIRE);
        s.at.now = __atomic_load_n(&m->slot->at.now, __ATOMIC_ACQUIRE);
        s.pid = m->slot->pid;
        s.known = 1;
    }
    return s;
}

void rmpi_company_enter(struct rmpi_comm *c, const struct rmpi_call *a)
{
    struct rmpi_whereabouts *at = &c->company->own->at;
    const uint64_t word = rmpi_word_of(c->sequence, a->row, RMPI_NOW_INSIDE);
    __atomic_store_n(&at->now, word, __ATOMIC_RELAXED);
    if (c->sequence > rmpi_number_of(at->begun))
        __atomic_store_n(&at->begun, word, __ATOMIC_RELEASE);
}

void rmpi_company_leave(struct rmpi_comm *c)
{
    struct rmpi_whereabouts *at = &c->company->own->at;
    __atomic_store_n(&at->now, at->now & ~(uint64_t)RMPI_NOW_INSIDE, __ATOMIC_RELEASE);
}

/* A rank that gave up and left is not a dead one: who it waited for is the news, and comes with this rank's own time limit. */
int rmpi_company_lost(const struct rmpi_company *all, int rank, int closely)
{
    const struct rmpi_slot *slot = all->member[rank].slot;
    if (!slot || __atomic_load_n(&slot->at.now, __ATOMIC_ACQUIRE) & RMPI_NOW_GAVE_UP)
        return 0;
    return closely ? rmpi_process_of(all, slot) == RMPI_GONE : rmpi_process_vanished(all, slot);
}

/* Whether a process that the call waits for has ended. `all_closely`: however many there are. */
static int somebody_is_dead(struct rmpi_comm *c, const struct rmpi_call *a, int all_closely)
{
    struct rmpi_company *all = c->company;
    int close_looks = 0, dead = 0;
    for (int i = 0; i < all->size && !dead; i++) {
        const int rank = (all->next_looked + i) % all->size;
        if (all->member[rank].slot && rmpi_company_concerns(c, a, rank))
            dead = rmpi_company_lost(all, rank, all_closely || close_looks++ < CLOSELY_AT_ONCE);
    }
    all->next_looked = (all->next_looked + CLOSELY_AT_ONCE) % all->size;
    return dead;
}

static int report(struct rmpi_comm *c, const struct rmpi_call *a, int code, int latched, const char *text)
{
    uint64_t *now = &c->company->own->at.now;
    if (!latched)
        return rmpi_call_failed_for_now(c, code, rmpi_rows[a->row].name, "%s", text);
    __atomic_store_n(now, *now | RMPI_NOW_GAVE_UP, __ATOMIC_RELEASE);
    rmpi_call_failed(c, code, rmpi_rows[a->row].name, "%s", text);
    rmpi_comm_out_of_step(c); /* after the reason, which other threads give from now on */
    return code;
}

static int report_dead(struct rmpi_comm *c, const struct rmpi_call *a)
{
    char text[RMPI_STRING_BYTES / 2];
    struct rmpi_text t = {text, text + sizeof text};
    rmpi_company_dead(c, a, &t);
    return report(c, a, REACTANT_MPI_ERR_PEER, 1, text);
}

static int report_late(struct rmpi_comm *c, const struct rmpi_vigil *v, int latched)
{
    char text[RMPI_STRING_BYTES / 2];
    struct rmpi_text t = {text, text + sizeof text};
    rmpi_company_late(c, v, &t);
    return report(c, v->call, REACTANT_MPI_ERR_TIMEOUT, latched, text);
}

/* Time for the answers of ranks elsewhere, out of the limit. */
static int64_t grace_of(int64_t timeout_ms)
{
    const int64_t quarter = timeout_ms / 4;
    return quarter < 50 ? 50 : quarter > 1000 ? 1000 : quarter;
}

static int look_around(struct rmpi_comm *c, const struct rmpi_vigil *v, int latched)
{
    const struct rmpi_call *a = v->call;
    struct rmpi_company *all = c->company;
    const int64_t now = now_ms(), waited = now - v->since_ms;
    const int over = waited >= v->timeout_ms;
    rmpi_company_hear(c, now);
    if (all->elsewhere && waited >= v->timeout_ms - grace_of(v->timeout_ms) &&
        (all->asked_number != v->number || now >= all->asked_ms + ASK_AGAIN_MS)) {
        all->asked_number = v->number;
        all->asked_ms = now;
        rmpi_company_ask(c, a);
    }
    if (all->board && (over || now >= all->looked_ms + ALIVE_EVERY_MS)) {
        all->looked_ms = now;
        if (!somebody_is_dead(c, a, over))
            all->dead_ms = 0;
        else if (!all->dead_ms)
            all->dead_ms = now;
        if (all->dead_ms && (over || now >= all->dead_ms + BELIEVE_DEAD_MS))
            return report_dead(c, a);
    }
    return over ? report_late(c, v, latched) : 0;
}

static int look(struct rmpi_comm *c, const struct rmpi_vigil *v, int latched)
{
    int code, idle = 0;
    if (v->timeout_ms > FIRST_LOOK_MS && now_ms() < v->since_ms + FIRST_LOOK_MS)
        return 0;
    /* Another thread looks right now, for both. */
    if (!__atomic_compare_exchange_n(&c->company->busy, &idle, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return 0;
    code = look_around(c, v, latched);
    __atomic_store_n(&c->company->busy, 0, __ATOMIC_RELEASE);
    return code;
}

int rmpi_company_look(struct rmpi_comm *c, const struct rmpi_vigil *v)
{
    return look(c, v, 1);
}

int rmpi_company_look_for(struct rmpi_comm *c, const struct rmpi_vigil *v)
{
    return look(c, v, 0);
}

/* MPI may notice by a closed connection, before the kernel has taken the process away. */
int rmpi_company_post_mortem(struct rmpi_comm *c, const struct rmpi_call *a)
{
    const struct timespec nap = {0, 10000000};
    for (int turn = 0; c->company->board && turn < 20; turn++) {
        if (somebody_is_dead(c, a, 1))
            return report_dead(c, a);
        nanosleep(&nap, NULL);
    }
    return 0;
}
