#include "handle.h"

#include <pthread.h>
#include <string.h>

/* Freed slots are used again oldest first, and not before there are REST of them: an old handle is recognised for long, and a program
 * with few requests touches little memory. Making and freeing a request takes a lock; running one does not. */
enum { REST = 1024 };
static struct rmpi_request requests[RMPI_REQUEST_SLOTS];
static uint16_t freed[RMPI_REQUEST_SLOTS]; /* ring of slots given back */
static unsigned unused_from, freed_from, freed_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

_Static_assert(RMPI_REQUEST_SLOTS <= 1 << 16, "slots are numbered in 16 bits");

struct rmpi_request *rmpi_request_new(struct rmpi_comm *c, void **word)
{
    struct rmpi_request *r = NULL;
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
    r->generation++;
    r->comm = c;
    *word = (char *)r + r->generation % RMPI_REQUEST_BYTES;
    return r;
}

struct rmpi_request *rmpi_request_live(const void *word)
{
    uintptr_t offset = (uintptr_t)word - (uintptr_t)requests;
    struct rmpi_request *r;
    if (offset >= sizeof requests)
        return NULL;
    r = &requests[offset / RMPI_REQUEST_BYTES];
    return __atomic_load_n(&r->live, __ATOMIC_ACQUIRE) && r->generation % RMPI_REQUEST_BYTES == offset % RMPI_REQUEST_BYTES ? r : NULL;
}

int rmpi_request_drop(const void *word)
{
    struct rmpi_request *r = rmpi_request_live(word);
    uint32_t live = 1;
    return r && __atomic_compare_exchange_n(&r->live, &live, 0, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void rmpi_request_recycle(const struct rmpi_request *r)
{
    pthread_mutex_lock(&lock);
    freed[(freed_from + freed_count++) % RMPI_REQUEST_SLOTS] = (uint16_t)(r - requests);
    pthread_mutex_unlock(&lock);
}
