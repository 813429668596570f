/*
 * How the ranks of a communicator of the doubles of libnccl and librccl find each other: a file in /dev/shm (or FAKE_NCCL_DIR) named
 * by the unique id, mapped by every rank and unlinked when all have it. Everything is atomics in it and one bell (a futex).
 * Not modelled: sockets, network interfaces, several machines (NCCL_HOSTID makes ranks claim other hosts), the root's thread and
 * socket that a real id costs (fake_nccl_unique_ids counts ids instead).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "nccl.h"

#define PREFIX "fake_nccl_"

static atomic_int ids;

static uint64_t hash(const void *bytes, size_t n, uint64_t h)
{
    for (const unsigned char *p = bytes; n--; p++)
        h = (h ^ *p) * 1099511628211u;
    return h;
}

static const uint64_t SEED = 14695981039346656037u;

static const char *folder(void)
{
    const char *dir = fake_env("FAKE_NCCL_DIR");
    return dir && *dir ? dir : "/dev/shm";
}

static void path_of(const char *name, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%.3900s/" PREFIX "%.64s", folder(), name);
}

/* ---- processes ---- */

/* State and start of a process, 0 if there is none. A zombie has stopped running: whoever started it need not have noticed. */
static uint64_t stat_of(int pid, char *state)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return 0;
    text[n] = 0;
    char *at = strrchr(text, ')');
    unsigned long long start = 0;
    if (!at || sscanf(at + 2, "%c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu", state, &start) != 2)
        return 0;
    return start;
}

uint64_t process_born(int pid)
{
    char state;
    return stat_of(pid, &state);
}

static bool process_alive(int pid, uint64_t born)
{
    char state = 'X';
    return stat_of(pid, &state) == born && state != 'Z' && state != 'X';
}

/* Asked twice: it may leave and end between the questions. */
bool peer_gone(const struct peer *peer)
{
    return peer->state == ARRIVED && !process_alive(peer->pid, peer->born) && peer->state == ARRIVED;
}

uint64_t host_hash(void)
{
    const char *id = fake_env("FAKE_HOST");
    if (!id || !*id)
        id = getenv("NCCL_HOSTID");
    if (id && *id)
        return hash(id, strlen(id), SEED);
    char text[256] = {0};
    gethostname(text, 128);
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        if (read(fd, text + 128, 64) < 0)
            text[128] = 0;
        close(fd);
    }
    return hash(text, sizeof text, SEED);
}

/* ---- ids ---- */

/* Files of ids whose maker has gone, a minute old or more. */
static void sweep(void)
{
    DIR *dir = opendir(folder());
    struct dirent *entry;
    while (dir && (entry = readdir(dir)) != NULL) {
        int pid;
        unsigned long long born;
        struct stat st;
        if (sscanf(entry->d_name, PREFIX "%d-%llu-", &pid, &born) != 2 || process_alive(pid, born))
            continue;
        if (fstatat(dirfd(dir), entry->d_name, &st, 0) == 0 && time(NULL) - st.st_mtime > 60)
            unlinkat(dirfd(dir), entry->d_name, 0);
    }
    if (dir)
        closedir(dir);
}

/* A mark, a name, random bytes up to the last 8, and a sum: a byte lost on the way shows. */
ncclResult_t unique_id(ncclUniqueId *id)
{
    static const char mark[8] = "\xf2" "akenccl";
    if (!ids++)
        sweep();
    uint64_t random;
    if (getrandom(&random, sizeof random, 0) < 0 || getrandom(id, sizeof *id, 0) < 0)
        return fail(SYSTEM_ERROR, "ncclGetUniqueId: no random bytes");
    memcpy(id->internal, mark, 8);
    snprintf(id->internal + 8, 56, "%d-%llu-%016llx", (int)getpid(), (unsigned long long)process_born(getpid()),
             (unsigned long long)random);
    uint64_t sum = hash(id, 120, SEED);
    memcpy(id->internal + 120, &sum, 8);
    return SUCCESS;
}

bool unique_id_name(const ncclUniqueId *id, char name[64])
{
    uint64_t sum;
    memcpy(&sum, id->internal + 120, 8);
    if (memcmp(id->internal, "\xf2" "akenccl", 8) != 0 || sum != hash(id, 120, SEED))
        return false;
    snprintf(name, 64, "%.55s", id->internal + 8);
    return true;
}

void derived_name(const char *parent, uint64_t sequence, int color, char name[64])
{
    uint64_t h = hash(&color, sizeof color, hash(&sequence, sizeof sequence, hash(parent, strlen(parent), SEED)));
    int n = (int)(strrchr(parent, '-') - parent);
    snprintf(name, 64, "%.*s-%016llx", n, parent, (unsigned long long)h);
}

FAKE_EXPORT int fake_nccl_unique_ids(void)
{
    return ids;
}

/* ---- the segment ---- */

static size_t peers_end(int n)
{
    return (sizeof(struct segment) + sizeof(struct peer) * (size_t)n + 4095) / 4096 * 4096;
}

static size_t boxes_at(int n)
{
    return peers_end(n) + (size_t)n * CHUNK;
}

int segment_open(ncclComm_t comm, const char *name)
{
    char path[PATH_MAX];
    path_of(name, path);
    comm->bytes = boxes_at(comm->nranks) + (size_t)comm->nranks * (size_t)comm->nranks * sizeof(struct box);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct stat st;
    if (fd < 0)
        return fail(SYSTEM_ERROR, "cannot open %s: %s", path, strerror(errno));
    if (fstat(fd, &st) == 0 && (size_t)st.st_size < comm->bytes && ftruncate(fd, (off_t)comm->bytes) != 0) {
        close(fd);
        return fail(SYSTEM_ERROR, "cannot extend %s: %s", path, strerror(errno));
    }
    void *at = mmap(NULL, comm->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (at == MAP_FAILED)
        return fail(SYSTEM_ERROR, "cannot map %s: %s", path, strerror(errno));
    comm->segment = at;
    return SUCCESS;
}

void segment_close(ncclComm_t comm)
{
    if (comm->segment)
        munmap(comm->segment, comm->bytes);
    comm->segment = NULL;
}

void segment_unlink(ncclComm_t comm)
{
    char path[PATH_MAX];
    path_of(comm->name, path);
    unlink(path);
}

/* Files of communicators that this process waits for, so that an end before they are complete leaves none. */
static char waiting[64][64];
static pthread_mutex_t waiting_lock = PTHREAD_MUTEX_INITIALIZER;

void segment_waits(ncclComm_t comm, bool waits)
{
    pthread_mutex_lock(&waiting_lock);
    for (int i = 0; i < 64; i++) {
        if (strcmp(waiting[i], waits ? "" : comm->name) != 0)
            continue;
        strcpy(waiting[i], waits ? comm->name : "");
        break;
    }
    pthread_mutex_unlock(&waiting_lock);
}

__attribute__((destructor)) static void clean(void)
{
    char path[PATH_MAX];
    for (int i = 0; i < 64; i++) {
        path_of(waiting[i], path);
        if (*waiting[i])
            unlink(path);
    }
}

char *segment_slot(ncclComm_t comm, int rank)
{
    return (char *)comm->segment + peers_end(comm->nranks) + (size_t)rank * CHUNK;
}

struct box *segment_box(ncclComm_t comm, int from, int to)
{
    return (struct box *)((char *)comm->segment + boxes_at(comm->nranks)) + from * comm->nranks + to;
}

void ring(ncclComm_t comm)
{
    atomic_fetch_add(&comm->segment->bell, 1);
    syscall(SYS_futex, &comm->segment->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Until the bell rings, or a little while: the own abort is no ring. */
void doze(ncclComm_t comm, uint32_t seen)
{
    struct timespec little = {0, 50 * 1000000};
    syscall(SYS_futex, &comm->segment->bell, FUTEX_WAIT, seen, &little, NULL, 0);
}

/* All ranks, each time; the last rings. */
bool meet(ncclComm_t comm, atomic_ulong *counter, uint64_t *mine)
{
    bool aborted = false;
    uint64_t all = ++*mine * (uint64_t)comm->nranks;
    if (atomic_fetch_add(counter, 1) + 1 == all)
        ring(comm);
    WAIT_UNTIL(comm, *counter >= all, aborted);
    return !aborted;
}
