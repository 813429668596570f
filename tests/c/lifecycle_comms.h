/*
 * Communicators while a process lives, of lifecycle.c: handles and references, reused values, sub-communicators, ids, error
 * handlers, messages beside the host's. everything() is all of it.
 */
#ifndef LIFECYCLE_COMMS_H
#define LIFECYCLE_COMMS_H

#include "lifecycle.h"

static void test_same_handle(void)
{
    CHECK(begin(0) == comm, "0 again");
    CHECK(begin((uintptr_t)host.world) == comm, "the world by its handle");
    CHECK(begin(host_sign_extended(host.world)) == comm, "the world by its handle, sign-extended");
    reactant_mpi_comm *c = NULL;
    OK(reactant_mpi_initialize_fint(host_c2f(host.world), NULL, &c));
    CHECK(c == comm, "the world by its integer");
    OK(reactant_mpi_initialize_with(0, NULL, &c));
    CHECK(c == comm, "the world again");
    reactant_mpi_options same = REACTANT_MPI_OPTIONS_INIT, other = REACTANT_MPI_OPTIONS_INIT, one = REACTANT_MPI_OPTIONS_INIT;
    same.check = same.half = same.call_timeout_ms = 0;
    OK(reactant_mpi_initialize_with(0, &same, &c));
    CHECK(c == comm, "the world again, as it is");
    OK(reactant_mpi_finalize(comm));
    other.half = REACTANT_MPI_HALF_F32;
    other.call_timeout_ms = 60000;
    CHECK(reactant_mpi_initialize_with(0, &other, &c) == REACTANT_MPI_ERR_STATE && !c, "the world with other options");
    CHECK(strstr(reactant_mpi_last_error(), "half is pairwise, call_timeout_ms is 0"), "%s", reactant_mpi_last_error());
    if (rank == size - 1)
        one.gpu = REACTANT_MPI_GPU_REQUIRED;
    int asked = reactant_mpi_initialize_with(0, &one, &c);
    CHECK(asked != 0 && !c && asked != REACTANT_MPI_ERR_TIMEOUT, "one rank wants a GPU now: %d", asked);
    for (int i = 0; i < 5; i++) { /* five references back: still alive */
        OK(reactant_mpi_finalize(comm));
        ALIVE(comm);
    }
    check_comm(comm, host.world);

    hword h = host_dup(host.world);
    reactant_mpi_comm *d = begin((uintptr_t)h);
    CHECK(d != comm && reactant_mpi_comm_id(d) != reactant_mpi_comm_id(comm), "a dup is another communicator");
    check_comm(d, h);
    CHECK(begin((uintptr_t)h) == d, "the same handle again");
    CHECK(begin(host_sign_extended(h)) == d, "sign-extended 0x%llx", (unsigned long long)host_sign_extended(h));
    if (host_int_works(h)) {
        OK(reactant_mpi_initialize_fint(host_c2f(h), NULL, &c));
        CHECK(c == d, "by its integer %d", host_c2f(h));
        OK(reactant_mpi_finalize(d));
    } else { /* Intel's libmpi_abi 2021.18 */
        int rc = reactant_mpi_initialize_fint(host_c2f(h), NULL, &c);
        CHECK(rc == REACTANT_MPI_ERR_ARGUMENT && !c, "an integer that this MPI itself cannot turn back into the handle gave %d",
              rc);
        if (rank == 0)
            printf("MPI_Comm_fromint of this MPI gives another handle than the one whose integer it was: not tested further\n");
    }
    OK(reactant_mpi_finalize(d));
    OK(reactant_mpi_finalize(d));
    ALIVE(d);
    OK(reactant_mpi_finalize(d));
    FAILS(REACTANT_MPI_ERR_COMM, "barrier", reactant_mpi_barrier(d));
    CHECK(reactant_mpi_rank(d) == -REACTANT_MPI_ERR_COMM, "%d", reactant_mpi_rank(d));
    OK(reactant_mpi_finalize(d));
    CHECK(host_size(h) == size, "the host's own communicator lives on");
    c = begin((uintptr_t)h); /* after its end, the handle makes a new one, with another id */
    CHECK(c != d && reactant_mpi_comm_id(c) > 0, "a new communicator");
    check_comm(c, h);
    FAILS(REACTANT_MPI_ERR_COMM, "barrier", reactant_mpi_barrier(d));
    OK(reactant_mpi_finalize(c));
    host_free(&h);

    h = host_dup(host.world); /* first by its integer, then by value */
    if (host_int_works(h)) {
        OK(reactant_mpi_initialize_fint(host_c2f(h), NULL, &c));
        check_comm(c, h);
        CHECK(begin((uintptr_t)h) == c, "by value after by integer");
        OK(reactant_mpi_finalize(c));
        OK(reactant_mpi_finalize(c));
    }
    host_free(&h);

    c = begin((uintptr_t)host.self);
    CHECK(reactant_mpi_size(c) == 1 && reactant_mpi_rank(c) == 0, "%d of %d", reactant_mpi_rank(c), reactant_mpi_size(c));
    ALIVE(c);
    OK(reactant_mpi_finalize(c));
}

/* Our communicator outlives the host's, of which it is a duplicate. */
static void test_host_frees_first(void)
{
    hword h = host_dup(host.world);
    reactant_mpi_comm *c = begin((uintptr_t)h);
    host_free(&h);
    ALIVE(c);
    OK(reactant_mpi_finalize(c));
}

/* MPIs hand out freed handle values again. A value that names another communicator now must give another communicator. */
static void test_reused_value(void)
{
    reactant_mpi_comm *kept[64];
    int n_kept = 0, reused = 0;
    for (int round = 0; round < 8; round++) {
        hword h = host_dup(host.world), was = h;
        reactant_mpi_comm *first = begin((uintptr_t)h);
        host_free(&h);
        hword part = host_split(host.world, rank == 0, rank); /* {0} and the others: from 2 ranks never congruent to the world */
        reused += part == was;
        reactant_mpi_comm *second = begin((uintptr_t)part);
        if (size > 1)
            CHECK(second != first, "value 0x%llx names another communicator now", (unsigned long long)part);
        CHECK(reactant_mpi_size(second) == (size == 1 ? 1 : rank == 0 ? 1 : size - 1), "size %d", reactant_mpi_size(second));
        check_comm(second, part);
        ALIVE(first);
        OK(reactant_mpi_finalize(second));
        host_free(&part);
        kept[n_kept++] = first;
    }
    for (int i = 0; i < n_kept; i++) {
        ALIVE(kept[i]);
        OK(reactant_mpi_finalize(kept[i]));
    }
    if (rank == 0)
        printf("%d of 8 handle values came back\n", reused);

    /* The same ranks, but the value came back on some of them only: no rank may take the old one while another makes a new one. */
    hword h = host_dup(host.world);
    reactant_mpi_comm *first = begin((uintptr_t)h);
    host_free(&h);
    hword extra = 0;
    if (rank % 2)
        extra = host_dup(host.self); /* takes the freed value on the odd ranks */
    hword again = host_dup(host.world);
    reactant_mpi_comm *second = begin((uintptr_t)again);
    int64_t is_old = second == first, all[64];
    host_allgather(&is_old, sizeof is_old, all, host.world);
    for (int i = 0; i < size && i < 64; i++)
        CHECK(all[i] == is_old, "old on %d, new on another rank", i);
    check_comm(second, again);
    ALIVE(first);
    OK(reactant_mpi_finalize(second));
    OK(reactant_mpi_finalize(first)); /* its other reference, where both are one */
    host_free(&again);
    if (extra)
        host_free(&extra);
    ALIVE(comm);
}

static void test_parts(void)
{
    hword halves = host_split(host.world, rank % 2, rank), backwards = host_split(host.world, 0, -rank);
    reactant_mpi_comm *half = begin((uintptr_t)halves), *back = begin((uintptr_t)backwards);
    check_comm(half, halves);
    CHECK(reactant_mpi_size(half) == (size + 1 - rank % 2) / 2, "size %d", reactant_mpi_size(half));
    CHECK(reactant_mpi_rank(half) == rank / 2, "rank %d", reactant_mpi_rank(half));
    CHECK(reactant_mpi_rank(back) == size - 1 - rank, "rank %d", reactant_mpi_rank(back));
    int64_t x = rank, sum = -1, want = 0;
    OK(reactant_mpi_allreduce(&x, &sum, 1, I64, REACTANT_MPI_SUM, half));
    for (int r = rank % 2; r < size; r += 2)
        want += r;
    CHECK(sum == want, "%lld %lld", (long long)sum, (long long)want);
    x = rank * 10;
    OK(reactant_mpi_bcast(&x, 1, I64, 0, back));
    CHECK(x == (size - 1) * 10, "%lld", (long long)x);
    check_id(back, backwards);
    OK(reactant_mpi_finalize(back));
    OK(reactant_mpi_finalize(half));
    host_free(&halves);
    host_free(&backwards);
}

/* The same numbers of communicators on no two ranks: agreed ids must fit everywhere. */
static void test_uneven_ids(void)
{
    hword h[8];
    reactant_mpi_comm *c[8];
    int n = rank % 3 + 1;
    for (int i = 0; i < n; i++) {
        h[i] = host_dup(host.self);
        c[i] = begin((uintptr_t)h[i]);
    }
    hword all = host_dup(host.world);
    reactant_mpi_comm *both = begin((uintptr_t)all);
    check_comm(both, all);
    for (int i = 0; i < n; i++) {
        CHECK(reactant_mpi_comm_id(c[i]) != reactant_mpi_comm_id(both), "id %lld twice", (long long)reactant_mpi_comm_id(both));
        for (int k = 0; k < i; k++)
            CHECK(reactant_mpi_comm_id(c[i]) != reactant_mpi_comm_id(c[k]), "id %lld twice", (long long)reactant_mpi_comm_id(c[i]));
    }
    for (int i = n - 1; i >= 0; i--) {
        OK(reactant_mpi_finalize(c[i]));
        host_free(&h[i]);
    }
    OK(reactant_mpi_finalize(both));
    host_free(&all);
}

/* The id does wherever a handle does. */
static void test_id_as_handle(reactant_mpi_comm *real)
{
    reactant_mpi_comm *c = (reactant_mpi_comm *)(intptr_t)reactant_mpi_comm_id(real);
    int64_t x[8] = {1, 1, 1, 1, 1, 1, 1, 1}, y[8] = {0};
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    char text[8192], text2[8192];
    reactant_mpi_request *req = NULL;
    NEED(size <= 8, "%d", size);
    CHECK(reactant_mpi_comm_id(c) == (int64_t)(intptr_t)c, "%lld", (long long)reactant_mpi_comm_id(c));
    CHECK(reactant_mpi_rank(c) == rank && reactant_mpi_size(c) == size, "%d %d", reactant_mpi_rank(c), reactant_mpi_size(c));
    CHECK(reactant_mpi_local_rank(c) == reactant_mpi_local_rank(real) &&
              reactant_mpi_local_size(c) == reactant_mpi_local_size(real),
          "");
    CHECK(reactant_mpi_device(c) == -1 && reactant_mpi_mpi_comm(c) == reactant_mpi_mpi_comm(real), "");
    CHECK(reactant_mpi_comm_error(c) == reactant_mpi_comm_error(real), "");
    CHECK(reactant_mpi_describe(c, text, sizeof text) == reactant_mpi_describe(real, text2, sizeof text2) &&
              strcmp(text, text2) == 0,
          "");
    OK(reactant_mpi_allreduce(x, y, 1, I64, REACTANT_MPI_SUM, c));
    CHECK(y[0] == size, "%lld", (long long)y[0]);
    OK(reactant_mpi_reduce(x, y, 1, I64, REACTANT_MPI_SUM, 0, c));
    OK(reactant_mpi_reduce_scatter(x, y, 1, I64, REACTANT_MPI_SUM, c));
    CHECK(y[0] == size, "%lld", (long long)y[0]);
    OK(reactant_mpi_bcast(x, 1, I64, 0, c));
    OK(reactant_mpi_allgather(x, y, 1, I64, c));
    OK(reactant_mpi_alltoall(x, y, 1, I64, c));
    OK(reactant_mpi_gather(x, y, 1, I64, 0, c));
    OK(reactant_mpi_scatter(x, y, 1, I64, 0, c));
    OK(reactant_mpi_barrier(c));
    OK(reactant_mpi_sendrecv(x, 1, next, 1, y, 1, before, 1, I64, c, NULL));
    OK(reactant_mpi_send(x, 1, I64, REACTANT_MPI_PROC_NULL, 1, c));
    OK(reactant_mpi_recv(y, 1, I64, REACTANT_MPI_PROC_NULL, 1, c, NULL));
    y[0] = -1;
    OK(reactant_mpi_prepare_allreduce(x, y, 1, I64, REACTANT_MPI_SUM, c, &req));
    OK(reactant_mpi_run(req));
    CHECK(y[0] == size, "%lld", (long long)y[0]);
    OK(reactant_mpi_request_free(req));
}

static void test_finalize_by_id(void)
{
    hword h = host_dup(host.world);
    reactant_mpi_comm *c = begin((uintptr_t)h);
    int64_t id = reactant_mpi_comm_id(c);
    test_id_as_handle(c);
    OK(reactant_mpi_finalize((reactant_mpi_comm *)(intptr_t)id));
    FAILS(REACTANT_MPI_ERR_COMM, "barrier", reactant_mpi_barrier(c));
    FAILS(REACTANT_MPI_ERR_COMM, "barrier", reactant_mpi_barrier((reactant_mpi_comm *)(intptr_t)id));
    OK(reactant_mpi_finalize(c));
    OK(reactant_mpi_finalize((reactant_mpi_comm *)(intptr_t)id));
    host_free(&h);
}

/* Making and ending many: nothing runs out, ids are never given twice. */
static void test_many(void)
{
    hword h = host_dup(host.world);
    int64_t last = 0;
    for (int i = 0; i < 100; i++) {
        reactant_mpi_comm *c = begin((uintptr_t)h);
        int64_t id = reactant_mpi_comm_id(c);
        CHECK(id > last, "id %lld after %lld", (long long)id, (long long)last);
        last = id;
        OK(reactant_mpi_finalize(c));
    }
    host_free(&h);
}

/* The host's error handlers are its own. */
static void test_errhandlers(void)
{
    hword a = host_dup(host.world), b = host_dup(host.world);
    hword world_before = host_get_errhandler(host.world), self_before = host_get_errhandler(host.self);
    host_set_errhandler(a, host.errors_return);
    host_set_errhandler(b, host.errors_fatal);
    reactant_mpi_comm *ca = begin((uintptr_t)a), *cb = begin((uintptr_t)b);
    int64_t x = 0;
    FAILS(REACTANT_MPI_ERR_RANK, "bcast", reactant_mpi_bcast(&x, 1, I64, size, ca));
    CHECK(host_get_errhandler(a) == host.errors_return, "a");
    CHECK(host_get_errhandler(b) == host.errors_fatal, "b");
    CHECK(host_get_errhandler(host.world) == world_before, "world");
    CHECK(host_get_errhandler(host.self) == self_before, "self");
    check_comm(ca, a);
    check_comm(cb, b); /* ours returns errors, whatever the host's does */
    if (size > 1) {    /* and really does: a message longer than the room */
        int64_t out[4] = {1, 2, 3, 4}, in[2];
        int next = (rank + 1) % size, before = (rank + size - 1) % size;
        FAILS(REACTANT_MPI_ERR_MPI, "sendrecv", reactant_mpi_sendrecv(out, 4, next, 1, in, 2, before, 1, I64, cb, NULL));
        CHECK(reactant_mpi_comm_error(cb) == REACTANT_MPI_ERR_MPI, "latched: %d", reactant_mpi_comm_error(cb));
        ALIVE(cb);
    }
    OK(reactant_mpi_finalize(ca));
    OK(reactant_mpi_finalize(cb));
    CHECK(host_get_errhandler(b) == host.errors_fatal, "b at the end");
    host_free(&a);
    host_free(&b);
    CHECK(host_get_errhandler(host.world) == world_before, "world at the end");
    CHECK(host_get_errhandler(host.self) == self_before, "self at the end");
}

/* Host and library talk at the same time with the same tags: they never meet. */
static void test_messages_apart(void)
{
    int64_t mine = 1000 + rank, got = -1;
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    char in = 0, out = (char)('a' + rank);
    if (size == 1)
        return;
    hword h = host_dup(host.world);
    reactant_mpi_comm *c = begin((uintptr_t)h);
    HOST_CALL("MPI_Send", (const void *, int, hword, int, int, hword), (&out, 1, host.byte, next, 5, h));
    OK(reactant_mpi_sendrecv(&mine, 1, next, 5, &got, 1, REACTANT_MPI_ANY_SOURCE, REACTANT_MPI_ANY_TAG, I64, c, NULL));
    CHECK(got == 1000 + before, "%lld", (long long)got);
    char status[64];
    HOST_CALL("MPI_Recv", (void *, int, hword, int, int, hword, void *), (&in, 1, host.byte, before, 5, h, status));
    CHECK(in == 'a' + before, "'%c'", in);

    OK(reactant_mpi_barrier(c)); /* the next message must not come to the receive above */

    /* A receive from anybody that waits while a communicator is made must not get what the library says to itself. */
    if (rank == 0) {
        reactant_mpi_status st;
        OK(reactant_mpi_recv(&got, 1, I64, REACTANT_MPI_ANY_SOURCE, REACTANT_MPI_ANY_TAG, c, &st));
        CHECK(got == 77 && st.tag == 8, "%lld tag %d", (long long)got, st.tag);
    } else if (rank == 1) {
        mine = 77;
        OK(reactant_mpi_send(&mine, 1, I64, 0, 8, c));
    }
    OK(reactant_mpi_finalize(c));
    host_free(&h);
}

static void everything(void)
{
    test_same_handle();
    test_host_frees_first();
    test_reused_value();
    test_parts();
    test_uneven_ids();
    test_id_as_handle(comm);
    test_finalize_by_id();
    test_many();
    test_errhandlers();
    test_messages_apart();
    check_comm(comm, host.world);
}

#endif
