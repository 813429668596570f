/*
 * Communicators from communicators. The first argument is one test:
 *
 *   children   dup, split_node, set_devices and comm_from_devices: ranks, order, inheritance, ids as handles, what is refused
 *   at-once    three threads make overlapping cliques, of the same ranks too, at the same time
 *   again      a host communicator is given again while another thread ends the one that was made of it
 *   leaks N    N times each kind is made and freed: memory, files, MPI's communicators
 *   contexts   MPI has no more communicators: code 22 on every rank, and nothing is lost
 *   numbers    (one rank) no more communicator ids
 *   stable     prints the ids that a fixed order of calls gets
 */
#include "comms.h"
#include "comms_limits.h"

#include <time.h>

/* ---- dup and split_node ---- */

static void test_dup(void)
{
    reactant_mpi_comm *c = NULL, *d = NULL;
    int all[MOST], next = (rank + 1) % size, before = (rank + size - 1) % size;
    int64_t out = 5, in = 0;
    reactant_mpi_status st;
    for (int i = 0; i < size; i++)
        all[i] = i;
    OK(reactant_mpi_comm_dup(comm, &c));
    CHECK_MEMBERS(c, size, all);
    /* A message in one is none in the other. One to oneself would wait for its receive. */
    if (size > 1)
        OK(reactant_mpi_send(&out, 1, I64, next, 3, comm));
    out = 6;
    OK(reactant_mpi_sendrecv(&out, 1, next, 4, &in, 1, REACTANT_MPI_ANY_SOURCE, REACTANT_MPI_ANY_TAG, I64, c, &st));
    CHECK(in == 6 && st.source == before && st.tag == 4, "%lld from %d, tag %d", (long long)in, st.source, st.tag);
    if (size > 1)
        OK(reactant_mpi_recv(&in, 1, I64, before, 3, comm, &st));
    CHECK(in == (size > 1 ? 5 : 6), "%lld", (long long)in);
    OK(reactant_mpi_comm_dup(c, &d));
    OK(reactant_mpi_comm_free(c));
    CHECK_MEMBERS(d, size, all);
    FAILS(REACTANT_MPI_ERR_COMM, "comm_dup", reactant_mpi_comm_dup(c, &c));
    CHECK(c == NULL, "*out");
    FAILS(REACTANT_MPI_ERR_COMM, "comm_dup", reactant_mpi_comm_dup(NULL, &c));
    FAILS(REACTANT_MPI_ERR_COMM, "comm_dup", reactant_mpi_comm_dup((reactant_mpi_comm *)&out, &c));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "comm_dup", reactant_mpi_comm_dup(comm, NULL));
    OK(reactant_mpi_comm_free(d));
}

static void test_split_node(void) /* one host; lifecycle's Go tests have several */
{
    reactant_mpi_comm *c = NULL, *d = NULL, *odd = NULL;
    int want[MOST], n = 0;
    for (int i = 0; i < size; i++)
        want[i] = size - 1 - i;
    OK(reactant_mpi_comm_split_node(comm, -rank, &c));
    CHECK_MEMBERS(c, size, want);
    OK(reactant_mpi_comm_split_node(c, 0, &d)); /* equal keys: the order of the parent */
    CHECK_MEMBERS(d, size, want);
    CHECK(reactant_mpi_rank(d) == reactant_mpi_local_rank(c) && reactant_mpi_size(d) == reactant_mpi_local_size(c), "%d",
          reactant_mpi_rank(d));
    OK(reactant_mpi_comm_split(comm, rank % 2, 0, &odd));
    OK(reactant_mpi_comm_free(c));
    OK(reactant_mpi_comm_split_node(odd, rank, &c));
    for (int i = rank % 2; i < size; i += 2)
        want[n++] = i;
    CHECK_MEMBERS(c, n, want);
    FAILS(REACTANT_MPI_ERR_COMM, "comm_split_node", reactant_mpi_comm_split_node((reactant_mpi_comm *)(uintptr_t)65000, 0, &c));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "comm_split_node", reactant_mpi_comm_split_node(comm, 0, NULL));
    OK(reactant_mpi_comm_free(d));
    OK(reactant_mpi_comm_free(odd));
}

/* ---- cliques by device id ---- */

static void refused_alike(reactant_mpi_comm *c, const int64_t *ids, int n, int code, const char *text)
{
    reactant_mpi_comm *none = NULL;
    int64_t one = device(0, 0);
    FAILS(code, text, reactant_mpi_set_devices(c, ids, n));
    FAILS(REACTANT_MPI_ERR_STATE, "set_devices first", reactant_mpi_comm_from_devices(c, &one, 1, &none));
}

static void test_set_devices(void)
{
    int64_t ids[8], twice[2] = {7, 7}, mine = 100 + rank;
    char text[64];
    refused_alike(comm, rank == size - 1 ? twice : &mine, rank == size - 1 ? 2 : 1, REACTANT_MPI_ERR_ARGUMENT,
                  "device id 7 is listed twice");
    snprintf(text, sizeof text, "rank %d on ", size - 1);
    refused_alike(comm, rank == size - 1 ? NULL : &mine, 1, REACTANT_MPI_ERR_ARGUMENT, text);
    refused_alike(comm, &mine, rank == 0 ? -1 : 1, REACTANT_MPI_ERR_ARGUMENT, "rank 0 on ");
    if (size > 1) {
        const char *both;
        int64_t claimed[2] = {100 + rank, -12345678901};
        refused_alike(comm, claimed, rank == 0 || rank == size - 1 ? 2 : 1, REACTANT_MPI_ERR_MISMATCH, "device id -12345678901");
        OK(reactant_mpi_barrier(comm));
        CHECK(reactant_mpi_set_devices(comm, claimed, 2) == REACTANT_MPI_ERR_MISMATCH, "");
        both = reactant_mpi_last_error();
        CHECK(strstr(both, "rank 0 on ") && strstr(both, "rank 1 on "), "%s", both);
    }
    FAILS(REACTANT_MPI_ERR_COMM, "set_devices", reactant_mpi_set_devices((reactant_mpi_comm *)&mine, &mine, 1));
    for (int k = 0; k < devices(rank); k++)
        ids[k] = device(rank, k);
    OK(reactant_mpi_set_devices(comm, devices(rank) ? ids : NULL, devices(rank)));
    FAILS(REACTANT_MPI_ERR_STATE, "already set", reactant_mpi_set_devices(comm, ids, devices(rank)));
}

static void test_from_devices(reactant_mpi_comm *c)
{
    reactant_mpi_comm *clique = NULL;
    int64_t ids[2 * MOST], unknown[2] = {device(0, 0), 424242}, twice[2] = {device(0, 0), device(0, 0)};
    int ranks[MOST], n = 0, members = 0;
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "424242", reactant_mpi_comm_from_devices(c, unknown, 2, &clique));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "twice", reactant_mpi_comm_from_devices(c, twice, 2147483647, &clique));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "empty", reactant_mpi_comm_from_devices(c, twice, 0, &clique));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "empty", reactant_mpi_comm_from_devices(c, NULL, 1, &clique));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "comm_from_devices", reactant_mpi_comm_from_devices(c, twice, 1, NULL));
    FAILS(REACTANT_MPI_ERR_COMM, "comm_from_devices", reactant_mpi_comm_from_devices(NULL, twice, 1, &clique));
    if (rank != 0)
        FAILS(REACTANT_MPI_ERR_ARGUMENT, "holds none", reactant_mpi_comm_from_devices(c, twice, 1, &clique));
    CHECK(clique == NULL, "*out");
    /* All ids, last first; rank 0's only one in front of everything: it becomes rank 0 of the clique. */
    ids[n++] = device(0, 0);
    ranks[members++] = 0;
    for (int r = size - 1; r > 0; r--)
        for (int k = devices(r) - 1; k >= 0; k--) {
            ids[n++] = device(r, k);
            if (k == devices(r) - 1)
                ranks[members++] = r;
        }
    for (int round = 0; round < 20; round++) { /* the same list in a row */
        if (devices(rank) == 0) {
            FAILS(REACTANT_MPI_ERR_ARGUMENT, "none at all", reactant_mpi_comm_from_devices(c, ids, n, &clique));
            continue;
        }
        OK(reactant_mpi_comm_from_devices(c, ids, n, &clique));
        CHECK_MEMBERS(clique, members, ranks);
        if (round < 19)
            OK(reactant_mpi_comm_free(clique));
    }
    if (devices(rank) == 0)
        return;
    /* A clique of the clique: it has its members' ids, and no others. */
    reactant_mpi_comm *two = NULL;
    for (int i = 0; i < n / 2; i++) {
        int64_t id = ids[i];
        ids[i] = ids[n - 1 - i];
        ids[n - 1 - i] = id;
    }
    members = 0;
    for (int r = 1; r < size; r++)
        if (devices(r))
            ranks[members++] = r;
    ranks[members++] = 0;
    OK(reactant_mpi_comm_from_devices(clique, ids, n, &two));
    CHECK_MEMBERS(two, members, ranks);
    OK(reactant_mpi_comm_free(clique));
    FAILS(REACTANT_MPI_ERR_STATE, "already set", reactant_mpi_set_devices(two, ids, 1));
    CHECK_MEMBERS(two, members, ranks);
    OK(reactant_mpi_comm_free(two));
}

static void test_inherited(void)
{
    reactant_mpi_comm *c = NULL, *clique = NULL;
    int64_t id = device(rank, 0), others = device((rank + 1) % size, 0);
    int back[MOST];
    for (int i = 0; i < size; i++)
        back[i] = size - 1 - i;
    OK(reactant_mpi_comm_dup(comm, &c));
    test_from_devices(c);
    OK(reactant_mpi_comm_free(c));
    OK(reactant_mpi_comm_split(comm, 0, -rank, &c));
    test_from_devices(c);
    OK(reactant_mpi_comm_free(c));
    OK(reactant_mpi_comm_create(comm, size, back, &c));
    test_from_devices(c);
    OK(reactant_mpi_comm_free(c));
    OK(reactant_mpi_comm_split(comm, rank, 0, &c)); /* alone: the others' ids are unknown */
    if (size > 1)
        FAILS(REACTANT_MPI_ERR_ARGUMENT, "held by no rank", reactant_mpi_comm_from_devices(c, &others, 1, &clique));
    if (devices(rank)) {
        OK(reactant_mpi_comm_from_devices(c, &id, 1, &clique));
        CHECK_MEMBERS(clique, 1, &rank);
        OK(reactant_mpi_comm_free(clique));
    }
    OK(reactant_mpi_comm_free(c));
}

/* Nobody holds any, and then a child is told its own. */
static void test_no_devices(void)
{
    hword h = host_dup(host.world);
    reactant_mpi_comm *c = begin((uintptr_t)h), *d = NULL, *e = NULL;
    int64_t id = 3 + rank;
    OK(reactant_mpi_comm_dup(c, &d));
    OK(reactant_mpi_set_devices(c, NULL, 0));
    FAILS(REACTANT_MPI_ERR_ARGUMENT, "id 3 is held by no rank", reactant_mpi_comm_from_devices(c, (int64_t[]){3}, 1, &e));
    OK(reactant_mpi_set_devices(d, &id, 1));
    OK(reactant_mpi_comm_from_devices(d, &id, 1, &e));
    CHECK_MEMBERS(e, 1, &rank);
    OK(reactant_mpi_comm_free(c));
    OK(reactant_mpi_comm_free(d));
    OK(reactant_mpi_comm_free(e));
    host_free(&h);
}

/* The number does wherever the handle does. */
static void test_by_number(void)
{
    hword h = host_dup(host.world);
    reactant_mpi_comm *real = begin((uintptr_t)h), *c = (reactant_mpi_comm *)(intptr_t)reactant_mpi_comm_id(real), *d = NULL;
    int all[MOST];
    int64_t ids[MOST], id = 40 + rank;
    for (int i = 0; i < size; i++) {
        all[i] = i;
        ids[i] = 40 + i;
    }
    OK(reactant_mpi_set_devices(c, &id, 1));
    for (int kind = 0; kind < 5; kind++) {
        reactant_mpi_comm *number;
        switch (kind) {
        case 0: OK(reactant_mpi_comm_dup(c, &d)); break;
        case 1: OK(reactant_mpi_comm_split(c, 1, 1, &d)); break;
        case 2: OK(reactant_mpi_comm_split_node(c, 1, &d)); break;
        case 3: OK(reactant_mpi_comm_create(c, size, all, &d)); break;
        default: OK(reactant_mpi_comm_from_devices(c, ids, size, &d));
        }
        number = (reactant_mpi_comm *)(intptr_t)reactant_mpi_comm_id(d);
        CHECK_MEMBERS(number, size, all);
        OK(reactant_mpi_comm_free(number));
        FAILS(REACTANT_MPI_ERR_COMM, "barrier", reactant_mpi_barrier(d));
    }
    OK(reactant_mpi_comm_free(c));
    host_free(&h);
}

/* ---- threads ---- */

enum { ROUNDS = 150, CLIQUES = 3 };

struct maker {
    pthread_t thread;
    int number, n, members[MOST];
    int64_t ids[MOST];
};

static void *make_cliques(void *arg)
{
    const struct maker *m = arg;
    unsigned seed = (unsigned)(rank * CLIQUES + m->number);
    for (int round = 0; round < ROUNDS; round++) {
        reactant_mpi_comm *c = NULL;
        int64_t x = 1000 * round + m->number, sum = 0, most = 0, id;
        OK(reactant_mpi_comm_from_devices(comm, m->ids, m->n, &c));
        NEED(c, "clique %d, round %d", m->number, round);
        id = reactant_mpi_comm_id(c);
        CHECK_MEMBERS(c, m->n, m->members);
        OK(reactant_mpi_allreduce(&x, &sum, 1, I64, REACTANT_MPI_SUM, c));
        OK(reactant_mpi_allreduce(&id, &most, 1, I64, REACTANT_MPI_MAX, c));
        CHECK(sum == m->n * x && most == id, "clique %d, round %d: sum %lld, id %lld and %lld", m->number, round, (long long)sum,
              (long long)id, (long long)most);
        OK(reactant_mpi_comm_free(c));
        if (rand_r(&seed) % 4 == 0)
            usleep(rand_r(&seed) % 300);
    }
    return NULL;
}

/* Cliques 0 and 1: all ranks, by different ids, in the same order. Clique 2: all but rank 0, backwards (alone: itself). */
static int at_once(void)
{
    struct maker m[CLIQUES];
    int64_t ids[3];
    int first;
    begin_world();
    host_open(0);
    NEED(host_query_thread() == HOST_MULTIPLE, "level %d", (int)host_query_thread());
    for (int i = 0; i < 3; i++)
        ids[i] = 10 * (i + 1) + rank;
    first = size > 1;
    OK(reactant_mpi_set_devices(comm, ids, 3));
    for (int k = 0; k < CLIQUES; k++) {
        m[k].number = k;
        m[k].n = 0;
        for (int i = k < 2 ? 0 : first; i < size; i++) {
            int r = k < 2 ? i : size - 1 - (i - first);
            m[k].ids[m[k].n] = 10 * (k + 1) + r;
            m[k].members[m[k].n++] = r;
        }
    }
    for (int k = 0; k < CLIQUES; k++)
        if (k < 2 || rank >= first)
            NEED(pthread_create(&m[k].thread, NULL, make_cliques, &m[k]) == 0, "a thread");
    for (int k = 0; k < CLIQUES; k++)
        if (k < 2 || rank >= first)
            pthread_join(m[k].thread, NULL);
    ALIVE(comm);
    OK(reactant_mpi_finalize(NULL));
    return check_done(rank);
}

static unsigned pause_us; /* within the time that initialize takes, which it had in the last round */

static void *end_it(void *c)
{
    usleep(pause_us);
    OK(reactant_mpi_finalize(c));
    return NULL;
}

static int again(void)
{
    int renewed = 0;
    unsigned took_us = 2000, seed;
    hword h;
    begin_world();
    seed = (unsigned)rank;
    host_open(0);
    NEED(host_query_thread() == HOST_MULTIPLE, "level %d", (int)host_query_thread());
    h = host_dup(host.world);
    for (int round = 0; round < 300; round++) {
        reactant_mpi_comm *c = begin((uintptr_t)h), *d;
        pthread_t t;
        struct timespec before, after;
        pause_us = (unsigned)rand_r(&seed) % took_us;
        NEED(pthread_create(&t, NULL, end_it, c) == 0, "a thread");
        clock_gettime(CLOCK_MONOTONIC, &before);
        d = begin((uintptr_t)h);
        clock_gettime(CLOCK_MONOTONIC, &after);
        took_us = 100 + (unsigned)((after.tv_sec - before.tv_sec) * 1000000 + (after.tv_nsec - before.tv_nsec) / 1000) % 100000;
        pthread_join(t, NULL);
        renewed += d != c;
        check_id(d, h); /* the same one on every rank */
        ALIVE(d);
        OK(reactant_mpi_finalize(d));
        FAILS(REACTANT_MPI_ERR_COMM, "barrier", reactant_mpi_barrier(d));
    }
    if (rank == 0)
        printf("%d of 300 were made anew\n", renewed);
    host_free(&h);
    ALIVE(comm);
    OK(reactant_mpi_finalize(NULL));
    return check_done(rank);
}

static int children(void)
{
    begin_world();
    host_open(0);
    NEED(size <= MOST, "%d ranks", size);
    check_comm(comm, host.world);
    test_dup();
    test_split_node();
    test_set_devices();
    test_from_devices(comm);
    test_inherited();
    test_no_devices();
    test_by_number();
    ALIVE(comm);
    OK(reactant_mpi_finalize(NULL));
    return check_done(rank);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "children";
    if (!strcmp(what, "children"))
        return children();
    if (!strcmp(what, "at-once"))
        return at_once();
    if (!strcmp(what, "again"))
        return again();
    if (!strcmp(what, "leaks") && argc == 3)
        return leaks(atoi(argv[2]));
    if (!strcmp(what, "contexts"))
        return contexts();
    if (!strcmp(what, "numbers"))
        return numbers();
    if (!strcmp(what, "stable"))
        return stable();
    fprintf(stderr, "unknown test %s\n", what);
    return 2;
}
