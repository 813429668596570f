/* Whether the processes of this node's ranks still live. */
#define _GNU_SOURCE
#include "company.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

struct stat_line {
    char state;
    int threads;
    uint64_t started;
};

/* Of /proc/<pid>/stat, after the name, which may hold anything; 0 = it cannot be read. */
static int read_stat(int64_t pid, struct stat_line *out)
{
    char path[64], text[1024];
    const char *rest;
    ssize_t n;
    int fd;
    snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
    if ((fd = open(path, O_RDONLY | O_CLOEXEC)) < 0)
        return 0;
    n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return 0;
    text[n] = 0;
    rest = strrchr(text, ')');
    return rest && sscanf(rest + 1,
                          " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d %*d %" SCNu64, &out->state,
                          &out->threads, &out->started) == 3;
}

void rmpi_sign(struct rmpi_slot *slot)
{
    struct stat_line line = {0, 0, 0};
    struct stat ns;
    read_stat(getpid(), &line);
    slot->started = line.started;
    slot->pids = stat("/proc/self/ns/pid", &ns) == 0 ? ns.st_ino : 0;
    __atomic_store_n(&slot->pid, getpid(), __ATOMIC_RELEASE);
}

static int in_sight(const struct rmpi_company *c, const struct rmpi_slot *slot)
{
    return slot && __atomic_load_n(&slot->pid, __ATOMIC_ACQUIRE) > 0 && slot->pids == c->own->pids && slot->pids != 0;
}

int rmpi_process_vanished(const struct rmpi_company *c, const struct rmpi_slot *slot)
{
    return in_sight(c, slot) && kill((pid_t)slot->pid, 0) != 0 && errno == ESRCH;
}

int rmpi_company_broken(const struct rmpi_company *c)
{
    for (int r = 0; c && r < c->size; r++) {
        const struct rmpi_slot *slot = c->member[r].slot;
        if (r != c->rank && slot &&
            (__atomic_load_n(&slot->at.now, __ATOMIC_ACQUIRE) & RMPI_NOW_GAVE_UP || rmpi_process_of(c, slot) == RMPI_GONE))
            return 1;
    }
    return 0;
}

enum rmpi_process rmpi_process_of(const struct rmpi_company *c, const struct rmpi_slot *slot)
{
    struct stat_line line;
    if (!in_sight(c, slot))
        return RMPI_OUT_OF_SIGHT;
    if (rmpi_process_vanished(c, slot))
        return RMPI_GONE;
    if (!read_stat(slot->pid, &line))
        return RMPI_OUT_OF_SIGHT;
    if (line.started != slot->started)
        return RMPI_GONE;
    /* A process whose first thread has ended looks like one that has ended, but for its other threads. */
    if (line.state == 'X' || (line.state == 'Z' && line.threads <= 1))
        return RMPI_GONE;
    return line.state == 'T' || line.state == 't' ? RMPI_STOPPED : RMPI_RUNNING;
}
