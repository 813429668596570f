/*
 * The thread that ends started calls and completes their futures. It is made when the first call is not done at once, sleeps while
 * nothing is pending, and looks with growing pauses while something is: MPI makes progress in those looks.
 *
 * Completing a future runs what XLA has waiting for it, on this thread. If that waits for other ranks itself, a second thread is made to go
 * on with the rest, and this one ends when it comes back: there is one at work at any time.
 */
#define _GNU_SOURCE
#include "ffi/completer.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static struct ffi_pending *incoming, **last = &incoming; /* in the order of their starts */
static struct ffi_pending *active;                       /* the working thread's alone */
static int working, ending;
static unsigned generation; /* of the working thread */

static _Thread_local unsigned mine; /* generation of this thread; 0: it is none of ours */

static void complete(struct ffi_pending *p, int code)
{
    struct XLA_FFI_Error *failure;
    if (code == 0) {
        struct ffi_future_set_available done = {.struct_size = sizeof done, .future = p->future};
        failure = p->api->future_set_available(&done);
    } else {
        struct ffi_future_set_error error = {.struct_size = sizeof error, .future = p->future, .error = ffi_error(p->api, p->row, code)};
        failure = p->api->future_set_error(&error);
    }
    if (failure) {
        struct ffi_error_destroy destroy = {.struct_size = sizeof destroy, .error = failure};
        p->api->error_destroy(&destroy);
    }
    free(p);
}

/* One look at each. 1: some were done. Those that are not stay in their order. */
static int look(void)
{
    struct ffi_pending **at = &active;
    int any = 0;
    while (__atomic_load_n(&generation, __ATOMIC_RELAXED) == mine && *at) {
        struct ffi_pending *p = *at;
        reactant_mpi_status got;
        int done, rc = reactant_mpi_test(p->request, &done, &got);
        if (!done && rc == 0) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        any = 1;
        complete(p, ffi_finish(p->row, &p->after, rc, &got));
    }
    return any;
}

/* With the lock: until something new is there, or it is time for another look. */
static void pause_for(int turn)
{
    const long nap = turn < 200 ? 20000 : turn < 2000 ? 100000 : 1000000;
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += nap;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_cond_clockwait(&wake, &lock, CLOCK_MONOTONIC, &until);
}

static void take_incoming(void)
{
    struct ffi_pending **end = &active;
    while (*end)
        end = &(*end)->next;
    *end = incoming;
    incoming = NULL;
    last = &incoming;
}

static void *work(void *number)
{
    mine = (unsigned)(uintptr_t)number;
    prctl(PR_SET_TIMERSLACK, 1000ul);
    pthread_mutex_lock(&lock);
    for (int turn = 0; generation == mine; turn++) {
        if (incoming)
            turn = 0;
        else if (!active && ending)
            break;
        else if (!active)
            pthread_cond_wait(&wake, &lock);
        else if (turn > 20)
            pause_for(turn);
        take_incoming();
        pthread_mutex_unlock(&lock);
        if (look())
            turn = 0;
        else if (turn < 20)
            sched_yield();
        pthread_mutex_lock(&lock);
    }
    if (generation == mine)
        working = 0;
    pthread_cond_broadcast(&wake);
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* With the lock. */
static int start_thread(void)
{
    pthread_attr_t detached;
    pthread_t thread;
    sigset_t all, before;
    int rc;
    if (++generation == 0)
        generation = 1;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    sigfillset(&all); /* the host's signals are for the host's threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&thread, &detached, work, (void *)(uintptr_t)generation);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&detached);
    working = rc == 0;
    return rc == 0 ? 0 : -1;
}

void ffi_complete_later(struct ffi_pending *p)
{
    reactant_mpi_status got;
    int there;
    p->next = NULL;
    pthread_mutex_lock(&lock);
    ending = 0;
    there = working || start_thread() == 0;
    if (there) {
        *last = p;
        last = &p->next;
        pthread_cond_signal(&wake);
    }
    pthread_mutex_unlock(&lock);
    if (!there) {
        const int rc = reactant_mpi_wait(p->request, &got);
        complete(p, ffi_finish(p->row, &p->after, rc, &got));
    }
}

void ffi_completer_waits(void)
{
    if (likely(mine == 0))
        return;
    pthread_mutex_lock(&lock);
    if (mine == generation)
        start_thread();
    pthread_mutex_unlock(&lock);
}

void ffi_completer_end(void)
{
    pthread_mutex_lock(&lock);
    ending = 1;
    pthread_cond_broadcast(&wake);
    while (working && mine != generation)
        pthread_cond_wait(&wake, &lock);
    pthread_mutex_unlock(&lock);
}
