/*
 * More than 2^31 elements for real: allreduce in place, send and receive, bcast of 2^31 + 5 bytes, and an allgather whose blocks
 * pass 2^31 together. Needs 2 ranks, about 3 GiB of memory each, and a minute or two; not part of the ordinary tests.
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

/* A pattern without a period that divides any power of two. */
static unsigned char at(size_t i, int r)
{
    return (unsigned char)((i % 251 + i / 1000003 + (size_t)r * 7) % 60);
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

int main(void)
{
    const size_t n = ((size_t)1 << 31) + 5, guard = 64;
    reactant_mpi_comm *comm = reactant_mpi_initialize(0);
    NEED(comm, "%s", reactant_mpi_last_error());
    check_rank = rank = reactant_mpi_rank(comm);
    size = reactant_mpi_size(comm);
    NEED(size == 2, "run me at 2 ranks, not %d", size);

    unsigned char *p = room(n + guard);
    memset(p + n, 0xa5, guard);
    fill(p, n, rank);
    OK(reactant_mpi_allreduce(p, p, n, REACTANT_MPI_UINT8, REACTANT_MPI_SUM, comm));
    size_t wrong = 0, first = 0;
    for (size_t i = 0; i < n; i++)
        if (p[i] != (unsigned char)(at(i, 0) + at(i, 1)) && wrong++ == 0)
            first = i;
    CHECK(wrong == 0, "allreduce: %zu wrong, the first at %zu", wrong, first);

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
    for (size_t i = 0; i < guard; i++)
        CHECK(p[n + i] == 0xa5, "behind the buffer, byte %zu", i);

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
