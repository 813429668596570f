/*
 * The MPI calls that one record becomes, all started at once. A call with more elements than one MPI call takes (a communicator's
 * max_count, and int in MPI) is several: the ranks have equal counts and equal max_count, so they all make the same. MPI's own
 * large-count functions are not used: some libraries lack them, one reduces nothing and says success.
 */
#include "capi/flight.h"

#include <stdlib.h>
#include <string.h>

static void *ahead(const void *buffer, size_t bytes)
{
    return buffer == REACTANT_MPI_IN_PLACE || !buffer ? (void *)(uintptr_t)buffer : (char *)(uintptr_t)buffer + bytes;
}

/* A request's place never moves: MPI may keep its address. */
static uint64_t *new_part(struct rmpi_flight *f)
{
    struct rmpi_parts *p = f->last;
    if (p->n == p->room) {
        const uint32_t room = 2 * p->room;
        struct rmpi_parts *more = malloc(sizeof *more + room * sizeof *more->part);
        if (!more)
            return NULL;
        *more = (struct rmpi_parts){.room = room, .part = (uint64_t *)(more + 1)};
        p = f->last = p->next = more;
    }
    p->part[p->n] = 0;
    return &p->part[p->n++];
}

int rmpi_start_one(struct rmpi_comm *c, const struct rmpi_call *a, uint64_t comm, struct rmpi_flight *f)
{
    uint64_t *request = new_part(f);
    int rc;
    if (!request)
        return RMPI_NO_MEMORY;
    rc = c->mpi->start[a->row](c, a, comm, request);
    if (rc != 0)
        f->last->n--;
    return rc;
}

static int by_elements(struct rmpi_comm *c, const struct rmpi_call *a, size_t bytes, struct rmpi_flight *f)
{
    struct rmpi_call part = *a;
    for (size_t done = 0; done < a->count; done += part.count) {
        int rc;
        part.count = a->count - done < c->max_count ? a->count - done : c->max_count;
        part.send = ahead(a->send, done * bytes);
        part.recv = ahead(a->recv, done * bytes);
        if ((rc = rmpi_start_one(c, &part, c->word, f)) != 0)
            return rc;
    }
    return 0;
}

/* One block of each rank as one element. MPI keeps a type that is in use. */
static int by_block(struct rmpi_comm *c, const struct rmpi_call *a, size_t bytes, struct rmpi_flight *f)
{
    const struct rmpi_control *control = c->mpi->control;
    struct rmpi_call whole = *a;
    uint64_t block;
    int rc = control->type_block(c->mpi, a->send_type, bytes, a->count, c->max_count, &block), freed;
    if (rc != 0)
        return rc;
    whole.count = 1;
    whole.send_type = whole.recv_type = block;
    rc = rmpi_start_one(c, &whole, c->word, f);
    freed = control->type_free(c->mpi, block);
    return rc != 0 ? rc : freed;
}

/*
 * Block r is reduced to rank r. In place the input stands in recv, and rank r's result must end at its beginning, where block 0 is still
 * being read: it goes to its own block first, and is moved when all is done (stage.c gives such calls a buffer).
 */
static int by_reduce(struct rmpi_comm *c, const struct rmpi_call *a, size_t bytes, struct rmpi_flight *f)
{
    struct rmpi_call one = *a;
    size_t before = 0;
    one.row = RMPI_reduce;
    for (int r = 0; r < c->size; r++) {
        int rc;
        one.root = r;
        one.count = a->row == RMPI_reduce_scatterv ? a->recv_counts[r] : a->count;
        one.send = ahead(a->send, before * bytes);
        before += one.count;
        if ((rc = by_elements(c, &one, bytes, f)) != 0)
            return rc;
    }
    return 0;
}

/* Block r comes from rank r; the own one is put in its place before. */
static int by_bcast(struct rmpi_comm *c, const struct rmpi_call *a, size_t bytes, struct rmpi_flight *f)
{
    struct rmpi_call one = *a;
    char *own = (char *)a->recv + a->recv_displs[c->rank] * bytes;
    if (a->send != REACTANT_MPI_IN_PLACE && a->count)
        memmove(own, a->send, (a->count < a->recv_counts[c->rank] ? a->count : a->recv_counts[c->rank]) * bytes);
    one.row = RMPI_bcast;
    for (int r = 0; r < c->size; r++) {
        int rc;
        one.root = r;
        one.count = a->recv_counts[r];
        one.recv = (char *)a->recv + a->recv_displs[r] * bytes;
        if ((rc = by_elements(c, &one, bytes, f)) != 0)
            return rc;
    }
    return 0;
}

int rmpi_start_message(struct rmpi_comm *c, const struct rmpi_call *a, uint64_t comm, struct rmpi_flight *f)
{
    const struct rmpi_control *control = c->mpi->control;
    const int sends = a->row == RMPI_send;
    const size_t count = sends ? a->count : a->recv_count;
    struct rmpi_call whole = *a;
    uint64_t block;
    int rc;
    if (likely(count <= c->max_count))
        return rmpi_start_one(c, a, comm, f);
    if ((rc = control->type_block(c->mpi, a->send_type, (size_t)rmpi_type_bytes[a->type], count, c->max_count, &block)) != 0)
        return rc;
    if (sends) {
        whole.count = 1;
        whole.send_type = block;
    } else {
        whole.recv_count = 1;
        whole.recv_type = block;
    }
    rc = rmpi_start_one(c, &whole, comm, f);
    control->type_free(c->mpi, block);
    return rc;
}

int rmpi_start_parts(struct rmpi_comm *c, const struct rmpi_call *a, struct rmpi_flight *f)
{
    const size_t bytes = a->special & SPECIAL_LARGE ? (size_t)rmpi_type_bytes[a->type] : 0; /* barrier has no type */
    if (a->row == RMPI_probe)
        return 0; /* looked for, not started */
    if (a->row == RMPI_send || a->row == RMPI_recv) {
        f->receives = a->row == RMPI_recv && rmpi_from_a_rank(c, a);
        return rmpi_start_message(c, a, c->word, f);
    }
    if (!c->mpi->start[a->row])
        return rmpi_start_exchange(c, a, f);
    if (a->special & SPECIAL_LARGE)
        switch (rmpi_rows[a->row].large) {
        case BY_ELEMENTS:
            return by_elements(c, a, bytes, f);
        case BY_BLOCK:
            return by_block(c, a, bytes, f);
        case BY_REDUCE:
            return by_reduce(c, a, bytes, f);
        case BY_BCAST:
            return by_bcast(c, a, bytes, f);
        case BY_MESSAGE:
        case AS_IS:
            break;
        }
    return rmpi_start_one(c, a, c->word, f);
}
