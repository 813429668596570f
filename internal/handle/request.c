#include "handle.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

/* Freed slots are used again oldest first, and not before there are REST of them: an old handle is recognised for long, and a program
 * with few requests touches little memory. Making and freeing a request takes a lock; running one does not. */
enum { REST = 1024, PHASES = 4 };
static struct rmpi_request requests[RMPI_REQUEST_SLOTS];
static uint16_t freed[RMPI_REQUEST_SLOTS]; /* ring of slots given back */
static unsigned unused_from, freed_from, freed_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

_Static_assert(RMPI_REQUEST_SLOTS <= 1 << 16, "slots are numbered in 16 bits");

struct rmpi_request *rmpi_request_new(struct rmpi_comm *c, void **word)
{
    struct rmpi_request *r = NULL;
    uint32_t generation;
    pthread_mutex_lock(&lock);
    if (freed_count < REST && unused_from < RMPI_REQUEST_SLOTS) {
        r = &requests[unused_from++];
    } else if (freed_count) {
        r = &requests[freed[freed_from]];
        freed_from = (freed_from + 1) % RMPI_REQUEST_SLOTS;
        freed_count--;
    }
    pthread_mutex_unlock(&lock);
    if (!r)
        return NULL;
    generation = __atomic_load_n(&r->phase, __ATOMIC_RELAXED) / PHASES + 1;
    __atomic_store_n(&r->phase, generation * PHASES + RMPI_REQUEST_GONE, __ATOMIC_RELAXED);
    __atomic_store_n(&r->comm, c, __ATOMIC_RELAXED);
    *word = (char *)r + generation % RMPI_REQUEST_BYTES;
    return r;
}

/* The slot that a word means, and its phase word if that is of the same generation. */
static struct rmpi_request *find(const void *word, uint32_t *phase)
{
    uintptr_t offset = (uintptr_t)word - (uintptr_t)requests;
    struct rmpi_request *r;
    if (offset >= sizeof requests)
        return NULL;
    r = &requests[offset / RMPI_REQUEST_BYTES];
    *phase = __atomic_load_n(&r->phase, __ATOMIC_ACQUIRE);
    return *phase / PHASES % RMPI_REQUEST_BYTES == offset % RMPI_REQUEST_BYTES ? r : NULL;
}

uint32_t rmpi_request_token(const void *word)
{
    return (uint32_t)((uintptr_t)word - (uintptr_t)requests) + RMPI_FIRST_TOKEN;
}

void *rmpi_request_of_token(uint32_t token)
{
    return token - RMPI_FIRST_TOKEN < sizeof requests ? (char *)requests + (token - RMPI_FIRST_TOKEN) : NULL;
}

enum rmpi_phase rmpi_request_look(const void *word, struct rmpi_request **r)
{
    uint32_t phase;
    *r = find(word, &phase);
    return *r ? phase % PHASES : RMPI_REQUEST_GONE;
}

/* The one that rmpi_requests_visit is at: who finds it taken waits for the end of the visit. */
static struct rmpi_request *visited;
static pthread_mutex_t visits = PTHREAD_MUTEX_INITIALIZER;

struct rmpi_request *rmpi_request_take(const void *word, enum rmpi_phase from)
{
    for (;;) {
        uint32_t phase;
        struct rmpi_request *r = find(word, &phase);
        if (!r)
            return NULL;
        if (phase % PHASES == from) {
            if (__atomic_compare_exchange_n(&r->phase, &phase, phase - from + RMPI_REQUEST_TAKEN, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
                return r;
            if (phase % PHASES != RMPI_REQUEST_TAKEN)
                return NULL;
        }
        if (phase % PHASES != RMPI_REQUEST_TAKEN)
            return NULL;
        if (__atomic_load_n(&visited, __ATOMIC_ACQUIRE) == r)
            sched_yield();
        else if (__atomic_load_n(&r->phase, __ATOMIC_ACQUIRE) == phase) /* and not a visit that has just ended */
            return NULL;
    }
}

void rmpi_request_give(struct rmpi_request *r, enum rmpi_phase to)
{
    const uint32_t phase = __atomic_load_n(&r->phase, __ATOMIC_RELAXED);
    __atomic_store_n(&r->phase, phase - phase % PHASES + to, __ATOMIC_RELEASE);
}

int rmpi_requests_visit(const struct rmpi_comm *of, void (*visit)(struct rmpi_request *, void *), void *arg)
{
    unsigned used;
    int busy = 0;
    pthread_mutex_lock(&lock);
    used = unused_from;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&visits);
    for (struct rmpi_request *r = requests; r < requests + used; r++) {
        uint32_t phase = __atomic_load_n(&r->phase, __ATOMIC_ACQUIRE);
        if (of && __atomic_load_n(&r->comm, __ATOMIC_RELAXED) != of)
            continue;
        if (phase % PHASES == RMPI_REQUEST_STARTED) {
            __atomic_store_n(&visited, r, __ATOMIC_RELEASE);
            if (__atomic_compare_exchange_n(&r->phase, &phase, phase - phase % PHASES + RMPI_REQUEST_TAKEN, 0, __ATOMIC_ACQ_REL,
                                            __ATOMIC_RELAXED))
                visit(r, arg);
            __atomic_store_n(&visited, NULL, __ATOMIC_RELEASE);
        }
        busy += phase % PHASES == RMPI_REQUEST_TAKEN; /* the exchange may have found that, too */
    }
    pthread_mutex_unlock(&visits);
    return busy;
}

void rmpi_request_recycle(const struct rmpi_request *r)
{
    pthread_mutex_lock(&lock);
    freed[(freed_from + freed_count++) % RMPI_REQUEST_SLOTS] = (uint16_t)(r - requests);
    pthread_mutex_unlock(&lock);
}
