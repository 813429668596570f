/*
 * From initialize to finalize, beside a host program that uses the same MPI. The first argument is one life of a process:
 *
 *   plain               the library initialises MPI; handles, references, reused values, sub-communicators, ids
 *   host LEVEL          the host has initialised MPI with single, funneled, serialized or multiple
 *   host-first-options  the library is told to initialise MPI with a lower level
 *   ended-before        the host has finalised MPI before initialize
 *   ended-while         the host finalises MPI while communicators live
 *   finalize-null       finalize(NULL), then everything again
 *   late-rank           (from 2 ranks) one rank's handle is bad: the others get 31 when the time is over
 *   never               nothing is initialised: queries and finalize of a library that has not begun
 *
 * What the first two do with communicators meanwhile is in lifecycle_comms.h.
 */
#include "lifecycle.h"
#include "lifecycle_comms.h"

static int life_plain(void)
{
    begin_world();
    host_open(0);
    CHECK(host_initialized() == 1, "the library has initialised this very MPI");
    CHECK(host_query_thread() == HOST_MULTIPLE, "level %d", (int)host_query_thread());
    CHECK(host_rank(host.world) == rank && host_size(host.world) == size, "");
    everything();
    OK(reactant_mpi_finalize(comm));
    FAILS(REACTANT_MPI_ERR_COMM, "barrier", reactant_mpi_barrier(comm));
    CHECK(host_finalized() == 0, "ending a communicator never ends MPI");
    begin_world(); /* as often as one likes */
    ALIVE(comm);
    OK(reactant_mpi_finalize(NULL));
    CHECK(host_finalized() == 1, "finalize(NULL) ends the MPI that the library has begun");
    OK(reactant_mpi_finalize(NULL));
    return check_done(rank);
}

static int life_host(const char *level)
{
    static const char *const levels[] = {"single", "funneled", "serialized", "multiple"};
    int want = 0;
    while (want < 4 && strcmp(level, levels[want]) != 0)
        want++;
    NEED(want < 4, "level %s", level);
    host_open(0);
    host_init((enum host_level)want);
    begin_world();
    CHECK(rank == host_rank(host.world) && size == host_size(host.world), "");
    everything();
    OK(reactant_mpi_finalize(comm));
    begin_world();
    OK(reactant_mpi_finalize(NULL));
    CHECK(host_finalized() == 0, "finalize(NULL) does not end the host's MPI");
    host_barrier(host.world);
    FAILS(REACTANT_MPI_ERR_COMM, "barrier", reactant_mpi_barrier(comm));
    int r = rank;
    host_finalize();
    OK(reactant_mpi_finalize(NULL));
    return check_done(r);
}

static int life_host_first_options(void)
{
    const reactant_mpi_options init = REACTANT_MPI_OPTIONS_INIT;
    reactant_mpi_options o = init;
    o.thread_level = REACTANT_MPI_THREAD_FUNNELED;
    o.max_count = 3;
    OK(reactant_mpi_initialize_with(0, &o, &comm));
    NEED(comm, "%s", reactant_mpi_last_error());
    check_rank = rank = reactant_mpi_rank(comm);
    size = reactant_mpi_size(comm);
    host_open(0);
    CHECK(host_query_thread() >= HOST_FUNNELED, "level %d", (int)host_query_thread());
    ALIVE(comm);
    int64_t x[10], y[10];
    for (int i = 0; i < 10; i++)
        x[i] = i + rank;
    OK(reactant_mpi_allreduce(x, y, 10, I64, REACTANT_MPI_MAX, comm));
    for (int i = 0; i < 10; i++)
        CHECK(y[i] == i + size - 1, "%lld", (long long)y[i]);
    OK(reactant_mpi_finalize(NULL));
    return check_done(rank);
}

static int life_ended_before(void)
{
    host_open(0);
    host_init(HOST_MULTIPLE);
    check_rank = rank = host_rank(host.world);
    host_finalize();
    reactant_mpi_comm *c = (reactant_mpi_comm *)&rank;
    FAILS_NULL(REACTANT_MPI_ERR_MPI_FINALIZED, "initialize", reactant_mpi_initialize(0));
    FAILS(REACTANT_MPI_ERR_MPI_FINALIZED, "initialize", reactant_mpi_initialize_with((uintptr_t)host.world, NULL, &c));
    FAILS(REACTANT_MPI_ERR_MPI_FINALIZED, "initialize", reactant_mpi_initialize_fint(0, NULL, &c));
    CHECK(c == NULL, "*out");
    OK(reactant_mpi_finalize(NULL));
    return check_done(rank);
}

static int life_ended_while(void)
{
    host_open(0);
    host_init(HOST_MULTIPLE);
    begin_world();
    hword h = host_dup(host.world);
    reactant_mpi_comm *other = begin((uintptr_t)h);
    int64_t x = 1, y = 0;
    reactant_mpi_request *req = NULL;
    OK(reactant_mpi_prepare_allreduce(&x, &y, 1, I64, REACTANT_MPI_SUM, comm, &req));
    OK(reactant_mpi_run(req));
    ALIVE(other);
    host_free(&h);
    host_finalize();
    FAILS(REACTANT_MPI_ERR_MPI_FINALIZED, "allreduce", reactant_mpi_allreduce(&x, &y, 1, I64, REACTANT_MPI_SUM, comm));
    FAILS(REACTANT_MPI_ERR_MPI_FINALIZED, "barrier", reactant_mpi_barrier(other));
    FAILS(REACTANT_MPI_ERR_MPI_FINALIZED, "send", reactant_mpi_send(&x, 1, I64, 0, 1, comm));
    FAILS(REACTANT_MPI_ERR_MPI_FINALIZED, "run", reactant_mpi_run(req));
    FAILS_NULL(REACTANT_MPI_ERR_MPI_FINALIZED, "initialize", reactant_mpi_initialize(0));
    char text[8192];
    CHECK(reactant_mpi_describe(comm, text, sizeof text) > 0, "");
    CHECK(reactant_mpi_describe(NULL, text, sizeof text) > 0, "");
    CHECK(reactant_mpi_size(comm) == size, "what is known stays known: %d", reactant_mpi_size(comm));
    OK(reactant_mpi_request_free(req));
    int rc = reactant_mpi_finalize(other);
    CHECK(rc == 0 || rc == REACTANT_MPI_ERR_MPI_FINALIZED, "finalize of a communicator after MPI's end gave %d", rc);
    rc = reactant_mpi_finalize(NULL);
    CHECK(rc == 0 || rc == REACTANT_MPI_ERR_MPI_FINALIZED, "finalize(NULL) after MPI's end gave %d", rc);
    return check_done(rank);
}

static int life_finalize_null(void)
{
    begin_world();
    host_open(0);
    hword h1 = host_dup(host.world), h2 = host_dup(host.world);
    reactant_mpi_comm *one = begin((uintptr_t)h1), *two = begin((uintptr_t)h2);
    CHECK(begin((uintptr_t)h1) == one, "a second reference");
    int64_t x = 1, y;
    reactant_mpi_request *req = NULL;
    OK(reactant_mpi_prepare_allreduce(&x, &y, 1, I64, REACTANT_MPI_SUM, two, &req));
    int64_t ids[] = {reactant_mpi_comm_id(comm), reactant_mpi_comm_id(one), reactant_mpi_comm_id(two)};
    OK(reactant_mpi_finalize(NULL));
    CHECK(host_finalized() == 1, "");
    reactant_mpi_comm *dead[] = {comm, one, two};
    for (int i = 0; i < 3; i++) {
        FAILS(REACTANT_MPI_ERR_COMM, "allreduce", reactant_mpi_allreduce(&x, &y, 1, I64, REACTANT_MPI_SUM, dead[i]));
        FAILS(REACTANT_MPI_ERR_COMM, "barrier", reactant_mpi_barrier((reactant_mpi_comm *)(intptr_t)ids[i]));
        CHECK(reactant_mpi_size(dead[i]) == -REACTANT_MPI_ERR_COMM, "%d", reactant_mpi_size(dead[i]));
        OK(reactant_mpi_finalize(dead[i]));
        FAILS(REACTANT_MPI_ERR_COMM, "abort", reactant_mpi_abort(dead[i], 1));
    }
    FAILS(REACTANT_MPI_ERR_COMM, "run", reactant_mpi_run(req));
    OK(reactant_mpi_request_free(req));
    FAILS_NULL(REACTANT_MPI_ERR_MPI_FINALIZED, "initialize", reactant_mpi_initialize(0));
    FAILS_NULL(REACTANT_MPI_ERR_MPI_FINALIZED, "initialize", reactant_mpi_initialize((uintptr_t)host.world));
    char text[8192];
    CHECK(reactant_mpi_describe(NULL, text, sizeof text) > 0, "");
    OK(reactant_mpi_finalize(NULL));
    return check_done(rank);
}

static int life_late_rank(void)
{
    const reactant_mpi_options init = REACTANT_MPI_OPTIONS_INIT;
    reactant_mpi_options o = init;
    reactant_mpi_comm *c = NULL;
    begin_world();
    host_open(0);
    NEED(size > 1, "run me at 2 ranks");
    hword h = host_dup(host.world);
    o.timeout_ms = 1500;
    if (rank == 0) {
        int rc = reactant_mpi_initialize_with(0xdeadbeefdeadbeef, &o, &c);
        CHECK((rc == REACTANT_MPI_ERR_ARGUMENT || rc == REACTANT_MPI_ERR_MPI) && !c, "%d", rc);
    } else {
        FAILS(REACTANT_MPI_ERR_TIMEOUT, "initialize", reactant_mpi_initialize_with((uintptr_t)h, &o, &c));
        CHECK(!c, "*out");
    }
    ALIVE(comm);
    OK(reactant_mpi_barrier(comm));
    hword h2 = host_dup(host.world);
    c = begin((uintptr_t)h2); /* another communicator of the host is none the worse */
    check_comm(c, h2);
    OK(reactant_mpi_finalize(NULL));
    return check_done(rank);
}

static int life_never(void)
{
    char text[8192];
    int64_t x = 1, y;
    CHECK(reactant_mpi_version() == REACTANT_MPI_VERSION, "");
    CHECK(reactant_mpi_last_error_code() == 0 && !reactant_mpi_last_error()[0], "");
    size_t n = reactant_mpi_describe(NULL, text, sizeof text);
    CHECK(n > 2 && text[0] == '{', "%zu %s", n, n ? text : "");
    FAILS(REACTANT_MPI_ERR_COMM, "allreduce",
          reactant_mpi_allreduce(&x, &y, 1, I64, REACTANT_MPI_SUM, (reactant_mpi_comm *)(uintptr_t)1));
    FAILS(REACTANT_MPI_ERR_COMM, "allreduce", reactant_mpi_allreduce(&x, &y, 1, I64, REACTANT_MPI_SUM, NULL));
    CHECK(reactant_mpi_rank(NULL) == -REACTANT_MPI_ERR_COMM, "%d", reactant_mpi_rank(NULL));
    CHECK(reactant_mpi_comm_id((reactant_mpi_comm *)(uintptr_t)1) == -REACTANT_MPI_ERR_COMM, "");
    CHECK(reactant_mpi_mpi_comm((reactant_mpi_comm *)&x) == 0, "");
    FAILS(REACTANT_MPI_ERR_REQUEST, "run", reactant_mpi_run((reactant_mpi_request *)(uintptr_t)1));
    FAILS(REACTANT_MPI_ERR_COMM, "finalize", reactant_mpi_finalize((reactant_mpi_comm *)&x));
    FAILS(REACTANT_MPI_ERR_STATE, "abort", reactant_mpi_abort(NULL, 1));
    OK(reactant_mpi_finalize(NULL));
    OK(reactant_mpi_finalize(NULL));
    return check_done(0);
}

int main(int argc, char **argv)
{
    const char *life = argc > 1 ? argv[1] : "plain";
    if (!strcmp(life, "plain"))
        return life_plain();
    if (!strcmp(life, "host") && argc == 3)
        return life_host(argv[2]);
    if (!strcmp(life, "host-first-options"))
        return life_host_first_options();
    if (!strcmp(life, "ended-before"))
        return life_ended_before();
    if (!strcmp(life, "ended-while"))
        return life_ended_while();
    if (!strcmp(life, "finalize-null"))
        return life_finalize_null();
    if (!strcmp(life, "late-rank"))
        return life_late_rank();
    if (!strcmp(life, "never"))
        return life_never();
    fprintf(stderr, "unknown life %s\n", life);
    return 2;
}
