/*
 * How communicators of the doubles of libnccl and librccl fail and end: disagreement, death of a peer, abort, injected faults.
 */
#include <pthread.h>
#include <signal.h>

#include "selftest.h"

static void disagree(void)
{
    void *comm = bring_up(), *stream = stream_new();
    uint64_t at = with_number(1);
    const char *mode = getenv("FAKE_NCCL_MISMATCH");
    EQUAL(all_reduce(at, rank == 1 ? 2 : 1, comm, stream), 0);
    if (mode) {
        EQUAL(sync_stream(stream), 0);
        EQUAL(async_error(comm), 5);
        CHECK(strstr(last_error(), "rank 0 AllReduce count 1 type 7 op 0 root 0, rank 1 AllReduce count 2") != NULL);
        EQUAL(all_reduce(at, 1, comm, stream), 5);
    } else {
        usleep(300000);
        EQUAL(query_stream(stream), 600);
        EQUAL(async_error(comm), 0);
        meet_ranks();
    }
    EQUAL(N(ncclCommAbort)(comm), 0);
    EQUAL(sync_stream(stream), 0);
}

static void death(void)
{
    void *comm = bring_up(), *stream = stream_new();
    uint64_t at = with_number(1);
    works(comm, 3, 6);
    meet_ranks();
    if (rank == 1)
        kill(getpid(), SIGKILL);
    EQUAL(all_reduce(at, 1, comm, stream), 0);
    EQUAL(until_not(comm, 0, 2), 6);
    CHECK(strstr(last_error(), "rank 1: connection closed by remote peer") != NULL);
    EQUAL(query_stream(stream), 600); /* the kernel stays */
    EQUAL(all_reduce(at, 1, comm, stream), 6);
    EQUAL(N(ncclCommAbort)(comm), 0);
    EQUAL(sync_stream(stream), 0);
}

static void aborted_peer(void)
{
    void *comm = bring_up(), *stream = stream_new();
    uint64_t at = with_number(1);
    meet_ranks();
    if (rank == 0) {
        EQUAL(N(ncclCommAbort)(comm), 0);
        meet_ranks();
        return;
    }
    EQUAL(all_reduce(at, 1, comm, stream), 0);
    EQUAL(until_not(comm, 0, getenv("FAKE_NCCL_ABORT_QUIET") ? 0.7 : 2), getenv("FAKE_NCCL_ABORT_QUIET") ? 0 : 6);
    EQUAL(N(ncclCommAbort)(comm), 0);
    EQUAL(sync_stream(stream), 0);
    meet_ranks();
}

static void injected(void)
{
    void *comm = bring_up(), *stream = stream_new();
    uint64_t at = with_number(1);
    double start = seconds();
    EQUAL(all_reduce(at, 1, comm, stream), 0); /* with a delay */
    CHECK(rank != 1 || seconds() - start > 0.09);
    EQUAL(sync_stream(stream), 0);
    EQUAL(all_reduce(at, 1, comm, stream), rank == 0 ? 3 : 0);
    if (rank == 0) {
        CHECK(strstr(last_error(), "an injected fault") != NULL);
        EQUAL(all_reduce(at, 1, comm, stream), 0);
    }
    EQUAL(sync_stream(stream), 0);
    EQUAL(all_reduce(at, 1, comm, stream), 0); /* the third that begins: an error of rank 1 */
    if (rank == 1) {
        EQUAL(until_not(comm, 0, 2), 1);
        EQUAL(query_stream(stream), 600);
    }
    meet_ranks();
    EQUAL(N(ncclCommAbort)(comm), 0);
    EQUAL(sync_stream(stream), 0);
    EQUAL(N(fake_nccl_calls)("ncclAllReduce"), rank == 0 ? 4 : 3);
    setenv("FAKE_NCCL_FAIL", "*:ncclGetVersion:*:2", 1);
    N(fake_nccl_reload)();
    EQUAL(N(ncclGetVersion)((int[]){0}), 2);
    if (rank)
        return;
    char line[256], name[64], count[16], type[16], op[16];
    int of = -1, seen = 0;
    FILE *trace = fopen(getenv("FAKE_NCCL_TRACE"), "r");
    CHECK(trace != NULL);
    while (fgets(line, sizeof line, trace))
        if (sscanf(line, "%d\t%63s\t%15s\t%15s\t%15s\t", &of, name, count, type, op) == 5 && of == 1 && strcmp(name, "ncclAllReduce") == 0)
            seen += strcmp(count, "1") == 0 && strcmp(type, "7") == 0 && strcmp(op, "0") == 0;
    EQUAL(seen, 3);
    fclose(trace);
}

static void killed_by_rule(void)
{
    void *comm = bring_up(), *stream = stream_new();
    uint64_t at = with_number(1);
    EQUAL(all_reduce(at, 1, comm, stream), 0); /* rank 1 does not return from this */
    EQUAL(until_not(comm, 0, 2), 6);
    EQUAL(N(ncclCommAbort)(comm), 0);
}

static void *do_abort(void *comm)
{
    N(ncclCommAbort)(comm);
    abort();
}

static void abort_hangs(void)
{
    void *comm = bring_up();
    pthread_t thread;
    pthread_create(&thread, NULL, do_abort, comm);
    usleep(300000);
    EQUAL(async_error(comm), 0);
}

static void destroy_waits(void)
{
    void *comm = bring_up();
    double start = seconds();
    if (rank == 1)
        usleep(300000);
    EQUAL(N(ncclCommDestroy)(comm), 0);
    CHECK(rank == 1 || seconds() - start > 0.15);
}

static int threads(void)
{
    char line[256];
    int n = -1;
    FILE *status = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, status))
        sscanf(line, "Threads: %d", &n);
    fclose(status);
    return n;
}

static void again(void)
{
    void *comm = bring_up();
    EQUAL(N(ncclCommDestroy)(comm), 0);
    int before = threads();
    for (int i = 0; i < 20; i++) {
        comm = bring_up();
        EQUAL(N(ncclCommDestroy)(comm), 0);
    }
    EQUAL(threads(), before);
    EQUAL(N(fake_nccl_live_comms)(), 0);
}

void test_faults(void)
{
    char trace[] = "FAKE_NCCL_TRACE=/tmp/fake_nccl_trace_XXXXXX", settings[256];
    run("disagreement", disagree, 2, "nccl228", "", -1);
    run("disagreement", disagree, 2, "nccl228", "FAKE_NCCL_MISMATCH=error", -1);
    run("death of a peer", death, 3, "nccl228", "", 1);
    run("abort of a peer", aborted_peer, 2, "nccl228", "", -1);
    run("abort of a peer", aborted_peer, 2, "nccl228", "FAKE_NCCL_ABORT_QUIET=1", -1);
    int fd = mkstemp(trace + strlen("FAKE_NCCL_TRACE="));
    snprintf(settings, sizeof settings,
             "%s FAKE_NCCL_DELAY=1:ncclAllReduce:100000 FAKE_NCCL_FAIL=0:ncclAllReduce:2:3,1:async:3:1", trace);
    run("injected faults", injected, 2, "nccl228", settings, -1);
    unlink(trace + strlen("FAKE_NCCL_TRACE="));
    close(fd);
    run("killed by a rule", killed_by_rule, 2, "nccl228", "FAKE_NCCL_FAIL=1:ncclAllReduce:1:kill", 1);
    run("abort hangs", abort_hangs, 1, "nccl228", "FAKE_NCCL_FAIL=*:ncclCommAbort:*:hang", -1);
    run("destroy waits", destroy_waits, 2, "nccl228", "FAKE_NCCL_DESTROY_WAIT=1", -1);
    run("again and again", again, 2, "nccl228", "", -1);
}
