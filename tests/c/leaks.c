/*
 * Nothing grows: memory, threads, open files and request slots after many of the same thing, against their number after a few.
 *
 *   leaks KIND TIMES    lives: initialize and finalize of a communicator   communicators: split, dup, create, free
 *                       messages: isend, irecv, waitall                    prepared: prepare, run or start, free
 *
 * Memory is the heap in use (mallinfo2) and the resident pages. Go's heap is not collected before 64 MiB: what makes communicators may
 * grow by its garbage, a little each time; data calls do not touch it.
 */
#include "check.h"

#include <dirent.h>
#include <malloc.h>

static reactant_mpi_comm *comm;
static int rank, size;

#define I64 REACTANT_MPI_INT64
#define SUM REACTANT_MPI_SUM

struct use {
    long heap, resident, threads, files;
};

static long entries(const char *folder)
{
    DIR *d = opendir(folder);
    long n = -1; /* the folder itself is open now, if it is that of open files */
    NEED(d, "%s", folder);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static struct use use_now(void)
{
    struct use u = {0, 0, 0, 0};
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    NEED(f && fscanf(f, "%*d %ld", &pages) == 1, "/proc/self/statm");
    fclose(f);
    u.resident = pages * sysconf(_SC_PAGESIZE);
    u.heap = (long)mallinfo2().uordblks + (long)mallinfo2().hblkhd;
    u.threads = entries("/proc/self/task");
    u.files = entries("/proc/self/fd");
    return u;
}

static void one_life(int i)
{
    reactant_mpi_comm *c = reactant_mpi_initialize(REACTANT_MPI_COMM_WORLD);
    NEED(c, "life %d: %s", i, reactant_mpi_last_error());
    ALIVE(c);
    OK(reactant_mpi_finalize(c));
}

static void some_communicators(int i)
{
    reactant_mpi_comm *made[4] = {NULL, NULL, NULL, NULL};
    int ranks[64];
    NEED(size <= 64, "%d ranks", size);
    for (int r = 0; r < size; r++)
        ranks[r] = size - 1 - r;
    OK(reactant_mpi_comm_split(comm, rank % 2, i % 3, &made[0]));
    OK(reactant_mpi_comm_dup(comm, &made[1]));
    OK(reactant_mpi_comm_create(comm, size, ranks, &made[2]));
    OK(reactant_mpi_comm_split_node(comm, 0, &made[3]));
    for (int k = 0; k < 4; k++) {
        NEED(made[k], "communicator %d of round %d: %s", k, i, reactant_mpi_last_error());
        ALIVE(made[k]);
        OK(reactant_mpi_comm_free(made[k]));
    }
}

static void a_message(int i)
{
    reactant_mpi_request *r[2] = {NULL, NULL};
    int64_t x = rank + i, y = -1;
    const int from = (rank + size - 1) % size;
    OK(reactant_mpi_irecv(&y, 1, I64, from, 7, comm, &r[0]));
    OK(reactant_mpi_isend(&x, 1, I64, (rank + 1) % size, 7, comm, &r[1]));
    OK(i % 2 ? reactant_mpi_waitall(2, r, NULL) : reactant_mpi_wait(r[0], NULL) + reactant_mpi_wait(r[1], NULL));
    CHECK(y == from + i, "%lld", (long long)y);
}

static void a_prepared_call(int i)
{
    reactant_mpi_request *r = NULL;
    int64_t x = rank, sum = -1;
    OK(reactant_mpi_prepare_allreduce(&x, &sum, 1, I64, SUM, comm, &r));
    if (i % 100 == 0) {
        OK(reactant_mpi_run(r));
        OK(reactant_mpi_start(r));
        OK(reactant_mpi_wait(r, NULL));
        CHECK(sum == (int64_t)size * (size - 1) / 2, "%lld", (long long)sum);
    }
    OK(reactant_mpi_request_free(r));
}

/* Every slot can still be had. */
static void check_slots(void)
{
    enum { SLOTS = 1 << 16 };
    static reactant_mpi_request *all[SLOTS + 1];
    int n = 0;
    while (n <= SLOTS && reactant_mpi_prepare_barrier(comm, &all[n]) == 0)
        n++;
    CHECK(n == SLOTS, "%d request slots are left of %d", n, SLOTS);
    while (n > 0)
        OK(reactant_mpi_request_free(all[--n]));
}

static const struct kind {
    const char *name;
    void (*once)(int i);
    long bytes_each; /* of Go's garbage and MPI's own */
} kinds[] = {
    {"lives", one_life, 65536}, {"communicators", some_communicators, 4 * 65536}, {"messages", a_message, 0}, {"prepared", a_prepared_call, 0}};

static long smaller(long a, long b)
{
    return a < b ? a : b;
}

int main(int argc, char **argv)
{
    const struct kind *k = NULL;
    struct use begin, middle, end;
    long heap, resident;
    int times, warm, done = 0;
    for (size_t i = 0; argc == 3 && i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(argv[1], kinds[i].name))
            k = &kinds[i];
    if (!k || (times = atoi(argv[2])) < 20) {
        fprintf(stderr, "usage: leaks lives|communicators|messages|prepared TIMES\n");
        return 2;
    }
    /* Kept through all lives: MPI's world is initialised once. */
    comm = reactant_mpi_initialize(REACTANT_MPI_COMM_WORLD);
    NEED(comm, "%s", reactant_mpi_last_error());
    check_rank = rank = reactant_mpi_rank(comm);
    size = reactant_mpi_size(comm);
    if (k->once == one_life)
        OK(reactant_mpi_finalize(comm));
    /* Request slots rest before they are used again: all that are touched have been so then. */
    warm = k->bytes_each ? times / 5 : times / 5 > 3000 ? times / 5 : 3000;
    for (; done < warm; done++)
        k->once(done);
    /* Two halves, of which the better counts: an MPI may take another megabyte for its pools once, a leak is in both. */
    begin = use_now();
    for (; done < warm + times / 2; done++)
        k->once(done);
    middle = use_now();
    for (; done < warm + times; done++)
        k->once(done);
    end = use_now();
    heap = 2 * smaller(middle.heap - begin.heap, end.heap - middle.heap);
    resident = 2 * smaller(middle.resident - begin.resident, end.resident - middle.resident);
    if (rank == 0)
        printf("%s, %d times: heap %+ld bytes, resident %+ld bytes, %+ld threads, %+ld files\n", k->name, times, heap, resident,
               end.threads - begin.threads, end.files - begin.files);
    CHECK(end.threads <= begin.threads, "%ld threads, then %ld", begin.threads, end.threads);
    CHECK(end.files <= begin.files, "%ld files, then %ld", begin.files, end.files);
    CHECK(heap < 65536 + times * k->bytes_each / 64, "the heap grew by %ld bytes in %d times", heap, times);
    CHECK(resident < (1 << 20) + times * k->bytes_each, "%ld bytes in %d times", resident, times);
    if (k->once != one_life)
        check_slots();
    OK(reactant_mpi_finalize(NULL));
    return check_done(rank);
}
