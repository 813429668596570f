#include <arm_neon.h>

#define VARIANT neon
#define BYTES 16
#define TARGET
#define WIDEN_F16(h) vcvt_f32_f16((float16x4_t)(h))
#define NARROW_F16(f) (few) vcvt_f16_f32(f)
#include "loops.inc"
