#define _GNU_SOURCE
#include "nccl/job.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

struct job {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    void (*work)(void *), (*late)(void *);
    void *arg;
    int done, abandoned;
};

static void *thread(void *pointer)
{
    struct job *j = pointer;
    int last;
    j->work(j->arg);
    pthread_mutex_lock(&j->lock);
    j->done = 1;
    last = j->abandoned;
    pthread_cond_signal(&j->changed);
    pthread_mutex_unlock(&j->lock);
    if (last) {
        j->late(j->arg);
        free(j);
    }
    return NULL;
}

int rmpi_thread(void *(*run)(void *), void *arg)
{
    pthread_attr_t attributes;
    pthread_t id;
    sigset_t all, before;
    int rc;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&id, &attributes, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return rc;
}

static void add_ms(struct timespec *t, int64_t ms)
{
    t->tv_sec += ms / 1000;
    t->tv_nsec += ms % 1000 * 1000000;
    if (t->tv_nsec >= 1000000000) {
        t->tv_sec++;
        t->tv_nsec -= 1000000000;
    }
}

static int past(const struct timespec *end)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec > end->tv_sec || (now.tv_sec == end->tv_sec && now.tv_nsec >= end->tv_nsec);
}

enum rmpi_job_end rmpi_job_run(void (*work)(void *), void *arg, int64_t timeout_ms, int (*poke)(void *), void *poke_arg,
                               void (*late)(void *), int *cancel)
{
    struct job *j = calloc(1, sizeof *j);
    enum rmpi_job_end end = RMPI_JOB_DONE;
    pthread_condattr_t attributes;
    struct timespec deadline, next;
    if (!j)
        return RMPI_JOB_NO_THREAD;
    j->work = work;
    j->arg = arg;
    j->late = late;
    pthread_mutex_init(&j->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&j->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    if (rmpi_thread(thread, j) != 0) {
        free(j);
        return RMPI_JOB_NO_THREAD;
    }
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    add_ms(&deadline, timeout_ms);
    pthread_mutex_lock(&j->lock);
    while (!j->done) {
        clock_gettime(CLOCK_MONOTONIC, &next);
        add_ms(&next, 5);
        pthread_cond_timedwait(&j->changed, &j->lock, &next);
        if (j->done)
            break;
        if (timeout_ms > 0 && past(&deadline))
            end = RMPI_JOB_LATE;
        else if (poke && poke(poke_arg))
            end = RMPI_JOB_STOPPED;
        if (end != RMPI_JOB_DONE) {
            j->abandoned = 1;
            if (cancel) /* under the lock: arg is freed after it */
                __atomic_store_n(cancel, 1, __ATOMIC_RELEASE);
            break;
        }
    }
    pthread_mutex_unlock(&j->lock);
    if (end == RMPI_JOB_DONE)
        free(j);
    return end;
}
