/*
 * Option check, where ranks give each other different amounts: what one gives must be what the other awaits, for every pair. Each rank
 * sums a hash of (from, to, elements) over all that it gives, and one over all that it awaits; over all ranks the two sums are equal if
 * all pairs agree, and else hardly ever. So two numbers a rank say it, whatever the number of ranks; the text needs the amounts.
 */
#include "capi/modes.h"

#include <stdlib.h>

#define NO_MESSAGE UINT64_MAX

enum { MOST_PAIRS = 12 };

struct amounts {
    uint64_t gives[RMPI_TELL_ALL], awaits[RMPI_TELL_ALL];
};

int rmpi_has_amounts(uint32_t row)
{
    return (rmpi_rows[row].rules & (HAS_COUNTS | HAS_DESTS)) != 0;
}

static int is_dest(const struct rmpi_call *a, int peer)
{
    for (int i = 0; i < a->n_dests; i++)
        if (a->dests[i] == peer)
            return 1;
    return 0;
}

/* Elements from this rank to a peer. */
static uint64_t gives(const struct rmpi_comm *c, const struct rmpi_call *a, int peer)
{
    const int in_place = a->send == REACTANT_MPI_IN_PLACE;
    switch (a->row) {
    case RMPI_allgatherv:
        return in_place ? a->recv_counts[c->rank] : a->count;
    case RMPI_reduce_scatterv:
        return a->recv_counts[peer];
    case RMPI_gatherv:
        return peer != a->root ? NO_MESSAGE : in_place && c->rank == a->root ? a->recv_counts[c->rank] : a->count;
    case RMPI_scatterv:
        return c->rank == a->root ? a->send_counts[peer] : NO_MESSAGE;
    case RMPI_alltoallv:
        return in_place ? a->recv_counts[peer] : a->send_counts[peer];
    default: /* permute */
        return is_dest(a, peer) ? a->count : NO_MESSAGE;
    }
}

static uint64_t awaits(const struct rmpi_comm *c, const struct rmpi_call *a, int peer)
{
    switch (a->row) {
    case RMPI_allgatherv:
    case RMPI_alltoallv:
        return a->recv_counts[peer];
    case RMPI_reduce_scatterv:
        return a->recv_counts[c->rank];
    case RMPI_gatherv:
        return c->rank == a->root ? a->recv_counts[peer] : NO_MESSAGE;
    case RMPI_scatterv:
        return peer != a->root                                                ? NO_MESSAGE
               : c->rank == a->root && a->recv == REACTANT_MPI_IN_PLACE ? a->send_counts[peer]
                                                                              : a->count;
    default:
        return peer == a->source ? a->count : NO_MESSAGE;
    }
}

/* The finaliser of a well-mixing generator: each bit of the input moves half of the output's. */
static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static uint64_t of_pair(int from, int to, uint64_t elements)
{
    if (elements == NO_MESSAGE)
        return 0;
    return mixed(mixed((uint64_t)from << 32 | (uint32_t)to) + elements);
}

void rmpi_sum_amounts(const struct rmpi_comm *c, const struct rmpi_call *a, uint64_t *given, uint64_t *awaited)
{
    *given = *awaited = 0;
    for (int peer = 0; peer < c->size; peer++) {
        *given += of_pair(c->rank, peer, gives(c, a, peer));
        *awaited += of_pair(peer, c->rank, awaits(c, a, peer));
    }
}

static void say_pair(struct rmpi_words *t, int from, int to, uint64_t given, uint64_t awaited)
{
    if (given == NO_MESSAGE)
        rmpi_say(t, "rank %d awaits %llu elements from rank %d, which gives it nothing", to, (unsigned long long)awaited, from);
    else if (awaited == NO_MESSAGE)
        rmpi_say(t, "rank %d gives %llu elements to rank %d, which awaits nothing from it", from, (unsigned long long)given, to);
    else
        rmpi_say(t, "rank %d gives %llu elements to rank %d, which awaits %llu", from, (unsigned long long)given, to,
                 (unsigned long long)awaited);
}

int rmpi_say_amounts(struct rmpi_comm *c, const struct rmpi_call *a, struct rmpi_words *t)
{
    struct amounts own;
    const struct amounts *all;
    void *memory;
    int code = 0, pairs = 0;
    if (c->size > RMPI_TELL_ALL) {
        rmpi_say(t, "what some ranks give is not what others await (at up to %d ranks this says who)", RMPI_TELL_ALL);
        return 0;
    }
    for (int peer = 0; peer < RMPI_TELL_ALL; peer++) {
        own.gives[peer] = peer < c->size ? gives(c, a, peer) : NO_MESSAGE;
        own.awaits[peer] = peer < c->size ? awaits(c, a, peer) : NO_MESSAGE;
    }
    all = rmpi_everybodys(c, a, &own, sizeof own, &memory, &code);
    if (!all)
        return code;
    for (int from = 0; from < c->size && pairs <= MOST_PAIRS; from++)
        for (int to = 0; to < c->size && pairs <= MOST_PAIRS; to++) {
            if (all[from].gives[to] == all[to].awaits[from])
                continue;
            rmpi_say(t, pairs++ ? "; " : "");
            if (pairs > MOST_PAIRS)
                rmpi_say(t, "and more");
            else
                say_pair(t, from, to, all[from].gives[to], all[to].awaits[from]);
        }
    free(memory);
    return 0;
}
