/* Failures in functions that compiled code calls: it looks at no result, so the first one is kept until somebody asks. */
#include "capi/compiled.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first failure, handed over as a whole: nobody waits for a lock that a thread elsewhere, or in the parent of a fork, may hold. */
struct failure {
    int code;
    char text[RMPI_STRING_BYTES];
};
static struct failure *first;

static unsigned policy; /* 0: never told, so the environment says it */

void rmpi_compiled_policy(unsigned flags)
{
    __atomic_store_n(&policy, flags, __ATOMIC_RELAXED);
}

static unsigned policy_now(void)
{
    static int warned;
    const unsigned given = __atomic_load_n(&policy, __ATOMIC_RELAXED);
    const char *wish = given ? NULL : getenv("REACTANT_MPI_COMPILED_ERRORS");
    if (given || !wish || !*wish || strcmp(wish, "log") == 0)
        return given ? given : REACTANT_MPI_ERRORS_LOG;
    if (strcmp(wish, "return") == 0)
        return REACTANT_MPI_ERRORS_RETURN;
    if (strcmp(wish, "abort") == 0)
        return REACTANT_MPI_ERRORS_ABORT;
    if (!__atomic_exchange_n(&warned, 1, __ATOMIC_RELAXED))
        rmpi_log(REACTANT_MPI_LOG_WARN, "REACTANT_MPI_COMPILED_ERRORS=%s is none of return, log, abort; taken as log", wish);
    return REACTANT_MPI_ERRORS_LOG;
}

static int keep(int code, const char *text)
{
    struct failure *mine = malloc(sizeof *mine), *nothing = NULL;
    if (!mine)
        return 0;
    mine->code = code;
    snprintf(mine->text, sizeof mine->text, "%s", text);
    if (__atomic_compare_exchange_n(&first, &nothing, mine, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return 1;
    free(mine);
    return 0;
}

int reactant_mpi_compiled_error(char *text, size_t n)
{
    struct failure *kept = __atomic_exchange_n(&first, NULL, __ATOMIC_ACQ_REL);
    const int code = kept ? kept->code : 0;
    if (text && n)
        snprintf(text, n, "%s", kept ? kept->text : "");
    free(kept);
    return code;
}

/* Whether a failure is worth a line: the first of a communicator; of those without one, a few. */
static int is_news(struct rmpi_comm *c)
{
    enum { FEW = 10 };
    static int without;
    if (c)
        return !__atomic_exchange_n(&c->told, 1, __ATOMIC_RELAXED);
    return __atomic_load_n(&without, __ATOMIC_RELAXED) < FEW && __atomic_fetch_add(&without, 1, __ATOMIC_RELAXED) < FEW;
}

void rmpi_compiled_failed(const char *function, struct rmpi_comm *c, int code)
{
    char text[RMPI_STRING_BYTES];
    const unsigned wanted = policy_now();
    const char *why = rmpi_error_text();
    int news;
    if (strncmp(why, function, strlen(function)) == 0) /* it names the function already */
        snprintf(text, sizeof text, "in compiled code, %s", why);
    else
        snprintf(text, sizeof text, "in compiled code, %s: %s", function, why);
    news = keep(code, text);
    if (c)
        rmpi_comm_latch(c, code, text);
    news |= is_news(c);
    if (wanted != REACTANT_MPI_ERRORS_RETURN && news)
        rmpi_log_text(REACTANT_MPI_LOG_ERROR, text);
    if (wanted == REACTANT_MPI_ERRORS_ABORT)
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
    };
    const int last = rmpi_class_of(rmpi_error_code());
    const int same = last == code || (last == RMPI_CLASS_RANK && (code == RMPI_CLASS_ROOT || code == RMPI_CLASS_TAG));
    const int known = code >= 0 && (size_t)code < sizeof names / sizeof *names && names[code];
    int n;
    if (!text || !length)
        return RMPI_CLASS_ARG;
    if (code != 0 && same)
        n = snprintf(text, RMPI_WORD_MAX_ERROR_STRING, "%s", rmpi_error_text());
    else
        n = snprintf(text, RMPI_WORD_MAX_ERROR_STRING, "%s", known ? names[code] : "unknown error class");
    *length = n < RMPI_WORD_MAX_ERROR_STRING ? n : RMPI_WORD_MAX_ERROR_STRING - 1;
    return known ? 0 : RMPI_CLASS_ARG;
}
