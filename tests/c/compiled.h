/*
 * MPI as compiled code sees it, for the parts of compiled.c: functions and constants by name only, as register_symbols mapped
 * them, called with the types that Enzyme-JAX's lowering emits. A word of MPI is a pointer there, an int 32 bits.
 */
#ifndef COMPILED_H
#define COMPILED_H

#include "check.h"
#include "hostmpi.h"
#include "types.h"

typedef void *word;

enum generation { G1 = 1, G2, G3 };
static enum generation generation; /* whose code this process plays */

/* ---- what was mapped ---- */

enum { MOST_SYMBOLS = 400 };
static struct symbol {
    char name[40];
    void *address;
    unsigned times, pointers;
} symbols[MOST_SYMBOLS];
static int n_symbols;

static struct symbol *symbol_named(const char *name)
{
    for (int i = 0; i < n_symbols; i++)
        if (!strcmp(symbols[i].name, name))
            return &symbols[i];
    return NULL;
}

static void remember(const char *name, void *address, int pointer)
{
    struct symbol *s = symbol_named(name);
    if (!s) {
        NEED(n_symbols < MOST_SYMBOLS && strlen(name) < sizeof s->name, "%s", name);
        s = &symbols[n_symbols++];
        *s = (struct symbol){.times = 0};
        strcpy(s->name, name);
    }
    s->address = address;
    s->times++;
    s->pointers += pointer == 1;
}

/* As EnzymeJaXMapSymbol and enzymexla_set_mpi_constant. */
static void map_symbol(const char *name, void *address)
{
    remember(name, address, 0);
}

static void set_constant(const char *name, void *value, int is_pointer)
{
    CHECK(is_pointer == 1, "%s: %d", name, is_pointer);
    remember(name, value, is_pointer);
}

/* Everything that code of this generation needs. G3 has the functions of G2. */
static void begin_generation(enum generation g, unsigned policy)
{
    n_symbols = 0;
    generation = g;
    if (g != G1)
        OK(reactant_mpi_register_symbols(map_symbol, REACTANT_MPI_SYMBOLS_G2 | policy));
    if (g == G1)
        OK(reactant_mpi_register_symbols(map_symbol, REACTANT_MPI_SYMBOLS_G1 | policy));
    if (g == G3)
        OK(reactant_mpi_register_symbols((reactant_mpi_map_fn)(void (*)(void))set_constant, REACTANT_MPI_SYMBOLS_G3 | policy));
}

static void *look_up(const char *name)
{
    const struct symbol *s = symbol_named(name);
    NEED(s, "%s is not mapped", name);
    return s->address;
}
#define WORD(name) ((word)look_up("MPI_" #name))
#define WORLD WORD(COMM_WORLD)

/* ---- functions, named as in MPI ---- */

#define CODE(name, types) ((int32_t(*) types)look_up("MPI_" #name))
#define USED __attribute__((unused)) static

USED int Init(void) { return CODE(Init, (int *, void *))(NULL, NULL); }
USED int Finalize(void) { return CODE(Finalize, (void))(); }
USED int Comm_rank(word comm, int32_t *out) { return CODE(Comm_rank, (word, void *))(comm, out); }
USED int Comm_size(word comm, int32_t *out) { return CODE(Comm_size, (word, void *))(comm, out); }
USED int Comm_split(word comm, int32_t color, int32_t key, void *out)
{
    return CODE(Comm_split, (word, int32_t, int32_t, void *))(comm, color, key, out);
}
USED int Barrier(word comm) { return CODE(Barrier, (word))(comm); }
USED int Send(const void *buf, int32_t count, word type, int32_t dest, int32_t tag, word comm)
{
    return CODE(Send, (const void *, int32_t, word, int32_t, int32_t, word))(buf, count, type, dest, tag, comm);
}
USED int Recv(void *buf, int32_t count, word type, int32_t source, int32_t tag, word comm, void *status)
{
    return CODE(Recv, (void *, int32_t, word, int32_t, int32_t, word, void *))(buf, count, type, source, tag, comm, status);
}
USED int Isend(const void *buf, int32_t count, word type, int32_t dest, int32_t tag, word comm, void *request)
{
    return CODE(Isend, (const void *, int32_t, word, int32_t, int32_t, word, void *))(buf, count, type, dest, tag, comm, request);
}
USED int Irecv(void *buf, int32_t count, word type, int32_t source, int32_t tag, word comm, void *request)
{
    return CODE(Irecv, (void *, int32_t, word, int32_t, int32_t, word, void *))(buf, count, type, source, tag, comm, request);
}
USED int Wait(void *request, void *status) { return CODE(Wait, (void *, void *))(request, status); }
USED int Waitall(int32_t n, void *requests, void *statuses)
{
    return CODE(Waitall, (int32_t, void *, void *))(n, requests, statuses);
}
USED int Request_free(void *request) { return CODE(Request_free, (void *))(request); }
USED int Bcast(void *buf, int32_t count, word type, int32_t root, word comm)
{
    return CODE(Bcast, (void *, int32_t, word, int32_t, word))(buf, count, type, root, comm);
}
USED int Allreduce(const void *send, void *recv, int32_t count, word type, word op, word comm)
{
    return CODE(Allreduce, (const void *, void *, int32_t, word, word, word))(send, recv, count, type, op, comm);
}
USED int Scan(const void *send, void *recv, int32_t count, word type, word op, word comm)
{
    return CODE(Scan, (const void *, void *, int32_t, word, word, word))(send, recv, count, type, op, comm);
}
USED int Reduce_scatter_block(const void *send, void *recv, int32_t count, word type, word op, word comm)
{
    return CODE(Reduce_scatter_block, (const void *, void *, int32_t, word, word, word))(send, recv, count, type, op, comm);
}
USED int Reduce(const void *send, void *recv, int32_t count, word type, word op, int32_t root, word comm)
{
    return CODE(Reduce, (const void *, void *, int32_t, word, word, int32_t, word))(send, recv, count, type, op, root, comm);
}
#define BLOCKS (const void *, int32_t, word, void *, int32_t, word, word)
#define ROOTED_BLOCKS (const void *, int32_t, word, void *, int32_t, word, int32_t, word)
USED int Allgather(const void *send, int32_t n, word type, void *recv, int32_t m, word recv_type, word comm)
{
    return CODE(Allgather, BLOCKS)(send, n, type, recv, m, recv_type, comm);
}
USED int Alltoall(const void *send, int32_t n, word type, void *recv, int32_t m, word recv_type, word comm)
{
    return CODE(Alltoall, BLOCKS)(send, n, type, recv, m, recv_type, comm);
}
USED int Gather(const void *send, int32_t n, word type, void *recv, int32_t m, word recv_type, int32_t root, word comm)
{
    return CODE(Gather, ROOTED_BLOCKS)(send, n, type, recv, m, recv_type, root, comm);
}
USED int Scatter(const void *send, int32_t n, word type, void *recv, int32_t m, word recv_type, int32_t root, word comm)
{
    return CODE(Scatter, ROOTED_BLOCKS)(send, n, type, recv, m, recv_type, root, comm);
}
USED int Sendrecv(const void *send, int32_t n, word type, int32_t dest, int32_t tag, void *recv, int32_t m, word recv_type,
                  int32_t source, int32_t recv_tag, word comm, void *status)
{
    return CODE(Sendrecv, (const void *, int32_t, word, int32_t, int32_t, void *, int32_t, word, int32_t, int32_t, word, void *))(
        send, n, type, dest, tag, recv, m, recv_type, source, recv_tag, comm, status);
}
USED int Error_string(int32_t code, char *text, int32_t *length)
{
    return CODE(Error_string, (int32_t, void *, void *))(code, text, length);
}

/* ---- results ---- */

/* Right, and nothing is told. */
#define RIGHT(call)                                                                                                                \
    do {                                                                                                                           \
        int right_rc = (call);                                                                                                     \
        char right_text[2048];                                                                                                     \
        check_count++;                                                                                                             \
        if (right_rc != 0)                                                                                                         \
            check_fail(__FILE__, __LINE__, #call " == 0", " got class %d: %s", right_rc, reactant_mpi_last_error());               \
        else if (reactant_mpi_compiled_error(right_text, sizeof right_text))                                                       \
            check_fail(__FILE__, __LINE__, #call " tells nothing", " got: %s", right_text);                                        \
    } while (0)

/* An error class of the standard ABI; kept with its code and a text in which function and word stand, until it is asked for. */
static void check_refused(const char *file, int line, const char *call, int got, int want, int code, const char *function,
                          const char *has)
{
    char text[4096] = "?", again[8] = "?";
    const int kept = reactant_mpi_compiled_error(text, sizeof text);
    check_count++;
    if (got != want)
        check_fail(file, line, call, " class %d wanted, got %d; kept %d: %s", want, got, kept, text);
    else if (kept != code || !strstr(text, function) || !strstr(text, has) || strncmp(text, "in compiled code, ", 18) != 0)
        check_fail(file, line, call, " code %d kept, and a text with '%s' and '%s' wanted, got %d: %s", code, function, has, kept,
                   text);
    else if (reactant_mpi_compiled_error(again, sizeof again) != 0 || again[0])
        check_fail(file, line, call, " told twice");
}
#define REFUSED(want, code, function, has, call)                                                                                   \
    do {                                                                                                                           \
        reactant_mpi_compiled_error(NULL, 0);                                                                                      \
        int refused_rc = (call);                                                                                                   \
        check_refused(__FILE__, __LINE__, #call, refused_rc, (want), (code), "MPI_" #function, (has));                             \
    } while (0)

/* Classes of the standard ABI (MPI-5.0, A.1.1). */
enum { CLASS_COUNT = 2, CLASS_TYPE = 3, CLASS_TAG = 4, CLASS_COMM = 5, CLASS_RANK = 6, CLASS_REQUEST = 7, CLASS_ROOT = 8,
       CLASS_OP = 10,
       CLASS_ARG = 13, CLASS_OTHER = 16 };

/* ---- the world ---- */

static reactant_mpi_comm *comm;
static int rank, size;

/* Requests as this generation stores them, -1 at first, and one that nobody may write behind them. */
enum { MOST_REQUESTS = 8, CANARY = 0x5a5a5a5a };
struct requests {
    int64_t at[MOST_REQUESTS + 1];
};

USED size_t request_bytes(void)
{
    return generation == G1 ? 4 : 8;
}

USED void *request(struct requests *r, int i)
{
    return (char *)r->at + (size_t)i * request_bytes();
}

USED void requests_new(struct requests *r, int n)
{
    for (size_t i = 0; i < sizeof r->at / 4; i++)
        ((int32_t *)r->at)[i] = CANARY;
    memset(r->at, 0xff, (size_t)n * request_bytes());
}

/* Nothing is left of n requests, and nothing was written behind. */
USED void requests_done(int line, const struct requests *r, int n)
{
    for (int i = 0; i < n; i++) {
        int64_t left = 0;
        memcpy(&left, (const char *)r->at + (size_t)i * request_bytes(), request_bytes());
        CHECK(left == (int64_t)(intptr_t)WORD(REQUEST_NULL), "line %d: request %d is %#llx", line, i, (unsigned long long)left);
    }
    for (size_t i = (size_t)n * request_bytes() / 4; i < sizeof r->at / 4; i++)
        CHECK(((const int32_t *)r->at)[i] == CANARY, "line %d: written behind the requests, at word %zu", line, i);
}

/* One right allreduce through the names. */
USED void world_works(int line)
{
    int64_t x = 10 + rank, sum = -1;
    const int rc = Allreduce(&x, &sum, 1, WORD(INT64_T), WORD(SUM), WORLD);
    CHECK(rc == 0 && sum == 10 * (int64_t)size + (int64_t)size * (size - 1) / 2, "line %d: %d, sum %lld: %s", line, rc,
          (long long)sum, reactant_mpi_last_error());
}

#endif
