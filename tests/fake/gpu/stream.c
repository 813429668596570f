/*
 * Streams and events of the doubles of libcuda and libamdhip64. A stream is a thread that does one thing after the other; the call
 * that puts something in returns before it is done, and FAKE_STREAM_DELAY_US lies before each.
 * Not modelled: the legacy stream's waiting for others and theirs for it (every stream, NULL too, is on its own), priorities,
 * captures and graphs, errors that stay in a context.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "gpu.h"

enum { MAX_STREAMS = 4096 };

struct op {
    struct op *next;
    void (*run)(void *);
    void *what;
};

struct stream {
    int device;
    bool live; /* not destroyed */
    pthread_mutex_t lock;
    pthread_cond_t more, less;
    struct op *first, *last;
    uint64_t put, done;
};

/* A stream that was made is never given back: a stale handle is then an error and not a crash. */
static struct stream *_Atomic streams[MAX_STREAMS];
static atomic_int n_streams;
static struct stream *of_device[MAX_GPUS];
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *argument)
{
    struct stream *s = argument;
    long delay = fake_env_number("FAKE_STREAM_DELAY_US", 0);
    pthread_mutex_lock(&s->lock);
    for (;;) {
        while (!s->first && s->live)
            pthread_cond_wait(&s->more, &s->lock);
        if (!s->first)
            break;
        struct op *op = s->first;
        s->first = op->next;
        pthread_mutex_unlock(&s->lock);
        fake_sleep_us(delay);
        op->run(op->what);
        free(op);
        pthread_mutex_lock(&s->lock);
        s->done++;
        pthread_cond_broadcast(&s->less);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

int gpu_stream_create(int device, void **stream)
{
    struct stream *s = calloc(1, sizeof *s);
    if (!s)
        return OUT_OF_MEMORY;
    s->device = device;
    s->live = true;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->more, NULL);
    pthread_cond_init(&s->less, NULL);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    int code = pthread_create(&thread, NULL, work, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code) {
        free(s);
        return OUT_OF_MEMORY;
    }
    pthread_detach(thread);
    int slot = atomic_fetch_add(&n_streams, 1);
    if (slot >= MAX_STREAMS)
        abort();
    streams[slot] = s;
    *stream = s;
    return OK;
}

static struct stream *find(int device, void *handle)
{
    if ((uintptr_t)handle <= 2) { /* NULL, legacy, per thread */
        if (device < 0 || device >= MAX_GPUS)
            return NULL;
        pthread_mutex_lock(&making);
        void *made;
        if (!of_device[device] && gpu_stream_create(device, &made) == OK)
            of_device[device] = made;
        struct stream *s = of_device[device];
        pthread_mutex_unlock(&making);
        return s;
    }
    for (int i = n_streams - 1; i >= 0; i--)
        if (streams[i] == handle)
            return streams[i]->live ? streams[i] : NULL;
    return NULL;
}

int gpu_stream_destroy(void *handle)
{
    struct stream *s = (uintptr_t)handle > 2 ? find(-1, handle) : NULL;
    if (!s)
        return INVALID_HANDLE;
    pthread_mutex_lock(&s->lock);
    s->live = false; /* what is in it is still done */
    pthread_cond_broadcast(&s->more);
    pthread_mutex_unlock(&s->lock);
    return OK;
}

/* device: that of the caller's context or of its communicator, -1 if it does not matter. */
int gpu_stream_enqueue(int device, void *handle, void (*run)(void *), void *what)
{
    struct stream *s = find(device, handle);
    if (!s || (device >= 0 && s->device != device))
        return INVALID_HANDLE;
    struct op *op = malloc(sizeof *op);
    if (!op)
        return OUT_OF_MEMORY;
    *op = (struct op){NULL, run, what};
    pthread_mutex_lock(&s->lock);
    if (s->first)
        s->last->next = op;
    else
        s->first = op;
    s->last = op;
    s->put++;
    pthread_cond_signal(&s->more);
    pthread_mutex_unlock(&s->lock);
    return OK;
}

static int drain(struct stream *s)
{
    pthread_mutex_lock(&s->lock);
    uint64_t until = s->put;
    while (s->done < until)
        pthread_cond_wait(&s->less, &s->lock);
    pthread_mutex_unlock(&s->lock);
    return OK;
}

int gpu_stream_wait(int device, void *handle)
{
    struct stream *s = find(device, handle);
    return s ? drain(s) : INVALID_HANDLE;
}

int gpu_stream_query(int device, void *handle)
{
    struct stream *s = find(device, handle);
    if (!s)
        return INVALID_HANDLE;
    pthread_mutex_lock(&s->lock);
    int code = s->done == s->put ? OK : NOT_READY;
    pthread_mutex_unlock(&s->lock);
    return code;
}

int gpu_streams_wait(int device)
{
    for (int i = 0, n = n_streams; i < n; i++)
        if (streams[i] && streams[i]->device == device)
            drain(streams[i]);
    return OK;
}

/* ---- events ---- */

struct event {
    uint32_t magic;
    uint64_t recorded, done;
    struct timespec when;
};

struct mark {
    struct event *event;
    uint64_t ticket;
};

enum { EVENT = 0xe5e57 };
static pthread_mutex_t events = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t reached = PTHREAD_COND_INITIALIZER;

int gpu_event_create(void **event)
{
    struct event *e = calloc(1, sizeof *e);
    if (!e)
        return OUT_OF_MEMORY;
    e->magic = EVENT;
    *event = e;
    return OK;
}

static struct event *event_of(void *handle)
{
    struct event *e = handle;
    return e && e->magic == EVENT ? e : NULL;
}

/* The few bytes stay: a stream may still reach it. */
int gpu_event_destroy(void *handle)
{
    struct event *e = event_of(handle);
    if (!e)
        return INVALID_HANDLE;
    e->magic = 0;
    return OK;
}

static void reach(void *what)
{
    struct mark *mark = what;
    pthread_mutex_lock(&events);
    if (mark->event->done < mark->ticket) {
        mark->event->done = mark->ticket;
        clock_gettime(CLOCK_MONOTONIC, &mark->event->when);
    }
    pthread_cond_broadcast(&reached);
    pthread_mutex_unlock(&events);
    free(mark);
}

static void await(struct event *e, uint64_t ticket)
{
    pthread_mutex_lock(&events);
    while (e->done < ticket)
        pthread_cond_wait(&reached, &events);
    pthread_mutex_unlock(&events);
}

static void pass(void *what)
{
    struct mark *mark = what;
    await(mark->event, mark->ticket);
    free(mark);
}

static int mark(struct event *e, bool record, int device, void *stream)
{
    struct mark *m = malloc(sizeof *m);
    pthread_mutex_lock(&events);
    *m = (struct mark){e, record ? e->recorded + 1 : e->recorded};
    int code = gpu_stream_enqueue(device, stream, record ? reach : pass, m);
    if (code == OK && record)
        e->recorded++;
    pthread_mutex_unlock(&events);
    if (code != OK)
        free(m);
    return code;
}

int gpu_event_record(void *handle, int device, void *stream)
{
    struct event *e = event_of(handle);
    return e ? mark(e, true, device, stream) : INVALID_HANDLE;
}

int gpu_event_join(void *handle, int device, void *stream)
{
    struct event *e = event_of(handle);
    return e ? mark(e, false, device, stream) : INVALID_HANDLE;
}

int gpu_event_query(void *handle)
{
    struct event *e = event_of(handle);
    if (!e)
        return INVALID_HANDLE;
    pthread_mutex_lock(&events);
    int code = e->done == e->recorded ? OK : NOT_READY;
    pthread_mutex_unlock(&events);
    return code;
}

int gpu_event_wait(void *handle)
{
    struct event *e = event_of(handle);
    if (!e)
        return INVALID_HANDLE;
    await(e, e->recorded);
    return OK;
}

int gpu_event_elapsed(void *from, void *to, float *ms)
{
    struct event *a = event_of(from), *b = event_of(to);
    if (!a || !b || !ms)
        return INVALID_HANDLE;
    if (gpu_event_query(a) || gpu_event_query(b))
        return NOT_READY;
    *ms = (float)((double)(b->when.tv_sec - a->when.tv_sec) * 1e3 + (double)(b->when.tv_nsec - a->when.tv_nsec) / 1e6);
    return OK;
}

FAKE_EXPORT int fake_gpu_streams_live(void)
{
    int n = 0;
    for (int i = 0, all = n_streams; i < all; i++)
        n += streams[i] && streams[i]->live;
    for (int i = 0; i < MAX_GPUS; i++)
        n -= of_device[i] != NULL;
    return n;
}
