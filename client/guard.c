#define _GNU_SOURCE
#include "client/guard.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* XLA's own threads have 8 MiB, and it was written for a main thread. Untouched pages cost nothing. */
static const size_t stack_bytes = (size_t)16 << 20;

typedef void (*throw_fn)(const char *);
typedef void (*terminate_fn)(void);

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

/* The call that is running. Not thread-local: the library may have only a few bytes of that. */
static struct {
    pthread_t thread; /* valid while on */
    int on;
    enum rmpi_xla_end end;
    jmp_buf out;
    char *text;
    const struct rmpi_xla_hooks *hooks;
    void (*body)(void *);
    void *arg;
    /* The host's, for its own threads that fail while ours are in place. */
    throw_fn host_throw;
    terminate_fn host_terminate;
} call;

static int on_our_thread(void)
{
    return __atomic_load_n(&call.on, __ATOMIC_ACQUIRE) && pthread_equal(call.thread, pthread_self());
}

/* Out by longjmp: it needs no unwind tables and meets no noexcept or catch (...) on its way, both of which end the process when
 * pthread_exit unwinds through them. What destructors would have freed is lost; the frames above hold XLA's status and its text. */
static _Noreturn void leave(enum rmpi_xla_end end)
{
    call.end = end;
    _longjmp(call.out, 1);
}

static void thrown(const char *text)
{
    if (!on_our_thread()) {
        /* Returning is what is left where the host had set nothing: XLA then throws, where it would have jumped to NULL. */
        throw_fn host = __atomic_load_n(&call.host_throw, __ATOMIC_ACQUIRE);
        if (host)
            host(text);
        return;
    }
    snprintf(call.text, RMPI_XLA_TEXT, "%s", text && *text ? text : "XLA gave no text");
    leave(RMPI_XLA_THREW);
}

/* Called for an exception without a catch before anything is unwound, and where one meets noexcept. Process-wide, like the host's. */
static void terminated(void)
{
    void *(*type_of)(void);
    char *(*demangle)(const char *, char *, size_t *, int *);
    void **type;
    char *readable = NULL;
    if (!on_our_thread()) {
        terminate_fn host = __atomic_load_n(&call.host_terminate, __ATOMIC_ACQUIRE);
        if (host)
            host();
        abort(); /* imports gate: such a handler may not return, and the host's did, or there was none */
    }
    type_of = (void *(*)(void))call.hooks->exception_type;
    demangle = (char *(*)(const char *, char *, size_t *, int *))call.hooks->demangle;
    /* A std::type_info: its virtual table, then the mangled name. */
    type = type_of ? type_of() : NULL;
    if (type && type[1] && demangle)
        readable = demangle(type[1], NULL, NULL, NULL);
    if (type && type[1])
        snprintf(call.text, RMPI_XLA_TEXT, "%s", readable ? readable : (const char *)type[1]);
    else
        snprintf(call.text, RMPI_XLA_TEXT, "std::terminate");
    free(readable);
    leave(RMPI_XLA_EXCEPTION);
}

static void *run(void *unused)
{
    (void)unused;
    call.thread = pthread_self();
    __atomic_store_n(&call.on, 1, __ATOMIC_RELEASE);
    if (_setjmp(call.out) == 0) {
        call.body(call.arg);
        call.end = RMPI_XLA_RETURNED;
    }
    __atomic_store_n(&call.on, 0, __ATOMIC_RELEASE);
    return NULL;
}

/* Handlers of the host may throw too (Julia's for SIGINT does): none may run on our thread. Its children, XLA's own threads, inherit
 * the mask, so the signals of a fault stay open: Julia, for one, lives by SIGSEGV on every thread that runs its code. */
static int start(pthread_t *thread)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    pthread_attr_t attributes;
    sigset_t blocked, before;
    int rc;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack_bytes);
    rc = pthread_create(thread, &attributes, run, NULL);
    if (rc != 0) /* a limit on memory: what is usual may still fit */
        rc = pthread_create(thread, NULL, run, NULL);
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

static void catch_failures(const struct rmpi_xla_hooks *hooks)
{
    terminate_fn (*set_terminate)(terminate_fn) = (terminate_fn(*)(terminate_fn))hooks->set_terminate;
    if (hooks->throw_error) {
        /* The host's is known before ours is in place: from then on threads of the host may come here. */
        throw_fn host = __atomic_load_n(hooks->throw_error, __ATOMIC_ACQUIRE);
        do
            __atomic_store_n(&call.host_throw, host, __ATOMIC_RELEASE);
        while (!__atomic_compare_exchange_n(hooks->throw_error, &host, thrown, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
    }
    if (set_terminate)
        __atomic_store_n(&call.host_terminate, set_terminate(terminated), __ATOMIC_RELEASE);
}

/* The host's handlers again, unless it has set others in the meantime: those stay. */
static void give_back(const struct rmpi_xla_hooks *hooks)
{
    terminate_fn (*set_terminate)(terminate_fn) = (terminate_fn(*)(terminate_fn))hooks->set_terminate;
    if (set_terminate) {
        terminate_fn now = set_terminate(call.host_terminate);
        if (now != terminated)
            set_terminate(now);
    }
    if (hooks->throw_error) {
        throw_fn ours = thrown;
        __atomic_compare_exchange_n(hooks->throw_error, &ours, call.host_throw, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    }
}

enum rmpi_xla_end rmpi_xla_guarded(const struct rmpi_xla_hooks *hooks, void (*body)(void *), void *arg, char text[RMPI_XLA_TEXT])
{
    enum rmpi_xla_end end;
    pthread_t thread;
    int rc;
    pthread_mutex_lock(&one_at_a_time);
    text[0] = 0;
    call.text = text;
    call.hooks = hooks;
    call.body = body;
    call.arg = arg;
    call.end = RMPI_XLA_LEFT; /* what stays if the thread ends in no way of ours */
    catch_failures(hooks);
    rc = start(&thread);
    if (rc == 0) {
        pthread_join(thread, NULL);
    } else {
        call.end = RMPI_XLA_NO_THREAD;
        snprintf(text, RMPI_XLA_TEXT, "%s", strerror(rc));
    }
    __atomic_store_n(&call.on, 0, __ATOMIC_RELEASE);
    give_back(hooks);
    end = call.end;
    pthread_mutex_unlock(&one_at_a_time);
    return end;
}
