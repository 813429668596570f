/*
 * The arithmetic of reductions for the doubles of libnccl and librccl: all types, small floating ones by their bits.
 * Not modelled: the order in which a ring or a tree adds (here: rank 0, 1, 2 ..., rounded to the type after each step), NaN rules of
 * the device's min and max (here: as fmin and fmax), the FNUZ forms of 8-bit types that some AMD devices have (here: OCP), ncclAvg's
 * factor rounded to the type (here: 1/n in single or double precision).
 */
#include <math.h>
#include <string.h>

#include "nccl.h"

static const struct format { int exponent, mantissa; } formats[N_TYPES] = {
    [FLOAT16] = {5, 10}, [BFLOAT16] = {8, 7}, [FLOAT8E4M3] = {4, 3}, [FLOAT8E5M2] = {5, 2}};

size_t type_size(int type)
{
    static const unsigned char sizes[N_TYPES] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
    return type >= 0 && type < N_TYPES ? sizes[type] : 0;
}

bool type_floating(int type)
{
    return type >= FLOAT16;
}

static float decode(unsigned bits, int type)
{
    struct format f = formats[type];
    unsigned mantissa = bits & ((1u << f.mantissa) - 1), exponent = bits >> f.mantissa & ((1u << f.exponent) - 1);
    unsigned sign = bits >> (f.mantissa + f.exponent) & 1, top = (1u << f.exponent) - 1, bias = top >> 1, out;
    if (type == FLOAT8E4M3 ? (bits & 0x7f) == 0x7f : exponent == top) {
        out = 0x7f800000 | mantissa << (23 - f.mantissa);
    } else if (exponent) {
        out = (exponent - bias + 127) << 23 | mantissa << (23 - f.mantissa);
    } else if (type == BFLOAT16) {
        out = mantissa << 16; /* subnormal in both */
    } else {
        float small = ldexpf((float)mantissa, 1 - (int)bias - f.mantissa);
        memcpy(&out, &small, 4);
    }
    out |= sign << 31;
    float value;
    memcpy(&value, &out, 4);
    return value;
}

/* To the nearest, ties to even. 8-bit types saturate. */
static unsigned encode(float value, int type)
{
    struct format f = formats[type];
    unsigned bits, top = (1u << f.exponent) - 1;
    memcpy(&bits, &value, 4);
    unsigned sign = bits >> 31 << (f.mantissa + f.exponent), magnitude = bits & 0x7fffffff;
    unsigned infinity = top << f.mantissa, largest = type == FLOAT8E4M3 ? 0x7e : infinity - 1;
    if (magnitude > 0x7f800000)
        return sign | (type == FLOAT8E4M3 ? 0x7f : infinity | 1u << (f.mantissa - 1));
    int exponent = (int)(magnitude >> 23) - 127 + (int)(top >> 1), shift = 23 - f.mantissa;
    uint64_t mantissa = magnitude & 0x7fffff;
    if (magnitude >> 23)
        mantissa |= 0x800000;
    else
        exponent++;
    if (exponent <= 0) {
        shift += 1 - exponent;
        exponent = 1;
    }
    uint64_t rounded = 0;
    if (shift < 40) {
        uint64_t half = 1ull << (shift - 1), rest = mantissa & (2 * half - 1);
        rounded = mantissa >> shift;
        rounded += rest > half || (rest == half && (rounded & 1));
    }
    uint64_t out = ((uint64_t)(exponent - 1) << f.mantissa) + rounded;
    if (out > largest)
        out = type == FLOAT8E4M3 || type == FLOAT8E5M2 ? largest : infinity;
    return sign | (unsigned)out;
}

static float load(const void *from, size_t i, int type)
{
    return decode(type_size(type) == 2 ? ((const uint16_t *)from)[i] : ((const uint8_t *)from)[i], type);
}

static void store(void *to, size_t i, int type, float value)
{
    if (type_size(type) == 2)
        ((uint16_t *)to)[i] = (uint16_t)encode(value, type);
    else
        ((uint8_t *)to)[i] = (uint8_t)encode(value, type);
}

/* sums: the type in which sum and product are formed, so that integers wrap around. */
#define INTEGERS(name, T, sums)                                                                                                    \
    static void into_##name(T *to, const T *from, size_t n, int op)                                                                \
    {                                                                                                                              \
        for (size_t i = 0; i < n; i++)                                                                                             \
            to[i] = op == PROD  ? (T)((sums)to[i] * (sums)from[i])                                                                 \
                    : op == MAX ? (to[i] > from[i] ? to[i] : from[i])                                                              \
                    : op == MIN ? (to[i] < from[i] ? to[i] : from[i])                                                              \
                                : (T)((sums)to[i] + (sums)from[i]);                                                                \
    }                                                                                                                              \
    static void scale_##name(T *to, const T *from, size_t n, T by)                                                                 \
    {                                                                                                                              \
        for (size_t i = 0; i < n; i++)                                                                                             \
            to[i] = (T)((sums)from[i] * (sums)by);                                                                                 \
    }                                                                                                                              \
    static void divide_##name(T *to, size_t n, T by)                                                                               \
    {                                                                                                                              \
        for (size_t i = 0; i < n; i++)                                                                                             \
            to[i] = (T)(to[i] / by);                                                                                               \
    }
#define FLOATS(name, T, smaller, larger)                                                                                           \
    static T pair_##name(T a, T b, int op)                                                                                         \
    {                                                                                                                              \
        return op == PROD ? a * b : op == MAX ? larger(a, b) : op == MIN ? smaller(a, b) : a + b;                                  \
    }                                                                                                                              \
    static void into_##name(T *to, const T *from, size_t n, int op)                                                                \
    {                                                                                                                              \
        for (size_t i = 0; i < n; i++)                                                                                             \
            to[i] = pair_##name(to[i], from[i], op);                                                                               \
    }                                                                                                                              \
    static void scale_##name(T *to, const T *from, size_t n, T by)                                                                 \
    {                                                                                                                              \
        for (size_t i = 0; i < n; i++)                                                                                             \
            to[i] = from[i] * by;                                                                                                  \
    }

INTEGERS(i8, int8_t, uint32_t)
INTEGERS(u8, uint8_t, uint32_t)
INTEGERS(i32, int32_t, uint32_t)
INTEGERS(u32, uint32_t, uint32_t)
INTEGERS(i64, int64_t, uint64_t)
INTEGERS(u64, uint64_t, uint64_t)
FLOATS(f32, float, fminf, fmaxf)
FLOATS(f64, double, fmin, fmax)

#define EACH(type, what)                                                                                                           \
    switch (type) {                                                                                                                \
    case INT8: what(i8, int8_t); return;                                                                                           \
    case UINT8: what(u8, uint8_t); return;                                                                                         \
    case INT32: what(i32, int32_t); return;                                                                                        \
    case UINT32: what(u32, uint32_t); return;                                                                                      \
    case INT64: what(i64, int64_t); return;                                                                                        \
    case UINT64: what(u64, uint64_t); return;                                                                                      \
    default: break;                                                                                                                \
    }

void reduce_into(void *to, const void *from, size_t n, int type, int op)
{
#define INTO(name, T) into_##name(to, from, n, op)
    EACH(type, INTO)
    if (type == FLOAT32)
        into_f32(to, from, n, op);
    else if (type == FLOAT64)
        into_f64(to, from, n, op);
    else
        for (size_t i = 0; i < n; i++)
            store(to, i, type, pair_f32(load(to, i, type), load(from, i, type), op));
}

void reduce_scale(void *to, const void *from, size_t n, int type, const void *scalar)
{
#define SCALE(name, T) scale_##name(to, from, n, *(const T *)scalar)
    EACH(type, SCALE)
    if (type == FLOAT32)
        SCALE(f32, float);
    else if (type == FLOAT64)
        SCALE(f64, double);
    else
        for (size_t i = 0; i < n; i++)
            store(to, i, type, load(from, i, type) * load(scalar, 0, type));
}

void reduce_average_scale(void *to, const void *from, size_t n, int type, int ranks)
{
    if (type == FLOAT32)
        scale_f32(to, from, n, 1.0f / (float)ranks);
    else if (type == FLOAT64)
        scale_f64(to, from, n, 1.0 / ranks);
    else
        for (size_t i = 0; i < n; i++)
            store(to, i, type, load(from, i, type) * (1.0f / (float)ranks));
}

void reduce_divide(void *to, size_t n, int type, int by)
{
#define DIVIDE(name, T) divide_##name(to, n, (T)by)
    EACH(type, DIVIDE)
}
