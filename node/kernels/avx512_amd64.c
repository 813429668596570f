#include <immintrin.h>

/* The instructions for bf16 that some of these processors have (VCVTNEPS2BF16) take subnormals for zero: not used. */
#define VARIANT avx512
#define BYTES 64
#define TARGET __attribute__((target("avx512f,avx512bw")))
#define WIDEN_F16(h) _mm512_cvtph_ps((__m256i)(h))
#define NARROW_F16(f) (few) _mm512_cvtps_ph(f, _MM_FROUND_TO_NEAREST_INT)
#include "loops.inc"
