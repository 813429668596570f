/*
 * Data of every collective, type and operation against arithmetic of its own: small whole numbers in doubles, and the bytes of a type
 * found by searching all codes for the one that means the number.
 */
#include <math.h>

#include "selftest.h"

enum { COUNT = 37, LARGE = 200003, TAIL = 16 };
enum { F16 = 6, F32, F64, BF16, E4M3, E5M2 };
enum { SUM, PROD, MAX, MIN, AVG, PREMUL };

static const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

static double meaning(unsigned code, int exponent_bits, int mantissa_bits, bool no_infinity)
{
    int bias = (1 << (exponent_bits - 1)) - 1, e = (int)(code >> mantissa_bits) & ((1 << exponent_bits) - 1);
    int m = (int)(code & ((1u << mantissa_bits) - 1));
    double sign = code >> (exponent_bits + mantissa_bits) & 1 ? -1 : 1;
    if (e == (1 << exponent_bits) - 1 && (!no_infinity || m == (1 << mantissa_bits) - 1))
        return m && !(no_infinity && e < 15) ? NAN : sign * INFINITY;
    return e ? sign * ldexp(1 + (double)m / (1 << mantissa_bits), e - bias) : sign * ldexp((double)m / (1 << mantissa_bits), 1 - bias);
}

static unsigned small(double x, int type)
{
    static const struct { int e, m; } shape[] = {[F16] = {5, 10}, [BF16] = {8, 7}, [E4M3] = {4, 3}, [E5M2] = {5, 2}};
    for (unsigned code = 0; code < (sizes[type] == 2 ? 65536u : 256u); code++) {
        double means = meaning(code, shape[type].e, shape[type].m, type == E4M3);
        if (means == x && signbit(means) == signbit(x))
            return code;
    }
    failed(__FILE__, __LINE__, "the test wants a number that the type has not");
}

static void write_number(void *at, size_t i, int type, double x)
{
    static unsigned codes[4][128]; /* by type and x + 64, one more than the code */
    static const int which[] = {[F16] = 0, [BF16] = 1, [E4M3] = 2, [E5M2] = 3};
    switch (type) {
    case 0: ((int8_t *)at)[i] = (int8_t)x; return;
    case 1: ((uint8_t *)at)[i] = (uint8_t)x; return;
    case 2: ((int32_t *)at)[i] = (int32_t)x; return;
    case 3: ((uint32_t *)at)[i] = (uint32_t)x; return;
    case 4: ((int64_t *)at)[i] = (int64_t)x; return;
    case 5: ((uint64_t *)at)[i] = (uint64_t)x; return;
    case F32: ((float *)at)[i] = (float)x; return;
    case F64: ((double *)at)[i] = x; return;
    default: break;
    }
    unsigned *code = &codes[which[type]][(int)x + 64];
    if (!*code)
        *code = small(x, type) + 1;
    if (sizes[type] == 2)
        ((uint16_t *)at)[i] = (uint16_t)(*code - 1);
    else
        ((uint8_t *)at)[i] = (uint8_t)(*code - 1);
}

static bool is_signed(int type)
{
    return type == 0 || type == 2 || type == 4 || type >= F16;
}

/* What rank r has at place i. Everything that comes of it is exact in every type (whole numbers to 16). */
static double input(int r, size_t i, int type, int op)
{
    int k = (int)((i * 7 + (size_t)r * 3) % 4);
    switch (op) {
    case PROD: return (k < 2 ? 1 : 2) * (r == 1 && is_signed(type) ? -1 : 1);
    case AVG: return nranks * (k % 3);
    case PREMUL: return k % 2;
    default: return is_signed(type) ? k - 1 : k;
    }
}

static double factor(int r)
{
    return 1 + r % 2;
}

static double reduced(size_t i, int type, int op)
{
    double x = input(0, i, type, op) * (op == PREMUL ? factor(0) : 1);
    for (int r = 1; r < nranks; r++) {
        double y = input(r, i, type, op) * (op == PREMUL ? factor(r) : 1);
        x = op == PROD ? x * y : op == MAX ? fmax(x, y) : op == MIN ? fmin(x, y) : x + y;
    }
    return op == AVG ? x / nranks : x;
}

static struct {
    void *comm, *stream;
    uint64_t a, b;
    char *host, *want, *got;
    size_t room;
} t;

static void fill(uint64_t at, size_t first, size_t n, int type, int op)
{
    for (size_t i = 0; i < n; i++)
        write_number(t.host, i, type, input(rank, first + i, type, op));
    to_device(at, t.host, n * sizes[type]);
}

static void compare(uint64_t at, size_t n, int type)
{
    size_t bytes = n * sizes[type];
    EQUAL(sync_stream(t.stream), 0);
    from_device(t.got, at, bytes + TAIL);
    memset(t.want + bytes, 0x5a, TAIL);
    CHECK(memcmp(t.got, t.want, bytes + TAIL) == 0);
}

static void clear(uint64_t at, size_t n, int type)
{
    memset(t.got, 0x5a, n * sizes[type] + TAIL);
    to_device(at, t.got, n * sizes[type] + TAIL);
}

static int handle(int type, int op, uint64_t scalar)
{
    char number[8];
    int made = op;
    if (op != PREMUL)
        return op;
    write_number(number, 0, type, factor(rank));
    if (scalar)
        to_device(scalar, number, sizes[type]);
    EQUAL(N(ncclRedOpCreatePreMulSum)(&made, scalar ? (void *)(uintptr_t)scalar : (void *)number, type, scalar ? 0 : 1, t.comm), 0);
    CHECK(made >= 5);
    memset(number, 0, sizeof number);
    return made;
}

static void reductions(int type, int op, size_t count, bool in_place)
{
    size_t n = (size_t)nranks;
    int root = (type + op) % nranks, made = handle(type, op, in_place ? t.b + t.room - 64 : 0);
    uint64_t to = in_place ? t.a : t.b;
    clear(to, count, type);
    fill(t.a, 0, count, type, op);
    EQUAL(N(ncclAllReduce)(t.a, to, count, type, made, t.comm, t.stream), 0);
    for (size_t i = 0; i < count; i++)
        write_number(t.want, i, type, reduced(i, type, op));
    compare(to, count, type);

    clear(to, count, type);
    fill(t.a, 0, count, type, op);
    EQUAL(N(ncclReduce)(t.a, to, count, type, made, root, t.comm, t.stream), 0);
    if (rank != root) {
        memset(t.want, 0x5a, count * sizes[type]);
        if (in_place)
            memcpy(t.want, t.host, count * sizes[type]);
    }
    compare(to, count, type);

    if (in_place)
        clear(t.a, n * count, type);
    to = in_place ? t.a + (size_t)rank * count * sizes[type] : t.b;
    clear(t.b, count, type);
    fill(t.a, 0, n * count, type, op);
    EQUAL(N(ncclReduceScatter)(t.a, to, count, type, made, t.comm, t.stream), 0);
    for (size_t i = 0; i < count; i++)
        write_number(t.want, i, type, reduced((size_t)rank * count + i, type, op));
    EQUAL(sync_stream(t.stream), 0);
    from_device(t.got, to, count * sizes[type]);
    CHECK(memcmp(t.got, t.want, count * sizes[type]) == 0);
    if (op == PREMUL)
        EQUAL(N(ncclRedOpDestroy)(made, t.comm), 0);
}

/* ncclAlltoAll under the name that the library has. */
static function all_to_all(void)
{
    return strcmp(variant, "rccl") == 0 ? N(ncclAllToAll) : N(ncclAlltoAll);
}

static void movements(int type, size_t count, bool in_place)
{
    size_t n = (size_t)nranks, size = sizes[type];
    int root = type % nranks;
    uint64_t from = in_place ? t.b + (size_t)rank * count * size : t.a;
    clear(t.b, n * count, type);
    fill(from, 0, count, type, SUM);
    EQUAL(N(ncclAllGather)(from, t.b, count, type, t.comm, t.stream), 0);
    for (size_t r = 0; r < n; r++)
        for (size_t i = 0; i < count; i++)
            write_number(t.want, r * count + i, type, input((int)r, i, type, SUM));
    compare(t.b, n * count, type);

    uint64_t to = in_place ? t.a : t.b;
    clear(to, count, type);
    fill(t.a, 0, count, type, SUM);
    EQUAL(in_place ? N(ncclBcast)(t.a, count, type, root, t.comm, t.stream)
                   : N(ncclBroadcast)(t.a, t.b, count, type, root, t.comm, t.stream), 0);
    for (size_t i = 0; i < count; i++)
        write_number(t.want, i, type, input(root, i, type, SUM));
    compare(to, count, type);

    /* everybody to everybody by messages: an earlier and a later part */
    size_t half = count / 2;
    clear(t.b, n * count, type);
    fill(t.a, 0, n * count, type, SUM);
    EQUAL(N(ncclGroupStart)(), 0);
    for (int r = 0; r < nranks; r++) {
        uint64_t block = (size_t)r * count * size;
        EQUAL(N(ncclSend)(t.a + block, half, type, r, t.comm, t.stream), 0);
        EQUAL(N(ncclRecv)(t.b + block, half, type, r, t.comm, t.stream), 0);
        EQUAL(N(ncclRecv)(t.b + block + half * size, count - half, type, r, t.comm, t.stream), 0);
        EQUAL(N(ncclSend)(t.a + block + half * size, count - half, type, r, t.comm, t.stream), 0);
    }
    EQUAL(N(ncclGroupEnd)(), 0);
    for (size_t r = 0; r < n; r++)
        for (size_t i = 0; i < count; i++)
            write_number(t.want, r * count + i, type, input((int)r, (size_t)rank * count + i, type, SUM));
    compare(t.b, n * count, type);

    if (strcmp(variant, "nccl218") == 0 || strcmp(variant, "nccl222") == 0)
        return;
    clear(t.b, n * count, type);
    EQUAL(all_to_all()(t.a, t.b, count, type, t.comm, t.stream), 0);
    compare(t.b, n * count, type);
    if (nranks > 1)
        EQUAL(all_to_all()(t.a, t.a, count, type, t.comm, t.stream), 4);

    clear(t.b, n * count, type);
    from = in_place ? t.b + (size_t)rank * count * size : t.a;
    fill(from, 0, count, type, SUM);
    EQUAL(N(ncclGather)(from, t.b, count, type, root, t.comm, t.stream), 0);
    EQUAL(sync_stream(t.stream), 0);
    if (rank == root) {
        for (size_t r = 0; r < n; r++)
            for (size_t i = 0; i < count; i++)
                write_number(t.want, r * count + i, type, input((int)r, i, type, SUM));
        compare(t.b, n * count, type);
    }

    if (in_place)
        clear(t.a, n * count, type);
    clear(t.b, count, type);
    fill(t.a, 0, n * count, type, SUM);
    to = in_place && rank == root ? t.a + (size_t)rank * count * size : t.b;
    EQUAL(N(ncclScatter)(t.a, to, count, type, root, t.comm, t.stream), 0);
    for (size_t i = 0; i < count; i++)
        write_number(t.want, i, type, input(root, (size_t)rank * count + i, type, SUM));
    EQUAL(sync_stream(t.stream), 0);
    from_device(t.got, to, count * size);
    CHECK(memcmp(t.got, t.want, count * size) == 0);
}

/* To rank r go r + 1 elements, so each gets rank + 1 of everybody. */
static void all_to_all_v(void)
{
    size_t counts[16], displs[16], recv_counts[16], recv_displs[16], at = 0;
    for (int r = 0; r < nranks; r++) {
        counts[r] = (size_t)r + 1, displs[r] = at, at += counts[r];
        recv_counts[r] = (size_t)rank + 1, recv_displs[r] = (size_t)r * recv_counts[r];
    }
    clear(t.b, (size_t)nranks * recv_counts[0], F32);
    fill(t.a, 0, at, F32, SUM);
    EQUAL(N(ncclAllToAllv)(t.a, counts, displs, t.b, recv_counts, recv_displs, F32, t.comm, t.stream), 0);
    for (int r = 0; r < nranks; r++)
        for (size_t i = 0; i < recv_counts[r]; i++)
            write_number(t.want, recv_displs[r] + i, F32, input(r, displs[rank] + i, F32, SUM));
    compare(t.b, (size_t)nranks * recv_counts[0], F32);
}

static void edges(void)
{
    int64_t x[2] = {rank == 0 ? -7 : 0, rank == 0 ? INT64_MAX : 1}, y[2];
    to_device(t.a, x, sizeof x);
    EQUAL(N(ncclAllReduce)(t.a, t.a, (size_t)1, 4, AVG, t.comm, t.stream), 0);
    EQUAL(N(ncclAllReduce)(t.a + 8, t.a + 8, (size_t)1, 4, SUM, t.comm, t.stream), 0);
    EQUAL(sync_stream(t.stream), 0);
    from_device(y, t.a, sizeof y);
    EQUAL(y[0], -7 / nranks); /* towards zero */
    EQUAL(y[1], (int64_t)((uint64_t)INT64_MAX + (uint64_t)nranks - 1));
    EQUAL(N(ncclAllReduce)(NULL, NULL, (size_t)0, F32, SUM, t.comm, t.stream), 0);
    EQUAL(N(ncclAllReduce)(x, x, (size_t)1, 4, SUM, t.comm, t.stream), 4); /* host pointers */
    EQUAL(N(ncclAllReduce)(t.a, t.a, t.room, F64, SUM, t.comm, t.stream), 4);
    EQUAL(N(ncclAllReduce)(t.a, t.a, (size_t)1, 12, SUM, t.comm, t.stream), 4);
    EQUAL(N(ncclAllReduce)(t.a, t.a, (size_t)1, F32, 5, t.comm, t.stream), 4);
    EQUAL(N(ncclReduce)(t.a, t.a, (size_t)1, F32, SUM, nranks, t.comm, t.stream), 4);
    EQUAL(N(ncclAllReduce)(t.a, t.b, (size_t)1, F32, SUM, t.comm, &x), 1); /* no stream */
    bool fp8 = strcmp(variant, "nccl218") != 0 && strcmp(variant, "nccl222") != 0;
    if (!fp8)
        EQUAL(N(ncclAllReduce)(t.a, t.a, (size_t)1, E4M3, SUM, t.comm, t.stream), 4);
}

static void all(void)
{
    int types = strcmp(variant, "nccl218") == 0 || strcmp(variant, "nccl222") == 0 ? E4M3 : E5M2 + 1;
    t.comm = bring_up();
    t.stream = stream_new();
    t.room = ((size_t)nranks * LARGE * 4 + 4096) / 64 * 64;
    t.a = device_new(t.room), t.b = device_new(t.room);
    t.host = malloc(t.room), t.want = malloc(t.room), t.got = malloc(t.room);
    for (int type = 0; type < types; type++) {
        for (int op = SUM; op <= PREMUL; op++)
            for (int in_place = 0; in_place < 2; in_place++)
                reductions(type, op, COUNT, in_place);
        movements(type, COUNT, false);
        movements(type, COUNT, true);
    }
    /* more than a piece at a time */
    reductions(F32, SUM, LARGE, false);
    reductions(F16, MAX, LARGE, true);
    movements(2, LARGE, false);
    if (hip)
        all_to_all_v();
    edges();
    EQUAL(N(ncclCommFinalize)(t.comm), 0);
    EQUAL(N(ncclCommDestroy)(t.comm), 0);
}

void test_data(void)
{
    static const char *const variants[] = {"nccl218", "nccl222", "nccl228", "nccl232", "rccl", "rccl_new"};
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        run("data", all, 4, variants[i], "", -1);
    run("data", all, 1, "nccl228", "", -1);
    run("data", all, 2, "nccl228", "", -1);
}
