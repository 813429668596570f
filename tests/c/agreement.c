/*
 * Option check: one rank does something else than the others, in every way there is; every rank must get code 30 with every rank's view,
 * no buffer may have changed, and the next call must be right. Each case once with rank 0 and once with the last rank as the odd one.
 * "agreement missing": the last rank stays away from a call with a timeout; the others are told so, after the time.
 */
#include "check.h"

enum { F32 = REACTANT_MPI_FLOAT32, F64 = REACTANT_MPI_FLOAT64, SUM = REACTANT_MPI_SUM, MAX = REACTANT_MPI_MAX, ROOM = 64 };

static reactant_mpi_comm *comm, *other;
static int rank, size, odd, calls;
static double send[ROOM], recv[ROOM];

static void fill(void)
{
    for (int i = 0; i < ROOM; i++)
        send[i] = 100 * rank + i, recv[i] = -1 - i;
}

static void alive(void)
{
    calls++;
    ALIVE(comm);
}

/* "allreduce", ", FLOAT32 x 4, SUM" -> "rank 2: allreduce call 7, FLOAT32 x 4, SUM" */
static void view(char *text, size_t room, const char *ranks, const char *name, const char *rest)
{
    snprintf(text, room, "%s: %s call %d%s", ranks, name, calls, rest);
}

/* What a wrong call must not have done. */
static void nothing_moved(int line, int rc)
{
    CHECK(rc == REACTANT_MPI_ERR_MISMATCH, "line %d: got %d", line, rc);
    CHECK(rc == reactant_mpi_last_error_code(), "line %d: got %d", line, reactant_mpi_last_error_code());
    CHECK(reactant_mpi_comm_error(comm) == REACTANT_MPI_ERR_MISMATCH, "line %d: %d", line, reactant_mpi_comm_error(comm));
    for (int i = 0; i < ROOM; i++)
        CHECK(send[i] == 100 * rank + i && recv[i] == -1 - i, "line %d: element %d has changed", line, i);
    alive();
}

static void differ(int line, int rc, const char *name, const char *rest, const char *odd_name, const char *odd_rest)
{
    const char *text = reactant_mpi_last_error();
    char most_of[64], ranks[64], of_most[256], of_odd[256];
    int first = odd == 0, last = odd == 0 ? size - 1 : size - 2;
    snprintf(most_of, sizeof most_of, first == last ? "rank %d" : "ranks %d-%d", first, last);
    snprintf(ranks, sizeof ranks, "rank %d", odd);
    view(of_most, sizeof of_most, most_of, name, rest);
    view(of_odd, sizeof of_odd, ranks, odd_name, odd_rest);
    CHECK(strstr(text, of_most), "line %d: '%s' wanted in '%s'", line, of_most, text);
    CHECK(strstr(text, of_odd), "line %d: '%s' wanted in '%s'", line, of_odd, text);
    nothing_moved(line, rc);
}

#define DIFFER(call, name, rest, odd_call, odd_name, odd_rest)                                                                     \
    do {                                                                                                                           \
        int differ_rc;                                                                                                             \
        calls++;                                                                                                                   \
        differ_rc = rank == odd ? (odd_call) : (call);                                                                             \
        differ(__LINE__, differ_rc, name, rest, odd_name, odd_rest);                                                               \
    } while (0)

/* One rank has other amounts than the others think: who gives what to whom must be in the text, on every rank. */
__attribute__((format(printf, 3, 4))) static void amounts(int line, int rc, const char *format, ...)
{
    const char *text = reactant_mpi_last_error();
    char wanted[256];
    va_list list;
    va_start(list, format);
    vsnprintf(wanted, sizeof wanted, format, list);
    va_end(list);
    CHECK(strstr(text, wanted), "line %d: '%s' wanted in '%s'", line, wanted, text);
    nothing_moved(line, rc);
}

#define AMOUNTS(call, ...)                                                                                                         \
    do {                                                                                                                           \
        int amounts_rc;                                                                                                            \
        calls++;                                                                                                                   \
        amounts_rc = (call);                                                                                                       \
        amounts(__LINE__, amounts_rc, __VA_ARGS__);                                                                                \
    } while (0)

static int allreduce(size_t count, int type, int op)
{
    return reactant_mpi_allreduce(send, recv, count, type, op, comm);
}

static void mismatches(void)
{
    reactant_mpi_request *request;
    DIFFER(allreduce(4, F32, SUM), "allreduce", ", FLOAT32 x 4, SUM",
           reactant_mpi_bcast(recv, 4, F32, 0, comm), "bcast", ", FLOAT32 x 4, root 0");
    DIFFER(allreduce(4, F32, SUM), "allreduce", ", FLOAT32 x 4, SUM",
           reactant_mpi_barrier(comm), "barrier", "");
    DIFFER(allreduce(4, F32, SUM), "allreduce", ", FLOAT32 x 4, SUM", allreduce(4, F64, SUM), "allreduce", ", FLOAT64 x 4, SUM");
    DIFFER(allreduce(4, F32, SUM), "allreduce", ", FLOAT32 x 4, SUM", allreduce(4, F32, MAX), "allreduce", ", FLOAT32 x 4, MAX");
    DIFFER(allreduce(4, F32, SUM), "allreduce", ", FLOAT32 x 4, SUM", allreduce(5, F32, SUM), "allreduce", ", FLOAT32 x 5, SUM");
    DIFFER(allreduce(0, F32, SUM), "allreduce", ", FLOAT32 x 0, SUM", allreduce(1, F32, SUM), "allreduce", ", FLOAT32 x 1, SUM");
    DIFFER(reactant_mpi_bcast(recv, 4, F32, 0, comm), "bcast", ", FLOAT32 x 4, root 0",
           reactant_mpi_bcast(recv, 4, F32, 1, comm), "bcast", ", FLOAT32 x 4, root 1");
    DIFFER(reactant_mpi_bcast(recv, 4, F32, 0, comm), "bcast", ", FLOAT32 x 4, root 0",
           reactant_mpi_bcast(recv, 2, F64, 0, comm), "bcast", ", FLOAT64 x 2, root 0");
    DIFFER(reactant_mpi_reduce(send, recv, 4, F32, SUM, 1, comm), "reduce", ", FLOAT32 x 4, SUM, root 1",
           reactant_mpi_reduce(send, recv, 4, F32, SUM, 0, comm), "reduce", ", FLOAT32 x 4, SUM, root 0");
    DIFFER(reactant_mpi_reduce_scatter(send, recv, 4, F32, SUM, comm), "reduce_scatter", ", FLOAT32 x 4, SUM",
           reactant_mpi_reduce_scatter(send, recv, 3, F32, SUM, comm), "reduce_scatter", ", FLOAT32 x 3, SUM");
    DIFFER(reactant_mpi_allgather(send, recv, 4, F32, comm), "allgather", ", FLOAT32 x 4",
           reactant_mpi_allgather(send, recv, 5, F32, comm), "allgather", ", FLOAT32 x 5");
    DIFFER(reactant_mpi_gather(send, recv, 4, F32, 0, comm), "gather", ", FLOAT32 x 4, root 0",
           reactant_mpi_gather(send, recv, 5, F32, 0, comm), "gather", ", FLOAT32 x 5, root 0");
    DIFFER(reactant_mpi_scatter(send, recv, 4, F32, 0, comm), "scatter", ", FLOAT32 x 4, root 0",
           reactant_mpi_gather(send, recv, 4, F32, 0, comm), "gather", ", FLOAT32 x 4, root 0");
    DIFFER(reactant_mpi_alltoall(send, recv, 4, F32, comm), "alltoall", ", FLOAT32 x 4",
           reactant_mpi_alltoall(REACTANT_MPI_IN_PLACE, recv, 4, F32, comm), "alltoall", ", FLOAT32 x 4, in place");

    /* Two calls in another order: both are wrong. */
    DIFFER(allreduce(4, F32, SUM), "allreduce", ", FLOAT32 x 4, SUM", reactant_mpi_barrier(comm), "barrier", "");
    DIFFER(reactant_mpi_barrier(comm), "barrier", "", allreduce(4, F32, SUM), "allreduce", ", FLOAT32 x 4, SUM");

    /* A prepared call is the same as a plain one, and can be another one. */
    OK(reactant_mpi_prepare_allreduce(send, recv, 4, F32, MAX, comm, &request));
    DIFFER(allreduce(4, F32, SUM), "allreduce", ", FLOAT32 x 4, SUM", reactant_mpi_run(request), "allreduce", ", FLOAT32 x 4, MAX");
    OK(reactant_mpi_request_free(request));

    DIFFER(reactant_mpi_scan(send, recv, 4, F32, SUM, comm), "scan", ", FLOAT32 x 4, SUM",
           reactant_mpi_exscan(send, recv, 4, F32, SUM, comm), "exscan", ", FLOAT32 x 4, SUM");
    /* A started call is not a blocking one, and is compared when it is started. */
    DIFFER(allreduce(4, F32, SUM), "allreduce", ", FLOAT32 x 4, SUM",
           reactant_mpi_iallreduce(send, recv, 4, F32, SUM, comm, &request), "iallreduce", ", FLOAT32 x 4, SUM");
    CHECK(rank != odd || request == NULL, "no request");
    DIFFER(reactant_mpi_ibcast(recv, 4, F32, 0, comm, &request), "ibcast", ", FLOAT32 x 4, root 0",
           reactant_mpi_ibcast(recv, 4, F32, 1, comm, &request), "ibcast", ", FLOAT32 x 4, root 1");
    OK(reactant_mpi_prepare_allreduce(send, recv, 4, F32, SUM, comm, &request));
    DIFFER(allreduce(4, F32, SUM), "allreduce", ", FLOAT32 x 4, SUM",
           reactant_mpi_start(request), "iallreduce", ", FLOAT32 x 4, SUM");
    OK(reactant_mpi_request_free(request));
}

static void different_amounts(void)
{
    size_t counts[8], others[8], displs[8];
    const int next = (rank + 1) % size, before = (rank + size - 1) % size, other = odd ? 0 : 1;
    const int after_odd = (odd + 1) % size, before_odd = (odd + size - 1) % size;
    for (int r = 0; r < size; r++)
        counts[r] = others[r] = 2, displs[r] = 4 * (size_t)r;
    const size_t own = rank == odd ? 3 : 2;
    if (rank == odd)
        others[odd] = 3;
    AMOUNTS(reactant_mpi_allgatherv(send, own, recv, others, displs, F32, comm),
            "rank %d gives 3 elements to rank %d, which awaits 2", odd, other);
    /* At the root itself the counts are compared before the ranks are (code 5). */
    AMOUNTS(reactant_mpi_gatherv(send, own, recv, counts, displs, F32, other, comm),
            "rank %d gives 3 elements to rank %d, which awaits 2", odd, other);
    AMOUNTS(reactant_mpi_scatterv(send, counts, displs, recv, own, F32, other, comm),
            "rank %d gives 2 elements to rank %d, which awaits 3", other, odd);
    others[odd] = 2;
    if (rank == odd)
        others[other] = 1;
    AMOUNTS(reactant_mpi_alltoallv(send, others, displs, recv, counts, displs, F32, comm),
            "rank %d gives 1 elements to rank %d, which awaits 2", odd, other);
    AMOUNTS(reactant_mpi_alltoallv(REACTANT_MPI_IN_PLACE, NULL, NULL, recv, others, displs, F32, comm),
            "rank %d gives 1 elements to rank %d, which awaits 2", odd, other);
    AMOUNTS(reactant_mpi_reduce_scatterv(send, recv, others, F32, SUM, comm),
            "rank %d gives 1 elements to rank %d, which awaits 2", odd, other);
    DIFFER(reactant_mpi_alltoallv(send, counts, displs, recv, counts, displs, F32, comm), "alltoallv", ", FLOAT32",
           reactant_mpi_alltoallv(REACTANT_MPI_IN_PLACE, NULL, NULL, recv, counts, displs, F32, comm), "alltoallv", ", FLOAT32, in place");
    AMOUNTS(reactant_mpi_permute(send, recv, 2, F32, rank == odd ? REACTANT_MPI_PROC_NULL : before, 1, &next, comm),
            "rank %d gives 2 elements to rank %d, which awaits nothing from it", before_odd, odd);
    AMOUNTS(reactant_mpi_permute(send, recv, 2, F32, before, rank != odd, &next, comm),
            "rank %d awaits 2 elements from rank %d, which gives it nothing", after_odd, odd);
    AMOUNTS(reactant_mpi_permute(send, recv, own, F32, before, 1, &next, comm),
            "rank %d gives 3 elements to rank %d, which awaits 2", odd, after_odd);
}

/* What may differ: buffers, in place or not, plain or prepared. What one rank is refused by itself the others do not see. */
static void agreements(void)
{
    reactant_mpi_request *request;
    double sum = size * (size - 1) / 2.0;
    calls += 2;
    recv[0] = rank;
    OK(rank == odd ? reactant_mpi_allreduce(REACTANT_MPI_IN_PLACE, recv, 1, F64, SUM, comm)
                   : reactant_mpi_allreduce(&recv[0], &recv[1], 1, F64, SUM, comm));
    CHECK(recv[rank != odd] == sum, "got %g", recv[rank != odd]);
    send[0] = rank;
    OK(reactant_mpi_prepare_allreduce(send, recv, 1, F64, SUM, comm, &request));
    OK(rank == odd ? reactant_mpi_run(request) : reactant_mpi_allreduce(send, recv, 1, F64, SUM, comm));
    CHECK(recv[0] == sum, "got %g", recv[0]);
    OK(reactant_mpi_request_free(request));
    /* Amounts that differ from rank to rank, and fit. */
    size_t counts[8], displs[8];
    for (int r = 0; r < size; r++)
        counts[r] = displs[r] = (size_t)r;
    calls += 2;
    for (int i = 0; i < size; i++)
        send[i] = rank;
    OK(reactant_mpi_allgatherv(send, (size_t)rank, recv, counts, displs, F64, comm));
    CHECK(recv[size - 1] == size - 1, "%g", recv[size - 1]);
    const int next = (rank + 1) % size;
    OK(reactant_mpi_permute(send, recv, 1, F64, rank == 0 ? REACTANT_MPI_PROC_NULL : rank - 1, rank + 1 < size, &next, comm));
    CHECK(recv[0] == (rank ? rank - 1 : 0), "%g", recv[0]);
    if (rank == odd)
        FAILS(REACTANT_MPI_ERR_OP, "allreduce", reactant_mpi_allreduce(send, recv, 1, F64, REACTANT_MPI_BAND, comm));
    alive();
    fill();
}

static void missing(void)
{
    char who[32];
    snprintf(who, sizeof who, "rank %d", size - 1);
    if (rank < size - 1) {
        FAILS(REACTANT_MPI_ERR_TIMEOUT, who, allreduce(4, F32, SUM));
        FAILS(REACTANT_MPI_ERR_TIMEOUT, who, allreduce(4, F32, SUM)); /* no more calls here */
    }
    OK(reactant_mpi_barrier(other));
    check_done(rank);
    sleep(1); /* Open MPI's launcher ends the others, and what they have to say, with the first that leaves */
    _exit(check_failures != 0);
}

int main(int argc, char **argv)
{
    reactant_mpi_options options = REACTANT_MPI_OPTIONS_INIT;
    reactant_mpi_comm *half, *world;
    const int stays_away = argc > 1 && strcmp(argv[1], "missing") == 0;
    options.check = 1;
    options.call_timeout_ms = stays_away ? 1000 : -1;
    OK(reactant_mpi_initialize_with(0, &options, &world));
    NEED(world, "%s", reactant_mpi_last_error());
    comm = world;
    check_rank = rank = reactant_mpi_rank(comm);
    size = reactant_mpi_size(comm);
    NEED(size > 1, "from 2 ranks");
    if (stays_away) {
        OK(reactant_mpi_comm_split(world, 0, rank, &other));
        OK(reactant_mpi_comm_set_timeout(other, 0));
        missing();
    }
    fill();
    alive();
    for (odd = 0; odd < size; odd += size - 1) {
        mismatches();
        different_amounts();
        agreements();
    }
    /* A communicator made from this one compares too, and counts for itself. */
    OK(reactant_mpi_comm_split(world, 0, rank, &half));
    comm = half;
    calls = 0;
    odd = 0;
    mismatches();
    OK(reactant_mpi_finalize(NULL));
    return check_done(rank);
}
