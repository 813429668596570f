/* Started calls whose futures are completed by one thread of the library. */
#ifndef RMPI_FFI_COMPLETER_H
#define RMPI_FFI_COMPLETER_H

#include "ffi/record.h"

#pragma GCC visibility push(hidden)

/* What is left to do after the call. */
struct ffi_after {
    void *zero;
    size_t zero_bytes;
    void *copy; /* of an operand that is also the result */
    size_t must_come;
};

/* After the call gave `code`: the final code (host.c). */
int ffi_finish(uint32_t row, const struct ffi_after *after, int code, const reactant_mpi_status *got);

struct ffi_pending {
    struct ffi_pending *next;
    const struct ffi_api *api;
    struct ffi_future *future;
    reactant_mpi_request *request;
    struct ffi_after after;
    uint32_t row;
};

/* The thread takes it over; where none can be made it is waited for here. */
void ffi_complete_later(struct ffi_pending *p);
/* MPI is about to end: what is pending is waited for for a second, fails then, and the threads end. */
void ffi_completer_end(void);

#pragma GCC visibility pop

#endif
