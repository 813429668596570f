/*
 * Data of gpu_collectives: every collective with all types, all legal operations, all forms in place, several counts, every root,
 * against values computed from integers (gpu_types.h); and the pairs of type and operation that are refused.
 */
#ifndef GPU_DATA_H
#define GPU_DATA_H

#include "gpu_types.h"

enum which { ALLREDUCE, REDUCE, REDUCE_SCATTER, BCAST, ALLGATHER, ALLTOALL, GATHER, SCATTER };
static const char *const names[] = {"allreduce", "reduce", "reduce_scatter", "bcast", "allgather", "alltoall", "gather", "scatter"};

/* OWN: the block of this rank in the large buffer */
enum place { APART, IN_PLACE, SAME, OWN, NOTHING /* NULL pointers, count 0 */ };
static const char *const places[] = {"two buffers", "IN_PLACE", "same pointers", "own block", "NULL"};

struct job {
    enum which which;
    const struct type *t;
    int op, root;
    size_t count;
    enum place place;
    reactant_mpi_comm *comm;
    int rank, size;
};

static int call(const struct job *j, const void *send, void *recv)
{
    int type = j->t->value;
    switch (j->which) {
    case ALLREDUCE: return reactant_mpi_allreduce_stream(send, recv, j->count, type, j->op, j->comm, stream);
    case REDUCE: return reactant_mpi_reduce_stream(send, recv, j->count, type, j->op, j->root, j->comm, stream);
    case REDUCE_SCATTER: return reactant_mpi_reduce_scatter_stream(send, recv, j->count, type, j->op, j->comm, stream);
    case BCAST: return reactant_mpi_bcast_stream(recv, j->count, type, j->root, j->comm, stream);
    case ALLGATHER: return reactant_mpi_allgather_stream(send, recv, j->count, type, j->comm, stream);
    case ALLTOALL: return reactant_mpi_alltoall_stream(send, recv, j->count, type, j->comm, stream);
    case GATHER: return reactant_mpi_gather_stream(send, recv, j->count, type, j->root, j->comm, stream);
    case SCATTER: return reactant_mpi_scatter_stream(send, recv, j->count, type, j->root, j->comm, stream);
    }
    return -1;
}

static size_t sends(const struct job *j)
{
    switch (j->which) {
    case REDUCE_SCATTER:
    case ALLTOALL: return (size_t)j->size * j->count;
    case SCATTER: return j->rank == j->root ? (size_t)j->size * j->count : 0;
    case BCAST: return 0; /* its one buffer is handled as the receiving one */
    default: return j->count;
    }
}

static size_t receives(const struct job *j)
{
    switch (j->which) {
    case REDUCE: return j->rank == j->root ? j->count : 0;
    case ALLGATHER:
    case ALLTOALL: return (size_t)j->size * j->count;
    case GATHER: return j->rank == j->root ? (size_t)j->size * j->count : 0;
    default: return j->count;
    }
}

static bool reduces(const struct job *j)
{
    return j->which <= REDUCE_SCATTER;
}

static struct element input(const struct job *j, unsigned seed, int from, size_t i)
{
    return device_sent(j->t, reduces(j) ? j->op : 0, seed, from, i, j->size);
}

/* What element i of the receiving buffer must be. */
static struct element expected(const struct job *j, unsigned seed, size_t i)
{
    size_t at = j->which == REDUCE_SCATTER ? (size_t)j->rank * j->count + i : i;
    struct element e;
    switch (j->which) {
    case ALLREDUCE:
    case REDUCE:
    case REDUCE_SCATTER:
        e = input(j, seed, 0, at);
        for (int r = 1; r < j->size; r++)
            e = device_fold(j->t, j->op, e, input(j, seed, r, at));
        if (j->op == REACTANT_MPI_AVG)
            e.re /= j->size, e.im /= j->size;
        return e;
    case BCAST: return input(j, seed, j->root, i);
    case ALLGATHER:
    case GATHER: return input(j, seed, (int)(i / j->count), i % j->count);
    case ALLTOALL: return input(j, seed, (int)(i / j->count), (size_t)j->rank * j->count + i % j->count);
    case SCATTER: return input(j, seed, j->root, (size_t)j->rank * j->count + i);
    }
    return e;
}

static void fill(const struct job *j, char *base, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        device_put(j->t, reduces(j) ? j->op : 0, base, i, input(j, seed, j->rank, i));
}

static void bad(const struct job *j, const char *what, size_t i)
{
    check_fail(__FILE__, __LINE__, names[j->which], " type %s op %#x root %d count %zu size %d, %s: %s at %zu", j->t->name, (unsigned)j->op,
               j->root, j->count, j->size, places[j->place], what, i);
}

static void compare(const struct job *j, const char *got, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        if (!device_same(j->t, reduces(j) ? j->op : 0, got, i, expected(j, seed, i))) {
            bad(j, "wrong value", i);
            return;
        }
}

static void do_job(const struct job *j)
{
    static unsigned seed;
    const size_t es = j->t->size, own = (size_t)j->rank * j->count * es;
    const size_t out = sends(j) * es, in = receives(j) * es;
    const bool at_root = j->rank == j->root, rooted = j->which == REDUCE || j->which == GATHER || j->which == SCATTER;
    bool joined = j->place != APART && j->place != NOTHING && (at_root || !rooted); /* here, one buffer has both */
    bool scatters = j->which == SCATTER || j->which == REDUCE_SCATTER;
    const void *send = NULL;
    void *recv = NULL;
    char *copy = NULL, *got;
    check_count++;
    seed++;
    if (j->place == NOTHING) {
        if (call(j, NULL, NULL) != 0)
            bad(j, reactant_mpi_last_error(), 0);
        return;
    }
    if (joined && scatters) { /* the large buffer is the sending one; our block of it is overwritten */
        fill(j, fresh(SENDING, out), sends(j), seed);
        send = up(SENDING);
        recv = j->place == IN_PLACE ? REACTANT_MPI_IN_PLACE : (char *)(uintptr_t)send + own;
    } else if (joined || j->which == BCAST) {
        char *base = fresh(RECEIVING, in);
        fill(j, base + (j->which == ALLGATHER || j->which == GATHER ? own : 0), j->count, seed);
        recv = up(RECEIVING);
        send = j->place == IN_PLACE ? REACTANT_MPI_IN_PLACE : j->place == OWN ? (char *)recv + own : (char *)recv;
    } else {
        fill(j, fresh(SENDING, out), sends(j), seed);
        send = up(SENDING);
        fresh(RECEIVING, in);
        recv = up(RECEIVING);
        if (j->which == SCATTER && !at_root)
            send = NULL; /* ignored there */
        if ((j->which == REDUCE || j->which == GATHER) && !at_root)
            recv = NULL;
    }
    if (call(j, send, recv) != 0) {
        bad(j, reactant_mpi_last_error(), 0);
        return;
    }
    gpu_sync(stream);
    if (joined && scatters) {
        got = down(SENDING, &copy);
        if (!got)
            bad(j, "guard bytes of the buffer are overwritten", 0);
        else {
            compare(j, got + own, j->count, seed);
            memcpy(got + own, buffers[SENDING].image + GUARD + own, j->count * es);
            if (memcmp(got, buffers[SENDING].image + GUARD, out) != 0)
                bad(j, "other blocks than our own are changed", 0);
        }
        free(copy);
        return;
    }
    got = down(RECEIVING, &copy);
    if (!got)
        bad(j, "guard bytes of the receiving buffer are overwritten", 0);
    else
        compare(j, got, receives(j), seed);
    free(copy);
    if (joined || j->which == BCAST)
        return;
    got = down(SENDING, &copy);
    if (!got || memcmp(got, buffers[SENDING].image + GUARD, out) != 0)
        bad(j, "the sending buffer is changed", 0);
    free(copy);
}

static const enum place forms[][4] = {
    [ALLREDUCE] = {APART, IN_PLACE, SAME, APART}, [REDUCE] = {APART, IN_PLACE, SAME, APART}, [REDUCE_SCATTER] = {APART, OWN, APART, APART},
    [BCAST] = {APART, APART, APART, APART},       [ALLGATHER] = {APART, IN_PLACE, OWN, APART}, [ALLTOALL] = {APART, APART, APART, APART},
    [GATHER] = {APART, IN_PLACE, OWN, APART},     [SCATTER] = {APART, IN_PLACE, OWN, APART},
};

/* Every form of one operation; roots: all for one count, else one after the other in turn. */
static void do_forms(struct job j, size_t count)
{
    static int turn;
    bool has_root = j.which == REDUCE || j.which == BCAST || j.which == GATHER || j.which == SCATTER;
    bool all_roots = has_root && (full || count == 7);
    j.count = count;
    for (int f = 0; f < 3 && (f == 0 || forms[j.which][f] != APART); f++) {
        j.place = forms[j.which][f];
        for (int r = 0; r < (all_roots ? j.size : 1); r++) {
            j.root = all_roots ? r : has_root ? turn++ % j.size : 0;
            do_job(&j);
        }
    }
    if (count == 0) {
        j.place = NOTHING;
        j.root = 0;
        do_job(&j);
    }
}

static void do_all(reactant_mpi_comm *c, const size_t *counts, int n_counts)
{
    struct job j = {.comm = c, .rank = reactant_mpi_rank(c), .size = reactant_mpi_size(c)};
    for (int t = 0; t < ALL_TYPES; t++) {
        j.t = type_at(t);
        for (int k = 0; k < n_counts; k++) {
            for (j.which = ALLREDUCE; j.which <= REDUCE_SCATTER; j.which++)
                for (int o = 0; o < N_DEVICE_OPS; o++)
                    if (device_legal(j.t, j.op = device_ops[o]))
                        do_forms(j, counts[k]);
            for (j.op = 0; j.which <= SCATTER; j.which++)
                do_forms(j, counts[k]);
        }
    }
}

static void test_data(void)
{
    static const size_t counts[] = {0, 1, 7, 1000};
    do_all(comm, counts, 4);
    /* about 1 MiB a rank: more than one piece inside NCCL */
    struct job j = {.comm = comm, .rank = rank, .size = size, .t = &types[8], .op = REACTANT_MPI_SUM, .count = (1 << 18) + 3};
    for (j.which = ALLREDUCE; j.which <= SCATTER; j.which++) {
        j.root = size - 1;
        j.place = APART;
        do_job(&j);
    }
    if (full) {
        j.which = ALLREDUCE, j.t = &smalls[1].t, j.count = (1 << 20) + 1;
        do_job(&j);
        j.which = ALLTOALL, j.t = &types[13];
        do_job(&j);
    }
}

/* Every pair that is not legal: code 4 and the reason, without harm. */
static void test_refused_pairs(void)
{
    static const int more[] = {REACTANT_MPI_BAND, REACTANT_MPI_BOR, REACTANT_MPI_BXOR, REACTANT_MPI_LXOR, 0x77, 0, -1};
    fresh(RECEIVING, 64);
    void *buf = up(RECEIVING);
    for (int t = 0; t < ALL_TYPES; t++) {
        const struct type *y = type_at(t);
        for (int o = 0; o < N_DEVICE_OPS + (int)(sizeof more / sizeof *more); o++) {
            int op = o < N_DEVICE_OPS ? device_ops[o] : more[o - N_DEVICE_OPS];
            if (o < N_DEVICE_OPS && device_legal(y, op))
                continue;
            FAILS(REACTANT_MPI_ERR_OP, "allreduce_stream", reactant_mpi_allreduce_stream(buf, buf, 1, y->value, op, comm, stream));
            const char *text = reactant_mpi_last_error();
            bool known = o < N_DEVICE_OPS || o < N_DEVICE_OPS + 4;
            const char *reason = !known                                                ? "no operation"
                                 : y->kind == COMPLEX                                  ? "complex"
                                 : y->kind == BOOLEAN                                  ? "bool"
                                 : y->kind == BITS || (y->size == 2 && !is_small(y)) ? "16-bit"
                                 : is_float8(y) && version < 22400                     ? "2.24"
                                 : op == REACTANT_MPI_AVG                              ? "AVG"
                                                                                       : "NCCL has";
            CHECK(strstr(text, reason), "type %s op %#x: '%s' wanted in '%s'", y->name, (unsigned)op, reason, text);
            FAILS(REACTANT_MPI_ERR_OP, "reduce_stream", reactant_mpi_reduce_stream(buf, buf, 1, y->value, op, 0, comm, stream));
        }
    }
    FAILS(REACTANT_MPI_ERR_OP, "reduce_scatter_stream",
          reactant_mpi_reduce_scatter_stream(buf, (char *)buf + rank, 1, REACTANT_MPI_BYTE, REACTANT_MPI_SUM, comm, stream));
    ALIVE(comm);
}

#endif
