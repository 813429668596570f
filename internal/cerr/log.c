#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static reactant_mpi_log_fn log_fn;
static void *log_arg;
static int log_rank = -1;

void rmpi_log_to(reactant_mpi_log_fn fn, void *arg)
{
    log_arg = arg;
    __atomic_store_n(&log_fn, fn, __ATOMIC_RELEASE);
}

void rmpi_log_rank(int rank)
{
    __atomic_store_n(&log_rank, rank, __ATOMIC_RELAXED);
}

/* REACTANT_MPI_LOG is read each time, so that a host can turn the log on late. Unset: warnings and errors. */
int rmpi_log_enabled(int level)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    const char *wanted = getenv("REACTANT_MPI_LOG");
    int limit = REACTANT_MPI_LOG_WARN;
    for (int i = 0; wanted && i < 4; i++)
        if (!strcmp(wanted, names[i]))
            limit = i + 1;
    return level <= limit;
}

void rmpi_log_text(int level, const char *text)
{
    static const char *const prefix[] = {"", "error: ", "warning: ", "", "debug: "};
    reactant_mpi_log_fn fn = __atomic_load_n(&log_fn, __ATOMIC_ACQUIRE);
    char line[4096];
    int rank = __atomic_load_n(&log_rank, __ATOMIC_RELAXED), n;
    if (!rmpi_log_enabled(level))
        return;
    if (fn) {
        fn(log_arg, level, text);
        return;
    }
    if (rank >= 0)
        n = snprintf(line, sizeof line, "reactant_mpi[%d]: %s%s\n", rank, prefix[level], text);
    else
        n = snprintf(line, sizeof line, "reactant_mpi[pid %d]: %s%s\n", (int)getpid(), prefix[level], text);
    if (n >= (int)sizeof line) {
        n = sizeof line;
        line[n - 1] = '\n';
    }
    /* One write, so that the lines of several ranks do not mix. */
    if (write(STDERR_FILENO, line, (size_t)n) < 0)
        return;
}

void rmpi_log(int level, const char *format, ...)
{
    char text[4000];
    va_list list;
    if (!rmpi_log_enabled(level))
        return;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    rmpi_log_text(level, text);
}
