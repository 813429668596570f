/*
 * 16-bit floats for the C tests: what a pattern is worth, and the pattern nearest to a number, found by search. Slow, and by other
 * means than the library's.
 */
#ifndef HALF_H
#define HALF_H

#include <reactant_mpi.h>

#include <math.h>
#include <stdint.h>

struct half_format {
    int exponent_bits, fraction_bits;
};

__attribute__((unused)) static struct half_format half_format(int type)
{
    return type == REACTANT_MPI_FLOAT16 ? (struct half_format){5, 10} : (struct half_format){8, 7};
}

/* The magnitude of a pattern as if there were no infinity: its pattern stands for the power of two after the largest number. */
__attribute__((unused)) static double half_magnitude(int type, unsigned bits)
{
    const struct half_format f = half_format(type);
    const int bias = (1 << (f.exponent_bits - 1)) - 1, fraction = (int)(bits & ((1u << f.fraction_bits) - 1));
    const int exponent = (int)((bits & 0x7fff) >> f.fraction_bits);
    if (exponent == 0)
        return ldexp(fraction, 1 - bias - f.fraction_bits);
    return ldexp((1 << f.fraction_bits) + fraction, exponent - bias - f.fraction_bits);
}

__attribute__((unused)) static unsigned half_infinity(int type)
{
    const struct half_format f = half_format(type);
    return ((1u << f.exponent_bits) - 1) << f.fraction_bits;
}

__attribute__((unused)) static double half_value(int type, unsigned bits)
{
    const unsigned infinity = half_infinity(type), size = bits & 0x7fff;
    const double magnitude = size > infinity ? NAN : size == infinity ? INFINITY : half_magnitude(type, size);
    return bits & 0x8000 ? -magnitude : magnitude;
}

/* To nearest, ties to the even pattern. A NaN gives one of many. */
__attribute__((unused)) static unsigned half_nearest(int type, double x)
{
    const unsigned infinity = half_infinity(type), sign = signbit(x) ? 0x8000 : 0;
    unsigned low = 0, high = infinity;
    if (x != x)
        return infinity + 1;
    x = fabs(x);
    if (x >= half_magnitude(type, infinity))
        return sign | infinity;
    while (high - low > 1) { /* low's magnitude <= x < high's */
        const unsigned middle = (low + high) / 2;
        if (half_magnitude(type, middle) <= x)
            low = middle;
        else
            high = middle;
    }
    const double below = x - half_magnitude(type, low), above = half_magnitude(type, high) - x;
    return sign | (below < above || (below == above && low % 2 == 0) ? low : high);
}

#endif
