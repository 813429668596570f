/*
 * Cases of deadlines.c where a process ends or stops. The launcher must not clean up (tests/mpi/test_deadlines.py).
 *
 *   killed            it is killed while the others wait in a barrier; killed-messages: rank 0 in a receive
 *   stopped           it is stopped, and must not count as dead
 *   shrink            (from 3 ranks, ULFM) it is killed; rank 0 notices, the last rank waits for a message of a rank that lives; the ranks
 *                     that live go on together; shrink late: the last one does not come
 *   unable            (2 ranks) shrink where MPI cannot
 */
#ifndef DEADLINES_PEERS_H
#define DEADLINES_PEERS_H

/* MPICH's launcher tells the ranks of another's end by SIGUSR1, which MPICH itself does not expect. */
static void begin_to_die(int timeout_ms)
{
    signal(SIGUSR1, SIG_IGN);
    begin();
    if (timeout_ms)
        OK(reactant_mpi_comm_set_timeout(comm, timeout_ms));
    warm_up();
    if (rank == MISSING) {
        nap_ms(200); /* the others wait by then */
        raise(SIGKILL);
    }
}

static int killed(int messages)
{
    begin_to_die(HANG_MS / 4);
    int64_t x;
    const double began = now_ms();
    const char *text;
    if (!messages)
        text = must_fail(REACTANT_MPI_ERR_PEER, "reactant_mpi_barrier", reactant_mpi_barrier(comm), began);
    else if (rank == 0)
        text = must_fail(REACTANT_MPI_ERR_PEER, "reactant_mpi_recv", reactant_mpi_recv(&x, 1, I64, MISSING, 11, comm, NULL), began);
    else
        _exit(0);
    contains(text, "rank %d", MISSING);
    after_failure(REACTANT_MPI_ERR_PEER);
    return end();
}

static int stopped(void)
{
    begin();
    OK(reactant_mpi_comm_set_timeout(comm, LIMIT_MS));
    warm_up();
    if (rank == MISSING) {
        raise(SIGSTOP);
        _exit(0);
    }
    const double began = now_ms();
    const char *text = must_fail(REACTANT_MPI_ERR_TIMEOUT, "reactant_mpi_barrier", reactant_mpi_barrier(comm), began);
    contains(text, "not arrived: rank %d on %s (pid %lld; stopped by a signal or a debugger; last seen after reactant_mpi_bcast, call %d)",
             MISSING, host, (long long)pids[MISSING], EARLIER);
    after_failure(REACTANT_MPI_ERR_TIMEOUT);
    nap_ms(500); /* the others have read it too */
    if (rank == 0)
        kill((pid_t)pids[MISSING], SIGCONT);
    return end();
}

static int shrink(int late)
{
    begin_to_die(0);
    NEED(size > 2, "run me at 3 ranks");
    int64_t x = 10 + rank, sum = 0, want = 0;
    const double began = now_ms();
    if (late && rank == size - 1) { /* the others must not wait for it for ever */
        nap_ms(3000);
        _exit(0);
    }
    if (rank == size - 1)
        must_fail(REACTANT_MPI_ERR_PEER, "reactant_mpi_recv", reactant_mpi_recv(&sum, 1, I64, 0, 11, comm, NULL), began);
    else
        contains(must_fail(REACTANT_MPI_ERR_PEER, "reactant_mpi_barrier", reactant_mpi_barrier(comm), began), "rank %d", MISSING);
    reactant_mpi_comm *rest = NULL, *again = NULL;
    if (late) {
        FAILS(REACTANT_MPI_ERR_TIMEOUT, "comm_shrink", reactant_mpi_comm_shrink(comm, &rest));
        CHECK(!rest && now_ms() - began < HANG_MS, "");
        return end();
    }
    OK(reactant_mpi_comm_shrink(comm, &rest));
    NEED(rest, "%s", reactant_mpi_last_error());
    CHECK(reactant_mpi_size(rest) == size - 1, "%d", reactant_mpi_size(rest));
    CHECK(reactant_mpi_rank(rest) == rank - (rank > MISSING), "%d", reactant_mpi_rank(rest));
    for (int r = 0; r < size; r++)
        want += r == MISSING ? 0 : 10 + r;
    OK(reactant_mpi_allreduce(&x, &sum, 1, I64, REACTANT_MPI_SUM, rest));
    CHECK(sum == want, "%lld, not %lld", (long long)sum, (long long)want);
    OK(reactant_mpi_comm_split(rest, 0, 0, &again));
    ALIVE(again);
    FAILS(REACTANT_MPI_ERR_PEER, "takes no more calls", reactant_mpi_barrier(comm));
    CHECK(now_ms() - began < HANG_MS, "%.0f ms", now_ms() - began);
    return end();
}

static int unable(void)
{
    begin();
    reactant_mpi_comm *rest = comm;
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "comm_shrink", reactant_mpi_comm_shrink(comm, NULL));
    FAILS(REACTANT_MPI_ERR_COMM, "comm_shrink", reactant_mpi_comm_shrink(NULL, &rest));
    CHECK(!rest, "");
    FAILS(REACTANT_MPI_ERR_UNSUPPORTED, "--with-ft ulfm", reactant_mpi_comm_shrink(comm, &rest));
    ALIVE(comm);
    int r = rank;
    OK(reactant_mpi_finalize(NULL));
    return check_done(r);
}

#endif
