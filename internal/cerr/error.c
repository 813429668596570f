#include "error.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 8192 };

struct record {
    int code;
    char text[TEXT_MAX];
};

/* 16 bytes of thread-local storage are all that this library may have: the .so is loaded into glibc's small static surplus.
 * The code stands beside the pointer so that a failed malloc still leaves a code. Initial-exec is what
 * Go's own slot is, and spares the dependency on the loader. */
#define THREAD_LOCAL static __thread __attribute__((tls_model("initial-exec")))
THREAD_LOCAL struct record *record;
THREAD_LOCAL int record_code;

static pthread_key_t record_key;
static pthread_once_t record_once = PTHREAD_ONCE_INIT;
static int record_key_made;

/* Other destructors of this thread may still fail here, after this one. */
static void drop(void *old)
{
    record = NULL;
    free(old);
}

static void make_key(void)
{
    record_key_made = pthread_key_create(&record_key, drop) == 0;
}

static struct record *this_record(void)
{
    if (!record) {
        pthread_once(&record_once, make_key);
        if (!record_key_made)
            return NULL;
        record = calloc(1, sizeof *record);
        pthread_setspecific(record_key, record);
    }
    return record;
}

int rmpi_fail_text(int code, const char *text)
{
    struct record *r = this_record();
    record_code = code;
    if (r) {
        r->code = code;
        snprintf(r->text, sizeof r->text, "%s", text);
    }
    return code;
}

int rmpi_fail(int code, const char *format, ...)
{
    struct record *r = this_record();
    va_list list;
    record_code = code;
    if (r) {
        r->code = code;
        va_start(list, format);
        vsnprintf(r->text, sizeof r->text, format, list);
        va_end(list);
    }
    return code;
}

const char *rmpi_error_text(void)
{
    if (record)
        return record->text;
    return record_code ? "no memory for the text of this error" : "";
}

int rmpi_error_code(void)
{
    return record_code;
}

const char *rmpi_error_name(int code)
{
    switch (code) {
#define NAME(x)              \
    case REACTANT_MPI_##x:   \
        return #x;
        NAME(SUCCESS)
        NAME(ERR_ARGUMENT)
        NAME(ERR_COMM)
        NAME(ERR_TYPE)
        NAME(ERR_OP)
        NAME(ERR_COUNT)
        NAME(ERR_RANK)
        NAME(ERR_REQUEST)
        NAME(ERR_STATE)
        NAME(ERR_THREAD)
        NAME(ERR_UNSUPPORTED)
        NAME(ERR_OPTION)
        NAME(ERR_FORKED)
        NAME(ERR_POISONED)
        NAME(ERR_MEMORY)
        NAME(ERR_MISMATCH)
        NAME(ERR_TIMEOUT)
        NAME(ERR_PEER)
        NAME(ERR_NO_MPI)
        NAME(ERR_MPI_ABI)
        NAME(ERR_LAUNCHER)
        NAME(ERR_MPI_FINALIZED)
        NAME(ERR_MPI)
        NAME(ERR_NO_NCCL)
        NAME(ERR_NO_DEVICE)
        NAME(ERR_FEW_DEVICES)
        NAME(ERR_SAME_DEVICE)
        NAME(ERR_NCCL_VERSIONS)
        NAME(ERR_NCCL_OLD)
        NAME(ERR_TWO_NCCL)
        NAME(ERR_DRIVER)
        NAME(ERR_VISIBLE)
        NAME(ERR_NCCL)
        NAME(ERR_NO_XLA)
        NAME(ERR_XLA)
#undef NAME
    }
    return "unknown code";
}

/* ---- marks ---- */

static int poisoned, forked;

void rmpi_poison(void)
{
    __atomic_store_n(&poisoned, 1, __ATOMIC_RELEASE);
}

int rmpi_poisoned(void)
{
    return __atomic_load_n(&poisoned, __ATOMIC_ACQUIRE);
}

void rmpi_mark_forked(void)
{
    __atomic_store_n(&forked, 1, __ATOMIC_RELEASE);
}

int rmpi_forked(void)
{
    return __atomic_load_n(&forked, __ATOMIC_ACQUIRE);
}

int rmpi_control_refused(const char *function)
{
    if (rmpi_forked())
        return rmpi_fail(REACTANT_MPI_ERR_FORKED,
                         "%s: this process was forked from one that had loaded the library; MPI and this library do not survive "
                         "fork. Start workers with spawn or forkserver, or load the library in the child only",
                         function);
    if (rmpi_poisoned())
        return rmpi_fail(REACTANT_MPI_ERR_POISONED,
                         "%s: an earlier internal failure (its text is on standard error) left the control functions in an "
                         "unknown state; restart the process. Data calls on existing communicators still work",
                         function);
    return 0;
}
