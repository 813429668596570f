/*
 * Of compiled.c: messages, requests and statuses as each generation has them, words of communicators, the host MPI's numbers.
 */
#ifndef COMPILED_MESSAGES_H
#define COMPILED_MESSAGES_H

#include "compiled.h"

enum { STATUS_BYTES = 24 }; /* the room that compiled code has for one */
struct status {
    unsigned char bytes[STATUS_BYTES], behind[16];
};

static void status_new(struct status *s)
{
    memset(s, 0x5a, sizeof *s);
}

/* Who sent how much, as a program of the host's MPI reads it. bytes < 0: not looked at. */
static void status_says(int line, const struct status *s, int source, int tag, int bytes)
{
    const unsigned char whole[32] = {0};
    unsigned char as_host[32];
    memcpy(as_host, whole, sizeof whole);
    memcpy(as_host, s->bytes, sizeof s->bytes);
    CHECK(host_status_source(as_host) == source && host_status_tag(as_host) == tag, "line %d: from %d, tag %d; %d and %d wanted",
          line, host_status_source(as_host), host_status_tag(as_host), source, tag);
    if (bytes >= 0 && host.family != HOST_ABI) /* whose count stands beyond the 24 bytes */
        CHECK(host_status_bytes(as_host) == bytes, "line %d: %d bytes, %d wanted", line, host_status_bytes(as_host), bytes);
    for (size_t i = 0; i < sizeof s->behind; i++)
        CHECK(s->behind[i] == 0x5a, "line %d: written behind a status of 24 bytes, at %zu", line, i);
    if (host.family == HOST_MPICH) /* it has 20 */
        CHECK(s->bytes[20] == 0x5a, "line %d: written behind a status of 20 bytes", line);
}

/* ---- requests ---- */

/* Irecv, Isend and Wait as one wrapper each: the requests start at -1, and the statuses are 24 bytes on a stack. */
static void wait_for_each(void)
{
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;
    int32_t x[3] = {rank, rank + 1, rank + 2}, y[4] = {-1, -1, -1, -1};
    struct requests r;
    struct status s;
    requests_new(&r, 2);
    RIGHT(Irecv(y, 4, WORD(INT32_T), before, 3, WORLD, request(&r, 0)));
    RIGHT(Isend(x, 3, WORD(INT32_T), next, 3, WORLD, request(&r, 1)));
    status_new(&s);
    RIGHT(Wait(request(&r, 0), &s));
    status_says(__LINE__, &s, before, 3, 12);
    status_new(&s);
    RIGHT(Wait(request(&r, 1), &s));
    requests_done(__LINE__, &r, 2);
    CHECK(y[0] == before && y[2] == before + 2 && y[3] == -1, "%d %d %d", y[0], y[2], y[3]);
    RIGHT(Wait(request(&r, 0), WORD(STATUS_IGNORE))); /* a null request is done, and has an empty status */
    status_new(&s);
    RIGHT(Wait(request(&r, 0), &s));
    status_says(__LINE__, &s, host_numbers().any_source, host_numbers().any_tag, 0);
    RIGHT(Wait(request(&r, 1), NULL));
    requests_done(__LINE__, &r, 2);
}

/* The list is packed, and there are 24 bytes for each status, whatever the host's has. */
static void wait_for_all(void)
{
    enum { N = MOST_REQUESTS };
    unsigned char statuses[N * STATUS_BYTES + 64];
    double x[N / 2], y[N / 2];
    struct requests r;
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int round = 0; round < 4; round++) {
        memset(statuses, 0x5a, sizeof statuses);
        requests_new(&r, N);
        for (int i = 0; i < N / 2; i++) {
            x[i] = 100 * rank + 10 * round + i, y[i] = -1;
            RIGHT(Irecv(&y[i], 1, WORD(DOUBLE), before, i, WORLD, request(&r, i)));
        }
        for (int i = N / 2 - 1; i >= 0; i--)
            RIGHT(Isend(&x[i], 1, WORD(DOUBLE), next, i, WORLD, request(&r, N - 1 - i)));
        RIGHT(Waitall(N, request(&r, 0), round % 2 ? statuses : WORD(STATUSES_IGNORE)));
        requests_done(__LINE__, &r, N);
        for (int i = 0; i < N / 2; i++)
            CHECK(y[i] == 100 * before + 10 * round + i, "%g", y[i]);
        for (size_t i = N * STATUS_BYTES; i < sizeof statuses; i++)
            CHECK(statuses[i] == 0x5a, "written behind %d statuses, at %zu", N, i);
        RIGHT(Waitall(N, request(&r, 0), NULL)); /* of null requests */
        requests_done(__LINE__, &r, N);
    }
    requests_new(&r, 0);
    RIGHT(Waitall(0, request(&r, 0), NULL));
    RIGHT(Waitall(0, NULL, statuses));
    requests_done(__LINE__, &r, 0);
}

/* A null request among live ones, and one of an odd number that stands alone: the widths must not be guessed from it. */
static void wait_for_some(void)
{
    for (int n = 1; n <= 5; n++) {
        int32_t x = rank, y[5];
        struct requests r;
        requests_new(&r, n);
        for (int i = 0; i < n; i++) {
            const int nobody = host_numbers().proc_null;
            y[i] = -1;
            RIGHT(Irecv(&y[i], 1, WORD(INT), i % 2 ? nobody : rank, i, WORLD, request(&r, i)));
            if (i % 2)
                RIGHT(Wait(request(&r, i), NULL));
        }
        for (int i = 0; i < n; i += 2)
            RIGHT(Send(&x, 1, WORD(INT), rank, i, WORLD));
        RIGHT(Waitall(n, request(&r, 0), NULL));
        requests_done(__LINE__, &r, n);
        for (int i = 0; i < n; i++)
            CHECK(y[i] == (i % 2 ? -1 : rank), "%d of %d: %d", i, n, y[i]);
    }
}

/* Slots come again after 2^16 requests; what is left of an earlier one must be no request. */
static void many_requests(void)
{
    int32_t x = rank, y = -1;
    struct requests old, r;
    for (int i = 0; i < 70000; i++) {
        requests_new(&r, 1);
        if (Irecv(&y, 1, WORD(INT), host_numbers().proc_null, 0, WORLD, request(&r, 0)) != 0) {
            CHECK(0, "request %d: %s", i, reactant_mpi_last_error());
            return;
        }
        if (i == 0)
            old = r;
        if (Wait(request(&r, 0), NULL) != 0) {
            CHECK(0, "request %d: %s", i, reactant_mpi_last_error());
            return;
        }
    }
    RIGHT(Irecv(&y, 1, WORD(INT), rank, 1, WORLD, request(&r, 0)));
    REFUSED(CLASS_REQUEST, REACTANT_MPI_ERR_REQUEST, Wait, "not a live request", Wait(request(&old, 0), NULL));
    REFUSED(CLASS_REQUEST, REACTANT_MPI_ERR_REQUEST, Request_free, "not a live request", Request_free(request(&old, 0)));
    RIGHT(Send(&x, 1, WORD(INT), rank, 1, WORLD));
    RIGHT(Wait(request(&r, 0), NULL));
}

static void free_requests(void)
{
    int32_t x = rank, y = -1;
    struct requests r;
    requests_new(&r, 1);
    RIGHT(Irecv(&y, 1, WORD(INT), rank, 5, WORLD, request(&r, 0)));
    RIGHT(Request_free(request(&r, 0)));
    requests_done(__LINE__, &r, 1);
    RIGHT(Send(&x, 1, WORD(INT), rank, 5, WORLD));
    RIGHT(Wait(request(&r, 0), NULL));
}

/* ---- the host's numbers ---- */

static void peers_and_tags(void)
{
    const struct host_numbers h = host_numbers();
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;
    int64_t x = 1000 + rank, y = -1;
    struct status s;
    struct requests r;
    for (int way = 0; way < 4; way++) { /* which of source and tag is named */
        const int source = way & 1 ? before : h.any_source, tag = way & 2 ? 40 + way : h.any_tag;
        requests_new(&r, 1);
        RIGHT(Isend(&x, 1, WORD(LONG), next, 40 + way, WORLD, request(&r, 0)));
        status_new(&s), y = -1;
        RIGHT(Recv(&y, 1, WORD(LONG), source, tag, WORLD, &s));
        status_says(__LINE__, &s, before, 40 + way, 8);
        RIGHT(Wait(request(&r, 0), NULL));
        CHECK(y == 1000 + before, "%lld", (long long)y);
        host_barrier(host.world); /* nobody's next message is taken for this one */
        status_new(&s), y = -1;
        RIGHT(Sendrecv(&x, 1, WORD(LONG), next, 50 + way, &y, 1, WORD(LONG), source, tag == h.any_tag ? tag : 50 + way, WORLD, &s));
        status_says(__LINE__, &s, before, 50 + way, 8);
        CHECK(y == 1000 + before, "%lld", (long long)y);
        host_barrier(host.world);
        requests_new(&r, 1);
        status_new(&s), y = -1;
        RIGHT(Irecv(&y, 1, WORD(LONG), source, tag == h.any_tag ? tag : 60 + way, WORLD, request(&r, 0)));
        RIGHT(Send(&x, 1, WORD(LONG), next, 60 + way, WORLD));
        RIGHT(Wait(request(&r, 0), &s));
        status_says(__LINE__, &s, before, 60 + way, 8);
        host_barrier(host.world);
    }
    /* nobody */
    y = -1;
    RIGHT(Send(&x, 1, WORD(LONG), h.proc_null, 1, WORLD));
    status_new(&s);
    RIGHT(Recv(&y, 1, WORD(LONG), h.proc_null, 1, WORLD, &s));
    status_says(__LINE__, &s, h.proc_null, h.any_tag, 0);
    status_new(&s);
    RIGHT(Sendrecv(&x, 1, WORD(LONG), h.proc_null, 1, &y, 1, WORD(LONG), h.proc_null, 1, WORLD, &s));
    status_says(__LINE__, &s, h.proc_null, h.any_tag, 0);
    requests_new(&r, 2);
    RIGHT(Irecv(&y, 1, WORD(LONG), h.proc_null, 1, WORLD, request(&r, 0)));
    RIGHT(Isend(&x, 1, WORD(LONG), h.proc_null, 1, WORLD, request(&r, 1)));
    status_new(&s);
    RIGHT(Wait(request(&r, 0), &s));
    status_says(__LINE__, &s, h.proc_null, h.any_tag, 0);
    RIGHT(Wait(request(&r, 1), NULL));
    requests_done(__LINE__, &r, 2);
    CHECK(y == -1, "%lld", (long long)y);
    /* a shift whose ends have no neighbour, and more room than comes */
    int32_t line[4] = {-1, -1, -1, -1};
    const int32_t mine[2] = {rank, -rank};
    RIGHT(Sendrecv(mine, 2, WORD(INT), rank + 1 < size ? rank + 1 : h.proc_null, 2, line, 4, WORD(INT),
                   rank ? rank - 1 : h.proc_null, 2, WORLD, WORD(STATUS_IGNORE)));
    CHECK(line[0] == (rank ? rank - 1 : -1) && line[1] == (rank ? 1 - rank : -1) && line[2] == -1, "%d %d %d", line[0], line[1],
          line[2]);
}

/* ---- words of communicators ---- */

static void check_word(int line, word w, int want_rank, int want_size)
{
    int32_t r[2] = {-7, CANARY}, n[2] = {-7, CANARY};
    int64_t x = 1, sum = 0;
    RIGHT(Comm_rank(w, r));
    RIGHT(Comm_size(w, n));
    CHECK(r[0] == want_rank && n[0] == want_size && r[1] == CANARY && n[1] == CANARY, "line %d: rank %d of %d; %d of %d wanted",
          line, r[0], n[0], want_rank, want_size);
    RIGHT(Allreduce(&x, &sum, 1, WORD(INT64_T), WORD(SUM), w));
    CHECK(sum == want_size, "line %d: %lld", line, (long long)sum);
    RIGHT(Barrier(w));
}

static void host_handles(void)
{
    hword h = host_dup(host.world), half = host_split(host.world, rank % 2, -rank);
    reactant_mpi_comm *c = reactant_mpi_initialize((uintptr_t)h), *d = reactant_mpi_initialize(host_sign_extended(half));
    NEED(c && d, "%s", reactant_mpi_last_error());
    CHECK(host.family != HOST_MPICH || (int32_t)h < 0, "%#llx should test the sign", (unsigned long long)h);
    const int half_size = (size + 1 - rank % 2) / 2, half_rank = half_size - 1 - rank / 2;
    check_word(__LINE__, (word)(uintptr_t)h, rank, size);
    check_word(__LINE__, (word)host_sign_extended(h), rank, size);
    check_word(__LINE__, (word)(uintptr_t)half, half_rank, half_size);
    check_word(__LINE__, (word)host_sign_extended(half), half_rank, half_size);
    check_word(__LINE__, (word)d, half_rank, half_size);
    check_word(__LINE__, (word)(uintptr_t)reactant_mpi_comm_id(d), half_rank, half_size);
    check_word(__LINE__, (word)(uintptr_t)host.world, rank, size);
    OK(reactant_mpi_finalize(d));
    REFUSED(CLASS_COMM, REACTANT_MPI_ERR_COMM, Barrier, "host's MPI", Barrier((word)(uintptr_t)half));
    REFUSED(CLASS_COMM, REACTANT_MPI_ERR_COMM, Barrier, "", Barrier((word)d));
    check_word(__LINE__, (word)(uintptr_t)h, rank, size);
    OK(reactant_mpi_finalize(c));
    host_free(&half);
    host_free(&h);
    check_word(__LINE__, WORLD, rank, size);
}

static void splits(void)
{
    const int undefined = host_numbers().undefined, half_size = (size + 1 - rank % 2) / 2;
    struct {
        int64_t word, behind;
    } out = {-1, -1};
    RIGHT(Comm_split(WORLD, rank % 2, -rank, &out.word));
    CHECK(out.behind == -1, "written behind the word");
    check_word(__LINE__, (word)(intptr_t)out.word, half_size - 1 - rank / 2, half_size);
    const int64_t first = out.word;
    out.word = -1;
    RIGHT(Comm_split((word)(intptr_t)first, 0, rank, &out.word)); /* of a part, back in order */
    check_word(__LINE__, (word)(intptr_t)out.word, rank / 2, half_size);
    OK(reactant_mpi_comm_free((reactant_mpi_comm *)(intptr_t)out.word));
    OK(reactant_mpi_comm_free((reactant_mpi_comm *)(intptr_t)first));
    out.word = -1;
    RIGHT(Comm_split(WORLD, rank == size - 1 ? undefined : 5, 0, &out.word));
    CHECK((out.word == 0x100) == (rank == size - 1), "%#llx", (unsigned long long)out.word);
    if (rank < size - 1) {
        check_word(__LINE__, (word)(intptr_t)out.word, rank, size - 1);
        OK(reactant_mpi_comm_free((reactant_mpi_comm *)(intptr_t)out.word));
    }
    out.word = -1;
    RIGHT(Comm_split(WORD(COMM_SELF), 0, 0, &out.word));
    check_word(__LINE__, (word)(intptr_t)out.word, 0, 1);
    OK(reactant_mpi_comm_free((reactant_mpi_comm *)(intptr_t)out.word));
}

static void test_messages(void)
{
    wait_for_each();
    wait_for_all();
    wait_for_some();
    free_requests();
    peers_and_tags();
    check_word(__LINE__, WORLD, rank, size);
    check_word(__LINE__, WORD(COMM_SELF), 0, 1);
    check_word(__LINE__, (word)comm, rank, size);
    check_word(__LINE__, (word)(uintptr_t)reactant_mpi_comm_id(comm), rank, size);
    host_handles();
    splits();
}

#endif
