/*
 * Every collective and every point-to-point call on real ranks: all types, all legal operations, in place or not, several counts,
 * all roots, called plainly and prepared. What must arrive is computed from the ranks' numbers alone (types.h); 64 guard bytes
 * stand on both sides of every buffer, and what is only sent must come out unchanged.
 *
 * Run it a second time with REACTANT_MPI_MAX_COUNT=7: everything is then split, and must give the same.
 * Here: the collectives; point to point is in collectives_messages.h.
 */
#include "collectives.h"
#include "collectives_messages.h"

enum which { ALLREDUCE, REDUCE, REDUCE_SCATTER, BCAST, ALLGATHER, ALLTOALL, GATHER, SCATTER };
static const char *const names[] = {"allreduce", "reduce", "reduce_scatter", "bcast", "allgather", "alltoall", "gather", "scatter"};

enum place { APART, IN_PLACE, SAME, NOTHING /* NULL pointers, count 0 */ };
static const char *const places[] = {"two buffers", "IN_PLACE", "same pointers", "NULL"};

struct job {
    enum which which;
    const struct type *t;
    int op, root;
    size_t count;
    enum place place;
};

static int call(const struct job *j, const void *send, void *recv)
{
    int type = j->t->value;
    switch (j->which) {
    case ALLREDUCE: return reactant_mpi_allreduce(send, recv, j->count, type, j->op, comm);
    case REDUCE: return reactant_mpi_reduce(send, recv, j->count, type, j->op, j->root, comm);
    case REDUCE_SCATTER: return reactant_mpi_reduce_scatter(send, recv, j->count, type, j->op, comm);
    case BCAST: return reactant_mpi_bcast(recv, j->count, type, j->root, comm);
    case ALLGATHER: return reactant_mpi_allgather(send, recv, j->count, type, comm);
    case ALLTOALL: return reactant_mpi_alltoall(send, recv, j->count, type, comm);
    case GATHER: return reactant_mpi_gather(send, recv, j->count, type, j->root, comm);
    case SCATTER: return reactant_mpi_scatter(send, recv, j->count, type, j->root, comm);
    }
    return -1;
}

static int prepare(const struct job *j, const void *send, void *recv, reactant_mpi_request **out)
{
    int type = j->t->value;
    switch (j->which) {
    case ALLREDUCE: return reactant_mpi_prepare_allreduce(send, recv, j->count, type, j->op, comm, out);
    case REDUCE: return reactant_mpi_prepare_reduce(send, recv, j->count, type, j->op, j->root, comm, out);
    case REDUCE_SCATTER: return reactant_mpi_prepare_reduce_scatter(send, recv, j->count, type, j->op, comm, out);
    case BCAST: return reactant_mpi_prepare_bcast(recv, j->count, type, j->root, comm, out);
    case ALLGATHER: return reactant_mpi_prepare_allgather(send, recv, j->count, type, comm, out);
    case ALLTOALL: return reactant_mpi_prepare_alltoall(send, recv, j->count, type, comm, out);
    case GATHER: return reactant_mpi_prepare_gather(send, recv, j->count, type, j->root, comm, out);
    case SCATTER: return reactant_mpi_prepare_scatter(send, recv, j->count, type, j->root, comm, out);
    }
    return -1;
}

/* Elements this rank sends and receives. */
static size_t sends(const struct job *j)
{
    switch (j->which) {
    case REDUCE_SCATTER:
    case ALLTOALL: return (size_t)size * j->count;
    case SCATTER: return rank == j->root ? (size_t)size * j->count : 0;
    case BCAST: return 0; /* its one buffer is handled as the receiving one */
    default: return j->count;
    }
}

static size_t receives(const struct job *j)
{
    switch (j->which) {
    case REDUCE: return rank == j->root ? j->count : 0;
    case ALLGATHER:
    case ALLTOALL: return (size_t)size * j->count;
    case GATHER: return rank == j->root ? (size_t)size * j->count : 0;
    default: return j->count;
    }
}

/* What element i of the receiving buffer must be. */
static struct element expected(const struct job *j, unsigned seed, size_t i)
{
    size_t at = j->which == REDUCE_SCATTER ? (size_t)rank * j->count + i : i;
    struct element e;
    switch (j->which) {
    case ALLREDUCE:
    case REDUCE:
    case REDUCE_SCATTER:
        e = sent(j->t, j->op, seed, 0, at);
        if (size == 1 && (j->op == REACTANT_MPI_LAND || j->op == REACTANT_MPI_LOR || j->op == REACTANT_MPI_LXOR))
            return e; /* one rank: nothing is combined, the value itself comes back */
        for (int r = 1; r < size; r++)
            e = fold(j->t, j->op, e, sent(j->t, j->op, seed, r, at));
        return e;
    case BCAST: return sent(j->t, 0, seed, j->root, i);
    case ALLGATHER:
    case GATHER: return sent(j->t, 0, seed, (int)(i / j->count), i % j->count);
    case ALLTOALL: return sent(j->t, 0, seed, (int)(i / j->count), (size_t)rank * j->count + i % j->count);
    case SCATTER: return sent(j->t, 0, seed, j->root, (size_t)rank * j->count + i);
    }
    return sent(j->t, 0, 0, 0, 0);
}

static void fill(const struct job *j, void *base, size_t n, unsigned seed)
{
    int op = j->which <= REDUCE_SCATTER ? j->op : 0;
    for (size_t i = 0; i < n; i++)
        put(j->t, base, i, sent(j->t, op, seed, rank, i));
}

static void bad(const struct job *j, bool prepared, const char *what, size_t i)
{
    check_fail(__FILE__, __LINE__, what, " %s%s of %zu %s, %s, op 0x%x, root %d, %d ranks, element %zu",
               prepared ? "prepared " : "", names[j->which], j->count, j->t->name, places[j->place], j->op, j->root, size, i);
}

static void run_job(const struct job *j, bool prepared)
{
    size_t ns = sends(j), nr = receives(j), es = j->t->size;
    bool root = rank == j->root;
    bool rooted = j->which == REDUCE || j->which == GATHER || j->which == SCATTER;
    bool in_place = (j->place == IN_PLACE || j->place == SAME) && (!rooted || root);
    struct buffer sb = {0}, rb = {0};
    void *send = NULL, *recv = NULL; /* what the call gets */
    void *source = NULL;             /* where this rank's input lies: ns elements */
    void *result = NULL;             /* where its output must be: nr elements */

    if (j->place == NOTHING) {
        ;
    } else if (j->which == BCAST) {
        recv = result = buffer_new(&rb, j->count * es);
        source = root ? recv : NULL;
        ns = root ? j->count : 0;
    } else if (in_place && j->which == SCATTER) {
        source = send = buffer_new(&sb, ns * es);
        result = (char *)send + (size_t)rank * j->count * es;
        recv = j->place == SAME ? result : REACTANT_MPI_IN_PLACE;
    } else if (in_place) {
        size_t whole = ns > nr ? ns : nr;
        recv = result = buffer_new(&rb, whole * es);
        source = recv;
        if (j->which == ALLGATHER || j->which == GATHER)
            source = (char *)recv + (size_t)rank * j->count * es;
        send = j->place == SAME ? source : REACTANT_MPI_IN_PLACE;
    } else {
        if (ns || !rooted || j->which != SCATTER)
            source = send = buffer_new(&sb, ns * es);
        if (nr || j->which == SCATTER || !rooted)
            recv = result = buffer_new(&rb, nr * es);
        else if (j->count % 2) /* recv is ignored away from the root: NULL, or a buffer nobody may touch */
            recv = buffer_new(&rb, j->count * es);
    }

    reactant_mpi_request *req = NULL;
    if (prepared) {
        int rc = prepare(j, send, recv, &req);
        check_count++;
        if (rc != 0) {
            bad(j, true, reactant_mpi_last_error(), 0);
            goto out;
        }
    }
    for (unsigned seed = 1; seed <= (prepared ? 2u : 1u); seed++) {
        if (source)
            fill(j, source, ns, seed);
        int rc = prepared ? reactant_mpi_run(req) : call(j, send, recv);
        check_count++;
        if (rc != 0)
            bad(j, prepared, reactant_mpi_last_error(), 0);
        check_count++;
        for (size_t i = 0; result && i < nr; i++)
            if (!same(j->t, result, i, expected(j, seed, i))) {
                bad(j, prepared, "the right result", i);
                break;
            }
        check_count++;
        int op = j->which <= REDUCE_SCATTER ? j->op : 0;
        if (source && (!in_place || j->which == SCATTER) && j->which != BCAST)
            for (size_t i = 0; i < ns; i++)
                if (!same(j->t, source, i, sent(j->t, op, seed, rank, i))) {
                    bad(j, prepared, "the sent data unchanged", i);
                    break;
                }
        if (sb.block && !buffer_whole(&sb))
            bad(j, prepared, "nothing written around the send buffer", 0);
        if (rb.block && !(result ? buffer_whole(&rb) : buffer_untouched(&rb)))
            bad(j, prepared, "nothing written around the receive buffer", 0);
    }
    if (prepared)
        OK(reactant_mpi_request_free(req));
out:
    free(sb.block);
    free(rb.block);
}

static void run_both(struct job j, bool has_root, bool has_in_place)
{
    for (j.root = 0; j.root < (has_root ? size : 1); j.root++) {
        for (j.place = APART; j.place <= NOTHING; j.place++) {
            if ((j.place == IN_PLACE || j.place == SAME) && !has_in_place)
                continue;
            if (j.place == SAME && (j.which == ALLTOALL || (j.count == 0 && j.which != ALLREDUCE)))
                continue;
            if (j.place == NOTHING && j.count > 0)
                continue;
            static unsigned jobs;
            run_job(&j, false);
            if (size <= 2 || jobs++ % 4 == 0) /* more ranks than cores are slow: there every fourth one prepared, too */
                run_job(&j, true);
        }
    }
}

static void test_collectives(const size_t *counts, size_t n_counts, bool all)
{
    for (size_t t = 0; t < N_TYPES; t += all ? 1 : 5) { /* not all: int8, uint32, complex64 and their first operation */
        for (size_t c = 0; c < n_counts; c++) {
            struct job j = {ALLREDUCE, &types[t], 0, 0, counts[c], APART};
            for (size_t o = 0; o < N_OPS; o++) {
                if (!legal(&types[t], ops[o].value) || (!all && o > 0))
                    continue;
                j.op = ops[o].value;
                j.which = ALLREDUCE, run_both(j, false, true);
                j.which = REDUCE, run_both(j, true, true);
                j.which = REDUCE_SCATTER, run_both(j, false, true);
            }
            j.op = 0;
            j.which = BCAST, run_both(j, true, false);
            j.which = ALLGATHER, run_both(j, false, true);
            j.which = ALLTOALL, run_both(j, false, true);
            j.which = GATHER, run_both(j, true, true);
            j.which = SCATTER, run_both(j, true, true);
        }
    }
}

/* A barrier holds everybody until the last comes: what rank r said before it is seen after it. */
static void test_barrier(void)
{
    reactant_mpi_request *req = NULL;
    OK(reactant_mpi_barrier(comm));
    OK(reactant_mpi_prepare_barrier(comm, &req));
    for (int i = 0; i < 3; i++)
        OK(reactant_mpi_run(req));
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

int main(void)
{
    const char *limit = getenv("REACTANT_MPI_MAX_COUNT");
    CHECK(reactant_mpi_version() == REACTANT_MPI_VERSION, "version 0x%x", reactant_mpi_version());
    CHECK(reactant_mpi_last_error_code() == 0 && reactant_mpi_last_error()[0] == 0, "before any failure: %d '%s'",
          reactant_mpi_last_error_code(), reactant_mpi_last_error());
    comm = reactant_mpi_initialize(REACTANT_MPI_COMM_WORLD);
    NEED(comm, "%s", reactant_mpi_last_error());
    check_rank = rank = reactant_mpi_rank(comm);
    size = reactant_mpi_size(comm);
    NEED(size >= 1 && rank >= 0 && rank < size, "rank %d of %d", rank, size);

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
    test_any_source();
    test_tags();
    CHECK(reactant_mpi_comm_error(comm) == 0, "nothing has failed yet, but %d is latched", reactant_mpi_comm_error(comm));
    test_truncated();
    ALIVE(comm);
    OK(reactant_mpi_finalize(NULL));
    return check_done(rank);
}
