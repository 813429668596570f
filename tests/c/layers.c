/*
 * One call of every kind, through whatever the environment says stands between this library and the MPI: handles, constants,
 * status, callbacks and requests all have to be translated. Short, where collectives.c is thorough.
 *
 *   layers                    this library initialises MPI
 *   layers LIBRARY WORLD      the host initialises the layer LIBRARY and hands a communicator of its own over. WORLD is the value
 *                             of MPI_COMM_WORLD there: a number, &name (the address of that object) or *name (the word in it)
 */
#include "check.h"
#include "types.h"

#include <dlfcn.h>

static reactant_mpi_comm *comm;
static int rank, size;

static void reductions(void)
{
    for (size_t t = 0; t < N_TYPES; t++)
        for (size_t o = 0; o < N_OPS; o++) {
            const struct type *type = &types[t];
            unsigned char send[64], recv[64];
            struct element want[3];
            if (!legal(type, ops[o].value))
                continue;
            for (size_t i = 0; i < 3; i++) {
                put(type, send, i, sent(type, ops[o].value, 1, rank, i));
                want[i] = sent(type, ops[o].value, 1, 0, i);
                for (int r = 1; r < size; r++)
                    want[i] = fold(type, ops[o].value, want[i], sent(type, ops[o].value, 1, r, i));
                if (ops[o].value == REACTANT_MPI_AVG)
                    want[i] = average(type, want[i], size);
            }
            OK(reactant_mpi_allreduce(send, recv, 3, type->value, ops[o].value, comm));
            for (size_t i = 0; i < 3 && size > 1; i++)
                CHECK(same(type, recv, i, want[i]), "%s %s, element %zu", type->name, ops[o].name, i);
        }
}

static void in_place(void)
{
    int32_t x[3] = {rank + 1, 2 * rank, -rank};
    int32_t blocks[8] = {0}, parts[8];
    OK(reactant_mpi_allreduce(REACTANT_MPI_IN_PLACE, x, 3, REACTANT_MPI_INT32, REACTANT_MPI_SUM, comm));
    CHECK(x[0] == size * (size + 1) / 2 && x[1] == size * (size - 1) && x[2] == -size * (size - 1) / 2, "%d %d %d", x[0], x[1],
          x[2]);
    blocks[rank] = 7 * rank;
    OK(reactant_mpi_allgather(REACTANT_MPI_IN_PLACE, blocks, 1, REACTANT_MPI_INT32, comm));
    for (int r = 0; r < size; r++)
        CHECK(blocks[r] == 7 * r, "%d of rank %d", blocks[r], r);
    for (int turn = 0; turn < 2; turn++) { /* both with and without IN_PLACE */
        int32_t result = -1;
        for (int r = 0; r < size; r++)
            parts[r] = 10 * r + rank;
        OK(reactant_mpi_reduce_scatter(turn ? REACTANT_MPI_IN_PLACE : parts, turn ? parts : &result, 1, REACTANT_MPI_INT32,
                                       REACTANT_MPI_SUM, comm));
        result = turn ? parts[0] : result;
        CHECK(result == 10 * rank * size + size * (size - 1) / 2, "%d", result);
    }
}

/* Operations of this library's own: the callback's arguments go through the layer. */
static void own_operations(void)
{
    const uint16_t mine[2] = {0x3f80, rank ? 0x4000 : 0xc000}; /* 1, and 2 or -2 in bfloat16 */
    uint16_t sum[2], most[2];
    OK(reactant_mpi_allreduce(mine, sum, 2, REACTANT_MPI_BFLOAT16, REACTANT_MPI_SUM, comm));
    OK(reactant_mpi_allreduce(mine, most, 2, REACTANT_MPI_BFLOAT16, REACTANT_MPI_MAX, comm));
    CHECK(size != 2 || (sum[0] == 0x4000 && (sum[1] & 0x7fff) == 0), "%#x %#x", sum[0], sum[1]);
    CHECK(most[0] == 0x3f80 && most[1] == (size > 1 ? 0x4000 : 0xc000), "%#x %#x", most[0], most[1]);
}

static void messages(void)
{
    const int next = (rank + 1) % size, last = (rank + size - 1) % size;
    int32_t mine[3] = {rank, 1, 2}, got[8] = {0};
    reactant_mpi_status s = {0};
    reactant_mpi_request *two[2];
    OK(reactant_mpi_sendrecv(mine, 3, next, 5, got, 8, REACTANT_MPI_ANY_SOURCE, REACTANT_MPI_ANY_TAG, REACTANT_MPI_INT32, comm,
                             &s));
    CHECK(s.source == last && s.tag == 5 && s.bytes == 12 && got[0] == last, "source %d tag %d bytes %zu", s.source, s.tag,
          s.bytes);
    OK(reactant_mpi_recv(got, 1, REACTANT_MPI_INT32, REACTANT_MPI_PROC_NULL, 5, comm, &s));
    CHECK(s.source == REACTANT_MPI_PROC_NULL && s.bytes == 0, "source %d bytes %zu", s.source, s.bytes);
    OK(reactant_mpi_send(mine, 1, REACTANT_MPI_INT32, REACTANT_MPI_PROC_NULL, 5, comm));
    for (int turn = 0; turn < 3; turn++) {
        reactant_mpi_status both[2];
        OK(reactant_mpi_irecv(got, 8, REACTANT_MPI_INT32, REACTANT_MPI_ANY_SOURCE, turn, comm, &two[0]));
        OK(reactant_mpi_isend(mine, 2, REACTANT_MPI_INT32, next, turn, comm, &two[1]));
        OK(reactant_mpi_waitall(2, two, both));
        CHECK(both[0].source == last && both[0].tag == turn && both[0].bytes == 8, "source %d tag %d bytes %zu", both[0].source,
              both[0].tag, both[0].bytes);
    }
}

static void started(void)
{
    int32_t x = rank + 1, sum = 0, all[8] = {0};
    reactant_mpi_request *a, *b;
    OK(reactant_mpi_iallreduce(&x, &sum, 1, REACTANT_MPI_INT32, REACTANT_MPI_SUM, comm, &a));
    OK(reactant_mpi_iallgather(&x, all, 1, REACTANT_MPI_INT32, comm, &b));
    OK(reactant_mpi_wait(b, NULL));
    OK(reactant_mpi_wait(a, NULL));
    CHECK(sum == size * (size + 1) / 2 && all[size - 1] == size, "%d %d", sum, all[size - 1]);
}

static void groups(void)
{
    reactant_mpi_comm *part = NULL, *list = NULL;
    int reversed[8];
    OK(reactant_mpi_comm_split(comm, rank ? 1 : -1, -rank, &part));
    CHECK(rank ? reactant_mpi_size(part) == size - 1 : part == NULL, "%d", reactant_mpi_size(part));
    for (int r = 0; r < size; r++)
        reversed[r] = size - 1 - r;
    OK(reactant_mpi_comm_create(comm, size, reversed, &list));
    CHECK(reactant_mpi_rank(list) == size - 1 - rank, "%d", reactant_mpi_rank(list));
    ALIVE(list);
    OK(reactant_mpi_comm_free(list));
    if (part)
        OK(reactant_mpi_comm_free(part));
}

static uint64_t world_of(void *lib, const char *text)
{
    uint64_t word = 0;
    const void *object = strchr("&*", text[0]) ? dlsym(lib, text + 1) : NULL;
    if (text[0] == '&')
        word = (uint64_t)(uintptr_t)object;
    else if (object)
        memcpy(&word, object, sizeof word);
    else
        word = strtoull(text, NULL, 0);
    return word;
}

static void *function(void *lib, const char *name)
{
    void *p = dlsym(lib, name);
    NEED(p, "no %s", name);
    return p;
}

int main(int argc, char **argv)
{
    void *lib = NULL;
    uint64_t world = 0, dup = 0;
    if (argc == 3) {
        int got = -1;
        NEED((lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL)), "%s", dlerror());
        NEED(((int (*)(void *, void *, int, int *))function(lib, "MPI_Init_thread"))(NULL, NULL, 3, &got) == 0, "");
        NEED((world = world_of(lib, argv[2])), "no world %s", argv[2]);
        NEED(((int (*)(uint64_t, uint64_t *))function(lib, "MPI_Comm_dup"))(world, &dup) == 0, "");
    }
    comm = reactant_mpi_initialize(dup);
    NEED(comm, "%s", reactant_mpi_last_error());
    check_rank = rank = reactant_mpi_rank(comm), size = reactant_mpi_size(comm);
    reductions();
    in_place();
    own_operations();
    messages();
    started();
    groups();
    ALIVE(comm);
    if (dup) {
        static const uint64_t nonsense[] = {3, 0x7, 0x12345, 0x7fffffff, 0xdeadbeefdeadbeef, (uintptr_t)-8, 0x84000000ffffffff};
        for (size_t i = 0; i < sizeof nonsense / sizeof nonsense[0]; i++)
            FAILS_NULL(REACTANT_MPI_ERR_ARGUMENT, "not a", reactant_mpi_initialize((uintptr_t)nonsense[i]));
        NEED(reactant_mpi_initialize((uintptr_t)world), "%s", reactant_mpi_last_error());
    }
    OK(reactant_mpi_finalize(NULL));
    if (dup) {
        NEED(((int (*)(uint64_t *))function(lib, "MPI_Comm_free"))(&dup) == 0, "");
        NEED(((int (*)(void))function(lib, "MPI_Finalize"))() == 0, "");
    }
    return check_done(rank);
}
