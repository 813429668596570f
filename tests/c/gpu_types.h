/*
 * Element types and operations of gpu_collectives: the host tests' (types.h), the 16- and 8-bit floating types, AVG. Values to
 * send, and what a reduction of them is, exact in every type.
 */
#ifndef GPU_TYPES_H
#define GPU_TYPES_H

#include "gpu_shared.h"
#include "types.h"

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
    return i < (int)N_STANDARD ? &types[i] : &smalls[i - (int)N_STANDARD].t;
}
enum { ALL_TYPES = N_STANDARD + N_SMALL };

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

#endif
