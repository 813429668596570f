#define _GNU_SOURCE
#include "nccl/init.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const struct rmpi_nccl_row rmpi_nccl_rows[RMPI_NCCL_FUNCTIONS] = {
#define NCCL(name, other, version, ...) {"nccl" #name, other, version},
#include "nccl/functions.inc"
#undef NCCL
};

static const struct rmpi_nccl *bound;

const struct rmpi_nccl *rmpi_nccl_bound(void)
{
    return __atomic_load_n(&bound, __ATOMIC_ACQUIRE);
}

void rmpi_nccl_bind(const struct rmpi_nccl *n)
{
    __atomic_store_n(&bound, n, __ATOMIC_RELEASE);
}

void rmpi_nccl_text(const struct rmpi_nccl *n, int rc, char text[RMPI_NCCL_TEXT])
{
    /* The last error belongs to the process, not to this call: a hint. Fetched at once, since the next failure overwrites it. */
    const char *last = n->last_error ? n->last_error(NULL) : NULL;
    const char *words = n->error_string ? n->error_string(rc) : NULL;
    snprintf(text, RMPI_NCCL_TEXT, "%s (NCCL error %d)%s%.300s", words ? words : "unknown", rc, last && *last ? "; last error: " : "",
             last && *last ? last : "");
}

static void nap(long us)
{
    struct timespec t = {0, us * 1000};
    nanosleep(&t, NULL);
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int failed(struct rmpi_nccl_start *s, const char *function, int rc)
{
    char words[RMPI_NCCL_TEXT];
    rmpi_nccl_text(s->nccl, rc, words);
    snprintf(s->text, sizeof s->text, "%s failed on device %d: %s", function, s->ordinal, words);
    return s->failed = 1;
}

static int gpu_failed(struct rmpi_nccl_start *s, const char *what, int rc)
{
    char words[RMPI_NCCL_TEXT];
    s->gpu->text(s->gpu, rc, words);
    snprintf(s->text, sizeof s->text, "%s on device %d failed: %s", what, s->ordinal, words);
    return s->failed = 1;
}

/* "In progress" comes from non-blocking communicators, which the user's NCCL_COMM_BLOCKING=0 can force on us. */
static int settle(struct rmpi_nccl_start *s, void *comm, int rc)
{
    while (rc == NCCL_IN_PROGRESS) {
        int now = NCCL_IN_PROGRESS;
        if (__atomic_load_n(&s->cancel, __ATOMIC_ACQUIRE))
            return NCCL_SYSTEM; /* what was begun is aborted by given_up; a parent is not ours to abort */
        nap(200);
        rc = RMPI_NCCL(s->nccl, CommGetAsyncError)(comm, &now);
        if (rc == NCCL_SUCCESS)
            rc = now;
    }
    return rc;
}

static struct rmpi_nccl_config config(int blocking)
{
    /* Zero means "set" in NCCL: unset integers are INT_MIN. Version: that of the layout filled, not of the library. */
    struct rmpi_nccl_config c = {sizeof c, 0xcafebeef, 21800, blocking, INT_MIN, INT_MIN, INT_MIN, NULL, INT_MIN, INT_MIN};
    return c;
}

static int make_comm(struct rmpi_nccl_start *s)
{
    struct rmpi_nccl_config c = config(!s->nonblocking);
    void *comm = NULL; /* some versions look at it when they fail */
    const char *function = "ncclCommInitRankConfig";
    int rc;
    if (s->parent) {
        function = "ncclCommSplit";
        rc = RMPI_NCCL(s->nccl, CommSplit)(s->parent, s->color, s->key, &comm, &c);
        if (rc == NCCL_IN_PROGRESS)
            rc = settle(s, s->parent, rc);
        if (s->color < 0)
            return rc != 0 ? failed(s, function, rc) : 0;
    } else if (RMPI_NCCL_HAS(s->nccl, CommInitRankConfig)) {
        rc = RMPI_NCCL(s->nccl, CommInitRankConfig)(&comm, s->size, s->id, s->rank, &c);
    } else {
        function = "ncclCommInitRank";
        rc = RMPI_NCCL(s->nccl, CommInitRank)(&comm, s->size, s->id, s->rank);
    }
    if (comm)
        rc = settle(s, comm, rc);
    if (rc != 0 && comm && !s->parent && __atomic_load_n(&s->cancel, __ATOMIC_ACQUIRE))
        s->comm = comm;
    if (rc != 0)
        return failed(s, function, rc);
    s->comm = comm;
    return 0;
}

static int verify(struct rmpi_nccl_start *s)
{
    int size = -1, rank = -1, device = -1, rc;
    if ((rc = RMPI_NCCL(s->nccl, CommCount)(s->comm, &size)) != 0 || (rc = RMPI_NCCL(s->nccl, CommUserRank)(s->comm, &rank)) != 0 ||
        (rc = RMPI_NCCL(s->nccl, CommCuDevice)(s->comm, &device)) != 0)
        return failed(s, "asking the new communicator", rc);
    if (size == s->size && rank == s->rank && device == s->ordinal)
        return 0;
    snprintf(s->text, sizeof s->text, "the new NCCL communicator is rank %d of %d on device %d; %d of %d on device %d was asked for", rank,
             size, device, s->rank, s->size, s->ordinal);
    return s->failed = 1;
}

/* One element through the whole path: from 2.22 on the first collective connects the peers, and that is where a bad network hangs. */
static int warm_up(struct rmpi_nccl_start *s)
{
    int one = 1, sum = 0, rc;
    const int64_t start = now_ms();
    void *stream = NULL;
    if ((rc = s->gpu->stream_create(s->gpu, &stream)) != 0)
        return gpu_failed(s, "making a stream", rc);
    if ((rc = s->gpu->to_device(s->gpu, s->scratch, &one, sizeof one)) != 0)
        return gpu_failed(s, "copying to the device", rc);
    rc = settle(s, s->comm, RMPI_NCCL(s->nccl, AllReduce)(s->scratch, s->scratch, 1, 2, 0, s->comm, stream));
    if (rc != 0)
        return failed(s, "the first ncclAllReduce", rc);
    while ((rc = s->gpu->stream_query(s->gpu, stream)) == RMPI_GPU_BUSY) {
        int now = NCCL_SUCCESS;
        /* A lost peer shows here only: the stream just stays busy. */
        if ((rc = RMPI_NCCL(s->nccl, CommGetAsyncError)(s->comm, &now)) != 0 || (now != NCCL_SUCCESS && now != NCCL_IN_PROGRESS))
            return failed(s, "the first ncclAllReduce", rc != 0 ? rc : now);
        if (s->timeout_ms > 0 && now_ms() - start > s->timeout_ms) {
            snprintf(s->text, sizeof s->text, "the first ncclAllReduce on device %d did not end within %lld ms", s->ordinal,
                     (long long)s->timeout_ms);
            return s->failed = 1;
        }
        if (__atomic_load_n(&s->cancel, __ATOMIC_ACQUIRE))
            return s->failed = 1;
        nap(100);
    }
    if (rc != 0)
        return gpu_failed(s, "the first ncclAllReduce", rc);
    s->gpu->stream_destroy(s->gpu, stream);
    if ((rc = s->gpu->to_host(s->gpu, &sum, s->scratch, sizeof sum)) != 0)
        return gpu_failed(s, "copying from the device", rc);
    if (sum == s->size)
        return 0;
    snprintf(s->text, sizeof s->text, "the first ncclAllReduce summed %d ones to %d", s->size, sum);
    return s->failed = 1;
}

static void start(void *arg)
{
    struct rmpi_nccl_start *s = arg;
    int rc;
    /* A device that cannot be entered must not meet NCCL: a failed init leaves some versions inside a group for ever. This thread
     * ends after one init for the same reason. */
    if ((rc = s->gpu->enter(s->gpu, s->ordinal, s->context)) != 0)
        gpu_failed(s, "making the context current", rc);
    else if (make_comm(s) == 0 && s->comm) {
        if ((rc = s->gpu->alloc(s->gpu, 256, &s->scratch)) != 0)
            gpu_failed(s, "allocating device memory", rc);
        else if (verify(s) == 0)
            warm_up(s);
    }
}

/* The waiter has left, and NCCL came back after all: nobody else can end what was made, and its kernel would spin for ever. */
static void given_up(void *arg)
{
    struct rmpi_nccl_start *s = arg;
    if (s->comm)
        RMPI_NCCL(s->nccl, CommAbort)(s->comm);
    if (s->scratch)
        s->gpu->free(s->gpu, s->scratch);
    if (s->context)
        s->gpu->release(s->gpu, s->ordinal);
    free(s);
}

enum rmpi_job_end rmpi_nccl_start_run(struct rmpi_nccl_start *s, int64_t timeout_ms, int (*poke)(void *), void *poke_arg)
{
    return rmpi_job_run(start, s, timeout_ms, poke, poke_arg, given_up, &s->cancel);
}

struct ending {
    struct rmpi_device device;
    int abort;
};

static void finish(void *arg)
{
    struct ending *e = arg;
    const struct rmpi_device *d = &e->device;
    const struct rmpi_nccl *n = d->nccl;
    d->gpu->enter(d->gpu, d->ordinal, d->context);
    if (e->abort) {
        RMPI_NCCL(n, CommAbort)(d->comm);
    } else {
        int rc = RMPI_NCCL_HAS(n, CommFinalize) ? RMPI_NCCL(n, CommFinalize)(d->comm) : 0, now;
        while (rc == NCCL_IN_PROGRESS && RMPI_NCCL(n, CommGetAsyncError)(d->comm, &now) == 0 && (rc = now) == NCCL_IN_PROGRESS)
            nap(200);
        RMPI_NCCL(n, CommDestroy)(d->comm);
    }
    if (d->scratch)
        d->gpu->free(d->gpu, d->scratch);
}

int rmpi_nccl_end(const struct rmpi_device *d, int abort, int64_t timeout_ms)
{
    struct ending *e = calloc(1, sizeof *e);
    enum rmpi_job_end end;
    if (!e)
        return -1;
    e->device = *d;
    e->abort = abort;
    end = rmpi_job_run(finish, e, timeout_ms, NULL, NULL, free, NULL);
    if (end == RMPI_JOB_DONE)
        free(e);
    return end == RMPI_JOB_DONE ? 0 : -1;
}
