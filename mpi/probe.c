#define _GNU_SOURCE
#include "mpi/mpi.h"

#include "internal/handle/handle.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int64_t rmpi_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t rmpi_pace(int turn, int64_t *start)
{
    int64_t waited;
    if (turn < 50)
        return 0;
    if (turn == 50)
        *start = rmpi_now_ms();
    waited = rmpi_now_ms() - *start;
    if (waited < 20) {
        sched_yield();
    } else {
        struct timespec nap = {0, waited < 1000 ? 100000 : 1000000};
        nanosleep(&nap, NULL);
    }
    return waited;
}

/* With SERIALIZED this thread has MPI for itself: others may call while it waits. */
static int64_t pause_outside(int turn, int64_t *start)
{
    const int inside = rmpi_is_inside();
    int64_t waited;
    if (inside)
        rmpi_leave();
    waited = rmpi_pace(turn, start);
    if (inside)
        rmpi_enter();
    return waited;
}

static int poll(int (*look)(const struct rmpi_mpi *, void *, int *), const struct rmpi_mpi *m, void *what, int64_t timeout_ms, int *rc)
{
    int64_t start = 0;
    for (int turn = 0;; turn++) {
        int done = 0;
        *rc = look(m, what, &done);
        if (*rc != 0)
            return 2;
        if (done)
            return 0;
        if (pause_outside(turn, &start) >= timeout_ms && timeout_ms > 0)
            return 1;
    }
}

int rmpi_wait(const struct rmpi_mpi *m, void *request, int64_t timeout_ms, int *rc)
{
    return poll(m->control->test, m, request, timeout_ms, rc);
}

struct empty {
    uint64_t comm;
    int source, tag, other; /* either tag */
};

static int look_for(const struct rmpi_mpi *m, void *what, int *there)
{
    struct empty *e = what;
    int rc = m->control->iprobe(m, e->comm, e->source, e->tag, there);
    if (rc != 0 || *there)
        return rc;
    rc = m->control->iprobe(m, e->comm, e->source, e->other, there);
    if (rc == 0 && *there)
        e->tag = e->other;
    return rc;
}

int rmpi_await(const struct rmpi_mpi *m, uint64_t comm, int source, int *tag, int other, int64_t timeout_ms, int *rc)
{
    struct empty e = {comm, source, *tag, other};
    int end = poll(look_for, m, &e, timeout_ms, rc);
    *tag = e.tag;
    if (end == 0 && (*rc = m->control->recv_empty(m, comm, source, e.tag)) != 0)
        return 2;
    return end;
}

int rmpi_noticed(void *notice)
{
    const struct rmpi_notice *n = notice;
    int there = 0;
    return n->mpi->control->iprobe(n->mpi, n->comm, -1, n->tag, &there) == 0 && there;
}

int rmpi_is_peer_failure(const struct rmpi_mpi *m, int rc)
{
    const uint64_t *constant = m->constant;
    int class = -2;
    return m->control->error_class(m, rc, &class) == 0 &&
           (class == (int)constant[RMPI_K_ERR_PROC_FAILED] || class == (int)constant[RMPI_K_ERR_PROC_FAILED_PENDING] ||
            class == (int)constant[RMPI_K_ERR_REVOKED]);
}

void rmpi_mpi_error_text(const struct rmpi_mpi *m, int rc, char text[RMPI_STRING_BYTES])
{
    text[0] = 0;
    if (m->control->error_string(m, rc, text) != 0 || !text[0])
        snprintf(text, RMPI_STRING_BYTES, "no text");
    for (char *end = text + strlen(text); end > text && (end[-1] == '\n' || end[-1] == ' ');)
        *--end = 0;
}

/* The kernel says so without a signal: writing to a pipe from an unreadable address gives EFAULT. */
int rmpi_peek(uint64_t address, uint64_t *word)
{
    int ends[2], ok;
    if (address % sizeof *word || pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return 0;
    ok = write(ends[1], (const void *)(uintptr_t)address, sizeof *word) == sizeof *word &&
         read(ends[0], word, sizeof *word) == sizeof *word;
    close(ends[0]);
    close(ends[1]);
    return ok;
}

int rmpi_abi_version(void *function, int *major, int *minor)
{
    int (*get)(int *, int *) = function;
    *major = *minor = -1;
    return get(major, minor);
}

void rmpi_version_text(void *function, char text[RMPI_STRING_BYTES])
{
    int (*get)(char *, int *) = function;
    int n = 0;
    text[0] = 0;
    get(text, &n);
    text[RMPI_STRING_BYTES - 1] = 0;
}

int rmpi_flag(void *function)
{
    int (*get)(int *) = function;
    int flag = 0;
    get(&flag);
    return flag;
}
