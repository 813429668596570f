/*
 * Reductions of float16 and bfloat16 against a model of their own: each pair is combined as two floats and the result rounded to the
 * nearest (half.h); with REACTANT_MPI_HALF=f32 floats are combined, and rounded once at the end. The order is MPI's to choose, so a
 * result must be one of those that some order of the ranks gives (one for 2 ranks, 3 for 3, 15 for 4). NaN, infinities, overflow,
 * subnormals, signed zeros; odd lengths, at even addresses. Prints a hash of all results: the same job gives the same one.
 */
#include "collectives.h"

enum { MOST = 20011, MAX_N = 4 };

static bool once;          /* rounded once */
static uint64_t hash = 14695981039346656037u;
static const int kinds[] = {REACTANT_MPI_FLOAT16, REACTANT_MPI_BFLOAT16};
static const int arithmetic[] = {REACTANT_MPI_SUM, REACTANT_MPI_MIN, REACTANT_MPI_MAX, REACTANT_MPI_PROD, REACTANT_MPI_AVG};
enum { N_ARITHMETIC = sizeof arithmetic / sizeof *arithmetic };

/* What rank r sends: every eighth a special one, half of the rest any pattern, half of them numbers of like size. */
static uint16_t pattern(int type, unsigned seed, int r, size_t i)
{
    const uint64_t h = mix(mix((uint64_t)seed * 1009 + (uint64_t)r) ^ i);
    const unsigned infinity = half_infinity(type), least = 1u << half_format(type).fraction_bits;
    const unsigned nan = infinity + least / 2;
    const unsigned special[] = {0, 0x8000, infinity, infinity | 0x8000, nan, nan + 1, 1, 0x8001, least - 1, least, infinity - 1,
                                (infinity - 1) | 0x8000};
    if (h % 8 == 0)
        return (uint16_t)special[(h >> 8) % (sizeof special / sizeof *special)];
    if (h % 2)
        return (uint16_t)(h >> 16);
    return (uint16_t)(half_nearest(type, 1 + (double)(h >> 40 & 0xffff) / 9000) | (h >> 60 & 1) << 15);
}

static bool is_nan(int type, unsigned bits)
{
    return (bits & 0x7fff) > half_infinity(type);
}

/* In the order of numbers, -0 before 0. */
static bool less(float a, float b)
{
    return a != b ? a < b : signbit(a) && !signbit(b);
}

static float pair(int type, int op, float a, float b)
{
    float r;
    switch (op) {
    case REACTANT_MPI_PROD: r = a * b; break;
    case REACTANT_MPI_MIN: r = a != a || b != b ? NAN : less(a, b) ? a : b; break;
    case REACTANT_MPI_MAX: r = a != a || b != b ? NAN : less(a, b) ? b : a; break;
    default: r = a + b;
    }
    return once ? r : (float)half_value(type, half_nearest(type, r));
}

/* Whether some order of combining n values ends in `got`. */
static bool some_order(int type, int op, const float *x, int n, unsigned got)
{
    if (n == 1) {
        const float r = op == REACTANT_MPI_AVG ? x[0] / (float)size : x[0];
        const unsigned want = half_nearest(type, r);
        return r != r ? is_nan(type, got) : want == got;
    }
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
            float rest[MAX_N];
            int m = 0;
            for (int k = 0; k < n; k++)
                if (k != i && k != j)
                    rest[m++] = x[k];
            rest[m++] = pair(type, op, x[i], x[j]);
            if (some_order(type, op, rest, m, got))
                return true;
        }
    return false;
}

struct result {
    const char *row;
    int type, op;
    unsigned seed;
    size_t from; /* index of the first element in what the ranks sent */
    int first, last; /* the ranks whose values are in it */
};

static void look(const struct result *w, const uint16_t *got, size_t n)
{
    const size_t step = n > 3000 ? 41 : 1;
    check_count++;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ got[i]) * 1099511628211u;
    for (size_t i = 0; i < n; i += step) {
        float x[MAX_N];
        for (int r = w->first; r <= w->last; r++)
            x[r - w->first] = (float)half_value(w->type, pattern(w->type, w->seed, r, w->from + i));
        if (!some_order(w->type, w->op, x, w->last - w->first + 1, got[i])) {
            check_fail(__FILE__, __LINE__, "a result that some order gives", " %s, type 0x%x, op 0x%x, element %zu of %zu: 0x%04x = %g",
                       w->row, w->type, w->op, i, n, got[i], half_value(w->type, got[i]));
            return;
        }
    }
}

/* One type, operation and length, through every row. */
static void reduce_all(int type, int op, size_t n, unsigned seed)
{
    struct buffer sb, rb;
    const size_t whole = n * (size_t)size;
    uint16_t *in = (uint16_t *)((char *)buffer_new(&sb, 2 * whole + 2) + 2);
    uint16_t *out = (uint16_t *)((char *)buffer_new(&rb, 2 * whole + 2) + 2);
    const int last = size - 1;
    const bool average = op == REACTANT_MPI_AVG;
    struct result w = {"allreduce", type, op, seed, 0, 0, last};
    uint16_t *again = malloc(2 * whole + 2);
    size_t counts[MAX_N] = {0}, mine = 0, before = 0;
    NEED(again, "no memory");
    for (size_t i = 0; i < whole; i++)
        in[i] = pattern(type, seed, rank, i);
    OK(reactant_mpi_allreduce(in, out, n, type, op, comm));
    look(&w, out, n);
    OK(reactant_mpi_allreduce(in, again, n, type, op, comm));
    CHECK(memcmp(again, out, 2 * n) == 0, "a second time, other bits");

    w.row = "reduce";
    OK(reactant_mpi_reduce(in, out, n, type, op, last, comm));
    if (rank == last)
        look(&w, out, n);
    w.row = "reduce_scatter", w.from = (size_t)rank * n;
    OK(reactant_mpi_reduce_scatter(in, out, n, type, op, comm));
    look(&w, out, n);
    for (int r = 0; r < size; r++) {
        counts[r] = r % 2 ? n / 2 : n;
        before += r < rank ? counts[r] : 0;
    }
    mine = counts[rank];
    w.row = "reduce_scatterv", w.from = before;
    OK(reactant_mpi_reduce_scatterv(in, out, counts, type, op, comm));
    look(&w, out, mine);
    w.from = 0;
    if (!average) {
        w.row = "scan", w.last = rank;
        OK(reactant_mpi_scan(in, out, n, type, op, comm));
        look(&w, out, n);
        w.row = "exscan", w.last = rank - 1;
        OK(reactant_mpi_exscan(in, out, n, type, op, comm));
        if (rank > 0)
            look(&w, out, n);
    }
    for (size_t i = 0; i < whole; i++)
        if (in[i] != pattern(type, seed, rank, i)) {
            CHECK(0, "the sent data have changed at %zu", i);
            break;
        }
    w.row = "allreduce in place", w.last = last;
    OK(reactant_mpi_allreduce(REACTANT_MPI_IN_PLACE, in, n, type, op, comm));
    look(&w, in, n);
    CHECK(buffer_whole(&sb) && buffer_whole(&rb) && sb.block[GUARD] == 0xa5 && rb.block[GUARD + 1] == 0xa5, "written outside");
    free(again);
    free(sb.block);
    free(rb.block);
}

int main(void)
{
    static const size_t lengths[] = {0, 1, 2, 3, 7, 15, 16, 17, 31, 33, 64, 1001};
    const char *half = getenv("REACTANT_MPI_HALF");
    once = half && !strcmp(half, "f32");
    comm = reactant_mpi_initialize(REACTANT_MPI_COMM_WORLD);
    NEED(comm, "%s", reactant_mpi_last_error());
    check_rank = rank = reactant_mpi_rank(comm);
    size = reactant_mpi_size(comm);
    NEED(size <= MAX_N, "run me at %d ranks at most", MAX_N);
    for (size_t t = 0; t < 2; t++)
        for (size_t o = 0; o < N_ARITHMETIC; o++) {
            for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
                reduce_all(kinds[t], arithmetic[o], lengths[k], (unsigned)k + 1);
            if (o == 0 || o == 4)
                reduce_all(kinds[t], arithmetic[o], MOST, 99);
        }
    uint64_t all = 0;
    OK(reactant_mpi_allreduce(&hash, &all, 1, REACTANT_MPI_UINT64, REACTANT_MPI_BXOR, comm));
    if (rank == 0)
        printf("hash %016llx\n", (unsigned long long)all);
    OK(reactant_mpi_finalize(NULL));
    return check_done(rank);
}
