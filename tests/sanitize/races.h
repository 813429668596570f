/* Threads against each other, of main.c: thread levels, requests that come and go, errors that come at once. */
#ifndef RACES_H
#define RACES_H

#include "tests/c/check.h"
#include "team.h"

#include <sched.h>

#define I64 REACTANT_MPI_INT64
#define SUM REACTANT_MPI_SUM

/* Starts a call, which looks at the requests that were freed under way. */
static void look_at_freed(reactant_mpi_comm *c)
{
    reactant_mpi_request *r = NULL;
    OK(reactant_mpi_ibarrier(c, &r));
    OK(reactant_mpi_wait(r, NULL));
}

/* ---- FUNNELED ---- */

static void from_elsewhere(void *handle, int i)
{
    int64_t x = i, y;
    reactant_mpi_request *r = NULL;
    FAILS(REACTANT_MPI_ERR_THREAD, "allreduce", reactant_mpi_allreduce(&x, &y, 1, I64, SUM, handle));
    FAILS(REACTANT_MPI_ERR_THREAD, "allreduce", reactant_mpi_iallreduce(&x, &y, 1, I64, SUM, handle, &r));
    OK(reactant_mpi_prepare_allreduce(&x, &y, 1, I64, SUM, handle, &r));
    FAILS(REACTANT_MPI_ERR_THREAD, "allreduce", reactant_mpi_run(r));
    FAILS(REACTANT_MPI_ERR_THREAD, "allreduce", reactant_mpi_start(r));
    OK(reactant_mpi_request_free(r));
}

static void test_main_thread(void)
{
    static int64_t never;
    reactant_mpi_comm *c, *other;
    reactant_mpi_request *r = NULL;
    fake_set_level(FAKE_FUNNELED);
    team_new(1, RMPI_MAIN_THREAD, 1 << 30, &c);
    ALIVE(c);
    /* A request given up while under way: other threads must not look after it. */
    OK(reactant_mpi_irecv(&never, 1, I64, 0, 3, c, &r));
    OK(reactant_mpi_request_free(r));
    in_threads(4, from_elsewhere, c);
    ALIVE(c);
    OK(reactant_mpi_send(&never, 1, I64, 0, 3, c));
    look_at_freed(c);
    fake_set_level(FAKE_MULTIPLE);
    team_new(1, 0, 1 << 30, &other);
    ALIVE(other);
    team_free(1, &other);
    team_free(1, &c);
}

/* ---- MPI ends ---- */

static void after_the_end(void *handle, int i)
{
    int64_t x = i, y;
    FAILS(REACTANT_MPI_ERR_MPI_FINALIZED, "allreduce", reactant_mpi_allreduce(&x, &y, 1, I64, SUM, handle));
}

static void test_finalized(void)
{
    reactant_mpi_comm *c;
    team_new(1, RMPI_LOOK_FINALIZED, 1 << 30, &c);
    ALIVE(c);
    fake_set_finalized(1);
    in_threads(4, after_the_end, c);
    fake_set_finalized(0);
    team_free(1, &c);
}

/* ---- requests: made, ended and freed by many threads, each of which also tries what others have left ---- */

enum { STORM = 6, ROUNDS = 1500, LEFT = 32 };
static void *left_by[STORM][LEFT]; /* words that are dead, or will be at any moment */

static void leave_word(int thread, int round, void *word)
{
    __atomic_store_n(&left_by[thread][round % LEFT], word, __ATOMIC_RELEASE);
}

static void try_another(int thread, int round)
{
    reactant_mpi_request *r = __atomic_load_n(&left_by[(thread + 1 + round) % STORM][round % LEFT], __ATOMIC_ACQUIRE);
    reactant_mpi_status status;
    int done, rc;
    switch (round % 4) {
    case 0: rc = reactant_mpi_test(r, &done, &status); break;
    case 1: rc = reactant_mpi_wait_for(r, 0, &status); break;
    case 2: rc = reactant_mpi_wait(r, &status); break;
    default: rc = reactant_mpi_request_free(r); break;
    }
    /* 0: it was under way, and ended for its owner, who then gets 7 */
    CHECK(rc == 0 || rc == REACTANT_MPI_ERR_REQUEST || rc == REACTANT_MPI_ERR_STATE || rc == REACTANT_MPI_ERR_TIMEOUT, "%d: %s", rc,
          reactant_mpi_last_error());
}

static void storm(void *handles, int i)
{
    reactant_mpi_comm *const c = ((reactant_mpi_comm **)handles)[i];
    for (int round = 0; round < ROUNDS; round++) {
        reactant_mpi_request *r = NULL, *pair[2] = {NULL, NULL};
        int64_t x = i + round, y = -1, z = -1;
        int rc;
        OK(reactant_mpi_prepare_allreduce(&x, &y, 1, I64, SUM, c, &r));
        OK(reactant_mpi_run(r));
        CHECK(y == x, "%lld", (long long)y);
        OK(reactant_mpi_start(r));
        OK(reactant_mpi_wait(r, NULL));
        OK(reactant_mpi_request_free(r));
        leave_word(i, round, r); /* dead */
        OK(reactant_mpi_irecv(&z, 1, I64, 0, 5, c, &pair[0]));
        OK(reactant_mpi_isend(&x, 1, I64, 0, 5, c, &pair[1]));
        OK(reactant_mpi_waitall(2, pair, NULL));
        CHECK(z == x, "%lld", (long long)z);
        try_another(i, round);
        if (round % 3 == 0) { /* others may end it as well, or free it: one of us does */
            OK(reactant_mpi_ibarrier(c, &r));
            leave_word(i, round, r);
            rc = reactant_mpi_wait(r, NULL);
            CHECK(rc == 0 || rc == REACTANT_MPI_ERR_REQUEST, "%d: %s", rc, reactant_mpi_last_error());
        }
    }
}

static void test_storm(void)
{
    reactant_mpi_comm *c[STORM];
    for (int i = 0; i < STORM; i++)
        team_new(1, 0, 1 << 30, &c[i]);
    in_threads(STORM, storm, c);
    look_at_freed(c[0]);
    for (int i = 0; i < STORM; i++)
        team_free(1, &c[i]);
}

/* ---- one request, and two threads go for it at the same moment: one gets it ---- */

enum { CONTESTS = 20000 };
static struct {
    reactant_mpi_comm *c;
    reactant_mpi_request *r;
    int round, left, won; /* the round that has begun, those that have left it */
} contest;

static void spin_until(const int *number, int value)
{
    for (unsigned turn = 1; __atomic_load_n(number, __ATOMIC_ACQUIRE) < value; turn++)
        if (turn % 1000 == 0)
            sched_yield();
}

static void contestant(void *unused, int i)
{
    (void)unused;
    for (int round = 1; round <= CONTESTS; round++) {
        int done = 0, rc;
        if (i == 0) {
            OK(reactant_mpi_ibarrier(contest.c, &contest.r));
            __atomic_store_n(&contest.round, round, __ATOMIC_RELEASE);
        } else {
            spin_until(&contest.round, round);
        }
        switch ((i + round) % 3) {
        case 0: rc = reactant_mpi_wait(contest.r, NULL); break;
        case 1: rc = reactant_mpi_test(contest.r, &done, NULL); break;
        default: rc = reactant_mpi_request_free(contest.r); break;
        }
        CHECK(rc == 0 || rc == REACTANT_MPI_ERR_REQUEST, "%d: %s", rc, reactant_mpi_last_error());
        __atomic_fetch_add(&contest.won, rc == 0, __ATOMIC_RELAXED);
        __atomic_fetch_add(&contest.left, 1, __ATOMIC_RELEASE);
        spin_until(&contest.left, 2 * round);
    }
}

static void test_contest(void)
{
    team_new(1, 0, 1 << 30, &contest.c);
    in_threads(2, contestant, NULL);
    CHECK(contest.won == CONTESTS, "%d requests were ended %d times", CONTESTS, contest.won);
    look_at_freed(contest.c);
    team_free(1, &contest.c);
}

/* Requests freed under way by many threads on one communicator, in the order in which they are received. */
static void give_up(void *handles, int i)
{
    static int64_t into[8];
    reactant_mpi_comm *const c = ((reactant_mpi_comm **)handles)[i];
    for (int round = 0; round < 200; round++) {
        reactant_mpi_request *r = NULL;
        int64_t x = 1;
        OK(reactant_mpi_irecv(&into[i], 1, I64, 0, i, c, &r));
        OK(reactant_mpi_request_free(r));
        FAILS(REACTANT_MPI_ERR_REQUEST, "request_free", reactant_mpi_request_free(r));
        OK(reactant_mpi_send(&x, 1, I64, 0, i, c));
    }
}

static void test_orphans(void)
{
    reactant_mpi_comm *c[4];
    for (int i = 0; i < 4; i++)
        team_new(1, 0, 1 << 30, &c[i]);
    in_threads(4, give_up, c);
    look_at_freed(c[0]);
    for (int i = 0; i < 4; i++)
        team_free(1, &c[i]);
}

/* ---- errors ---- */

static void fail_and_look(void *handle, int i)
{
    for (int round = 0; round < 300; round++) {
        int64_t x = i, y = 0;
        int code;
        if (i % 2)
            FAILS(REACTANT_MPI_ERR_RANK, "bcast", reactant_mpi_bcast(&x, 1, I64, -1 - i, handle));
        else
            FAILS(REACTANT_MPI_ERR_TYPE, "allreduce", reactant_mpi_allreduce(&x, &y, 1, i, SUM, handle));
        code = reactant_mpi_comm_error(handle);
        CHECK(code == REACTANT_MPI_ERR_RANK || code == REACTANT_MPI_ERR_TYPE, "%d", code);
    }
}

static void test_latch(void)
{
    reactant_mpi_comm *c;
    team_new(1, 0, 1 << 30, &c);
    in_threads(6, fail_and_look, c);
    ALIVE(c);
    team_free(1, &c);
}

/* One thread finds the communicator out of step while others call. */
static void call_until_refused(void *handle, int i)
{
    struct rmpi_comm *const c = handle;
    for (int round = 0; round < 2000; round++) {
        int64_t x = 1, y = 0;
        int rc;
        if (i == 0 && round == 500) {
            rmpi_comm_latch(c, REACTANT_MPI_ERR_TIMEOUT, "out of step on purpose");
            rmpi_comm_out_of_step(c);
        }
        rc = reactant_mpi_allreduce(&x, &y, 1, I64, SUM, handle);
        CHECK((rc == 0 && y == 1) || rc == REACTANT_MPI_ERR_TIMEOUT, "%d", rc);
        if (i == 0 && round >= 500)
            CHECK(rc == REACTANT_MPI_ERR_TIMEOUT && strstr(reactant_mpi_last_error(), "on purpose"), "%d", rc);
    }
}

static void test_out_of_step(void)
{
    reactant_mpi_comm *c;
    team_new(1, 0, 1 << 30, &c);
    in_threads(4, call_until_refused, c);
    team_free(1, &c);
}

/*
 * MPI's functions fail, one after the other: code 44, and nothing is left behind. Each at its first call: where a later part of a call
 * fails, the library leaves those that were started, and their memory, to MPI.
 */
static void test_mpi_fails(void)
{
    static const enum rmpi_function all[] = {RMPI_F_Allreduce,          RMPI_F_Iallreduce,          RMPI_F_Iallgather, RMPI_F_Ireduce, RMPI_F_Ibcast,
                                             RMPI_F_Irecv,              RMPI_F_Type_contiguous,     RMPI_F_Wait,       RMPI_F_Test,
                                             RMPI_F_Type_create_struct, RMPI_F_Type_create_resized, RMPI_F_Sendrecv};
    int64_t x[20] = {1}, y[20];
    const size_t counts[] = {15}, displs[] = {0};
    for (size_t f = 0; f < sizeof all / sizeof *all; f++) {
        reactant_mpi_comm *c;
        reactant_mpi_request *r = NULL;
        int failed = 0, done = 0;
        team_new(1, 0, 4, &c);
        fake_fail(all[f], 0, 1);
        failed += reactant_mpi_allreduce(x, y, 2, I64, SUM, c) != 0;
        failed += reactant_mpi_allreduce(x, y, 15, I64, SUM, c) != 0;
        failed += reactant_mpi_allgather(x, y, 15, I64, c) != 0;
        failed += reactant_mpi_reduce_scatter(x, y, 15, I64, SUM, c) != 0;
        failed += reactant_mpi_allgatherv(x, 15, y, counts, displs, I64, c) != 0;
        failed += reactant_mpi_sendrecv(x, 2, 0, 1, y, 2, 0, 1, I64, c, NULL) != 0;
        failed += reactant_mpi_sendrecv(x, 15, 0, 1, y, 15, 0, 1, I64, c, NULL) != 0;
        if (reactant_mpi_iallreduce(x, y, 2, I64, SUM, c, &r) == 0)
            while (!done && failed == 0)
                failed += reactant_mpi_test(r, &done, NULL) != 0;
        if (failed && r && !done)
            reactant_mpi_wait(r, NULL);
        CHECK(failed == 1, "%d calls failed for one failure of MPI's function %d", failed, (int)all[f]);
        CHECK(reactant_mpi_comm_error(c) == REACTANT_MPI_ERR_MPI, "%d", reactant_mpi_comm_error(c));
        ALIVE(c);
        team_free(1, &c);
    }
}

#endif
