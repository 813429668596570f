/* The error record of a thread, the log, and the two marks that stop control calls. Everything here is C, so that errors and
 * log lines need no Go to be alive. */
#ifndef RMPI_ERROR_H
#define RMPI_ERROR_H

#include "reactant_mpi.h"

#pragma GCC visibility push(hidden)

/* Write the record of this thread; returns code, so that callers can `return rmpi_fail(...)`. */
int rmpi_fail(int code, const char *format, ...) __attribute__((cold, noinline, format(printf, 2, 3)));
int rmpi_fail_text(int code, const char *text) __attribute__((cold, noinline));
const char *rmpi_error_text(void);
int rmpi_error_code(void);
const char *rmpi_error_name(int code);

/* Log. The prefix names the rank once it is known (rmpi_log_rank). */
void rmpi_log(int level, const char *format, ...) __attribute__((cold, format(printf, 2, 3)));
void rmpi_log_text(int level, const char *text) __attribute__((cold));
int rmpi_log_enabled(int level);
void rmpi_log_rank(int rank);
void rmpi_log_to(reactant_mpi_log_fn fn, void *arg);

/* 0, or the failure that every control call must give: 20 in a forked child, 21 after a panic in Go. */
int rmpi_control_refused(const char *function);
void rmpi_poison(void);
int rmpi_poisoned(void);
void rmpi_mark_forked(void);
int rmpi_forked(void);

#pragma GCC visibility pop

#endif
