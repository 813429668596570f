/*
 * Calls with more elements than one MPI call takes (a communicator's max_count, and int in MPI). The ranks have equal counts and equal
 * max_count, so they all come here and make the same calls. MPI's own large-count functions are not used: some libraries lack them, one
 * reduces nothing and says success.
 */
#include "capi/call.h"

static void *ahead(const void *buffer, size_t bytes)
{
    return buffer == REACTANT_MPI_IN_PLACE || !buffer ? (void *)(uintptr_t)buffer : (char *)(uintptr_t)buffer + bytes;
}

static int by_elements(struct rmpi_comm *c, const struct rmpi_call *a, size_t bytes)
{
    struct rmpi_call part = *a;
    for (size_t done = 0; done < a->count; done += part.count) {
        int rc;
        part.count = a->count - done < c->max_count ? a->count - done : c->max_count;
        part.send = ahead(a->send, done * bytes);
        part.recv = ahead(a->recv, done * bytes);
        if ((rc = c->run[a->row](c, &part)) != 0)
            return rc;
    }
    return 0;
}

/* One block of each rank as one element. */
static int by_block(struct rmpi_comm *c, const struct rmpi_call *a, size_t bytes)
{
    const struct rmpi_control *control = c->mpi->control;
    struct rmpi_call whole = *a;
    uint64_t block;
    int rc = control->type_block(c->mpi, a->send_type, bytes, a->count, c->max_count, &block), freed;
    if (rc != 0)
        return rc;
    whole.count = 1;
    whole.send_type = whole.recv_type = block;
    rc = c->run[a->row](c, &whole);
    freed = control->type_free(c->mpi, block);
    return rc != 0 ? rc : freed;
}

/*
 * Block r is reduced to rank r, in rank order. In place the input stands in recv, and rank r's result goes to its beginning: block 0
 * has been reduced by then, unless r is 0, where it is in place.
 */
static int by_reduce(struct rmpi_comm *c, const struct rmpi_call *a, size_t bytes)
{
    const int in_place = a->send == REACTANT_MPI_IN_PLACE;
    const void *input = in_place ? a->recv : a->send;
    struct rmpi_call one = *a;
    one.row = RMPI_reduce;
    for (int r = 0; r < c->size; r++) {
        int rc;
        one.root = r;
        one.send = ahead(input, (size_t)r * a->count * bytes);
        if (in_place && r == 0 && c->rank == 0)
            one.send = REACTANT_MPI_IN_PLACE;
        if ((rc = by_elements(c, &one, bytes)) != 0)
            return rc;
    }
    return 0;
}

/* A message stays one message, of one element; a receive's room likewise, and what arrives may be shorter. */
static int by_message(struct rmpi_comm *c, const struct rmpi_call *a, size_t bytes)
{
    const struct rmpi_control *control = c->mpi->control;
    const unsigned rules = rmpi_rows[a->row].rules;
    struct rmpi_call whole = *a;
    uint64_t send_block = 0, recv_block = 0;
    int rc = 0, sends = rules & HAS_DEST && a->count > c->max_count, receives = rules & HAS_SOURCE && a->recv_count > c->max_count;
    if (sends && (rc = control->type_block(c->mpi, a->send_type, bytes, a->count, c->max_count, &send_block)) == 0) {
        whole.count = 1;
        whole.send_type = send_block;
    }
    if (rc == 0 && receives &&
        (rc = control->type_block(c->mpi, a->recv_type, bytes, a->recv_count, c->max_count, &recv_block)) == 0) {
        whole.recv_count = 1;
        whole.recv_type = recv_block;
    }
    if (rc == 0)
        rc = c->run[a->row](c, &whole);
    if (send_block)
        control->type_free(c->mpi, send_block);
    if (recv_block)
        control->type_free(c->mpi, recv_block);
    return rc;
}

int rmpi_run_large(struct rmpi_comm *c, const struct rmpi_call *a)
{
    const size_t bytes = (size_t)rmpi_type_bytes[a->type];
    switch (rmpi_rows[a->row].large) {
    case BY_ELEMENTS:
        return by_elements(c, a, bytes);
    case BY_BLOCK:
        return by_block(c, a, bytes);
    case BY_REDUCE:
        return by_reduce(c, a, bytes);
    case BY_MESSAGE:
        return by_message(c, a, bytes);
    case AS_IS:
        break;
    }
    return c->run[a->row](c, a);
}
