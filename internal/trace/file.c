/* The file, and what an event begins and ends with. */
#include "events.h"

#include "internal/cerr/error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
    BUFFER_BYTES = 1 << 16,
    LONGEST_MS = 100, /* lines older than this go to the file with the next one */
};

static struct {
    pthread_mutex_t lock;
    int fd; /* -1: not open */
    int rank;
    off_t written; /* without the end of the array, which every write puts behind what it wrote */
    int64_t write_time;
    size_t used;
    char buffer[BUFFER_BYTES];
} trace = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

int64_t rmpi_trace_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- under the lock ---- */

static void give_up(void)
{
    rmpi_log(REACTANT_MPI_LOG_WARN, "the trace ends here: its file cannot be written: %s", strerror(errno));
    close(trace.fd);
    __atomic_store_n(&trace.fd, -1, __ATOMIC_RELEASE);
}

/* A short write leaves the rest to the next round; the end of the array is written over by what comes next. */
static void write_out(void)
{
    static char end[] = "\n]\n";
    size_t done = 0;
    while (trace.fd >= 0 && done < trace.used + sizeof end - 1) {
        const size_t of_end = done > trace.used ? done - trace.used : 0, of_lines = done - of_end;
        struct iovec parts[2] = {{trace.buffer + of_lines, trace.used - of_lines}, {end + of_end, sizeof end - 1 - of_end}};
        const ssize_t n = pwritev(trace.fd, parts, 2, trace.written + (off_t)done);
        if (n > 0)
            done += (size_t)n;
        else if (n < 0 && errno != EINTR)
            give_up();
    }
    trace.written += (off_t)trace.used;
    trace.used = 0;
    trace.write_time = rmpi_trace_now();
}

static void add(const char *text, size_t n)
{
    if (trace.used + n > sizeof trace.buffer)
        write_out();
    memcpy(trace.buffer + trace.used, text, n);
    trace.used += n;
}

/* ---- lines ---- */

void rmpi_put_number(struct rmpi_line *l, int64_t value)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748"
                                "4950515253545556575859606162636465666768697071727374757677787980818283848586878889909192939495969798"
                                "99";
    char digits[20];
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
    size_t n = sizeof digits;
    for (; rest >= 10; rest /= 100)
        memcpy(digits + (n -= 2), pairs + 2 * (rest % 100), 2);
    if (rest || n == sizeof digits)
        digits[--n] = (char)('0' + rest);
    if (value < 0)
        l->text[l->used++] = '-';
    rmpi_put_bytes(l, digits + n, sizeof digits - n);
}

/* Nanoseconds as microseconds, which is what the format has. */
void rmpi_put_time(struct rmpi_line *l, int64_t ns)
{
    const int part = (int)(ns % 1000);
    const char digits[4] = {'.', (char)('0' + part / 100), (char)('0' + part / 10 % 10), (char)('0' + part % 10)};
    rmpi_put_number(l, ns / 1000);
    rmpi_put_bytes(l, digits, sizeof digits);
}

void rmpi_put_string(struct rmpi_line *l, const char *text)
{
    static const char hex[] = "0123456789abcdef";
    PUT(l, "\"");
    for (; *text && l->used < RMPI_LINE_BYTES / 2; text++) {
        const unsigned char byte = (unsigned char)*text;
        if (byte < ' ') {
            const char escape[6] = {'\\', 'u', '0', '0', hex[byte >> 4], hex[byte & 15]};
            rmpi_put_bytes(l, escape, sizeof escape);
            continue;
        }
        if (byte == '"' || byte == '\\')
            PUT(l, "\\");
        l->text[l->used++] = *text;
    }
    PUT(l, "\"");
}

/* The kernel's number of this thread, asked for once. */
static int64_t thread_number(void)
{
    static __thread __attribute__((tls_model("initial-exec"))) int tid;
    if (!tid)
        tid = (int)syscall(SYS_gettid);
    return tid;
}

int rmpi_line_begin(struct rmpi_line *l, const char *phase, const char *name, const char *category, int64_t time)
{
    if (__atomic_load_n(&trace.fd, __ATOMIC_ACQUIRE) < 0 || rmpi_forked())
        return 0;
    l->used = 0;
    PUT(l, ",\n{\"ph\":\"");
    PUT(l, phase);
    PUT(l, "\",\"name\":\"");
    PUT(l, name);
    PUT(l, "\",\"cat\":\"");
    PUT(l, category);
    PUT(l, "\",\"pid\":");
    rmpi_put_number(l, trace.rank);
    PUT(l, ",\"tid\":");
    rmpi_put_number(l, thread_number());
    PUT(l, ",\"ts\":");
    rmpi_put_time(l, time);
    return 1;
}

void rmpi_line_end(struct rmpi_line *l, int64_t now)
{
    PUT(l, "}}");
    pthread_mutex_lock(&trace.lock);
    if (trace.fd >= 0) {
        if (!trace.written && !trace.used)
            l->text[0] = '['; /* instead of the comma */
        add(l->text, l->used);
        if (now == 0 || now - trace.write_time > LONGEST_MS * INT64_C(1000000))
            write_out();
    }
    pthread_mutex_unlock(&trace.lock);
}

/* ---- the life of the file ---- */

void rmpi_trace_flush(void)
{
    if (rmpi_forked())
        return;
    pthread_mutex_lock(&trace.lock);
    if (trace.fd >= 0 && trace.used)
        write_out();
    pthread_mutex_unlock(&trace.lock);
}

__attribute__((destructor)) static void at_exit(void)
{
    rmpi_trace_flush();
}

static void say_who(int rank, int size, const char *host, const char *mpi)
{
    struct rmpi_line l;
    char name[128];
    snprintf(name, sizeof name, "rank %d of %d on %.64s", rank, size, host);
    if (rmpi_line_begin(&l, "M", "process_name", "", 0)) {
        PUT(&l, ",\"args\":{\"name\":");
        rmpi_put_string(&l, name);
        PUT_ARGUMENT(&l, "size", size);
        PUT(&l, ",\"host\":");
        rmpi_put_string(&l, host);
        PUT(&l, ",\"mpi\":");
        rmpi_put_string(&l, mpi);
        rmpi_line_end(&l, 0);
    }
    if (rmpi_line_begin(&l, "M", "process_sort_index", "", 0)) {
        PUT(&l, ",\"args\":{\"sort_index\":");
        rmpi_put_number(&l, rank);
        rmpi_line_end(&l, 0);
    }
}

int rmpi_trace_open(const char *dir, int rank, int size, const char *host, const char *mpi)
{
    char path[PATH_MAX];
    int fd;
    if (trace.fd >= 0) /* an earlier initialize of this process has; the caller lets in one at a time */
        return 0;
    if ((size_t)snprintf(path, sizeof path, "%s/rank-%d.json", dir, rank) >= sizeof path)
        return ENAMETOOLONG;
    mkdir(dir, 0777); /* if it cannot be made, the next line says so */
    if ((fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) < 0)
        return errno;
    trace.rank = rank;
    __atomic_store_n(&trace.fd, fd, __ATOMIC_RELEASE);
    rmpi_when_mpi_ends(rmpi_trace_flush);
    say_who(rank, size, host, mpi);
    return 0;
}

void rmpi_trace_comm(int id, const char *members)
{
    struct rmpi_line l;
    if (!rmpi_line_begin(&l, "i", "communicator", "reactant_mpi", rmpi_trace_now()))
        return;
    PUT(&l, ",\"s\":\"p\",\"args\":{\"comm\":");
    rmpi_put_number(&l, id);
    PUT(&l, ",\"members\":\"");
    pthread_mutex_lock(&trace.lock);
    add(l.text, l.used);
    for (size_t left = strlen(members), n; left > 0; members += n, left -= n) { /* longer than a line, with many ranks */
        n = left < BUFFER_BYTES / 2 ? left : BUFFER_BYTES / 2;
        add(members, n);
    }
    l.used = 0;
    PUT(&l, "\"}}");
    add(l.text, l.used);
    write_out();
    pthread_mutex_unlock(&trace.lock);
}

void rmpi_trace_clock(int reference, int64_t offset, int64_t round_trip)
{
    struct rmpi_line l;
    const int64_t now = rmpi_trace_now();
    if (!rmpi_line_begin(&l, "i", "clock", "reactant_mpi", now))
        return;
    PUT(&l, ",\"s\":\"p\",\"args\":{\"reference\":");
    rmpi_put_number(&l, reference);
    PUT_ARGUMENT(&l, "offset_ns", offset);
    PUT_ARGUMENT(&l, "round_trip_ns", round_trip);
    rmpi_line_end(&l, now);
}
