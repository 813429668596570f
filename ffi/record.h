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

/* What is done after the call. */
struct ffi_after {
    void *zero; /* the result is zeros where MPI leaves it as it was */
    size_t zero_bytes;
    void *copy;       /* of an operand that is also the result */
    size_t must_come; /* bytes of a message; SIZE_MAX: there is none */
};

/* 0, or a public code with the failure recorded; then there is nothing to give back. */
int ffi_record(const struct ffi_call *call, struct rmpi_call *a, struct ffi_lists *lists, struct ffi_after *after);
void ffi_lists_free(struct ffi_lists *lists);
/* After the call gave `code`: the final code. */
int ffi_finish(uint32_t row, const struct ffi_after *after, int code, const reactant_mpi_status *got);

#pragma GCC visibility pop

#endif
