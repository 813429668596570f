/*
 * Reductions of IEEE half precision and bfloat16. Every value is computed in f32 and rounded once to nearest even; subnormals are
 * kept, what is too large becomes infinity. A NaN on either side gives a quiet NaN, in MIN and MAX too, and -0 is less than +0:
 * nothing but the payload of a NaN depends on the order. Any alignment of 2 will do; nothing beyond n elements is read or written.
 */
#ifndef RMPI_HALF_H
#define RMPI_HALF_H

#include <stddef.h>

#pragma GCC visibility push(hidden)

enum rmpi_half { RMPI_HALF_F16, RMPI_HALF_BF16, RMPI_HALVES };
enum rmpi_half_op { RMPI_HALF_SUM, RMPI_HALF_MIN, RMPI_HALF_MAX, RMPI_HALF_PROD, RMPI_HALF_OPS };

/* inout[i] = in[i] op inout[i]; the two do not overlap. */
void rmpi_half_reduce(enum rmpi_half type, enum rmpi_half_op op, const void *in, void *inout, size_t n);
void rmpi_half_to_f32(enum rmpi_half type, const void *in, float *out, size_t n);
void rmpi_half_from_f32(enum rmpi_half type, const float *in, void *out, size_t n);
void rmpi_half_divide(enum rmpi_half type, void *inout, size_t n, float by);

/* What this machine runs: "avx512", "avx2", "neon" or "scalar". */
const char *rmpi_half_kernels(void);

#pragma GCC visibility pop

#endif
