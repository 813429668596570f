/* Shapes of operands and results against the row, and the record made of them. */
#include "ffi/record.h"

#include <stdlib.h>

#define FAIL(code, ...) return ffi_fail(call->row, REACTANT_MPI_ERR_##code, __VA_ARGS__)

/* How many elements operand and result have. */
enum shape {
    NO_DATA,
    EQUAL,
    RESULT_OF_ALL,  /* size blocks of the operand */
    OPERAND_OF_ALL, /* size blocks of the result */
    BLOCKS,         /* equal, size blocks each */
    FREE,
    RESULT_LISTED,  /* the sum of counts; the operand is this rank's */
    OPERAND_LISTED, /* the other way round */
    BOTH_LISTED,
};

static const uint8_t shapes[RMPI_ROWS] = {
    [RMPI_allreduce] = EQUAL,
    [RMPI_reduce] = EQUAL,
    [RMPI_bcast] = EQUAL,
    [RMPI_scan] = EQUAL,
    [RMPI_exscan] = EQUAL,
    [RMPI_permute] = EQUAL,
    [RMPI_allgather] = RESULT_OF_ALL,
    [RMPI_gather] = RESULT_OF_ALL,
    [RMPI_scatter] = OPERAND_OF_ALL,
    [RMPI_reduce_scatter] = OPERAND_OF_ALL,
    [RMPI_alltoall] = BLOCKS,
    [RMPI_send] = FREE,
    [RMPI_recv] = FREE,
    [RMPI_sendrecv] = FREE,
    [RMPI_allgatherv] = RESULT_LISTED,
    [RMPI_gatherv] = RESULT_LISTED,
    [RMPI_scatterv] = OPERAND_LISTED,
    [RMPI_reduce_scatterv] = OPERAND_LISTED,
    [RMPI_alltoallv] = BOTH_LISTED,
};

static int64_t number(const struct ffi_call *call, enum ffi_attr attr)
{
    return call->attr[attr].number;
}

/* A list of counts, its running sums if displs is there, and its sum. */
static int read_counts(const struct ffi_call *call, const char *name, enum ffi_attr attr, size_t *displs, size_t *sum)
{
    const int64_t *counts = call->attr[attr].list;
    if (number(call, attr) != call->comm->size)
        FAIL(ARGUMENT, "attribute '%s' has %lld numbers, and there are %d ranks", name, (long long)number(call, attr), call->comm->size);
    *sum = 0;
    for (int r = 0; r < call->comm->size; r++) {
        displs[r] = *sum;
        if (counts[r] < 0 || __builtin_add_overflow(*sum, (size_t)counts[r], sum))
            FAIL(COUNT, "the count of rank %d in '%s' is %lld", r, name, (long long)counts[r]);
    }
    return 0;
}

static int expect(const struct ffi_call *call, const char *what, size_t has, size_t wanted)
{
    if (has != wanted)
        FAIL(COUNT, "the %s has %zu elements where %zu are due (%d ranks)", what, has, wanted, call->comm->size);
    return 0;
}

/* The own entry of a list of counts. */
static size_t own(const struct ffi_call *call)
{
    return ((const size_t *)call->attr[FFI_ATTR_counts].list)[call->comm->rank];
}

static int listed(const struct ffi_call *call, struct rmpi_call *a, struct ffi_lists *lists)
{
    const size_t n = (size_t)call->comm->size;
    const struct ffi_data *all = shapes[call->row] == RESULT_LISTED ? &call->out : &call->in;
    const struct ffi_data *mine = shapes[call->row] == RESULT_LISTED ? &call->in : &call->out;
    size_t sum, received;
    int rc;
    if (n > FFI_FEW_RANKS && !(lists->displs = malloc(2 * n * sizeof *lists->displs)))
        FAIL(MEMORY, "no memory for its displacements");
    if (shapes[call->row] == BOTH_LISTED) {
        a->send_counts = call->attr[FFI_ATTR_sendcounts].list;
        a->recv_counts = call->attr[FFI_ATTR_recvcounts].list;
        a->send_displs = lists->displs;
        a->recv_displs = lists->displs + n;
        a->count = 0;
        if ((rc = read_counts(call, "sendcounts", FFI_ATTR_sendcounts, lists->displs, &sum)) != 0 ||
            (rc = read_counts(call, "recvcounts", FFI_ATTR_recvcounts, lists->displs + n, &received)) != 0 ||
            (rc = expect(call, "operand", call->in.count, sum)) != 0)
            return rc;
        return expect(call, "result", call->out.count, received);
    }
    if ((rc = read_counts(call, "counts", FFI_ATTR_counts, lists->displs, &sum)) != 0 ||
        (rc = expect(call, all == &call->out ? "result" : "operand", all->count, sum)) != 0 ||
        (rc = expect(call, all == &call->out ? "operand" : "result", mine->count, own(call))) != 0)
        return rc;
    a->send_counts = a->recv_counts = call->attr[FFI_ATTR_counts].list;
    a->send_displs = a->recv_displs = lists->displs;
    a->count = mine->count;
    return 0;
}

static int counts_of(const struct ffi_call *call, struct rmpi_call *a, struct ffi_lists *lists)
{
    const size_t n = (size_t)call->comm->size, in = call->in.count, out = call->out.count;
    size_t all;
    a->count = in;
    a->recv_count = out;
    switch (shapes[call->row]) {
    case EQUAL:
        return expect(call, "result", out, in);
    case RESULT_OF_ALL:
        if (__builtin_mul_overflow(n, in, &all))
            all = SIZE_MAX;
        return expect(call, "result", out, all);
    case OPERAND_OF_ALL:
        a->count = out;
        if (__builtin_mul_overflow(n, out, &all))
            all = SIZE_MAX;
        return expect(call, "operand", in, all);
    case BLOCKS:
        a->count = in / n;
        if (in % n != 0)
            FAIL(COUNT, "the operand has %zu elements, which cannot be divided among %zu ranks", in, n);
        return expect(call, "result", out, in);
    case RESULT_LISTED:
    case OPERAND_LISTED:
    case BOTH_LISTED:
        return listed(call, a, lists);
    default:
        return 0;
    }
}

/* Elements of less than a byte are moved as bytes. */
static int pack(const struct ffi_call *call, struct rmpi_call *a)
{
    const int one_block = shapes[call->row] == EQUAL || shapes[call->row] == FREE || call->comm->size == 1;
    if (shapes[call->row] >= RESULT_LISTED || (!one_block && a->count * call->bits % 8 != 0))
        FAIL(UNSUPPORTED, "elements of %zu bits are moved in blocks of whole bytes, and of equal size; convert to an 8-bit type before",
             call->bits);
    a->count = ffi_bytes(call, a->count);
    a->recv_count = ffi_bytes(call, a->recv_count);
    return 0;
}

/* Where MPI leaves the result of this rank as it was. */
static int leaves_result(const struct ffi_call *call)
{
    switch (call->row) {
    case RMPI_reduce:
    case RMPI_gather:
    case RMPI_gatherv:
        return number(call, FFI_ATTR_root) != call->comm->rank;
    case RMPI_exscan:
        return call->comm->rank == 0;
    case RMPI_recv:
    case RMPI_sendrecv:
        return number(call, FFI_ATTR_source) == REACTANT_MPI_PROC_NULL;
    default:
        return 0;
    }
}

int ffi_record(const struct ffi_call *call, struct rmpi_call *a, struct ffi_lists *lists, struct ffi_around *around)
{
    const unsigned rules = rmpi_rows[call->row].rules;
    const size_t in_bytes = ffi_bytes(call, call->in.count), out_bytes = ffi_bytes(call, call->out.count);
    int rc;
    *a = (struct rmpi_call){.send = call->in.data, .recv = call->out.data, .type = call->type};
    *around = (struct ffi_around){.must_come = SIZE_MAX};
    lists->displs = lists->few;
    if ((rc = counts_of(call, a, lists)) != 0 || (call->bits < 8 && (rc = pack(call, a)) != 0))
        return rc;
    a->op = (int)number(call, FFI_ATTR_op);
    a->root = (int)number(call, rules & HAS_DEST ? FFI_ATTR_dest : FFI_ATTR_root);
    a->source = (int)number(call, FFI_ATTR_source);
    a->tag = (int)number(call, rules & HAS_SOURCE ? FFI_ATTR_sendtag : FFI_ATTR_tag);
    a->recv_tag = (int)number(call, rules & HAS_DEST ? FFI_ATTR_recvtag : FFI_ATTR_tag);
    a->dests = call->attr[FFI_ATTR_dests].list;
    a->n_dests = (int)number(call, FFI_ATTR_dests);
    if (leaves_result(call)) {
        around->zero = a->recv;
        around->zero_bytes = out_bytes;
    } else if (rules & HAS_SOURCE) {
        around->must_come = out_bytes;
    }
    if (call->row == RMPI_bcast && a->root == call->comm->rank && a->recv != a->send)
        around->first = in_bytes;
    if (rules & EQUAL_IS_REFUSED && a->send == a->recv) {
        around->apart = in_bytes;
        a->send = in_bytes ? a->send : NULL;
    }
    return 0;
}

void ffi_lists_free(struct ffi_lists *lists)
{
    if (lists->displs != lists->few)
        free(lists->displs);
}
