#define _GNU_SOURCE
#include "nccl/stream.h"

#include <sched.h>

static const struct {
    int nccl, bytes;
} types[RMPI_TYPES] = {
#define TYPE(name, kind, bytes, mpi, mpich, symbol, mpi5, muk, wi4mpi, nccl) {nccl, bytes},
#define OP(...)
#include "internal/table/types.inc"
#undef TYPE
#undef OP
};

static const int ops[RMPI_OPS] = {
#define TYPE(...)
#define OP(name, mpi, mpich, symbol, muk, nccl) nccl,
#include "internal/table/types.inc"
#undef TYPE
#undef OP
};

enum { NCCL_UINT8 = 1, NCCL_FLOAT32 = 7, NCCL_FLOAT64 = 8, FLOAT8_SINCE = 22400, MAX = 2, MIN = 3 };

static int is_float8(int type)
{
    return type == RMPI_FLOAT8_E4M3FN || type == RMPI_FLOAT8_E5M2;
}

struct rmpi_nccl_type rmpi_nccl_moved(int type, int version)
{
    struct rmpi_nccl_type t = {types[type].nccl, 1};
    if (t.type < 0 || (is_float8(type) && version < FLOAT8_SINCE)) {
        t.type = NCCL_UINT8;
        t.factor = (unsigned)types[type].bytes;
    }
    return t;
}

/* Mappings that give exactly the result the operation means; everything else is refused with the reason. */
const char *rmpi_nccl_reduced(int type, int op, int version, struct rmpi_nccl_type *out, int *nccl_op)
{
    const int complex = type == RMPI_COMPLEX64 || type == RMPI_COMPLEX128;
    out->type = types[type].nccl;
    out->factor = 1;
    *nccl_op = ops[op];
    if (complex && (op == RMPI_SUM || op == RMPI_AVG)) {
        out->type = type == RMPI_COMPLEX64 ? NCCL_FLOAT32 : NCCL_FLOAT64;
        out->factor = 2;
        return NULL;
    }
    if (type == RMPI_BOOL && (op == RMPI_LAND || op == RMPI_LOR)) {
        out->type = NCCL_UINT8;
        *nccl_op = op == RMPI_LAND ? MIN : MAX;
        return NULL;
    }
    if (complex)
        return "NCCL knows no complex type: SUM and AVG act on the parts, PROD does not";
    if (type == RMPI_BOOL)
        return "NCCL knows no bool: LAND and LOR are exact as MIN and MAX, nothing else is";
    if (type == RMPI_INT16 || type == RMPI_UINT16 || type == RMPI_BYTE)
        return "NCCL has no 16-bit integers and no bytes to reduce: convert to 32 bits, or reduce on the host";
    if (is_float8(type) && version < FLOAT8_SINCE)
        return "float8 needs NCCL 2.24 or later";
    if (*nccl_op < 0)
        return "NCCL has SUM, PROD, MIN, MAX and AVG only: reduce on the host";
    if (op == RMPI_AVG && types[type].nccl <= 5)
        return "AVG is defined on floating-point and complex types";
    return NULL;
}

int rmpi_nccl_settle(const struct rmpi_device *d, int rc)
{
    while (rc == NCCL_IN_PROGRESS) {
        int now = NCCL_IN_PROGRESS;
        sched_yield();
        rc = RMPI_NCCL(d->nccl, CommGetAsyncError)(d->comm, &now);
        if (rc == NCCL_SUCCESS)
            rc = now;
    }
    return rc;
}

#define N(name) RMPI_NCCL(n, name)

static int fine(int rc)
{
    return rc == NCCL_SUCCESS || rc == NCCL_IN_PROGRESS;
}

/* Ends a group whatever happened inside, or this thread would stay in it; the first error counts. */
static int group_end(const struct rmpi_nccl *n, int rc)
{
    int end = N(GroupEnd)();
    return fine(rc) ? end : rc;
}

int rmpi_nccl_all_to_all(const struct rmpi_device *d, int size, const void *send, void *recv, size_t count, int type, void *stream)
{
    static const int bytes_of[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
    const struct rmpi_nccl *n = d->nccl;
    size_t bytes;
    int rc;
    if (RMPI_NCCL_HAS(n, AlltoAll))
        return N(AlltoAll)(send, recv, count, type, d->comm, stream);
    if ((unsigned)type >= sizeof bytes_of / sizeof *bytes_of)
        return NCCL_INVALID_ARGUMENT;
    bytes = count * (size_t)bytes_of[type];
    rc = N(GroupStart)();
    for (int peer = 0; peer < size && fine(rc); peer++) {
        rc = N(Send)((const char *)send + (size_t)peer * bytes, count, type, peer, d->comm, stream);
        if (fine(rc))
            rc = N(Recv)((char *)recv + (size_t)peer * bytes, count, type, peer, d->comm, stream);
    }
    return group_end(n, rc);
}

/* gather and scatter by messages: the root talks to every rank, itself included. */
static int rooted(const struct rmpi_device *d, const struct rmpi_comm *c, const struct rmpi_call *a, struct rmpi_nccl_type t)
{
    const struct rmpi_nccl *n = d->nccl;
    const size_t count = a->count * t.factor, bytes = a->count * (size_t)types[a->type].bytes;
    const int gathers = a->row == RMPI_gather, root = a->root == c->rank;
    /* In place the root's own block is where it belongs. */
    const void *own = gathers ? (const char *)a->recv + (size_t)c->rank * bytes : (const char *)a->send + (size_t)c->rank * bytes;
    const int moves_own = root && own != (gathers ? a->send : a->recv);
    int rc = N(GroupStart)();
    if (fine(rc) && gathers && (!root || moves_own))
        rc = N(Send)(a->send, count, t.type, a->root, d->comm, a->stream);
    if (fine(rc) && !gathers && (!root || moves_own))
        rc = N(Recv)(a->recv, count, t.type, a->root, d->comm, a->stream);
    for (int peer = 0; root && peer < c->size && fine(rc); peer++) {
        if (peer == c->rank && !moves_own)
            continue;
        if (gathers)
            rc = N(Recv)((char *)a->recv + (size_t)peer * bytes, count, t.type, peer, d->comm, a->stream);
        else
            rc = N(Send)((const char *)a->send + (size_t)peer * bytes, count, t.type, peer, d->comm, a->stream);
    }
    return group_end(n, rc);
}

static int send_and_receive(const struct rmpi_device *d, const struct rmpi_call *a, struct rmpi_nccl_type t)
{
    const struct rmpi_nccl *n = d->nccl;
    int rc = N(GroupStart)();
    if (fine(rc) && a->root >= 0)
        rc = N(Send)(a->send, a->count * t.factor, t.type, a->root, d->comm, a->stream);
    if (fine(rc) && a->source >= 0)
        rc = N(Recv)(a->recv, a->recv_count * t.factor, t.type, a->source, d->comm, a->stream);
    return group_end(n, rc);
}

static int run(const struct rmpi_device *d, const struct rmpi_comm *c, const struct rmpi_call *a)
{
    const struct rmpi_nccl *n = d->nccl;
    struct rmpi_nccl_type t = {NCCL_UINT8, 1};
    size_t count;
    int op = 0;
    switch (a->row) {
    case RMPI_allreduce:
    case RMPI_reduce:
    case RMPI_reduce_scatter:
        rmpi_nccl_reduced(a->type, a->op, n->version, &t, &op);
        break;
    case RMPI_barrier:
        return N(AllReduce)(d->scratch, d->scratch, 1, NCCL_UINT8, 0, d->comm, a->stream);
    default:
        t = rmpi_nccl_moved(a->type, n->version);
    }
    count = (a->row == RMPI_recv ? a->recv_count : a->count) * t.factor;
    switch (a->row) {
    case RMPI_allreduce:
        return N(AllReduce)(a->send, a->recv, count, t.type, op, d->comm, a->stream);
    case RMPI_reduce:
        return N(Reduce)(a->send, a->recv, count, t.type, op, a->root, d->comm, a->stream);
    case RMPI_reduce_scatter:
        return N(ReduceScatter)(a->send, a->recv, count, t.type, op, d->comm, a->stream);
    case RMPI_bcast:
        return N(Broadcast)(a->recv, a->recv, count, t.type, a->root, d->comm, a->stream);
    case RMPI_allgather:
        return N(AllGather)(a->send, a->recv, count, t.type, d->comm, a->stream);
    case RMPI_alltoall:
        return rmpi_nccl_all_to_all(d, c->size, a->send, a->recv, count, t.type, a->stream);
    case RMPI_gather:
        if (RMPI_NCCL_HAS(n, Gather))
            return N(Gather)(a->send, a->recv, count, t.type, a->root, d->comm, a->stream);
        return rooted(d, c, a, t);
    case RMPI_scatter:
        if (RMPI_NCCL_HAS(n, Scatter))
            return N(Scatter)(a->send, a->recv, count, t.type, a->root, d->comm, a->stream);
        return rooted(d, c, a, t);
    case RMPI_send:
        return a->root < 0 ? 0 : N(Send)(a->send, count, t.type, a->root, d->comm, a->stream);
    case RMPI_recv:
        return a->source < 0 ? 0 : N(Recv)(a->recv, count, t.type, a->source, d->comm, a->stream);
    case RMPI_sendrecv:
        return send_and_receive(d, a, t);
    }
    return NCCL_INVALID_USAGE;
}

int rmpi_stream_run(const struct rmpi_comm *c, const struct rmpi_call *a)
{
    const struct rmpi_device *d = c->device;
    int rc;
    rmpi_ensure_context(d);
    rc = run(d, c, a);
    return __builtin_expect(rc == NCCL_IN_PROGRESS, 0) ? rmpi_nccl_settle(d, rc) : rc;
}
