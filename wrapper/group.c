/* Making and ending a group. */
#include <stdio.h>
#include <stdlib.h>

#include "group.h"

static void *list_of(int n, size_t size)
{
    return calloc((size_t)n, size);
}

static bool allocate(struct group *g, int n)
{
    g->members = list_of(n, sizeof *g->members);
    g->order = list_of(n, sizeof(int));
    g->devices = list_of(n, sizeof(int));
    g->ranks = list_of(n, sizeof(int));
    g->places = aligned_alloc(64, sizeof *g->places * (size_t)n);
    return g->members && g->order && g->devices && g->ranks && g->places;
}

/* Numbers the processes in the order of their first devices. processes[i] is the world rank of the i-th. */
static void number_processes(struct group *g, const struct member *members, int *processes)
{
    for (int rank = 0; rank < g->size; rank++) {
        int p = 0;
        while (p < g->processes && processes[p] != members[rank].process)
            p++;
        if (p == g->processes)
            processes[g->processes++] = members[rank].process;
        g->members[rank] = (struct member){p, g->devices[p]++};
        if (members[rank].process == world.comm.rank)
            g->me = p, g->ranks[g->here++] = rank;
    }
}

static void order_devices(struct group *g)
{
    int at = 0;
    g->natural = g->even = true;
    for (int p = 0; p < g->processes; p++) {
        g->even &= g->devices[p] == g->devices[0];
        g->most = g->devices[p] > g->most ? g->devices[p] : g->most;
        for (int rank = 0; rank < g->size; rank++)
            if (g->members[rank].process == p) {
                g->natural &= rank == at;
                g->order[at++] = rank;
            }
    }
}

struct group *group_make(int n, const struct member *members, int *error)
{
    struct group *g = aligned_alloc(64, sizeof *g);
    int *processes = list_of(n, sizeof(int));
    if (!g || !processes)
        goto memory;
    *g = (struct group){.size = n, .timeout_ms = world.timeout_ms, .turn = 2, .lock = PTHREAD_MUTEX_INITIALIZER};
    if (!allocate(g, n))
        goto memory;
    number_processes(g, members, processes);
    order_devices(g);
    for (int i = 0; i < n; i++)
        g->places[i] = (struct place){.turn = 0};
    *error = 0;
    if (g->processes > 1 && core.comm_create(world.comm.core, g->processes, processes, &g->core))
        *error = fail_core("MPI_Comm_split");
    free(processes);
    return *error ? NULL : g;
memory:
    *error = fail(REACTANT_MPI_ERR_MEMORY, "MPI_Comm_split: out of memory");
    return NULL;
}

int group_end(struct group *group, int error)
{
    int none = 0;
    if (atomic_compare_exchange_strong(&group->error, &none, error))
        latch(error);
    if (meeting_stop(group))
        word_change(&group->turn);
    post_flush(group, error);
    return error;
}

void group_name(const struct group *group, int rank, char *text, size_t n)
{
    const struct member *m = &group->members[rank];
    snprintf(text, n, "rank %d (device %d of process %d)", rank, m->place, m->process);
}
