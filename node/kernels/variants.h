/* The kernels once for each instruction set: loops.inc compiled several times. */
#ifndef RMPI_VARIANTS_H
#define RMPI_VARIANTS_H

#include "half.h"

#pragma GCC visibility push(hidden)

/* What a kernel does: an operation, or one of these. */
enum { RMPI_HALF_TO_F32 = RMPI_HALF_OPS, RMPI_HALF_FROM_F32, RMPI_HALF_DIVIDE, RMPI_HALF_WAYS };

/* All have the same arguments: divide has in == out, and it alone looks at `by`. */
typedef void rmpi_half_fn(const void *in, void *out, size_t n, float by);

struct rmpi_half_variant {
    const char *name;
    rmpi_half_fn *run[RMPI_HALVES][RMPI_HALF_WAYS];
};

extern const struct rmpi_half_variant rmpi_half_scalar, rmpi_half_avx2, rmpi_half_avx512, rmpi_half_neon;

/* Those that this machine can run, best first; NULL after the last. */
const struct rmpi_half_variant *rmpi_half_variant(int i);

#pragma GCC visibility pop

#endif
