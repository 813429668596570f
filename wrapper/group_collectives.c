/* Collectives of a group: reduced or gathered here in memory, then between the processes, then given to every device here. */
#include <stdlib.h>
#include <string.h>

#include "group.h"

#define LONG_BYTES 262144 /* from here on the devices share the work of an allreduce: measured */

static void *send_of(struct group *g, int place)
{
    return (void *)g->places[place].call.send;
}

static void *recv_of(struct group *g, int place)
{
    return g->places[place].call.recv;
}

static char *scratch(struct group *g, size_t bytes)
{
    if (bytes > g->scratch_bytes) {
        free(g->scratch);
        g->scratch = malloc(bytes);
        g->scratch_bytes = g->scratch ? bytes : 0;
    }
    return g->scratch;
}

static int no_memory(const struct call *call)
{
    return fail(REACTANT_MPI_ERR_MEMORY, "%s: no room for %zu elements", call->name, call->count);
}

static int not_defined(const struct call *call)
{
    return fail(REACTANT_MPI_ERR_OP, "%s: operation %#x is not defined on elements of type %#x between devices of one process: SUM, PROD, "
                "MIN and MAX of integers and of 32- and 64-bit floats are, SUM and PROD of complex numbers", call->name, call->op, call->type);
}

/* n elements from `offset` bytes on, over the devices here, in the order of their ranks. */
static void reduce_here(struct group *g, reduce_fn *reduce, char *to, size_t offset, size_t n, size_t size)
{
    if (g->here == 1)
        memmove(to, (char *)send_of(g, 0) + offset, n * size);
    for (int i = 1; i < g->here; i++)
        reduce(to, i == 1 ? (char *)send_of(g, 0) + offset : to, (char *)send_of(g, i) + offset, n);
}

static int between_processes(struct group *g, const struct call *call)
{
    if (g->core && core.allreduce(REACTANT_MPI_IN_PLACE, recv_of(g, 0), call->count, call->type, call->op, g->core))
        return fail_core(call->name);
    return 0;
}

static int allreduce(struct group *g, const struct call *call)
{
    const size_t size = type_size((uintptr_t)call->type);
    reduce_here(g, reduce_find(call->type, call->op), recv_of(g, 0), 0, call->count, size);
    const int error = between_processes(g, call);
    for (int i = 1; i < g->here && !error; i++)
        memcpy(recv_of(g, i), recv_of(g, 0), call->count * size);
    return error;
}

static int nothing(struct group *g, const struct call *call)
{
    return (void)g, (void)call, 0;
}

/* Long vectors: every device reduces a part and copies for itself. */
static int allreduce_in_parts(const struct comm *comm, const struct call *call)
{
    struct group *g = comm->group;
    const size_t size = type_size((uintptr_t)call->type), part = (call->count / (size_t)g->here + 15) & ~(size_t)15;
    const size_t first = part * (size_t)comm->place, left = first < call->count ? call->count - first : 0;
    int error = meet(comm, call, nothing);
    if (error)
        return error;
    reduce_here(g, reduce_find(call->type, call->op), (char *)recv_of(g, 0) + first * size, first * size,
                comm->place == g->here - 1 || left < part ? left : part, size);
    error = meet_again(comm, between_processes);
    if (error)
        return error;
    if (comm->place)
        memcpy(call->recv, recv_of(g, 0), call->count * size);
    return meet_again(comm, nothing); /* until then the first one's buffer is in use */
}

/* The count of every process in elements, for a block of `block` elements per device. */
static void counts_of(const struct group *g, size_t block, size_t *counts, size_t *displs)
{
    size_t at = 0;
    for (int p = 0; p < g->processes; p++) {
        counts[p] = block * (size_t)g->devices[p];
        displs[p] = at;
        at += counts[p];
    }
}

/* call->count is the block that one device gets. */
static int reduce_scatter(struct group *g, const struct call *call)
{
    const size_t size = type_size((uintptr_t)call->type), block = call->count * size;
    const size_t counts_bytes = 2 * sizeof(size_t) * (size_t)g->processes;
    reduce_fn *reduce = reduce_find(call->type, call->op);
    char *room = scratch(g, counts_bytes + block * (size_t)g->size);
    if (!room)
        return no_memory(call);
    size_t *counts = (size_t *)room, *displs = counts + g->processes;
    char *all = room + counts_bytes, *own = all;
    counts_of(g, call->count, counts, displs);
    if (g->natural)
        reduce_here(g, reduce, all, 0, call->count * (size_t)g->size, size);
    else
        for (int k = 0; k < g->size; k++)
            reduce_here(g, reduce, all + block * (size_t)k, block * (size_t)g->order[k], call->count, size);
    if (g->core && (g->even ? core.reduce_scatter(REACTANT_MPI_IN_PLACE, all, counts[0], call->type, call->op, g->core)
                            : core.reduce_scatterv(REACTANT_MPI_IN_PLACE, all, counts, call->type, call->op, g->core)))
        return fail_core(call->name);
    for (int i = 0; i < g->here; i++)
        memcpy(recv_of(g, i), own + block * (size_t)i, block);
    return 0;
}

/* call->count is the block of one device. */
static int allgather(struct group *g, const struct call *call)
{
    const size_t size = type_size((uintptr_t)call->type), block = call->count * size;
    const size_t counts_bytes = 2 * sizeof(size_t) * (size_t)g->processes;
    if (!size)
        return fail(REACTANT_MPI_ERR_TYPE, "%s: %#x is not an element type", call->name, call->type);
    char *room = scratch(g, counts_bytes + (g->natural ? 0 : block * (size_t)g->size));
    if (!room)
        return no_memory(call);
    size_t *counts = (size_t *)room, *displs = counts + g->processes;
    char *all = g->natural ? recv_of(g, 0) : room + counts_bytes; /* process after process */
    counts_of(g, call->count, counts, displs);
    for (int i = 0; i < g->here; i++) {
        char *to = all + size * displs[g->me] + block * (size_t)i;
        if (to != send_of(g, i))
            memcpy(to, send_of(g, i), block);
    }
    if (g->core && (g->even ? core.allgather(REACTANT_MPI_IN_PLACE, all, counts[0], call->type, g->core)
                            : core.allgatherv(REACTANT_MPI_IN_PLACE, counts[g->me], all, counts, displs, call->type, g->core)))
        return fail_core(call->name);
    for (int i = g->natural ? 1 : 0; i < g->here; i++)
        if (g->natural)
            memcpy(recv_of(g, i), all, block * (size_t)g->size);
        else
            for (int k = 0; k < g->size; k++)
                memcpy((char *)recv_of(g, i) + block * (size_t)g->order[k], all + block * (size_t)k, block);
    return 0;
}

static int barrier(struct group *g, const struct call *call)
{
    return g->core && core.barrier(g->core) ? fail_core(call->name) : 0;
}

int group_allreduce(const struct comm *comm, const struct call *call)
{
    if (!reduce_find(call->type, call->op))
        return not_defined(call);
    const bool parts = comm->group->here > 1 && call->count * type_size((uintptr_t)call->type) >= LONG_BYTES;
    return parts ? allreduce_in_parts(comm, call) : meet(comm, call, allreduce);
}

int group_reduce_scatter(const struct comm *comm, const struct call *call)
{
    return reduce_find(call->type, call->op) ? meet(comm, call, reduce_scatter) : not_defined(call);
}

int group_allgather(const struct comm *comm, const struct call *call)
{
    return meet(comm, call, allgather);
}

int group_barrier(const struct comm *comm, const struct call *call)
{
    return meet(comm, call, barrier);
}
