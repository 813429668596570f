/*
 * Blocks that lie more than 2^31 elements apart, in memory that is only reserved: allgatherv, gatherv, scatterv and alltoallv in
 * every form, in place or not. Small blocks, so it is quick.
 */
#include "check.h"
#include "rows.h"

#include <stdbool.h>
#include <sys/mman.h>

enum { GUARD = 64, MAX_RANKS = 8 };

static reactant_mpi_comm *comm;
static int rank, size;

struct space {
    char *base;
    size_t bytes;
};

static struct space reserve(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    NEED(p != MAP_FAILED, "%zu bytes of addresses", bytes);
    return (struct space){p, bytes};
}

/* Element i of what a rank has for another. */
static uint64_t value(int from, int to, size_t i)
{
    return (uint64_t)(1 + from * 31 + to * 7) + i;
}

struct side {
    struct space space;
    size_t bytes; /* of an element */
    size_t counts[MAX_RANKS], displs[MAX_RANKS];
};

static char *block(const struct side *s, int r)
{
    return s->space.base + s->displs[r] * s->bytes;
}

/* Guard bytes on both sides of each block; `to`: filled with what this rank has for r, else with guard bytes. */
static void lay_out(struct side *s, size_t bytes, bool filled)
{
    s->bytes = bytes;
    for (int r = 0; r < size; r++) {
        s->displs[r] = GUARD + (size_t)(size - r) * ((size_t)1 << 31) + (size_t)r; /* backwards */
        memset(block(s, r) - GUARD, 0xa5, 2 * GUARD + s->counts[r] * bytes);
        for (size_t i = 0; filled && i < s->counts[r]; i++) {
            const uint64_t v = value(rank, r, i);
            memcpy(block(s, r) + i * bytes, &v, bytes);
        }
    }
}

static void is_block(const struct side *s, int r, int from, int to, const char *what)
{
    const char *b = block(s, r);
    check_count++;
    for (size_t i = 0; i < s->counts[r]; i++) {
        const uint64_t v = value(from, to, i);
        if (memcmp(b + i * s->bytes, &v, s->bytes) != 0) {
            check_fail(__FILE__, __LINE__, what, " block %d, element %zu", r, i);
            return;
        }
    }
    for (int i = 1; i <= GUARD; i++)
        CHECK((unsigned char)b[-i] == 0xa5 && (unsigned char)b[s->counts[r] * s->bytes + (size_t)i - 1] == 0xa5,
              "%s: written beside block %d", what, r);
}

static int perform(enum row row, enum form form, struct args *a)
{
    reactant_mpi_request *req = NULL;
    int rc = call_row(row, form, a, &req);
    if (rc != 0 || form == BLOCKING)
        return rc;
    if (form == STARTED)
        return reactant_mpi_wait(req, NULL);
    if ((rc = reactant_mpi_start(req)) == 0)
        rc = reactant_mpi_wait(req, NULL);
    if (rc == 0)
        rc = reactant_mpi_run(req);
    OK(reactant_mpi_request_free(req));
    return rc;
}

static void test(enum row row, enum form form, int type, size_t bytes, bool in_place, struct side *out, struct side *in)
{
    char text[100], small[(MAX_RANKS + 2) * 8];
    const int root = size - 1;
    const bool scatters = row == SCATTERV, exchanges = row == ALLTOALLV, here = row == ALLGATHERV || rank == root;
    struct args a = {.send_counts = out->counts, .send_displs = out->displs, .recv_counts = in->counts, .recv_displs = in->displs,
                     .type = type, .root = root, .comm = comm};
    snprintf(text, sizeof text, "%s%s of %zu bytes%s", form_names[form], row_names[row], bytes, in_place ? " in place" : "");
    for (int r = 0; r < size; r++) {
        out->counts[r] = in->counts[r] = exchanges ? (size_t)(1 + rank + r) : (size_t)(r + 2);
        if (exchanges && r == (rank + 1) % size && size > 2 && !in_place)
            out->counts[r] = 0; /* and nobody gets */
        if (exchanges && rank == (r + 1) % size && size > 2 && !in_place)
            in->counts[r] = 0;
    }
    a.count = (size_t)rank + 2;
    lay_out(out, bytes, true);
    lay_out(in, bytes, exchanges && in_place);
    for (size_t i = 0; i < a.count; i++) { /* the one small block of a rank */
        const uint64_t v = value(rank, rank, i);
        memcpy(small + i * bytes, &v, bytes);
    }
    if (exchanges) {
        a.send = in_place ? REACTANT_MPI_IN_PLACE : out->space.base;
        a.recv = in->space.base;
    } else if (scatters) {
        memset(small, 0xa5, sizeof small);
        a.send = out->space.base;
        a.recv = in_place && rank == root ? REACTANT_MPI_IN_PLACE : (void *)small;
    } else {
        a.send = in_place && here ? REACTANT_MPI_IN_PLACE : (const void *)small;
        a.recv = in->space.base;
        if (in_place && here)
            memcpy(block(in, rank), small, a.count * bytes);
    }
    if (exchanges && in_place && form == PREPARED) /* done twice: the data would come home again */
        return;
    int rc = perform(row, form, &a);
    CHECK(rc == 0, "%s: %d %s", text, rc, reactant_mpi_last_error());
    for (int r = 0; r < size; r++) {
        if (exchanges)
            is_block(in, r, r, rank, text);
        else if (!scatters && here)
            is_block(in, r, r, r, text);
        if (scatters ? rank == root : exchanges && !in_place)
            is_block(out, r, rank, r, text);
    }
    for (size_t i = 0; scatters && !(in_place && rank == root) && i < a.count; i++) {
        const uint64_t v = value(root, rank, i);
        CHECK(memcmp(small + i * bytes, &v, bytes) == 0, "%s: element %zu", text, i);
    }
}

int main(void)
{
    static const enum row rows[] = {ALLGATHERV, GATHERV, SCATTERV, ALLTOALLV};
    comm = reactant_mpi_initialize(REACTANT_MPI_COMM_WORLD);
    NEED(comm, "%s", reactant_mpi_last_error());
    check_rank = rank = reactant_mpi_rank(comm);
    size = reactant_mpi_size(comm);
    const size_t most = ((size_t)size + 1) << 34;
    struct side out = {reserve(most), 0, {0}, {0}}, in = {reserve(most), 0, {0}, {0}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        for (enum form form = BLOCKING; form < N_FORMS; form++)
            for (int in_place = 0; in_place < 2; in_place++) {
                test(rows[k], form, REACTANT_MPI_UINT8, 1, in_place, &out, &in);
                test(rows[k], form, REACTANT_MPI_BFLOAT16, 2, in_place, &out, &in);
                test(rows[k], form, REACTANT_MPI_INT64, 8, in_place, &out, &in);
            }
    munmap(out.space.base, out.space.bytes);
    munmap(in.space.base, in.space.bytes);
    ALIVE(comm);
    OK(reactant_mpi_finalize(NULL));
    return check_done(rank);
}
