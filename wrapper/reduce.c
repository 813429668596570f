/* Reductions in memory: what XLA reduces with MPI. */
#include <complex.h>

#include "group.h"

#define SUM(a, b)  ((a) + (b))
#define PROD(a, b) ((a) * (b))
#define MIN(a, b)  ((a) < (b) ? (a) : (b))
#define MAX(a, b)  ((a) > (b) ? (a) : (b))

#define KERNEL(name, ctype, op)                                                                                                 \
    static void name(void *to, const void *a, const void *b, size_t n)                                                          \
    {                                                                                                                           \
        ctype *t = to;                                                                                                          \
        const ctype *x = a, *y = b;                                                                                             \
        for (size_t i = 0; i < n; i++)                                                                                          \
            t[i] = (ctype)op(x[i], y[i]);                                                                                       \
    }
#define ORDERED(R)                                                                                                              \
    R(INT8, int8_t) R(UINT8, uint8_t) R(INT16, int16_t) R(UINT16, uint16_t) R(INT32, int32_t) R(UINT32, uint32_t)               \
    R(INT64, int64_t) R(UINT64, uint64_t) R(FLOAT32, float) R(FLOAT64, double)
#define COMPLEX(R) R(COMPLEX64, float complex) R(COMPLEX128, double complex)

#define RING(type, ctype) KERNEL(sum_##type, ctype, SUM) KERNEL(prod_##type, ctype, PROD)
#define EDGE(type, ctype) KERNEL(min_##type, ctype, MIN) KERNEL(max_##type, ctype, MAX)
ORDERED(RING)
ORDERED(EDGE)
COMPLEX(RING)

reduce_fn *reduce_find(int type, int op)
{
#define CASE_RING(type, ctype)                                                                                                  \
    case REACTANT_MPI_##type: return op == REACTANT_MPI_SUM ? sum_##type : op == REACTANT_MPI_PROD ? prod_##type : NULL;
#define CASE_ALL(type, ctype)                                                                                                   \
    case REACTANT_MPI_##type:                                                                                                   \
        return op == REACTANT_MPI_SUM ? sum_##type : op == REACTANT_MPI_PROD ? prod_##type : op == REACTANT_MPI_MIN ? min_##type \
            : op == REACTANT_MPI_MAX ? max_##type : NULL;
    switch (type) {
        ORDERED(CASE_ALL)
        COMPLEX(CASE_RING)
    default: return NULL;
    }
}
