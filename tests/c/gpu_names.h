/*
 * NCCL by name, of gpu_collectives: what compiled code was given by register_symbols, ncclCommSplit and what it makes, failures
 * that are kept for who asks.
 */
#ifndef GPU_NAMES_H
#define GPU_NAMES_H

#include "gpu_shared.h"

static struct {
    const char *name;
    void *address;
} nccl_names[64];
static int n_nccl_names;

static void map_nccl(const char *name, void *address)
{
    NEED(n_nccl_names < 64, "%s", name);
    if (strncmp(name, "nccl", 4) == 0) {
        nccl_names[n_nccl_names].name = name;
        nccl_names[n_nccl_names++].address = address;
    }
}

static void *nccl_named(const char *name)
{
    for (int i = 0; i < n_nccl_names; i++)
        if (!strcmp(nccl_names[i].name, name))
            return nccl_names[i].address;
    NEED(0, "%s is not mapped", name);
    return NULL;
}

/* As nccl.h has them; types and results are enums, int32 = 2, sum = 0. */
#define NCCL_CODE(name, types) ((int(*) types)nccl_named("nccl" #name))
#define NCCL_SPLIT(comm, color, key, out) NCCL_CODE(CommSplit, (void *, int, int, void **, void *))(comm, color, key, out, NULL)
#define NCCL_DESTROY(comm) NCCL_CODE(CommDestroy, (void *))(comm)
#define NCCL_ASK(name, comm, out) NCCL_CODE(name, (void *, int *))(comm, out)
#define NCCL_ALLREDUCE(send, recv, n, type, comm) \
    NCCL_CODE(AllReduce, (const void *, void *, size_t, int, int, void *, void *))(send, recv, n, type, 0, comm, stream)

/* NCCL's result; kept with our code, and the words in its text. */
static void check_nccl_refused(int line, int got, int want, int code, const char *name, const char *has)
{
    char text[4096] = "?";
    const int kept = reactant_mpi_compiled_error(text, sizeof text);
    CHECK(got == want, "line %d: %s gave %d, %d wanted", line, name, got, want);
    CHECK(kept == code && strstr(text, "in compiled code") && strstr(text, name) && strstr(text, has), "line %d: kept %d: %s", line,
          kept, text);
    CHECK(reactant_mpi_compiled_error(text, sizeof text) == 0, "line %d: told twice: %s", line, text);
}
#define NCCL_REFUSED(want, code, name, has, call)                        \
    do {                                                                 \
        reactant_mpi_compiled_error(NULL, 0);                            \
        int nccl_rc = (call);                                            \
        check_nccl_refused(__LINE__, nccl_rc, (want), (code), name, has); \
    } while (0)

enum { INVALID_ARGUMENT = 4, INVALID_USAGE = 5 };

/* A part of n ranks, of which this one is number `me`, in every way that it can be named. */
static void check_part(int line, void *part, int n, int me)
{
    reactant_mpi_comm *const c = part;
    void *const words[] = {part, (void *)(uintptr_t)reactant_mpi_comm_id(c), reactant_mpi_nccl_comm(c)};
    char *a = buffers[SENDING].device, *b = buffers[RECEIVING].device;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        int32_t x[2] = {rank + 1, 100 * me}, y[3] = {-1, -1, -7}, sum = 0;
        int count = -1, number = -1, device = -1;
        CHECK(NCCL_ASK(CommCount, words[i], &count) == 0 && count == n, "line %d: %d", line, count);
        CHECK(NCCL_ASK(CommUserRank, words[i], &number) == 0 && number == me, "line %d: %d", line, number);
        CHECK(NCCL_ASK(CommCuDevice, words[i], &device) == 0 && device == reactant_mpi_device(comm), "line %d: %d", line, device);
        gpu_put(a, x, sizeof x);
        gpu_put(b, y, sizeof y);
        CHECK(NCCL_ALLREDUCE(a, b, 2, 2, words[i]) == 0, "line %d: %s", line, reactant_mpi_last_error());
        gpu_sync(stream);
        gpu_get(y, b, sizeof y);
        OK(reactant_mpi_allreduce(x, &sum, 1, I32, REACTANT_MPI_SUM, c)); /* the host's half */
        CHECK(y[0] == sum && y[1] == 50 * n * (n - 1) && y[2] == -7, "line %d: %d %d %d", line, y[0], y[1], y[2]);
    }
    CHECK(reactant_mpi_compiled_error(NULL, 0) == 0, "line %d", line);
}

static void after_destroy(int line, void *part, void *raw)
{
    char *at = buffers[RECEIVING].device;
    int n = -1;
    CHECK(NCCL_DESTROY(part) == 0, "line %d: again is nothing", line);
    NCCL_REFUSED(INVALID_USAGE, REACTANT_MPI_ERR_COMM, "ncclAllReduce", "", NCCL_ALLREDUCE(at, at, 1, 2, part));
    NCCL_REFUSED(INVALID_USAGE, REACTANT_MPI_ERR_COMM, "ncclCommCount", "", NCCL_ASK(CommCount, part, &n));
    NCCL_REFUSED(INVALID_ARGUMENT, REACTANT_MPI_ERR_COMM, "ncclCommCount", "", NCCL_ASK(CommCount, raw, &n));
    NCCL_REFUSED(INVALID_USAGE, REACTANT_MPI_ERR_COMM, "ncclCommSplit", "", NCCL_SPLIT(part, 0, 0, &part));
    CHECK(part == NULL && n == -1, "line %d: %p %d", line, part, n);
}

static void test_nccl_split(void)
{
    const int half = (size + 1 - rank % 2) / 2, live = gpu_live_comms();
    void *part = comm, *again = comm, *raw, *const words[] = {comm, (void *)(uintptr_t)reactant_mpi_comm_id(comm),
                                                              reactant_mpi_nccl_comm(comm)};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        CHECK(NCCL_SPLIT(words[i], rank % 2, -rank, &part) == 0, "%s", reactant_mpi_last_error());
        check_part(__LINE__, part, half, half - 1 - rank / 2);
        raw = reactant_mpi_nccl_comm(part);
        CHECK(NCCL_DESTROY(i == 0 ? part : i == 1 ? (void *)(uintptr_t)reactant_mpi_comm_id(part) : raw) == 0, "%s",
              reactant_mpi_last_error());
        after_destroy(__LINE__, part, raw);
        CHECK(gpu_live_comms() == live, "%d communicators of NCCL, %d before", gpu_live_comms(), live);
    }
    /* no part for one rank */
    part = comm;
    CHECK(NCCL_SPLIT(comm, rank == size - 1 ? -1 : 3, 0, &part) == 0, "%s", reactant_mpi_last_error());
    CHECK((part == NULL) == (rank == size - 1), "%p", part);
    if (part) {
        check_part(__LINE__, part, size - 1, rank);
        CHECK(NCCL_DESTROY(part) == 0, "%s", reactant_mpi_last_error());
    }
    /* a part of a part, and the first ends before */
    CHECK(NCCL_SPLIT(comm, 0, -rank, &part) == 0, "%s", reactant_mpi_last_error());
    CHECK(NCCL_SPLIT(part, 0, rank, &again) == 0, "%s", reactant_mpi_last_error());
    CHECK(NCCL_DESTROY(part) == 0, "%s", reactant_mpi_last_error());
    check_part(__LINE__, again, size, rank);
    CHECK(NCCL_CODE(CommFinalize, (void *))(again) == 0 && NCCL_CODE(CommAbort, (void *))(again) == 0, "ours to end");
    check_part(__LINE__, again, size, rank);
    CHECK(NCCL_DESTROY(again) == 0, "%s", reactant_mpi_last_error());
    /* what was not made by this is not ended by it */
    OK(reactant_mpi_comm_dup(comm, (reactant_mpi_comm **)&part));
    CHECK(NCCL_DESTROY(part) == 0 && NCCL_DESTROY(comm) == 0, "%s", reactant_mpi_last_error());
    check_part(__LINE__, part, size, rank);
    OK(reactant_mpi_comm_free(part));
    DEVICE_ALIVE(comm);
    CHECK(gpu_live_comms() == live, "%d communicators of NCCL, %d before", gpu_live_comms(), live);
}

static void test_nccl_failures(void)
{
    char *at = buffers[RECEIVING].device;
    int number = -1;
    void *out = comm, *part = NULL;
    reactant_mpi_comm *host_only = NULL;
    reactant_mpi_options options = REACTANT_MPI_OPTIONS_INIT;
    NCCL_REFUSED(INVALID_ARGUMENT, REACTANT_MPI_ERR_COMM, "ncclAllReduce", "", NCCL_ALLREDUCE(at, at, 1, 2, NULL));
    NCCL_REFUSED(INVALID_ARGUMENT, REACTANT_MPI_ERR_COMM, "ncclCommUserRank", "", NCCL_ASK(CommUserRank, &number, &number));
    NCCL_REFUSED(INVALID_ARGUMENT, REACTANT_MPI_ERR_COMM, "ncclCommSplit", "", NCCL_SPLIT(&number, 0, 0, &out));
    CHECK(out == NULL, "%p", out);
    NCCL_REFUSED(INVALID_ARGUMENT, REACTANT_MPI_ERR_ARGUMENT, "ncclCommSplit", "NULL", NCCL_SPLIT(comm, 0, 0, NULL));
    NCCL_REFUSED(INVALID_ARGUMENT, REACTANT_MPI_ERR_COMM, "ncclCommDestroy", "", NCCL_DESTROY(&number));
    NCCL_REFUSED(INVALID_USAGE, REACTANT_MPI_ERR_NCCL, "ncclGroupEnd", "", NCCL_CODE(GroupEnd, (void))());

    /* NCCL's own refusals: told by its text, and latched where they happened; the communicator goes on */
    CHECK(NCCL_SPLIT(comm, 0, rank, &part) == 0, "%s", reactant_mpi_last_error());
    NCCL_REFUSED(INVALID_ARGUMENT, REACTANT_MPI_ERR_NCCL, "ncclAllReduce", "NCCL", NCCL_ALLREDUCE(at, at, 1, 99, part));
    CHECK(reactant_mpi_comm_error(part) == REACTANT_MPI_ERR_NCCL, "%d", reactant_mpi_comm_error(part));
    check_part(__LINE__, part, size, rank);
    CHECK(NCCL_DESTROY(part) == 0, "%s", reactant_mpi_last_error());

    /* a host communicator has no NCCL */
    hword h = host_dup(host.world);
    options.gpu = REACTANT_MPI_GPU_OFF;
    OK(reactant_mpi_initialize_with((uintptr_t)h, &options, &host_only));
    NCCL_REFUSED(INVALID_USAGE, REACTANT_MPI_ERR_NO_DEVICE, "ncclAllReduce", "host communicator",
                 NCCL_ALLREDUCE(at, at, 1, 2, host_only));
    NCCL_REFUSED(INVALID_USAGE, REACTANT_MPI_ERR_NO_DEVICE, "ncclCommSplit", "host communicator",
                 NCCL_SPLIT(host_only, 0, 0, &out));
    OK(reactant_mpi_finalize(host_only));
    host_free(&h);

    /* MPI by name works beside it, on the same communicator */
    int64_t x = rank, sum = -1;
    CHECK(reactant_mpi_MPI_Allreduce(&x, &sum, 1, REACTANT_MPI_INT64, REACTANT_MPI_SUM, 0x101) == 0 && sum == size * (size - 1) / 2,
          "%s", reactant_mpi_last_error());
    CHECK(reactant_mpi_compiled_error(NULL, 0) == 0, "");
    DEVICE_ALIVE(comm);
}

static void test_names(void)
{
    OK(reactant_mpi_register_symbols(map_nccl, REACTANT_MPI_SYMBOLS_G2 | REACTANT_MPI_ERRORS_RETURN));
    reactant_mpi_compiled_error(NULL, 0); /* what was refused before */
    test_nccl_split();
    test_nccl_failures();
}

#endif
