/* What the C files of capi/ share: the way of a data call from its record on. */
#ifndef RMPI_CAPI_CALL_H
#define RMPI_CAPI_CALL_H

#include "internal/cerr/error.h"
#include "internal/handle/handle.h"
#include "mpi/mpi.h"

#pragma GCC visibility push(hidden)

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Run a checked record that is not plain: a mode is on, or it is special. Gives the public code. */
int rmpi_layers(struct rmpi_comm *c, const struct rmpi_call *a);
/* Public calls for those who have a row and not a name (ffi/): blocking, started, on a stream. The record is as the user gave it. */
int rmpi_call_row(uint32_t row, const void *word, struct rmpi_call *a);
int rmpi_start_row(uint32_t row, const void *word, struct rmpi_call *a, reactant_mpi_request **out);
int rmpi_stream_row(uint32_t row, const void *word, struct rmpi_call *a, void *stream); /* not the rows of stream_v.c */
/* Failures: write the thread's record, latch on the communicator, give the code. */
int rmpi_call_failed(struct rmpi_comm *c, int code, const char *function, const char *format, ...)
    __attribute__((cold, noinline, format(printf, 4, 5)));
/* The same for a failure that the communicator survives: nothing is latched. */
int rmpi_call_failed_for_now(struct rmpi_comm *c, int code, const char *function, const char *format, ...)
    __attribute__((cold, noinline, format(printf, 4, 5)));
int rmpi_mpi_failed(struct rmpi_comm *c, uint32_t row, int rc) __attribute__((cold, noinline));
int rmpi_out_of_step(const struct rmpi_comm *c, const char *function) __attribute__((cold, noinline));
int rmpi_bad_comm(const char *function, const void *word) __attribute__((cold, noinline));

#pragma GCC visibility pop

#endif
