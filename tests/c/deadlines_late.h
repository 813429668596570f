/* Cases of deadlines.c where a rank comes too late, or does something else. */
#ifndef DEADLINES_LATE_H
#define DEADLINES_LATE_H

static int sleeps(int elsewhere)
{
    begin();
    if (elsewhere)
        be_elsewhere();
    OK(reactant_mpi_comm_set_timeout(comm, LIMIT_MS));
    warm_up();
    if (rank == MISSING) {
        nap_ms(2 * LIMIT_MS);
        reactant_mpi_barrier(comm); /* its own outcome is nobody's matter */
    } else {
        const double began = now_ms();
        const char *text = must_fail(REACTANT_MPI_ERR_TIMEOUT, "reactant_mpi_barrier", reactant_mpi_barrier(comm), began);
        contains(text, "call %d of this communicator did not end within %d ms", EARLIER + 1, LIMIT_MS);
        contains(text, "%s on %s", present(), host);
        if (elsewhere)
            contains(text, "not arrived: rank %d on %s: not heard from", MISSING, host);
        else
            contains(text, "not arrived: rank %d on %s (pid %lld; last seen after reactant_mpi_bcast, call %d)", MISSING, host,
                     (long long)pids[MISSING], EARLIER);
        after_failure(REACTANT_MPI_ERR_TIMEOUT);
    }
    ALIVE(other);
    return end();
}

/* A rank that ends in order must not wait for the others, which will not. */
static int finalizes(void)
{
    begin();
    OK(reactant_mpi_comm_set_timeout(comm, LIMIT_MS));
    warm_up();
    ALIVE(other);
    if (rank == MISSING) {
        const double began = now_ms();
        int r = rank;
        OK(reactant_mpi_finalize(NULL));
        CHECK(now_ms() - began < HANG_MS, "%.0f ms in finalize", now_ms() - began);
        return check_done(r);
    }
    const double began = now_ms();
    const char *text = must_fail(REACTANT_MPI_ERR_TIMEOUT, "reactant_mpi_barrier", reactant_mpi_barrier(comm), began);
    contains(text, "not arrived: rank %d on %s (pid %lld; last seen after", MISSING, host, (long long)pids[MISSING]);
    nap_ms(LIMIT_MS); /* all have seen it by then */
    return end();
}

static int hosts(void)
{
    be_a_host();
    begin();
    OK(reactant_mpi_comm_set_timeout(comm, LIMIT_MS));
    warm_up();
    if (rank == MISSING) {
        nap_ms(2 * LIMIT_MS);
        reactant_mpi_barrier(comm);
    } else {
        const double began = now_ms();
        const char *text = must_fail(REACTANT_MPI_ERR_TIMEOUT, "reactant_mpi_barrier", reactant_mpi_barrier(comm), began);
        contains(text, "Arrived: rank 0 on node0");
        for (int r = 2; r < size; r++)
            contains(text, "; rank %d on node%d", r, r);
        contains(text, "; not arrived: rank %d on node%d: not heard from", MISSING, MISSING);
    }
    ALIVE(other);
    return end();
}

static int other_call(void)
{
    begin();
    OK(reactant_mpi_comm_set_timeout(comm, LIMIT_MS));
    warm_up();
    const double began = now_ms();
    if (rank == MISSING) {
        reactant_mpi_bcast(&bcast_word, 1, I64, (MISSING + 1) % size, comm);
    } else {
        const char *text = must_fail(REACTANT_MPI_ERR_TIMEOUT, "reactant_mpi_barrier", reactant_mpi_barrier(comm), began);
        contains(text, "%s on %s", present(), host);
        contains(text, "in another collective as that call: rank %d on %s (pid %lld; ", MISSING, host, (long long)pids[MISSING]);
        contains(text, "reactant_mpi_bcast, call %d)", EARLIER + 1);
        after_failure(REACTANT_MPI_ERR_TIMEOUT);
    }
    ALIVE(other);
    return end();
}

static int other_comm(void)
{
    begin();
    OK(reactant_mpi_comm_set_timeout(comm, LIMIT_MS));
    warm_up();
    if (rank == MISSING) {
        ALIVE(other); /* the others come there when their time is over */
        reactant_mpi_barrier(comm);
    } else {
        const double began = now_ms();
        const char *text = must_fail(REACTANT_MPI_ERR_TIMEOUT, "reactant_mpi_barrier", reactant_mpi_barrier(comm), began);
        contains(text, "not arrived: rank %d on %s (pid %lld; last seen after", MISSING, host, (long long)pids[MISSING]);
        ALIVE(other);
    }
    return end();
}

/* Two that share no board: what the late one does is known from what it answers, since it waits too. */
static int elsewhere_busy(void)
{
    begin();
    be_elsewhere();
    OK(reactant_mpi_comm_set_timeout(comm, LIMIT_MS));
    warm_up();
    const double began = now_ms();
    if (rank == MISSING) {
        int64_t x;
        const char *text = must_fail(REACTANT_MPI_ERR_TIMEOUT, "reactant_mpi_recv", reactant_mpi_recv(&x, 1, I64, 0, 3, comm, NULL), began);
        contains(text, "rank 0 on %s (pid %lld; in reactant_mpi_barrier, call %d)", host, (long long)pids[0], EARLIER + 1);
    } else {
        const char *text = must_fail(REACTANT_MPI_ERR_TIMEOUT, "reactant_mpi_barrier", reactant_mpi_barrier(comm), began);
        contains(text, "%s on %s", present(), host);
        contains(text, "not arrived: rank %d on %s (pid %lld; in reactant_mpi_recv, after call %d (reactant_mpi_bcast))", MISSING, host,
                 (long long)pids[MISSING], EARLIER);
    }
    ALIVE(other);
    return end();
}

static int silent(void)
{
    begin();
    OK(reactant_mpi_comm_set_timeout(comm, LIMIT_MS));
    warm_up();
    int64_t x = 5;
    reactant_mpi_status status;
    if (rank == MISSING) { /* messages under a timeout arrive as ever */
        OK(reactant_mpi_send(&x, 1, I64, 0, 9, comm));
    } else if (rank == 0) {
        x = 0;
        OK(reactant_mpi_recv(&x, 1, I64, MISSING, 9, comm, &status));
        CHECK(x == 5 && status.source == MISSING && status.tag == 9 && status.bytes == 8, "%lld", (long long)x);
        const double began = now_ms();
        const char *text = must_fail(REACTANT_MPI_ERR_TIMEOUT, "reactant_mpi_recv", reactant_mpi_recv(&x, 1, I64, MISSING, 11, comm, NULL), began);
        contains(text, "did not end within %d ms: a message with tag 11 from rank %d has not come", LIMIT_MS, MISSING);
        contains(text, "rank %d on %s (pid %lld; last seen after reactant_mpi_send, after call %d (reactant_mpi_bcast))", MISSING, host,
                 (long long)pids[MISSING], EARLIER);
        after_failure(REACTANT_MPI_ERR_TIMEOUT);
    }
    ALIVE(other);
    return end();
}

/* A started call that is waited for under the communicator's own timeout, while a later one has been started. */
static int started(void)
{
    begin();
    OK(reactant_mpi_comm_set_timeout(comm, LIMIT_MS));
    warm_up();
    if (rank == MISSING) {
        nap_ms(2 * LIMIT_MS);
        reactant_mpi_barrier(comm);
        ALIVE(other);
        return end();
    }
    static int64_t x = 1, sum;
    reactant_mpi_request *first = NULL, *second = NULL;
    OK(reactant_mpi_ibarrier(comm, &first));
    OK(reactant_mpi_iallreduce(&x, &sum, 1, I64, REACTANT_MPI_SUM, comm, &second));
    const double began = now_ms();
    const char *text = must_fail(REACTANT_MPI_ERR_TIMEOUT, "reactant_mpi_barrier", reactant_mpi_wait(first, NULL), began);
    contains(text, "call %d of this communicator did not end within %d ms", EARLIER + 1, LIMIT_MS);
    contains(text, "%s on %s; not arrived: rank %d on %s", present(), host, MISSING, host);
    FAILS(REACTANT_MPI_ERR_TIMEOUT, "takes no more calls", reactant_mpi_wait(second, NULL));
    OK(reactant_mpi_request_free(second));
    ALIVE(other);
    return end();
}

#endif
