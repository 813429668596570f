/*
 * More than 2^31 elements for real: every kind of collective and message with 2^31 + 5 bytes, blocking and started, and an
 * allgather whose blocks pass 2^31 together. Needs 2 ranks, about 5 GiB of memory each, and some minutes; not part of the ordinary tests.
 */
#include "check.h"

#include <sys/mman.h>

static int rank, size;

static unsigned char *room(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    NEED(p != MAP_FAILED, "%zu bytes of memory", bytes);
    return p;
}

/* A pattern without a period that divides any power of two; below 64. */
static unsigned char at(size_t i, int r)
{
    return (unsigned char)(((i * 0x9e3779b97f4a7c15u >> 40) + (size_t)r * 7) & 63);
}

static void fill(unsigned char *p, size_t n, int r)
{
    for (size_t i = 0; i < n; i++)
        p[i] = at(i, r);
}

static void compare(const char *what, const unsigned char *p, size_t n, int r)
{
    size_t wrong = 0, first = 0;
    for (size_t i = 0; i < n; i++)
        if (p[i] != at(i, r) && wrong++ == 0)
            first = i;
    CHECK(wrong == 0, "%s: %zu of %zu wrong, the first at %zu", what, wrong, n, first);
}

/* The sum of what both ranks have, from `first` on. */
static void compare_sum(const char *what, const unsigned char *p, size_t n, size_t first)
{
    size_t wrong = 0, at_first = 0;
    for (size_t i = 0; i < n; i++)
        if (p[i] != (unsigned char)(at(first + i, 0) + at(first + i, 1)) && wrong++ == 0)
            at_first = i;
    CHECK(wrong == 0, "%s: %zu wrong, the first at %zu", what, wrong, at_first);
}

static reactant_mpi_comm *comm;

#define FINISH(call)                       \
    do {                                   \
        OK(call);                          \
        OK(reactant_mpi_wait(req, NULL));  \
    } while (0)

/* Started calls, and those with blocks of different sizes. p has room for n bytes, q too. */
static void test_others(unsigned char *p, unsigned char *q, size_t n)
{
    const int type = REACTANT_MPI_UINT8, sum = REACTANT_MPI_SUM;
    const size_t counts[2] = {n - 100, 100}, to_one[2] = {0, n}, from_zero[2] = {n, 0}, few[2] = {0, 7}, few_back[2] = {7, 0};
    const size_t places[2] = {0, 0};
    const int one = 1;
    reactant_mpi_request *req;
    reactant_mpi_status st;

    fill(p, n, rank);
    FINISH(reactant_mpi_iallreduce(REACTANT_MPI_IN_PLACE, p, n, type, sum, comm, &req));
    compare_sum("iallreduce", p, n, 0);
    fill(p, n, rank);
    OK(reactant_mpi_scan(REACTANT_MPI_IN_PLACE, p, n, type, sum, comm));
    if (rank)
        compare_sum("scan", p, n, 0);
    else
        compare("scan", p, n, 0);
    fill(p, n, rank);
    FINISH(reactant_mpi_iexscan(REACTANT_MPI_IN_PLACE, p, n, type, sum, comm, &req));
    compare("iexscan", p, n, 0);
    fill(p, n, rank);
    OK(reactant_mpi_reduce_scatterv(p, q, counts, type, sum, comm));
    compare_sum("reduce_scatterv", q, counts[rank], rank ? counts[0] : 0);
    compare("reduce_scatterv, what was sent", p, n, rank);

    fill(p, n, rank ? 9 : 4);
    FINISH(rank ? reactant_mpi_irecv(p, n, type, 0, 3, comm, &req) : reactant_mpi_isend(p, n, type, 1, 3, comm, &req));
    compare("isend", p, n, 4);
    fill(p, n, rank ? 9 : 5);
    FINISH(reactant_mpi_ibcast(p, n, type, 0, comm, &req));
    compare("ibcast", p, n, 5);
    fill(p, n, rank ? 9 : 6);
    OK(reactant_mpi_sendrecv(rank ? q : p, rank ? 1 : n, 1 - rank, 3, rank ? p : q, n, 1 - rank, 3, type, comm, &st));
    CHECK(st.source == 1 - rank && st.bytes == (rank ? n : 1), "sendrecv: %zu bytes from %d", st.bytes, st.source);
    compare("sendrecv", p, n, 6);

    fill(p, n, rank ? 9 : 7);
    memset(q, 0xff, n);
    OK(reactant_mpi_permute(rank ? NULL : p, rank ? p : q, n, type, rank ? 0 : REACTANT_MPI_PROC_NULL, rank ? 0 : 1, &one, comm));
    compare("permute", p, n, 7);
    for (size_t i = 0; rank == 0 && i < n; i += 4095)
        CHECK(q[i] == 0, "permute without a source: %zu", i);
    fill(p, n, rank ? 9 : 8);
    FINISH(reactant_mpi_igatherv(p, rank ? 0 : n, p, from_zero, places, type, 1, comm, &req));
    compare("igatherv", p, n, 8);
    fill(p, n, rank ? 9 : 10);
    OK(reactant_mpi_scatterv(p, to_one, places, rank ? p : q, rank ? n : 0, type, 0, comm));
    compare("scatterv", p, n, 10);
    fill(p, n, rank ? 9 : 11);
    OK(rank ? reactant_mpi_alltoallv(q, few_back, places, p, from_zero, places, type, comm)
            : reactant_mpi_alltoallv(p, to_one, places, q, few, places, type, comm));
    compare("alltoallv", p, n, 11);
    fill(p, n, rank ? 9 : 12);
    FINISH(reactant_mpi_iallgatherv(rank ? NULL : REACTANT_MPI_IN_PLACE, rank ? 0 : n, p, from_zero, places, type, comm, &req));
    compare("iallgatherv", p, n, 12);
}

int main(void)
{
    const size_t n = ((size_t)1 << 31) + 5, guard = 64;
    comm = reactant_mpi_initialize(0);
    NEED(comm, "%s", reactant_mpi_last_error());
    check_rank = rank = reactant_mpi_rank(comm);
    size = reactant_mpi_size(comm);
    NEED(size == 2, "run me at 2 ranks, not %d", size);

    unsigned char *p = room(n + guard);
    memset(p + n, 0xa5, guard);
    fill(p, n, rank);
    OK(reactant_mpi_allreduce(p, p, n, REACTANT_MPI_UINT8, REACTANT_MPI_SUM, comm));
    compare_sum("allreduce", p, n, 0);

    fill(p, n, rank == 0 ? 3 : 9);
    reactant_mpi_status st = {-1, -1, 0};
    if (rank == 0) {
        OK(reactant_mpi_send(p, n, REACTANT_MPI_UINT8, 1, 7, comm));
    } else {
        OK(reactant_mpi_recv(p, n, REACTANT_MPI_UINT8, REACTANT_MPI_ANY_SOURCE, REACTANT_MPI_ANY_TAG, comm, &st));
        CHECK(st.source == 0 && st.tag == 7 && st.bytes == n, "from %d tag %d, %zu bytes", st.source, st.tag, st.bytes);
    }
    compare("send", p, n, 3);

    fill(p, n, rank == 1 ? 5 : 2);
    OK(reactant_mpi_bcast(p, n, REACTANT_MPI_BYTE, 1, comm));
    compare("bcast", p, n, 5);
    unsigned char *q = room(n + guard);
    memset(q + n, 0xa5, guard);
    test_others(p, q, n);
    for (size_t i = 0; i < guard; i++)
        CHECK(p[n + i] == 0xa5 && q[n + i] == 0xa5, "behind the buffers, byte %zu", i);
    munmap(q, n + guard);

    /* Two blocks of 2^30 + 3: each fits an int, both together do not. */
    const size_t block = ((size_t)1 << 30) + 3;
    munmap(p, n + guard);
    p = room(2 * block + guard);
    memset(p + 2 * block, 0xa5, guard);
    fill(p + (size_t)rank * block, block, 20 + rank);
    OK(reactant_mpi_allgather(REACTANT_MPI_IN_PLACE, p, block, REACTANT_MPI_INT8, comm));
    compare("allgather, block 0", p, block, 20);
    compare("allgather, block 1", p + block, block, 21);
    for (size_t i = 0; i < guard; i++)
        CHECK(p[2 * block + i] == 0xa5, "behind the buffer, byte %zu", i);
    munmap(p, 2 * block + guard);

    ALIVE(comm);
    OK(reactant_mpi_finalize(NULL));
    return check_done(rank);
}
