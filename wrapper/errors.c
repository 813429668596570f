/*
 * Texts of failures. The caller gets a number from a call and asks for its text with that number, maybe later and on another thread, so the
 * texts are kept in a ring and the number counts them; the classes of MPI lie below. Those that calls give again and again, since they ended
 * a communicator, are kept for good.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wrapper.h"

#define FIRST    64   /* below: error classes of MPI */
#define KEPT     128
#define MAX_TEXT 1024 /* MPI_MAX_ERROR_STRING of MPItrampoline */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kept {
    int error, code;
    char text[MAX_TEXT];
    struct kept *next;
} ring[KEPT], first, *latched;
static int count;

static int keep(int code, const char *text)
{
    pthread_mutex_lock(&lock);
    const int error = FIRST + count;
    struct kept *k = &ring[count % KEPT];
    count = (count + 1) & 0x1fffffff;
    k->error = error;
    k->code = code;
    snprintf(k->text, sizeof k->text, "%s", text);
    if (!first.error)
        first = *k;
    pthread_mutex_unlock(&lock);
    return error;
}

int fail(int code, const char *format, ...)
{
    char text[MAX_TEXT];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (core.error_name && length >= 0 && (size_t)length < sizeof text)
        snprintf(text + length, sizeof text - (size_t)length, " (%s)", core.error_name(code));
    return keep(code, text);
}

int fail_core(const char *what)
{
    const int code = core.last_error_code();
    return fail(code, "%s: %s", what, core.last_error());
}

static bool look(int error, struct kept *out)
{
    pthread_mutex_lock(&lock);
    const struct kept *k = latched;
    while (k && k->error != error)
        k = k->next;
    if (!k && error >= FIRST)
        k = &ring[(error - FIRST) % KEPT];
    const bool found = k && k->error == error;
    if (found)
        *out = *k;
    pthread_mutex_unlock(&lock);
    return found;
}

int error_code(int error)
{
    struct kept k;
    return look(error, &k) ? k.code : REACTANT_MPI_ERR_MPI;
}

int latch(int error)
{
    struct kept *k = malloc(sizeof *k);
    if (k && look(error, k)) {
        pthread_mutex_lock(&lock);
        k->next = latched;
        latched = k;
        pthread_mutex_unlock(&lock);
    } else {
        free(k);
    }
    return error;
}

void error_text(int error, char *text, size_t n)
{
    struct kept k;
    if (!error)
        snprintf(text, n, "no error");
    else if (look(error, &k))
        snprintf(text, n, "%s", k.text);
    else if (error < FIRST)
        snprintf(text, n, "error class %d of MPI", error);
    else
        snprintf(text, n, "error %d: so many came after it that its text is no longer kept", error);
}

EXPORT int MPIABI_Error_string(int error, char *text, int *length)
{
    error_text(error, text, MAX_TEXT);
    *length = (int)strlen(text);
    return 0;
}

/* Classes of the MPI-5.0 standard ABI, as symbols.inc has them. */
static int class_of(int code)
{
    switch (code) {
    case REACTANT_MPI_ERR_COMM: return 5;
    case REACTANT_MPI_ERR_TYPE: return 3;
    case REACTANT_MPI_ERR_OP: return 10;
    case REACTANT_MPI_ERR_COUNT: return 2;
    case REACTANT_MPI_ERR_RANK: return 6;
    case REACTANT_MPI_ERR_REQUEST: return 7;
    case REACTANT_MPI_ERR_ARGUMENT: return 13;
    case REACTANT_MPI_ERR_UNSUPPORTED: return 55;
    case REACTANT_MPI_ERR_MEMORY: return 39;
    default: return 16;
    }
}

EXPORT int MPIABI_Error_class(int error, int *class)
{
    *class = error < FIRST ? error : class_of(error_code(error));
    return 0;
}

EXPORT int reactant_mpi_wrapper_error(char *text, size_t n)
{
    pthread_mutex_lock(&lock);
    const int code = first.code;
    if (text && n)
        snprintf(text, n, "%s", first.text);
    pthread_mutex_unlock(&lock);
    return code;
}
