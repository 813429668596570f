/*
 * Threads and stacks. The first argument says which:
 *
 *   many        8 threads at once on 8 communicators, made and ended by those threads (MPI at MULTIPLE)
 *   funneled    the host initialised MPI with FUNNELED: another thread gets code 9, the first one goes on
 *   serialized  SERIALIZED: a thread that waits for a message or a request lets others call, from the first calls on
 *   crossed     two threads, two communicators, and the ranks come to them in different order (MPI at MULTIPLE); one tests a request
 *               while communicators end beside it
 *   coroutine   calls from a ucontext stack, as Julia's tasks have
 */
#include "check.h"
#include "hostmpi.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <ucontext.h>

#define I64 REACTANT_MPI_INT64

static reactant_mpi_comm *comm;
static int rank, size;

static void begin_world(void)
{
    comm = reactant_mpi_initialize(REACTANT_MPI_COMM_WORLD);
    NEED(comm, "%d %s", reactant_mpi_last_error_code(), reactant_mpi_last_error());
    check_rank = rank = reactant_mpi_rank(comm);
    size = reactant_mpi_size(comm);
}

static void in_thread(void *(*f)(void *), void *arg)
{
    pthread_t t;
    NEED(pthread_create(&t, NULL, f, arg) == 0, "a thread");
    pthread_join(t, NULL);
}

/* ---- many ----------------------------------------------------------------------------------------------------------------- */

enum { THREADS = 8, ROUNDS = 150 };

struct worker {
    pthread_t thread;
    int number;
    hword h;
};

static pthread_barrier_t start;

static void *work(void *arg)
{
    const struct worker *w = arg;
    pthread_barrier_wait(&start);
    reactant_mpi_comm *c = reactant_mpi_initialize((uintptr_t)w->h);
    NEED(c, "thread %d: %d %s", w->number, reactant_mpi_last_error_code(), reactant_mpi_last_error());
    reactant_mpi_request *req = NULL;
    int64_t in[32] = {0}, out[32] = {0};
    OK(reactant_mpi_prepare_allreduce(in, out, 32, I64, REACTANT_MPI_SUM, c, &req));
    for (int round = 0; round < ROUNDS; round++) {
        size_t n = round % 3 ? 1 : 32;
        for (size_t i = 0; i < 32; i++)
            in[i] = w->number * 1000000 + round * 1000 + (int64_t)i * 10 + rank, out[i] = -1;
        if (n == 1)
            OK(reactant_mpi_allreduce(in, out, 1, I64, REACTANT_MPI_SUM, c));
        else
            OK(reactant_mpi_run(req));
        for (size_t i = 0; i < n; i++)
            CHECK(out[i] == (int64_t)size * (w->number * 1000000 + round * 1000 + (int64_t)i * 10) + (int64_t)size * (size - 1) / 2,
                  "thread %d round %d: %lld", w->number, round, (long long)out[i]);
    }
    /* Errors are the thread's own. */
    if (w->number % 2) {
        FAILS(REACTANT_MPI_ERR_TYPE, "allreduce", reactant_mpi_allreduce(in, out, 1, w->number, REACTANT_MPI_SUM, c));
        CHECK(reactant_mpi_comm_error(c) == REACTANT_MPI_ERR_TYPE, "%d", reactant_mpi_comm_error(c));
    } else {
        CHECK(reactant_mpi_last_error_code() == 0, "another thread's failure is seen here: %s", reactant_mpi_last_error());
        CHECK(reactant_mpi_comm_error(c) == 0, "%d", reactant_mpi_comm_error(c));
    }
    ALIVE(c);
    OK(reactant_mpi_request_free(req));
    OK(reactant_mpi_finalize(c));
    FAILS(REACTANT_MPI_ERR_COMM, "barrier", reactant_mpi_barrier(c));
    return NULL;
}

static int many(void)
{
    struct worker w[THREADS];
    begin_world();
    host_open(0);
    NEED(host_query_thread() == HOST_MULTIPLE, "level %d", (int)host_query_thread());
    pthread_barrier_init(&start, NULL, THREADS);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < THREADS; i++) {
            w[i].number = i;
            w[i].h = host_dup(host.world);
        }
        for (int i = 0; i < THREADS; i++)
            NEED(pthread_create(&w[i].thread, NULL, work, &w[i]) == 0, "a thread");
        for (int i = 0; i < THREADS; i++)
            pthread_join(w[i].thread, NULL);
        for (int i = 0; i < THREADS; i++)
            host_free(&w[i].h);
        ALIVE(comm);
    }
    OK(reactant_mpi_finalize(NULL));
    return check_done(rank);
}

/* ---- funneled ------------------------------------------------------------------------------------------------------------- */

static reactant_mpi_request *under_way;

static void *from_elsewhere(void *arg)
{
    int done = 7;
    bool allowed = *(bool *)arg;
    int64_t x = 1, y = 0;
    reactant_mpi_request *req = NULL;
    char text[8192];
    /* Local questions are answered from every thread. */
    CHECK(reactant_mpi_rank(comm) == rank && reactant_mpi_size(comm) == size, "rank %d", reactant_mpi_rank(comm));
    CHECK(reactant_mpi_describe(comm, text, sizeof text) > 0, "");
    if (allowed) {
        ALIVE(comm);
        return NULL;
    }
    FAILS(REACTANT_MPI_ERR_THREAD, "allreduce", reactant_mpi_allreduce(&x, &y, 1, I64, REACTANT_MPI_SUM, comm));
    FAILS(REACTANT_MPI_ERR_THREAD, "barrier", reactant_mpi_barrier(comm));
    FAILS(REACTANT_MPI_ERR_THREAD, "send", reactant_mpi_send(&x, 1, I64, 0, 1, comm));
    FAILS(REACTANT_MPI_ERR_THREAD, "recv", reactant_mpi_recv(&x, 1, I64, 0, 1, comm, NULL));
    FAILS(REACTANT_MPI_ERR_THREAD, "probe", reactant_mpi_probe(0, 1, comm, NULL));
    FAILS(REACTANT_MPI_ERR_THREAD, "permute", reactant_mpi_permute(NULL, &y, 1, I64, REACTANT_MPI_PROC_NULL, 0, NULL, comm));
    FAILS(REACTANT_MPI_ERR_THREAD, "send", reactant_mpi_isend(&x, 1, I64, 0, 1, comm, &req));
    FAILS(REACTANT_MPI_ERR_THREAD, "recv", reactant_mpi_irecv(&x, 1, I64, 0, 1, comm, &req));
    FAILS(REACTANT_MPI_ERR_THREAD, "allreduce", reactant_mpi_iallreduce(&x, &y, 1, I64, REACTANT_MPI_SUM, comm, &req));
    CHECK(req == NULL, "a request from a refused call");
    /* Those of the right thread stay as they are. */
    reactant_mpi_request *list[3] = {NULL, under_way, NULL};
    FAILS(REACTANT_MPI_ERR_THREAD, "wait", reactant_mpi_wait(under_way, NULL));
    FAILS(REACTANT_MPI_ERR_THREAD, "wait_for", reactant_mpi_wait_for(under_way, 5, NULL));
    FAILS(REACTANT_MPI_ERR_THREAD, "waitall", reactant_mpi_waitall(3, list, NULL));
    FAILS(REACTANT_MPI_ERR_THREAD, "test", reactant_mpi_test(under_way, &done, NULL));
    CHECK(done == 0, "a refused test says done %d", done);
    FAILS(REACTANT_MPI_ERR_THREAD, "testall", reactant_mpi_testall(3, list, &done, NULL));
    CHECK(done == 0 && list[1] == under_way, "a refused testall says done %d", done);
    FAILS_NULL(REACTANT_MPI_ERR_THREAD, "initialize", reactant_mpi_initialize(0));
    if (reactant_mpi_prepare_allreduce(&x, &y, 1, I64, REACTANT_MPI_SUM, comm, &req) == 0) { /* local, may be allowed */
        FAILS(REACTANT_MPI_ERR_THREAD, "allreduce", reactant_mpi_run(req));
        FAILS(REACTANT_MPI_ERR_THREAD, "allreduce", reactant_mpi_start(req));
        OK(reactant_mpi_request_free(req));
    }
    FAILS(REACTANT_MPI_ERR_THREAD, "finalize", reactant_mpi_finalize(comm));
    return NULL;
}

static int funneled(void)
{
    host_open(0);
    enum host_level level = host_init(HOST_FUNNELED);
    begin_world();
    ALIVE(comm);
    bool allowed = level > HOST_FUNNELED; /* an MPI may give more than was asked for */
    OK(reactant_mpi_ibarrier(comm, &under_way));
    in_thread(from_elsewhere, &allowed);
    OK(reactant_mpi_wait(under_way, NULL));
    if (rank == 0)
        printf("level given: %d\n", (int)level);
    ALIVE(comm);
    OK(reactant_mpi_finalize(comm));
    host_finalize();
    return check_done(rank);
}

/* ---- serialized ----------------------------------------------------------------------------------------------------------- */

/* What a thread waits for while the other one sends it: a message of this rank to itself. */
enum waiting { RECV, PROBE, SENDRECV, WAIT, WAITALL, WAIT_FOR, TEST, N_WAITING };

static void *wait_for_message(void *arg)
{
    const int how = *(int *)arg;
    int64_t x = 0, y = -1;
    reactant_mpi_request *r[2] = {NULL, NULL};
    reactant_mpi_status st = {-7, -7, 777}, both[2];
    int done = 0;
    switch (how) {
    case RECV: OK(reactant_mpi_recv(&x, 1, I64, rank, how, comm, &st)); break;
    case PROBE:
        OK(reactant_mpi_probe(rank, how, comm, &st));
        OK(reactant_mpi_recv(&x, 1, I64, rank, how, comm, NULL));
        break;
    case SENDRECV: OK(reactant_mpi_sendrecv(&y, 1, REACTANT_MPI_PROC_NULL, 0, &x, 1, rank, how, I64, comm, &st)); break;
    default: OK(reactant_mpi_irecv(&x, 1, I64, rank, how, comm, &r[1]));
    }
    switch (how) {
    case WAIT: OK(reactant_mpi_wait(r[1], &st)); break;
    case WAITALL:
        OK(reactant_mpi_waitall(2, r, both));
        st = both[1];
        break;
    case WAIT_FOR: OK(reactant_mpi_wait_for(r[1], 60000, &st)); break;
    case TEST:
        while (!done)
            OK(reactant_mpi_test(r[1], &done, &st));
        break;
    default: break;
    }
    CHECK(x == 4711 + how && st.source == rank && st.tag == how && st.bytes == 8, "way %d: %lld from %d, tag %d, %zu bytes", how,
          (long long)x, st.source, st.tag, st.bytes);
    return NULL;
}

/* Two started collectives on two communicators, begun and waited for by two threads; the ranks come to them in different order. */
struct half {
    reactant_mpi_comm *comm;
    bool first, blocking;
};

static void *half_of_it(void *arg)
{
    const struct half *h = arg;
    int64_t x[2] = {rank, 1}, y[2] = {-1, -1};
    reactant_mpi_request *r;
    if (!h->first)
        usleep(100000);
    if (h->blocking) {
        OK(reactant_mpi_allreduce(x, y, 2, I64, REACTANT_MPI_SUM, h->comm));
    } else {
        OK(reactant_mpi_iallreduce(x, y, 2, I64, REACTANT_MPI_SUM, h->comm, &r));
        OK(reactant_mpi_wait(r, NULL));
    }
    CHECK(y[0] == (int64_t)size * (size - 1) / 2 && y[1] == size, "%lld %lld", (long long)y[0], (long long)y[1]);
    return NULL;
}

static void two_halves(bool blocking)
{
    reactant_mpi_comm *other;
    OK(reactant_mpi_comm_split(comm, 0, rank, &other));
    for (int round = 0; round < 4; round++) {
        struct half here = {comm, (rank + round) % 2 == 0, blocking}, there = {other, (rank + round) % 2, blocking};
        pthread_t t;
        NEED(pthread_create(&t, NULL, half_of_it, &there) == 0, "a thread");
        half_of_it(&here);
        pthread_join(t, NULL);
    }
    OK(reactant_mpi_finalize(other));
}

static int serialized(void)
{
    host_open(0);
    enum host_level level = host_init(HOST_SERIALIZED);
    begin_world();
    for (int how = RECV; how < N_WAITING; how++) { /* the first of these are the first calls ever */
        const int64_t x = 4711 + how;
        pthread_t t;
        NEED(pthread_create(&t, NULL, wait_for_message, &how) == 0, "a thread");
        usleep(50000); /* it waits by now, or does not: both must do */
        OK(reactant_mpi_send(&x, 1, I64, rank, how, comm));
        pthread_join(t, NULL);
    }
    ALIVE(comm);
    two_halves(false);
    bool allowed = true;
    in_thread(from_elsewhere, &allowed);
    if (rank == 0)
        printf("level given: %d\n", (int)level);
    OK(reactant_mpi_finalize(comm));
    host_finalize();
    return check_done(rank);
}

/* One thread tests a request all the time; others make and free communicators meanwhile, on this communicator's family. */
static _Atomic bool enough;

static void *test_often(void *unused)
{
    int64_t x = -1;
    int done = 0;
    reactant_mpi_request *r;
    OK(reactant_mpi_irecv(&x, 1, I64, rank, 77, comm, &r));
    while (!enough) {
        OK(reactant_mpi_test(r, &done, NULL));
        CHECK(!done, "nothing was sent");
    }
    OK(reactant_mpi_send(NULL, 0, I64, rank, 78, comm));
    const int64_t y = 5 + rank;
    OK(reactant_mpi_send(&y, 1, I64, rank, 77, comm));
    while (!done)
        OK(reactant_mpi_test(r, &done, NULL));
    CHECK(x == 5 + rank, "%lld", (long long)x);
    return unused;
}

static void freed_beside(void)
{
    pthread_t t;
    enough = false;
    NEED(pthread_create(&t, NULL, test_often, NULL) == 0, "a thread");
    for (int i = 0; i < 300; i++) {
        reactant_mpi_comm *dup;
        OK(reactant_mpi_comm_dup(comm, &dup));
        OK(reactant_mpi_comm_free(dup));
    }
    enough = true;
    OK(reactant_mpi_recv(NULL, 0, I64, rank, 78, comm, NULL));
    pthread_join(t, NULL);
}

static int crossed(void)
{
    begin_world();
    host_open(0);
    NEED(host_query_thread() == HOST_MULTIPLE, "level %d", (int)host_query_thread());
    two_halves(true);
    two_halves(false);
    freed_beside();
    ALIVE(comm);
    OK(reactant_mpi_finalize(NULL));
    return check_done(rank);
}

/* ---- coroutine ------------------------------------------------------------------------------------------------------------ */

static ucontext_t home, away;

static void on_small_stack(void) /* data calls */
{
    int64_t x[100] = {0}, y[100] = {0};
    reactant_mpi_request *req = NULL;
    OK(reactant_mpi_prepare_allreduce(x, y, 100, I64, REACTANT_MPI_SUM, comm, &req));
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 100; i++)
            x[i] = i * 10 + round, y[i] = -1;
        if (round % 2)
            OK(reactant_mpi_allreduce(x, y, 100, I64, REACTANT_MPI_SUM, comm));
        else
            OK(reactant_mpi_run(req));
        for (int i = 0; i < 100; i++)
            CHECK(y[i] == (int64_t)size * (i * 10 + round), "%lld", (long long)y[i]);
        if (round % 10 == 0) { /* leave in between, and come back */
            swapcontext(&away, &home);
            ALIVE(comm);
        }
        FAILS(REACTANT_MPI_ERR_OP, "allreduce", reactant_mpi_allreduce(x, y, 100, I64, 99, comm));
    }
    OK(reactant_mpi_sendrecv(x, 1, (rank + 1) % size, 1, y, 1, (rank + size - 1) % size, 1, I64, comm, NULL));
    CHECK(y[0] == x[0], "%lld", (long long)y[0]);
    OK(reactant_mpi_request_free(req));
}

static hword other;

static void on_large_stack(void) /* control calls enter Go */
{
    char text[8192];
    for (int i = 0; i < 3; i++) {
        reactant_mpi_comm *c = reactant_mpi_initialize((uintptr_t)other);
        NEED(c, "%d %s", reactant_mpi_last_error_code(), reactant_mpi_last_error());
        ALIVE(c);
        CHECK(reactant_mpi_describe(c, text, sizeof text) > 0, "");
        swapcontext(&away, &home);
        FAILS_NULL(REACTANT_MPI_ERR_ARGUMENT, "initialize", reactant_mpi_initialize(7));
        OK(reactant_mpi_finalize(c));
    }
}

/* Julia gives its tasks 4 MiB. UCX below some MPIs takes more than 128 KiB of them. */
static void visit(void (*f)(void), size_t bytes)
{
    void *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEED(stack != MAP_FAILED && getcontext(&away) == 0, "a stack");
    away.uc_stack.ss_sp = stack;
    away.uc_stack.ss_size = bytes;
    away.uc_link = &home;
    makecontext(&away, f, 0);
    for (int turns = f == on_small_stack ? 6 : 4; turns > 0; turns--) { /* it comes home 5 and 3 times in between, and at its end */
        swapcontext(&home, &away);
        ALIVE(comm); /* from the thread's own stack, in between */
    }
    munmap(stack, bytes);
}

static void *visit_both(void *arg)
{
    (void)arg;
    visit(on_small_stack, 256 << 10);
    visit(on_large_stack, 512 << 10);
    return NULL;
}

static int coroutine(void)
{
    begin_world();
    host_open(0);
    other = host_dup(host.world);
    visit_both(NULL);
    in_thread(visit_both, NULL);
    host_free(&other);
    ALIVE(comm);
    OK(reactant_mpi_finalize(NULL));
    return check_done(rank);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "many";
    if (!strcmp(what, "many"))
        return many();
    if (!strcmp(what, "funneled"))
        return funneled();
    if (!strcmp(what, "serialized"))
        return serialized();
    if (!strcmp(what, "crossed"))
        return crossed();
    if (!strcmp(what, "coroutine"))
        return coroutine();
    fprintf(stderr, "unknown test %s\n", what);
    return 2;
}
