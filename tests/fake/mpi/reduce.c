/* Types, contiguous only, and operations: the standard ones on the types of the ABI, and those of the user. */
#include "fake.h"

#include <complex.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct MPI_ABI_Datatype {
    size_t bytes;
};

struct MPI_ABI_Op {
    void (*function)(void *, void *, int *, MPI_Datatype *);
};

enum { PREDEFINED = 0x1000 };

size_t fake_bytes(MPI_Datatype type)
{
    const uintptr_t value = (uintptr_t)type;
    if (value >= PREDEFINED)
        return type->bytes;
    for (int i = 0; i < RMPI_TYPES; i++)
        if (rmpi_type_rows[i].value[RMPI_MPI5_ABI] == value)
            return (size_t)rmpi_type_bytes[i];
    return 0;
}

#define LOOP(T, expression)                    \
    for (int i = 0; i < n; i++) {              \
        const T a = ((const T *)in)[i];        \
        T *const b = (T *)inout + i;           \
        *b = (T)(expression);                  \
    }                                          \
    return

#define ARITHMETIC(T)                                           \
    case REACTANT_MPI_SUM: LOOP(T, a + *b);                     \
    case REACTANT_MPI_PROD: LOOP(T, a * *b);
#define ORDER(T)                                                \
    case REACTANT_MPI_MIN: LOOP(T, a < *b ? a : *b);            \
    case REACTANT_MPI_MAX: LOOP(T, a > *b ? a : *b);
#define LOGIC(T)                                                \
    case REACTANT_MPI_LAND: LOOP(T, a && *b);                   \
    case REACTANT_MPI_LOR: LOOP(T, a || *b);                    \
    case REACTANT_MPI_LXOR: LOOP(T, !a != !*b);
#define BITS(T)                                                 \
    case REACTANT_MPI_BAND: LOOP(T, a & *b);                    \
    case REACTANT_MPI_BOR: LOOP(T, a | *b);                     \
    case REACTANT_MPI_BXOR: LOOP(T, a ^ *b);
#define REDUCE(name, T, cases)                                                     \
    static void reduce_##name(const void *in, void *inout, int n, int op)          \
    {                                                                              \
        switch (op) {                                                              \
            cases                                                                  \
        default: abort(); /* the library's gate lets no such pair through */       \
        }                                                                          \
    }
#define WHOLE(name, T) REDUCE(name, T, ARITHMETIC(T) ORDER(T) LOGIC(T) BITS(T))
WHOLE(int8, int8_t)
WHOLE(int16, int16_t)
WHOLE(int32, int32_t)
WHOLE(int64, int64_t)
WHOLE(uint8, uint8_t)
WHOLE(uint16, uint16_t)
WHOLE(uint32, uint32_t)
WHOLE(uint64, uint64_t)
REDUCE(float32, float, ARITHMETIC(float) ORDER(float))
REDUCE(float64, double, ARITHMETIC(double) ORDER(double))
REDUCE(complex64, float complex, ARITHMETIC(float complex))
REDUCE(complex128, double complex, ARITHMETIC(double complex))
REDUCE(bool, bool, LOGIC(bool))
REDUCE(byte, uint8_t, BITS(uint8_t))

void fake_reduce(const void *in, void *inout, int count, MPI_Datatype type, MPI_Op op)
{
    const int kind = (int)(uintptr_t)op;
    if ((uintptr_t)op >= PREDEFINED) {
        op->function((void *)(uintptr_t)in, inout, &count, &type);
        return;
    }
    switch ((uintptr_t)type) {
    case REACTANT_MPI_INT8: reduce_int8(in, inout, count, kind); break;
    case REACTANT_MPI_INT16: reduce_int16(in, inout, count, kind); break;
    case REACTANT_MPI_INT32: reduce_int32(in, inout, count, kind); break;
    case REACTANT_MPI_INT64: reduce_int64(in, inout, count, kind); break;
    case REACTANT_MPI_UINT8: reduce_uint8(in, inout, count, kind); break;
    case REACTANT_MPI_UINT16: reduce_uint16(in, inout, count, kind); break;
    case REACTANT_MPI_UINT32: reduce_uint32(in, inout, count, kind); break;
    case REACTANT_MPI_UINT64: reduce_uint64(in, inout, count, kind); break;
    case REACTANT_MPI_FLOAT32: reduce_float32(in, inout, count, kind); break;
    case REACTANT_MPI_FLOAT64: reduce_float64(in, inout, count, kind); break;
    case REACTANT_MPI_COMPLEX64: reduce_complex64(in, inout, count, kind); break;
    case REACTANT_MPI_COMPLEX128: reduce_complex128(in, inout, count, kind); break;
    case REACTANT_MPI_BOOL: reduce_bool(in, inout, count, kind); break;
    case REACTANT_MPI_BYTE: reduce_byte(in, inout, count, kind); break;
    default: abort();
    }
}

int fake_Reduce_local(const void *in, void *inout, int count, MPI_Datatype type, MPI_Op op);
int fake_Op_create(void (*function)(void *, void *, int *, MPI_Datatype *), int commutes, MPI_Op *out);
int fake_Type_size(MPI_Datatype type, int *bytes);
int fake_Type_contiguous(int count, MPI_Datatype of, MPI_Datatype *out);
int fake_Type_create_struct(int n, const int *counts, const intptr_t *at, const MPI_Datatype *of, MPI_Datatype *out);
int fake_Type_create_resized(MPI_Datatype of, intptr_t lower, intptr_t extent, MPI_Datatype *out);
int fake_Type_commit(MPI_Datatype *type);
int fake_Type_free(MPI_Datatype *type);

int fake_Reduce_local(const void *in, void *inout, int count, MPI_Datatype type, MPI_Op op)
{
    fake_reduce(in, inout, count, type, op);
    return 0;
}

int fake_Op_create(void (*function)(void *, void *, int *, MPI_Datatype *), int commutes, MPI_Op *out)
{
    (void)commutes;
    *out = malloc(sizeof **out);
    (*out)->function = function;
    return 0;
}

int fake_Type_size(MPI_Datatype type, int *bytes)
{
    *bytes = (int)fake_bytes(type);
    return 0;
}

static int make(enum rmpi_function function, size_t bytes, MPI_Datatype *out)
{
    int rc = fake_enter(function);
    if (rc == 0) {
        *out = malloc(sizeof **out);
        (*out)->bytes = bytes;
        fake_counted(&fake_alive.types, 1);
    }
    fake_leave();
    return rc;
}

int fake_Type_contiguous(int count, MPI_Datatype of, MPI_Datatype *out)
{
    return make(RMPI_F_Type_contiguous, (size_t)count * fake_bytes(of), out);
}

int fake_Type_create_struct(int n, const int *counts, const intptr_t *at, const MPI_Datatype *of, MPI_Datatype *out)
{
    size_t bytes = 0;
    for (int i = 0; i < n; i++) {
        if ((size_t)at[i] != bytes)
            return FAKE_WRONG; /* not contiguous: not modelled */
        bytes += (size_t)counts[i] * fake_bytes(of[i]);
    }
    return make(RMPI_F_Type_create_struct, bytes, out);
}

int fake_Type_create_resized(MPI_Datatype of, intptr_t lower, intptr_t extent, MPI_Datatype *out)
{
    return lower != 0 || (size_t)extent != fake_bytes(of) ? FAKE_WRONG : make(RMPI_F_Type_create_resized, (size_t)extent, out);
}

int fake_Type_commit(MPI_Datatype *type)
{
    (void)type;
    return 0;
}

int fake_Type_free(MPI_Datatype *type)
{
    int rc = fake_enter(RMPI_F_Type_free);
    free(*type);
    *type = NULL;
    fake_counted(&fake_alive.types, -1);
    fake_leave();
    return rc;
}
