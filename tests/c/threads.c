/*
 * Threads and stacks. The first argument says which:
 *
 *   many        8 threads at once on 8 communicators, made and ended by those threads (MPI at MULTIPLE)
 *   funneled    the host initialised MPI with FUNNELED: another thread gets code 9, the first one goes on
 *   serialized  SERIALIZED: a second thread that calls while one is inside gets code 9
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

static void *from_elsewhere(void *arg)
{
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
    FAILS_NULL(REACTANT_MPI_ERR_THREAD, "initialize", reactant_mpi_initialize(0));
    if (reactant_mpi_prepare_allreduce(&x, &y, 1, I64, REACTANT_MPI_SUM, comm, &req) == 0) { /* local, may be allowed */
        FAILS(REACTANT_MPI_ERR_THREAD, "allreduce", reactant_mpi_run(req));
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
    pthread_t t;
    NEED(pthread_create(&t, NULL, from_elsewhere, &allowed) == 0, "a thread");
    pthread_join(t, NULL);
    if (rank == 0)
        printf("level given: %d\n", (int)level);
    ALIVE(comm);
    OK(reactant_mpi_finalize(comm));
    host_finalize();
    return check_done(rank);
}

/* ---- serialized ----------------------------------------------------------------------------------------------------------- */

static _Atomic bool received;

static void *wait_for_message(void *arg)
{
    int64_t x = 0;
    int rc;
    (void)arg;
    do { /* the other thread may be inside just now */
        rc = reactant_mpi_recv(&x, 1, I64, 1, 6, comm, NULL);
    } while (rc == REACTANT_MPI_ERR_THREAD);
    OK(rc);
    CHECK(x == 4711, "%lld", (long long)x);
    received = true;
    return NULL;
}

static int serialized(void)
{
    host_open(0);
    enum host_level level = host_init(HOST_SERIALIZED);
    begin_world();
    NEED(size > 1, "run me at 2 ranks");
    ALIVE(comm);
    if (rank == 0) {
        /* One thread waits inside MPI; this one knocks with a send to nobody until it is refused, or the other has its message. */
        pthread_t t;
        int64_t x = 1;
        int rc = 0;
        NEED(pthread_create(&t, NULL, wait_for_message, NULL) == 0, "a thread");
        while (!received && rc == 0) {
            rc = reactant_mpi_send(&x, 1, I64, REACTANT_MPI_PROC_NULL, 1, comm);
            usleep(1000);
        }
        if (level == HOST_SERIALIZED) {
            FAILS(REACTANT_MPI_ERR_THREAD, "send", rc);
            CHECK(!received, "the other thread was still inside");
        } else {
            OK(rc);
        }
        pthread_join(t, NULL);
    } else if (rank == 1) {
        int64_t x = 4711;
        usleep(700000);
        OK(reactant_mpi_send(&x, 1, I64, 0, 6, comm));
    }
    ALIVE(comm);
    /* One after the other, from different threads: fine. */
    bool allowed = true;
    pthread_t t;
    NEED(pthread_create(&t, NULL, from_elsewhere, &allowed) == 0, "a thread");
    pthread_join(t, NULL);
    if (rank == 0)
        printf("level given: %d\n", (int)level);
    OK(reactant_mpi_finalize(comm));
    host_finalize();
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
    pthread_t t;
    begin_world();
    host_open(0);
    other = host_dup(host.world);
    visit_both(NULL);
    NEED(pthread_create(&t, NULL, visit_both, NULL) == 0, "a thread");
    pthread_join(t, NULL);
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
    if (!strcmp(what, "coroutine"))
        return coroutine();
    fprintf(stderr, "unknown test %s\n", what);
    return 2;
}
