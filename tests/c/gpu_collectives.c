/*
 * Every device call of a GPU communicator: all types, all legal operations, all forms in place, several counts, every root, against
 * values computed here from integers; communicators from communicators; NCCL's functions under our names; what is refused.
 *
 *   gpu_collectives [data | comms | calls]...      default: all three
 *
 * Values are exact in every type, the 8-bit ones included, whatever the order of the additions. 64 guard bytes stand on both sides of
 * every buffer, and what is only sent must come out unchanged.
 */
#include "gpu.h"
#include "hostmpi.h"
#include "types.h"

#include <pthread.h>
#include <semaphore.h>

static reactant_mpi_comm *comm;
static int rank, size, version;
static void *stream;
static bool full; /* every root of every case */

/* ---- types: those of the host tests, and the small ones ---------------------------------------------------------------------- */

enum { SMALL = 100 }; /* one more kind */
#define N_SMALL 4
static const struct small {
    struct type t;
    int exponent, mantissa;
} smalls[N_SMALL] = {
    {{"float16", REACTANT_MPI_FLOAT16, 2, (enum kind)SMALL}, 5, 10},
    {{"bfloat16", REACTANT_MPI_BFLOAT16, 2, (enum kind)SMALL}, 8, 7},
    {{"float8_e4m3fn", REACTANT_MPI_FLOAT8_E4M3FN, 1, (enum kind)SMALL}, 4, 3},
    {{"float8_e5m2", REACTANT_MPI_FLOAT8_E5M2, 1, (enum kind)SMALL}, 5, 2},
};

static const struct type *type_at(int i)
{
    return i < (int)N_TYPES ? &types[i] : &smalls[i - (int)N_TYPES].t;
}
enum { ALL_TYPES = N_TYPES + N_SMALL };

static bool is_small(const struct type *t)
{
    return (int)t->kind == SMALL;
}

static bool is_float8(const struct type *t)
{
    return is_small(t) && t->size == 1;
}

static const int device_ops[] = {REACTANT_MPI_SUM,  REACTANT_MPI_MIN, REACTANT_MPI_MAX, REACTANT_MPI_PROD,
                                 REACTANT_MPI_LAND, REACTANT_MPI_LOR, REACTANT_MPI_AVG};
enum { N_DEVICE_OPS = sizeof device_ops / sizeof *device_ops };

/* The table of the header's comment, written out again. */
static bool device_legal(const struct type *t, int op)
{
    bool arithmetic = op == REACTANT_MPI_SUM || op == REACTANT_MPI_MIN || op == REACTANT_MPI_MAX || op == REACTANT_MPI_PROD;
    bool average = op == REACTANT_MPI_AVG;
    switch (t->value) {
    case REACTANT_MPI_INT8:
    case REACTANT_MPI_UINT8:
    case REACTANT_MPI_INT32:
    case REACTANT_MPI_UINT32:
    case REACTANT_MPI_INT64:
    case REACTANT_MPI_UINT64: return arithmetic;
    case REACTANT_MPI_FLOAT8_E4M3FN:
    case REACTANT_MPI_FLOAT8_E5M2: return version >= 22400 && (arithmetic || average);
    case REACTANT_MPI_FLOAT16:
    case REACTANT_MPI_BFLOAT16:
    case REACTANT_MPI_FLOAT32:
    case REACTANT_MPI_FLOAT64: return arithmetic || average;
    case REACTANT_MPI_COMPLEX64:
    case REACTANT_MPI_COMPLEX128: return op == REACTANT_MPI_SUM || average;
    case REACTANT_MPI_BOOL: return op == REACTANT_MPI_LAND || op == REACTANT_MPI_LOR;
    }
    return false;
}

/* A small integer as the bits of a floating type. */
static uint64_t small_bits(const struct type *t, int value)
{
    const struct small *s = (const struct small *)t; /* its first member */
    int magnitude = value < 0 ? -value : value, exponent = 0;
    uint64_t sign = (uint64_t)(value < 0) << (s->exponent + s->mantissa);
    if (!magnitude)
        return 0;
    while (magnitude >> (exponent + 1))
        exponent++;
    int fraction = magnitude - (1 << exponent), shift = s->mantissa - exponent;
    NEED(shift >= 0 || fraction % (1 << -shift) == 0, "%d is not exact in %s", value, t->name);
    uint64_t bits = shift >= 0 ? (uint64_t)fraction << shift : (uint64_t)fraction >> -shift;
    return sign | (uint64_t)(exponent + (1 << (s->exponent - 1)) - 1) << s->mantissa | bits;
}

/* What a rank sends; op 0: data only moves. Integers of the small types and averages stay in `re`. */
static struct element device_sent(const struct type *t, int op, unsigned seed, int from, size_t i, int n)
{
    uint64_t h = mix(mix((uint64_t)seed * 1000003 + (uint64_t)from) ^ (uint64_t)i);
    struct element e = {0, 0, 0};
    if (is_small(t) && op == 0) {
        e.bits = h & (t->size == 1 ? 0xff : 0xffff); /* any pattern passes, NaNs too */
        return e;
    }
    if (op == REACTANT_MPI_AVG) { /* -n, 0, n: scaled before or after the sum, the average is a small integer */
        e.re = ((int)(h % 3) - 1) * n;
        e.im = t->kind == COMPLEX ? ((int)(h / 3 % 3) - 1) * n : 0;
        return e;
    }
    if (is_small(t)) {
        e.re = op == REACTANT_MPI_SUM ? (int)(h % 3) - 1 : op == REACTANT_MPI_PROD ? (h & 1 ? 1 : h & 2 ? 2 : -1) : (int)(h % 17) - 8;
        return e;
    }
    return sent(t, op, seed, from, i);
}

static struct element device_fold(const struct type *t, int op, struct element a, struct element b)
{
    if (op == REACTANT_MPI_AVG || is_small(t)) {
        struct element r = {0, a.re, a.im};
        switch (op) {
        case REACTANT_MPI_MIN: r.re = a.re < b.re ? a.re : b.re; break;
        case REACTANT_MPI_MAX: r.re = a.re > b.re ? a.re : b.re; break;
        case REACTANT_MPI_PROD: r.re = a.re * b.re; break;
        default: r.re = a.re + b.re, r.im = a.im + b.im;
        }
        return r;
    }
    return fold(t, op, a, b);
}

static void device_put(const struct type *t, int op, void *base, size_t i, struct element e)
{
    if (is_small(t)) {
        uint64_t bits = op ? small_bits(t, (int)e.re) : e.bits;
        memcpy((char *)base + i * t->size, &bits, t->size);
    } else {
        put(t, base, i, e);
    }
}

static bool device_same(const struct type *t, int op, const void *base, size_t i, struct element e)
{
    if (!is_small(t))
        return same(t, base, i, e);
    uint64_t want = op ? small_bits(t, (int)e.re) : e.bits, got = 0;
    memcpy(&got, (const char *)base + i * t->size, t->size);
    /* -0 equals 0: a product has it */
    return got == want || (op && want == 0 && got == (uint64_t)1 << (8 * t->size - 1));
}

/* ---- guarded device buffers ---------------------------------------------------------------------------------------------------- */

enum { GUARD = 64, ROOM = 4 << 20 };
enum { SENDING, RECEIVING, BUFFERS };

static struct {
    char *device, *image; /* on the device, and the host's copy of what it holds or held */
    size_t bytes;
} buffers[BUFFERS];

static void buffers_make(void)
{
    for (int i = 0; i < BUFFERS; i++) {
        buffers[i].device = gpu_alloc((size_t)size * ROOM + 2 * GUARD);
        buffers[i].image = malloc((size_t)size * ROOM + 2 * GUARD);
        NEED(buffers[i].image, "no memory");
    }
}

static void buffers_end(void)
{
    for (int i = 0; i < BUFFERS; i++) {
        gpu_free(buffers[i].device);
        free(buffers[i].image);
    }
}

/* The host's copy, to be filled and then brought up. */
static char *fresh(int which, size_t bytes)
{
    NEED(bytes <= (size_t)size * ROOM, "%zu bytes", bytes);
    buffers[which].bytes = bytes;
    memset(buffers[which].image, 0xa5, bytes + 2 * GUARD);
    return buffers[which].image + GUARD;
}

static void *up(int which)
{
    gpu_put(buffers[which].device, buffers[which].image, buffers[which].bytes + 2 * GUARD);
    return buffers[which].device + GUARD;
}

/* Copies the device's bytes into scratch; NULL if a guard was touched. */
static char *down(int which, char **scratch)
{
    size_t n = buffers[which].bytes + 2 * GUARD;
    *scratch = malloc(n);
    NEED(*scratch, "no memory");
    gpu_get(*scratch, buffers[which].device, n);
    for (size_t i = 0; i < GUARD; i++)
        if ((unsigned char)(*scratch)[i] != 0xa5 || (unsigned char)(*scratch)[n - 1 - i] != 0xa5)
            return NULL;
    return *scratch + GUARD;
}

/* ---- collectives ----------------------------------------------------------------------------------------------------------------- */

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

/* ---- calls ------------------------------------------------------------------------------------------------------------------------- */

/* One device allreduce with a known answer. */
static void check_device(int line, reactant_mpi_comm *c)
{
    int n = reactant_mpi_size(c), r = reactant_mpi_rank(c);
    int64_t x = 10 + r, sum = -1;
    void *at = buffers[RECEIVING].device;
    gpu_put(at, &x, sizeof x);
    int rc = reactant_mpi_allreduce_stream(REACTANT_MPI_IN_PLACE, at, 1, REACTANT_MPI_INT64, REACTANT_MPI_SUM, c, stream);
    check_count++;
    if (rc != 0) {
        check_fail(__FILE__, line, "a good device allreduce", " got %d: %s", rc, reactant_mpi_last_error());
        return;
    }
    gpu_sync(stream);
    gpu_get(&sum, at, sizeof sum);
    if (sum != 10 * (int64_t)n + (int64_t)n * (n - 1) / 2)
        check_fail(__FILE__, line, "a right device allreduce", " got the sum %lld at %d ranks", (long long)sum, n);
}
#define DEVICE_ALIVE(c) check_device(__LINE__, (c))

/* A ring of int32: from the left neighbour comes its rank. */
static void check_ring(int line, int (*exchange)(void *send, void *recv, int to, int from))
{
    int32_t out[5], in[5];
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int i = 0; i < 5; i++)
        out[i] = 100 * rank + i, in[i] = -1;
    gpu_put(buffers[SENDING].device, out, sizeof out);
    gpu_put(buffers[RECEIVING].device, in, sizeof in);
    int rc = exchange(buffers[SENDING].device, buffers[RECEIVING].device, right, left);
    check_count++;
    if (rc != 0) {
        check_fail(__FILE__, line, "a good ring", " got %d: %s", rc, reactant_mpi_last_error());
        return;
    }
    gpu_sync(stream);
    gpu_get(in, buffers[RECEIVING].device, sizeof in);
    for (int i = 0; i < 5; i++)
        CHECK(in[i] == 100 * left + i, "line %d: element %d is %d, %d wanted", line, i, in[i], 100 * left + i);
}

#define I32 REACTANT_MPI_INT32

static int by_group(void *send, void *recv, int to, int from)
{
    int a, b, c;
    OK(reactant_mpi_group_start());
    a = reactant_mpi_send_stream(send, 5, I32, to, comm, stream);
    b = reactant_mpi_recv_stream(recv, 5, I32, from, comm, stream);
    c = reactant_mpi_group_end();
    return a ? a : b ? b : c;
}

static int by_nested_groups(void *send, void *recv, int to, int from)
{
    int rc;
    OK(reactant_mpi_group_start());
    OK(reactant_mpi_group_start());
    OK(reactant_mpi_recv_stream(recv, 5, I32, from, comm, stream));
    OK(reactant_mpi_group_end());
    OK(reactant_mpi_send_stream(send, 5, I32, to, comm, stream));
    rc = reactant_mpi_group_end();
    return rc;
}

static int by_sendrecv(void *send, void *recv, int to, int from)
{
    return reactant_mpi_sendrecv_stream(send, 5, to, recv, 5, from, I32, comm, stream);
}

static int by_turns(void *send, void *recv, int to, int from)
{
    /* without a group: rank 0 begins, the others answer */
    int rc = 0;
    if (size == 1)
        return by_group(send, recv, to, from);
    if (rank == 0)
        rc = reactant_mpi_send_stream(send, 5, I32, to, comm, stream);
    if (!rc)
        rc = reactant_mpi_recv_stream(recv, 5, I32, from, comm, stream);
    if (!rc && rank != 0)
        rc = reactant_mpi_send_stream(send, 5, I32, to, comm, stream);
    return rc;
}

static int by_nccl_names(void *send, void *recv, int to, int from)
{
    int a, b, c;
    CHECK(reactant_mpi_ncclGroupStart() == 0, "");
    a = reactant_mpi_ncclSend(send, 5, 2, to, comm, stream);
    b = reactant_mpi_ncclRecv(recv, 5, 2, from, reactant_mpi_nccl_comm(comm), stream);
    c = reactant_mpi_ncclGroupEnd();
    while (c == 7) /* a non-blocking communicator: NCCL's own code passes, and it is for the caller to wait */
        if (reactant_mpi_ncclCommGetAsyncError(comm, &c) != 0)
            c = -1;
    return a ? a : b ? b : c;
}

static void test_messages(void)
{
    void *send = buffers[SENDING].device, *recv = buffers[RECEIVING].device;
    check_ring(__LINE__, by_group);
    check_ring(__LINE__, by_nested_groups);
    check_ring(__LINE__, by_sendrecv);
    check_ring(__LINE__, by_turns);
    check_ring(__LINE__, by_nccl_names);
    OK(reactant_mpi_send_stream(send, 5, I32, REACTANT_MPI_PROC_NULL, comm, stream));
    OK(reactant_mpi_recv_stream(recv, 5, I32, REACTANT_MPI_PROC_NULL, comm, stream));
    OK(reactant_mpi_sendrecv_stream(send, 5, REACTANT_MPI_PROC_NULL, recv, 5, REACTANT_MPI_PROC_NULL, I32, comm, stream));
    if (size > 1) { /* a line: the ends have one neighbour only */
        int32_t mine = rank, got = -7;
        int down_rank = rank > 0 ? rank - 1 : REACTANT_MPI_PROC_NULL, up_rank = rank + 1 < size ? rank + 1 : REACTANT_MPI_PROC_NULL;
        gpu_put(send, &mine, sizeof mine);
        gpu_put(recv, &got, sizeof got);
        OK(reactant_mpi_sendrecv_stream(send, 1, up_rank, recv, 1, down_rank, I32, comm, stream));
        gpu_sync(stream);
        gpu_get(&got, recv, sizeof got);
        CHECK(got == (rank > 0 ? rank - 1 : -7), "%d", got);
    }
    FAILS(REACTANT_MPI_ERR_RANK, "recv_stream", reactant_mpi_recv_stream(recv, 1, I32, REACTANT_MPI_ANY_SOURCE, comm, stream));
    FAILS(REACTANT_MPI_ERR_RANK, "send_stream", reactant_mpi_send_stream(send, 1, I32, size, comm, stream));
    FAILS(REACTANT_MPI_ERR_RANK, "sendrecv_stream",
          reactant_mpi_sendrecv_stream(send, 1, 0, recv, 1, REACTANT_MPI_ANY_SOURCE, I32, comm, stream));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "sendrecv_stream", reactant_mpi_sendrecv_stream(send, 1, 0, send, 1, 0, I32, comm, stream));
    OK(reactant_mpi_group_start()); /* nothing in it */
    OK(reactant_mpi_group_end());
    FAILS(REACTANT_MPI_ERR_NCCL, "group_end", reactant_mpi_group_end());
    CHECK(gpu_group_depth() <= 0, "%d groups are open", gpu_group_depth());
    OK(reactant_mpi_barrier_stream(comm, stream));
    gpu_sync(stream);
    DEVICE_ALIVE(comm);
}

/* Several collectives in one group. */
static void test_group_of_collectives(void)
{
    int32_t x[3] = {rank + 1, rank == size - 1 ? 77 : -1, 0};
    char *at = buffers[RECEIVING].device;
    gpu_put(at, x, sizeof x);
    OK(reactant_mpi_group_start());
    OK(reactant_mpi_allreduce_stream(at, at, 1, I32, REACTANT_MPI_SUM, comm, stream));
    OK(reactant_mpi_bcast_stream(at + 4, 1, I32, size - 1, comm, stream));
    OK(reactant_mpi_group_end());
    gpu_sync(stream);
    gpu_get(x, at, sizeof x);
    CHECK(x[0] == size * (size + 1) / 2 && x[1] == 77 && x[2] == 0, "%d %d %d", x[0], x[1], x[2]);
    /* a refused call inside a group does not spoil what is in it */
    x[0] = 1;
    gpu_put(at, x, sizeof x);
    OK(reactant_mpi_group_start());
    OK(reactant_mpi_allreduce_stream(at, at, 1, I32, REACTANT_MPI_SUM, comm, stream));
    FAILS(REACTANT_MPI_ERR_OP, "allreduce_stream", reactant_mpi_allreduce_stream(at, at, 1, I32, REACTANT_MPI_BXOR, comm, stream));
    OK(reactant_mpi_group_end());
    gpu_sync(stream);
    gpu_get(x, at, sizeof x);
    CHECK(x[0] == size, "%d", x[0]);
}

static void test_wrong_arguments(void)
{
    char *at = buffers[RECEIVING].device;
    int stack = 0;
    reactant_mpi_comm *other = NULL;
    FAILS(REACTANT_MPI_ERR_COMM, "allreduce_stream", reactant_mpi_allreduce_stream(at, at, 1, I32, REACTANT_MPI_SUM, NULL, stream));
    FAILS(REACTANT_MPI_ERR_COMM, "barrier_stream", reactant_mpi_barrier_stream((reactant_mpi_comm *)&stack, stream));
    FAILS(REACTANT_MPI_ERR_TYPE, "bcast_stream", reactant_mpi_bcast_stream(at, 1, 12345, 0, comm, stream));
    FAILS(REACTANT_MPI_ERR_RANK, "bcast_stream", reactant_mpi_bcast_stream(at, 1, I32, size, comm, stream));
    FAILS(REACTANT_MPI_ERR_RANK, "reduce_stream", reactant_mpi_reduce_stream(at, at, 1, I32, REACTANT_MPI_SUM, -1, comm, stream));
    FAILS(REACTANT_MPI_ERR_COUNT, "allgather_stream",
          reactant_mpi_allgather_stream(at, at, SIZE_MAX / 4 + 1, REACTANT_MPI_FLOAT64, comm, stream));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "allreduce_stream", reactant_mpi_allreduce_stream(NULL, at, 1, I32, REACTANT_MPI_SUM, comm, stream));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "bcast_stream", reactant_mpi_bcast_stream(NULL, 1, I32, 0, comm, stream));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "alltoall_stream", reactant_mpi_alltoall_stream(REACTANT_MPI_IN_PLACE, at, 1, I32, comm, stream));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "alltoall_stream", reactant_mpi_alltoall_stream(at, at, 1, I32, comm, stream));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "reduce_scatter_stream",
          reactant_mpi_reduce_scatter_stream(REACTANT_MPI_IN_PLACE, at, 1, I32, REACTANT_MPI_SUM, comm, stream));
    OK(reactant_mpi_allreduce_stream(NULL, NULL, 0, I32, REACTANT_MPI_SUM, comm, stream));

    reactant_mpi_options o = REACTANT_MPI_OPTIONS_INIT;
    hword h = host_dup(host.world);
    o.gpu = REACTANT_MPI_GPU_OFF;
    OK(reactant_mpi_initialize_with((uintptr_t)h, &o, &other));
    NEED(other, "a host communicator");
    CHECK(reactant_mpi_device(other) == -1 && !reactant_mpi_nccl_comm(other) && !reactant_mpi_client(other), "nothing of a device");
    FAILS(REACTANT_MPI_ERR_NO_DEVICE, "allreduce_stream", reactant_mpi_allreduce_stream(at, at, 1, I32, REACTANT_MPI_SUM, other, stream));
    CHECK(reactant_mpi_ncclAllReduce(at, at, 1, 2, 0, other, stream) == 5, "NCCL's name on a host communicator");
    ALIVE(other);
    OK(reactant_mpi_finalize(other));
    host_free(&h);
    FAILS(REACTANT_MPI_ERR_COMM, "barrier_stream", reactant_mpi_barrier_stream(other, stream));
    DEVICE_ALIVE(comm);
    ALIVE(comm);
}

/* The host's memory is no device memory: the double says so (a real NCCL may not), and nothing is spoilt. */
static void test_host_pointers(void)
{
    if (!gpu_is_double())
        return;
    hword h = host_dup(host.world);
    reactant_mpi_comm *c = reactant_mpi_initialize((uintptr_t)h);
    int32_t x[4] = {1, 2, 3, 4};
    char *at = buffers[RECEIVING].device;
    NEED(c, "%s", reactant_mpi_last_error());
    CHECK(reactant_mpi_comm_error(c) == 0, "%d", reactant_mpi_comm_error(c));
    FAILS(REACTANT_MPI_ERR_NCCL, "allreduce_stream", reactant_mpi_allreduce_stream(x, x, 4, I32, REACTANT_MPI_SUM, c, stream));
    CHECK(strstr(reactant_mpi_last_error(), "invalid argument"), "NCCL's words in '%s'", reactant_mpi_last_error());
    CHECK(reactant_mpi_comm_error(c) == REACTANT_MPI_ERR_NCCL, "%d", reactant_mpi_comm_error(c));
    FAILS(REACTANT_MPI_ERR_NCCL, "bcast_stream", reactant_mpi_bcast_stream(x, 4, I32, 0, c, stream));
    FAILS(REACTANT_MPI_ERR_NCCL, "allgather_stream", reactant_mpi_allgather_stream(at, x, 1, I32, c, stream));
    CHECK(reactant_mpi_ncclAllReduce(x, at, 1, 2, 0, c, stream) == 4, "");
    CHECK(x[0] == 1 && x[1] == 2 && x[2] == 3 && x[3] == 4, "%d %d %d %d", x[0], x[1], x[2], x[3]);
    DEVICE_ALIVE(c);
    ALIVE(c);
    OK(reactant_mpi_finalize(c));
    host_free(&h);
}

/* The host's operations on the same communicator. */
static void test_host_operations(void)
{
    int32_t x = rank, *all = calloc((size_t)size, sizeof *all);
    reactant_mpi_request *request = NULL;
    ALIVE(comm);
    OK(reactant_mpi_allgather(&x, all, 1, I32, comm));
    for (int i = 0; i < size; i++)
        CHECK(all[i] == i, "%d: %d", i, all[i]);
    OK(reactant_mpi_prepare_bcast(all, 1, I32, size - 1, comm, &request));
    all[0] = 1000 + rank;
    OK(reactant_mpi_run(request));
    CHECK(all[0] == 1000 + size - 1, "%d", all[0]);
    OK(reactant_mpi_request_free(request));
    OK(reactant_mpi_barrier(comm));
    free(all);
}

/* A call enqueues and returns: the stream is held by a function of ours until we have looked. */
static void wait_for(void *what)
{
    while (sem_wait(what) != 0)
        ;
}

static void test_stream_order(void)
{
    sem_t gate;
    int32_t x = rank + 1, zero = 0;
    void *const before = stream, *held = gpu_stream();
    char *at = buffers[RECEIVING].device;
    int (*copy)(void *, const void *, size_t, void *) = NULL; /* CUDA's form; HIP's has the kind before the stream */
    int (*hip_copy)(void *, const void *, size_t, int, void *) = NULL;
    sem_init(&gate, 0, 0);
    gpu_put(at, &zero, sizeof zero);
    gpu_host_function(held, wait_for, &gate);
    if (gpu.hip) {
        hip_copy = gpu_symbol(gpu.driver, "hipMemcpyAsync");
        GPU_OK(hip_copy(at, &x, sizeof x, 1, held));
    } else {
        copy = gpu_symbol(gpu.driver, "cuMemcpyHtoDAsync_v2");
        GPU_OK(copy(at, &x, sizeof x, held));
    }
    OK(reactant_mpi_allreduce_stream(at, at, 1, I32, REACTANT_MPI_SUM, comm, held));       /* size * (size + 1) / 2 */
    OK(reactant_mpi_allreduce_stream(at, at + 4, 1, I32, REACTANT_MPI_SUM, comm, held));   /* size times that */
    OK(reactant_mpi_allgather_stream(at + 4, at + 8, 1, I32, comm, held));
    OK(reactant_mpi_barrier_stream(comm, held));
    if (gpu_is_double()) {
        const int32_t *bytes = ((void *(*)(uint64_t))gpu_symbol(gpu.driver, "fake_gpu_data"))((uintptr_t)at);
        CHECK(bytes && *(const volatile int32_t *)bytes == 0, "the calls have returned and nothing has moved");
    }
    int busy = GPU_FN(int (*)(void *), "cuStreamQuery", "hipStreamQuery")(held);
    CHECK(busy == 600, "the stream is busy: %d", busy);
    sem_post(&gate);
    gpu_sync(held);
    for (int i = 0; i < size + 2; i++) {
        int32_t got = -1, sum = size * (size + 1) / 2;
        gpu_get(&got, at + 4 * i, sizeof got);
        CHECK(got == (i == 0 ? sum : size * sum), "element %d is %d", i, got);
    }
    gpu_stream_end(held);
    sem_destroy(&gate);
    stream = NULL; /* the default stream */
    DEVICE_ALIVE(comm);
    stream = before;
}

/* Calls from threads that never touched a device: no context comes to be on device 0 or any other. */
enum { THREADS = 4 };

static void *fresh_thread(void *arg)
{
    int which = (int)(intptr_t)arg;
    int32_t x = -1;
    char *at = buffers[RECEIVING].device;
    if (which % 2)
        CHECK(reactant_mpi_ncclAllReduce(at, at, 1, 2, 0, (void *)(uintptr_t)reactant_mpi_comm_id(comm), stream) == 0, "%s",
              reactant_mpi_last_error());
    else
        OK(reactant_mpi_allreduce_stream(at, at, 1, I32, REACTANT_MPI_SUM, comm, stream));
    gpu_sync(stream);
    gpu_get(&x, at, sizeof x);
    CHECK(x == size, "%d", x);
    x = 1;
    gpu_put(at, &x, sizeof x);
    if (which == 3) { /* a group */
        OK(reactant_mpi_group_start());
        OK(reactant_mpi_bcast_stream(at, 1, I32, 0, comm, stream));
        OK(reactant_mpi_group_end());
        gpu_sync(stream);
    }
    return NULL;
}

/* A thread without a context is a matter of CUDA: of HIP's devices one is always current, device 0 at first, and RCCL goes back to it. */
static void check_contexts(int line)
{
    int mine = reactant_mpi_device(comm);
    for (int d = 0; d < 16 && !gpu.hip; d++) {
        int made = gpu_contexts_created(d);
        if (d != mine)
            CHECK(made <= 0, "line %d: %d contexts were made on device %d; ours is %d", line, made, d, mine);
        else
            CHECK(made == 1 || made == -1, "line %d: %d contexts were made on our device %d", line, made, d);
    }
}

static void test_fresh_threads(void)
{
    int32_t one = 1;
    check_contexts(__LINE__);
    gpu_put(buffers[RECEIVING].device, &one, sizeof one);
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        NEED(pthread_create(&thread, NULL, fresh_thread, (void *)(intptr_t)i) == 0, "no thread");
        pthread_join(thread, NULL);
    }
    check_contexts(__LINE__);
}

/* ---- NCCL's functions under our names ---------------------------------------------------------------------------------------------- */

static void check_nccl_word(void *word)
{
    int n = -1, r = -1, d = -1, e = -1, size32 = size;
    char *a = buffers[SENDING].device, *b = buffers[RECEIVING].device;
    int32_t x[8] = {rank + 1, rank + 2, rank + 3, rank + 4, rank + 5, rank + 6, rank + 7, rank + 8}, y[8];
    NEED(size <= 8, "%d ranks", size);
    CHECK(reactant_mpi_ncclCommCount(word, &n) == 0 && n == size, "%d", n);
    CHECK(reactant_mpi_ncclCommUserRank(word, &r) == 0 && r == rank, "%d", r);
    CHECK(reactant_mpi_ncclCommCuDevice(word, &d) == 0 && d == reactant_mpi_device(comm), "%d", d);
    CHECK(reactant_mpi_ncclCommGetAsyncError(word, &e) == 0 && (e == 0 || e == 7), "%d", e);
#define DOES(call, ...)                                                                                                            \
    gpu_put(a, x, sizeof x);                                                                                                       \
    memset(y, 0, sizeof y);                                                                                                        \
    gpu_put(b, y, sizeof y);                                                                                                       \
    CHECK(call == 0, "%s", reactant_mpi_last_error());                                                                             \
    gpu_sync(stream);                                                                                                              \
    gpu_get(y, b, sizeof y);                                                                                                       \
    CHECK(__VA_ARGS__, "%d %d", y[0], y[1])
    DOES(reactant_mpi_ncclAllReduce(a, b, 2, 2, 0, word, stream), y[0] == size32 * (size32 + 1) / 2 && y[2] == 0);
    DOES(reactant_mpi_ncclReduce(a, b, 1, 2, 2, size - 1, word, stream), y[0] == (rank == size - 1 ? size : 0)); /* max */
    DOES(reactant_mpi_ncclBroadcast(a, b, 1, 2, size - 1, word, stream), y[0] == size);
    DOES(reactant_mpi_ncclAllGather(a, b, 1, 2, word, stream), y[0] == 1 && y[size - 1] == size);
    DOES(reactant_mpi_ncclReduceScatter(a, b, 1, 2, 3, word, stream), y[0] == rank + 1); /* min: of rank 0 */
    DOES(reactant_mpi_ncclAlltoAll(a, b, 1, 2, word, stream), y[0] == rank + 1 && y[size - 1] == size + rank);
#undef DOES
    CHECK(reactant_mpi_ncclCommFinalize(word) == 0, "");
    CHECK(reactant_mpi_ncclCommDestroy(word) == 0, "");
    CHECK(reactant_mpi_ncclCommAbort(word) == 0, "");
    DEVICE_ALIVE(comm);
}

static void test_nccl_names(void)
{
    int stack[16] = {0}, n = -1;
    char *at = buffers[RECEIVING].device;
    void *raw = reactant_mpi_nccl_comm(comm);
    NEED(raw, "an ncclComm_t");
    check_nccl_word(comm);
    check_nccl_word((void *)(uintptr_t)reactant_mpi_comm_id(comm));
    check_nccl_word(raw);
    void *const foreign[] = {NULL, stack, (void *)(uintptr_t)0x123456789abc, (char *)raw + 8, (char *)comm + 8, (void *)-1, at, stream,
                             (void *)(uintptr_t)60000};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        int rc = reactant_mpi_ncclAllReduce(at, at, 1, 2, 0, foreign[i], stream);
        CHECK(rc == 4, "word %zu (%p) gave %d", i, foreign[i], rc);
        rc = reactant_mpi_ncclCommCount(foreign[i], &n);
        CHECK(rc == 4, "word %zu (%p) gave %d", i, foreign[i], rc);
        rc = reactant_mpi_ncclCommDestroy(foreign[i]);
        CHECK(rc == 4, "word %zu (%p) gave %d", i, foreign[i], rc);
        rc = reactant_mpi_ncclSend(at, 1, 2, 0, foreign[i], stream);
        CHECK(rc == 4, "word %zu (%p) gave %d", i, foreign[i], rc);
    }
    CHECK(reactant_mpi_ncclAllReduce(at, at, 1, 99, 0, comm, stream) == 4, "NCCL's own refusal of a type passes");
    CHECK(strcmp(reactant_mpi_ncclGetErrorString(0), "no error") == 0, "%s", reactant_mpi_ncclGetErrorString(0));
    CHECK(strstr(reactant_mpi_ncclGetErrorString(4), "argument"), "%s", reactant_mpi_ncclGetErrorString(4));

    /* after the end: 5 for our handle and id, 4 for the raw pointer */
    hword h = host_dup(host.world);
    reactant_mpi_comm *c = reactant_mpi_initialize((uintptr_t)h);
    NEED(c, "%s", reactant_mpi_last_error());
    void *raw_of_c = reactant_mpi_nccl_comm(c), *id_of_c = (void *)(uintptr_t)reactant_mpi_comm_id(c);
    CHECK(reactant_mpi_ncclCommCount(raw_of_c, &n) == 0 && n == size && raw_of_c != raw, "%d", n);
    OK(reactant_mpi_finalize(c));
    host_free(&h);
    CHECK(reactant_mpi_ncclAllReduce(at, at, 1, 2, 0, c, stream) == 5, "our handle");
    CHECK(reactant_mpi_ncclAllReduce(at, at, 1, 2, 0, id_of_c, stream) == 5, "its id");
    CHECK(reactant_mpi_ncclAllReduce(at, at, 1, 2, 0, raw_of_c, stream) == 4, "the raw pointer");
    CHECK(reactant_mpi_ncclCommCount(raw_of_c, &n) == 4, "the raw pointer");
    CHECK(reactant_mpi_nccl_comm(c) == NULL, "no ncclComm_t any more");
    DEVICE_ALIVE(comm);
}

static void test_what_it_is(void)
{
    static char text[65536];
    int d = reactant_mpi_device(comm), n = -1, r = -1, dev = -1;
    CHECK(d >= 0, "%d", d);
    CHECK(reactant_mpi_device((reactant_mpi_comm *)(uintptr_t)reactant_mpi_comm_id(comm)) == d, "by id");
    CHECK(reactant_mpi_device((reactant_mpi_comm *)&n) < -1, "a foreign word");
    void *raw = reactant_mpi_nccl_comm(comm);
    /* asked without us */
    GPU_OK(((int (*)(void *, int *))gpu_symbol(gpu.nccl, "ncclCommCount"))(raw, &n));
    GPU_OK(((int (*)(void *, int *))gpu_symbol(gpu.nccl, "ncclCommUserRank"))(raw, &r));
    GPU_OK(((int (*)(void *, int *))gpu_symbol(gpu.nccl, "ncclCommCuDevice"))(raw, &dev));
    CHECK(n == size && r == rank && dev == d, "%d %d %d", n, r, dev);
    CHECK(reactant_mpi_client(comm) == NULL, "nobody asked for a client");
    size_t need = reactant_mpi_describe(comm, text, sizeof text);
    CHECK(need > 0 && need < sizeof text, "%zu", need);
    static const char *const words[] = {"\"device\": {", "\"ordinal\": ", "\"nccl_path\": ", "\"runtime_path\": ", "\"device_reason\": "};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        CHECK(strstr(text, words[i]), "%s in %s", words[i], text);
}

static void test_calls(void)
{
    test_what_it_is();
    test_fresh_threads();
    test_messages();
    test_group_of_collectives();
    test_wrong_arguments();
    test_host_operations();
    test_stream_order();
    test_nccl_names();
    test_host_pointers();
    check_contexts(__LINE__);
}

/* ---- communicators from communicators ------------------------------------------------------------------------------------------------ */

/* A child over the listed ranks of comm, this one among them: what it says, its id on all, its collectives, on host and device. */
static void check_child(int line, reactant_mpi_comm *c, int n, const int *ranks)
{
    static const size_t one[] = {3};
    int me = -1;
    for (int i = 0; i < n; i++)
        if (ranks[i] == rank)
            me = i;
    CHECK(reactant_mpi_size(c) == n && reactant_mpi_rank(c) == me, "line %d: rank %d of %d, %d of %d wanted", line, reactant_mpi_rank(c),
          reactant_mpi_size(c), me, n);
    CHECK(reactant_mpi_device(c) == reactant_mpi_device(comm), "line %d: device %d", line, reactant_mpi_device(c));
    CHECK(reactant_mpi_nccl_comm(c) && reactant_mpi_nccl_comm(c) != reactant_mpi_nccl_comm(comm), "line %d: an own ncclComm_t", line);
    int64_t id = reactant_mpi_comm_id(c), ids[64];
    int32_t world = rank, worlds[64];
    OK(reactant_mpi_allgather(&id, ids, 1, REACTANT_MPI_INT64, c));
    OK(reactant_mpi_allgather(&world, worlds, 1, I32, c));
    for (int i = 0; i < n; i++) {
        CHECK(ids[i] == id && id != reactant_mpi_comm_id(comm), "line %d: id %lld here, %lld at rank %d", line, (long long)id,
              (long long)ids[i], i);
        CHECK(worlds[i] == ranks[i], "line %d: rank %d is %d of the parent, %d wanted", line, i, worlds[i], ranks[i]);
    }
    void *at = buffers[RECEIVING].device;
    gpu_put(at, &world, sizeof world);
    OK(reactant_mpi_allgather_stream(at, (char *)at + 64, 1, I32, c, stream));
    gpu_sync(stream);
    gpu_get(worlds, (char *)at + 64, (size_t)n * sizeof *worlds);
    for (int i = 0; i < n; i++)
        CHECK(worlds[i] == ranks[i], "line %d: on the device rank %d is %d, %d wanted", line, i, worlds[i], ranks[i]);
    DEVICE_ALIVE(c);
    ALIVE(c);
    if (full)
        do_all(c, one, 1);
}

static void split_by(int line, int (*color)(int), int (*key)(int))
{
    reactant_mpi_comm *c = (reactant_mpi_comm *)&line;
    int ranks[64], n = 0;
    OK(reactant_mpi_comm_split(comm, color(rank), key(rank), &c));
    if (color(rank) < 0) {
        CHECK(c == NULL, "line %d: nothing for a negative colour", line);
        DEVICE_ALIVE(comm);
        ALIVE(comm);
        return;
    }
    NEED(c, "line %d", line);
    for (int r = 0; r < size; r++) /* insertion by key, stable */
        if (color(r) == color(rank)) {
            int i = n++;
            for (; i > 0 && key(ranks[i - 1]) > key(r); i--)
                ranks[i] = ranks[i - 1];
            ranks[i] = r;
        }
    check_child(line, c, n, ranks);
    DEVICE_ALIVE(comm);
    ALIVE(comm);
    OK(reactant_mpi_comm_free(c));
    FAILS(REACTANT_MPI_ERR_COMM, "barrier", reactant_mpi_barrier(c));
    FAILS(REACTANT_MPI_ERR_COMM, "barrier_stream", reactant_mpi_barrier_stream(c, stream));
    OK(reactant_mpi_comm_free(c)); /* again is fine */
}

static int parity(int r) { return r % 2; }
static int nought(int r) { (void)r; return 0; }
static int same_number(int r) { return r; }
static int backwards(int r) { return -r; }
static int first_alone(int r) { return r == 0 ? 7 : 3; }
static int not_the_last(int r) { return r == size - 1 ? -1 : 1; }
static int only_the_last(int r) { return r == size - 1 ? 2147483647 : -2147483647; }

static void test_split(void)
{
    reactant_mpi_comm *c = NULL, *d = NULL;
    split_by(__LINE__, parity, nought);
    split_by(__LINE__, parity, backwards);
    split_by(__LINE__, nought, backwards);
    split_by(__LINE__, same_number, nought);
    split_by(__LINE__, first_alone, same_number);
    split_by(__LINE__, not_the_last, nought);
    split_by(__LINE__, only_the_last, parity);
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "comm_split", reactant_mpi_comm_split(comm, 0, 0, NULL));
    FAILS(REACTANT_MPI_ERR_COMM, "comm_split", reactant_mpi_comm_split(NULL, 0, 0, &c));
    FAILS(REACTANT_MPI_ERR_COMM, "comm_free", reactant_mpi_comm_free(NULL));

    /* a child of a child, and the parent ends first */
    hword h = host_dup(host.world);
    reactant_mpi_comm *parent = reactant_mpi_initialize((uintptr_t)h);
    int ranks[64];
    NEED(parent, "%s", reactant_mpi_last_error());
    OK(reactant_mpi_comm_split(parent, 0, -rank, &c));
    OK(reactant_mpi_finalize(parent));
    host_free(&h);
    for (int i = 0; i < size; i++)
        ranks[i] = size - 1 - i;
    check_child(__LINE__, c, size, ranks);
    OK(reactant_mpi_comm_split(c, 0, -reactant_mpi_rank(c), &d));
    for (int i = 0; i < size; i++)
        ranks[i] = i;
    check_child(__LINE__, d, size, ranks);
    OK(reactant_mpi_finalize(c));
    DEVICE_ALIVE(d);
    FAILS(REACTANT_MPI_ERR_COMM, "comm_split", reactant_mpi_comm_split(c, 0, 0, &parent));
    OK(reactant_mpi_finalize(d));
    DEVICE_ALIVE(comm);
    check_contexts(__LINE__);
}

static void test_create(void)
{
    reactant_mpi_comm *c = NULL;
    int ranks[64], n = 0;
    for (int r = size - 1; r >= 0; r--) /* all, in reverse */
        ranks[n++] = r;
    OK(reactant_mpi_comm_create(comm, n, ranks, &c));
    check_child(__LINE__, c, n, ranks);
    OK(reactant_mpi_comm_free(c));
    /* the members only: rank 0 stays away (with one rank it is all there is) */
    n = 0;
    for (int r = size > 1 ? 1 : 0; r < size; r++)
        ranks[n++] = r;
    if (rank == 0 && size > 1) {
        FAILS(REACTANT_MPI_ERR_ARGUMENT, "comm_create", reactant_mpi_comm_create(comm, n, ranks, &c));
    } else {
        OK(reactant_mpi_comm_create(comm, n, ranks, &c));
        check_child(__LINE__, c, n, ranks);
        OK(reactant_mpi_comm_free(c));
    }
    OK(reactant_mpi_barrier(comm)); /* rank 0's messages are not in the way of the others' */
    ranks[0] = rank;
    OK(reactant_mpi_comm_create(comm, 1, ranks, &c));
    check_child(__LINE__, c, 1, ranks);
    OK(reactant_mpi_comm_free(c));
    ranks[1] = size;
    FAILS(REACTANT_MPI_ERR_RANK, "comm_create", reactant_mpi_comm_create(comm, 2, ranks, &c));
    ranks[1] = -1;
    FAILS(REACTANT_MPI_ERR_RANK, "comm_create", reactant_mpi_comm_create(comm, 2, ranks, &c));
    ranks[1] = rank;
    FAILS(REACTANT_MPI_ERR_RANK, "comm_create", reactant_mpi_comm_create(comm, 2, ranks, &c));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "comm_create", reactant_mpi_comm_create(comm, 0, ranks, &c));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "comm_create", reactant_mpi_comm_create(comm, -1, ranks, &c));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "comm_create", reactant_mpi_comm_create(comm, 1, NULL, &c));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "comm_create", reactant_mpi_comm_create(comm, 1, ranks, NULL));
    FAILS(REACTANT_MPI_ERR_COMM, "comm_create", reactant_mpi_comm_create((reactant_mpi_comm *)&n, 1, ranks, &c));
    DEVICE_ALIVE(comm);
    ALIVE(comm);
}

/* A host communicator gives host communicators. */
static void test_host_children(void)
{
    reactant_mpi_options o = REACTANT_MPI_OPTIONS_INIT;
    reactant_mpi_comm *parent = NULL, *c = NULL;
    hword h = host_dup(host.world);
    int me = rank;
    o.gpu = REACTANT_MPI_GPU_OFF;
    OK(reactant_mpi_initialize_with((uintptr_t)h, &o, &parent));
    OK(reactant_mpi_comm_split(parent, rank % 2, 0, &c));
    CHECK(reactant_mpi_device(c) == -1 && reactant_mpi_size(c) == (size + 1 - rank % 2) / 2, "%d", reactant_mpi_size(c));
    ALIVE(c);
    FAILS(REACTANT_MPI_ERR_NO_DEVICE, "barrier_stream", reactant_mpi_barrier_stream(c, stream));
    OK(reactant_mpi_finalize(parent));
    ALIVE(c);
    OK(reactant_mpi_comm_free(c));
    OK(reactant_mpi_comm_create(comm, 1, &me, &c));
    OK(reactant_mpi_comm_free(c));
    host_free(&h);
}

static void test_comms(void)
{
    test_split();
    test_create();
    test_host_children();
}

int main(int argc, char **argv)
{
    bool all = argc < 2;
    int device;
    const char *word = getenv("REACTANT_MPI_TEST_FULL");
    full = word && *word && strcmp(word, "0") != 0;
    host_open(RTLD_LOCAL);
    comm = reactant_mpi_initialize(REACTANT_MPI_COMM_WORLD);
    NEED(comm, "initialize: %d %s", reactant_mpi_last_error_code(), reactant_mpi_last_error());
    check_rank = rank = reactant_mpi_rank(comm);
    size = reactant_mpi_size(comm);
    device = reactant_mpi_device(comm);
    NEED(device >= 0, "a device; look at reactant_mpi_describe");
    gpu_look();
    gpu_enter(device);
    version = gpu_nccl_version();
    stream = gpu_stream();
    buffers_make();
    for (int i = all ? 0 : 1; i < argc; i++) {
        if (all || !strcmp(argv[i], "calls"))
            test_calls();
        if (all || !strcmp(argv[i], "comms"))
            test_comms();
        if (all || !strcmp(argv[i], "data")) {
            test_refused_pairs();
            test_data();
        }
    }
    DEVICE_ALIVE(comm);
    buffers_end();
    gpu_stream_end(stream);
    gpu_leave();
    OK(reactant_mpi_finalize(NULL));
    CHECK(gpu_live_comms() <= 0, "%d NCCL communicators live on", gpu_live_comms());
    CHECK(gpu_context_refs(device) <= 0, "the device's context is held %d times", gpu_context_refs(device));
    CHECK(gpu_bytes_live() <= 0, "%ld bytes of device memory are left", gpu_bytes_live());
    return check_done(rank);
}
