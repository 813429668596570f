/*
 * Device calls of the table: check, then NCCL on the caller's stream. They enqueue and return; nothing here waits for the device.
 */
#include "capi/device.h"
#include "capi/types.h"
#include "internal/table/shapes.h"
#include "internal/trace/trace.h"

/* The rows again, where the compiler sees them: each function below keeps of the checks what its row needs. */
static const struct rmpi_row rows[RMPI_ROWS] = {
#define COLLECTIVE(name, shape, rules, large, ...) [RMPI_##name] = {"reactant_mpi_" #name "_stream", "", HAS_##shape | (rules), large},
#define VARIED(...)
#define EXCHANGE(...)
#define MESSAGE COLLECTIVE
#define PAIR COLLECTIVE
#define PROBE(...)
#include "internal/table/rows.inc"
#include "internal/table/end.h"
};

#define INLINE static inline __attribute__((always_inline))
#define FAIL(code, ...) return rmpi_call_failed(c, REACTANT_MPI_ERR_##code, name, __VA_ARGS__)

INLINE int check_type_and_op(const char *name, unsigned rules, struct rmpi_comm *c, struct rmpi_call *a)
{
    const int type = rmpi_type_of(a->type), op = rules & HAS_OP ? rmpi_op_of(a->op) : 0;
    struct rmpi_nccl_type t;
    const char *why;
    int nccl_op;
    if (type < 0)
        FAIL(TYPE, "%#x is no element type", (unsigned)a->type);
    if (rules & HAS_OP) {
        if (op < 0)
            FAIL(OP, "%#x is no operation", (unsigned)a->op);
        if ((why = rmpi_nccl_reduced(type, op, c->device->nccl->version, &t, &nccl_op)) != NULL)
            FAIL(OP, "operation %#x on type %#x: %s", (unsigned)a->op, (unsigned)a->type, why);
        a->op = op;
    }
    a->type = type;
    return 0;
}

INLINE int check_peer(const char *name, struct rmpi_comm *c, const char *what, int *peer)
{
    if (*peer == REACTANT_MPI_PROC_NULL)
        *peer = -1;
    else if ((unsigned)*peer >= (unsigned)c->size)
        FAIL(RANK, "%s %d is neither a rank (0 to %d) nor PROC_NULL; NCCL has no ANY_SOURCE", what, *peer, c->size - 1);
    return 0;
}

/* NCCL works in place on equal pointers, or on the own block of the large buffer: IN_PLACE becomes that pointer. */
INLINE int check_buffers(const char *name, unsigned rules, struct rmpi_comm *c, struct rmpi_call *a)
{
    const int at_root = !(rules & HAS_ROOT) || a->root == c->rank;
    const int send_counts = rules & HAS_SEND && (at_root || !(rules & SEND_AT_ROOT));
    const int recv_counts = rules & HAS_RECV && (at_root || !(rules & RECV_AT_ROOT));
    const size_t recv_count = rules & HAS_SOURCE ? a->recv_count : a->count;
    const size_t own = (size_t)c->rank * a->count * types[a->type].bytes;
    const int scatters = a->row == RMPI_reduce_scatter;

    if (scatters && (a->send == REACTANT_MPI_IN_PLACE || (a->send == a->recv && c->rank > 0 && a->count)))
        FAIL(ARGUMENT, "in place on a device is recv == send + rank * count");
    if (a->row == RMPI_alltoall && a->count && (a->send == REACTANT_MPI_IN_PLACE || a->send == a->recv))
        FAIL(ARGUMENT, "an all-to-all on a device cannot work in place");
    if (a->row == RMPI_sendrecv && a->send == a->recv && a->count && recv_count)
        FAIL(ARGUMENT, "send and recv are the same buffer");
    if (send_counts && recv_counts && rules & SEND_IN_PLACE && a->send == REACTANT_MPI_IN_PLACE)
        a->send = (char *)a->recv + (rules & OWN_BLOCK_IS_IN_PLACE ? own : 0);
    if (send_counts && recv_counts && rules & RECV_IN_PLACE && a->recv == REACTANT_MPI_IN_PLACE)
        a->recv = (char *)(uintptr_t)a->send + own;
    if (send_counts && (a->send == REACTANT_MPI_IN_PLACE || (!a->send && a->count)))
        FAIL(ARGUMENT, "the send buffer is %s", a->send ? "IN_PLACE, which it cannot be here" : "NULL");
    if (recv_counts && (a->recv == REACTANT_MPI_IN_PLACE || (!a->recv && recv_count)))
        FAIL(ARGUMENT, "the receive buffer is %s", a->recv ? "IN_PLACE, which it cannot be here" : "NULL");
    return 0;
}

INLINE int check_count(const char *name, const struct rmpi_row *row, struct rmpi_comm *c, struct rmpi_call *a)
{
    const size_t ranks = row->large == BY_BLOCK || row->large == BY_REDUCE ? (size_t)c->size : 1;
    size_t most = row->rules & HAS_SOURCE ? a->recv_count : a->count, bytes;
    if (row->rules & HAS_DEST && a->count > most)
        most = a->count;
    if (__builtin_mul_overflow(ranks * types[a->type].bytes, most, &bytes) || bytes > PTRDIFF_MAX)
        FAIL(COUNT, "count %zu of %d-byte elements does not fit the address space", most, types[a->type].bytes);
    return 0;
}

INLINE int check(const char *name, const struct rmpi_row *row, struct rmpi_comm *c, struct rmpi_call *a)
{
    const unsigned rules = row->rules;
    int rc;
    if (!(rules & (HAS_SEND | HAS_RECV)))
        return 0;
    if ((rc = check_type_and_op(name, rules, c, a)) != 0)
        return rc;
    if (rules & HAS_ROOT && (unsigned)a->root >= (unsigned)c->size)
        FAIL(RANK, "root %d is outside the communicator's ranks 0 to %d", a->root, c->size - 1);
    if (rules & HAS_DEST && (rc = check_peer(name, c, "destination", &a->root)) != 0)
        return rc;
    if (rules & HAS_SOURCE && (rc = check_peer(name, c, "source", &a->source)) != 0)
        return rc;
    if ((rc = check_buffers(name, rules, c, a)) != 0)
        return rc;
    return check_count(name, row, c, a);
}

struct rmpi_comm *rmpi_device_comm(const char *name, const void *word, int *rc)
{
    struct rmpi_comm *c = rmpi_comm_live(word);
    *rc = 0;
    if (unlikely(!c))
        *rc = rmpi_bad_comm(name, word);
    else if (unlikely(!c->device))
        *rc = rmpi_call_failed(c, REACTANT_MPI_ERR_NO_DEVICE, name,
                               "a host communicator cannot take device buffers; reactant_mpi_describe says why it has no GPU");
    else if (unlikely(rmpi_modes(c) & RMPI_DEVICE_FAILED))
        *rc = rmpi_call_failed(c, REACTANT_MPI_ERR_NCCL, name, "an earlier failure ended device calls on this communicator: %s",
                               c->error_text ? c->error_text : "");
    return *rc == 0 ? c : NULL;
}

int rmpi_device_result(const char *name, struct rmpi_comm *c, int rc)
{
    char text[RMPI_NCCL_TEXT];
    if (likely(rc == 0))
        return 0;
    rmpi_nccl_text(c->device->nccl, rc, text);
    FAIL(NCCL, "%s; NCCL %s", text, c->device->nccl->path);
}

static int traced(const char *name, struct rmpi_comm *c, struct rmpi_call *a)
{
    const int64_t begin = rmpi_trace_now();
    const int rc = rmpi_device_result(name, c, rmpi_stream_run(c, a));
    rmpi_trace_enqueued(c, a, begin, rc);
    return rc;
}

INLINE int on_stream(uint32_t id, const void *word, struct rmpi_call *a, void *stream)
{
    const char *name = rows[id].name;
    int rc;
    struct rmpi_comm *c = rmpi_device_comm(name, word, &rc);
    if (unlikely(!c))
        return rc;
    a->row = id;
    a->stream = stream;
    if (unlikely(rc = check(name, &rows[id], c, a)))
        return rc;
    if (unlikely(rmpi_modes(c) & RMPI_TRACE))
        return traced(name, c, a);
    return rmpi_device_result(name, c, rmpi_stream_run(c, a));
}

#define STREAM_COLLECTIVE(name, shape)                                                    \
    int reactant_mpi_##name##_stream(PARAMS_##shape reactant_mpi_comm *comm, void *stream) \
    {                                                                                     \
        struct rmpi_call a;                                                               \
        STORE_##shape(a);                                                                 \
        return on_stream(RMPI_##name, comm, &a, stream); \
    }
#define STREAM_MESSAGE(name, shape)                                                              \
    int reactant_mpi_##name##_stream(STREAM_PARAMS_##shape reactant_mpi_comm *comm, void *stream) \
    {                                                                                            \
        struct rmpi_call a;                                                                      \
        STREAM_STORE_##shape(a);                                                                 \
        return on_stream(RMPI_##name, comm, &a, stream);        \
    }
#define COLLECTIVE(name, shape, ...) STREAM_COLLECTIVE(name, shape)
#define MESSAGE(name, shape, ...) STREAM_MESSAGE(name, shape)
#define PAIR MESSAGE
#define VARIED(...)
#define EXCHANGE(...)
#define PROBE(...)
#include "internal/table/rows.inc"
#include "internal/table/end.h"

int rmpi_stream_row(uint32_t row, const void *word, struct rmpi_call *a, void *stream)
{
    return on_stream(row, word, a, stream);
}

/* ---- groups: of the one NCCL of the process, on the calling thread ---- */

/* Non-blocking communicators are still at work when the group ends. Which ones were in it only NCCL knows: all are waited for. */
int rmpi_group_end(const struct rmpi_nccl *n)
{
    int rc = RMPI_NCCL(n, GroupEnd)();
    if (likely(rc != NCCL_IN_PROGRESS))
        return rc;
    rc = NCCL_SUCCESS;
    for (int id = rmpi_comm_next() - 1; id > 0; id--) {
        const struct rmpi_comm *c = &rmpi_comms[id];
        int one;
        if (rmpi_comm_state(c) != RMPI_LIVE || !c->device || rmpi_modes(c) & RMPI_DEVICE_FAILED)
            continue;
        if ((one = rmpi_nccl_settle(c->device, NCCL_IN_PROGRESS)) != NCCL_SUCCESS)
            rc = one;
    }
    return rc;
}

static int group(const char *name, int start)
{
    const struct rmpi_nccl *n = rmpi_nccl_bound();
    char text[RMPI_NCCL_TEXT];
    int rc;
    if (rmpi_forked())
        return rmpi_control_refused(name);
    if (!n)
        return rmpi_fail(REACTANT_MPI_ERR_NO_DEVICE, "%s: no device communicator has been made", name);
    rc = start ? RMPI_NCCL(n, GroupStart)() : rmpi_group_end(n);
    if (rc == 0)
        return 0;
    rmpi_nccl_text(n, rc, text);
    return rmpi_fail(REACTANT_MPI_ERR_NCCL, "%s: %s", name, text);
}

int reactant_mpi_group_start(void)
{
    return group("reactant_mpi_group_start", 1);
}

int reactant_mpi_group_end(void)
{
    return group("reactant_mpi_group_end", 0);
}
