/* Waiting for another thread: awake for a short time, since it is often on its way, then asleep. */
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "group.h"

/* Where every device on this host has a core of its own; else a core is soon needed by the one that is waited for. */
#define AWAKE_NS         50000
#define AWAKE_CROWDED_NS 5000

static int64_t awake_ns = AWAKE_CROWDED_NS;

void waiting_prepare(int devices_on_host)
{
    cpu_set_t cores;
    if (!sched_getaffinity(0, sizeof cores, &cores) && CPU_COUNT(&cores) > devices_on_host)
        awake_ns = AWAKE_NS;
}

int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

int64_t deadline_after(int timeout_ms)
{
    return timeout_ms ? now_ns() + timeout_ms * INT64_C(1000000) : 0;
}

static bool changed(_Atomic uint32_t *word, uint32_t was)
{
    return (atomic_load_explicit(word, memory_order_acquire) ^ was) > 1;
}

bool word_wait(_Atomic uint32_t *word, uint32_t was, int64_t deadline)
{
    const int64_t start = now_ns();
    do {
        if (changed(word, was))
            return true;
        sched_yield();
    } while (now_ns() - start < awake_ns);
    for (;;) {
        uint32_t value = was;
        if (!atomic_compare_exchange_strong(word, &value, was | 1) && value != (was | 1))
            return true;
        struct timespec left, *limit = NULL;
        if (deadline) {
            const int64_t ns = deadline - now_ns();
            if (ns <= 0)
                return changed(word, was);
            left = (struct timespec){ns / 1000000000, ns % 1000000000};
            limit = &left;
        }
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, was | 1, limit, NULL, 0);
        if (changed(word, was))
            return true;
    }
}

void word_change(_Atomic uint32_t *word)
{
    uint32_t was = atomic_load_explicit(word, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(word, &was, (was & ~1u) + 2))
        ;
    if (was & 1)
        syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}
