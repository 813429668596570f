/*
 * The life of a communicator in the doubles of libnccl and librccl: what it says of itself, asynchronous errors, finalize, destroy,
 * abort, split. A destroyed handle is known as such for ever, so that using it is an error and not a crash.
 * Not modelled: resources shared between a communicator and its children.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nccl.h"

static ncclComm_t _Atomic comms[MAX_COMMS];
static atomic_int n_comms;
static const char *_Atomic last_error = "";

/* In turn into one of many places, so that a text just given out is not written over. */
static void keep(const char *format, va_list arguments)
{
    static char texts[64][1024];
    static atomic_uint n;
    char *text = texts[atomic_fetch_add(&n, 1) % 64];
    vsnprintf(text, sizeof texts[0], format, arguments);
    last_error = text;
}

ncclResult_t fail(ncclResult_t code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    keep(format, arguments);
    va_end(arguments);
    return code;
}

void set_result(ncclComm_t comm, int code, const char *format, ...)
{
    int now = comm->result;
    if (now != SUCCESS && now != IN_PROGRESS)
        return; /* the first stays */
    va_list arguments;
    va_start(arguments, format);
    keep(format, arguments);
    va_end(arguments);
    while ((now == SUCCESS || now == IN_PROGRESS) && !atomic_compare_exchange_weak(&comm->result, &now, code))
        ;
}

void call_traced(const char *function, long count, int type, int op, int peer, const void *comm, const void *stream)
{
    char words[4][24];
    const long numbers[] = {count, type, op, peer};
    for (int i = 0; i < 4; i++)
        snprintf(words[i], sizeof words[i], numbers[i] < 0 ? "-" : "%ld", numbers[i]);
    fake_trace("%s\t%s\t%s\t%s\t%p\t%p\t%s", function, words[0], words[1], words[2], comm, stream, words[3]);
}

void quiet_thread(pthread_t *thread, void *(*run)(void *), void *what)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(thread, NULL, run, what))
        abort();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

bool comm_known(const void *comm)
{
    for (int i = n_comms - 1; i >= 0; i--)
        if (comms[i] == comm)
            return comm != NULL;
    return false;
}

ncclComm_t comm_new(int rank, int nranks, const struct config *config)
{
    ncclComm_t comm = calloc(1, sizeof *comm);
    comm->rank = rank;
    comm->nranks = nranks;
    comm->config = *config;
    comm->blocking = config->blocking;
    comm->live = LIVE;
    pthread_mutex_init(&comm->lock, NULL);
    pthread_cond_init(&comm->changed, NULL);
    int slot = atomic_fetch_add(&n_comms, 1);
    if (slot >= MAX_COMMS)
        abort();
    comms[slot] = comm;
    return comm;
}

/* Known and not destroyed. */
static ncclResult_t check(ncclComm_t comm, const char *function)
{
    if (!comm)
        return fail(INVALID_ARGUMENT, "%s: comm argument is NULL", function);
    if (!comm_known(comm))
        return fail(INVALID_ARGUMENT, "%s: comm argument %p is not an NCCL communicator of this library", function, (void *)comm);
    if (comm->live != LIVE)
        return fail(INVALID_ARGUMENT, "%s: comm argument %p has already been destroyed", function, (void *)comm);
    return SUCCESS;
}

ncclResult_t comm_ready(ncclComm_t comm, const char *function)
{
    ncclResult_t code = check(comm, function);
    if (code != SUCCESS)
        return code;
    code = comm->result;
    if (code == IN_PROGRESS)
        return fail(INVALID_ARGUMENT, "Attempt to use communicator before the previous operation returned ncclSuccess");
    if (code == SUCCESS && comm->finalized)
        return fail(INVALID_ARGUMENT, "%s: the communicator is finalized", function);
    return code;
}

/* ---- watching the peers ---- */

static void *watch(void *argument)
{
    ncclComm_t comm = argument;
    bool quiet = fake_env_number("FAKE_NCCL_ABORT_QUIET", 0);
    pthread_mutex_lock(&comm->lock);
    while (!comm->stop_watching) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 200 * 1000000;
        if (until.tv_nsec >= 1000000000)
            until.tv_nsec -= 1000000000, until.tv_sec++;
        pthread_cond_timedwait(&comm->changed, &comm->lock, &until);
        for (int i = 0; i < comm->nranks && !comm->stop_watching; i++) {
            struct peer *peer = &comm->segment->peers[i];
            if (i == comm->rank)
                continue;
            if (peer_gone(peer))
                set_result(comm, REMOTE_ERROR, "rank %d: connection closed by remote peer, the process %d has gone", i, peer->pid);
            else if (peer->state == ABORTED && !quiet)
                set_result(comm, REMOTE_ERROR, "rank %d: connection closed by remote peer, it aborted", i);
        }
    }
    pthread_mutex_unlock(&comm->lock);
    return NULL;
}

void comm_watch(ncclComm_t comm)
{
    comm->sent = calloc((size_t)comm->nranks, sizeof *comm->sent);
    comm->received = calloc((size_t)comm->nranks, sizeof *comm->received);
    comm->watched = true;
    quiet_thread(&comm->watcher, watch, comm);
}

static void join_helper(ncclComm_t comm)
{
    if (comm->helped)
        pthread_join(comm->helper, NULL);
    comm->helped = false;
}

static void wait_made(ncclComm_t comm)
{
    join_helper(comm);
    while (comm->result == IN_PROGRESS) /* a child that its parent's helper makes */
        fake_sleep_us(1000);
}

void comm_help(ncclComm_t comm, void *(*run)(void *), void *what)
{
    join_helper(comm);
    comm->helped = true;
    quiet_thread(&comm->helper, run, what);
}

static void wait_pending(ncclComm_t comm)
{
    pthread_mutex_lock(&comm->lock);
    while (comm->pending)
        pthread_cond_wait(&comm->changed, &comm->lock);
    pthread_mutex_unlock(&comm->lock);
}

void comm_close(ncclComm_t comm, enum peer_state state)
{
    if (comm->watched) {
        pthread_mutex_lock(&comm->lock);
        comm->stop_watching = true;
        pthread_cond_broadcast(&comm->changed);
        pthread_mutex_unlock(&comm->lock);
        pthread_join(comm->watcher, NULL);
    }
    if (comm->segment) {
        if (comm->rank >= 0 && comm->segment->peers[comm->rank].state == ARRIVED)
            comm->segment->peers[comm->rank].state = state;
        ring(comm);
        segment_close(comm);
    }
    free(comm->sent);
    free(comm->received);
    comm->live = DEAD;
}

/* ---- the end ---- */

static void *finalize_apart(void *argument)
{
    ncclComm_t comm = argument;
    wait_pending(comm);
    int busy = IN_PROGRESS;
    atomic_compare_exchange_strong(&comm->result, &busy, SUCCESS);
    return NULL;
}

API(ncclCommFinalize, ncclComm_t comm)
{
    ENTER_COMM(comm);
    if (!comm)
        return SUCCESS;
    ncclResult_t code = comm_ready(comm, __func__);
    if (code != SUCCESS)
        return code;
    comm->finalized = true;
    if (comm->blocking) {
        wait_pending(comm);
        return comm->result;
    }
    comm->result = IN_PROGRESS;
    comm_help(comm, finalize_apart, comm);
    return IN_PROGRESS;
}

/* Ranks of this host that have neither come to destroy nor gone. */
static bool others_stay(ncclComm_t comm)
{
    struct peer *peers = comm->segment->peers;
    for (int i = 0; i < comm->nranks; i++)
        if (peers[i].host == peers[comm->rank].host && peers[i].state == ARRIVED && !peer_gone(&peers[i]))
            return true;
    return false;
}

API(ncclCommDestroy, ncclComm_t comm)
{
    ENTER_COMM(comm);
    if (!comm)
        return SUCCESS;
    ncclResult_t code = check(comm, __func__);
    int live = LIVE;
    if (code != SUCCESS)
        return code;
    if (!atomic_compare_exchange_strong(&comm->live, &live, CLOSING))
        return fail(INVALID_ARGUMENT, "ncclCommDestroy: comm argument %p is being destroyed", (void *)comm);
    wait_made(comm);
    wait_pending(comm);
    if (comm->watched) {
        comm->segment->peers[comm->rank].state = LEFT;
        ring(comm);
        bool aborted = false;
        if (fake_env_number("FAKE_NCCL_DESTROY_WAIT", 0))
            WAIT_UNTIL(comm, !others_stay(comm), aborted);
        (void)aborted;
    }
    comm_close(comm, LEFT);
    return SUCCESS;
}

API(ncclCommAbort, ncclComm_t comm)
{
    ENTER_COMM(comm);
    if (!comm)
        return SUCCESS;
    if (!comm_known(comm) || comm->live == DEAD)
        return check(comm, __func__);
    int live = LIVE;
    bool closing = !atomic_compare_exchange_strong(&comm->live, &live, CLOSING);
    comm->aborting = true;
    while (closing && comm->live != DEAD) /* a destroy that waits sees it */
        fake_sleep_us(1000);
    if (closing)
        return SUCCESS;
    if (comm->watched)
        ring(comm);
    wait_made(comm);
    wait_pending(comm);
    comm_close(comm, ABORTED);
    return SUCCESS;
}

/* ---- what it is ---- */

API(ncclCommGetAsyncError, ncclComm_t comm, ncclResult_t *result)
{
    ENTER_COMM(comm);
    ncclResult_t code = check(comm, __func__);
    if (code == SUCCESS && !result)
        code = fail(INVALID_ARGUMENT, "ncclCommGetAsyncError: asyncError argument is NULL");
    if (code == SUCCESS)
        *result = comm->result;
    return code;
}

static ncclResult_t number(ncclComm_t comm, const char *function, int *out, int what)
{
    ncclResult_t code = comm_ready(comm, function);
    if (code == INVALID_ARGUMENT && comm && comm_known(comm) && comm->live == LIVE && comm->finalized)
        code = SUCCESS;
    if (code == SUCCESS && !out)
        code = fail(INVALID_ARGUMENT, "%s: argument is NULL", function);
    if (code == SUCCESS)
        *out = what == 0 ? comm->nranks : what == 1 ? comm->device : comm->rank;
    return code;
}

API(ncclCommCount, const ncclComm_t comm, int *count)
{
    ENTER_COMM(comm);
    return number(comm, __func__, count, 0);
}

API(ncclCommCuDevice, const ncclComm_t comm, int *device)
{
    ENTER_COMM(comm);
    return number(comm, __func__, device, 1);
}

API(ncclCommUserRank, const ncclComm_t comm, int *rank)
{
    ENTER_COMM(comm);
    return number(comm, __func__, rank, 2);
}

FAKE_EXPORT const char *pncclGetErrorString(ncclResult_t code) __attribute__((alias("ncclGetErrorString")));
FAKE_EXPORT const char *ncclGetErrorString(ncclResult_t code)
{
    static const char *const texts[] = {"no error", "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
        "unhandled system error (run with NCCL_DEBUG=INFO for details)", "internal error - please report this issue to the NCCL developers",
        "invalid argument (run with NCCL_DEBUG=WARN for details)", "invalid usage (run with NCCL_DEBUG=WARN for details)",
        "remote process exited or there was a network error", "NCCL operation in progress", "timeout"};
    int known = NCCL_CODE >= 23003 ? 9 : 8;
    return code >= 0 && code < known ? texts[code] : "unknown result code";
}

FAKE_EXPORT const char *pncclGetLastError(ncclComm_t comm) __attribute__((alias("ncclGetLastError")));
FAKE_EXPORT const char *ncclGetLastError(ncclComm_t comm)
{
    (void)comm; /* one text for the process, whatever it was about */
    return last_error;
}

FAKE_EXPORT int fake_nccl_live_comms(void)
{
    int n = 0;
    for (int i = 0, all = n_comms; i < all; i++)
        n += comms[i] && comms[i]->live != DEAD;
    return n;
}

FAKE_EXPORT void fake_nccl_reload(void)
{
    fake_reload();
}

FAKE_EXPORT unsigned long fake_nccl_calls(const char *function)
{
    return fake_calls(function);
}
