#include "handle.h"

#include "internal/cerr/error.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Zero pages of the .so: a slot costs memory from its first use on. Slot 0 stays empty, since id 0 is NULL. */
struct rmpi_comm rmpi_comms[RMPI_COMM_SLOTS];

static int highest; /* highest id ever claimed */

/* Compiled code could not tell such a number from MPI_COMM_NULL, WORLD or SELF. */
static int means_another(int id)
{
    return id >= RMPI_FIRST_COMM_WORD && id <= RMPI_LAST_COMM_WORD;
}

int rmpi_comm_next(void)
{
    const int next = __atomic_load_n(&highest, __ATOMIC_ACQUIRE) + 1;
    return means_another(next) ? RMPI_LAST_COMM_WORD + 1 : next;
}

int rmpi_comm_claim(int id)
{
    uint32_t expected = RMPI_FREE;
    int seen = __atomic_load_n(&highest, __ATOMIC_RELAXED);
    if (id <= 0 || id >= RMPI_COMM_SLOTS || means_another(id) ||
        !__atomic_compare_exchange_n(&rmpi_comms[id].state, &expected, RMPI_CLAIMED, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return 0;
    while (seen < id && !__atomic_compare_exchange_n(&highest, &seen, id, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        ;
    return 1;
}

void rmpi_comm_unclaim(int id)
{
    __atomic_store_n(&rmpi_comms[id].state, RMPI_FREE, __ATOMIC_RELEASE);
}

void rmpi_comm_set_state(struct rmpi_comm *c, uint32_t state)
{
    __atomic_store_n(&c->state, state, __ATOMIC_RELEASE);
}

struct rmpi_comm *rmpi_predefined_comms[2];

/* The first that lives keeps the place. */
static void take_place(struct rmpi_comm *c, int self)
{
    struct rmpi_comm *there = rmpi_predefined(self);
    do {
        if (there && rmpi_comm_state(there) == RMPI_LIVE)
            return;
    } while (!__atomic_compare_exchange_n(&rmpi_predefined_comms[self], &there, c, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
}

/* The oldest that lives, with one of the bits if any are wanted. */
static struct rmpi_comm *oldest(uint32_t bits)
{
    const int last = __atomic_load_n(&highest, __ATOMIC_ACQUIRE);
    for (int id = 1; id <= last; id++)
        if (rmpi_comm_state(&rmpi_comms[id]) == RMPI_LIVE && (!bits || rmpi_comms[id].predefined & bits))
            return &rmpi_comms[id];
    return NULL;
}

struct rmpi_comm *rmpi_look_for_predefined(int self)
{
    struct rmpi_comm *c = oldest(1u << self);
    if (c)
        take_place(c, self);
    return c;
}

struct rmpi_comm *rmpi_comm_any(void)
{
    struct rmpi_comm *c = rmpi_predefined(0);
    return c && rmpi_comm_state(c) == RMPI_LIVE ? c : oldest(0);
}

void rmpi_comm_publish(struct rmpi_comm *c)
{
    rmpi_comm_set_state(c, RMPI_LIVE);
    for (int self = 0; self < 2; self++)
        if (c->predefined >> self & 1)
            take_place(c, self);
}

void rmpi_comms_all_become(uint32_t state)
{
    int last = __atomic_load_n(&highest, __ATOMIC_ACQUIRE);
    for (int id = 1; id <= last; id++) {
        uint32_t live = RMPI_LIVE;
        __atomic_compare_exchange_n(&rmpi_comms[id].state, &live, state, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    }
}

enum { AT_END = 4 };
static void (*at_end[AT_END])(void);

void rmpi_when_mpi_ends(void (*also)(void))
{
    for (int i = 0; i < AT_END; i++) {
        void (*there)(void) = NULL;
        if (__atomic_compare_exchange_n(&at_end[i], &there, also, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) || there == also)
            return;
    }
}

void rmpi_mpi_ends(void)
{
    if (rmpi_forked()) /* the parent's communicators, and locks that nobody here will open */
        return;
    rmpi_comms_all_become(RMPI_ENDED);
    for (int i = 0; i < AT_END; i++) {
        void (*also)(void) = __atomic_load_n(&at_end[i], __ATOMIC_ACQUIRE);
        if (also)
            also();
    }
}

/* The codes after which a communicator takes no more calls. */
static int ends(int code)
{
    return code == REACTANT_MPI_ERR_TIMEOUT || code == REACTANT_MPI_ERR_PEER;
}

/* An earlier text stays where it is: another thread may be reading it. */
void rmpi_comm_latch(struct rmpi_comm *c, int code, const char *text)
{
    int32_t seen = __atomic_load_n(&c->error, __ATOMIC_ACQUIRE);
    do {
        if (seen != 0 && (ends(seen) || !ends(code)))
            return;
    } while (!__atomic_compare_exchange_n(&c->error, &seen, code, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
    __atomic_store_n(&c->error_text, strdup(text), __ATOMIC_RELEASE);
}

void rmpi_comm_out_of_step(struct rmpi_comm *c)
{
    __atomic_fetch_or(&c->modes, RMPI_OUT_OF_STEP, __ATOMIC_RELEASE);
}

int rmpi_comm_is_out_of_step(const struct rmpi_comm *c)
{
    return (__atomic_load_n(&c->modes, __ATOMIC_ACQUIRE) & RMPI_OUT_OF_STEP) != 0;
}

void rmpi_comm_set_timeout(struct rmpi_comm *c, int32_t timeout_ms, struct rmpi_company *company)
{
    if (timeout_ms > 0) {
        c->company = company;
        c->timeout_ms = timeout_ms;
        __atomic_fetch_or(&c->modes, RMPI_TIMEOUT, __ATOMIC_RELEASE);
    } else { /* a thread that waits may still read the time */
        __atomic_fetch_and(&c->modes, ~(uint32_t)RMPI_TIMEOUT, __ATOMIC_RELEASE);
    }
}

static uintptr_t inside; /* the thread that has MPI, 0 = none */

static uintptr_t self(void)
{
    return (uintptr_t)pthread_self();
}

int rmpi_is_inside(void)
{
    return __atomic_load_n(&inside, __ATOMIC_RELAXED) == self();
}

void rmpi_enter(void)
{
    for (int turn = 0;; turn++) {
        uintptr_t nobody = 0;
        if (__atomic_compare_exchange_n(&inside, &nobody, self(), 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return;
        if (turn < 1000) {
            sched_yield();
        } else {
            struct timespec nap = {0, 50000};
            nanosleep(&nap, NULL);
        }
    }
}

void rmpi_leave(void)
{
    __atomic_store_n(&inside, 0, __ATOMIC_RELEASE);
}

/* A forked child must not use MPI: its copies of the communicators answer with code 20. Nothing but stores here. */
static void in_child(void)
{
    rmpi_mark_forked();
    rmpi_comms_all_become(RMPI_FORKED);
}

__attribute__((constructor)) static void watch_fork(void)
{
    pthread_atfork(NULL, NULL, in_child);
}
