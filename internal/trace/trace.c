#include "trace.h"

#include "internal/cerr/error.h"
#include "internal/table/shapes.h"
#include "mpi/mpi.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
    BUFFER_BYTES = 1 << 16,
    EVENT_BYTES = 1024, /* more than any event of a call */
    THREADS = 64,
    LONGEST_MS = 100, /* events older than this go to the file with the next one */
};

static const struct {
    const char *name;
    unsigned rules;
} rows[] = {
#define COLLECTIVE(name, shape, ...) {#name, HAS_##shape},
#define VARIED COLLECTIVE
#define EXCHANGE COLLECTIVE
#define MESSAGE COLLECTIVE
#define PAIR COLLECTIVE
#define PROBE COLLECTIVE
#include "internal/table/rows.inc"
#include "internal/table/end.h"
};
static const struct {
    const char *name;
    unsigned bytes;
} types[] = {
#define TYPE(name, kind, bytes, ...) {#name, bytes},
#define OP(...)
#include "internal/table/types.inc"
#undef TYPE
#undef OP
};
static const char *const op_names[] = {
#define TYPE(...)
#define OP(name, ...) #name,
#include "internal/table/types.inc"
#undef TYPE
#undef OP
};

static struct {
    pthread_mutex_t lock;
    int fd; /* -1: not open */
    int rank;
    off_t written; /* without the end of the array, which every write puts behind what it wrote */
    int64_t write_time;
    size_t used;
    struct {
        pthread_t thread;
        uint64_t tid;
    } threads[THREADS];
    int thread_count;
    char buffer[BUFFER_BYTES];
} trace = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

int64_t rmpi_trace_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- the file ---- */

static void give_up(void)
{
    rmpi_log(REACTANT_MPI_LOG_WARN, "the trace ends here: its file cannot be written: %s", strerror(errno));
    close(trace.fd);
    trace.fd = -1;
}

/* A short write leaves the rest to the next round; the end of the array is written over by what comes next. */
static void write_out(void)
{
    static char end[] = "\n]\n";
    size_t done = 0;
    while (trace.fd >= 0 && done < trace.used + sizeof end - 1) {
        const size_t of_end = done > trace.used ? done - trace.used : 0;
        struct iovec parts[2] = {{trace.buffer + (done - of_end), trace.used - (done - of_end)}, {end + of_end, sizeof end - 1 - of_end}};
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

void rmpi_trace_flush(void)
{
    if (rmpi_forked())
        return;
    pthread_mutex_lock(&trace.lock);
    if (trace.fd >= 0 && trace.used)
        write_out();
    pthread_mutex_unlock(&trace.lock);
}

/* At exit and at the end of MPI, after which the launcher may end the process. */
__attribute__((destructor)) static void at_exit(void)
{
    rmpi_trace_flush();
}

/* ---- events: one line each, put together in the buffer under the lock ---- */

static void put(const char *text)
{
    const size_t n = strlen(text);
    memcpy(trace.buffer + trace.used, text, n);
    trace.used += n;
}

static void put_number(int64_t value)
{
    char digits[20];
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
    size_t n = sizeof digits;
    if (value < 0)
        trace.buffer[trace.used++] = '-';
    do
        digits[--n] = (char)('0' + rest % 10);
    while ((rest /= 10) != 0);
    memcpy(trace.buffer + trace.used, digits + n, sizeof digits - n);
    trace.used += sizeof digits - n;
}

/* Nanoseconds as microseconds, which is what the format has. */
static void put_time(int64_t ns)
{
    const int64_t part = ns % 1000;
    put_number(ns / 1000);
    trace.buffer[trace.used++] = '.';
    trace.buffer[trace.used++] = (char)('0' + part / 100);
    trace.buffer[trace.used++] = (char)('0' + part / 10 % 10);
    trace.buffer[trace.used++] = (char)('0' + part % 10);
}

/* In quotes; may be longer than an event. */
static void put_string(const char *text)
{
    static const char hex[] = "0123456789abcdef";
    trace.buffer[trace.used++] = '"';
    for (; *text; text++) {
        const unsigned char byte = (unsigned char)*text;
        if (trace.used + EVENT_BYTES > sizeof trace.buffer)
            write_out();
        if (byte == '"' || byte == '\\')
            trace.buffer[trace.used++] = '\\';
        if (byte >= ' ') {
            trace.buffer[trace.used++] = (char)byte;
        } else {
            put("\\u00");
            trace.buffer[trace.used++] = hex[byte >> 4];
            trace.buffer[trace.used++] = hex[byte & 15];
        }
    }
    trace.buffer[trace.used++] = '"';
}

static void put_argument(const char *name, int64_t value)
{
    put(",\"");
    put(name);
    put("\":");
    put_number(value);
}

static void put_word(const char *name, const char *value)
{
    put(",\"");
    put(name);
    put("\":");
    put_string(value);
}

/* The kernel's number of this thread, asked for once. */
static uint64_t thread_number(void)
{
    const pthread_t self = pthread_self();
    uint64_t tid;
    for (int i = 0; i < trace.thread_count; i++)
        if (pthread_equal(trace.threads[i].thread, self))
            return trace.threads[i].tid;
    tid = (uint64_t)syscall(SYS_gettid);
    if (trace.thread_count < THREADS) {
        trace.threads[trace.thread_count].thread = self;
        trace.threads[trace.thread_count++].tid = tid;
    }
    return tid;
}

/* 0: there is no file, or this process is not its owner. Else the lock is held until end_event. */
static int begin_event(const char *phase, const char *name, const char *category, int64_t time)
{
    if (rmpi_forked())
        return 0;
    pthread_mutex_lock(&trace.lock);
    if (trace.fd >= 0 && trace.used + EVENT_BYTES > sizeof trace.buffer)
        write_out();
    if (trace.fd < 0) {
        pthread_mutex_unlock(&trace.lock);
        return 0;
    }
    put(trace.written || trace.used ? ",\n{\"ph\":\"" : "[\n{\"ph\":\"");
    put(phase);
    put("\",\"name\":\"");
    put(name);
    put("\",\"cat\":\"");
    put(category);
    put("\",\"pid\":");
    put_number(trace.rank);
    put(",\"tid\":");
    put_number((int64_t)thread_number());
    put(",\"ts\":");
    put_time(time);
    return 1;
}

static void end_event(int64_t now)
{
    put("}}");
    if (now - trace.write_time > LONGEST_MS * INT64_C(1000000))
        write_out();
    pthread_mutex_unlock(&trace.lock);
}

int rmpi_trace_open(const char *dir, int rank, int size, const char *host, const char *mpi)
{
    char path[PATH_MAX], name[128];
    int fd, error = 0;
    if ((size_t)snprintf(path, sizeof path, "%s/rank-%d.json", dir, rank) >= sizeof path)
        return ENAMETOOLONG;
    pthread_mutex_lock(&trace.lock);
    if (trace.fd < 0) {
        mkdir(dir, 0777); /* if it cannot be made, the next line says so */
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        error = fd < 0 ? errno : 0;
        trace.fd = fd;
        trace.rank = rank;
    } else {
        fd = -1; /* an earlier initialize of this process has */
    }
    pthread_mutex_unlock(&trace.lock);
    if (fd < 0)
        return error;
    rmpi_when_mpi_ends(rmpi_trace_flush);
    snprintf(name, sizeof name, "rank %d of %d on %.64s", rank, size, host);
    if (begin_event("M", "process_name", "", 0)) {
        put(",\"args\":{\"name\":");
        put_string(name);
        put_argument("size", size);
        put_word("host", host);
        put_word("mpi", mpi);
        end_event(0);
    }
    if (begin_event("M", "process_sort_index", "", 0)) {
        put(",\"args\":{\"sort_index\":");
        put_number(rank);
        end_event(0);
    }
    rmpi_trace_flush();
    return 0;
}

void rmpi_trace_comm(int id, const char *members)
{
    const int64_t now = rmpi_trace_now();
    if (!begin_event("i", "communicator", "reactant_mpi", now))
        return;
    put(",\"s\":\"p\",\"args\":{\"comm\":");
    put_number(id);
    put_word("members", members);
    end_event(now);
}

void rmpi_trace_clock(int reference, int64_t offset, int64_t round_trip)
{
    const int64_t now = rmpi_trace_now();
    if (!begin_event("i", "clock", "reactant_mpi", now))
        return;
    put(",\"s\":\"p\",\"args\":{\"reference\":");
    put_number(reference);
    put_argument("offset_ns", offset);
    put_argument("round_trip_ns", round_trip);
    end_event(now);
}

static void put_peer(const char *name, const struct rmpi_comm *c, int peer)
{
    if (peer == (int)c->mpi->constant[RMPI_K_PROC_NULL])
        put_word(name, "none");
    else if (peer == (int)c->mpi->constant[RMPI_K_ANY_SOURCE])
        put_word(name, "any");
    else
        put_argument(name, peer);
}

/* What a message got is told where the caller asked for it. */
static void put_peers(unsigned rules, const struct rmpi_comm *c, const struct rmpi_call *a, int known)
{
    const reactant_mpi_status *status = known ? a->status : NULL;
    if (rules & HAS_DEST) {
        put_peer("dest", c, a->root);
        put_argument("tag", a->tag);
    }
    if (rules & HAS_SOURCE && status && status->source >= 0) {
        put_argument("source", status->source);
        put_argument("recv_tag", status->tag);
        put_argument("recv_bytes", (int64_t)status->bytes);
    } else if (rules & HAS_SOURCE) {
        put_peer("source", c, a->source);
        if (a->recv_tag != (int)c->mpi->constant[RMPI_K_ANY_TAG])
            put_argument("recv_tag", a->recv_tag);
    }
}

/* Of one rank's block, where an operation has blocks. */
static void put_amount(unsigned rules, const struct rmpi_call *a)
{
    const size_t count = rules & HAS_SOURCE && !(rules & HAS_DEST) ? a->recv_count : a->count;
    put_word("type", types[a->type].name);
    if (rules & HAS_OP)
        put_word("op", op_names[a->op]);
    put_argument("count", (int64_t)count);
    put_argument("bytes", (int64_t)(count * types[a->type].bytes));
}

void rmpi_trace_call(const struct rmpi_comm *c, const struct rmpi_call *a, int64_t begin, int64_t end, int code)
{
    const unsigned rules = rows[a->row].rules;
    const int message = rules & (HAS_SOURCE | HAS_DEST);
    if (!begin_event("X", rows[a->row].name, message ? "message" : "collective", begin))
        return;
    put(",\"dur\":");
    put_time(end - begin);
    put(",\"args\":{\"comm\":");
    put_number(rmpi_comm_number(c));
    put_argument("rank", c->rank);
    if (!message)
        put_argument("seq", (int64_t)c->sequence);
    if (rules & (HAS_SEND | HAS_RECV))
        put_amount(rules, a);
    if (rules & HAS_ROOT)
        put_argument("root", a->root);
    put_peers(rules, c, a, code == 0);
    if (code != 0)
        put_argument("code", code);
    end_event(end);
}
