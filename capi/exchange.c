/*
 * Collectives that are made of messages, all of them started at once: MPI's own versions count in ints, and the ranks could not agree
 * without asking whether every one's counts and displacements fit. The messages go over the control communicator, where no receive of
 * the user's can take them. Messages of one pair of ranks keep their order, so that calls in a row do not mix.
 */
#include "capi/flight.h"

#include <string.h>

struct exchange {
    struct rmpi_comm *c;
    struct rmpi_flight *f;
    struct rmpi_call message; /* type and tag, the same for all */
    size_t bytes;
    uint64_t comm;
    int rc;
};

static void get(struct exchange *x, void *buffer, size_t count, int source)
{
    struct rmpi_call *m = &x->message;
    if (x->rc != 0 || !count)
        return;
    m->row = RMPI_recv;
    m->recv = buffer;
    m->recv_count = count;
    m->source = source;
    x->rc = rmpi_start_message(x->c, m, x->comm, x->f);
}

static void put(struct exchange *x, const void *buffer, size_t count, int dest)
{
    struct rmpi_call *m = &x->message;
    if (x->rc != 0 || !count)
        return;
    m->row = RMPI_send;
    m->send = buffer;
    m->count = count;
    m->root = dest;
    x->rc = rmpi_start_message(x->c, m, x->comm, x->f);
}

static void *at(const void *buffer, size_t elements, const struct exchange *x)
{
    return (char *)(uintptr_t)buffer + elements * x->bytes;
}

/* What a rank has for itself. */
static void keep(const struct exchange *x, void *to, size_t room, const void *from, size_t count)
{
    if (count < room)
        room = count;
    if (room && to != from)
        memmove(to, from, room * x->bytes);
}

static void gatherv(struct exchange *x, const struct rmpi_call *a)
{
    const int rank = x->c->rank;
    if (a->root != rank) {
        put(x, a->send, a->count, a->root);
        return;
    }
    for (int r = 0; r < x->c->size; r++)
        if (r != rank)
            get(x, at(a->recv, a->recv_displs[r], x), a->recv_counts[r], r);
    if (a->send != REACTANT_MPI_IN_PLACE)
        keep(x, at(a->recv, a->recv_displs[rank], x), a->recv_counts[rank], a->send, a->count);
}

static void scatterv(struct exchange *x, const struct rmpi_call *a)
{
    const int rank = x->c->rank;
    if (a->root != rank) {
        get(x, a->recv, a->count, a->root);
        return;
    }
    for (int r = 0; r < x->c->size; r++)
        if (r != rank)
            put(x, at(a->send, a->send_displs[r], x), a->send_counts[r], r);
    if (a->recv != REACTANT_MPI_IN_PLACE)
        keep(x, a->recv, a->count, at(a->send, a->send_displs[rank], x), a->send_counts[rank]);
}

/* Each rank begins with its neighbour, so that not all of them send to rank 0 first. */
static void alltoallv(struct exchange *x, const struct rmpi_call *a)
{
    const int rank = x->c->rank, size = x->c->size;
    for (int i = 1; i < size; i++) {
        const int r = (rank + size - i) % size;
        get(x, at(a->recv, a->recv_displs[r], x), a->recv_counts[r], r);
    }
    for (int i = 1; i < size; i++) {
        const int r = (rank + i) % size;
        put(x, at(a->send, a->send_displs[r], x), a->send_counts[r], r);
    }
    keep(x, at(a->recv, a->recv_displs[rank], x), a->recv_counts[rank], at(a->send, a->send_displs[rank], x), a->send_counts[rank]);
}

static void permute(struct exchange *x, const struct rmpi_call *a)
{
    const int rank = x->c->rank;
    if (a->count == 0)
        return;
    if (a->source == REACTANT_MPI_PROC_NULL)
        memset(a->recv, 0, a->count * x->bytes);
    else if (a->source == rank)
        keep(x, a->recv, a->count, a->send, a->count);
    else
        get(x, a->recv, a->count, a->source);
    for (int i = 0; i < a->n_dests; i++)
        if (a->dests[i] != rank)
            put(x, a->send, a->count, a->dests[i]);
}

/* The user's own messages: their communicator, their tags, and empty ones too. */
static void sendrecv(struct exchange *x, const struct rmpi_call *a)
{
    const uint64_t comm = a->special & SPECIAL_OURS ? x->c->control : x->c->word;
    struct rmpi_call m = *a;
    x->f->receives = rmpi_from_a_rank(x->c, a);
    m.row = RMPI_recv;
    if ((x->rc = rmpi_start_message(x->c, &m, comm, x->f)) != 0)
        return;
    m.row = RMPI_send;
    x->rc = rmpi_start_message(x->c, &m, comm, x->f);
}

int rmpi_start_exchange(struct rmpi_comm *c, const struct rmpi_call *a, struct rmpi_flight *f)
{
    struct exchange x = {.c = c, .f = f, .bytes = (size_t)rmpi_type_bytes[a->type], .comm = c->control};
    x.message.type = a->type;
    x.message.send_type = x.message.recv_type = a->send_type;
    x.message.tag = x.message.recv_tag = RMPI_TAG_DATA;
    switch (a->row) {
    case RMPI_gatherv:
        gatherv(&x, a);
        break;
    case RMPI_scatterv:
        scatterv(&x, a);
        break;
    case RMPI_alltoallv:
        alltoallv(&x, a);
        break;
    case RMPI_permute:
        permute(&x, a);
        break;
    default:
        sendrecv(&x, a);
    }
    return x.rc;
}
