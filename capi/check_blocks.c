/* The checks of rows with blocks of different sizes, and of permute. Not inlined: what they look at is a list per rank anyhow. */
#include "capi/blocks.h"
#include "capi/types.h"

#define FAIL(code, ...) return rmpi_call_failed(c, REACTANT_MPI_ERR_##code, row->name, __VA_ARGS__)

static int fits(size_t elements, int type)
{
    return elements <= PTRDIFF_MAX / types[type].bytes;
}

/* Every block must lie in the address space. displs NULL: one after the other. *total: elements of all. */
static int check_list(const struct rmpi_row *row, struct rmpi_comm *c, int type, const char *what, const size_t *counts,
                      const size_t *displs, int has_displs, size_t *total)
{
    *total = 0;
    if (!counts || (has_displs && !displs))
        FAIL(ARGUMENT, "the %s of the %s buffer are NULL", counts ? "displacements" : "counts", what);
    for (int r = 0; r < c->size; r++) {
        size_t end;
        if (__builtin_add_overflow(*total, counts[r], total) || !fits(*total, type))
            FAIL(COUNT, "the %s counts up to rank %d add up to more than fits the address space", what, r);
        if (has_displs && (__builtin_add_overflow(counts[r], displs[r], &end) || !fits(end, type)))
            FAIL(COUNT, "block %d of the %s buffer (%zu elements at %zu) does not fit the address space", r, what, counts[r], displs[r]);
    }
    return 0;
}

static int check_buffer(const struct rmpi_row *row, struct rmpi_comm *c, const char *what, const void *buffer, size_t elements,
                        int may_be_in_place)
{
    if (!buffer && elements)
        FAIL(ARGUMENT, "the %s buffer is NULL and its count %zu", what, elements);
    if (buffer == REACTANT_MPI_IN_PLACE && !may_be_in_place)
        FAIL(ARGUMENT, "IN_PLACE cannot stand for the %s buffer here", what);
    return 0;
}

/* The place of this rank's block in a buffer. */
static const void *own_block(const struct rmpi_comm *c, const struct rmpi_call *a, const void *buffer, const size_t *displs)
{
    return buffer && buffer != REACTANT_MPI_IN_PLACE ? (const char *)buffer + displs[c->rank] * types[a->type].bytes : NULL;
}

int rmpi_check_blocks(const struct rmpi_row *row, struct rmpi_comm *c, struct rmpi_call *a)
{
    const unsigned rules = row->rules;
    const int at_root = !(rules & HAS_ROOT) || a->root == c->rank;
    const int sends = at_root || !(rules & SEND_AT_ROOT), receives = at_root || !(rules & RECV_AT_ROOT);
    const int send_in_place = rules & SEND_IN_PLACE && receives, recv_in_place = rules & RECV_IN_PLACE && sends;
    size_t send_total = a->count, recv_total = a->count;
    int rc;
    if (rules & HAS_SEND_BLOCKS && sends && a->send != REACTANT_MPI_IN_PLACE &&
        (rc = check_list(row, c, a->type, "send", a->send_counts, a->send_displs, 1, &send_total)) != 0)
        return rc;
    if (rules & (HAS_RECV_BLOCKS | HAS_SUM_OF_BLOCKS) && receives &&
        (rc = check_list(row, c, a->type, "receive", a->recv_counts, a->recv_displs, rules & HAS_RECV_BLOCKS, &recv_total)) != 0)
        return rc;
    if (rules & HAS_SUM_OF_BLOCKS) {
        send_total = recv_total;
        recv_total = a->recv_counts[c->rank];
    }
    if (sends && receives) {
        if (rules & EQUAL_IS_IN_PLACE && a->send == a->recv)
            a->send = REACTANT_MPI_IN_PLACE;
        if (rules & EQUAL_IS_REFUSED && a->send == a->recv && a->send && send_total && recv_total)
            FAIL(ARGUMENT, "send and recv are the same buffer; to work in place give REACTANT_MPI_IN_PLACE as send, on every rank");
        if (rules & OWN_BLOCK_IS_IN_PLACE && send_in_place && a->send && a->send == own_block(c, a, a->recv, a->recv_displs))
            a->send = REACTANT_MPI_IN_PLACE;
        if (rules & OWN_BLOCK_IS_IN_PLACE && recv_in_place && a->recv && a->recv == own_block(c, a, a->send, a->send_displs))
            a->recv = REACTANT_MPI_IN_PLACE;
    }
    /* What MPI would find out by losing data. */
    if (rules & HAS_RECV_BLOCKS && !(rules & HAS_SEND_BLOCKS) && receives && a->send != REACTANT_MPI_IN_PLACE &&
        a->count != a->recv_counts[c->rank])
        FAIL(COUNT, "this rank sends %zu elements, and has %zu for itself in the counts", a->count, a->recv_counts[c->rank]);
    if (rules & HAS_SEND_BLOCKS && !(rules & HAS_RECV_BLOCKS) && sends && a->recv != REACTANT_MPI_IN_PLACE &&
        a->count != a->send_counts[c->rank])
        FAIL(COUNT, "this rank receives %zu elements, and has %zu for itself in the counts", a->count, a->send_counts[c->rank]);
    if (a->send == REACTANT_MPI_IN_PLACE && rules & HAS_SUM_OF_BLOCKS)
        recv_total = send_total;
    if (sends && a->send != REACTANT_MPI_IN_PLACE && !fits(send_total, a->type))
        FAIL(COUNT, "count %zu of %d-byte elements does not fit the address space", send_total, types[a->type].bytes);
    if (receives && !fits(recv_total, a->type))
        FAIL(COUNT, "count %zu of %d-byte elements does not fit the address space", recv_total, types[a->type].bytes);
    if ((sends && (rc = check_buffer(row, c, "send", a->send, send_total, send_in_place)) != 0) ||
        (receives && (rc = check_buffer(row, c, "recv", a->recv, recv_total, recv_in_place)) != 0))
        return rc;
    if (!(rules & NO_MPI_CALL)) {
        /* MPI counts in ints. The total is the same on every rank, and decides for all. */
        const size_t total = rules & HAS_SUM_OF_BLOCKS ? send_total : recv_total;
        a->special |= SPECIAL_INTS;
        /* MPICH 4.0 forgets the displacement where there is one rank. */
        if (total > c->max_count || (c->size == 1 && a->row == RMPI_allgatherv))
            a->special |= SPECIAL_LARGE;
        for (int r = 0; rules & HAS_RECV_BLOCKS && r < c->size; r++)
            if (a->recv_counts[r] && a->recv_displs[r] > INT32_MAX)
                a->special |= SPECIAL_STAGED;
    }
    if (a->row == RMPI_alltoallv && a->send == REACTANT_MPI_IN_PLACE)
        a->special |= SPECIAL_STAGED;
    return 0;
}

int rmpi_check_permute(const struct rmpi_row *row, struct rmpi_comm *c, struct rmpi_call *a)
{
    int rc, to_self = 0;
    if (a->n_dests < 0 || (a->n_dests > 0 && !a->dests))
        FAIL(ARGUMENT, "the list of %d destinations is not there", a->n_dests);
    if (a->n_dests > c->size)
        FAIL(ARGUMENT, "%d destinations among %d ranks: one comes twice", a->n_dests, c->size);
    for (int i = 0; i < a->n_dests; i++) {
        if ((unsigned)a->dests[i] >= (unsigned)c->size)
            FAIL(RANK, "destination %d is outside the communicator's ranks 0 to %d", a->dests[i], c->size - 1);
        to_self |= a->dests[i] == c->rank;
        for (int j = 0; j < i; j++)
            if (a->dests[j] == a->dests[i])
                FAIL(RANK, "destination %d is listed twice", a->dests[i]);
    }
    if (a->source != REACTANT_MPI_PROC_NULL && (unsigned)a->source >= (unsigned)c->size)
        FAIL(RANK, "source %d is neither a rank (0 to %d) nor PROC_NULL (%d)", a->source, c->size - 1, REACTANT_MPI_PROC_NULL);
    if (to_self != (a->source == c->rank))
        FAIL(RANK, "this rank (%d) is %s its own destination, and its source is %d", c->rank, to_self ? "among" : "not", a->source);
    if (!fits(a->count, a->type))
        FAIL(COUNT, "count %zu of %d-byte elements does not fit the address space", a->count, types[a->type].bytes);
    if (a->send == a->recv && a->send && a->count && a->n_dests)
        FAIL(ARGUMENT, "send and recv are the same buffer");
    if ((a->n_dests && (rc = check_buffer(row, c, "send", a->send, a->count, 0)) != 0) ||
        (rc = check_buffer(row, c, "recv", a->recv, a->count, 0)) != 0)
        return rc;
    return 0;
}
