/*
 * The thread that ends started calls and completes their futures. It is made when the first call is not over at once, sleeps while nothing
 * is pending, and looks with growing pauses while something is: MPI makes progress in those looks.
 *
 * Completing a future runs what XLA has waiting for it, on this thread: other handlers among it, which may wait for other ranks. So the
 * thread gives up the lead before, and where something is pending a second one takes it. One at a time looks, one more may be spare.
 */
#define _GNU_SOURCE
#include "ffi/completer.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

enum { YIELDS = 20, MOST_END_MS = 1000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
/* With the lock. */
static struct ffi_pending *incoming, **last = &incoming; /* in the order of their starts */
static int threads, led, ending, giving_up;
static int spare; /* threads that wait for the lead, or have yet to begin */
/* The leader's. */
static struct ffi_pending *active;

static _Thread_local int is_ours;

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

/* MPI ends, and it is still under way: the request is left to that end, as any that nobody waits for. */
static int given_up(const struct ffi_pending *p)
{
    return ffi_finish(p->row, &p->after,
                      ffi_fail(p->row, REACTANT_MPI_ERR_STATE, "MPI was ended by reactant_mpi_finalize while this call was under way"), NULL);
}

/* The first that is over, out of the list; NULL: none is. */
static struct ffi_pending *look(int end_all, int *code)
{
    for (struct ffi_pending **at = &active; *at; at = &(*at)->next) {
        struct ffi_pending *p = *at;
        reactant_mpi_status got;
        int done, rc = reactant_mpi_test(p->request, &done, &got);
        if (!done && rc == 0 && !end_all)
            continue;
        *at = p->next;
        *code = done || rc != 0 ? ffi_finish(p->row, &p->after, rc, &got) : given_up(p);
        return p;
    }
    return NULL;
}

static struct timespec from_now(long ns)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += (t.tv_nsec + ns) / 1000000000;
    t.tv_nsec = (t.tv_nsec + ns) % 1000000000;
    return t;
}

/* Until something new is there, or it is time for another look. */
static void pause_before(int turn)
{
    const struct timespec until = from_now(turn < 200 ? 20000 : turn < 2000 ? 100000 : 1000000);
    pthread_cond_clockwait(&changed, &lock, CLOCK_MONOTONIC, &until);
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

/* With the lock, as the leader: the next call that is over; NULL: the end has come, and nothing is pending. */
static struct ffi_pending *next_done(int *code)
{
    struct ffi_pending *p = NULL;
    for (int turn = 0, end_all; !p; turn++) {
        if (incoming)
            turn = 0;
        else if (!active && ending)
            return NULL;
        else if (!active)
            pthread_cond_wait(&changed, &lock);
        else if (turn > YIELDS)
            pause_before(turn);
        take_incoming();
        end_all = giving_up;
        pthread_mutex_unlock(&lock);
        p = look(end_all, code);
        if (!p && turn <= YIELDS)
            sched_yield();
        pthread_mutex_lock(&lock);
    }
    return p;
}

static void start_thread(void);

/* With the lock: somebody looks after what is pending. */
static void see_to_it(void)
{
    if (led || spare)
        pthread_cond_broadcast(&changed);
    else
        start_thread();
}

static void *work(void *unused)
{
    is_ours = 1;
    prctl(PR_SET_TIMERSLACK, 1000ul);
    pthread_mutex_lock(&lock);
    spare--;
    for (;;) {
        struct ffi_pending *p;
        int code;
        if (led) {
            if (spare || ending)
                break;
            spare++;
            while (led && !ending)
                pthread_cond_wait(&changed, &lock);
            spare--;
            continue;
        }
        led = 1;
        p = next_done(&code);
        led = 0;
        if (!p)
            break;
        if (active || incoming)
            see_to_it();
        pthread_mutex_unlock(&lock);
        complete(p, code);
        pthread_mutex_lock(&lock);
    }
    threads--;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return unused;
}

/* With the lock. It is spare at first. */
static void start_thread(void)
{
    pthread_attr_t detached;
    pthread_t thread;
    sigset_t all, before;
    int rc;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    sigfillset(&all); /* the host's signals are for the host's threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&thread, &detached, work, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&detached);
    threads += rc == 0;
    spare += rc == 0;
}

void ffi_complete_later(struct ffi_pending *p)
{
    int nobody;
    p->next = NULL;
    pthread_mutex_lock(&lock);
    ending = giving_up = 0;
    see_to_it();
    nobody = threads == 0; /* and none can be made */
    if (!nobody) {
        *last = p;
        last = &p->next;
    }
    pthread_mutex_unlock(&lock);
    if (nobody) {
        reactant_mpi_status got;
        const int rc = reactant_mpi_wait(p->request, &got);
        complete(p, ffi_finish(p->row, &p->after, rc, &got));
    }
}

/* With the lock: for some time, until all of them have ended (but this one, if it is one of them). */
static void wait_for_threads(void)
{
    const struct timespec until = from_now(MOST_END_MS * 1000000l);
    pthread_cond_broadcast(&changed);
    while (threads > is_ours && pthread_cond_clockwait(&changed, &lock, CLOCK_MONOTONIC, &until) == 0)
        ;
}

void ffi_completer_end(void)
{
    pthread_mutex_lock(&lock);
    ending = 1;
    wait_for_threads();
    giving_up = 1;
    wait_for_threads();
    pthread_mutex_unlock(&lock);
}
