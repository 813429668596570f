/* What the functions for compiled code share (mpi_names.c, mpi_messages.c, nccl_names.c): words of MPI, and failures that nobody looks at. */
#ifndef RMPI_CAPI_COMPILED_H
#define RMPI_CAPI_COMPILED_H

#include "capi/call.h"

#pragma GCC visibility push(hidden)

/* Handles as compiled code has them (mpi_constants.inc). */
enum rmpi_word {
#define DATATYPE(...)
#define OPERATION(...)
#define HANDLE(name, value) RMPI_WORD_##name = value,
#define ERROR(name, value) RMPI_CLASS_##name = value,
#include "capi/mpi_constants.inc"
};

/* A failure of `function`, whose record is this thread's: latched, logged or the job's end by the policy. c may be NULL. */
void rmpi_compiled_failed(const char *function, struct rmpi_comm *c, int code) __attribute__((cold, noinline));
/* By a flag of register_symbols. */
void rmpi_compiled_policy(unsigned flags);
/* The error class of the standard ABI for a public code. */
int rmpi_class_of(int code);

/* What a word of MPI's type MPI_Comm means, whatever its state; NULL: nothing, with the failure recorded. */
struct rmpi_comm *rmpi_comm_of_word(const char *function, uintptr_t word) __attribute__((cold, noinline));
/* The same failed: reported, and its error class. */
int rmpi_no_comm_of_word(const char *function, uintptr_t word) __attribute__((cold, noinline));

#pragma GCC visibility pop

#endif
