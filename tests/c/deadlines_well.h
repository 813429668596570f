/* Cases of deadlines.c where the communicator survives. */
#ifndef DEADLINES_WELL_H
#define DEADLINES_WELL_H

/* wait_for gives 31 and leaves the request as it was; the communicator is none the worse. */
static int wait_for(int with_timeout)
{
    begin();
    if (with_timeout)
        OK(reactant_mpi_comm_set_timeout(comm, HANG_MS));
    warm_up();
    reactant_mpi_request *request = NULL;
    int64_t x = 10 + rank, sum = 0, want = 10 * size + size * (size - 1) / 2;
    if (rank == MISSING)
        nap_ms(2 * LIMIT_MS);
    OK(reactant_mpi_iallreduce(&x, &sum, 1, I64, REACTANT_MPI_SUM, comm, &request));
    if (rank != MISSING) {
        FAILS(REACTANT_MPI_ERR_TIMEOUT, "reactant_mpi_", reactant_mpi_wait_for(request, 0, NULL));
        FAILS(REACTANT_MPI_ERR_TIMEOUT, "reactant_mpi_", reactant_mpi_wait_for(request, LIMIT_MS, NULL));
        if (with_timeout) {
            contains(reactant_mpi_last_error(), "call %d of this communicator did not end within %d ms", EARLIER + 1, LIMIT_MS);
            contains(reactant_mpi_last_error(), "%s on %s; not arrived: rank %d on %s", present(), host, MISSING, host);
        }
        CHECK(reactant_mpi_comm_error(comm) == 0, "%d", reactant_mpi_comm_error(comm));
    }
    OK(reactant_mpi_wait_for(request, HANG_MS, NULL));
    CHECK(sum == want, "%lld, not %lld", (long long)sum, (long long)want);
    ALIVE(comm);
    int r = rank;
    OK(reactant_mpi_finalize(NULL));
    return check_done(r);
}

static void data_is_right(reactant_mpi_comm *c)
{
    int64_t x = reactant_mpi_rank(c) == 0 ? 4711 : 0;
    for (int i = 0; i < 20; i++)
        OK(reactant_mpi_barrier(c));
    OK(reactant_mpi_bcast(&x, 1, I64, 0, c));
    CHECK(x == 4711, "%lld", (long long)x);
}

static void describes(reactant_mpi_comm *c, int ms)
{
    char text[16384], want[64];
    CHECK(reactant_mpi_describe(c, text, sizeof text) > 0, "");
    snprintf(want, sizeof want, "\"call_timeout_ms\": %d,", ms);
    contains(text, "%s", want);
}

static int agreement(void)
{
    begin();
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "comm_set_timeout", reactant_mpi_comm_set_timeout(comm, -1));
    FAILS(REACTANT_MPI_ERR_COMM, "comm_set_timeout", reactant_mpi_comm_set_timeout(NULL, 5));
    FAILS(REACTANT_MPI_ERR_MISMATCH, "rank 0 on", reactant_mpi_comm_set_timeout(comm, rank == 0 ? 100 : 200));
    contains(reactant_mpi_last_error(), ": 100; ");
    contains(reactant_mpi_last_error(), ": 200");
    describes(comm, 0);
    OK(reactant_mpi_comm_set_timeout(comm, 10000));
    describes(comm, 10000);
    data_is_right(comm);
    OK(reactant_mpi_comm_set_timeout(comm, 20000));
    data_is_right(comm);
    reactant_mpi_comm *child = NULL;
    OK(reactant_mpi_comm_split(comm, rank % 2, rank, &child));
    describes(child, 20000);
    data_is_right(child);
    OK(reactant_mpi_comm_set_timeout(comm, 0));
    describes(comm, 0);
    ALIVE(comm);
    OK(reactant_mpi_comm_set_timeout(comm, 10000));
    data_is_right(comm);
    describes(child, 20000);
    OK(reactant_mpi_comm_free(child));
    int r = rank;
    OK(reactant_mpi_finalize(NULL));
    return check_done(r);
}

static int by_option(void)
{
    const reactant_mpi_options init = REACTANT_MPI_OPTIONS_INIT;
    reactant_mpi_options o = init;
    o.call_timeout_ms = 2 * LIMIT_MS;
    OK(reactant_mpi_initialize_with(0, &o, &comm));
    NEED(comm, "%s", reactant_mpi_last_error());
    check_rank = rank = reactant_mpi_rank(comm);
    size = reactant_mpi_size(comm);
    describes(comm, 2 * LIMIT_MS);
    OK(reactant_mpi_comm_split(comm, 0, rank, &other));
    describes(other, 2 * LIMIT_MS);
    warm_up();
    if (rank == MISSING) {
        nap_ms(3 * LIMIT_MS);
        reactant_mpi_barrier(other);
    } else {
        const int rc = reactant_mpi_barrier(other);
        CHECK(rc == REACTANT_MPI_ERR_TIMEOUT, "%d", rc);
        contains(reactant_mpi_last_error(), "%s", present());
    }
    data_is_right(comm); /* the late rank comes within the time */
    reactant_mpi_comm *t = comm;
    comm = other;
    other = t;
    return end();
}

#endif
