/*
 * The devices of one process meet: each leaves word of what it calls, and the last to come does the work for all, between the processes
 * too, while the others wait.
 */
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "group.h"

#define ENDED 0x40000000 /* in arrived: a device did not come in time */

bool meeting_stop(struct group *group)
{
    uint32_t n = atomic_load(&group->arrived);
    while (n < (uint32_t)group->here)
        if (atomic_compare_exchange_weak(&group->arrived, &n, ENDED))
            return true;
    return false;
}

static int ended(struct group *group)
{
    int error;
    while (!(error = atomic_load(&group->error)))
        sched_yield(); /* whoever ends it is about to say why */
    return error;
}

/* Which devices here have come in this turn, and which not. */
static int missed(struct group *group, const char *name, uint32_t turn)
{
    char came[400] = "", missing[400] = "";
    for (int i = 0; i < group->here; i++) {
        char *list = atomic_load(&group->places[i].turn) == turn ? came : missing;
        const size_t used = strlen(list);
        snprintf(list + used, 400 - used, "%s%d", used ? ", " : "", group->ranks[i]);
    }
    return fail(REACTANT_MPI_ERR_TIMEOUT, "%s of %d devices: after %d ms not all devices of process %d of %d have called: not rank %s; "
                "rank %s has", name, group->size, group->timeout_ms, group->me, group->processes, missing, came);
}

static int differ(const struct group *group, const struct call *a, int place)
{
    const struct call *b = &group->places[place].call;
    return fail(REACTANT_MPI_ERR_MISMATCH, "devices of one process make different calls: rank %d %s of %zu elements of type %#x, rank %d %s "
                "of %zu elements of type %#x",
                group->ranks[0], a->name, a->count, a->type, group->ranks[place], b->name, b->count, b->type);
}

static int work_for_all(struct group *group, int (*work)(struct group *, const struct call *))
{
    const struct call *a = &group->places[0].call;
    for (int i = 1; i < group->here; i++) {
        const struct call *b = &group->places[i].call;
        if (a->name != b->name || a->count != b->count || a->type != b->type || a->op != b->op)
            return differ(group, a, i);
    }
    return work(group, a);
}

static int wait_for_last(struct group *group, const char *name, uint32_t turn)
{
    int64_t deadline = deadline_after(group->timeout_ms);
    while (!word_wait(&group->turn, turn, deadline)) {
        uint32_t n = atomic_load(&group->arrived);
        if (n >= ENDED)
            return ended(group);
        if (n == 0 || n == (uint32_t)group->here) {
            deadline = 0; /* the last one is at work on our buffers, and has a deadline of its own between the processes; or is done */
        } else if ((atomic_load(&group->turn) & ~1u) == turn && atomic_compare_exchange_strong(&group->arrived, &n, ENDED)) {
            const int error = group_end(group, missed(group, name, turn));
            word_change(&group->turn);
            return error;
        }
    }
    return atomic_load(&group->error) ? ended(group) : group->result;
}

int meet_again(const struct comm *comm, int (*work)(struct group *, const struct call *))
{
    struct group *group = comm->group;
    struct place *place = &group->places[comm->place];
    const uint32_t turn = atomic_load(&group->turn) & ~1u;
    int error = atomic_load(&group->error);
    if (error) /* it may have ended while the last one was at work */
        return error;
    atomic_store(&place->turn, turn);
    const uint32_t before = atomic_fetch_add(&group->arrived, 1);
    if (before >= ENDED)
        return ended(group);
    if (before + 1 < (uint32_t)group->here)
        return wait_for_last(group, place->call.name, turn);
    const int result = work_for_all(group, work);
    error = atomic_load(&group->error);
    if (!error)
        error = result;
    group->result = error;
    atomic_store(&group->arrived, atomic_load(&group->error) ? ENDED : 0);
    word_change(&group->turn);
    return error;
}

int meet(const struct comm *comm, const struct call *call, int (*work)(struct group *, const struct call *))
{
    comm->group->places[comm->place].call = *call;
    return meet_again(comm, work);
}
