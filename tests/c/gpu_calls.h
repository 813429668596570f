/*
 * Calls of gpu_collectives: messages, groups, wrong arguments, the order of a stream, threads, host operations on the same
 * communicator, NCCL's functions under our names.
 */
#ifndef GPU_CALLS_H
#define GPU_CALLS_H

#include "gpu_shared.h"

#include <pthread.h>
#include <semaphore.h>

/* A ring of int32: from the left neighbour comes its rank. */
static void check_ring(int line, int (*exchange)(void *send, void *recv, int to, int from))
{
    int32_t out[5], in[5];
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int i = 0; i < 5; i++)
        out[i] = 100 * rank + i, in[i] = -1;
    gpu_put(buffers[SENDING].device, out, sizeof out);
    gpu_put(buffers[RECEIVING].device, in, sizeof in);
    int rc = exchange(buffers[SENDING].device, buffers[RECEIVING].device, right, left);
    check_count++;
    if (rc != 0) {
        check_fail(__FILE__, line, "a good ring", " got %d: %s", rc, reactant_mpi_last_error());
        return;
    }
    gpu_sync(stream);
    gpu_get(in, buffers[RECEIVING].device, sizeof in);
    for (int i = 0; i < 5; i++)
        CHECK(in[i] == 100 * left + i, "line %d: element %d is %d, %d wanted", line, i, in[i], 100 * left + i);
}

static int by_group(void *send, void *recv, int to, int from)
{
    int a, b, c;
    OK(reactant_mpi_group_start());
    a = reactant_mpi_send_stream(send, 5, I32, to, comm, stream);
    b = reactant_mpi_recv_stream(recv, 5, I32, from, comm, stream);
    c = reactant_mpi_group_end();
    return a ? a : b ? b : c;
}

static int by_nested_groups(void *send, void *recv, int to, int from)
{
    int rc;
    OK(reactant_mpi_group_start());
    OK(reactant_mpi_group_start());
    OK(reactant_mpi_recv_stream(recv, 5, I32, from, comm, stream));
    OK(reactant_mpi_group_end());
    OK(reactant_mpi_send_stream(send, 5, I32, to, comm, stream));
    rc = reactant_mpi_group_end();
    return rc;
}

static int by_sendrecv(void *send, void *recv, int to, int from)
{
    return reactant_mpi_sendrecv_stream(send, 5, to, recv, 5, from, I32, comm, stream);
}

static int by_turns(void *send, void *recv, int to, int from)
{
    /* without a group: rank 0 begins, the others answer */
    int rc = 0;
    if (size == 1)
        return by_group(send, recv, to, from);
    if (rank == 0)
        rc = reactant_mpi_send_stream(send, 5, I32, to, comm, stream);
    if (!rc)
        rc = reactant_mpi_recv_stream(recv, 5, I32, from, comm, stream);
    if (!rc && rank != 0)
        rc = reactant_mpi_send_stream(send, 5, I32, to, comm, stream);
    return rc;
}

static int by_nccl_names(void *send, void *recv, int to, int from)
{
    int a, b, c;
    CHECK(reactant_mpi_ncclGroupStart() == 0, "");
    a = reactant_mpi_ncclSend(send, 5, 2, to, comm, stream);
    b = reactant_mpi_ncclRecv(recv, 5, 2, from, reactant_mpi_nccl_comm(comm), stream);
    c = reactant_mpi_ncclGroupEnd();
    while (c == 7) /* a non-blocking communicator: NCCL's own code passes, and it is for the caller to wait */
        if (reactant_mpi_ncclCommGetAsyncError(comm, &c) != 0)
            c = -1;
    return a ? a : b ? b : c;
}

static void test_messages(void)
{
    void *send = buffers[SENDING].device, *recv = buffers[RECEIVING].device;
    check_ring(__LINE__, by_group);
    check_ring(__LINE__, by_nested_groups);
    check_ring(__LINE__, by_sendrecv);
    check_ring(__LINE__, by_turns);
    check_ring(__LINE__, by_nccl_names);
    OK(reactant_mpi_send_stream(send, 5, I32, REACTANT_MPI_PROC_NULL, comm, stream));
    OK(reactant_mpi_recv_stream(recv, 5, I32, REACTANT_MPI_PROC_NULL, comm, stream));
    OK(reactant_mpi_sendrecv_stream(send, 5, REACTANT_MPI_PROC_NULL, recv, 5, REACTANT_MPI_PROC_NULL, I32, comm, stream));
    if (size > 1) { /* a line: the ends have one neighbour only */
        int32_t mine = rank, got = -7;
        int down_rank = rank > 0 ? rank - 1 : REACTANT_MPI_PROC_NULL, up_rank = rank + 1 < size ? rank + 1 : REACTANT_MPI_PROC_NULL;
        gpu_put(send, &mine, sizeof mine);
        gpu_put(recv, &got, sizeof got);
        OK(reactant_mpi_sendrecv_stream(send, 1, up_rank, recv, 1, down_rank, I32, comm, stream));
        gpu_sync(stream);
        gpu_get(&got, recv, sizeof got);
        CHECK(got == (rank > 0 ? rank - 1 : -7), "%d", got);
    }
    FAILS(REACTANT_MPI_ERR_RANK, "recv_stream", reactant_mpi_recv_stream(recv, 1, I32, REACTANT_MPI_ANY_SOURCE, comm, stream));
    FAILS(REACTANT_MPI_ERR_RANK, "send_stream", reactant_mpi_send_stream(send, 1, I32, size, comm, stream));
    FAILS(REACTANT_MPI_ERR_RANK, "sendrecv_stream",
          reactant_mpi_sendrecv_stream(send, 1, 0, recv, 1, REACTANT_MPI_ANY_SOURCE, I32, comm, stream));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "sendrecv_stream", reactant_mpi_sendrecv_stream(send, 1, 0, send, 1, 0, I32, comm, stream));
    OK(reactant_mpi_group_start()); /* nothing in it */
    OK(reactant_mpi_group_end());
    FAILS(REACTANT_MPI_ERR_NCCL, "group_end", reactant_mpi_group_end());
    CHECK(gpu_group_depth() <= 0, "%d groups are open", gpu_group_depth());
    OK(reactant_mpi_barrier_stream(comm, stream));
    gpu_sync(stream);
    DEVICE_ALIVE(comm);
}

/* Several collectives in one group. */
static void test_group_of_collectives(void)
{
    int32_t x[3] = {rank + 1, rank == size - 1 ? 77 : -1, 0};
    char *at = buffers[RECEIVING].device;
    gpu_put(at, x, sizeof x);
    OK(reactant_mpi_group_start());
    OK(reactant_mpi_allreduce_stream(at, at, 1, I32, REACTANT_MPI_SUM, comm, stream));
    OK(reactant_mpi_bcast_stream(at + 4, 1, I32, size - 1, comm, stream));
    OK(reactant_mpi_group_end());
    gpu_sync(stream);
    gpu_get(x, at, sizeof x);
    CHECK(x[0] == size * (size + 1) / 2 && x[1] == 77 && x[2] == 0, "%d %d %d", x[0], x[1], x[2]);
    /* a refused call inside a group does not spoil what is in it */
    x[0] = 1;
    gpu_put(at, x, sizeof x);
    OK(reactant_mpi_group_start());
    OK(reactant_mpi_allreduce_stream(at, at, 1, I32, REACTANT_MPI_SUM, comm, stream));
    FAILS(REACTANT_MPI_ERR_OP, "allreduce_stream", reactant_mpi_allreduce_stream(at, at, 1, I32, REACTANT_MPI_BXOR, comm, stream));
    OK(reactant_mpi_group_end());
    gpu_sync(stream);
    gpu_get(x, at, sizeof x);
    CHECK(x[0] == size, "%d", x[0]);
}

static void test_wrong_arguments(void)
{
    char *at = buffers[RECEIVING].device;
    int stack = 0;
    reactant_mpi_comm *other = NULL;
    FAILS(REACTANT_MPI_ERR_COMM, "allreduce_stream", reactant_mpi_allreduce_stream(at, at, 1, I32, REACTANT_MPI_SUM, NULL, stream));
    FAILS(REACTANT_MPI_ERR_COMM, "barrier_stream", reactant_mpi_barrier_stream((reactant_mpi_comm *)&stack, stream));
    FAILS(REACTANT_MPI_ERR_TYPE, "bcast_stream", reactant_mpi_bcast_stream(at, 1, 12345, 0, comm, stream));
    FAILS(REACTANT_MPI_ERR_RANK, "bcast_stream", reactant_mpi_bcast_stream(at, 1, I32, size, comm, stream));
    FAILS(REACTANT_MPI_ERR_RANK, "reduce_stream", reactant_mpi_reduce_stream(at, at, 1, I32, REACTANT_MPI_SUM, -1, comm, stream));
    FAILS(REACTANT_MPI_ERR_COUNT, "allgather_stream",
          reactant_mpi_allgather_stream(at, at, SIZE_MAX / 4 + 1, REACTANT_MPI_FLOAT64, comm, stream));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "allreduce_stream", reactant_mpi_allreduce_stream(NULL, at, 1, I32, REACTANT_MPI_SUM, comm, stream));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "bcast_stream", reactant_mpi_bcast_stream(NULL, 1, I32, 0, comm, stream));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "alltoall_stream", reactant_mpi_alltoall_stream(REACTANT_MPI_IN_PLACE, at, 1, I32, comm, stream));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "alltoall_stream", reactant_mpi_alltoall_stream(at, at, 1, I32, comm, stream));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "reduce_scatter_stream",
          reactant_mpi_reduce_scatter_stream(REACTANT_MPI_IN_PLACE, at, 1, I32, REACTANT_MPI_SUM, comm, stream));
    OK(reactant_mpi_allreduce_stream(NULL, NULL, 0, I32, REACTANT_MPI_SUM, comm, stream));

    reactant_mpi_options o = REACTANT_MPI_OPTIONS_INIT;
    hword h = host_dup(host.world);
    o.gpu = REACTANT_MPI_GPU_OFF;
    OK(reactant_mpi_initialize_with((uintptr_t)h, &o, &other));
    NEED(other, "a host communicator");
    CHECK(reactant_mpi_device(other) == -1 && !reactant_mpi_nccl_comm(other) && !reactant_mpi_client(other), "nothing of a device");
    FAILS(REACTANT_MPI_ERR_NO_DEVICE, "allreduce_stream", reactant_mpi_allreduce_stream(at, at, 1, I32, REACTANT_MPI_SUM, other, stream));
    CHECK(reactant_mpi_ncclAllReduce(at, at, 1, 2, 0, other, stream) == 5, "NCCL's name on a host communicator");
    ALIVE(other);
    OK(reactant_mpi_finalize(other));
    host_free(&h);
    FAILS(REACTANT_MPI_ERR_COMM, "barrier_stream", reactant_mpi_barrier_stream(other, stream));
    DEVICE_ALIVE(comm);
    ALIVE(comm);
}

/* The host's memory is no device memory: the double says so (a real NCCL may not), and nothing is spoilt. */
static void test_host_pointers(void)
{
    if (!gpu_is_double())
        return;
    hword h = host_dup(host.world);
    reactant_mpi_comm *c = reactant_mpi_initialize((uintptr_t)h);
    int32_t x[4] = {1, 2, 3, 4};
    char *at = buffers[RECEIVING].device;
    NEED(c, "%s", reactant_mpi_last_error());
    CHECK(reactant_mpi_comm_error(c) == 0, "%d", reactant_mpi_comm_error(c));
    FAILS(REACTANT_MPI_ERR_NCCL, "allreduce_stream", reactant_mpi_allreduce_stream(x, x, 4, I32, REACTANT_MPI_SUM, c, stream));
    CHECK(strstr(reactant_mpi_last_error(), "invalid argument"), "NCCL's words in '%s'", reactant_mpi_last_error());
    CHECK(reactant_mpi_comm_error(c) == REACTANT_MPI_ERR_NCCL, "%d", reactant_mpi_comm_error(c));
    FAILS(REACTANT_MPI_ERR_NCCL, "bcast_stream", reactant_mpi_bcast_stream(x, 4, I32, 0, c, stream));
    FAILS(REACTANT_MPI_ERR_NCCL, "allgather_stream", reactant_mpi_allgather_stream(at, x, 1, I32, c, stream));
    CHECK(reactant_mpi_ncclAllReduce(x, at, 1, 2, 0, c, stream) == 4, "");
    CHECK(x[0] == 1 && x[1] == 2 && x[2] == 3 && x[3] == 4, "%d %d %d %d", x[0], x[1], x[2], x[3]);
    DEVICE_ALIVE(c);
    ALIVE(c);
    OK(reactant_mpi_finalize(c));
    host_free(&h);
}

/* The host's operations on the same communicator. */
static void test_host_operations(void)
{
    int32_t x = rank, *all = calloc((size_t)size, sizeof *all);
    reactant_mpi_request *request = NULL;
    ALIVE(comm);
    OK(reactant_mpi_allgather(&x, all, 1, I32, comm));
    for (int i = 0; i < size; i++)
        CHECK(all[i] == i, "%d: %d", i, all[i]);
    OK(reactant_mpi_prepare_bcast(all, 1, I32, size - 1, comm, &request));
    all[0] = 1000 + rank;
    OK(reactant_mpi_run(request));
    CHECK(all[0] == 1000 + size - 1, "%d", all[0]);
    OK(reactant_mpi_request_free(request));
    OK(reactant_mpi_barrier(comm));
    free(all);
}

/* A call enqueues and returns: the stream is held by a function of ours until we have looked. */
static void wait_for(void *what)
{
    while (sem_wait(what) != 0)
        ;
}

static void test_stream_order(void)
{
    sem_t gate;
    int32_t x = rank + 1, zero = 0;
    void *const before = stream, *held = gpu_stream();
    char *at = buffers[RECEIVING].device;
    int (*copy)(void *, const void *, size_t, void *) = NULL; /* CUDA's form; HIP's has the kind before the stream */
    int (*hip_copy)(void *, const void *, size_t, int, void *) = NULL;
    sem_init(&gate, 0, 0);
    gpu_put(at, &zero, sizeof zero);
    gpu_host_function(held, wait_for, &gate);
    if (gpu.hip) {
        hip_copy = gpu_symbol(gpu.driver, "hipMemcpyAsync");
        GPU_OK(hip_copy(at, &x, sizeof x, 1, held));
    } else {
        copy = gpu_symbol(gpu.driver, "cuMemcpyHtoDAsync_v2");
        GPU_OK(copy(at, &x, sizeof x, held));
    }
    OK(reactant_mpi_allreduce_stream(at, at, 1, I32, REACTANT_MPI_SUM, comm, held));       /* size * (size + 1) / 2 */
    OK(reactant_mpi_allreduce_stream(at, at + 4, 1, I32, REACTANT_MPI_SUM, comm, held));   /* size times that */
    OK(reactant_mpi_allgather_stream(at + 4, at + 8, 1, I32, comm, held));
    OK(reactant_mpi_barrier_stream(comm, held));
    if (gpu_is_double()) {
        const int32_t *bytes = ((void *(*)(uint64_t))gpu_symbol(gpu.driver, "fake_gpu_data"))((uintptr_t)at);
        CHECK(bytes && *(const volatile int32_t *)bytes == 0, "the calls have returned and nothing has moved");
    }
    int busy = GPU_FN(int (*)(void *), "cuStreamQuery", "hipStreamQuery")(held);
    CHECK(busy == 600, "the stream is busy: %d", busy);
    sem_post(&gate);
    gpu_sync(held);
    for (int i = 0; i < size + 2; i++) {
        int32_t got = -1, sum = size * (size + 1) / 2;
        gpu_get(&got, at + 4 * i, sizeof got);
        CHECK(got == (i == 0 ? sum : size * sum), "element %d is %d", i, got);
    }
    gpu_stream_end(held);
    sem_destroy(&gate);
    stream = NULL; /* the default stream */
    DEVICE_ALIVE(comm);
    stream = before;
}

/* Calls from threads that never touched a device: no context comes to be on device 0 or any other. */
enum { THREADS = 4 };

static void *fresh_thread(void *arg)
{
    int which = (int)(intptr_t)arg;
    int32_t x = -1;
    char *at = buffers[RECEIVING].device;
    if (which % 2)
        CHECK(reactant_mpi_ncclAllReduce(at, at, 1, 2, 0, (void *)(uintptr_t)reactant_mpi_comm_id(comm), stream) == 0, "%s",
              reactant_mpi_last_error());
    else
        OK(reactant_mpi_allreduce_stream(at, at, 1, I32, REACTANT_MPI_SUM, comm, stream));
    gpu_sync(stream);
    gpu_get(&x, at, sizeof x);
    CHECK(x == size, "%d", x);
    x = 1;
    gpu_put(at, &x, sizeof x);
    if (which == 3) { /* a group */
        OK(reactant_mpi_group_start());
        OK(reactant_mpi_bcast_stream(at, 1, I32, 0, comm, stream));
        OK(reactant_mpi_group_end());
        gpu_sync(stream);
    }
    return NULL;
}

static void test_fresh_threads(void)
{
    int32_t one = 1;
    CONTEXTS_RIGHT();
    gpu_put(buffers[RECEIVING].device, &one, sizeof one);
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        NEED(pthread_create(&thread, NULL, fresh_thread, (void *)(intptr_t)i) == 0, "no thread");
        pthread_join(thread, NULL);
    }
    CONTEXTS_RIGHT();
}

/* ---- NCCL's functions under our names ---------------------------------------------------------------------------------------------- */

static void check_nccl_word(void *word)
{
    int n = -1, r = -1, d = -1, e = -1, size32 = size;
    char *a = buffers[SENDING].device, *b = buffers[RECEIVING].device;
    int32_t x[8] = {rank + 1, rank + 2, rank + 3, rank + 4, rank + 5, rank + 6, rank + 7, rank + 8}, y[8];
    NEED(size <= 8, "%d ranks", size);
    CHECK(reactant_mpi_ncclCommCount(word, &n) == 0 && n == size, "%d", n);
    CHECK(reactant_mpi_ncclCommUserRank(word, &r) == 0 && r == rank, "%d", r);
    CHECK(reactant_mpi_ncclCommCuDevice(word, &d) == 0 && d == reactant_mpi_device(comm), "%d", d);
    CHECK(reactant_mpi_ncclCommGetAsyncError(word, &e) == 0 && (e == 0 || e == 7), "%d", e);
#define DOES(call, ...)                                                                                                            \
    gpu_put(a, x, sizeof x);                                                                                                       \
    memset(y, 0, sizeof y);                                                                                                        \
    gpu_put(b, y, sizeof y);                                                                                                       \
    CHECK(call == 0, "%s", reactant_mpi_last_error());                                                                             \
    gpu_sync(stream);                                                                                                              \
    gpu_get(y, b, sizeof y);                                                                                                       \
    CHECK(__VA_ARGS__, "%d %d", y[0], y[1])
    DOES(reactant_mpi_ncclAllReduce(a, b, 2, 2, 0, word, stream), y[0] == size32 * (size32 + 1) / 2 && y[2] == 0);
    DOES(reactant_mpi_ncclReduce(a, b, 1, 2, 2, size - 1, word, stream), y[0] == (rank == size - 1 ? size : 0)); /* max */
    DOES(reactant_mpi_ncclBroadcast(a, b, 1, 2, size - 1, word, stream), y[0] == size);
    DOES(reactant_mpi_ncclAllGather(a, b, 1, 2, word, stream), y[0] == 1 && y[size - 1] == size);
    DOES(reactant_mpi_ncclReduceScatter(a, b, 1, 2, 3, word, stream), y[0] == rank + 1); /* min: of rank 0 */
    DOES(reactant_mpi_ncclAlltoAll(a, b, 1, 2, word, stream), y[0] == rank + 1 && y[size - 1] == size + rank);
#undef DOES
    CHECK(reactant_mpi_ncclCommFinalize(word) == 0, "");
    CHECK(reactant_mpi_ncclCommDestroy(word) == 0, "");
    CHECK(reactant_mpi_ncclCommAbort(word) == 0, "");
    DEVICE_ALIVE(comm);
}

static void test_nccl_names(void)
{
    int stack[16] = {0}, n = -1;
    char *at = buffers[RECEIVING].device;
    void *raw = reactant_mpi_nccl_comm(comm);
    NEED(raw, "an ncclComm_t");
    check_nccl_word(comm);
    check_nccl_word((void *)(uintptr_t)reactant_mpi_comm_id(comm));
    check_nccl_word(raw);
    void *const foreign[] = {NULL, stack, (void *)(uintptr_t)0x123456789abc, (char *)raw + 8, (char *)comm + 8, (void *)-1, at, stream,
                             (void *)(uintptr_t)60000};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        int rc = reactant_mpi_ncclAllReduce(at, at, 1, 2, 0, foreign[i], stream);
        CHECK(rc == 4, "word %zu (%p) gave %d", i, foreign[i], rc);
        rc = reactant_mpi_ncclCommCount(foreign[i], &n);
        CHECK(rc == 4, "word %zu (%p) gave %d", i, foreign[i], rc);
        rc = reactant_mpi_ncclCommDestroy(foreign[i]);
        CHECK(rc == 4, "word %zu (%p) gave %d", i, foreign[i], rc);
        rc = reactant_mpi_ncclSend(at, 1, 2, 0, foreign[i], stream);
        CHECK(rc == 4, "word %zu (%p) gave %d", i, foreign[i], rc);
    }
    CHECK(reactant_mpi_ncclAllReduce(at, at, 1, 99, 0, comm, stream) == 4, "NCCL's own refusal of a type passes");
    CHECK(strcmp(reactant_mpi_ncclGetErrorString(0), "no error") == 0, "%s", reactant_mpi_ncclGetErrorString(0));
    CHECK(strstr(reactant_mpi_ncclGetErrorString(4), "argument"), "%s", reactant_mpi_ncclGetErrorString(4));

    /* after the end: 5 for our handle and id, 4 for the raw pointer */
    hword h = host_dup(host.world);
    reactant_mpi_comm *c = reactant_mpi_initialize((uintptr_t)h);
    NEED(c, "%s", reactant_mpi_last_error());
    void *raw_of_c = reactant_mpi_nccl_comm(c), *id_of_c = (void *)(uintptr_t)reactant_mpi_comm_id(c);
    CHECK(reactant_mpi_ncclCommCount(raw_of_c, &n) == 0 && n == size && raw_of_c != raw, "%d", n);
    OK(reactant_mpi_finalize(c));
    host_free(&h);
    CHECK(reactant_mpi_ncclAllReduce(at, at, 1, 2, 0, c, stream) == 5, "our handle");
    CHECK(reactant_mpi_ncclAllReduce(at, at, 1, 2, 0, id_of_c, stream) == 5, "its id");
    CHECK(reactant_mpi_ncclAllReduce(at, at, 1, 2, 0, raw_of_c, stream) == 4, "the raw pointer");
    CHECK(reactant_mpi_ncclCommCount(raw_of_c, &n) == 4, "the raw pointer");
    CHECK(reactant_mpi_nccl_comm(c) == NULL, "no ncclComm_t any more");
    DEVICE_ALIVE(comm);
}

static void test_what_it_is(void)
{
    static char text[65536];
    int d = reactant_mpi_device(comm), n = -1, r = -1, dev = -1;
    CHECK(d >= 0, "%d", d);
    CHECK(reactant_mpi_device((reactant_mpi_comm *)(uintptr_t)reactant_mpi_comm_id(comm)) == d, "by id");
    CHECK(reactant_mpi_device((reactant_mpi_comm *)&n) < -1, "a foreign word");
    void *raw = reactant_mpi_nccl_comm(comm);
    /* asked without us */
    GPU_OK(((int (*)(void *, int *))gpu_symbol(gpu.nccl, "ncclCommCount"))(raw, &n));
    GPU_OK(((int (*)(void *, int *))gpu_symbol(gpu.nccl, "ncclCommUserRank"))(raw, &r));
    GPU_OK(((int (*)(void *, int *))gpu_symbol(gpu.nccl, "ncclCommCuDevice"))(raw, &dev));
    CHECK(n == size && r == rank && dev == d, "%d %d %d", n, r, dev);
    CHECK(reactant_mpi_client(comm) == NULL, "nobody asked for a client");
    size_t need = reactant_mpi_describe(comm, text, sizeof text);
    CHECK(need > 0 && need < sizeof text, "%zu", need);
    static const char *const words[] = {"\"device\": {", "\"ordinal\": ", "\"nccl_path\": ", "\"runtime_path\": ", "\"device_reason\": "};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        CHECK(strstr(text, words[i]), "%s in %s", words[i], text);
}

static void test_calls(void)
{
    test_what_it_is();
    test_fresh_threads();
    test_messages();
    test_group_of_collectives();
    test_wrong_arguments();
    test_host_operations();
    test_stream_order();
    test_nccl_names();
    test_host_pointers();
    CONTEXTS_RIGHT();
}

#endif
