/*
 * Checks of the C tests. A failed check prints file, line and what was expected, and counts; the tenth ends the process, so that a
 * broken table does not print for ever. check_done() prints "ok N checks" on rank 0 and gives the exit status.
 */
#ifndef CHECK_H
#define CHECK_H

#include <reactant_mpi.h>

#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Atomic unsigned long check_count;
static _Atomic unsigned check_failures;
static int check_rank = -1; /* set by the program when it knows, for the messages */

__attribute__((format(printf, 4, 5), unused)) static void check_fail(const char *file, int line, const char *what, const char *fmt,
                                                                     ...)
{
    char text[2048];
    int n = snprintf(text, sizeof text, "%s:%d: rank %d: expected %s", file, line, check_rank, what);
    if (n < 0 || n > 1500)
        n = 1500;
    va_list ap;
    va_start(ap, fmt);
    n += snprintf(text + n, sizeof text - (size_t)n, fmt[1] ? ":" : "");
    vsnprintf(text + n, sizeof text - (size_t)n, fmt, ap);
    va_end(ap);
    fprintf(stderr, "%s\n", text);
    fflush(stderr);
    if (++check_failures >= 10)
        _exit(1);
}

/* CHECK(condition, format, ...): the format, a literal, says what was found; "" where the condition says it all. */
#define CHECK(cond, ...)                                                                                                           \
    do {                                                                                                                           \
        check_count++;                                                                                                             \
        if (!(cond))                                                                                                               \
            check_fail(__FILE__, __LINE__, #cond, " " __VA_ARGS__);                                                                \
    } while (0)

/* As CHECK, and the process ends: for what the rest of the program cannot do without. */
#define NEED(cond, ...)                                                                                                            \
    do {                                                                                                                           \
        check_count++;                                                                                                             \
        if (!(cond)) {                                                                                                             \
            check_fail(__FILE__, __LINE__, #cond, " " __VA_ARGS__);                                                                \
            _exit(1);                                                                                                              \
        }                                                                                                                          \
    } while (0)

/* A call that must succeed. */
#define OK(call)                                                                                                                   \
    do {                                                                                                                           \
        int ok_rc = (call);                                                                                                        \
        check_count++;                                                                                                             \
        if (ok_rc != 0)                                                                                                            \
            check_fail(__FILE__, __LINE__, #call " == 0", " got %d (%s): %s", ok_rc, reactant_mpi_error_name(ok_rc),               \
                       reactant_mpi_last_error());                                                                                 \
    } while (0)

__attribute__((unused)) static void check_code(const char *file, int line, const char *call, int want, const char *name, int got)
{
    const char *text = reactant_mpi_last_error();
    check_count++;
    if (got != want)
        check_fail(file, line, call, " code %d (%s) wanted, got %d (%s): %s", want, reactant_mpi_error_name(want), got,
                   reactant_mpi_error_name(got), got ? text : "");
    else if (reactant_mpi_last_error_code() != want)
        check_fail(file, line, call, " last_error_code() %d wanted, got %d", want, reactant_mpi_last_error_code());
    else if (!text || !strstr(text, name))
        check_fail(file, line, call, " a text that names '%s' wanted, got '%s'", name, text ? text : "(null)");
}

/* A call that must fail with a code, and a text in which `name` (the function, the variable, ...) stands. */
#define FAILS(want, name, call) check_code(__FILE__, __LINE__, #call, (want), (name), (call))

/* A pointer-making call that must give NULL and leave the code. */
#define FAILS_NULL(want, name, call)                                                                                               \
    do {                                                                                                                           \
        const void *null_p = (call);                                                                                               \
        CHECK(null_p == NULL, "NULL from %s wanted", #call);                                                                       \
        check_code(__FILE__, __LINE__, #call, (want), (name), null_p ? 0 : reactant_mpi_last_error_code());                        \
    } while (0)

__attribute__((unused)) static int check_done(int rank)
{
    if (check_failures) {
        fprintf(stderr, "rank %d: %u of %lu checks failed\n", rank, (unsigned)check_failures, (unsigned long)check_count);
        return 1;
    }
    if (rank == 0)
        printf("ok %lu checks\n", (unsigned long)check_count);
    fflush(stdout);
    return 0;
}

/* One allreduce with a known answer: is the communicator, and the job, still alive? */
__attribute__((unused)) static void check_alive(const char *file, int line, reactant_mpi_comm *comm)
{
    int n = reactant_mpi_size(comm), r = reactant_mpi_rank(comm);
    int64_t x = 10 + r, sum = -1;
    int rc = n < 1 ? -1 : reactant_mpi_allreduce(&x, &sum, 1, REACTANT_MPI_INT64, REACTANT_MPI_SUM, comm);
    check_count++;
    if (rc != 0)
        check_fail(file, line, "a good allreduce", " got %d: %s", rc, reactant_mpi_last_error());
    else if (sum != 10 * (int64_t)n + (int64_t)n * (n - 1) / 2)
        check_fail(file, line, "a right allreduce", " got the sum %lld at %d ranks", (long long)sum, n);
}
#define ALIVE(comm) check_alive(__FILE__, __LINE__, (comm))

#endif
