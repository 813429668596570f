/* From a frame to the record of a call, and what is left to do when it is done. */
#ifndef RMPI_FFI_RECORD_H
#define RMPI_FFI_RECORD_H

#include "ffi/frame.h"

#pragma GCC visibility push(hidden)

enum { FFI_FEW_RANKS = 64 };

/* Lists that the record points to while the call is made or started. */
struct ffi_lists {
    size_t *displs; /* running sums of up to two lists */
    size_t few[2 * FFI_FEW_RANKS];
};

/* What is done before and after the call, in host or device memory. */
struct ffi_around {
    size_t apart; /* bytes of an operand that is also the result, and must be somewhere else */
    size_t first; /* bytes that go from the operand to the result before (bcast at its root) */
    void *zero;   /* the result is zeros where MPI leaves it as it was */
    size_t zero_bytes;
    size_t must_come; /* bytes of a message; SIZE_MAX: there is none */
};

/* 0, or a public code with the failure recorded; lists are freed in both cases. */
int ffi_record(const struct ffi_call *call, struct rmpi_call *a, struct ffi_lists *lists, struct ffi_around *around);
void ffi_lists_free(struct ffi_lists *lists);

#pragma GCC visibility pop

#endif
