/*
 * Collectives, of fuzz.c: right ones in every form, whose results are computed here, and wrong ones that every rank must refuse alike.
 * Both draw the same on every rank. A wrong one has one fault that is refused everywhere, with a code known beforehand; or several,
 * and then any failure will do.
 */
#ifndef FUZZ_COLLECTIVES_H
#define FUZZ_COLLECTIVES_H

#include "fuzz_requests.h"

enum form { BLOCKING, STARTED, PREPARED, ON_STREAM };

struct args {
    const void *send;
    void *recv;
    size_t count;
    size_t *counts, *displs;   /* of the buffer with blocks; of the send buffer where there are two */
    size_t *rcounts, *rdispls; /* of the receive buffer where there are two */
    int type, op, root, source, n_dests;
    const int *dests;
    reactant_mpi_comm *c;
    reactant_mpi_request **out;
};

enum { OF_OP = 1, OF_ROOT = 2, OF_BLOCKS = 4, OF_DESTS = 8, NO_STREAM = 16, NO_DATA = 32 };

/* ROW(name, what it has, its arguments before the communicator). BARE: none. */
#define ROWS                                                                                                              \
    ROW(allreduce, OF_OP, a->send, a->recv, a->count, a->type, a->op)                                                    \
    ROW(reduce, OF_OP | OF_ROOT, a->send, a->recv, a->count, a->type, a->op, a->root)                                   \
    ROW(reduce_scatter, OF_OP, a->send, a->recv, a->count, a->type, a->op)                                               \
    ROW(bcast, OF_ROOT, a->recv, a->count, a->type, a->root)                                                             \
    ROW(allgather, 0, a->send, a->recv, a->count, a->type)                                                                \
    ROW(alltoall, 0, a->send, a->recv, a->count, a->type)                                                                 \
    ROW(gather, OF_ROOT, a->send, a->recv, a->count, a->type, a->root)                                                   \
    ROW(scatter, OF_ROOT, a->send, a->recv, a->count, a->type, a->root)                                                  \
    ROW_OF_HOST(scan, OF_OP, a->send, a->recv, a->count, a->type, a->op)                                                 \
    ROW_OF_HOST(exscan, OF_OP, a->send, a->recv, a->count, a->type, a->op)                                               \
    ROW(allgatherv, OF_BLOCKS, a->send, a->count, a->recv, a->counts, a->displs, a->type)                                \
    ROW(gatherv, OF_BLOCKS | OF_ROOT, a->send, a->count, a->recv, a->counts, a->displs, a->type, a->root)               \
    ROW(scatterv, OF_BLOCKS | OF_ROOT, a->send, a->counts, a->displs, a->recv, a->count, a->type, a->root)              \
    ROW(alltoallv, OF_BLOCKS, a->send, a->counts, a->displs, a->recv, a->rcounts, a->rdispls, a->type)                   \
    ROW(reduce_scatterv, OF_BLOCKS | OF_OP, a->send, a->recv, a->counts, a->type, a->op)                                \
    ROW(permute, OF_DESTS, a->send, a->recv, a->count, a->type, a->source, a->n_dests, a->dests)                         \
    BARE(barrier, NO_DATA)

enum row {
#define ROW(name, ...) R_##name,
#define ROW_OF_HOST ROW
#define BARE ROW
    ROWS
#undef ROW
#undef ROW_OF_HOST
#undef BARE
    N_ROWS
};

static const unsigned has[] = {
#define ROW(name, what, ...) what,
#define ROW_OF_HOST(name, what, ...) what | NO_STREAM,
#define BARE ROW
    ROWS
#undef ROW
#undef ROW_OF_HOST
#undef BARE
};

static int collective(enum row row, enum form form, const struct args *a)
{
#define HOST(name, ...)                                                       \
    if (row == R_##name && form == BLOCKING)                                  \
        return CALL(name, __VA_ARGS__ a->c);                                  \
    if (row == R_##name && form == STARTED)                                   \
        return CALL(i##name, __VA_ARGS__ a->c, a->out);                       \
    if (row == R_##name && form == PREPARED)                                  \
        return CALL(prepare_##name, __VA_ARGS__ a->c, a->out);
#define STREAM(name, ...)                                                     \
    if (row == R_##name && form == ON_STREAM)                                 \
        return CALL(name##_stream, __VA_ARGS__ a->c, (void *)(uintptr_t)draw(3));
#define ROW(name, what, ...) HOST(name, __VA_ARGS__, ) STREAM(name, __VA_ARGS__, )
#define ROW_OF_HOST(name, what, ...) HOST(name, __VA_ARGS__, )
#define BARE(name, what) HOST(name, ) STREAM(name, )
    ROWS
#undef HOST
#undef STREAM
#undef ROW
#undef ROW_OF_HOST
#undef BARE
    return -1000;
}

/* ---- a right one ---- */

enum { RANKS = 8 };

struct drawn {
    enum row row;
    const struct type *t;
    unsigned values; /* seed of the elements */
    bool in_place, holds_input; /* the receive buffer, at the beginning */
    size_t matrix[RANKS][RANKS];  /* blocks from rank to rank; row 0 where there is one list */
    size_t at[RANKS][RANKS];      /* where they lie in the sender's buffer, or in the one with blocks */
    size_t room[RANKS], place[RANKS]; /* the receiver's two lists */
    int dests[1], shift;
    struct args a;
};

/* Element i of what rank r has to give. */
static struct element given(const struct drawn *d, int r, size_t i)
{
    return sent(d->t, d->a.op, d->values, r, i);
}

/* Over ranks `from` to `to` - 1. */
static struct element reduced(const struct drawn *d, int from, int to, size_t i)
{
    struct element e = given(d, from, i);
    for (int r = from + 1; r < to; r++)
        e = fold(d->t, d->a.op, e, given(d, r, i));
    return d->a.op == REACTANT_MPI_AVG ? average(d->t, e, on->size) : e;
}

/* One element of the receive buffer; what was looked at becomes FILL again. */
static void expect(const struct drawn *d, size_t i, struct element e)
{
    CHECK(same(d->t, data.recv, i, e), "%s: element %zu of type %s, op %#x, at rank %d of %d (call %lu)", calling, i, d->t->name, d->a.op,
          on->rank, on->size, calls);
    memset(data.recv + i * d->t->size, FILL, d->t->size);
}

static void expect_results(const struct drawn *d)
{
    const int rank = on->rank, size = on->size, root = d->a.root;
    const size_t count = d->a.count;
    size_t before = 0;
    switch (d->row) {
    case R_scatterv: before = d->at[0][rank]; break;
    case R_reduce_scatterv:
        for (int r = 0; r < rank; r++)
            before += d->matrix[0][r];
        break;
    default: break;
    }
    for (size_t i = 0; i < count; i++)
        switch (d->row) {
        case R_allreduce: expect(d, i, reduced(d, 0, size, i)); break;
        case R_reduce:
            if (rank == root)
                expect(d, i, reduced(d, 0, size, i));
            break;
        case R_reduce_scatter: expect(d, i, reduced(d, 0, size, (size_t)rank * count + i)); break;
        case R_bcast: expect(d, i, given(d, root, i)); break;
        case R_scatter: expect(d, i, given(d, root, (size_t)rank * count + i)); break;
        case R_scan: expect(d, i, reduced(d, 0, rank + 1, i)); break;
        case R_exscan:
            if (rank > 0)
                expect(d, i, reduced(d, 0, rank, i));
            break;
        case R_scatterv: expect(d, i, given(d, root, before + i)); break;
        case R_permute:
            expect(d, i, d->a.source == REACTANT_MPI_PROC_NULL ? (struct element){0, 0, 0} : given(d, d->a.source, i));
            break;
        default: break;
        }
    for (int j = 0; j < size; j++) {
        const bool gathers = d->row == R_allgather || (d->row == R_gather && rank == root);
        const bool varies = d->row == R_allgatherv || (d->row == R_gatherv && rank == root);
        for (size_t k = 0; k < count && (gathers || d->row == R_alltoall); k++)
            expect(d, (size_t)j * count + k, given(d, j, gathers ? k : (size_t)rank * count + k));
        for (size_t k = 0; varies && k < d->matrix[0][j]; k++)
            expect(d, d->at[0][j] + k, given(d, j, k));
        for (size_t k = 0; d->row == R_alltoallv && k < d->room[j]; k++)
            expect(d, d->place[j] + k, given(d, j, d->at[j][rank] + k));
    }
    for (size_t i = 0; d->row == R_reduce_scatterv && i < d->matrix[0][rank]; i++)
        expect(d, i, reduced(d, 0, size, before + i));
    check_whole();
}

static void draw_blocks(struct drawn *d, size_t least)
{
    const bool square = d->row == R_alltoallv;
    for (int i = 0; i < (square ? on->size : 1); i++) {
        size_t at = 0;
        for (int j = 0; j < on->size; j++) {
            d->matrix[i][j] = least + draw(20);
            at += d->row == R_reduce_scatterv ? 0 : draw(3);
            d->at[i][j] = at;
            at += d->matrix[i][j];
        }
    }
    d->a.counts = d->matrix[square ? on->rank : 0];
    d->a.displs = d->at[square ? on->rank : 0];
    if (square)
        for (size_t j = 0, at = 0; j < (size_t)on->size; at += d->room[j++] + 1) {
            d->room[j] = d->matrix[j][on->rank];
            d->place[j] = at;
        }
    d->a.rcounts = d->room;
    d->a.rdispls = d->place;
    d->a.count = square || d->row == R_reduce_scatterv ? 0 : d->matrix[0][on->rank];
}

static void draw_collective(struct drawn *d, enum row row, size_t least)
{
    static const size_t some[] = {0, 1, 3, 17, 100};
    size_t n;
    memset(d, 0, sizeof *d);
    d->row = row;
    d->values = draw(1u << 30);
    d->a.c = handle_of(on);
    do
        d->t = &types[draw(N_TYPES)];
    while (has[row] & OF_OP && !legal_op(d->t, false));
    d->a.type = d->t->value;
    d->a.op = has[row] & OF_OP ? legal_op(d->t, row != R_scan && row != R_exscan) : 0;
    d->a.root = has[row] & OF_ROOT ? (int)draw((unsigned)on->size) : 0;
    d->a.count = ONE_OF(some);
    if (d->a.count < least)
        d->a.count = least;
    if (has[row] & NO_DATA)
        d->a.count = 0;
    if (has[row] & OF_BLOCKS)
        draw_blocks(d, least);
    if (has[row] & OF_DESTS) {
        d->shift = (int)draw((unsigned)on->size + 1); /* the last: nothing for anybody */
        d->a.n_dests = d->shift < on->size;
        d->dests[0] = (on->rank + d->shift) % on->size;
        d->a.source = d->a.n_dests ? (on->rank + on->size - d->shift) % on->size : REACTANT_MPI_PROC_NULL;
        d->a.dests = d->dests;
    }
    d->in_place = (row == R_allreduce || row == R_scan || row == R_allgather || row == R_alltoall) && one_in(3);
    fill();
    d->a.send = d->in_place ? REACTANT_MPI_IN_PLACE : data.send;
    d->a.recv = data.recv;
    n = CAPACITY / d->t->size;
    if (!(has[row] & NO_DATA))
        for (size_t i = 0; i < n; i++)
            put(d->t, data.send, i, given(d, on->rank, i));
    d->holds_input = d->in_place || (row == R_bcast && on->rank == d->a.root);
    if (row == R_bcast && d->holds_input)
        memcpy(data.recv, data.send, d->a.count * d->t->size);
    if (d->in_place) {
        const size_t block = d->a.count * d->t->size;
        memcpy(data.recv + (row == R_allgather ? (size_t)on->rank * block : 0), data.send, block * (row == R_alltoall ? (size_t)on->size : 1));
    }
}

/* For SERIALIZED between ranks that are threads: a blocking collective keeps the lock, which they share. */
static OF_RANK bool never_blocking;

static void step_right_collective(void)
{
    struct drawn d;
    const enum form form = never_blocking ? STARTED : (enum form)draw(3);
    reactant_mpi_request *r = NULL;
    draw_collective(&d, (enum row)draw(N_ROWS), 0);
    d.a.out = &r;
    if (form == BLOCKING) {
        GIVES(0, collective(d.row, form, &d.a));
    } else if (form == STARTED) {
        if (GIVES(0, collective(d.row, form, &d.a)) == 0)
            finish(1, &r, NULL, false);
    } else if (GIVES(0, collective(d.row, form, &d.a)) == 0) {
        reactant_mpi_request *const word = r;
        if (one_in(4))
            refused(r, REACTANT_MPI_ERR_STATE, true);
        if (one_in(2)) {
            for (unsigned n = d.in_place ? 1 : 1 + draw(3); n; n--)
                GIVES(0, CALL(run, r));
        } else if (GIVES(0, CALL(start, r)) == 0) {
            if (one_in(3))
                GIVES(REACTANT_MPI_ERR_STATE, one_in(2) ? CALL(start, r) : CALL(run, r));
            finish(1, &r, NULL, true);
        }
        CHECK(r == word || !r, "");
        GIVES(0, CALL(request_free, word));
        BURY_REQUEST(word);
    }
    expect_results(&d);
}

/* ---- a wrong one ---- */

/* One fault. The code it must give; 0: not possible in this row. */
static int spoil(struct drawn *d, enum form form)
{
    static const int not_there[] = {0};
    static OF_RANK size_t huge[RANKS];
    const unsigned h = has[d->row];
    const bool blocks = h & OF_BLOCKS, one_count = !(h & NO_DATA) && d->row != R_alltoallv && d->row != R_reduce_scatterv;
    const bool every_rank_receives = !(h & OF_ROOT) || d->row == R_bcast || d->row == R_scatter || d->row == R_scatterv;
    struct args *a = &d->a;
    switch (draw(12)) {
    case 0:
        a->c = wrong_comm();
        return REACTANT_MPI_ERR_COMM;
    case 1:
        a->type = wrong_type();
        return h & NO_DATA ? 0 : REACTANT_MPI_ERR_TYPE;
    case 2:
        a->op = wrong_op();
        return h & OF_OP ? REACTANT_MPI_ERR_OP : 0;
    case 3:
        a->op = illegal_op(d->t);
        return h & OF_OP && a->op ? REACTANT_MPI_ERR_OP : 0;
    case 4:
        a->root = wrong_rank();
        return h & OF_ROOT ? REACTANT_MPI_ERR_RANK : 0;
    case 5:
        a->count = wrong_count(d->t->size);
        return one_count ? REACTANT_MPI_ERR_COUNT : 0;
    case 6: /* nothing to read from */
        a->send = NULL;
        if (!a->n_dests)
            a->recv = NULL;
        return h & NO_DATA ? 0 : REACTANT_MPI_ERR_ARGUMENT;
    case 7:
        a->recv = d->row == R_scatter || d->row == R_scatterv ? NULL : REACTANT_MPI_IN_PLACE;
        if (d->in_place)
            a->send = data.send;
        return every_rank_receives && !(h & NO_DATA) ? REACTANT_MPI_ERR_ARGUMENT : 0;
    case 8:
        a->out = NULL;
        return form == BLOCKING ? 0 : REACTANT_MPI_ERR_ARGUMENT;
    case 9:
        if (one_in(2))
            a->counts = NULL;
        else if (d->row != R_reduce_scatterv)
            a->displs = NULL;
        else
            return 0;
        return blocks && !(h & OF_ROOT) ? REACTANT_MPI_ERR_ARGUMENT : 0;
    case 10:
        for (int r = 0; r < on->size; r++)
            huge[r] = 1;
        huge[draw((unsigned)on->size)] = wrong_count(d->t->size);
        *(one_in(2) || d->row == R_reduce_scatterv ? &a->counts : &a->displs) = huge;
        return blocks && !(h & OF_ROOT) ? REACTANT_MPI_ERR_COUNT : 0;
    default:
        if (!(h & OF_DESTS))
            return 0;
        switch (draw(4)) {
        case 0: a->n_dests = one_in(2) ? -1 : INT32_MIN; return REACTANT_MPI_ERR_ARGUMENT;
        case 1: a->n_dests = INT32_MAX; return REACTANT_MPI_ERR_ARGUMENT;
        case 2: a->n_dests = 1; a->dests = NULL; return REACTANT_MPI_ERR_ARGUMENT;
        default:
            a->source = wrong_rank();
            a->n_dests = 0;
            a->dests = not_there;
            return REACTANT_MPI_ERR_RANK;
        }
    }
}

static void step_wrong_collective(void)
{
    struct drawn d;
    const enum form form = (enum form)draw(3);
    reactant_mpi_request *r = (reactant_mpi_request *)data.send;
    int want, more = one_in(3) ? 2 : 0;
    draw_collective(&d, (enum row)draw(N_ROWS), 1);
    d.a.out = &r;
    do
        want = spoil(&d, form);
    while (want == 0 && (draw_collective(&d, (enum row)draw(N_ROWS), 1), d.a.out = &r));
    for (; more; more--) { /* and others on top: they may be refused first, and need not be faults of this row */
        spoil(&d, form);
        want = ANY_FAILURE;
    }
    GIVES(want, collective(d.row, form, &d.a));
    CHECK(form == BLOCKING || !d.a.out || !r, "a failed %s leaves a request", calling);
    if (d.holds_input)
        memset(data.recv, FILL, CAPACITY);
    check_whole();
}

/* On a host communicator all of them are refused, whatever is in them. */
static void step_stream(void)
{
    struct drawn d;
    enum row row;
    do
        row = (enum row)draw(N_ROWS);
    while (has[row] & NO_STREAM);
    draw_collective(&d, row, 1);
    if (one_in(2))
        spoil(&d, ON_STREAM);
    GIVES(ANY_FAILURE, collective(d.row, ON_STREAM, &d.a));
}

#endif
