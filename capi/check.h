/*
 * The check of a call record, inlined into every public function with its row as a constant: what a row does not have costs nothing.
 * It turns type and operation into indices, equal pointers into IN_PLACE, and our peer and tag constants into the host MPI's.
 */
#ifndef RMPI_CAPI_CHECK_H
#define RMPI_CAPI_CHECK_H

#include "capi/blocks.h"
#include "capi/call.h"
#include "capi/types.h"

#define FAIL(code, ...) return rmpi_call_failed(c, REACTANT_MPI_ERR_##code, row->name, __VA_ARGS__)

static inline __attribute__((always_inline)) int check_type_and_op(const struct rmpi_row *row, struct rmpi_comm *c,
                                                                   struct rmpi_call *a)
{
    const int type = rmpi_type_of(a->type);
    if (unlikely(type < 0))
        FAIL(TYPE, "%#x is no element type", (unsigned)a->type);
    if (row->rules & HAS_OP) {
        const int op = rmpi_op_of(a->op);
        if (unlikely(op < 0))
            FAIL(OP, "%#x is no operation", (unsigned)a->op);
        if (unlikely(!(types[type].legal >> op & 1)))
            FAIL(OP, "operation %#x is not defined on type %#x (the pairs are listed in reactant_mpi.h)", (unsigned)a->op,
                 (unsigned)a->type);
        if (unlikely(op == RMPI_AVG)) {
            if (row->rules & NO_AVERAGE)
                FAIL(OP, "AVG is not defined here");
            a->special |= SPECIAL_AVERAGE;
        }
        a->op = op;
    }
    a->type = type;
    a->send_type = c->mpi->type[type];
    if (row->rules & HAS_SOURCE)
        a->recv_type = a->send_type;
    return 0;
}

static inline __attribute__((always_inline)) int check_peers(const struct rmpi_row *row, struct rmpi_comm *c, struct rmpi_call *a)
{
    const uint64_t *constant = c->mpi->constant;
    if (row->rules & HAS_ROOT && unlikely((unsigned)a->root >= (unsigned)c->size))
        FAIL(RANK, "root %d is outside the communicator's ranks 0 to %d", a->root, c->size - 1);
    if (row->rules & HAS_DEST) {
        if (a->root == REACTANT_MPI_PROC_NULL)
            a->root = (int)constant[RMPI_K_PROC_NULL];
        else if (unlikely((unsigned)a->root >= (unsigned)c->size))
            FAIL(RANK, "destination %d is neither a rank (0 to %d) nor PROC_NULL (%d)", a->root, c->size - 1,
                 REACTANT_MPI_PROC_NULL);
        if (unlikely(a->tag < 0 || a->tag > c->tag_ub))
            FAIL(RANK, "tag %d of the message sent is outside 0 to %d", a->tag, c->tag_ub);
    }
    if (row->rules & HAS_SOURCE) {
        if (a->source == REACTANT_MPI_ANY_SOURCE)
            a->source = (int)constant[RMPI_K_ANY_SOURCE];
        else if (a->source == REACTANT_MPI_PROC_NULL)
            a->source = (int)constant[RMPI_K_PROC_NULL];
        else if (unlikely((unsigned)a->source >= (unsigned)c->size))
            FAIL(RANK, "source %d is neither a rank (0 to %d) nor ANY_SOURCE (%d) nor PROC_NULL (%d)", a->source, c->size - 1,
                 REACTANT_MPI_ANY_SOURCE, REACTANT_MPI_PROC_NULL);
        if (a->recv_tag == REACTANT_MPI_ANY_TAG)
            a->recv_tag = (int)constant[RMPI_K_ANY_TAG];
        else if (unlikely(a->recv_tag < 0 || a->recv_tag > c->tag_ub))
            FAIL(RANK, "tag %d of the message received is neither 0 to %d nor ANY_TAG (%d)", a->recv_tag, c->tag_ub,
                 REACTANT_MPI_ANY_TAG);
    }
    return 0;
}

static inline __attribute__((always_inline)) int check_buffers(const struct rmpi_row *row, struct rmpi_comm *c, struct rmpi_call *a)
{
    const unsigned rules = row->rules;
    const int at_root = !(rules & HAS_ROOT) || a->root == c->rank;
    const int send_counts = rules & HAS_SEND && (at_root || !(rules & SEND_AT_ROOT));
    const int recv_counts = rules & HAS_RECV && (at_root || !(rules & RECV_AT_ROOT));
    const size_t recv_count = rules & HAS_SOURCE ? a->recv_count : a->count;

    if (send_counts && recv_counts) {
        const uintptr_t own = (uintptr_t)c->rank * a->count * types[a->type].bytes;
        if (rules & EQUAL_IS_IN_PLACE && a->send == a->recv)
            a->send = REACTANT_MPI_IN_PLACE;
        if (rules & EQUAL_IS_REFUSED && unlikely(a->send == a->recv) && a->send && a->count && recv_count)
            FAIL(ARGUMENT, "send and recv are the same buffer%s",
                 rules & SEND_IN_PLACE ? "; to work in place give REACTANT_MPI_IN_PLACE as send, on every rank" : "");
        if (rules & OWN_BLOCK_IS_IN_PLACE && rules & SEND_IN_PLACE && (uintptr_t)a->send == (uintptr_t)a->recv + own)
            a->send = REACTANT_MPI_IN_PLACE;
        if (rules & OWN_BLOCK_IS_IN_PLACE && rules & RECV_IN_PLACE && (uintptr_t)a->recv == (uintptr_t)a->send + own)
            a->recv = REACTANT_MPI_IN_PLACE;
    }
    if (send_counts) {
        if (unlikely(!a->send && a->count))
            FAIL(ARGUMENT, "the send buffer is NULL and its count %zu", a->count);
        if (unlikely(a->send == REACTANT_MPI_IN_PLACE) && !(rules & SEND_IN_PLACE && recv_counts))
            FAIL(ARGUMENT, "IN_PLACE cannot stand for the send buffer here");
    }
    if (recv_counts) {
        if (unlikely(!a->recv && recv_count))
            FAIL(ARGUMENT, "the %s buffer is NULL and its count %zu", rules & HAS_SEND ? "recv" : "only", recv_count);
        if (unlikely(a->recv == REACTANT_MPI_IN_PLACE) && !(rules & RECV_IN_PLACE && send_counts))
            FAIL(ARGUMENT, "IN_PLACE cannot stand for the %s buffer here", rules & HAS_SEND ? "recv" : "only");
    }
    return 0;
}

/* Whether one MPI call can carry it, and whether it fits memory at all. */
static inline __attribute__((always_inline)) int check_count(const struct rmpi_row *row, struct rmpi_comm *c, struct rmpi_call *a)
{
    const int blocks = row->large == BY_BLOCK || row->large == BY_REDUCE;
    const uint64_t limit = blocks ? c->max_block : c->max_count;
    size_t most = row->rules & HAS_SOURCE ? a->recv_count : a->count;
    if (row->rules & HAS_DEST && a->count > most)
        most = a->count;
    if (row->large != AS_IS && unlikely(most > limit)) {
        size_t bytes = types[a->type].bytes;
        if (__builtin_mul_overflow(bytes, blocks ? (size_t)c->size : 1, &bytes) || __builtin_mul_overflow(bytes, most, &bytes) ||
            bytes > PTRDIFF_MAX)
            FAIL(COUNT, "count %zu of %d-byte elements%s does not fit the address space", most, types[a->type].bytes,
                 blocks ? " on every rank" : "");
        a->special |= SPECIAL_LARGE;
    }
    return 0;
}

/* 0, or the public code of the first thing that is wrong. */
static inline __attribute__((always_inline)) int check(const struct rmpi_row *row, struct rmpi_comm *c, struct rmpi_call *a)
{
    int rc;
    a->special = row->rules & NO_MPI_CALL ? SPECIAL_MADE : 0;
    if (row->rules & (HAS_SEND | HAS_RECV) && unlikely(rc = check_type_and_op(row, c, a)))
        return rc;
    if (unlikely(rc = check_peers(row, c, a)))
        return rc;
    if (row->rules & HAS_COUNTS)
        return rmpi_check_blocks(row, c, a);
    if (row->rules & HAS_DESTS)
        return rmpi_check_permute(row, c, a);
    if (unlikely(rc = check_buffers(row, c, a)))
        return rc;
    return check_count(row, c, a);
}

#undef FAIL

/* A checked record, now. */
static inline __attribute__((always_inline)) int rmpi_now(uint32_t row, struct rmpi_comm *c, const struct rmpi_call *a)
{
    int rc;
    if (unlikely(rmpi_modes(c) | a->special))
        return rmpi_layers(c, a);
    rc = c->run[row](c, a);
    return likely(rc == 0) ? 0 : rmpi_mpi_failed(c, row, rc);
}

/* A blocking call on a live communicator: checked, then now. Row and number are constants wherever this is used. */
static inline __attribute__((always_inline)) int rmpi_blocking(const struct rmpi_row *about, uint32_t row, struct rmpi_comm *c,
                                                               struct rmpi_call *a)
{
    int rc;
    a->row = row;
    return unlikely(rc = check(about, c, a)) ? rc : rmpi_now(row, c, a);
}

#endif
