/* Failures in functions that compiled code calls: it looks at no result, so the first one is kept until somebody asks. */
#include "capi/compiled.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EMPTY, BUSY, FULL };

/* The first failure, without a lock: a forked child or a second failing thread never waits for it. */
static struct {
    int state;
    int code;
    char text[RMPI_STRING_BYTES];
} first;

static unsigned policy; /* 0: the environment's */

void rmpi_compiled_policy(unsigned flags)
{
    __atomic_store_n(&policy, flags, __ATOMIC_RELAXED);
}

static unsigned what_to_do(void)
{
    const unsigned given = __atomic_load_n(&policy, __ATOMIC_RELAXED);
    const char *wish = given ? NULL : getenv("REACTANT_MPI_COMPILED_ERRORS");
    if (given || !wish || !*wish || strcmp(wish, "log") == 0)
        return given ? given : REACTANT_MPI_ERRORS_LOG;
    if (strcmp(wish, "return") == 0)
        return REACTANT_MPI_ERRORS_RETURN;
    if (strcmp(wish, "abort") == 0)
        return REACTANT_MPI_ERRORS_ABORT;
    rmpi_log(REACTANT_MPI_LOG_WARN, "REACTANT_MPI_COMPILED_ERRORS=%s is none of return, log, abort; taken as log", wish);
    return REACTANT_MPI_ERRORS_LOG;
}

static int keep(int code, const char *text)
{
    int state = EMPTY;
    if (!__atomic_compare_exchange_n(&first.state, &state, BUSY, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return 0;
    first.code = code;
    snprintf(first.text, sizeof first.text, "%s", text);
    __atomic_store_n(&first.state, FULL, __ATOMIC_RELEASE);
    return 1;
}

int reactant_mpi_compiled_error(char *text, size_t n)
{
    int state = FULL, code;
    if (text && n)
        text[0] = 0;
    if (!__atomic_compare_exchange_n(&first.state, &state, BUSY, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return 0;
    code = first.code;
    if (text && n)
        snprintf(text, n, "%s", first.text);
    __atomic_store_n(&first.state, EMPTY, __ATOMIC_RELEASE);
    return code;
}

void rmpi_compiled_failed(const char *function, struct rmpi_comm *c, int code)
{
    char text[RMPI_STRING_BYTES];
    const unsigned todo = what_to_do();
    int news;
    snprintf(text, sizeof text, "in compiled code, %s: %s", function, rmpi_error_text());
    news = keep(code, text);
    if (c) {
        rmpi_comm_latch(c, code, text);
        news |= !__atomic_exchange_n(&c->told, 1, __ATOMIC_RELAXED);
    }
    if (todo != REACTANT_MPI_ERRORS_RETURN && news)
        rmpi_log_text(REACTANT_MPI_LOG_ERROR, text);
    if (todo == REACTANT_MPI_ERRORS_ABORT)
        reactant_mpi_abort(c && rmpi_comm_state(c) == RMPI_LIVE ? (void *)c : NULL, code);
}

int rmpi_class_of(int code)
{
    switch (code) {
    case REACTANT_MPI_SUCCESS:
        return 0;
    case REACTANT_MPI_ERR_ARGUMENT:
        return RMPI_CLASS_ARG;
    case REACTANT_MPI_ERR_COMM:
        return RMPI_CLASS_COMM;
    case REACTANT_MPI_ERR_TYPE:
        return RMPI_CLASS_TYPE;
    case REACTANT_MPI_ERR_OP:
        return RMPI_CLASS_OP;
    case REACTANT_MPI_ERR_COUNT:
        return RMPI_CLASS_COUNT;
    case REACTANT_MPI_ERR_RANK:
        return RMPI_CLASS_RANK;
    case REACTANT_MPI_ERR_REQUEST:
        return RMPI_CLASS_REQUEST;
    case REACTANT_MPI_ERR_UNSUPPORTED:
        return RMPI_CLASS_UNSUPPORTED_OPERATION;
    case REACTANT_MPI_ERR_MEMORY:
        return RMPI_CLASS_NO_MEM;
    case REACTANT_MPI_ERR_PEER:
        return RMPI_CLASS_PROC_ABORTED;
    }
    return RMPI_CLASS_OTHER;
}

int reactant_mpi_MPI_Error_string(int code, char *text, int *length)
{
    static const char *const names[] = {
        [0] = "MPI_SUCCESS",
#define DATATYPE(...)
#define OPERATION(...)
#define HANDLE(...)
#define ERROR(name, value) [value] = "MPI_ERR_" #name,
#include "capi/mpi_constants.inc"
#undef DATATYPE
#undef OPERATION
#undef HANDLE
#undef ERROR
    };
    const int known = code >= 0 && (size_t)code < sizeof names / sizeof *names && names[code];
    int n;
    if (!text || !length)
        return RMPI_CLASS_ARG;
    if (code != 0 && rmpi_error_code() && rmpi_class_of(rmpi_error_code()) == code)
        n = snprintf(text, RMPI_WORD_MAX_ERROR_STRING, "%s", rmpi_error_text());
    else
        n = snprintf(text, RMPI_WORD_MAX_ERROR_STRING, "%s", known ? names[code] : "unknown error class");
    *length = n < RMPI_WORD_MAX_ERROR_STRING ? n : RMPI_WORD_MAX_ERROR_STRING - 1;
    return known ? 0 : RMPI_CLASS_ARG;
}
