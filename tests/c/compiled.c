/*
 * MPI by name, as compiled code calls it. The first argument says what:
 *
 *   all              names, values, messages and requests of the three generations, refusals, threads; before, between and after
 *   data             every function that moves data, every type and operation
 *   level LEVEL      the host initialises MPI with single, funneled or serialized
 *   ended            the host finalizes MPI under the communicators
 *   late             a rank that does not come to a barrier
 *   numbers          more communicators than there are small numbers below MPI's words
 *   log              failures that standard error must show, one line for each communicator (G1, REACTANT_MPI_ERRORS_LOG)
 *   fail POLICY      one failure on the last rank; POLICY is return, log, abort, or environment: what REACTANT_MPI_COMPILED_ERRORS
 *                    says
 *   early POLICY     the same before MPI is initialised
 */
#include "compiled.h"
#include "compiled_data.h"
#include "compiled_kept.h"
#include "compiled_late.h"
#include "compiled_messages.h"
#include "compiled_names.h"
#include "compiled_wrong.h"

static void begin_world(void)
{
    CHECK(Init() == 0, "%s", reactant_mpi_last_error());
    comm = reactant_mpi_initialize(REACTANT_MPI_COMM_WORLD);
    NEED(comm, "%s", reactant_mpi_last_error());
    check_rank = rank = reactant_mpi_rank(comm);
    size = reactant_mpi_size(comm);
}

/* ---- a barrier beside a collective, in another order on every other rank ---- */

enum { CROSSINGS = 50 };
static pthread_barrier_t round_begins;

static void *barriers(void *unused)
{
    (void)unused;
    for (int i = 0; i < CROSSINGS; i++) {
        pthread_barrier_wait(&round_begins);
        if ((rank + i) % 2)
            usleep(2000);
        CHECK(Barrier(WORLD) == 0, "%s", reactant_mpi_last_error());
        pthread_barrier_wait(&round_begins);
    }
    return NULL;
}

static void test_crossed(void)
{
    pthread_t thread;
    pthread_barrier_init(&round_begins, NULL, 2);
    NEED(pthread_create(&thread, NULL, barriers, NULL) == 0, "a thread");
    for (int i = 0; i < CROSSINGS; i++) {
        int64_t x = rank + i, sum = -1;
        pthread_barrier_wait(&round_begins);
        if ((rank + i) % 2 == 0)
            usleep(2000);
        CHECK(Allreduce(&x, &sum, 1, WORD(INT64_T), WORD(SUM), WORLD) == 0, "%s", reactant_mpi_last_error());
        CHECK(sum == (int64_t)size * (size - 1) / 2 + (int64_t)size * i, "%lld", (long long)sum);
        pthread_barrier_wait(&round_begins);
    }
    pthread_join(thread, NULL);
    world_works(__LINE__);
}

/* Nobody leaves before everybody has come: the last to come tells, and the others must have heard it. */
static void test_barrier_waits(void)
{
    for (int late = 0; late < size; late++) {
        static int32_t told[64], came;
        came = -1;
        struct requests r;
        requests_new(&r, 1);
        if (rank != late)
            RIGHT(Irecv(&came, 1, WORD(INT), late, 77, WORLD, request(&r, 0)));
        else
            for (int to = 0; to < size; to++)
                if (to != late) {
                    told[to] = 1000 + late;
                    usleep(3000);
                    RIGHT(Send(&told[to], 1, WORD(INT), to, 77, WORLD));
                }
        RIGHT(Barrier(WORLD));
        if (rank != late) {
            RIGHT(Wait(request(&r, 0), NULL));
            CHECK(came == 1000 + late, "%d", came);
        }
    }
}

/* ---- runs ---- */

static int all(void)
{
    test_names();
    begin_generation(G1, REACTANT_MPI_ERRORS_RETURN);
    test_nothing_there("reactant_mpi_initialize");
    begin_world();
    RIGHT(Init()); /* again is nothing */
    if (host_query_thread() == HOST_MULTIPLE)
        the_first_use_of_self();
    for (enum generation g = G1; g <= G3; g++) {
        begin_generation(g, REACTANT_MPI_ERRORS_RETURN);
        CHECK(g != G3 || (uintptr_t)look_up("MPI_STATUS_SIZE") == (host.family == HOST_MPICH     ? 20
                                                                   : host.family == HOST_OPENMPI ? 24
                                                                                                 : 32),
              "%p", look_up("MPI_STATUS_SIZE"));
        test_messages();
        test_wrong();
        error_strings();
        first_failures();
        test_fork();
        test_late();
    }
    begin_generation(G1, REACTANT_MPI_ERRORS_RETURN);
    many_requests();
    failures_of_threads();
    test_barrier_waits();
    if (host_query_thread() == HOST_MULTIPLE)
        test_crossed();
    RIGHT(Finalize());
    test_nothing_there("finalized");
    RIGHT(Finalize()); /* again is nothing */
    REFUSED(CLASS_OTHER, REACTANT_MPI_ERR_MPI_FINALIZED, Init, "", Init());
    return check_done(rank);
}

static int data(void)
{
    begin_generation(G1, REACTANT_MPI_ERRORS_RETURN);
    begin_world();
    test_data();
    begin_generation(G2, REACTANT_MPI_ERRORS_RETURN);
    now.t = type_called("int32"), now.type = "MPI_INT", now.type_word = WORD(INT);
    moves(5);
    CHECK(reactant_mpi_comm_error(comm) == 0, "%d", reactant_mpi_comm_error(comm));
    RIGHT(Finalize());
    return check_done(rank);
}

static void *from_another_thread(void *arg)
{
    if (*(bool *)arg)
        world_works(__LINE__);
    else {
        struct arguments a = good_arguments();
        int64_t out = -1;
        for (enum function f = 0; f < N_WITH_COMM; f++)
            if (f < BARRIER || (f == BARRIER && size > 1)) /* one rank waits for nobody */
                refused(__LINE__, f, &a, CLASS_OTHER, REACTANT_MPI_ERR_THREAD, "");
        REFUSED(CLASS_OTHER, REACTANT_MPI_ERR_THREAD, Comm_split, "", Comm_split(WORLD, 0, 0, &out));
        CHECK(call(COMM_RANK, &a) == 0 && call(COMM_SIZE, &a) == 0, "local questions are answered from every thread");
    }
    return NULL;
}

static void *receive(void *into_word)
{
    CHECK(Recv(into_word, 1, WORD(INT), rank, 5, WORLD, NULL) == 0, "%s", reactant_mpi_last_error());
    return NULL;
}

static int level(const char *name)
{
    const enum host_level want = !strcmp(name, "single")     ? HOST_SINGLE
                                 : !strcmp(name, "funneled") ? HOST_FUNNELED
                                                             : HOST_SERIALIZED;
    const enum host_level given = host_init(want);
    bool allowed = given >= HOST_SERIALIZED; /* an MPI may give more than was asked for */
    pthread_t thread;
    begin_generation(G1, REACTANT_MPI_ERRORS_RETURN);
    begin_world();
    test_messages();
    NEED(pthread_create(&thread, NULL, from_another_thread, &allowed) == 0, "a thread");
    pthread_join(thread, NULL);
    if (allowed) { /* one thread waits for what the other sends */
        int32_t x = 4711, y = -1;
        NEED(pthread_create(&thread, NULL, receive, &y) == 0, "a thread");
        usleep(50000);
        RIGHT(Send(&x, 1, WORD(INT), rank, 5, WORLD));
        pthread_join(thread, NULL);
        CHECK(y == 4711, "%d", y);
        test_crossed();
    }
    world_works(__LINE__);
    RIGHT(Finalize());
    CHECK(!host_finalized(), "the host's MPI is the host's to finalize");
    host_finalize();
    return check_done(rank);
}

static int ended(void)
{
    host_init(HOST_MULTIPLE);
    begin_generation(G1, REACTANT_MPI_ERRORS_RETURN);
    begin_world();
    world_works(__LINE__);
    host_finalize();
    struct arguments a = good_arguments();
    for (enum function f = 0; f < N_WITH_COMM; f++)
        refused(__LINE__, f, &a, CLASS_OTHER, REACTANT_MPI_ERR_MPI_FINALIZED, "");
    a.comm = (word)comm;
    for (enum function f = 0; f < N_WITH_COMM; f++)
        refused(__LINE__, f, &a, CLASS_OTHER, REACTANT_MPI_ERR_MPI_FINALIZED, "");
    RIGHT(Finalize());
    return check_done(rank);
}

static int late(void)
{
    begin_generation(G1, REACTANT_MPI_ERRORS_RETURN);
    begin_world();
    a_rank_that_does_not_come();
    RIGHT(Finalize());
    return check_done(rank);
}

/* No communicator gets a number that is a word of MPI. */
static int numbers(void)
{
    begin_generation(G1, REACTANT_MPI_ERRORS_RETURN);
    begin_world();
    int64_t last = 0;
    for (int i = 0; last < 0x110; i++) {
        reactant_mpi_comm *c = NULL;
        NEED(reactant_mpi_comm_dup(comm, &c) == 0, "%s", reactant_mpi_last_error());
        last = reactant_mpi_comm_id(c);
        CHECK(last < 0x100 || last > 0x102, "the number %#llx means another communicator", (long long)last);
        check_word(__LINE__, (word)(uintptr_t)last, rank, size);
        if (last > 0xf8) { /* those before are not needed */
            refused_by_all(__LINE__, WORD(COMM_NULL), CLASS_COMM, REACTANT_MPI_ERR_COMM, "MPI_COMM_NULL");
            check_word(__LINE__, WORD(COMM_SELF), 0, 1);
            check_word(__LINE__, WORLD, rank, size);
        } else {
            OK(reactant_mpi_comm_free(c));
        }
    }
    RIGHT(Finalize());
    return check_done(rank);
}

static int told(void)
{
    reactant_mpi_comm *a = NULL;
    begin_generation(G1, REACTANT_MPI_ERRORS_LOG);
    begin_world();
    OK(reactant_mpi_comm_dup(comm, &a));
    for (int i = 0; i < 15; i++) {
        CHECK(Barrier((word)(uintptr_t)(0x7000 + i)) == CLASS_COMM, ""); /* of no communicator: ten times */
        CHECK(Bcast(wrong_recv, -1, WORD(INT), 0, WORLD) == CLASS_COUNT, "");
        CHECK(Scan(wrong_send, wrong_recv, 1, WORD(INT), WORD(OP_NULL), (word)a) == CLASS_OP, "");
    }
    OK(reactant_mpi_comm_free(a));
    CHECK(Finalize() == 0, "");
    return check_done(rank);
}

static unsigned policy_called(const char *name)
{
    return !strcmp(name, "return")  ? REACTANT_MPI_ERRORS_RETURN
           : !strcmp(name, "log")   ? REACTANT_MPI_ERRORS_LOG
           : !strcmp(name, "abort") ? REACTANT_MPI_ERRORS_ABORT
                                    : 0;
}

static int early(const char *policy)
{
    begin_generation(G1, policy_called(policy));
    CHECK(Barrier(WORLD) == CLASS_COMM, "");
    begin_world();
    CHECK(Finalize() == 0, "");
    return check_done(rank);
}

static int fail(const char *policy)
{
    begin_generation(G1, policy_called(policy));
    begin_world();
    host_barrier(host.world);
    if (rank == size - 1)
        CHECK(Bcast(wrong_recv, 1, WORD(LONG_DOUBLE), 0, WORLD) == CLASS_TYPE, "");
    host_barrier(host.world);
    CHECK(Finalize() == 0, "");
    return check_done(rank);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "all";
    host_open(0);
    if (!strcmp(what, "all"))
        return all();
    if (!strcmp(what, "data"))
        return data();
    if (!strcmp(what, "level") && argc > 2)
        return level(argv[2]);
    if (!strcmp(what, "ended"))
        return ended();
    if (!strcmp(what, "late"))
        return late();
    if (!strcmp(what, "numbers"))
        return numbers();
    if (!strcmp(what, "log"))
        return told();
    if (!strcmp(what, "fail") && argc > 2)
        return fail(argv[2]);
    if (!strcmp(what, "early") && argc > 2)
        return early(argv[2]);
    fprintf(stderr, "unknown test %s\n", what);
    return 2;
}
