/*
 * NCCL's functions under our names: the same prototypes, our communicators. Compiled code ignores what they return, so a failure is
 * also latched on the communicator.
 */
#include "capi/compiled.h"
#include "capi/device.h"

/*
 * The communicator that a word means. A raw ncclComm_t is looked for among the live communicators: there are few, and their slots are
 * neighbours.
 */
static struct rmpi_comm *find(const void *word)
{
    struct rmpi_comm *c = rmpi_comm_slot(word);
    if (c)
        return rmpi_comm_state(c) == RMPI_FREE || rmpi_comm_state(c) == RMPI_CLAIMED ? NULL : c;
    for (int id = rmpi_comm_next() - 1; id > 0 && word; id--)
        if (rmpi_comm_state(&rmpi_comms[id]) == RMPI_LIVE && rmpi_comms[id].device && rmpi_comms[id].device->comm == word)
            return &rmpi_comms[id];
    return NULL;
}

static __attribute__((cold, noinline)) int refuse(const char *name, struct rmpi_comm *c, const void *word)
{
    int code;
    if (!c)
        code = rmpi_fail(REACTANT_MPI_ERR_COMM, "%s: %p is neither a communicator of this library nor an ncclComm_t that it handed out",
                         name, word);
    else if (rmpi_comm_state(c) != RMPI_LIVE)
        code = rmpi_bad_comm(name, word);
    else if (!c->device)
        code = rmpi_call_failed(c, REACTANT_MPI_ERR_NO_DEVICE, name, "a host communicator cannot take device buffers");
    else
        code = rmpi_call_failed(c, REACTANT_MPI_ERR_NCCL, name, "an earlier failure ended device calls on this communicator");
    rmpi_compiled_failed(name, c, code);
    return c ? NCCL_INVALID_USAGE : NCCL_INVALID_ARGUMENT;
}

static __attribute__((cold, noinline)) int failed(const char *name, struct rmpi_comm *c, int rc)
{
    char text[RMPI_NCCL_TEXT];
    rmpi_nccl_text(c->device->nccl, rc, text);
    rmpi_compiled_failed(name, c, rmpi_call_failed(c, REACTANT_MPI_ERR_NCCL, name, "%s; NCCL %s", text, c->device->nccl->path));
    return rc;
}

/* Look the communicator up and make sure of the context; call and report. */
#define FIND_COMM(name)                                                                              \
    struct rmpi_comm *c = find(comm);                                                                \
    const struct rmpi_device *d;                                                                     \
    int rc;                                                                                          \
    if (unlikely(!c || rmpi_comm_state(c) != RMPI_LIVE || !c->device || rmpi_modes(c) & RMPI_DEVICE_FAILED)) \
        return refuse("reactant_mpi_" name, c, comm);                                                \
    d = c->device;                                                                                   \
    rmpi_ensure_context(d)
#define RETURN(name, call)                                                                           \
    rc = call;                                                                                       \
    if (unlikely(rc == NCCL_IN_PROGRESS))                                                            \
        rc = rmpi_nccl_settle(d, rc);                                                                \
    return likely(rc == 0) ? 0 : failed("reactant_mpi_" name, c, rc)
#define ON_COMM(name, call) \
    FIND_COMM(name);          \
    RETURN(name, call)

/*
 * Enzyme-JAX gives two allreduces of one operation and type the same wrapper, with the count of one of them: elements behind the buffer would be
 * reduced. With option check an allocation that ends before them is an error; XLA's pool, one allocation, hides what stays inside it.
 */
static __attribute__((cold, noinline)) int too_short(struct rmpi_comm *c, const void *buffer, size_t count, int type)
{
    static const char *const name = "reactant_mpi_ncclAllReduce";
    static const unsigned char bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1}; /* of ncclDataType_t */
    struct rmpi_gpu *gpu = c->device->gpu;
    size_t room, need;
    if (!gpu->room || (unsigned)type >= sizeof bytes || gpu->room(gpu, buffer, &room) != 0 ||
        (!__builtin_mul_overflow(count, bytes[type], &need) && need <= room))
        return 0;
    rmpi_compiled_failed(name, c,
                         rmpi_call_failed(c, REACTANT_MPI_ERR_COUNT, name,
                                          "%zu elements of %d bytes do not fit the %zu bytes that the allocation has from %p on. "
                                          "Enzyme-JAX gives all allreduces of one operation and type in a program the count of one of them "
                                          "(docs/known-issues.md)",
                                          count, bytes[type], room, buffer));
    return 1;
}

int reactant_mpi_ncclAllReduce(const void *send, void *recv, size_t count, int type, int op, void *comm, void *stream)
{
    FIND_COMM("ncclAllReduce");
    if (unlikely(rmpi_modes(c) & RMPI_CHECK) && (too_short(c, send, count, type) || too_short(c, recv, count, type)))
        return NCCL_INVALID_ARGUMENT;
    RETURN("ncclAllReduce", RMPI_NCCL(d->nccl, AllReduce)(send, recv, count, type, op, d->comm, stream));
}

int reactant_mpi_ncclReduce(const void *send, void *recv, size_t count, int type, int op, int root, void *comm, void *stream)
{
    ON_COMM("ncclReduce", RMPI_NCCL(d->nccl, Reduce)(send, recv, count, type, op, root, d->comm, stream));
}

int reactant_mpi_ncclBroadcast(const void *send, void *recv, size_t count, int type, int root, void *comm, void *stream)
{
    ON_COMM("ncclBroadcast", RMPI_NCCL(d->nccl, Broadcast)(send, recv, count, type, root, d->comm, stream));
}

int reactant_mpi_ncclAllGather(const void *send, void *recv, size_t count, int type, void *comm, void *stream)
{
    ON_COMM("ncclAllGather", RMPI_NCCL(d->nccl, AllGather)(send, recv, count, type, d->comm, stream));
}

int reactant_mpi_ncclReduceScatter(const void *send, void *recv, size_t count, int type, int op, void *comm, void *stream)
{
    ON_COMM("ncclReduceScatter", RMPI_NCCL(d->nccl, ReduceScatter)(send, recv, count, type, op, d->comm, stream));
}

int reactant_mpi_ncclAlltoAll(const void *send, void *recv, size_t count, int type, void *comm, void *stream)
{
    ON_COMM("ncclAlltoAll", rmpi_nccl_all_to_all(d, c->size, send, recv, count, type, stream));
}

int reactant_mpi_ncclSend(const void *send, size_t count, int type, int peer, void *comm, void *stream)
{
    ON_COMM("ncclSend", RMPI_NCCL(d->nccl, Send)(send, count, type, peer, d->comm, stream));
}

int reactant_mpi_ncclRecv(void *recv, size_t count, int type, int peer, void *comm, void *stream)
{
    ON_COMM("ncclRecv", RMPI_NCCL(d->nccl, Recv)(recv, count, type, peer, d->comm, stream));
}

int reactant_mpi_ncclCommCount(void *comm, int *count)
{
    ON_COMM("ncclCommCount", RMPI_NCCL(d->nccl, CommCount)(d->comm, count));
}

int reactant_mpi_ncclCommUserRank(void *comm, int *rank)
{
    ON_COMM("ncclCommUserRank", RMPI_NCCL(d->nccl, CommUserRank)(d->comm, rank));
}

int reactant_mpi_ncclCommCuDevice(void *comm, int *device)
{
    ON_COMM("ncclCommCuDevice", RMPI_NCCL(d->nccl, CommCuDevice)(d->comm, device));
}

int reactant_mpi_ncclCommGetAsyncError(void *comm, int *error)
{
    ON_COMM("ncclCommGetAsyncError", RMPI_NCCL(d->nccl, CommGetAsyncError)(d->comm, error));
}

/* By our own split, which gives the new communicator both halves. */
int reactant_mpi_ncclCommSplit(void *comm, int color, int key, void **out, void *config)
{
    static const char *const name = "reactant_mpi_ncclCommSplit";
    struct rmpi_comm *c = find(comm);
    reactant_mpi_comm *made = NULL;
    int code;
    (void)config;
    if (out)
        *out = NULL;
    if (!c || rmpi_comm_state(c) != RMPI_LIVE || !c->device || rmpi_modes(c) & RMPI_DEVICE_FAILED)
        return refuse(name, c, comm);
    code = out ? reactant_mpi_comm_split((reactant_mpi_comm *)c, color, key, &made)
               : rmpi_fail(REACTANT_MPI_ERR_ARGUMENT, "%s: the place for the communicator is NULL", name);
    if (code != 0) {
        rmpi_compiled_failed(name, c, code);
        return out ? NCCL_INTERNAL : NCCL_INVALID_ARGUMENT;
    }
    if (made)
        rmpi_comm_slot(made)->of_nccl_split = 1;
    *out = made;
    return 0;
}

/* Ours to end: code compiled against NCCL may think that it owns what it was given. */
static int leave(const char *name, void *comm)
{
    struct rmpi_comm *c = find(comm);
    return c ? 0 : refuse(name, c, comm);
}

int reactant_mpi_ncclCommFinalize(void *comm)
{
    return leave("reactant_mpi_ncclCommFinalize", comm);
}

int reactant_mpi_ncclCommDestroy(void *comm)
{
    static const char *const name = "reactant_mpi_ncclCommDestroy";
    struct rmpi_comm *c = find(comm);
    int code;
    if (!c || !c->of_nccl_split || rmpi_comm_state(c) != RMPI_LIVE)
        return leave(name, comm);
    if ((code = reactant_mpi_comm_free((reactant_mpi_comm *)c)) == 0)
        return 0;
    rmpi_compiled_failed(name, c, code);
    return NCCL_INTERNAL;
}

int reactant_mpi_ncclCommAbort(void *comm)
{
    return leave("reactant_mpi_ncclCommAbort", comm);
}

/* Groups belong to a thread and not to a communicator; what was enqueued in one fails at its end. */
static int group(const char *name, int (*call)(const struct rmpi_nccl *))
{
    const struct rmpi_nccl *n = rmpi_nccl_bound();
    char text[RMPI_NCCL_TEXT];
    int rc;
    if (rmpi_forked() || !n) {
        rmpi_compiled_failed(name, NULL, rmpi_forked() ? rmpi_control_refused(name)
                                                       : rmpi_fail(REACTANT_MPI_ERR_NO_DEVICE, "%s: no NCCL has been loaded", name));
        return NCCL_INVALID_USAGE;
    }
    if ((rc = call(n)) == 0)
        return 0;
    rmpi_nccl_text(n, rc, text);
    rmpi_compiled_failed(name, NULL, rmpi_fail(REACTANT_MPI_ERR_NCCL, "%s: %s; NCCL %s", name, text, n->path));
    return rc;
}

static int group_start(const struct rmpi_nccl *n)
{
    return RMPI_NCCL(n, GroupStart)();
}

int reactant_mpi_ncclGroupStart(void)
{
    return group("reactant_mpi_ncclGroupStart", group_start);
}

int reactant_mpi_ncclGroupEnd(void)
{
    return group("reactant_mpi_ncclGroupEnd", rmpi_group_end);
}

const char *reactant_mpi_ncclGetErrorString(int code)
{
    const struct rmpi_nccl *n = rmpi_nccl_bound();
    return n && n->error_string ? n->error_string(code) : "no NCCL has been loaded";
}
