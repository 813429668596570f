/*
 * Of compiled.c: what must be refused, by every function that can be given it, with the class of the standard ABI.
 */
#ifndef COMPILED_WRONG_H
#define COMPILED_WRONG_H

#include "compiled.h"

enum function {
    SEND, RECV, ISEND, IRECV, SENDRECV, BCAST, ALLREDUCE, SCAN, REDUCE_SCATTER_BLOCK, REDUCE, ALLGATHER, ALLTOALL, GATHER, SCATTER,
    BARRIER, COMM_RANK, COMM_SIZE, COMM_SPLIT, N_WITH_COMM
};
static const char *const wrong_names[] = {
    "MPI_Send",      "MPI_Recv",   "MPI_Isend",    "MPI_Irecv",  "MPI_Sendrecv", "MPI_Bcast",   "MPI_Allreduce", "MPI_Scan",
    "MPI_Reduce_scatter_block",
    "MPI_Reduce",    "MPI_Allgather", "MPI_Alltoall", "MPI_Gather", "MPI_Scatter",  "MPI_Barrier", "MPI_Comm_rank",
    "MPI_Comm_size", "MPI_Comm_split",
};
static bool with_data(enum function f) { return f < BARRIER; }
static bool with_op(enum function f) { return f >= ALLREDUCE && f <= REDUCE; }
static bool with_root(enum function f) { return f == BCAST || f == REDUCE || f == GATHER || f == SCATTER; }
static bool with_peer(enum function f) { return f <= SENDRECV || with_root(f); }

static int64_t wrong_send[64 * 8], wrong_recv[64 * 8];
static struct requests wrong_request;

struct arguments {
    void *send, *recv;
    int32_t count;
    word type, op;
    int32_t peer, tag;
    word comm;
};
static struct arguments good_arguments(void)
{
    return (struct arguments){wrong_send, wrong_recv, 3, WORD(INT64_T), WORD(SUM), 0, 1, WORLD};
}

static int call(enum function f, const struct arguments *a)
{
    int32_t number = 0;
    int64_t out = -1;
    int rc;
    requests_new(&wrong_request, 1);
    switch (f) {
    case SEND: return Send(a->send, a->count, a->type, a->peer, a->tag, a->comm);
    case RECV: return Recv(a->recv, a->count, a->type, a->peer, a->tag, a->comm, NULL);
    case ISEND: return Isend(a->send, a->count, a->type, a->peer, a->tag, a->comm, request(&wrong_request, 0));
    case IRECV: return Irecv(a->recv, a->count, a->type, a->peer, a->tag, a->comm, request(&wrong_request, 0));
    case SENDRECV:
        return Sendrecv(a->send, a->count, a->type, a->peer, a->tag, a->recv, a->count, a->type, a->peer, a->tag, a->comm, NULL);
    case BCAST: return Bcast(a->recv, a->count, a->type, a->peer, a->comm);
    case ALLREDUCE: return Allreduce(a->send, a->recv, a->count, a->type, a->op, a->comm);
    case SCAN: return Scan(a->send, a->recv, a->count, a->type, a->op, a->comm);
    case REDUCE_SCATTER_BLOCK: return Reduce_scatter_block(a->send, a->recv, a->count, a->type, a->op, a->comm);
    case REDUCE: return Reduce(a->send, a->recv, a->count, a->type, a->op, a->peer, a->comm);
    case ALLGATHER: return Allgather(a->send, a->count, a->type, a->recv, a->count, a->type, a->comm);
    case ALLTOALL: return Alltoall(a->send, a->count, a->type, a->recv, a->count, a->type, a->comm);
    case GATHER: return Gather(a->send, a->count, a->type, a->recv, a->count, a->type, a->peer, a->comm);
    case SCATTER: return Scatter(a->send, a->count, a->type, a->recv, a->count, a->type, a->peer, a->comm);
    case BARRIER: return Barrier(a->comm);
    case COMM_RANK:
        rc = Comm_rank(a->comm, &number);
        CHECK(rc == 0 || number == -1, "a refused Comm_rank says %d", number);
        return rc;
    case COMM_SIZE:
        rc = Comm_size(a->comm, &number);
        CHECK(rc == 0 || number == -1, "a refused Comm_size says %d", number);
        return rc;
    case COMM_SPLIT:
        rc = Comm_split(a->comm, 0, 0, &out);
        CHECK(rc == 0 || out == 0x100, "a refused Comm_split makes %#llx", (unsigned long long)out);
        return rc;
    case N_WITH_COMM: break;
    }
    return -1;
}

static void refused(int line, enum function f, const struct arguments *a, int want, int code, const char *has)
{
    reactant_mpi_compiled_error(NULL, 0);
    check_refused(__FILE__, line, wrong_names[f], call(f, a), want, code, wrong_names[f], has);
    if (f == ISEND || f == IRECV) { /* nothing to wait for, as the program does next without looking */
        requests_done(line, &wrong_request, 1);
        RIGHT(Wait(request(&wrong_request, 0), NULL));
    }
}

/* Every function refuses this communicator. */
static void refused_by_all(int line, word c, int want, int code, const char *has)
{
    struct arguments a = good_arguments();
    a.comm = c;
    for (enum function f = 0; f < N_WITH_COMM; f++)
        refused(line, f, &a, want, code, has);
}

static void wrong_arguments(void)
{
    static const char *const types[] = {"MPI_DATATYPE_NULL", "MPI_LB", "MPI_UB", "MPI_FLOAT_INT", "MPI_DOUBLE_INT",
                                        "MPI_LONG_DOUBLE_INT",
                                        "MPI_LONG_INT", "MPI_SHORT_INT", "MPI_SUM", "MPI_COMM_WORLD", "MPI_STATUS_IGNORE",
                                        "MPI_Send"};
    static const uintptr_t numbers[] = {0, 0x4c00040a, 0x100000210, (uintptr_t)-1, 0x58000003, 0x300, 0x1ff, (uintptr_t)INT64_MIN};
    static const char *const unserved[] = {"MPI_OP_NULL", "MPI_MINLOC", "MPI_MAXLOC", "MPI_REPLACE", "MPI_NO_OP", "MPI_INT",
                                           "MPI_Send"};
    static const char *const pairs[][2] = {{"MPI_FLOAT", "MPI_BAND"},
                                           {"MPI_DOUBLE", "MPI_LOR"},  {"MPI_C_FLOAT_COMPLEX", "MPI_MAX"},
                                           {"MPI_C_BOOL", "MPI_SUM"}, {"MPI_BYTE", "MPI_SUM"},
                                           {"MPI_C_DOUBLE_COMPLEX", "MPI_LXOR"}};
    static const int32_t counts[] = {-1, -2, INT32_MIN};
    const struct host_numbers h = host_numbers();
    const int32_t peers[] = {size, size + 1, INT32_MAX, INT32_MIN, -9, h.undefined};
    const struct arguments good = good_arguments();
    for (enum function f = 0; f < N_WITH_COMM; f++) {
        struct arguments a = good;
        for (size_t i = 0; with_data(f) && i < sizeof types / sizeof *types; i++)
            a.type = look_up(types[i]), refused(__LINE__, f, &a, CLASS_TYPE, REACTANT_MPI_ERR_TYPE, "");
        for (size_t i = 0; with_data(f) && i < sizeof numbers / sizeof *numbers; i++)
            a.type = (word)numbers[i], refused(__LINE__, f, &a, CLASS_TYPE, REACTANT_MPI_ERR_TYPE, "");
        a = good;
        for (size_t i = 0; with_op(f) && i < sizeof unserved / sizeof *unserved; i++)
            a.op = look_up(unserved[i]), refused(__LINE__, f, &a, CLASS_OP, REACTANT_MPI_ERR_OP, "");
        for (size_t i = 0; with_op(f) && i < sizeof numbers / sizeof *numbers; i++)
            a.op = (word)numbers[i], refused(__LINE__, f, &a, CLASS_OP, REACTANT_MPI_ERR_OP, "");
        for (size_t i = 0; with_op(f) && i < sizeof pairs / sizeof *pairs; i++) {
            a.type = look_up(pairs[i][0]), a.op = look_up(pairs[i][1]);
            refused(__LINE__, f, &a, CLASS_OP, REACTANT_MPI_ERR_OP, "");
        }
        a = good;
        for (size_t i = 0; with_data(f) && i < sizeof counts / sizeof *counts; i++)
            a.count = counts[i], refused(__LINE__, f, &a, CLASS_COUNT, REACTANT_MPI_ERR_COUNT, "");
        a = good;
        for (size_t i = 0; with_peer(f) && i < sizeof peers / sizeof *peers; i++)
            a.peer = peers[i], refused(__LINE__, f, &a, with_root(f) ? CLASS_ROOT : CLASS_RANK, REACTANT_MPI_ERR_RANK, "");
        a = good;
        if (f == SEND || f == ISEND || with_root(f))
            a.peer = h.any_source, refused(__LINE__, f, &a, with_root(f) ? CLASS_ROOT : CLASS_RANK, REACTANT_MPI_ERR_RANK, "");
        a = good;
        if (f <= SENDRECV)
            a.tag = -9, refused(__LINE__, f, &a, CLASS_TAG, REACTANT_MPI_ERR_RANK, "tag");
        if (f == SEND || f == ISEND)
            a.tag = h.any_tag, refused(__LINE__, f, &a, CLASS_TAG, REACTANT_MPI_ERR_RANK, "tag");
        a = good;
        if (with_data(f))
            a.send = a.recv = NULL, refused(__LINE__, f, &a, CLASS_ARG, REACTANT_MPI_ERR_ARGUMENT, "");
    }
    /* blocks that differ, or a side alone that is wrong; where nobody looks it may be (compiled_data.h) */
    REFUSED(CLASS_COUNT, REACTANT_MPI_ERR_COUNT, Allgather, "differ",
            Allgather(wrong_send, 3, WORD(INT), wrong_recv, 2, WORD(INT), WORLD));
    REFUSED(CLASS_COUNT, REACTANT_MPI_ERR_COUNT, Alltoall, "differ",
            Alltoall(wrong_send, 3, WORD(INT), wrong_recv, 3, WORD(LONG), WORLD));
    REFUSED(CLASS_TYPE, REACTANT_MPI_ERR_TYPE, Allgather, "",
            Allgather(wrong_send, 3, WORD(INT), wrong_recv, 3, WORD(OP_NULL), WORLD));
    REFUSED(CLASS_TYPE, REACTANT_MPI_ERR_TYPE, Alltoall, "",
            Alltoall(wrong_send, 3, WORD(OP_NULL), wrong_recv, 3, WORD(INT), WORLD));
    REFUSED(CLASS_TYPE, REACTANT_MPI_ERR_TYPE, Sendrecv, "",
            Sendrecv(wrong_send, 3, WORD(INT), rank, 1, wrong_recv, 3, WORD(LB), rank, 1, WORLD, NULL));
    REFUSED(CLASS_COUNT, REACTANT_MPI_ERR_COUNT, Sendrecv, "",
            Sendrecv(wrong_send, -3, WORD(INT), rank, 1, wrong_recv, 3, WORD(LONG), rank, 1, WORLD, NULL));
    REFUSED(CLASS_COUNT, REACTANT_MPI_ERR_COUNT, Sendrecv, "",
            Sendrecv(wrong_send, 3, WORD(INT), rank, 1, wrong_recv, -3, WORD(LONG), rank, 1, WORLD, NULL));
    if (size == 1) { /* the root looks at both */
        REFUSED(CLASS_COUNT, REACTANT_MPI_ERR_COUNT, Gather, "differ",
                Gather(wrong_send, 3, WORD(INT), wrong_recv, 2, WORD(INT), 0, WORLD));
        REFUSED(CLASS_COUNT, REACTANT_MPI_ERR_COUNT, Scatter, "differ",
                Scatter(wrong_send, 3, WORD(INT), wrong_recv, 2, WORD(INT), 0, WORLD));
    }
    world_works(__LINE__);
}

static void wrong_communicators(void)
{
    static char here;
    const uintptr_t words[] = {0, 0x44000000 + 77, 0xffffffff84777777, (uintptr_t)-1, (uintptr_t)&here, 60000, 0xdeadbeefdeadbeef};
    reactant_mpi_comm *d = NULL;
    refused_by_all(__LINE__, WORD(COMM_NULL), CLASS_COMM, REACTANT_MPI_ERR_COMM, "");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        refused_by_all(__LINE__, (word)words[i], CLASS_COMM, REACTANT_MPI_ERR_COMM, "");
    refused_by_all(__LINE__, (word)(uintptr_t)host.comm_null, CLASS_COMM, REACTANT_MPI_ERR_COMM, "");
    OK(reactant_mpi_comm_dup(comm, &d));
    const uintptr_t id = (uintptr_t)reactant_mpi_comm_id(d);
    OK(reactant_mpi_comm_free(d));
    refused_by_all(__LINE__, (word)d, CLASS_COMM, REACTANT_MPI_ERR_COMM, "");
    refused_by_all(__LINE__, (word)id, CLASS_COMM, REACTANT_MPI_ERR_COMM, "");
    world_works(__LINE__);
    REFUSED(CLASS_ARG, REACTANT_MPI_ERR_ARGUMENT, Comm_rank, "NULL", Comm_rank(WORLD, NULL));
    REFUSED(CLASS_ARG, REACTANT_MPI_ERR_ARGUMENT, Comm_size, "NULL", Comm_size(WORLD, NULL));
    REFUSED(CLASS_ARG, REACTANT_MPI_ERR_ARGUMENT, Comm_split, "NULL", Comm_split(WORLD, 0, 0, NULL));
    int64_t out = -1;
    REFUSED(CLASS_ARG, REACTANT_MPI_ERR_ARGUMENT, Comm_split, "-7", Comm_split(WORLD, -7, 0, &out));
    CHECK(out == 0x100, "%#llx", (unsigned long long)out);
}

static void wrong_requests(void)
{
    static const int64_t garbage[] = {0, 1, 0x179, 0x181, 0xffff, 0x10000, 0x1ffff, 0x7fffffff, INT32_MIN, 0x2c000000, 0x5a5a5a5a};
    struct requests r;
    int32_t x = rank, y[4] = {-1, -1, -1, -1};
    REFUSED(CLASS_ARG, REACTANT_MPI_ERR_ARGUMENT, Wait, "NULL", Wait(NULL, NULL));
    REFUSED(CLASS_ARG, REACTANT_MPI_ERR_ARGUMENT, Request_free, "NULL", Request_free(NULL));
    REFUSED(CLASS_ARG, REACTANT_MPI_ERR_ARGUMENT, Waitall, "", Waitall(2, NULL, NULL));
    REFUSED(CLASS_ARG, REACTANT_MPI_ERR_ARGUMENT, Waitall, "", Waitall(-1, &r, NULL));
    REFUSED(CLASS_ARG, REACTANT_MPI_ERR_ARGUMENT, Isend, "NULL", Isend(&x, 1, WORD(INT), 0, 1, WORLD, NULL));
    REFUSED(CLASS_ARG, REACTANT_MPI_ERR_ARGUMENT, Irecv, "NULL", Irecv(&x, 1, WORD(INT), 0, 1, WORLD, NULL));
    /* the placeholder of compiled code */
    requests_new(&r, 3);
    REFUSED(CLASS_REQUEST, REACTANT_MPI_ERR_REQUEST, Wait, "-1", Wait(request(&r, 0), NULL));
    REFUSED(CLASS_REQUEST, REACTANT_MPI_ERR_REQUEST, Waitall, "-1", Waitall(3, request(&r, 0), NULL));
    REFUSED(CLASS_REQUEST, REACTANT_MPI_ERR_REQUEST, Request_free, "-1", Request_free(request(&r, 0)));
    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        requests_new(&r, 1);
        memcpy(r.at, &garbage[i], request_bytes());
        REFUSED(CLASS_REQUEST, REACTANT_MPI_ERR_REQUEST, Wait, "", Wait(request(&r, 0), NULL));
        REFUSED(CLASS_REQUEST, REACTANT_MPI_ERR_REQUEST, Waitall, "", Waitall(1, request(&r, 0), NULL));
        memcpy(r.at, &garbage[i], request_bytes());
        REFUSED(CLASS_REQUEST, REACTANT_MPI_ERR_REQUEST, Request_free, "", Request_free(request(&r, 0)));
        for (size_t k = request_bytes() / 4; k < sizeof r.at / 4; k++)
            CHECK(((int32_t *)r.at)[k] == CANARY, "written behind");
    }
    /* twice: a copy of a request that has been waited for */
    requests_new(&r, 2);
    RIGHT(Irecv(y, 1, WORD(INT), rank, 1, WORLD, request(&r, 0)));
    memcpy(request(&r, 1), request(&r, 0), request_bytes());
    RIGHT(Send(&x, 1, WORD(INT), rank, 1, WORLD));
    REFUSED(CLASS_REQUEST, REACTANT_MPI_ERR_REQUEST, Waitall, "not a live request", Waitall(2, request(&r, 0), NULL));
    CHECK(y[0] == rank, "the good one of the list has been waited for: %d", y[0]);
    REFUSED(CLASS_REQUEST, REACTANT_MPI_ERR_REQUEST, Request_free, "not a live request", Request_free(request(&r, 1)));
    /* one bad request of a list does not keep the others waiting */
    requests_new(&r, 3);
    y[0] = y[1] = -1;
    RIGHT(Irecv(&y[0], 1, WORD(INT), rank, 1, WORLD, request(&r, 0)));
    RIGHT(Irecv(&y[1], 1, WORD(INT), rank, 2, WORLD, request(&r, 2)));
    RIGHT(Send(&x, 1, WORD(INT), rank, 1, WORLD));
    RIGHT(Send(&x, 1, WORD(INT), rank, 2, WORLD));
    REFUSED(CLASS_REQUEST, REACTANT_MPI_ERR_REQUEST, Waitall, "-1", Waitall(3, request(&r, 0), NULL));
    CHECK(y[0] == rank && y[1] == rank, "%d %d", y[0], y[1]);
    /* a handle of this library's other calls is none of these */
    reactant_mpi_request *other = NULL;
    OK(reactant_mpi_ibarrier(comm, &other));
    requests_new(&r, 1);
    memcpy(r.at, &other, request_bytes());
    REFUSED(CLASS_REQUEST, REACTANT_MPI_ERR_REQUEST, Wait, "", Wait(request(&r, 0), NULL));
    OK(reactant_mpi_wait(other, NULL));
    world_works(__LINE__);
}

/* A list of the width of other code: said, and the requests stay as they are. */
static void wrong_width(void)
{
    const enum generation here = generation;
    int32_t x = rank, y[3] = {-1, -1, -1};
    struct requests r;
    for (int n = 2; n <= 3; n++) {
        requests_new(&r, n);
        for (int i = 0; i < n; i++)
            RIGHT(Irecv(&y[i], 1, WORD(INT), rank, i, WORLD, request(&r, i)));
        begin_generation(here == G1 ? G2 : G1, REACTANT_MPI_ERRORS_RETURN);
        REFUSED(CLASS_REQUEST, REACTANT_MPI_ERR_REQUEST, Waitall,
                here == G1 ? "REACTANT_MPI_SYMBOLS_G1" : "REACTANT_MPI_SYMBOLS_G2", Waitall(n, r.at, NULL));
        begin_generation(here, REACTANT_MPI_ERRORS_RETURN);
        for (int i = 0; i < n; i++)
            RIGHT(Send(&x, 1, WORD(INT), rank, i, WORLD));
        RIGHT(Waitall(n, request(&r, 0), NULL));
        requests_done(__LINE__, &r, n);
    }
}

static void test_wrong(void)
{
    wrong_arguments();
    wrong_communicators();
    wrong_requests();
    wrong_width();
}

/* Before there is a communicator, or after the last one. */
static void test_nothing_there(const char *has)
{
    struct requests r;
    struct arguments a = good_arguments();
    for (enum function f = 0; f < N_WITH_COMM; f++)
        refused(__LINE__, f, &a, CLASS_COMM, REACTANT_MPI_ERR_COMM, has);
    refused_by_all(__LINE__, WORD(COMM_SELF), CLASS_COMM, REACTANT_MPI_ERR_COMM, "MPI_COMM_SELF");
    refused_by_all(__LINE__, WORD(COMM_NULL), CLASS_COMM, REACTANT_MPI_ERR_COMM, "MPI_COMM_NULL");
    requests_new(&r, 2);
    REFUSED(CLASS_REQUEST, REACTANT_MPI_ERR_REQUEST, Waitall, "-1", Waitall(2, request(&r, 0), NULL));
    REFUSED(CLASS_REQUEST, REACTANT_MPI_ERR_REQUEST, Wait, "-1", Wait(request(&r, 1), NULL));
    RIGHT(Waitall(0, NULL, NULL));
}

#endif
