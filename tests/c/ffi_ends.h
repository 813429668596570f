/* Calls that cannot end well: a rank does not come, or its process ends; MPI ends under them; the thread, or the process, may not call. */
#ifndef FFI_ENDS_H
#define FFI_ENDS_H

#include "ffi_jobs.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

enum { THREADS = 4 };
static reactant_mpi_comm *own[THREADS];

/* A sum of one number. */
struct sum {
    struct XLA_FFI_CallFrame f;
    float token;
    int64_t in, out;
};

static struct XLA_FFI_Error *start_sum(struct sum *s, int64_t in, bool wait, int64_t id)
{
    s->in = in;
    s->out = -1;
    frame_start(&s->f);
    frame_buffer(&s->f, 0, S64, &s->in, 1);
    frame_buffer(&s->f, 0, F32, &s->token, 1);
    frame_buffer(&s->f, 1, S64, &s->out, 1);
    frame_buffer(&s->f, 1, F32, &s->token, 1);
    frame_common(&s->f, id, size, wait);
    frame_scalar(&s->f, "op", S32, REACTANT_MPI_SUM);
    return reactant_mpi_ffi_allreduce(&s->f);
}

/* Of base + rank. */
static void check_sum(struct sum *s, struct XLA_FFI_Error *e, int64_t base)
{
    NO_ERROR(frame_end(&s->f, e));
    CHECK(s->out == base * size + (int64_t)size * (size - 1) / 2, "%lld", (long long)s->out);
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void test_missing(bool killed)
{
    struct sum s;
    const double begin = now_s();
    OK(reactant_mpi_comm_set_timeout(comm, 1000));
    OK(reactant_mpi_comm_set_timeout(own[0], 1000));
    if (rank == 1) {
        if (killed)
            kill(getpid(), SIGKILL);
        sleep(4);
    } else {
        const int code = killed ? UNAVAILABLE : DEADLINE_EXCEEDED;
        GIVES_ERROR(code, "reactant_mpi allreduce: ", frame_end(&s.f, start_sum(&s, 1, false, reactant_mpi_comm_id(comm))));
        CHECK(futures_made > 0, "without a future");
        GIVES_ERROR(code, "takes no more calls", frame_end(&s.f, start_sum(&s, 1, true, reactant_mpi_comm_id(comm))));
        GIVES_ERROR(code, killed ? "(ERR_PEER)" : "(ERR_TIMEOUT)", frame_end(&s.f, start_sum(&s, 1, true, reactant_mpi_comm_id(own[0]))));
        CHECK(now_s() - begin < 20, "only after %g s", now_s() - begin);
    }
}

/* Rank 0 has a future that nobody else comes for, and ends everything. */
static void test_pending(void)
{
    struct sum s;
    struct XLA_FFI_Error *e;
    if (rank > 0)
        return; /* MPI_Finalize would wait for rank 0 */
    e = start_sum(&s, 1, false, reactant_mpi_comm_id(comm));
    OK(reactant_mpi_finalize(NULL));
    GIVES_ERROR(FAILED_PRECONDITION, "MPI was ended", frame_end(&s.f, e));
}

static void *other_thread(void *unused)
{
    struct sum s;
    for (int wait = 0; wait < 2; wait++)
        GIVES_ERROR(INTERNAL, "only the thread that initialised it may call",
                    frame_end(&s.f, start_sum(&s, 1, wait, reactant_mpi_comm_id(comm))));
    return unused;
}

static void test_funneled(void)
{
    struct sum s;
    pthread_t t;
    for (int wait = 0; wait < 2; wait++) {
        if (rank == size - 1)
            usleep(20000);
        check_sum(&s, start_sum(&s, 5 + rank, wait, reactant_mpi_comm_id(comm)), 5);
    }
    CHECK(futures_made == 0, "%d futures that no other thread may complete", futures_made);
    NEED(pthread_create(&t, NULL, other_thread, NULL) == 0, "no thread");
    pthread_join(t, NULL);
    OK(reactant_mpi_finalize(NULL));
}

/* A child of a process with the completing thread, and with calls in flight. */
static void test_forked(void)
{
    struct sum s, other;
    struct XLA_FFI_Error *e;
    int status;
    pid_t child;
    if (rank == size - 1)
        usleep(50000);
    e = start_sum(&s, 1 + rank, false, reactant_mpi_comm_id(comm));
    NEED((child = fork()) >= 0, "no fork");
    if (child == 0) {
        for (int wait = 0; wait < 2; wait++)
            GIVES_ERROR(FAILED_PRECONDITION, "(ERR_FORKED)", frame_end(&other.f, start_sum(&other, 1, wait, reactant_mpi_comm_id(comm))));
        _exit(check_failures ? 1 : 0);
    }
    NEED(waitpid(child, &status, 0) == child, "no child");
    CHECK(status == 0, "the child ended with %d", status);
    check_sum(&s, e, 1);
    OK(reactant_mpi_finalize(NULL));
}

static void test_end(const char *what)
{
    if (!strcmp(what, "pending")) {
        test_pending();
    } else if (!strcmp(what, "funneled")) {
        test_funneled();
    } else if (!strcmp(what, "forked")) {
        test_forked();
    } else {
        test_missing(!strcmp(what, "killed"));
        OK(reactant_mpi_finalize(NULL));
    }
}

#endif
