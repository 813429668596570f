/*
 * What runs out, of comms.c: communicators of MPI, numbers of ours; and what must not: memory, files.
 */
#ifndef COMMS_LIMITS_H
#define COMMS_LIMITS_H

#include "comms.h"

#include <dirent.h>
#include <malloc.h>

/* Every way to make a communicator over all ranks of comm; ids: the device of every rank. */
enum { KINDS = 5 };

static int make(int kind, const int *ranks, const int64_t *ids, reactant_mpi_comm **out)
{
    switch (kind) {
    case 0: return reactant_mpi_comm_split(comm, 0, 0, out);
    case 1: return reactant_mpi_comm_dup(comm, out);
    case 2: return reactant_mpi_comm_create(comm, size, ranks, out);
    case 3: return reactant_mpi_comm_from_devices(comm, ids, size, out);
    default: return reactant_mpi_comm_split_node(comm, 0, out);
    }
}

static int ranks[MOST];
static int64_t ids[MOST];

static void begin_with_devices(void)
{
    begin_world();
    host_open(0);
    NEED(size <= MOST, "%d ranks", size);
    for (int i = 0; i < size; i++) {
        ranks[i] = i;
        ids[i] = i;
    }
    OK(reactant_mpi_set_devices(comm, &ids[rank], 1));
}

/* ---- memory and files ---- */

static int files(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    NEED(d, "/proc/self/fd");
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static long resident_kib(void)
{
    long pages = 0, whole = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    NEED(f && fscanf(f, "%ld %ld", &whole, &pages) == 2, "statm");
    fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void cycle(int n, int64_t *last)
{
    for (int i = 0; i < n; i++) {
        reactant_mpi_comm *c = NULL;
        OK(make(i % KINDS, ranks, ids, &c));
        NEED(c, "number %d: %s", i, reactant_mpi_last_error());
        CHECK(reactant_mpi_comm_id(c) > *last, "id %lld after %lld", (long long)reactant_mpi_comm_id(c), (long long)*last);
        *last = reactant_mpi_comm_id(c);
        if (i % 50 == 0)
            ALIVE(c);
        OK(reactant_mpi_comm_free(c));
    }
}

static int leaks(int n)
{
    int64_t last = 0;
    begin_with_devices();
    cycle(n, &last); /* what is made once, and room in the heaps */
    int open = files();
    long kib = resident_kib();
    size_t heap = mallinfo2().uordblks;
    cycle(n, &last);
    long grown = resident_kib() - kib, in_use = ((long)mallinfo2().uordblks - (long)heap) / 1024;
    if (rank == 0)
        printf("%d more communicators: %ld KiB more resident of %ld, %ld KiB more in use on the C heap\n", n, grown, kib, in_use);
    CHECK(in_use < 256, "%ld KiB more", in_use);
    /* Go collects above 64 MiB, which takes some ten thousand; and each leaves its slot of 256 bytes. */
    CHECK(grown < (n < 10000 ? 16384 : 8192), "%ld KiB more", grown);
    CHECK(files() <= open, "%d files, %d before", files(), open);
    OK(reactant_mpi_finalize(NULL));
    return check_done(rank);
}

/* ---- MPI's communicators ---- */

/* Duplicates by MPI itself of a communicator of ours, whose errors return, and which has this rank only, so that no messages are
 * needed: everything that is left, then `spare` given back. */
static hword *fill(int *filled, int spare, reactant_mpi_comm *alone)
{
    const hword parent = (hword)reactant_mpi_mpi_comm(alone);
    int (*dup)(hword, hword *), n = 0;
    hword *list = malloc(200000 * sizeof *list);
    *(void **)&dup = host_sym("MPI_Comm_dup");
    NEED(list, "memory");
    for (; n < 200000; n++) {
        hword made = 0;
        if (dup(parent, &made) != 0)
            break;
        list[n] = host.family == HOST_MPICH ? (uint32_t)made : made;
    }
    NEED(n > spare && n < 200000, "%d duplicates", n);
    while (spare-- > 0)
        host_free(&list[--n]);
    *filled = n;
    return list;
}

static void unfill(hword *list, int filled)
{
    while (filled > 0)
        host_free(&list[--filled]);
    free(list);
}

static void none_left(void)
{
    reactant_mpi_comm *c = (reactant_mpi_comm *)&c;
    for (int kind = 0; kind < KINDS; kind++) {
        FAILS(REACTANT_MPI_ERR_MEMORY, "MPI has no more communicators", make(kind, ranks, ids, &c));
        CHECK(strstr(reactant_mpi_last_error(), "live in this process: free some"), "%s", reactant_mpi_last_error());
        CHECK(c == NULL, "*out");
    }
    FAILS(REACTANT_MPI_ERR_MEMORY, "MPI has no more communicators", reactant_mpi_comm_split(comm, rank % 2, 0, &c));
    FAILS(REACTANT_MPI_ERR_MEMORY, "", reactant_mpi_comm_split(comm, rank == 0 ? -1 : 0, 0, &c));
    if (rank == 0 && size > 1)
        CHECK(strstr(reactant_mpi_last_error(), "MPI has no more communicators"), "one that wants none: %s",
              reactant_mpi_last_error());
}

static int contexts(void)
{
    reactant_mpi_comm *mine[4], *alone = NULL, *c = NULL;
    hword h, *list;
    int filled, only_here;
    begin_with_devices();
    h = host_dup(host.world);
    OK(reactant_mpi_comm_split(comm, rank, 0, &alone));
    list = fill(&filled, 9, alone);
    if (rank == 0)
        printf("this MPI makes %d more communicators\n", filled + 9);
    for (int i = 0; i < 4; i++)
        OK(make(i, ranks, ids, &mine[i]));
    for (int round = 0; round < 3; round++) /* one is left, and stays: it is the second that fails */
        none_left();
    FAILS_NULL(REACTANT_MPI_ERR_MEMORY, "MPI has no more communicators", reactant_mpi_initialize((uintptr_t)h));
    hword last = host_dup(h); /* now the first */
    none_left();
    FAILS_NULL(REACTANT_MPI_ERR_MEMORY, "MPI has no more communicators", reactant_mpi_initialize((uintptr_t)h));
    host_free(&last);
    for (int i = 0; i < 4; i++)
        CHECK_MEMBERS(mine[i], size, ranks);
    ALIVE(comm);
    for (int i = 0; i < 12; i++) { /* one freed, one made */
        OK(reactant_mpi_comm_free(mine[i % 4]));
        OK(make(i % KINDS, ranks, ids, &mine[i % 4]));
        CHECK_MEMBERS(mine[i % 4], size, ranks);
    }
    for (int i = 0; i < 4; i++)
        OK(reactant_mpi_comm_free(mine[i]));
    c = begin((uintptr_t)h);
    ALIVE(c);
    OK(reactant_mpi_finalize(c));
    unfill(list, filled);

    /* Room on all ranks but one: a split in which only rank 0's colour lacks it fails for all, and so does what rank 0 takes part
     * in. */
    list = NULL;
    only_here = 0;
    if (rank == 0)
        list = fill(&only_here, 1, alone);
    host_barrier(h);
    reactant_mpi_comm *d = NULL;
    for (int round = 0; round < 2; round++) {
        FAILS(REACTANT_MPI_ERR_MEMORY, "MPI has no more communicators", reactant_mpi_comm_split(comm, rank == 0, 0, &d));
        FAILS(REACTANT_MPI_ERR_MEMORY, "MPI has no more communicators", reactant_mpi_comm_dup(comm, &d));
        FAILS(REACTANT_MPI_ERR_MEMORY, "MPI has no more communicators", reactant_mpi_comm_create(comm, size, ranks, &d));
    }
    if (rank > 0) {
        OK(reactant_mpi_comm_create(comm, 1, &rank, &d));
        OK(reactant_mpi_comm_free(d));
    }
    unfill(list, only_here);
    OK(reactant_mpi_comm_free(alone));
    int64_t from = 0;
    cycle(20, &from);
    host_free(&h);
    ALIVE(comm);
    OK(reactant_mpi_finalize(NULL));
    return check_done(rank);
}

/* ---- numbers ---- */

static int numbers(void)
{
    reactant_mpi_comm *c = NULL, *kept = NULL;
    int64_t last = 0;
    int made = 0, rc;
    begin_with_devices();
    NEED(size == 1, "run me at one rank");
    OK(reactant_mpi_comm_dup(comm, &kept));
    while ((rc = make(made % KINDS, ranks, ids, &c)) == 0) {
        int64_t id = reactant_mpi_comm_id(c);
        CHECK(id > last && id < 65536, "id %lld after %lld", (long long)id, (long long)last);
        last = id;
        OK(reactant_mpi_comm_free(c));
        made++;
    }
    CHECK(made == 65530 && last == 65535, "%d made, the last with id %lld", made, (long long)last);
    hword h = host_dup(host.world);
    for (int round = 0; round < 2000; round++) /* no MPI communicator is lost */
        CHECK(make(round % KINDS, ranks, ids, &c) == REACTANT_MPI_ERR_MEMORY && c == NULL, "");
    FAILS(REACTANT_MPI_ERR_MEMORY, "no communicator numbers left: 65532 were made", reactant_mpi_comm_dup(comm, &c));
    FAILS_NULL(REACTANT_MPI_ERR_MEMORY, "no communicator numbers left", reactant_mpi_initialize((uintptr_t)h));
    CHECK(begin(0) == comm, "another reference of one that is there");
    host_free(&h);
    ALIVE(kept);
    ALIVE(comm);
    OK(reactant_mpi_finalize(NULL));
    return check_done(rank);
}

static int stable(void)
{
    reactant_mpi_comm *c[64];
    int n = 0, back[MOST];
    begin_with_devices();
    for (int i = 0; i < size; i++)
        back[i] = size - 1 - i;
    for (int round = 0; round < 4; round++) {
        OK(reactant_mpi_comm_split(comm, rank % 2, 0, &c[n++]));
        OK(reactant_mpi_comm_dup(c[n - 1], &c[n]));
        n++;
        if (rank > 0 || size == 1)
            OK(reactant_mpi_comm_create(comm, size > 1 ? size - 1 : 1, back, &c[n++]));
        if (rank == 0)
            OK(reactant_mpi_comm_from_devices(comm, ids, 1, &c[n++]));
        OK(reactant_mpi_comm_split_node(comm, 0, &c[n++]));
        if (round % 2)
            OK(reactant_mpi_comm_free(c[--n]));
    }
    int64_t mine[64] = {0}, all[MOST][64];
    for (int i = 0; i < n; i++)
        mine[i] = reactant_mpi_comm_id(c[i]);
    OK(reactant_mpi_allgather(mine, all, 64, I64, comm));
    for (int r = 0; r < size && rank == 0; r++) {
        printf("rank %d of %d:", r, size);
        for (int i = 0; i < n; i++)
            printf(" %d", (int)all[r][i]);
        puts("");
    }
    OK(reactant_mpi_finalize(NULL));
    return check_done(rank);
}

#endif
