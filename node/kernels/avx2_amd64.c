#include <immintrin.h>

#define VARIANT avx2
#define BYTES 32
#define TARGET __attribute__((target("avx2,f16c")))
#define WIDEN_F16(h) _mm256_cvtph_ps((__m128i)(h))
#define NARROW_F16(f) (few) _mm256_cvtps_ph(f, _MM_FROUND_TO_NEAREST_INT)
#include "loops.inc"
