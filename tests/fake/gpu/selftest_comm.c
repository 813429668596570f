/*
 * How communicators of the doubles of libnccl and librccl come to be and work: init, configurations, contexts, streams, groups,
 * non-blocking ones, splits.
 */
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "selftest.h"

struct config {
    size_t size;
    unsigned magic, version;
    int blocking, cga, min_ctas, max_ctas;
    void *net;
    int split_share, traffic_class;
    char rest[72];
};

static struct config plain(void)
{
    return (struct config){.size = 48, .magic = 0xcafebeef, .version = 21800, .blocking = INT_MIN, .cga = INT_MIN, .min_ctas = INT_MIN,
                           .max_ctas = INT_MIN, .split_share = INT_MIN, .traffic_class = INT_MIN};
}

/* ---- init ---- */

static void blocks(void)
{
    void *comm = NULL;
    int got = -1;
    struct id id;
    device(rank);
    share_id(&id);
    double start = seconds();
    if (rank == 1)
        usleep(400000);
    EQUAL(N(ncclCommInitRank)(&comm, 2, id, rank), 0);
    CHECK(rank == 1 || seconds() - start > 0.2);
    EQUAL(N(ncclCommUserRank)(comm, &got), 0);
    EQUAL(got, rank);
    EQUAL(N(ncclCommCuDevice)(comm, &got), 0);
    EQUAL(got, rank);
    works(comm, 2, 3);
    EQUAL(N(ncclCommFinalize)(comm), 0);
    EQUAL(N(ncclCommFinalize)(comm), 4);
    EQUAL(all_reduce(0, 1, comm, NULL), 4);
    EQUAL(N(ncclCommDestroy)(comm), 0);
    EQUAL(N(ncclCommDestroy)(comm), 4);
    EQUAL(N(ncclCommAbort)(comm), 4);
    EQUAL(N(ncclCommDestroy)(NULL), 0);
    EQUAL(N(ncclCommAbort)(NULL), 0);
    EQUAL(N(ncclCommGetAsyncError)(NULL, &got), 4);
    EQUAL(N(ncclCommDestroy)(&got), 4);
    EQUAL(N(fake_nccl_live_comms)(), 0);
    EQUAL(N(fake_nccl_unique_ids)(), rank == 0);
    EQUAL(N(ncclCommInitRank)(&comm, 2, id, rank), 2); /* an id serves once */
}

static void refused(void)
{
    void *comm = NULL;
    struct id id;
    device(rank);
    share_id(&id);
    EQUAL(N(ncclCommInitRank)(&comm, 2, id, 2), 4);
    EQUAL(N(ncclCommInitRank)(&comm, 0, id, 0), 4);
    EQUAL(N(ncclCommInitRank)(NULL, 1, id, 0), 4);
    id.bytes[100]++;
    EQUAL(N(ncclCommInitRank)(&comm, 2, id, rank), 4);
    CHECK(comm == NULL);
}

static void duplicate(void)
{
    void *comm = NULL;
    struct id id;
    device(0);
    share_id(&id);
    EQUAL(N(ncclCommInitRank)(&comm, 2, id, rank), 5);
    CHECK(strstr(last_error(), "Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 10000") != NULL);
    CHECK(comm == NULL);
}

static void no_duplicate(void)
{
    void *comm = NULL;
    struct id id;
    device(0);
    share_id(&id);
    EQUAL(N(ncclCommInitRank)(&comm, 2, id, rank), 0);
    works(comm, 2, 3);
}

static void versions(void)
{
    void *comm = NULL;
    struct id id;
    device(rank);
    share_id(&id);
    EQUAL(N(ncclCommInitRank)(&comm, 2, id, rank), 5);
    CHECK(strstr(last_error(), "Mismatched NCCL version detected : rank 0 version 22809 rank 1 version 22808") != NULL);
}

static void configs(void)
{
    void *comm = NULL;
    struct id id;
    struct config config = plain(), seen;
    device(0);
    share_id(&id);
    config.magic = 0;
    EQUAL(N(ncclCommInitRankConfig)(&comm, 1, id, 0, &config), 4);
    config = plain(), config.size = 0;
    EQUAL(N(ncclCommInitRankConfig)(&comm, 1, id, 0, &config), 4);
    config = plain(), config.min_ctas = 0; /* a struct of zeros is not unset */
    EQUAL(N(ncclCommInitRankConfig)(&comm, 1, id, 0, &config), 4);
    config = plain(), config.version = 22809, config.traffic_class = -5;
    EQUAL(N(ncclCommInitRankConfig)(&comm, 1, id, 0, &config), 4);
    config.version = 21800; /* of a version without it */
    EQUAL(N(ncclCommInitRankConfig)(&comm, 1, id, 0, &config), 0);
    EQUAL(N(fake_nccl_last_config)(&seen, sizeof seen), 48);
    CHECK(memcmp(&seen, &config, 48) == 0);
    works(comm, 1, 1);
    EQUAL(N(ncclCommDestroy)(comm), 0);
    share_id(&id);
    config = plain(), config.size = 120, config.version = 23203; /* a newer one than the library */
    memset(config.rest, 0x80, sizeof config.rest);
    for (size_t i = 0; i + 4 <= sizeof config.rest; i += 4)
        memcpy(config.rest + i, &(int){INT_MIN}, 4);
    comm = NULL;
    EQUAL(N(ncclCommInitRankConfig)(&comm, 1, id, 0, &config), 0);
}

static void garbage(void)
{
    void *comm = &comm;
    struct id id = {{0}};
    pid_t pid = fork();
    if (pid == 0) {
        fclose(stderr);
        signal(SIGABRT, SIG_DFL);
        N(ncclCommInitRankConfig)(&comm, 1, id, 0, NULL);
        _exit(0);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    EQUAL(N(ncclCommInitRank)(&comm, 1, id, 0), 1);
    CHECK(comm == &comm);
    comm = NULL;
    EQUAL(N(ncclCommInitRankConfig)(&comm, 1, id, 0, NULL), 1);
    CHECK(strstr(last_error(), "no CUDA-capable device is detected") != NULL);
    EQUAL(N(fake_nccl_group_depth)(), strcmp(variant, "nccl228") == 0); /* the leak */
}

/* ---- contexts ---- */

static void *from_new_thread(void *comm)
{
    void *context = comm;
    uint64_t at = *(uint64_t *)comm;
    (void)context;
    EQUAL(all_reduce(at, 1, ((void **)comm)[1], NULL), 0);
    return NULL;
}

static void no_context(void)
{
    void *comm = NULL;
    int got = -1;
    struct id id;
    pthread_t thread;
    if (rank == 0) {
        EQUAL(D(cuInit)(0u), 0);
        share_id(&id);
        EQUAL(N(ncclCommInitRank)(&comm, 2, id, rank), 0);
        EQUAL(N(ncclCommCuDevice)(comm, &got), 0);
        EQUAL(got, 0);
        EQUAL(D(fake_gpu_contexts_created)(0), 1);
        EQUAL(D(fake_gpu_context_refs)(0), 0);
    } else {
        comm = bring_up();
        EQUAL(D(fake_gpu_contexts_created)(0), 0);
    }
    void *what[2] = {(void *)(uintptr_t)device_new(4), comm};
    pthread_create(&thread, NULL, from_new_thread, what);
    pthread_join(thread, NULL);
    EQUAL(D(cuCtxSynchronize)(), 0);
    EQUAL(D(fake_gpu_contexts_created)(0), 1); /* rank 1 called from a thread without a context */
}

/* ---- streams and groups ---- */

static void asynchronous(void)
{
    void *comm = bring_up(), *a = stream_new(), *b = stream_new();
    float got = 0;
    uint64_t at = with_number(1), other = with_number(2);
    if (rank == 1)
        meet_ranks();
    EQUAL(all_reduce(at, 1, comm, a), 0);
    EQUAL(D(cuMemcpyDtoHAsync_v2)(&got, at, (size_t)4, a), 0); /* after it */
    EQUAL(all_reduce(other, 1, comm, b), 0);
    if (rank == 0) {
        EQUAL(query_stream(a), 600); /* the other has not begun */
        CHECK(got == 0);
        meet_ranks();
    }
    EQUAL(sync_stream(a), 0);
    CHECK(got == 2);
    EQUAL(sync_stream(b), 0);
    CHECK(number(other) == 4);
    EQUAL(N(ncclCommDestroy)(comm), 0);
}

static void groups(void)
{
    void *comm = bring_up(), *a = stream_new(), *b = stream_new();
    uint64_t x = with_number((float)rank), y = with_number(-1), z = with_number(1);
    int next = (rank + 1) % nranks, before = (rank + nranks - 1) % nranks;
    EQUAL(N(ncclGroupEnd)(), 5);
    EQUAL(N(ncclGroupStart)(), 0);
    EQUAL(N(ncclGroupStart)(), 0);
    EQUAL(N(ncclRecv)(y, (size_t)1, FLOAT, before, comm, a), 0);
    EQUAL(N(ncclSend)(x, (size_t)1, FLOAT, next, comm, b), 0); /* two streams in one group */
    EQUAL(N(ncclGroupEnd)(), 0);
    EQUAL(all_reduce(z, 1, comm, a), 0);
    usleep(50000);
    EQUAL(query_stream(a), 0); /* nothing before the outer end */
    EQUAL(N(ncclGroupEnd)(), 0);
    EQUAL(sync_stream(b), 0);
    EQUAL(sync_stream(a), 0);
    CHECK(number(y) == (float)before && number(z) == (float)nranks);
    EQUAL(N(ncclGroupStart)(), 0);
    EQUAL(all_reduce(z, 1, comm, a), 0);
    EQUAL(N(ncclAllReduce)(z, z, (size_t)1, FLOAT, 9, comm, a), 4);
    EQUAL(N(ncclGroupEnd)(), 4); /* and the first is dropped */
    EQUAL(sync_stream(a), 0);
    CHECK(number(z) == (float)nranks);
    EQUAL(N(ncclCommDestroy)(comm), 0);
}

static void mutual_send(void)
{
    void *comm = bring_up(), *stream = stream_new();
    uint64_t x = with_number((float)rank), y = with_number(-1);
    EQUAL(N(ncclSend)(x, (size_t)1, FLOAT, 1 - rank, comm, stream), 0);
    EQUAL(N(ncclRecv)(y, (size_t)1, FLOAT, 1 - rank, comm, stream), 0);
    usleep(300000);
    EQUAL(query_stream(stream), 600);
    meet_ranks();
    EQUAL(N(ncclCommAbort)(comm), 0);
    EQUAL(sync_stream(stream), 0);
    CHECK(number(y) == -1);
}

static void several(void)
{
    void *comms[2] = {NULL}, *streams[2], *context;
    uint64_t at[2];
    EQUAL(N(ncclCommInitAll)(comms, 2, (int[]){1, 0}), 0);
    for (int i = 0; i < 2; i++) {
        EQUAL(D(cuDevicePrimaryCtxRetain)(&context, 1 - i), 0);
        EQUAL(D(cuCtxSetCurrent)(context), 0);
        streams[i] = stream_new();
        at[i] = with_number((float)i + 1);
    }
    EQUAL(all_reduce(at[0], 1, comms[1], streams[1]), 4); /* memory of the other device */
    EQUAL(all_reduce(at[0], 1, comms[0], streams[1]), 1); /* a stream of the other device */
    EQUAL(N(ncclGroupStart)(), 0);
    for (int i = 0; i < 2; i++)
        EQUAL(all_reduce(at[i], 1, comms[i], streams[i]), 0);
    EQUAL(N(ncclGroupEnd)(), 0);
    for (int i = 0; i < 2; i++) {
        EQUAL(sync_stream(streams[i]), 0);
        CHECK(number(at[i]) == 3);
        EQUAL(N(ncclCommDestroy)(comms[i]), 0);
    }
}

/* ---- non-blocking ---- */

static void non_blocking(void)
{
    void *comm = NULL;
    struct id id;
    struct config config = plain();
    device(rank);
    share_id(&id);
    void *stream = stream_new();
    uint64_t at = with_number(1);
    if (rank == 1)
        meet_ranks();
    if (getenv("NCCL_COMM_BLOCKING")) {
        EQUAL(N(ncclCommInitRank)(&comm, 2, id, rank), 7);
    } else {
        config.blocking = 0;
        EQUAL(N(ncclCommInitRankConfig)(&comm, 2, id, rank, &config), 7);
    }
    CHECK(comm != NULL);
    if (rank == 0) {
        EQUAL(async_error(comm), 7);
        EQUAL(all_reduce(at, 1, comm, stream), 4); /* too early */
        meet_ranks();
    }
    EQUAL(until_not(comm, 7, 5), 0);
    EQUAL(all_reduce(at, 1, comm, stream), 7);
    EQUAL(until_not(comm, 7, 5), 0);
    EQUAL(sync_stream(stream), 0);
    CHECK(number(at) == 2);
    EQUAL(all_reduce(at, 1, comm, stream), strcmp(variant, "nccl218") == 0 ? 0 : 7);
    EQUAL(until_not(comm, 7, 5), 0);
    EQUAL(sync_stream(stream), 0);
    CHECK(number(at) == 4);
    int finalized = N(ncclCommFinalize)(comm);
    EQUAL(finalized, 7);
    EQUAL(until_not(comm, 7, 5), 0);
    EQUAL(N(ncclCommDestroy)(comm), 0);
}

/* A peer that never comes; abort ends the wait. */
static void missing_peer(void)
{
    void *comm = NULL;
    struct id id;
    struct config config = plain();
    device(rank);
    share_id(&id);
    config.blocking = 0;
    EQUAL(N(ncclCommInitRankConfig)(&comm, 2, id, rank, &config), 7);
    usleep(100000);
    EQUAL(async_error(comm), 7);
    EQUAL(N(ncclCommAbort)(comm), 0);
    EQUAL(N(ncclCommAbort)(comm), 4);
}

/* ---- split ---- */

static void splits(void)
{
    void *comm = bring_up(), *half = NULL, *one = comm;
    int got = -1;
    EQUAL(N(ncclCommSplit)(comm, rank % 2, -rank, &half, NULL), 0);
    EQUAL(N(ncclCommUserRank)(half, &got), 0);
    EQUAL(got, rank < 2); /* the higher rank has the lower key */
    works(half, 2, rank % 2 ? 6 : 4);
    EQUAL(N(ncclCommSplit)(comm, rank == 3 ? 7 : -1, 0, &one, NULL), 0);
    CHECK((one != NULL) == (rank == 3));
    if (one)
        works(one, 1, 4);
    works(comm, 4, 10);
    EQUAL(N(ncclCommDestroy)(half), 0);
    EQUAL(N(ncclCommDestroy)(one), 0);
    works(comm, 4, 10);
    EQUAL(N(ncclCommSplit)(comm, -2, 0, &one, NULL), 4);
    EQUAL(N(ncclCommDestroy)(comm), 0);
}

void test_comm(void)
{
    run("init blocks", blocks, 2, "nccl228", "", -1);
    run("init refuses", refused, 2, "nccl228", "", -1);
    run("duplicate GPU", duplicate, 2, "nccl228", "", -1);
    run("duplicate GPU", duplicate, 2, "nccl232", "", -1);
    run("two ranks on one GPU", no_duplicate, 2, "nccl232", "NCCL_MULTI_RANK_GPU_ENABLE=1", -1);
    run("two hosts", no_duplicate, 2, "nccl228", "FAKE_HOST_0=a FAKE_HOST_1=b", -1);
    run("two versions", versions, 2, "nccl228", "FAKE_NCCL_VERSION_1=22808", -1);
    run("configurations", configs, 1, "nccl228", "", -1);
    run("garbage in *comm", garbage, 1, "nccl222", "FAKE_GPUS=0", -1);
    run("garbage in *comm", garbage, 1, "nccl228", "FAKE_GPUS=0", -1);
    run("garbage in *comm", garbage, 1, "nccl232", "FAKE_GPUS=0", -1);
    run("no context", no_context, 2, "nccl228", "", -1);
    run("asynchronous", asynchronous, 2, "nccl228", "", -1);
    run("groups", groups, 3, "nccl228", "", -1);
    run("mutual send", mutual_send, 2, "nccl228", "", -1);
    run("several in a process", several, 1, "nccl228", "FAKE_GPUS=2", -1);
    run("non-blocking", non_blocking, 2, "nccl218", "", -1);
    run("non-blocking", non_blocking, 2, "nccl228", "", -1);
    run("non-blocking by environment", non_blocking, 2, "nccl232", "NCCL_COMM_BLOCKING=0", -1);
    run("a missing peer", missing_peer, 1, "nccl228", "", -1);
    run("split", splits, 4, "nccl218", "", -1);
    run("split", splits, 4, "nccl228", "", -1);
}
