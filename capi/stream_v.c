/*
 * Device calls with blocks of different sizes, and permute: NCCL has no such functions, so each is one group of its messages or reduces.
 */
#include "capi/device.h"
#include "capi/types.h"

#define FAIL(code, ...) return rmpi_call_failed(c, REACTANT_MPI_ERR_##code, name, __VA_ARGS__)

/* A checked call: the communicator, how NCCL names the type, bytes of an element. */
struct v {
    const char *name;
    struct rmpi_comm *c;
    const struct rmpi_device *d;
    const struct rmpi_nccl *n;
    struct rmpi_nccl_type t;
    size_t bytes;
    void *stream;
    int rc; /* of NCCL, inside the group */
};

static int begin(struct v *v, const char *name, const void *word, int type, void *stream)
{
    int index, rc;
    struct rmpi_comm *c = rmpi_device_comm(name, word, &rc);
    if (!c)
        return rc;
    if ((index = rmpi_type_of(type)) < 0)
        FAIL(TYPE, "%#x is no element type", (unsigned)type);
    *v = (struct v){name, c, c->device, c->device->nccl, rmpi_nccl_moved(index, c->device->nccl->version), types[index].bytes, stream, 0};
    return 0;
}

/* Every block must lie in the address space, and a buffer that is used must be there. */
static int check_blocks(const struct v *v, const char *what, const void *buffer, const size_t *counts, const size_t *displs)
{
    struct rmpi_comm *c = v->c;
    const char *name = v->name;
    if (!counts || !displs)
        FAIL(ARGUMENT, "the counts or displacements of the %s buffer are NULL", what);
    for (int r = 0; r < c->size; r++) {
        size_t end;
        if (__builtin_add_overflow(counts[r], displs[r], &end) || end > PTRDIFF_MAX / v->bytes)
            FAIL(COUNT, "block %d of the %s buffer (%zu elements at %zu) does not fit the address space", r, what, counts[r], displs[r]);
        if (counts[r] && (!buffer || buffer == REACTANT_MPI_IN_PLACE))
            FAIL(ARGUMENT, "the %s buffer is %s", what, buffer ? "IN_PLACE, which it cannot be here" : "NULL");
    }
    return 0;
}

static int check_block(const struct v *v, const char *what, const void *buffer, size_t count)
{
    struct rmpi_comm *c = v->c;
    const char *name = v->name;
    if (count > PTRDIFF_MAX / v->bytes)
        FAIL(COUNT, "count %zu does not fit the address space", count);
    if (count && (!buffer || buffer == REACTANT_MPI_IN_PLACE))
        FAIL(ARGUMENT, "the %s buffer is %s", what, buffer ? "IN_PLACE, which it cannot be here" : "NULL");
    return 0;
}

static int check_root(const struct v *v, int root)
{
    struct rmpi_comm *c = v->c;
    const char *name = v->name;
    if ((unsigned)root >= (unsigned)c->size)
        FAIL(RANK, "root %d is outside the communicator's ranks 0 to %d", root, c->size - 1);
    return 0;
}

static void *at(const void *buffer, size_t elements, const struct v *v)
{
    return (char *)(uintptr_t)buffer + elements * v->bytes;
}

static int fine(int rc)
{
    return rc == NCCL_SUCCESS || rc == NCCL_IN_PROGRESS;
}

static void open_group(struct v *v)
{
    rmpi_ensure_context(v->d);
    v->rc = RMPI_NCCL(v->n, GroupStart)();
}

/* The group is closed whatever happened in it, or the thread would stay inside. */
static int close_group(struct v *v)
{
    int end = RMPI_NCCL(v->n, GroupEnd)();
    if (fine(v->rc))
        v->rc = end;
    return rmpi_device_result(v->name, v->c, rmpi_nccl_settle(v->d, v->rc));
}

static void put(struct v *v, const void *buffer, size_t count, int peer)
{
    if (count && fine(v->rc))
        v->rc = RMPI_NCCL(v->n, Send)(buffer, count * v->t.factor, v->t.type, peer, v->d->comm, v->stream);
}

static void get(struct v *v, void *buffer, size_t count, int peer)
{
    if (count && fine(v->rc))
        v->rc = RMPI_NCCL(v->n, Recv)(buffer, count * v->t.factor, v->t.type, peer, v->d->comm, v->stream);
}

int reactant_mpi_allgatherv_stream(const void *send, size_t count, void *recv, const size_t *counts, const size_t *displs, int type,
                                   reactant_mpi_comm *comm, void *stream)
{
    struct v v;
    int rc = begin(&v, "reactant_mpi_allgatherv_stream", comm, type, stream), in_place;
    if (rc != 0 || (rc = check_blocks(&v, "receive", recv, counts, displs)) != 0)
        return rc;
    in_place = send == REACTANT_MPI_IN_PLACE || send == at(recv, displs[v.c->rank], &v);
    if (in_place) {
        send = at(recv, displs[v.c->rank], &v);
        count = counts[v.c->rank];
    } else if ((rc = check_block(&v, "send", send, count)) != 0) {
        return rc;
    }
    open_group(&v);
    for (int r = 0; r < v.c->size; r++) {
        if (in_place && r == v.c->rank)
            continue;
        put(&v, send, count, r);
        get(&v, at(recv, displs[r], &v), counts[r], r);
    }
    return close_group(&v);
}

int reactant_mpi_gatherv_stream(const void *send, size_t count, void *recv, const size_t *counts, const size_t *displs, int type,
                                int root, reactant_mpi_comm *comm, void *stream)
{
    struct v v;
    int rc = begin(&v, "reactant_mpi_gatherv_stream", comm, type, stream), at_root, in_place;
    if (rc != 0 || (rc = check_root(&v, root)) != 0)
        return rc;
    at_root = root == v.c->rank;
    if (at_root && (rc = check_blocks(&v, "receive", recv, counts, displs)) != 0)
        return rc;
    in_place = at_root && (send == REACTANT_MPI_IN_PLACE || send == at(recv, displs[root], &v));
    if (!in_place && (rc = check_block(&v, "send", send, count)) != 0)
        return rc;
    open_group(&v);
    if (!in_place)
        put(&v, send, count, root);
    for (int r = 0; at_root && r < v.c->size; r++)
        if (!in_place || r != root)
            get(&v, at(recv, displs[r], &v), counts[r], r);
    return close_group(&v);
}

int reactant_mpi_scatterv_stream(const void *send, const size_t *counts, const size_t *displs, void *recv, size_t count, int type,
                                 int root, reactant_mpi_comm *comm, void *stream)
{
    struct v v;
    int rc = begin(&v, "reactant_mpi_scatterv_stream", comm, type, stream), at_root, in_place;
    if (rc != 0 || (rc = check_root(&v, root)) != 0)
        return rc;
    at_root = root == v.c->rank;
    if (at_root && (rc = check_blocks(&v, "send", send, counts, displs)) != 0)
        return rc;
    in_place = at_root && (recv == REACTANT_MPI_IN_PLACE || recv == at(send, displs[root], &v));
    if (!in_place && (rc = check_block(&v, "receive", recv, count)) != 0)
        return rc;
    open_group(&v);
    if (!in_place)
        get(&v, recv, count, root);
    for (int r = 0; at_root && r < v.c->size; r++)
        if (!in_place || r != root)
            put(&v, at(send, displs[r], &v), counts[r], r);
    return close_group(&v);
}

int reactant_mpi_alltoallv_stream(const void *send, const size_t *send_counts, const size_t *send_displs, void *recv,
                                  const size_t *recv_counts, const size_t *recv_displs, int type, reactant_mpi_comm *comm,
                                  void *stream)
{
    struct v v;
    int rc = begin(&v, "reactant_mpi_alltoallv_stream", comm, type, stream);
    if (rc != 0 || (rc = check_blocks(&v, "send", send, send_counts, send_displs)) != 0 ||
        (rc = check_blocks(&v, "receive", recv, recv_counts, recv_displs)) != 0)
        return rc;
    if (send && send == recv)
        return rmpi_call_failed(v.c, REACTANT_MPI_ERR_ARGUMENT, v.name, "an all-to-all on a device cannot work in place");
    open_group(&v);
    for (int r = 0; r < v.c->size; r++) {
        put(&v, at(send, send_displs[r], &v), send_counts[r], r);
        get(&v, at(recv, recv_displs[r], &v), recv_counts[r], r);
    }
    return close_group(&v);
}

int reactant_mpi_reduce_scatterv_stream(const void *send, void *recv, const size_t *counts, int type, int op, reactant_mpi_comm *comm,
                                        void *stream)
{
    struct v v;
    const char *why;
    size_t before = 0, total = 0;
    int rc = begin(&v, "reactant_mpi_reduce_scatterv_stream", comm, type, stream), index = rmpi_op_of(op), nccl_op;
    if (rc != 0)
        return rc;
    if (index < 0)
        return rmpi_call_failed(v.c, REACTANT_MPI_ERR_OP, v.name, "%#x is no operation", (unsigned)op);
    if ((why = rmpi_nccl_reduced(rmpi_type_of(type), index, v.n->version, &v.t, &nccl_op)) != NULL)
        return rmpi_call_failed(v.c, REACTANT_MPI_ERR_OP, v.name, "operation %#x on type %#x: %s", (unsigned)op, (unsigned)type, why);
    if (!counts)
        return rmpi_call_failed(v.c, REACTANT_MPI_ERR_ARGUMENT, v.name, "the counts are NULL");
    for (int r = 0; r < v.c->size; r++)
        if (__builtin_add_overflow(total, counts[r], &total))
            total = SIZE_MAX;
    if ((rc = check_block(&v, "send", send, total)) != 0 || (rc = check_block(&v, "receive", recv, counts[v.c->rank])) != 0)
        return rc;
    open_group(&v);
    for (int r = 0; r < v.c->size; before += counts[r], r++)
        if (counts[r] && fine(v.rc))
            v.rc = RMPI_NCCL(v.n, Reduce)(at(send, before, &v), recv, counts[r] * v.t.factor, v.t.type, nccl_op, r, v.d->comm, stream);
    return close_group(&v);
}

int reactant_mpi_permute_stream(const void *send, void *recv, size_t count, int type, int source, int n_dests, const int *dests,
                                reactant_mpi_comm *comm, void *stream)
{
    struct v v;
    int rc = begin(&v, "reactant_mpi_permute_stream", comm, type, stream);
    if (rc != 0 || (n_dests > 0 && (rc = check_block(&v, "send", send, count)) != 0) ||
        (rc = check_block(&v, "receive", recv, count)) != 0)
        return rc;
    if (send && send == recv && count)
        return rmpi_call_failed(v.c, REACTANT_MPI_ERR_ARGUMENT, v.name, "send and recv are the same buffer");
    if (n_dests < 0 || (n_dests > 0 && !dests))
        return rmpi_call_failed(v.c, REACTANT_MPI_ERR_ARGUMENT, v.name, "the list of %d destinations is not there", n_dests);
    for (int i = 0; i < n_dests; i++)
        if ((unsigned)dests[i] >= (unsigned)v.c->size)
            return rmpi_call_failed(v.c, REACTANT_MPI_ERR_RANK, v.name, "destination %d is outside the communicator's ranks 0 to %d",
                                    dests[i], v.c->size - 1);
    if (source != REACTANT_MPI_PROC_NULL && (unsigned)source >= (unsigned)v.c->size)
        return rmpi_call_failed(v.c, REACTANT_MPI_ERR_RANK, v.name, "source %d is neither a rank (0 to %d) nor PROC_NULL", source,
                                v.c->size - 1);
    if (source == REACTANT_MPI_PROC_NULL && count) {
        rmpi_ensure_context(v.d);
        if ((rc = v.d->gpu->zero(v.d->gpu, recv, count * v.bytes, stream)) != 0) {
            char text[RMPI_NCCL_TEXT];
            v.d->gpu->text(v.d->gpu, rc, text);
            return rmpi_call_failed(v.c, REACTANT_MPI_ERR_DRIVER, v.name, "filling with zeros: %s", text);
        }
    }
    open_group(&v);
    for (int i = 0; i < n_dests; i++)
        put(&v, send, count, dests[i]);
    if (source != REACTANT_MPI_PROC_NULL)
        get(&v, recv, count, source);
    return close_group(&v);
}
