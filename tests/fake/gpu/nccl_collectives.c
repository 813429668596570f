/*
 * The data calls of the doubles of libnccl and librccl: their checks, then into a group. What they do is in nccl_move.c.
 * Stricter than the real one: host pointers, memory of another device, ranges that end too early and in-place all-to-all are refused.
 */
#include <string.h>

#include "nccl.h"

#if NCCL_CODE >= 22400 || defined FAKE_RCCL
#define TYPES N_TYPES
#else
#define TYPES FLOAT8E4M3
#endif

static struct scalar *scalar_of(ncclComm_t comm, int op)
{
    int i = op - N_OPS;
    return i >= 0 && i < MAX_SCALARS && comm->scalars[i].used ? &comm->scalars[i] : NULL;
}

/* The bytes of a device pointer of the communicator's device, or NULL with the text. */
static void *data(const char *function, const char *which, const struct task *task, const void *pointer, uint64_t count)
{
    int device = -1;
    size_t bytes = count * type_size(task->type);
    void *at = gpu()->range((uintptr_t)pointer, bytes, &device);
    if (!at)
        fail(INVALID_ARGUMENT, "%s : %s %p of %zu bytes is not in the memory of a device", function, which, pointer, bytes);
    else if (device != task->comm->device)
        fail(INVALID_ARGUMENT, "%s : %s %p is allocated on device %d mismatchs with NCCL device %d", function, which, pointer, device,
             task->comm->device);
    return device == task->comm->device ? at : NULL;
}

static ncclResult_t check(const char *function, struct task *task)
{
    ncclComm_t comm = task->comm;
    ncclResult_t code = comm_ready(comm, function);
    if (code != SUCCESS)
        return code;
    if (task->type < 0 || task->type >= TYPES)
        return fail(INVALID_ARGUMENT, "%s : invalid type %d", function, task->type);
    if (task->root < 0 || task->root >= comm->nranks)
        return fail(INVALID_ARGUMENT, "%s : invalid root %d (root should be in the 0..%d range)", function, task->root, comm->nranks);
    if (task->op >= N_OPS) {
        const struct scalar *scalar = scalar_of(comm, task->op);
        if (!scalar)
            return fail(INVALID_ARGUMENT, "%s : reduction operation %d unknown to ncclComm %p", function, task->op, (void *)comm);
        if (scalar->type != task->type)
            return fail(INVALID_ARGUMENT, "%s : reduction operation data type %d does not match %d", function, scalar->type, task->type);
        task->scalar = *scalar;
        task->op = PREMUL;
    } else if (task->op < 0) {
        return fail(INVALID_ARGUMENT, "%s : invalid reduction operation %d", function, task->op);
    }
    return SUCCESS;
}

static ncclResult_t place(const char *function, struct task *task)
{
    uint64_t n = (uint64_t)task->comm->nranks, all = task->count * n;
    bool root = task->root == task->comm->rank;
    enum kind kind = task->kind;
    bool sends = kind != RECV && (root || (kind != BROADCAST && kind != SCATTER) || kind == SEND);
    bool receives = kind != SEND && (root || (kind != REDUCE && kind != GATHER) || kind == RECV);
    uint64_t out = kind == REDUCE_SCATTER || kind == ALL_TO_ALL || kind == SCATTER ? all : task->count;
    uint64_t in = kind == ALL_GATHER || kind == ALL_TO_ALL || kind == GATHER ? all : task->count;
    if (kind == ALL_TO_ALL && task->send == task->recv && n > 1)
        return fail(INVALID_ARGUMENT, "%s : not possible in place", function);
    if (sends && !(task->send = data(function, "sendbuff", task, task->send, out)))
        return INVALID_ARGUMENT;
    if (receives && !(task->recv = data(function, "recvbuff", task, task->recv, in)))
        return INVALID_ARGUMENT;
    if (n == 1) { /* whoever is alone moves its own; in place nothing */
        task->send = task->send ? task->send : task->recv;
        task->recv = task->recv ? task->recv : (char *)task->send;
    }
    return SUCCESS;
}

ncclResult_t collective(const char *function, struct task task)
{
    static struct fake_site operation;
    ncclResult_t code = check(function, &task);
    if (code == SUCCESS && task.count == 0 && task.kind < SEND)
        return SUCCESS;
    if (code == SUCCESS && task.count)
        code = place(function, &task);
    if (code != SUCCESS)
        return group_failed(code);
    task.fault = fake_enter(&operation, "async");
    group_start();
    group_add(&task);
    return group_end();
}

/* An op or root of NONE is none: '-' in the trace. */
enum { NONE = -1000 };

#define CALL(kind_, send_, recv_, root_, op_)                                                                                      \
    ENTER((long)count, type, op_, root_, comm, stream);                                                                            \
    return collective(__func__, (struct task){.comm = comm, .stream = stream, .kind = kind_, .send = send_, .recv = recv_,         \
                                              .count = count, .type = type, .op = (op_) == NONE ? 0 : op_,                         \
                                              .root = (root_) == NONE ? 0 : root_})

API(ncclAllReduce, const void *send, void *recv, size_t count, int type, int op, ncclComm_t comm, void *stream)
{
    CALL(ALL_REDUCE, send, recv, NONE, op);
}

API(ncclReduce, const void *send, void *recv, size_t count, int type, int op, int root, ncclComm_t comm, void *stream)
{
    CALL(REDUCE, send, recv, root, op);
}

API(ncclReduceScatter, const void *send, void *recv, size_t count, int type, int op, ncclComm_t comm, void *stream)
{
    CALL(REDUCE_SCATTER, send, recv, NONE, op);
}

API(ncclBroadcast, const void *send, void *recv, size_t count, int type, int root, ncclComm_t comm, void *stream)
{
    CALL(BROADCAST, send, recv, root, NONE);
}

API(ncclBcast, void *buffer, size_t count, int type, int root, ncclComm_t comm, void *stream)
{
    CALL(BROADCAST, buffer, buffer, root, NONE);
}

API(ncclAllGather, const void *send, void *recv, size_t count, int type, ncclComm_t comm, void *stream)
{
    CALL(ALL_GATHER, send, recv, NONE, NONE);
}

API(ncclSend, const void *buffer, size_t count, int type, int peer, ncclComm_t comm, void *stream)
{
    CALL(SEND, buffer, NULL, peer, NONE);
}

API(ncclRecv, void *buffer, size_t count, int type, int peer, ncclComm_t comm, void *stream)
{
    CALL(RECV, NULL, buffer, peer, NONE);
}

#if NCCL_CODE >= 22803
API(ncclAlltoAll, const void *send, void *recv, size_t count, int type, ncclComm_t comm, void *stream)
{
    CALL(ALL_TO_ALL, send, recv, NONE, NONE);
}
#endif

#if NCCL_CODE >= 22803 || defined FAKE_RCCL
API(ncclGather, const void *send, void *recv, size_t count, int type, int root, ncclComm_t comm, void *stream)
{
    CALL(GATHER, send, recv, root, NONE);
}

API(ncclScatter, const void *send, void *recv, size_t count, int type, int root, ncclComm_t comm, void *stream)
{
    CALL(SCATTER, send, recv, root, NONE);
}
#endif

#ifdef FAKE_RCCL
API(ncclAllToAll, const void *send, void *recv, size_t count, int type, ncclComm_t comm, void *stream)
{
    CALL(ALL_TO_ALL, send, recv, NONE, NONE);
}

API(ncclAllToAllv, const void *send, const size_t counts[], const size_t displs[], void *recv, const size_t recv_counts[],
    const size_t recv_displs[], int type, ncclComm_t comm, void *stream)
{
    ENTER(-1, type, -1, -1, comm, stream);
    ncclResult_t code = comm_ready(comm, __func__);
    size_t bytes = type_size(type);
    group_start();
    for (int i = 0; code == SUCCESS && i < comm->nranks; i++) {
        struct task task = {.comm = comm, .stream = stream, .type = type, .root = i};
        task.kind = SEND, task.send = (const char *)send + displs[i] * bytes, task.count = counts[i];
        if (task.count)
            code = collective(__func__, task);
        task.kind = RECV, task.recv = (char *)recv + recv_displs[i] * bytes, task.count = recv_counts[i];
        if (task.count && code == SUCCESS)
            code = collective(__func__, task);
    }
    group_failed(code);
    return group_end();
}

#ifdef FAKE_NEW_SPELLING
API(ncclAlltoAll, const void *send, void *recv, size_t count, int type, ncclComm_t comm, void *stream)
{
    CALL(ALL_TO_ALL, send, recv, NONE, NONE);
}

API(ncclAlltoAllv, const void *send, const size_t counts[], const size_t displs[], void *recv, const size_t recv_counts[],
    const size_t recv_displs[], int type, ncclComm_t comm, void *stream)
{
    return ncclAllToAllv(send, counts, displs, recv, recv_counts, recv_displs, type, comm, stream);
}
#endif
#endif

/* ---- the caller's own operations ---- */

API(ncclRedOpCreatePreMulSum, int *op, void *scalar, int type, int residence, ncclComm_t comm)
{
    ENTER(residence, type, -1, -1, comm, NULL);
    ncclResult_t code = comm_ready(comm, __func__);
    if (code != SUCCESS)
        return code;
    if (!op || !scalar || type < 0 || type >= TYPES || (residence != 0 && residence != 1))
        return fail(INVALID_ARGUMENT, "ncclRedOpCreatePreMulSum: invalid argument");
    struct scalar made = {.used = true, .on_device = residence == 0, .type = type};
    if (!made.on_device)
        memcpy(&made.value, scalar, type_size(type));
    else if (!(made.where = gpu()->range((uintptr_t)scalar, type_size(type), NULL)))
        return fail(INVALID_ARGUMENT, "ncclRedOpCreatePreMulSum: scalar %p is not in the memory of a device", scalar);
    for (int i = 0; i < MAX_SCALARS; i++)
        if (!comm->scalars[i].used) {
            comm->scalars[i] = made;
            *op = N_OPS + i;
            return SUCCESS;
        }
    return fail(INTERNAL_ERROR, "a test double has room for %d operations", MAX_SCALARS);
}

API(ncclRedOpDestroy, int op, ncclComm_t comm)
{
    ENTER(-1, -1, op, -1, comm, NULL);
    if (op >= 0 && op < N_OPS)
        return fail(INVALID_ARGUMENT, "ncclRedOpDestroy : operator is a NCCL builtin.");
    if (!comm || !comm_known(comm) || comm->live != LIVE || !scalar_of(comm, op))
        return fail(INVALID_ARGUMENT, "ncclRedOpDestroy : operator unknown to communicator.");
    scalar_of(comm, op)->used = false;
    return SUCCESS;
}
