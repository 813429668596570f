/*
 * Every collective and every point-to-point call on real ranks: all types, all legal operations, in place or not, several counts and
 * sizes of blocks, all roots; blocking, started, prepared and run, prepared and started again. What must arrive is computed from the
 * ranks' numbers alone (types.h, jobs.h); guard bytes stand around every buffer and in the gaps between blocks, and what is only sent
 * must come out unchanged.
 *
 *   collectives SHARE   one of SHARE jobs, each in one way, chosen by its number and the number of ranks; 0: all jobs in all ways
 *
 * With a small REACTANT_MPI_MAX_COUNT everything is split, and must give the same. Point to point is in collectives_messages.h.
 */
#include "collectives_messages.h"
#include "job_run.h"

static unsigned share;

static bool is_blocks(enum row r)
{
    return r == ALLGATHERV || r == GATHERV || r == SCATTERV || r == ALLTOALLV || r == REDUCE_SCATTERV;
}

static bool has_place(enum row r, enum place p)
{
    if (p == APART || p == NOTHING)
        return true;
    if (r == BCAST || r == PERMUTE || r == BARRIER)
        return false;
    return p == IN_PLACE || (r != ALLTOALL && r != ALLTOALLV && (p == SAME || !is_rooted(r)));
}

/* Done by the way that was asked for; 0 or its code. */
static int perform(enum way way, const struct job *j, struct running *x, reactant_mpi_request *prepared)
{
    reactant_mpi_status status = {-7, -7, 777};
    reactant_mpi_request *req = prepared;
    int rc, done = 0;
    if (way == BLOCKED)
        return call_row(j->row, BLOCKING, &x->a, NULL);
    if (way == RUN)
        return reactant_mpi_run(prepared);
    if (way == RESTARTED) {
        rc = reactant_mpi_start(prepared);
    } else {
        rc = call_row(j->row, STARTED, &x->a, &req);
        memset(&x->lists, 0x7f, sizeof x->lists); /* they are free again */
    }
    if (rc != 0)
        return rc;
    if (way == TESTED)
        while (rc == 0 && !done)
            rc = reactant_mpi_test(req, &done, &status);
    else
        rc = reactant_mpi_wait(req, &status);
    if (rc == 0)
        CHECK(status.source == REACTANT_MPI_PROC_NULL && status.tag == REACTANT_MPI_ANY_TAG && status.bytes == 0,
              "%s: source %d tag %d bytes %zu", row_names[j->row], status.source, status.tag, status.bytes);
    return rc;
}

static void run_job(const struct job *j, enum way way)
{
    struct running x = {0};
    reactant_mpi_request *req = NULL;
    const bool prepared = way == RUN || way == RESTARTED;
    arrange(j, &x);
    if (prepared && call_row(j->row, PREPARED, &x.a, &req) != 0)
        bad(j, way, reactant_mpi_last_error(), 0);
    for (unsigned seed = 1; seed <= (prepared ? 2u : 1u); seed++) {
        fill(j, &x, seed);
        check_count++;
        if (perform(way, j, &x, req) != 0)
            bad(j, way, reactant_mpi_last_error(), 0);
        look_at_all(j, way, seed, &x);
    }
    if (prepared)
        OK(reactant_mpi_request_free(req));
    clear(&x);
}

static void maybe(const struct job *j)
{
    static uint64_t number;
    const uint64_t h = mix(++number * MAX_RANKS + (uint64_t)size);
    if (share == 0)
        for (enum way way = BLOCKED; way < N_WAYS; way++)
            run_job(j, way);
    else if (h % share == 0)
        run_job(j, (enum way)((h >> 32) % N_WAYS));
}

static void each_root_and_place(struct job j)
{
    const int variants = is_blocks(j.row) ? 3 : j.row == PERMUTE ? N_PERMUTATIONS : 1;
    for (j.root = 0; j.root < (has_root(j.row) ? size : 1); j.root++)
        for (j.variant = 0; j.variant < variants; j.variant++)
            for (j.place = APART; j.place < N_PLACES; j.place++) {
                /* Equal pointers of nothing mean nothing. */
                if (!has_place(j.row, j.place) || (j.place == NOTHING && j.count > 0) ||
                    (j.place == SAME && j.count == 0 && j.row != ALLREDUCE))
                    continue;
                maybe(&j);
            }
}

static void test_collectives(const size_t *counts, size_t n_counts, bool all)
{
    for (size_t t = 0; t < N_TYPES; t += all ? 1 : 5) /* not all: int8, uint32, complex64, bfloat16 and their first operation */
        for (size_t c = 0; c < n_counts; c++)
            for (enum row row = 0; row < BARRIER; row++) {
                struct job j = {.row = row, .t = &types[t], .count = counts[c]};
                if (!reduces(row))
                    each_root_and_place(j);
                for (size_t o = 0; reduces(row) && o < (all ? (size_t)N_OPS : 1); o++) {
                    j.op = ops[o].value;
                    if (legal(j.t, j.op) && (j.op != REACTANT_MPI_AVG || (row != SCAN && row != EXSCAN)))
                        each_root_and_place(j);
                }
            }
}

static void test_barrier(void)
{
    reactant_mpi_request *req = NULL;
    OK(reactant_mpi_barrier(comm));
    OK(reactant_mpi_ibarrier(comm, &req));
    OK(reactant_mpi_wait(req, NULL));
    OK(reactant_mpi_prepare_barrier(comm, &req));
    for (int i = 0; i < 3; i++) {
        OK(reactant_mpi_run(req));
        OK(reactant_mpi_start(req));
        OK(reactant_mpi_wait(req, NULL));
    }
    OK(reactant_mpi_request_free(req));
}

/* Several prepared calls alive at once, run in another order than they were made. */
static void test_many_prepared(void)
{
    enum { N = 20 };
    reactant_mpi_request *req[N];
    int64_t in[N], out[N];
    for (int i = 0; i < N; i++)
        OK(reactant_mpi_prepare_allreduce(&in[i], &out[i], 1, REACTANT_MPI_INT64, REACTANT_MPI_SUM, comm, &req[i]));
    for (int round = 0; round < 3; round++)
        for (int k = 0; k < N; k++) {
            int i = (k * 7 + round) % N;
            in[i] = i * 1000 + rank + round;
            out[i] = -1;
            OK(reactant_mpi_run(req[i]));
            CHECK(out[i] == (int64_t)size * (i * 1000 + round) + (int64_t)size * (size - 1) / 2, "got %lld", (long long)out[i]);
        }
    for (int i = N - 1; i >= 0; i--)
        OK(reactant_mpi_request_free(req[i]));
}

int main(int argc, char **argv)
{
    const char *limit = getenv("REACTANT_MPI_MAX_COUNT");
    share = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
    CHECK(reactant_mpi_version() == REACTANT_MPI_VERSION, "version 0x%x", reactant_mpi_version());
    CHECK(reactant_mpi_last_error_code() == 0 && reactant_mpi_last_error()[0] == 0, "before any failure: %d '%s'",
          reactant_mpi_last_error_code(), reactant_mpi_last_error());
    comm = reactant_mpi_initialize(REACTANT_MPI_COMM_WORLD);
    NEED(comm, "%s", reactant_mpi_last_error());
    check_rank = rank = reactant_mpi_rank(comm);
    size = reactant_mpi_size(comm);
    NEED(size >= 1 && size <= MAX_RANKS && rank >= 0 && rank < size, "rank %d of %d", rank, size);

    static const size_t plain[] = {0, 1, 3, 1000}, split[] = {0, 1, 3, 6, 7, 8, 20}, large[] = {30011};
    if (limit) {
        test_collectives(split, sizeof split / sizeof split[0], true);
    } else {
        test_collectives(plain, sizeof plain / sizeof plain[0], true);
        test_collectives(large, 1, false);
    }
    test_barrier();
    test_many_prepared();
    test_point_to_point();
    test_lengths();
    test_proc_null();
    test_probe();
    test_any_source();
    test_tags();
    CHECK(reactant_mpi_comm_error(comm) == 0, "nothing has failed yet, but %d is latched", reactant_mpi_comm_error(comm));
    test_truncated();
    ALIVE(comm);
    OK(reactant_mpi_finalize(NULL));
    return check_done(rank);
}
