/*
 * Element types and operations for the C tests: values to send, and what a reduction of them is, in plain C integers and doubles
 * that are exact in every type tested.
 */
#ifndef TYPES_H
#define TYPES_H

#include "half.h"

#include <stdbool.h>
#include <string.h>

enum kind { SIGNED, UNSIGNED, FLOATING, COMPLEX, BOOLEAN, BITS, HALF, MOVED };

struct type {
    const char *name;
    int value;
    size_t size;
    enum kind kind;
};

static const struct type types[] = {
    {"int8", REACTANT_MPI_INT8, 1, SIGNED},
    {"uint8", REACTANT_MPI_UINT8, 1, UNSIGNED},
    {"int16", REACTANT_MPI_INT16, 2, SIGNED},
    {"uint16", REACTANT_MPI_UINT16, 2, UNSIGNED},
    {"int32", REACTANT_MPI_INT32, 4, SIGNED},
    {"uint32", REACTANT_MPI_UINT32, 4, UNSIGNED},
    {"int64", REACTANT_MPI_INT64, 8, SIGNED},
    {"uint64", REACTANT_MPI_UINT64, 8, UNSIGNED},
    {"float32", REACTANT_MPI_FLOAT32, 4, FLOATING},
    {"float64", REACTANT_MPI_FLOAT64, 8, FLOATING},
    {"complex64", REACTANT_MPI_COMPLEX64, 8, COMPLEX},
    {"complex128", REACTANT_MPI_COMPLEX128, 16, COMPLEX},
    {"bool", REACTANT_MPI_BOOL, 1, BOOLEAN},
    {"byte", REACTANT_MPI_BYTE, 1, BITS},
    {"float16", REACTANT_MPI_FLOAT16, 2, HALF},
    {"bfloat16", REACTANT_MPI_BFLOAT16, 2, HALF},
    {"float8_e4m3fn", REACTANT_MPI_FLOAT8_E4M3FN, 1, MOVED},
    {"float8_e5m2", REACTANT_MPI_FLOAT8_E5M2, 1, MOVED},
};
enum { N_TYPES = sizeof types / sizeof types[0], N_STANDARD = N_TYPES - 4 /* those that MPI has */ };

struct op {
    const char *name;
    int value;
};

static const struct op ops[] = {
    {"sum", REACTANT_MPI_SUM},   {"min", REACTANT_MPI_MIN},   {"max", REACTANT_MPI_MAX},   {"prod", REACTANT_MPI_PROD},
    {"band", REACTANT_MPI_BAND}, {"bor", REACTANT_MPI_BOR},   {"bxor", REACTANT_MPI_BXOR}, {"land", REACTANT_MPI_LAND},
    {"lor", REACTANT_MPI_LOR},   {"lxor", REACTANT_MPI_LXOR}, {"avg", REACTANT_MPI_AVG},
};
enum { N_OPS = sizeof ops / sizeof ops[0] };

/* The table of the header's comment, written out again. */
__attribute__((unused)) static bool legal(const struct type *t, int op)
{
    bool arithmetic = op == REACTANT_MPI_SUM || op == REACTANT_MPI_PROD;
    bool order = op == REACTANT_MPI_MIN || op == REACTANT_MPI_MAX;
    bool bits = op == REACTANT_MPI_BAND || op == REACTANT_MPI_BOR || op == REACTANT_MPI_BXOR;
    bool average = op == REACTANT_MPI_AVG;
    bool logic = op == REACTANT_MPI_LAND || op == REACTANT_MPI_LOR || op == REACTANT_MPI_LXOR;
    switch (t->kind) {
    case SIGNED:
    case UNSIGNED: return arithmetic || order || bits || logic;
    case FLOATING:
    case HALF: return arithmetic || order || average;
    case COMPLEX: return arithmetic || average;
    case BOOLEAN: return logic || order;
    case BITS: return bits;
    case MOVED: break;
    }
    return false;
}

/* One element: integers as 64 bits (sign-extended where the type is signed), the others as two doubles; a 16-bit float as both. */
struct element {
    uint64_t bits;
    double re, im;
};

__attribute__((unused)) static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Keep what fits the type: cut, and extend the sign again. */
__attribute__((unused)) static uint64_t fit(const struct type *t, uint64_t x)
{
    unsigned unused = 64 - 8 * (unsigned)(t->size < 8 ? t->size : 8);
    if (t->kind == SIGNED)
        return (uint64_t)((int64_t)(x << unused) >> unused);
    return x << unused >> unused;
}

/*
 * Element i of what a rank sends. SUM and PROD stay inside every type up to 8 ranks (no overflow of a signed type anywhere); MIN,
 * MAX and the bit operations use all bits, so that a signed type taken for an unsigned one shows. op 0: data only moves.
 */
__attribute__((unused)) static struct element sent(const struct type *t, int op, unsigned seed, int rank, size_t i)
{
    uint64_t h = mix(mix((uint64_t)seed * 1000003 + (uint64_t)rank) ^ (uint64_t)i);
    struct element e = {0, 0, 0};
    switch (t->kind) {
    case SIGNED:
    case UNSIGNED:
        if (op == REACTANT_MPI_PROD) {
            e.bits =
                t->kind == SIGNED && (h & 4) ? (uint64_t)-(int64_t)(h % 2 + 1) : h % 2 + 1; /* 2^7 at most for int8 at 7 ranks */
            if (t->size == 1 && rank >= 6)
                e.bits = 1;
        } else if (op == REACTANT_MPI_SUM) {
            e.bits = fit(t, h);
            e.bits = t->kind == SIGNED ? (uint64_t)((int64_t)e.bits / 8) : e.bits / 8;
        } else if (op == REACTANT_MPI_LAND || op == REACTANT_MPI_LOR || op == REACTANT_MPI_LXOR) {
            e.bits = h & 8 ? 0 : fit(t, h | 16); /* any non-zero value is true */
        } else {
            e.bits = fit(t, h);
        }
        break;
    case FLOATING:
    case COMPLEX: /* small integers: sums and products are exact in float32 */
        e.re = (double)(h % 5) - 2;
        e.im = t->kind == COMPLEX ? (double)(h / 5 % 5) - 2 : 0;
        if (op != REACTANT_MPI_PROD) {
            e.re = (double)(h % 100000) / 4 - 9999;
            e.im = t->kind == COMPLEX ? (double)(h / 100000 % 100000) / 4 - 9999 : 0;
        }
        break;
    case BOOLEAN: e.bits = h & 1; break;
    case BITS:
    case MOVED: e.bits = h & 0xff; break;
    case HALF: /* moved: any bits; reduced: small integers, exact in both */
        e.re = (double)(h % (op == REACTANT_MPI_PROD ? 5 : 61)) - (op == REACTANT_MPI_PROD ? 2 : 30);
        e.bits = op == 0 ? h & 0xffff : half_nearest(t->value, e.re);
        break;
    }
    return e;
}

/* a op b, in exact arithmetic. */
__attribute__((unused)) static struct element fold(const struct type *t, int op, struct element a, struct element b)
{
    struct element r = {0, 0, 0};
    bool less = t->kind == FLOATING || t->kind == HALF ? a.re < b.re
                : t->kind == SIGNED                    ? (int64_t)a.bits < (int64_t)b.bits
                                                       : a.bits < b.bits;
    switch (op) {
    case REACTANT_MPI_AVG: /* divided at the end, by average() */
    case REACTANT_MPI_SUM: r.bits = fit(t, a.bits + b.bits), r.re = a.re + b.re, r.im = a.im + b.im; break;
    case REACTANT_MPI_PROD:
        r.bits = fit(t, a.bits * b.bits), r.re = a.re * b.re;
        if (t->kind == COMPLEX)
            r.re -= a.im * b.im, r.im = a.re * b.im + a.im * b.re;
        break;
    case REACTANT_MPI_MIN: r = less ? a : b; break;
    case REACTANT_MPI_MAX: r = less ? b : a; break;
    case REACTANT_MPI_BAND: r.bits = a.bits & b.bits; break;
    case REACTANT_MPI_BOR: r.bits = a.bits | b.bits; break;
    case REACTANT_MPI_BXOR: r.bits = a.bits ^ b.bits; break;
    case REACTANT_MPI_LAND: r.bits = a.bits && b.bits; break;
    case REACTANT_MPI_LOR: r.bits = a.bits || b.bits; break;
    case REACTANT_MPI_LXOR: r.bits = !a.bits != !b.bits; break;
    default: break;
    }
    if (t->kind == HALF)
        r.bits = half_nearest(t->value, r.re);
    return r;
}

/* The sum of n ranks, divided: once rounded in every type. */
__attribute__((unused)) static struct element average(const struct type *t, struct element sum, int n)
{
    struct element r = {0, sum.re / n, sum.im / n};
    if (t->kind == HALF)
        r.bits = half_nearest(t->value, r.re);
    return r;
}

/* Store an element at index i. The kinds with bits are little-endian prefixes of the 64-bit word. */
__attribute__((unused)) static void put(const struct type *t, void *base, size_t i, struct element e)
{
    char *p = (char *)base + i * t->size;
    float f[2] = {(float)e.re, (float)e.im};
    double d[2] = {e.re, e.im};
    if (t->kind == FLOATING || t->kind == COMPLEX) {
        bool single = t->value == REACTANT_MPI_FLOAT32 || t->value == REACTANT_MPI_COMPLEX64;
        memcpy(p, single ? (void *)f : (void *)d, t->size);
    } else {
        memcpy(p, &e.bits, t->size);
    }
}

/* Equal as numbers (-0 equals 0). */
__attribute__((unused)) static bool same(const struct type *t, const void *base, size_t i, struct element e)
{
    const char *p = (const char *)base + i * t->size;
    if (t->kind == FLOATING || t->kind == COMPLEX) {
        float f[2] = {0, 0};
        double d[2] = {0, 0};
        bool single = t->value == REACTANT_MPI_FLOAT32 || t->value == REACTANT_MPI_COMPLEX64;
        memcpy(single ? (void *)f : (void *)d, p, t->size);
        return single ? f[0] == (float)e.re && f[1] == (float)e.im : d[0] == e.re && d[1] == e.im;
    }
    uint64_t x = 0;
    memcpy(&x, p, t->size);
    return x == (e.bits & (t->size == 8 ? ~(uint64_t)0 : ((uint64_t)1 << 8 * t->size) - 1));
}

#endif
