/*
 * One collective with its data: where each rank's input lies, what must come out and where, both from the ranks' numbers alone
 * (types.h). Everything else in the buffers, gaps between blocks too, is guard bytes, which must stay.
 */
#ifndef JOBS_H
#define JOBS_H

#include "collectives.h"
#include "rows.h"

/* MIXED: IN_PLACE on the odd ranks only. NOTHING: NULL pointers, count 0. */
enum place { APART, IN_PLACE, SAME, MIXED, NOTHING, N_PLACES };
static const char *const place_names[] = {"two buffers", "IN_PLACE", "same pointers", "in place on some ranks", "NULL"};

enum { MAX_RANKS = 8, BETWEEN = 1 << 20 /* from one block's numbers to the next one's */ };

struct job {
    enum row row;
    const struct type *t;
    int op, root;
    size_t count;
    enum place place;
    int variant; /* of block sizes and their places; of permutations */
};

/* Elements first, first + 1 ... of what a rank sends; of a reduction: of ranks 0 to `from`. from -1: zeros. */
struct piece {
    size_t at, n, first;
    int from;
};
struct layout {
    size_t room;
    int n;
    struct piece piece[MAX_RANKS];
};

/* Rows where only the root has the large buffer, or the result. */
static bool is_rooted(enum row r)
{
    return has_root(r) && r != BCAST;
}

static bool in_place_here(const struct job *j)
{
    const bool wanted = j->place == IN_PLACE || j->place == SAME || (j->place == MIXED && rank % 2);
    return wanted && (!is_rooted(j->row) || rank == j->root);
}

/* Elements that one rank has for another: all equal, unequal, some none. */
static size_t block(const struct job *j, int from, int to)
{
    if (j->row == ALLTOALLV && j->place == IN_PLACE && from > to) /* replaced by as many */
        return block(j, to, from);
    switch (j->variant) {
    case 1: return j->count * (size_t)(1 + (from * 5 + to * 3) % 4) / 2;
    case 2: return j->count * (size_t)((from + 2 * to + 1) % 3);
    default: return j->count;
    }
}

/* Places of blocks: one after the other; backwards with gaps; turned, with empty ones far away. */
static void place_blocks(const struct job *j, struct layout *l, size_t *counts, size_t *displs)
{
    size_t at = j->variant ? 3 : 0;
    for (int k = 0; k < size; k++) {
        const int r = j->variant == 1 ? size - 1 - k : j->variant == 2 ? (k + rank + 1) % size : k;
        struct piece *p = &l->piece[r];
        p->at = at;
        counts[r] = p->n;
        displs[r] = at;
        if (j->variant == 2 && p->n == 0 && r != rank)
            displs[r] = (size_t)1 << (30 + r);
        at += p->n + (j->variant ? (size_t)(r % 3) : 0);
    }
    l->n = size;
    l->room = at;
}

/* Who sends to a rank; -1: nobody. Ring, reversal, all from one, odd from even, nobody, everybody from itself. */
enum { N_PERMUTATIONS = 6 };
static int source_of(const struct job *j, int r)
{
    switch (j->variant) {
    case 0: return (r + size - 1) % size;
    case 1: return size - 1 - r;
    case 2: return size / 2;
    case 3: return r % 2 ? r - 1 : -1;
    case 4: return -1;
    default: return r;
    }
}

/* The lists of a call, which the library may read during the call, or, prepared, until the request is freed. */
struct lists {
    size_t send_counts[MAX_RANKS], send_displs[MAX_RANKS], recv_counts[MAX_RANKS], recv_displs[MAX_RANKS];
    int dests[MAX_RANKS];
};

static void one_piece(struct layout *l, size_t n, size_t first, int from)
{
    l->n = 1;
    l->room = n;
    l->piece[0] = (struct piece){0, n, first, from};
}

/* A block per rank, one after the other. */
static void pieces(struct layout *l, size_t n)
{
    l->n = size;
    l->room = (size_t)size * n;
    for (int r = 0; r < size; r++)
        l->piece[r] = (struct piece){(size_t)r * n, n, (size_t)r * BETWEEN, rank};
}

/* What this rank sends and must get when the buffers are apart, and the lists. */
static void describe(const struct job *j, struct layout *in, struct layout *out, struct lists *lists)
{
    const bool root = rank == j->root;
    const size_t n = j->count;
    const int last = size - 1;
    *in = *out = (struct layout){0};
    switch (j->row) {
    case ALLREDUCE: one_piece(in, n, 0, rank), one_piece(out, n, 0, last); break;
    case SCAN: one_piece(in, n, 0, rank), one_piece(out, n, 0, rank); break;
    case EXSCAN:
        one_piece(in, n, 0, rank);
        one_piece(out, n, 0, rank ? rank - 1 : 0);
        if (rank == 0 && !in_place_here(j)) /* left as it is; in place that is the input */
            out->n = 0;
        break;
    case REDUCE:
        one_piece(in, n, 0, rank);
        if (root)
            one_piece(out, n, 0, last);
        break;
    case REDUCE_SCATTER: pieces(in, n), one_piece(out, n, (size_t)rank * BETWEEN, last); break;
    case REDUCE_SCATTERV:
        for (int r = 0; r < size; r++) {
            const size_t b = lists->recv_counts[r] = block(j, 0, r);
            in->piece[r] = (struct piece){in->room, b, (size_t)r * BETWEEN, rank};
            in->room += b;
        }
        in->n = size;
        one_piece(out, block(j, 0, rank), (size_t)rank * BETWEEN, last);
        break;
    case BCAST:
        one_piece(out, n, 0, j->root);
        if (root)
            one_piece(in, n, 0, rank);
        break;
    case ALLGATHER:
    case GATHER:
        one_piece(in, n, 0, rank);
        if (j->row == GATHER && !root)
            break;
        pieces(out, n);
        for (int r = 0; r < size; r++)
            out->piece[r].first = 0, out->piece[r].from = r;
        break;
    case ALLTOALL:
        pieces(in, n), pieces(out, n);
        for (int r = 0; r < size; r++)
            out->piece[r].first = (size_t)rank * BETWEEN, out->piece[r].from = r;
        break;
    case SCATTER:
        one_piece(out, n, (size_t)rank * BETWEEN, j->root);
        if (root)
            pieces(in, n);
        break;
    case ALLGATHERV:
    case GATHERV:
        one_piece(in, block(j, rank, 0), 0, rank);
        if (j->row == GATHERV && !root)
            break;
        for (int r = 0; r < size; r++)
            out->piece[r] = (struct piece){0, block(j, r, 0), 0, r};
        place_blocks(j, out, lists->recv_counts, lists->recv_displs);
        break;
    case SCATTERV:
        one_piece(out, block(j, 0, rank), (size_t)rank * BETWEEN, j->root);
        if (!root)
            break;
        for (int r = 0; r < size; r++)
            in->piece[r] = (struct piece){0, block(j, 0, r), (size_t)r * BETWEEN, rank};
        place_blocks(j, in, lists->send_counts, lists->send_displs);
        break;
    case ALLTOALLV:
        for (int r = 0; r < size; r++) {
            in->piece[r] = (struct piece){0, block(j, rank, r), (size_t)r * BETWEEN, rank};
            out->piece[r] = (struct piece){0, block(j, r, rank), (size_t)rank * BETWEEN, r};
        }
        place_blocks(j, in, lists->send_counts, lists->send_displs);
        place_blocks(j, out, lists->recv_counts, lists->recv_displs);
        break;
    case PERMUTE: one_piece(in, n, 0, rank), one_piece(out, n, 0, source_of(j, rank)); break;
    default: break;
    }
}

static struct element expected(const struct job *j, unsigned seed, const struct piece *p, size_t i)
{
    const int op = reduces(j->row) ? j->op : 0;
    struct element e = {0, 0, 0};
    if (p->from < 0)
        return e;
    if (op == 0)
        return sent(j->t, 0, seed, p->from, p->first + i);
    e = sent(j->t, op, seed, 0, p->first + i); /* of one rank alone the value itself: LAND makes no 1 of it */
    for (int r = 1; r <= p->from; r++)
        e = fold(j->t, op, e, sent(j->t, op, seed, r, p->first + i));
    return op == REACTANT_MPI_AVG ? average(j->t, e, size) : e;
}

#endif
