/*
 * Calls under a timeout where one rank does not come. The first argument is what it does instead; the rank is 1. The others must get the
 * code, within the time, with a text that says who has arrived, who has not, and where that one is; another communicator must go on, and
 * every process must end by itself, without help.
 *
 *   sleeps           it comes later; elsewhere (second argument): no rank shares a board with another
 *   other-call       it makes another collective
 *   other-comm       it waits on another communicator
 *   elsewhere-busy   the same, and it waits for something else on the same communicator
 *   silent           it does not send what rank 0 receives
 *   started          the others wait for a call that they have started
 *   wait-for         it comes late, and the others wait a while, and again; without a timeout, and (second argument) with one
 *   killed, killed-messages, stopped, shrink      deadlines_peers.h
 *   agreement        nobody is missing: values that differ, wrong values, children, time taken away, data that are right
 *   by-option        the same of call_timeout_ms
 */
#include "check.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>

enum { LIMIT_MS = 800, HANG_MS = 20000, MISSING = 1, EARLIER = 3 };
#define I64 REACTANT_MPI_INT64

static reactant_mpi_comm *comm, *other;
static int rank, size;
static char host[256];
static int64_t pids[64];

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void nap_ms(int ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
    while (nanosleep(&t, &t) != 0)
        ;
}

static void contains(const char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void contains(const char *text, const char *format, ...)
{
    char want[512];
    va_list list;
    va_start(list, format);
    vsnprintf(want, sizeof want, format, list);
    va_end(list);
    CHECK(strstr(text, want), "'%s' in: %s", want, text);
}

/* The ranks but the missing one, as a text names them: "rank 0" or "ranks 0, 2, 3". */
static const char *present(void)
{
    static char text[128];
    int n = snprintf(text, sizeof text, "Arrived: rank%s 0", size > 2 ? "s" : "");
    for (int r = 2; r < size; r++)
        n += snprintf(text + n, sizeof text - (size_t)n, ", %d", r);
    return text;
}

static void begin(void)
{
    comm = reactant_mpi_initialize(REACTANT_MPI_COMM_WORLD);
    NEED(comm, "%s", reactant_mpi_last_error());
    check_rank = rank = reactant_mpi_rank(comm);
    size = reactant_mpi_size(comm);
    NEED(size >= 2 && size <= 64, "2 to 64 ranks, not %d", size);
    NEED(gethostname(host, sizeof host) == 0, "");
    int64_t pid = getpid();
    OK(reactant_mpi_allgather(&pid, pids, 1, I64, comm));
    OK(reactant_mpi_comm_split(comm, 0, rank, &other));
}

/* Three collectives, all of them in time. */
static void warm_up(void)
{
    int64_t x = rank == 0 ? 77 : 0;
    OK(reactant_mpi_barrier(comm));
    OK(reactant_mpi_barrier(comm));
    OK(reactant_mpi_bcast(&x, 1, I64, 0, comm));
    CHECK(x == 77, "%lld", (long long)x);
}

/* /dev/shm of this process alone: what others make there cannot be opened. */
static void be_elsewhere(void)
{
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", "/dev/shm", "tmpfs", 0, NULL) != 0) {
        printf("no right to mount\n");
        fflush(stdout);
        _exit(0);
    }
}

static int64_t bcast_word;

/* A call that must fail with `want`, within the time. */
static const char *must_fail(int want, const char *name, int rc, double began)
{
    const double took = now_ms() - began;
    CHECK(rc == want, "code %d wanted, got %d: %s", want, rc, reactant_mpi_last_error());
    CHECK(took < HANG_MS, "%.0f ms", took);
    CHECK(reactant_mpi_comm_error(comm) == want, "latched %d", reactant_mpi_comm_error(comm));
    contains(reactant_mpi_last_error(), "%s", name);
    printf("rank %d: code %d after %.0f ms: %s\n", rank, rc, took, reactant_mpi_last_error());
    fflush(stdout);
    return reactant_mpi_last_error();
}

/* After a failure: the communicator is shut, and others are not. */
static void after_failure(int code)
{
    reactant_mpi_comm *made = comm;
    FAILS(code, "takes no more calls", reactant_mpi_barrier(comm));
    FAILS(code, "takes no more calls", reactant_mpi_comm_split(comm, 0, 0, &made));
    CHECK(made == NULL, "");
    FAILS(code, "takes no more calls", reactant_mpi_comm_set_timeout(comm, 100));
}

static int end(void)
{
    const double began = now_ms();
    int rc = 0, r = rank;
    if (reactant_mpi_comm_error(comm) == 0) /* this rank is in step, and would wait for those that are not */
        _exit(check_done(r));
    rc = reactant_mpi_finalize(NULL);
    CHECK(rc == 0, "finalize(NULL) gave %d: %s", rc, reactant_mpi_last_error());
    CHECK(now_ms() - began < HANG_MS, "%.0f ms in finalize", now_ms() - began);
    return check_done(r);
}

static int sleeps(int elsewhere)
{
    begin();
    if (elsewhere)
        be_elsewhere();
    OK(reactant_mpi_comm_set_timeout(comm, LIMIT_MS));
    warm_up();
    if (rank == MISSING) {
        nap_ms(4 * LIMIT_MS);
        reactant_mpi_barrier(comm); /* its own outcome is nobody's matter */
    } else {
        const double began = now_ms();
        const char *text = must_fail(REACTANT_MPI_ERR_TIMEOUT, "reactant_mpi_barrier", reactant_mpi_barrier(comm), began);
        contains(text, "call %d of this communicator did not end within %d ms", EARLIER + 1, LIMIT_MS);
        contains(text, "%s on %s", present(), host);
        if (elsewhere)
            contains(text, "not arrived: rank %d on %s: not heard from", MISSING, host);
        else
            contains(text, "not arrived: rank %d on %s (pid %lld; last seen after reactant_mpi_bcast, call %d)", MISSING, host,
                     (long long)pids[MISSING], EARLIER);
        after_failure(REACTANT_MPI_ERR_TIMEOUT);
    }
    ALIVE(other);
    return end();
}

static int other_call(void)
{
    begin();
    OK(reactant_mpi_comm_set_timeout(comm, LIMIT_MS));
    warm_up();
    const double began = now_ms();
    if (rank == MISSING) {
        reactant_mpi_bcast(&bcast_word, 1, I64, (MISSING + 1) % size, comm);
    } else {
        const char *text = must_fail(REACTANT_MPI_ERR_TIMEOUT, "reactant_mpi_barrier", reactant_mpi_barrier(comm), began);
        contains(text, "%s on %s", present(), host);
        contains(text, "in another collective as that call: rank %d on %s (pid %lld; ", MISSING, host, (long long)pids[MISSING]);
        contains(text, "reactant_mpi_bcast, call %d)", EARLIER + 1);
        after_failure(REACTANT_MPI_ERR_TIMEOUT);
    }
    ALIVE(other);
    return end();
}

static int other_comm(void)
{
    begin();
    OK(reactant_mpi_comm_set_timeout(comm, LIMIT_MS));
    warm_up();
    if (rank == MISSING) {
        ALIVE(other); /* the others come there when their time is over */
        reactant_mpi_barrier(comm);
    } else {
        const double began = now_ms();
        const char *text = must_fail(REACTANT_MPI_ERR_TIMEOUT, "reactant_mpi_barrier", reactant_mpi_barrier(comm), began);
        contains(text, "not arrived: rank %d on %s (pid %lld; last seen after", MISSING, host, (long long)pids[MISSING]);
        ALIVE(other);
    }
    return end();
}

/* Two that share no board: what the late one does is known from what it answers, since it waits too. */
static int elsewhere_busy(void)
{
    begin();
    be_elsewhere();
    OK(reactant_mpi_comm_set_timeout(comm, LIMIT_MS));
    warm_up();
    const double began = now_ms();
    if (rank == MISSING) {
        int64_t x;
        const char *text = must_fail(REACTANT_MPI_ERR_TIMEOUT, "reactant_mpi_recv", reactant_mpi_recv(&x, 1, I64, 0, 3, comm, NULL), began);
        contains(text, "rank 0 on %s (pid %lld; in reactant_mpi_barrier, call %d)", host, (long long)pids[0], EARLIER + 1);
    } else {
        const char *text = must_fail(REACTANT_MPI_ERR_TIMEOUT, "reactant_mpi_barrier", reactant_mpi_barrier(comm), began);
        contains(text, "%s on %s", present(), host);
        contains(text, "not arrived: rank %d on %s (pid %lld; in reactant_mpi_recv, after call %d (reactant_mpi_bcast))", MISSING, host,
                 (long long)pids[MISSING], EARLIER);
    }
    ALIVE(other);
    return end();
}

static int silent(void)
{
    begin();
    OK(reactant_mpi_comm_set_timeout(comm, LIMIT_MS));
    warm_up();
    int64_t x = 5;
    reactant_mpi_status status;
    if (rank == MISSING) { /* messages under a timeout arrive as ever */
        OK(reactant_mpi_send(&x, 1, I64, 0, 9, comm));
    } else if (rank == 0) {
        x = 0;
        OK(reactant_mpi_recv(&x, 1, I64, MISSING, 9, comm, &status));
        CHECK(x == 5 && status.source == MISSING && status.tag == 9 && status.bytes == 8, "%lld", (long long)x);
        const double began = now_ms();
        const char *text = must_fail(REACTANT_MPI_ERR_TIMEOUT, "reactant_mpi_recv", reactant_mpi_recv(&x, 1, I64, MISSING, 11, comm, NULL), began);
        contains(text, "did not end within %d ms: a message with tag 11 from rank %d has not come", LIMIT_MS, MISSING);
        contains(text, "rank %d on %s (pid %lld; last seen after reactant_mpi_send, after call %d (reactant_mpi_bcast))", MISSING, host,
                 (long long)pids[MISSING], EARLIER);
        after_failure(REACTANT_MPI_ERR_TIMEOUT);
    }
    ALIVE(other);
    return end();
}

/* wait_for gives 31 and leaves the request as it was; the communicator is none the worse. */
static int wait_for(int with_timeout)
{
    begin();
    if (with_timeout)
        OK(reactant_mpi_comm_set_timeout(comm, HANG_MS));
    warm_up();
    reactant_mpi_request *request = NULL;
    int64_t x = 10 + rank, sum = 0, want = 10 * size + size * (size - 1) / 2;
    if (rank == MISSING)
        nap_ms(3 * LIMIT_MS);
    OK(reactant_mpi_iallreduce(&x, &sum, 1, I64, REACTANT_MPI_SUM, comm, &request));
    if (rank != MISSING) {
        FAILS(REACTANT_MPI_ERR_TIMEOUT, "reactant_mpi_", reactant_mpi_wait_for(request, 0, NULL));
        FAILS(REACTANT_MPI_ERR_TIMEOUT, "reactant_mpi_", reactant_mpi_wait_for(request, LIMIT_MS, NULL));
        if (with_timeout) {
            contains(reactant_mpi_last_error(), "call %d of this communicator did not end within %d ms", EARLIER + 1, LIMIT_MS);
            contains(reactant_mpi_last_error(), "%s on %s; not arrived: rank %d on %s", present(), host, MISSING, host);
        }
        CHECK(reactant_mpi_comm_error(comm) == 0, "%d", reactant_mpi_comm_error(comm));
    }
    OK(reactant_mpi_wait_for(request, HANG_MS, NULL));
    CHECK(sum == want, "%lld, not %lld", (long long)sum, (long long)want);
    ALIVE(comm);
    int r = rank;
    OK(reactant_mpi_finalize(NULL));
    return check_done(r);
}

/* A started call that is waited for under the communicator's own timeout, while a later one has been started. */
static int started(void)
{
    begin();
    OK(reactant_mpi_comm_set_timeout(comm, LIMIT_MS));
    warm_up();
    if (rank == MISSING) {
        nap_ms(3 * LIMIT_MS);
        reactant_mpi_barrier(comm);
        ALIVE(other);
        return end();
    }
    static int64_t x = 1, sum;
    reactant_mpi_request *first = NULL, *second = NULL;
    OK(reactant_mpi_ibarrier(comm, &first));
    OK(reactant_mpi_iallreduce(&x, &sum, 1, I64, REACTANT_MPI_SUM, comm, &second));
    const double began = now_ms();
    const char *text = must_fail(REACTANT_MPI_ERR_TIMEOUT, "reactant_mpi_barrier", reactant_mpi_wait(first, NULL), began);
    contains(text, "call %d of this communicator did not end within %d ms", EARLIER + 1, LIMIT_MS);
    contains(text, "%s on %s; not arrived: rank %d on %s", present(), host, MISSING, host);
    FAILS(REACTANT_MPI_ERR_TIMEOUT, "takes no more calls", reactant_mpi_wait(second, NULL));
    OK(reactant_mpi_request_free(second));
    ALIVE(other);
    return end();
}

#include "deadlines_peers.h"

static void data_is_right(reactant_mpi_comm *c)
{
    int64_t x = reactant_mpi_rank(c) == 0 ? 4711 : 0;
    for (int i = 0; i < 20; i++)
        OK(reactant_mpi_barrier(c));
    OK(reactant_mpi_bcast(&x, 1, I64, 0, c));
    CHECK(x == 4711, "%lld", (long long)x);
}

static void describes(reactant_mpi_comm *c, int ms)
{
    char text[16384], want[64];
    CHECK(reactant_mpi_describe(c, text, sizeof text) > 0, "");
    snprintf(want, sizeof want, "\"call_timeout_ms\": %d,", ms);
    contains(text, "%s", want);
}

static int agreement(void)
{
    begin();
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "comm_set_timeout", reactant_mpi_comm_set_timeout(comm, -1));
    FAILS(REACTANT_MPI_ERR_COMM, "comm_set_timeout", reactant_mpi_comm_set_timeout(NULL, 5));
    FAILS(REACTANT_MPI_ERR_MISMATCH, "rank 0 on", reactant_mpi_comm_set_timeout(comm, rank == 0 ? 100 : 200));
    contains(reactant_mpi_last_error(), ": 100; ");
    contains(reactant_mpi_last_error(), ": 200");
    describes(comm, 0);
    OK(reactant_mpi_comm_set_timeout(comm, 10000));
    describes(comm, 10000);
    data_is_right(comm);
    OK(reactant_mpi_comm_set_timeout(comm, 20000));
    data_is_right(comm);
    reactant_mpi_comm *child = NULL;
    OK(reactant_mpi_comm_split(comm, rank % 2, rank, &child));
    describes(child, 20000);
    data_is_right(child);
    OK(reactant_mpi_comm_set_timeout(comm, 0));
    describes(comm, 0);
    ALIVE(comm);
    OK(reactant_mpi_comm_set_timeout(comm, 10000));
    data_is_right(comm);
    describes(child, 20000);
    OK(reactant_mpi_comm_free(child));
    int r = rank;
    OK(reactant_mpi_finalize(NULL));
    return check_done(r);
}

static int by_option(void)
{
    const reactant_mpi_options init = REACTANT_MPI_OPTIONS_INIT;
    reactant_mpi_options o = init;
    o.call_timeout_ms = LIMIT_MS;
    OK(reactant_mpi_initialize_with(0, &o, &comm));
    NEED(comm, "%s", reactant_mpi_last_error());
    check_rank = rank = reactant_mpi_rank(comm);
    size = reactant_mpi_size(comm);
    describes(comm, LIMIT_MS);
    OK(reactant_mpi_comm_split(comm, 0, rank, &other));
    describes(other, LIMIT_MS);
    warm_up();
    if (rank == MISSING) {
        nap_ms(LIMIT_MS + LIMIT_MS / 2);
        reactant_mpi_barrier(other);
    } else {
        const int rc = reactant_mpi_barrier(other);
        CHECK(rc == REACTANT_MPI_ERR_TIMEOUT, "%d", rc);
        contains(reactant_mpi_last_error(), "%s", present());
    }
    data_is_right(comm); /* the late rank comes within the time */
    reactant_mpi_comm *t = comm;
    comm = other;
    other = t;
    return end();
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "sleeps";
    if (!strcmp(what, "sleeps"))
        return sleeps(argc > 2);
    if (!strcmp(what, "other-call"))
        return other_call();
    if (!strcmp(what, "other-comm"))
        return other_comm();
    if (!strcmp(what, "elsewhere-busy"))
        return elsewhere_busy();
    if (!strcmp(what, "silent"))
        return silent();
    if (!strcmp(what, "wait-for"))
        return wait_for(argc > 2);
    if (!strcmp(what, "started"))
        return started();
    if (!strcmp(what, "killed"))
        return killed(0);
    if (!strcmp(what, "killed-messages"))
        return killed(1);
    if (!strcmp(what, "stopped"))
        return stopped();
    if (!strcmp(what, "shrink"))
        return shrink();
    if (!strcmp(what, "agreement"))
        return agreement();
    if (!strcmp(what, "by-option"))
        return by_option();
    fprintf(stderr, "unknown case %s\n", what);
    return 2;
}
