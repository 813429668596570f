/*
 * Communicators from communicators, of gpu_collectives: split, create, children of children, children of a host communicator.
 */
#ifndef GPU_COMMS_H
#define GPU_COMMS_H

#include "gpu_data.h"

/* A child over the listed ranks of comm, this one among them: what it says, its id on all, its collectives, on host and device. */
static void check_child(int line, reactant_mpi_comm *c, int n, const int *ranks)
{
    static const size_t one[] = {3};
    int me = -1;
    for (int i = 0; i < n; i++)
        if (ranks[i] == rank)
            me = i;
    CHECK(reactant_mpi_size(c) == n && reactant_mpi_rank(c) == me, "line %d: rank %d of %d, %d of %d wanted", line, reactant_mpi_rank(c),
          reactant_mpi_size(c), me, n);
    CHECK(reactant_mpi_device(c) == reactant_mpi_device(comm), "line %d: device %d", line, reactant_mpi_device(c));
    CHECK(reactant_mpi_nccl_comm(c) && reactant_mpi_nccl_comm(c) != reactant_mpi_nccl_comm(comm), "line %d: an own ncclComm_t", line);
    int64_t id = reactant_mpi_comm_id(c), ids[64];
    int32_t world = rank, worlds[64];
    OK(reactant_mpi_allgather(&id, ids, 1, REACTANT_MPI_INT64, c));
    OK(reactant_mpi_allgather(&world, worlds, 1, I32, c));
    for (int i = 0; i < n; i++) {
        CHECK(ids[i] == id && id != reactant_mpi_comm_id(comm), "line %d: id %lld here, %lld at rank %d", line, (long long)id,
              (long long)ids[i], i);
        CHECK(worlds[i] == ranks[i], "line %d: rank %d is %d of the parent, %d wanted", line, i, worlds[i], ranks[i]);
    }
    void *at = buffers[RECEIVING].device;
    gpu_put(at, &world, sizeof world);
    OK(reactant_mpi_allgather_stream(at, (char *)at + 64, 1, I32, c, stream));
    gpu_sync(stream);
    gpu_get(worlds, (char *)at + 64, (size_t)n * sizeof *worlds);
    for (int i = 0; i < n; i++)
        CHECK(worlds[i] == ranks[i], "line %d: on the device rank %d is %d, %d wanted", line, i, worlds[i], ranks[i]);
    DEVICE_ALIVE(c);
    ALIVE(c);
    if (full)
        do_all(c, one, 1);
}

static void split_by(int line, int (*color)(int), int (*key)(int))
{
    reactant_mpi_comm *c = (reactant_mpi_comm *)&line;
    int ranks[64], n = 0;
    OK(reactant_mpi_comm_split(comm, color(rank), key(rank), &c));
    if (color(rank) < 0) {
        CHECK(c == NULL, "line %d: nothing for a negative colour", line);
        DEVICE_ALIVE(comm);
        ALIVE(comm);
        return;
    }
    NEED(c, "line %d", line);
    for (int r = 0; r < size; r++) /* insertion by key, stable */
        if (color(r) == color(rank)) {
            int i = n++;
            for (; i > 0 && key(ranks[i - 1]) > key(r); i--)
                ranks[i] = ranks[i - 1];
            ranks[i] = r;
        }
    check_child(line, c, n, ranks);
    DEVICE_ALIVE(comm);
    ALIVE(comm);
    OK(reactant_mpi_comm_free(c));
    FAILS(REACTANT_MPI_ERR_COMM, "barrier", reactant_mpi_barrier(c));
    FAILS(REACTANT_MPI_ERR_COMM, "barrier_stream", reactant_mpi_barrier_stream(c, stream));
    OK(reactant_mpi_comm_free(c)); /* again is fine */
}

static int parity(int r) { return r % 2; }
static int nought(int r) { (void)r; return 0; }
static int same_number(int r) { return r; }
static int backwards(int r) { return -r; }
static int first_alone(int r) { return r == 0 ? 7 : 3; }
static int not_the_last(int r) { return r == size - 1 ? -1 : 1; }
static int only_the_last(int r) { return r == size - 1 ? 2147483647 : -2147483647; }

static void test_split(void)
{
    reactant_mpi_comm *c = NULL, *d = NULL;
    split_by(__LINE__, parity, nought);
    split_by(__LINE__, parity, backwards);
    split_by(__LINE__, nought, backwards);
    split_by(__LINE__, same_number, nought);
    split_by(__LINE__, first_alone, same_number);
    split_by(__LINE__, not_the_last, nought);
    split_by(__LINE__, only_the_last, parity);
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "comm_split", reactant_mpi_comm_split(comm, 0, 0, NULL));
    FAILS(REACTANT_MPI_ERR_COMM, "comm_split", reactant_mpi_comm_split(NULL, 0, 0, &c));
    FAILS(REACTANT_MPI_ERR_COMM, "comm_free", reactant_mpi_comm_free(NULL));

    /* a child of a child, and the parent ends first */
    hword h = host_dup(host.world);
    reactant_mpi_comm *parent = reactant_mpi_initialize((uintptr_t)h);
    int ranks[64];
    NEED(parent, "%s", reactant_mpi_last_error());
    OK(reactant_mpi_comm_split(parent, 0, -rank, &c));
    OK(reactant_mpi_finalize(parent));
    host_free(&h);
    for (int i = 0; i < size; i++)
        ranks[i] = size - 1 - i;
    check_child(__LINE__, c, size, ranks);
    OK(reactant_mpi_comm_split(c, 0, -reactant_mpi_rank(c), &d));
    for (int i = 0; i < size; i++)
        ranks[i] = i;
    check_child(__LINE__, d, size, ranks);
    OK(reactant_mpi_finalize(c));
    DEVICE_ALIVE(d);
    FAILS(REACTANT_MPI_ERR_COMM, "comm_split", reactant_mpi_comm_split(c, 0, 0, &parent));
    OK(reactant_mpi_finalize(d));
    DEVICE_ALIVE(comm);
    CONTEXTS_RIGHT();
}

static void test_create(void)
{
    reactant_mpi_comm *c = NULL;
    int ranks[64], n = 0;
    for (int r = size - 1; r >= 0; r--) /* all, in reverse */
        ranks[n++] = r;
    OK(reactant_mpi_comm_create(comm, n, ranks, &c));
    check_child(__LINE__, c, n, ranks);
    OK(reactant_mpi_comm_free(c));
    /* the members only: rank 0 stays away (with one rank it is all there is) */
    n = 0;
    for (int r = size > 1 ? 1 : 0; r < size; r++)
        ranks[n++] = r;
    if (rank == 0 && size > 1) {
        FAILS(REACTANT_MPI_ERR_ARGUMENT, "comm_create", reactant_mpi_comm_create(comm, n, ranks, &c));
    } else {
        OK(reactant_mpi_comm_create(comm, n, ranks, &c));
        check_child(__LINE__, c, n, ranks);
        OK(reactant_mpi_comm_free(c));
    }
    OK(reactant_mpi_barrier(comm)); /* rank 0's messages are not in the way of the others' */
    ranks[0] = rank;
    OK(reactant_mpi_comm_create(comm, 1, ranks, &c));
    check_child(__LINE__, c, 1, ranks);
    OK(reactant_mpi_comm_free(c));
    ranks[1] = size;
    FAILS(REACTANT_MPI_ERR_RANK, "comm_create", reactant_mpi_comm_create(comm, 2, ranks, &c));
    ranks[1] = -1;
    FAILS(REACTANT_MPI_ERR_RANK, "comm_create", reactant_mpi_comm_create(comm, 2, ranks, &c));
    ranks[1] = rank;
    FAILS(REACTANT_MPI_ERR_RANK, "comm_create", reactant_mpi_comm_create(comm, 2, ranks, &c));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "comm_create", reactant_mpi_comm_create(comm, 0, ranks, &c));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "comm_create", reactant_mpi_comm_create(comm, -1, ranks, &c));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "comm_create", reactant_mpi_comm_create(comm, 1, NULL, &c));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "comm_create", reactant_mpi_comm_create(comm, 1, ranks, NULL));
    FAILS(REACTANT_MPI_ERR_COMM, "comm_create", reactant_mpi_comm_create((reactant_mpi_comm *)&n, 1, ranks, &c));
    DEVICE_ALIVE(comm);
    ALIVE(comm);
}

/* A host communicator gives host communicators. */
static void test_host_children(void)
{
    reactant_mpi_options o = REACTANT_MPI_OPTIONS_INIT;
    reactant_mpi_comm *parent = NULL, *c = NULL;
    hword h = host_dup(host.world);
    int me = rank;
    o.gpu = REACTANT_MPI_GPU_OFF;
    OK(reactant_mpi_initialize_with((uintptr_t)h, &o, &parent));
    OK(reactant_mpi_comm_split(parent, rank % 2, 0, &c));
    CHECK(reactant_mpi_device(c) == -1 && reactant_mpi_size(c) == (size + 1 - rank % 2) / 2, "%d", reactant_mpi_size(c));
    ALIVE(c);
    FAILS(REACTANT_MPI_ERR_NO_DEVICE, "barrier_stream", reactant_mpi_barrier_stream(c, stream));
    OK(reactant_mpi_finalize(parent));
    ALIVE(c);
    OK(reactant_mpi_comm_free(c));
    OK(reactant_mpi_comm_create(comm, 1, &me, &c));
    OK(reactant_mpi_comm_free(c));
    host_free(&h);
}

/* The other ways to make one, and ids of the host's own for the devices. */
static void test_other_children(void)
{
    reactant_mpi_comm *c = NULL, *d = NULL;
    int all[64], back[64];
    int64_t ids[64], mine[2] = {100 + rank, 200 + rank};
    for (int i = 0; i < size; i++) {
        all[i] = i;
        back[i] = size - 1 - i;
        ids[i] = 200 + back[i];
    }
    OK(reactant_mpi_comm_dup(comm, &c));
    check_child(__LINE__, c, size, all);
    OK(reactant_mpi_set_devices(c, mine, 2));
    OK(reactant_mpi_comm_from_devices(c, ids, size, &d));
    check_child(__LINE__, d, size, back);
    OK(reactant_mpi_comm_free(c));
    OK(reactant_mpi_comm_from_devices(d, &mine[0], 1, &c));
    check_child(__LINE__, c, 1, &rank);
    OK(reactant_mpi_comm_free(c));
    OK(reactant_mpi_comm_free(d));
    OK(reactant_mpi_comm_split_node(comm, -rank, &c)); /* one host */
    check_child(__LINE__, c, size, back);
    OK(reactant_mpi_comm_free(c));
    DEVICE_ALIVE(comm);
    CONTEXTS_RIGHT();
}

static void test_comms(void)
{
    test_other_children();
    test_split();
    test_create();
    test_host_children();
}

#endif
