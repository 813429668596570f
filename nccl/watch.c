/*
 * The watcher: one C thread, all signals blocked, that asks every device communicator for asynchronous errors a few times a second. A
 * failed one is latched, refuses further device calls, and is aborted within a deadline, so that peers and streams that wait on it
 * come free. The thread ends when nothing is left to watch.
 */
#define _GNU_SOURCE
#include "nccl/init.h"

#include "internal/cerr/error.h"
#include "mpi/mpi.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PERIOD_MS = 200, ABORT_MS = 10000, END_MS = 2000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct rmpi_comm **watched;
static int count, room, running;

static void look(struct rmpi_comm *c)
{
    const struct rmpi_device *d = c->device;
    char words[RMPI_NCCL_TEXT], text[2 * RMPI_NCCL_TEXT];
    int error = 0, rc;
    if (__atomic_load_n(&c->modes, __ATOMIC_RELAXED) & RMPI_DEVICE_FAILED)
        return;
    rc = RMPI_NCCL(d->nccl, CommGetAsyncError)(d->comm, &error);
    if (rc == 0)
        rc = error;
    if (rc == 0 || rc == NCCL_IN_PROGRESS)
        return;
    rmpi_nccl_text(d->nccl, rc, words);
    snprintf(text, sizeof text, "NCCL reports an asynchronous error: %s [communicator %d, rank %d of %d on %s, device %d; %s]", words,
             rmpi_comm_number(c), c->rank, c->size, c->host, d->ordinal, d->nccl->path);
    rmpi_comm_latch(c, REACTANT_MPI_ERR_NCCL, text);
    __atomic_fetch_or(&c->modes, RMPI_DEVICE_FAILED, __ATOMIC_RELEASE);
    rmpi_log_text(REACTANT_MPI_LOG_ERROR, text);
    if (rmpi_nccl_end(d, 1, ABORT_MS) != 0)
        rmpi_log(REACTANT_MPI_LOG_ERROR, "ncclCommAbort of communicator %d did not return within %d ms; its streams may hang",
                 rmpi_comm_number(c), ABORT_MS);
}

static void *watch(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    while (count > 0) {
        struct timespec next;
        clock_gettime(CLOCK_REALTIME, &next);
        next.tv_nsec += PERIOD_MS * 1000000L;
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&changed, &lock, &next);
        /* Under the lock: a communicator that is being finalized is taken out first, and never looked at again. */
        for (int i = 0; i < count; i++)
            look(watched[i]);
    }
    running = 0;
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* MPI ends while communicators live: nobody will finalize them in order any more. Abort each within a short time; the handle already
 * answers 43. */
static void mpi_ends(void)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < count; i++)
        if (!(__atomic_load_n(&watched[i]->modes, __ATOMIC_ACQUIRE) & RMPI_DEVICE_FAILED)) /* else aborted already */
            rmpi_nccl_end(watched[i]->device, 1, END_MS);
    count = 0;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

int rmpi_watch_add(struct rmpi_comm *c)
{
    int rc = 0;
    pthread_mutex_lock(&lock);
    if (count == room) {
        struct rmpi_comm **more = realloc(watched, (size_t)(room + 16) * sizeof *more);
        if (!more) {
            pthread_mutex_unlock(&lock);
            return -1;
        }
        watched = more;
        room += 16;
    }
    watched[count++] = c;
    rmpi_when_mpi_ends(mpi_ends);
    if (!running && (rc = rmpi_thread(watch, NULL)) == 0)
        running = 1;
    pthread_mutex_unlock(&lock);
    return rc;
}

void rmpi_watch_remove(struct rmpi_comm *c)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < count; i++)
        if (watched[i] == c) {
            memmove(watched + i, watched + i + 1, (size_t)(count - i - 1) * sizeof *watched);
            count--;
            break;
        }
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}
