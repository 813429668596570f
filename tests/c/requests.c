/*
 * Requests, from start to end: started messages and collectives, many under way at once, lists, prepared calls in every state, freed
 * ones, dead ones, and all slots in use. At any number of ranks; where one talks to the next, rank 0 alone talks to itself.
 */
#include "job_run.h"

#define I64 REACTANT_MPI_INT64
#define STALE REACTANT_MPI_ERR_REQUEST
#define SLOTS 65536

static int next, before;

/* A status of something that received nothing. */
static bool is_empty(const reactant_mpi_status *s)
{
    return s->source == REACTANT_MPI_PROC_NULL && s->tag == REACTANT_MPI_ANY_TAG && s->bytes == 0;
}

/* All that can be asked of a request that is gone. */
static void is_gone(reactant_mpi_request *r)
{
    int done = 7;
    reactant_mpi_request *list[1] = {r};
    FAILS(STALE, "wait", reactant_mpi_wait(r, NULL));
    FAILS(STALE, "wait_for", reactant_mpi_wait_for(r, 0, NULL));
    FAILS(STALE, "test", reactant_mpi_test(r, &done, NULL));
    FAILS(STALE, "waitall", reactant_mpi_waitall(1, list, NULL));
    FAILS(STALE, "testall", reactant_mpi_testall(1, list, &done, NULL));
    FAILS(STALE, "run", reactant_mpi_run(r));
    FAILS(STALE, "start", reactant_mpi_start(r));
    FAILS(STALE, "request_free", reactant_mpi_request_free(r));
    CHECK(done == 0 && list[0] == r, "done %d", done);
}

/* Every length, type of end and kind of source; the wait of a send says nothing was received. */
static void test_messages(void)
{
    static const size_t lengths[] = {0, 1, 6, 7, 8, 21, 40000};
    static uint32_t out[40000], in[40010];
    const struct type *t = &types[5];
    for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++)
        for (int end = 0; end < 4; end++)
            for (int any = 0; any < 2; any++) {
                const size_t n = lengths[k];
                reactant_mpi_request *r[2] = {NULL, NULL}, *old[2];
                reactant_mpi_status st[2] = {{-7, -7, 777}, {-7, -7, 777}};
                int done = 0;
                fill_message(t, out, n, 500 + (unsigned)k);
                memset(in, 0xa5, sizeof in);
                OK(reactant_mpi_irecv(in, n + 5, t->value, any ? REACTANT_MPI_ANY_SOURCE : before, any ? REACTANT_MPI_ANY_TAG : 60,
                                      comm, &r[0]));
                OK(reactant_mpi_isend(out, n, t->value, next, 60, comm, &r[1]));
                memcpy(old, r, sizeof r);
                switch (end) {
                case 0:
                    OK(reactant_mpi_wait(r[1], &st[1]));
                    OK(reactant_mpi_wait(r[0], &st[0]));
                    break;
                case 1: OK(reactant_mpi_waitall(2, r, st)); break;
                case 2:
                    while (!done)
                        OK(reactant_mpi_testall(2, r, &done, st));
                    break;
                default:
                    for (int i = 0; i < 2; i++)
                        for (done = 0; !done;)
                            OK(reactant_mpi_test(r[i], &done, &st[i]));
                }
                if (end == 1 || end == 2)
                    CHECK(!r[0] && !r[1], "what is gone is NULL in the list");
                is_gone(old[0]), is_gone(old[1]);
                CHECK(st[0].source == before && st[0].tag == 60 && st[0].bytes == 4 * n, "source %d tag %d bytes %zu", st[0].source,
                      st[0].tag, st[0].bytes);
                CHECK(is_empty(&st[1]), "a send: source %d tag %d bytes %zu", st[1].source, st[1].tag, st[1].bytes);
                check_message(t, in, n, 500 + (unsigned)k, before);
                for (size_t i = n; i < n + 10 && i < 40010; i++)
                    CHECK(in[i] == 0xa5a5a5a5, "written behind the message");
                OK(reactant_mpi_barrier(comm)); /* nobody's next message may be taken by a slower rank's ANY_SOURCE */
            }
    reactant_mpi_request *none;
    reactant_mpi_status st = {-7, -7, 777};
    OK(reactant_mpi_irecv(in, 5, t->value, REACTANT_MPI_PROC_NULL, 1, comm, &none));
    OK(reactant_mpi_wait(none, &st));
    CHECK(is_empty(&st), "source %d tag %d bytes %zu", st.source, st.tag, st.bytes);
    OK(reactant_mpi_isend(in, 5, t->value, REACTANT_MPI_PROC_NULL, 1, comm, &none));
    OK(reactant_mpi_wait(none, NULL));
}

/* 1,000 messages each way, received in the other order than they are sent in. */
static void test_thousand(void)
{
    enum { N = 1000 };
    static int64_t out[N], in[N];
    static reactant_mpi_request *r[2 * N];
    static reactant_mpi_status st[2 * N];
    for (int i = 0; i < N; i++) {
        in[i] = -1;
        OK(reactant_mpi_irecv(&in[i], 1, I64, before, N - 1 - i, comm, &r[i]));
    }
    for (int i = 0; i < N; i++) {
        out[i] = rank * 1000000 + i;
        OK(reactant_mpi_isend(&out[i], 1, I64, next, i, comm, &r[N + i]));
    }
    OK(reactant_mpi_waitall(2 * N, r, st));
    for (int i = 0; i < N; i++) {
        CHECK(in[i] == before * 1000000 + N - 1 - i, "message %d: %lld", i, (long long)in[i]);
        CHECK(st[i].source == before && st[i].tag == N - 1 - i && st[i].bytes == 8 && is_empty(&st[N + i]), "status %d", i);
        CHECK(!r[i] && !r[N + i], "request %d", i);
    }
}

/* 64 collectives under way, every row among them, started in one order and ended in another, which differs from rank to rank. */
static void test_many_collectives(bool prepared)
{
    enum { N = 64 };
    static struct job j[N];
    static struct running x[N];
    reactant_mpi_request *r[N];
    memset(x, 0, sizeof x);
    for (int i = 0; i < N; i++) {
        const enum row row = (enum row)(i % BARRIER);
        j[i] = (struct job){.row = row, .t = &types[4], .op = REACTANT_MPI_SUM, .root = i % size, .count = (size_t)(i * 37 % 90),
                            .variant = i / BARRIER % 3, .place = APART};
        arrange(&j[i], &x[i]);
        fill(&j[i], &x[i], 1);
        if (prepared)
            OK(call_row(row, PREPARED, &x[i].a, &r[i]));
    }
    for (int i = 0; i < N; i++)
        OK(prepared ? reactant_mpi_start(r[i]) : call_row(j[i].row, STARTED, &x[i].a, &r[i]));
    for (int k = 0; k < N; k++) {
        const int i = (k * 23 + rank * 17 + 5) % N;
        OK(reactant_mpi_wait(r[i], NULL));
        look_at_all(&j[i], prepared ? RESTARTED : WAITED, 1, &x[i]);
        if (prepared)
            OK(reactant_mpi_request_free(r[i]));
        clear(&x[i]);
    }
}

/* Lists with NULLs, with a dead one, with the same one twice. */
static void test_lists(void)
{
    int64_t out = rank, in[3] = {-1, -1, -1};
    reactant_mpi_request *r[5] = {NULL}, *dead, *prepared, *keep;
    reactant_mpi_status st[5];
    int done = 7;
    OK(reactant_mpi_ibarrier(comm, &dead));
    OK(reactant_mpi_wait(dead, NULL));

    memset(st, 0x5a, sizeof st);
    OK(reactant_mpi_waitall(5, r, st)); /* NULLs only */
    for (int i = 0; i < 5; i++)
        CHECK(is_empty(&st[i]), "status %d of nothing", i);

    OK(reactant_mpi_irecv(&in[0], 1, I64, before, 70, comm, &r[1]));
    OK(reactant_mpi_irecv(&in[1], 1, I64, before, 71, comm, &r[2]));
    keep = r[1];
    r[4] = dead;
    FAILS(STALE, "waitall", reactant_mpi_waitall(5, r, st)); /* would hang if it waited first */
    FAILS(STALE, "testall", reactant_mpi_testall(5, r, &done, st));
    CHECK(r[1] == keep && r[2] && r[4] == dead && done == 0, "nothing was to be taken from the list");
    OK(reactant_mpi_prepare_barrier(comm, &prepared));
    r[4] = prepared;
    FAILS(REACTANT_MPI_ERR_STATE, "waitall", reactant_mpi_waitall(5, r, st));
    FAILS(REACTANT_MPI_ERR_STATE, "testall", reactant_mpi_testall(5, r, &done, st));
    CHECK(r[1] == keep && r[2] && r[4] == prepared && done == 0, "nothing was to be taken from the list");

    OK(reactant_mpi_start(prepared));
    OK(reactant_mpi_isend(&out, 1, I64, next, 70, comm, &r[0]));
    OK(reactant_mpi_send(&out, 1, I64, size > 1 ? next : REACTANT_MPI_PROC_NULL, 71, comm));
    if (size == 1)
        OK(reactant_mpi_isend(&out, 1, I64, 0, 71, comm, &r[3]));
    OK(reactant_mpi_waitall(5, r, st));
    CHECK(!r[0] && !r[1] && !r[2] && !r[3] && r[4] == prepared, "started ones become NULL, prepared ones stay");
    CHECK(in[0] == before && in[1] == before && st[1].tag == 70 && st[2].tag == 71 && st[1].bytes == 8, "%lld %lld",
          (long long)in[0], (long long)in[1]);
    FAILS(REACTANT_MPI_ERR_STATE, "wait", reactant_mpi_wait(prepared, NULL));

    /* The same one twice: the second is dead when its turn comes, the others are done. */
    for (int testing = 0; testing < 2; testing++) {
        OK(reactant_mpi_irecv(&in[0], 1, I64, before, 72, comm, &r[0]));
        OK(reactant_mpi_isend(&out, 1, I64, next, 72, comm, &r[2]));
        keep = r[1] = r[0];
        int rc = 0;
        for (done = 0; testing && rc == 0 && !done;)
            rc = reactant_mpi_testall(3, r, &done, NULL);
        if (!testing)
            rc = reactant_mpi_waitall(3, r, NULL);
        FAILS(STALE, "all", rc);
        CHECK(!r[0] && !r[2], "the others were to be done");
        is_gone(keep);
        r[0] = r[1] = r[2] = NULL;
    }
    OK(reactant_mpi_request_free(prepared));
    is_gone(prepared);
}

/* testall takes all or nothing: one of two messages is there, the other one comes only when the receiver says so. */
static void test_all_or_nothing(void)
{
    int64_t in[2] = {-1, -1}, out[2] = {41, 42}, go[2] = {0, 0};
    reactant_mpi_request *r[2], *keep[2], *sent_one[2] = {NULL, NULL};
    reactant_mpi_status st[2];
    int done = 7;
    OK(reactant_mpi_irecv(&in[0], 1, I64, before, 80, comm, &r[0]));
    OK(reactant_mpi_irecv(&in[1], 1, I64, before, 81, comm, &r[1]));
    memcpy(keep, r, sizeof r);
    OK(reactant_mpi_isend(&out[0], 1, I64, next, 80, comm, &sent_one[0]));
    for (int turn = 0; turn < 200; turn++) {
        OK(reactant_mpi_testall(2, r, &done, st));
        CHECK(done == 0 && r[0] == keep[0] && r[1] == keep[1], "turn %d: done %d", turn, done);
    }
    FAILS(REACTANT_MPI_ERR_TIMEOUT, "wait_for", reactant_mpi_wait_for(r[1], 0, NULL));
    FAILS(REACTANT_MPI_ERR_TIMEOUT, "wait_for", reactant_mpi_wait_for(r[1], 20, NULL));
    OK(reactant_mpi_test(r[1], &done, NULL));
    CHECK(done == 0, "done %d", done);
    OK(reactant_mpi_sendrecv(&go[0], 1, before, 82, &go[1], 1, next, 82, I64, comm, NULL)); /* the next one has looked enough */
    OK(reactant_mpi_isend(&out[1], 1, I64, next, 81, comm, &sent_one[1]));
    for (done = 0; !done;) {
        OK(reactant_mpi_testall(2, r, &done, st));
        CHECK(done ? !r[0] && !r[1] : r[0] == keep[0] && r[1] == keep[1], "done %d", done);
    }
    CHECK(in[0] == 41 && in[1] == 42 && st[0].tag == 80 && st[1].tag == 81, "%lld %lld", (long long)in[0], (long long)in[1]);
    OK(reactant_mpi_waitall(2, sent_one, NULL));
    OK(reactant_mpi_ibarrier(comm, &r[0]));
    OK(reactant_mpi_wait_for(r[0], 60000, st));
    CHECK(is_empty(st), "of a barrier");
}

/* What a prepared call and a started one allow in each state. */
static void test_states(void)
{
    int64_t in = rank + 1, out = -1;
    const int64_t sum = (int64_t)size * (size + 1) / 2;
    reactant_mpi_request *p, *s, *mine;
    int done = 7;
    OK(reactant_mpi_prepare_allreduce(&in, &out, 1, I64, REACTANT_MPI_SUM, comm, &p));
    for (int round = 0; round < 3; round++) {
        FAILS(REACTANT_MPI_ERR_STATE, "wait", reactant_mpi_wait(p, NULL));
        FAILS(REACTANT_MPI_ERR_STATE, "wait_for", reactant_mpi_wait_for(p, 1, NULL));
        FAILS(REACTANT_MPI_ERR_STATE, "test", reactant_mpi_test(p, &done, NULL));
        CHECK(done == 0, "done %d", done);
        out = -1;
        OK(reactant_mpi_start(p));
        FAILS(REACTANT_MPI_ERR_STATE, "start", reactant_mpi_start(p));
        FAILS(REACTANT_MPI_ERR_STATE, "run", reactant_mpi_run(p));
        if (round == 0)
            OK(reactant_mpi_wait(p, NULL));
        else
            for (done = 0; !done;)
                OK(reactant_mpi_test(p, &done, NULL));
        CHECK(out == sum, "%lld", (long long)out);
        out = -1;
        OK(reactant_mpi_run(p));
        CHECK(out == sum, "%lld", (long long)out);
    }
    OK(reactant_mpi_request_free(p));
    is_gone(p);
    OK(reactant_mpi_iallreduce(&in, &out, 1, I64, REACTANT_MPI_SUM, comm, &s));
    FAILS(REACTANT_MPI_ERR_STATE, "run", reactant_mpi_run(s)); /* was never prepared */
    FAILS(REACTANT_MPI_ERR_STATE, "start", reactant_mpi_start(s));
    OK(reactant_mpi_wait(s, NULL));
    is_gone(s);

    /* A message that is too long: the wait says so, and the request is gone. */
    int32_t room[3] = {0, 0, 7}, large[3] = {1, 2, 3};
    OK(reactant_mpi_irecv(room, 2, REACTANT_MPI_INT32, before, 90, comm, &s));
    OK(reactant_mpi_isend(large, 3, REACTANT_MPI_INT32, next, 90, comm, &mine));
    char about[8192] = "";
    reactant_mpi_describe(comm, about, sizeof about);
    const int rc = reactant_mpi_wait(s, NULL);
    if (rc != 0 || size > 1 || !strstr(about, "Open MPI")) /* which itself says nothing of a message to the own rank */
        FAILS(REACTANT_MPI_ERR_MPI, "recv", rc);
    is_gone(s);
    reactant_mpi_wait(mine, NULL); /* at one rank some MPIs give the error to the sender, too */
    CHECK(room[2] == 7, "written behind the room");
}

/* Freed while under way: they still do their work. */
static void test_freed_under_way(void)
{
    enum { N = 50 };
    static int64_t in[N], got[N], out[N], sum[N];
    reactant_mpi_request *r, *p;
    for (int i = 0; i < N; i++) {
        in[i] = i + rank, sum[i] = got[i] = -1, out[i] = i;
        OK(reactant_mpi_irecv(&got[i], 1, I64, before, 100 + i, comm, &r));
        OK(reactant_mpi_request_free(r));
        is_gone(r);
        OK(reactant_mpi_iallreduce(&in[i], &sum[i], 1, I64, REACTANT_MPI_SUM, comm, &r));
        OK(reactant_mpi_request_free(r));
        is_gone(r);
    }
    OK(reactant_mpi_prepare_barrier(comm, &p));
    OK(reactant_mpi_start(p));
    OK(reactant_mpi_request_free(p));
    is_gone(p);
    for (int i = 0; i < N; i++) {
        OK(reactant_mpi_isend(&out[i], 1, I64, next, 100 + i, comm, &r));
        OK(reactant_mpi_request_free(r));
    }
    /* Requests are made of what is left: those that are done go by and by, so that all arrive while this rank makes calls. */
    for (int i = 0; i < N;) {
        int done;
        OK(reactant_mpi_ibarrier(comm, &r));
        for (done = 0; !done;)
            OK(reactant_mpi_test(r, &done, NULL));
        const int64_t all = (int64_t)size * i + (int64_t)size * (size - 1) / 2;
        int arrived = *(volatile int64_t *)&got[i] == i && *(volatile int64_t *)&sum[i] == all;
        OK(reactant_mpi_allreduce(REACTANT_MPI_IN_PLACE, &arrived, 1, REACTANT_MPI_INT32, REACTANT_MPI_MIN, comm));
        i += arrived;
    }
}

/* All slots freed under way: one more call has no request, until their messages have come. */
static void test_all_freed(void)
{
    static int8_t got[SLOTS];
    const int8_t x = 7;
    reactant_mpi_request *r;
    for (int i = 0; i < SLOTS; i++) {
        NEED(reactant_mpi_irecv(&got[i], 1, REACTANT_MPI_INT8, before, 120, comm, &r) == 0, "request %d: %s", i,
             reactant_mpi_last_error());
        OK(reactant_mpi_request_free(r));
    }
    FAILS(REACTANT_MPI_ERR_MEMORY, "barrier", reactant_mpi_ibarrier(comm, &r));
    OK(reactant_mpi_barrier(comm));
    for (int i = 0; i < SLOTS; i++)
        OK(reactant_mpi_send(&x, 1, REACTANT_MPI_INT8, next, 120, comm));
    OK(reactant_mpi_barrier(comm));
    while (reactant_mpi_irecv(NULL, 0, REACTANT_MPI_INT8, REACTANT_MPI_PROC_NULL, 0, comm, &r) == REACTANT_MPI_ERR_MEMORY)
        ; /* the last ones may still be coming */
    OK(reactant_mpi_wait(r, NULL));
    OK(reactant_mpi_barrier(comm));
}

/* Those of a communicator that has ended give code 2, and can be given back once. */
static void test_of_the_dead(void)
{
    reactant_mpi_comm *other;
    reactant_mpi_request *p, *s, *list[1];
    int64_t in = 1, out;
    int done;
    OK(reactant_mpi_comm_split(comm, 0, rank, &other));
    OK(reactant_mpi_prepare_allreduce(&in, &out, 1, I64, REACTANT_MPI_SUM, other, &p));
    OK(reactant_mpi_ibarrier(other, &s));
    OK(reactant_mpi_barrier(comm));
    OK(reactant_mpi_finalize(other));
    for (int k = 0; k < 2; k++) {
        list[0] = k ? s : p;
        FAILS(REACTANT_MPI_ERR_COMM, "run", reactant_mpi_run(list[0]));
        if (!k)
            FAILS(REACTANT_MPI_ERR_COMM, "start", reactant_mpi_start(list[0]));
        FAILS(REACTANT_MPI_ERR_COMM, "wait", reactant_mpi_wait(list[0], NULL));
        FAILS(REACTANT_MPI_ERR_COMM, "wait_for", reactant_mpi_wait_for(list[0], 5, NULL));
        FAILS(REACTANT_MPI_ERR_COMM, "test", reactant_mpi_test(list[0], &done, NULL));
        FAILS(REACTANT_MPI_ERR_COMM, "waitall", reactant_mpi_waitall(1, list, NULL));
        FAILS(REACTANT_MPI_ERR_COMM, "testall", reactant_mpi_testall(1, list, &done, NULL));
        OK(reactant_mpi_request_free(list[0]));
        is_gone(list[0]);
    }
}

/* Every slot in use: code 22 for one more, in both forms, and all is well again when some are given back. */
static void test_all_slots(void)
{
    static reactant_mpi_request *r[SLOTS], *again[SLOTS];
    int64_t in = 1, out = 0;
    int n = 0, rc;
    reactant_mpi_request *more;
    while (n < SLOTS && (rc = reactant_mpi_prepare_allreduce(&in, &out, 1, I64, REACTANT_MPI_SUM, comm, &r[n])) == 0)
        n++;
    CHECK(n == SLOTS, "%d requests: %s", n, reactant_mpi_last_error());
    for (int k = 0; k < 3; k++) {
        FAILS(REACTANT_MPI_ERR_MEMORY, "barrier", reactant_mpi_prepare_barrier(comm, &more));
        CHECK(more == NULL, "a request");
        FAILS(REACTANT_MPI_ERR_MEMORY, "barrier", reactant_mpi_ibarrier(comm, &more));
        FAILS(REACTANT_MPI_ERR_MEMORY, "recv", reactant_mpi_irecv(&out, 1, I64, 0, 0, comm, &more));
    }
    OK(reactant_mpi_run(r[SLOTS - 1])); /* what is there works, and so do calls that need none */
    CHECK(out == size, "%lld", (long long)out);
    OK(reactant_mpi_start(r[7]));
    OK(reactant_mpi_wait(r[7], NULL));
    ALIVE(comm);
    OK(reactant_mpi_request_free(r[1234]));
    OK(reactant_mpi_ibarrier(comm, &more));
    OK(reactant_mpi_wait(more, NULL));
    is_gone(more);
    is_gone(r[1234]);
    for (int i = 0; i < n; i++)
        if (i != 1234)
            NEED(reactant_mpi_request_free(r[i]) == 0, "request %d: %s", i, reactant_mpi_last_error());
    for (int round = 0; round < 3; round++) { /* all slots serve again, and no old word does */
        for (int i = 0; i < n; i++)
            NEED(reactant_mpi_prepare_barrier(comm, &again[i]) == 0, "request %d: %s", i, reactant_mpi_last_error());
        for (int i = 0; i < n; i++) {
            rc = reactant_mpi_wait(r[i], NULL);
            NEED(rc == STALE, "an old request after its slot was used again: %d", rc);
        }
        for (int i = 0; i < n; i++)
            NEED(reactant_mpi_request_free(again[i]) == 0, "request %d: %s", i, reactant_mpi_last_error());
    }
    ALIVE(comm);
}

int main(void)
{
    comm = reactant_mpi_initialize(REACTANT_MPI_COMM_WORLD);
    NEED(comm, "%s", reactant_mpi_last_error());
    check_rank = rank = reactant_mpi_rank(comm);
    size = reactant_mpi_size(comm);
    next = (rank + 1) % size, before = (rank + size - 1) % size;
    test_messages();
    test_thousand();
    test_many_collectives(false);
    test_many_collectives(true);
    test_lists();
    test_all_or_nothing();
    test_states();
    test_freed_under_way();
    test_of_the_dead();
    test_all_slots();
    if (size <= 2) /* more of the same would be slow */
        test_all_freed();
    /* The end comes while calls are under way that nobody waits for. */
    static int64_t in[1000], out[1000];
    reactant_mpi_request *r;
    OK(reactant_mpi_iallreduce(in, out, 1000, I64, REACTANT_MPI_SUM, comm, &r));
    OK(reactant_mpi_request_free(r));
    OK(reactant_mpi_ialltoall(in, out, 1, I64, comm, &r));
    OK(reactant_mpi_finalize(NULL));
    return check_done(rank);
}
