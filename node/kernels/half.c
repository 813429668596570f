#include "variants.h"

const struct rmpi_half_variant *rmpi_half_variant(int i)
{
    const struct rmpi_half_variant *runs[3];
    int n = 0;
#if defined __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw"))
        runs[n++] = &rmpi_half_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c"))
        runs[n++] = &rmpi_half_avx2;
#elif defined __aarch64__
    runs[n++] = &rmpi_half_neon; /* every such processor has it */
#endif
    runs[n++] = &rmpi_half_scalar;
    return i < n ? runs[i] : NULL;
}

/* Chosen at the first call. Threads that come at once choose the same. */
static const struct rmpi_half_variant *best(void)
{
    static const struct rmpi_half_variant *chosen;
    const struct rmpi_half_variant *v = __atomic_load_n(&chosen, __ATOMIC_RELAXED);
    if (__builtin_expect(!v, 0)) {
        v = rmpi_half_variant(0);
        __atomic_store_n(&chosen, v, __ATOMIC_RELAXED);
    }
    return v;
}

void rmpi_half_reduce(enum rmpi_half type, enum rmpi_half_op op, const void *in, void *inout, size_t n)
{
    best()->run[type][op](in, inout, n, 0);
}

void rmpi_half_to_f32(enum rmpi_half type, const void *in, float *out, size_t n)
{
    best()->run[type][RMPI_HALF_TO_F32](in, out, n, 0);
}

void rmpi_half_from_f32(enum rmpi_half type, const float *in, void *out, size_t n)
{
    best()->run[type][RMPI_HALF_FROM_F32](in, out, n, 0);
}

void rmpi_half_divide(enum rmpi_half type, void *inout, size_t n, float by)
{
    best()->run[type][RMPI_HALF_DIVIDE](inout, inout, n, by);
}

const char *rmpi_half_kernels(void)
{
    return best()->name;
}
