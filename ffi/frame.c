/* Reads call frames. Everything is checked before it is used: a frame comes from whatever program XLA was given. */
#include "ffi/frame.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FAIL(code, ...) return ffi_fail(call->row, REACTANT_MPI_ERR_##code, __VA_ARGS__)

static const struct {
    const char *name, *must_be;
    uint32_t length;
    int32_t dtype, type;
} known[FFI_ATTRS] = {
#define ATTRIBUTE(name, dtype, type) {#name, #dtype " " #type, sizeof #name - 1, FFI_##dtype, FFI_##type},
#include "ffi/attributes.inc"
#undef ATTRIBUTE
};

enum { NOWHERE, EVERYWHERE, ON_DEVICES };

static const struct {
    const char *name;
    int16_t type;
    uint8_t bits, reduces;
} dtypes[] = {
#define DTYPE(name, number, type, bits, reduces) [number] = {#name, type, bits, reduces},
#include "ffi/dtypes.inc"
#undef DTYPE
};

/* ---- errors ---- */

int ffi_fail(uint32_t row, int code, const char *format, ...)
{
    char text[RMPI_STRING_BYTES];
    const int n = snprintf(text, sizeof text, "%s: ", rmpi_rows[row].name);
    va_list list;
    va_start(list, format);
    vsnprintf(text + n, sizeof text - (size_t)n, format, list);
    va_end(list);
    return rmpi_fail_text(code, text);
}

static int status_of(int code)
{
    switch (code) {
    case REACTANT_MPI_ERR_ARGUMENT:
    case REACTANT_MPI_ERR_COMM:
    case REACTANT_MPI_ERR_TYPE:
    case REACTANT_MPI_ERR_OP:
    case REACTANT_MPI_ERR_COUNT:
    case REACTANT_MPI_ERR_RANK:
    case REACTANT_MPI_ERR_REQUEST:
    case REACTANT_MPI_ERR_OPTION:
        return FFI_INVALID_ARGUMENT;
    case REACTANT_MPI_ERR_STATE:
    case REACTANT_MPI_ERR_FORKED:
    case REACTANT_MPI_ERR_POISONED:
    case REACTANT_MPI_ERR_MPI_FINALIZED:
        return FFI_FAILED_PRECONDITION;
    case REACTANT_MPI_ERR_UNSUPPORTED:
        return FFI_UNIMPLEMENTED;
    case REACTANT_MPI_ERR_TIMEOUT:
        return FFI_DEADLINE_EXCEEDED;
    case REACTANT_MPI_ERR_PEER:
        return FFI_UNAVAILABLE;
    case REACTANT_MPI_ERR_MEMORY:
        return FFI_RESOURCE_EXHAUSTED;
    default:
        return FFI_INTERNAL;
    }
}

struct XLA_FFI_Error *ffi_error(const struct ffi_api *api, uint32_t row, int code)
{
    char text[RMPI_STRING_BYTES];
    struct ffi_error_create error = {.struct_size = sizeof error, .message = text, .code = status_of(code)};
    const char *row_name = rmpi_rows[row].name, *why = rmpi_error_text(), *colon = strstr(why, ": ");
    if (colon && strncmp(why, row_name, strlen(row_name)) == 0) /* it names the function already */
        why = colon + 2;
    snprintf(text, sizeof text, "reactant_mpi %s: %s (%s)", row_name + strlen("reactant_mpi_"), why, rmpi_error_name(code));
    return api->error_create(&error);
}

/* ---- attributes ---- */

/* Which a row has, as bits of enum ffi_attr. */
static unsigned wanted(unsigned rules)
{
#define A(name) (1u << FFI_ATTR_##name)
    unsigned bits = A(comm) | A(size) | A(wait);
    if (rules & HAS_OP)
        bits |= A(op);
    if (rules & HAS_ROOT)
        bits |= A(root);
    if (rules & HAS_DEST)
        bits |= A(dest);
    if (rules & (HAS_SOURCE | HAS_DESTS))
        bits |= A(source);
    if (rules & HAS_DEST && rules & HAS_SOURCE)
        bits |= A(sendtag) | A(recvtag);
    else if (rules & (HAS_DEST | HAS_SOURCE))
        bits |= A(tag);
    if (rules & HAS_DESTS)
        bits |= A(dests);
    if (rules & HAS_SEND_BLOCKS && rules & HAS_RECV_BLOCKS)
        bits |= A(sendcounts) | A(recvcounts);
    else if (rules & HAS_COUNTS)
        bits |= A(counts);
    return bits;
#undef A
}

/* The attribute of that name; both lists are sorted, so the search goes on where the last one ended. */
static unsigned find(const struct ffi_name *name, unsigned from)
{
    for (unsigned n = 0; n < FFI_ATTRS; n++) {
        const unsigned i = (from + n) % FFI_ATTRS;
        if (known[i].length == name->length && memcmp(known[i].name, name->text, name->length) == 0)
            return i;
    }
    return FFI_ATTRS;
}

static int read_value(const struct ffi_call *call, unsigned i, int32_t type, const void *attr, struct ffi_value *value)
{
    const struct ffi_scalar *scalar = attr;
    const struct ffi_array *array = attr;
    if (type != known[i].type || scalar->dtype != known[i].dtype) /* dtype is first in both */
        FAIL(ARGUMENT, "attribute '%s' must be %s", known[i].name, known[i].must_be);
    if (type == FFI_ARRAY) {
        if (array->size > INT32_MAX || (array->size && !array->data))
            FAIL(ARGUMENT, "attribute '%s' is a list of %zu numbers", known[i].name, array->size);
        *value = (struct ffi_value){(int64_t)array->size, array->data};
        return 0;
    }
    value->number = known[i].dtype == FFI_S64   ? *(const int64_t *)scalar->value
                    : known[i].dtype == FFI_S32 ? *(const int32_t *)scalar->value
                                                : *(const uint8_t *)scalar->value != 0;
    return 0;
}

static int read_attributes(struct ffi_call *call)
{
    const struct ffi_attrs *attrs = &call->frame->attrs;
    const unsigned all = wanted(rmpi_rows[call->row].rules);
    unsigned seen = 0, at = 0;
    for (int64_t n = 0; n < attrs->size; n++) {
        int rc;
        at = find(attrs->names[n], at);
        if (at == FFI_ATTRS || !(all >> at & 1))
            FAIL(ARGUMENT, "there is no attribute '%.*s' here", attrs->names[n]->length < 64 ? (int)attrs->names[n]->length : 64,
                 attrs->names[n]->text);
        if ((rc = read_value(call, at, attrs->types[n], attrs->attrs[n], &call->attr[at])) != 0)
            return rc;
        seen |= 1u << at;
    }
    if (seen != all) {
        const int missing = __builtin_ctz(all & ~seen);
        FAIL(ARGUMENT, "attribute '%s' (%s) is missing", known[missing].name, known[missing].must_be);
    }
    return 0;
}

/* ---- operands and results ---- */

static int count_elements(const struct ffi_call *call, const struct ffi_buffer *b, size_t *count)
{
    *count = 1;
    for (int64_t i = 0; i < b->rank; i++)
        if (b->dims[i] < 0 || __builtin_mul_overflow(*count, (size_t)b->dims[i], count))
            FAIL(COUNT, "the shape of a buffer does not fit the address space");
    return 0;
}

/* The one or two buffers that are no tokens of XLA's: [data] and our token. */
static int read_buffers(const struct ffi_call *call, const char *what, const struct ffi_buffers *list, int with_data, struct ffi_data *data,
                        float **token)
{
    const int most = 1 + with_data;
    const struct ffi_buffer *found[2] = {NULL, NULL};
    size_t one;
    int n = 0, rc;
    for (int64_t i = 0; i < list->size; i++) {
        if (list->types[i] != FFI_BUFFER)
            FAIL(ARGUMENT, "%s %lld is no buffer", what, (long long)i);
        if (list->buffers[i]->dtype == FFI_TOKEN)
            continue;
        if (n < most)
            found[n] = list->buffers[i];
        n++;
    }
    if (n != most)
        FAIL(ARGUMENT, "it has %d %ss; they are %sthe token (F32[1])", n, what, with_data ? "the data and " : "");
    if ((rc = count_elements(call, found[n - 1], &one)) != 0)
        return rc;
    if (found[n - 1]->dtype != FFI_F32 || one != 1 || !found[n - 1]->data)
        FAIL(ARGUMENT, "the last %s is not the token (F32[1])", what);
    *token = found[n - 1]->data;
    if (!with_data)
        return 0;
    data->here = 1;
    data->data = found[0]->data;
    data->dtype = found[0]->dtype;
    if ((rc = count_elements(call, found[0], &data->count)) != 0)
        return rc;
    if (data->count && !data->data)
        FAIL(ARGUMENT, "the %s has %zu elements and no address", what, data->count);
    return 0;
}

static const char *dtype_name(int32_t dtype)
{
    return (size_t)dtype < sizeof dtypes / sizeof *dtypes && dtypes[dtype].name ? dtypes[dtype].name : "an unknown type";
}

static int read_type(struct ffi_call *call)
{
    const int32_t dtype = call->in.here ? call->in.dtype : call->out.dtype;
    const int reduces = (rmpi_rows[call->row].rules & HAS_OP) != 0;
    if (call->in.here && call->out.here && call->in.dtype != call->out.dtype)
        FAIL(TYPE, "the operand is %s and the result %s", dtype_name(call->in.dtype), dtype_name(call->out.dtype));
    if (!call->in.here && !call->out.here)
        return 0;
    if ((size_t)dtype >= sizeof dtypes / sizeof *dtypes || dtypes[dtype].type == 0)
        FAIL(TYPE, "XLA's element type %d is not known here", dtype);
    if (reduces && dtypes[dtype].reduces != EVERYWHERE && (!call->on_device || dtypes[dtype].reduces != ON_DEVICES))
        FAIL(UNSUPPORTED, "%s is moved, not reduced; convert to BF16 or F32 before", dtypes[dtype].name);
    call->type = dtypes[dtype].type;
    call->bits = dtypes[dtype].bits;
    if (call->in.count > PTRDIFF_MAX / 16 || call->out.count > PTRDIFF_MAX / 16)
        FAIL(COUNT, "%zu elements do not fit the address space", call->in.count > call->out.count ? call->in.count : call->out.count);
    return 0;
}

/* ---- the whole ---- */

int ffi_is_no_call(struct XLA_FFI_CallFrame *frame, uint32_t row)
{
    const struct ffi_extension *extension = frame ? frame->extension_start : NULL;
    if (extension && extension->type == FFI_EXTENSION_METADATA) {
        struct ffi_metadata *m = ((const struct ffi_metadata_extension *)extension)->metadata;
        m->api_version = (struct ffi_api_version){sizeof m->api_version, NULL, FFI_MAJOR, FFI_MINOR};
        m->traits = 0;
        return 1;
    }
    if (!frame || !frame->api) {
        ffi_fail(row, REACTANT_MPI_ERR_ARGUMENT, "the call frame is NULL, or has no api");
        return 1;
    }
    return frame->stage != FFI_EXECUTE;
}

int ffi_read(struct ffi_call *call, struct XLA_FFI_CallFrame *frame, uint32_t row, int on_device)
{
    const void *word;
    int rc;
    *call = (struct ffi_call){.frame = frame, .row = row, .on_device = on_device};
    if ((rc = read_attributes(call)) != 0 ||
        (rc = read_buffers(call, "operand", &frame->args, ffi_has_input(row), &call->in, &call->token)) != 0 ||
        (rc = read_buffers(call, "result", &frame->rets, (rmpi_rows[row].rules & HAS_RECV) != 0, &call->out, &call->next_token)) != 0 ||
        (rc = read_type(call)) != 0)
        return rc;
    word = (const void *)(uintptr_t)call->attr[FFI_ATTR_comm].number;
    call->comm = rmpi_comm_live(word);
    if (!call->comm)
        return rmpi_bad_comm(rmpi_rows[row].name, word);
    if (call->attr[FFI_ATTR_size].number != call->comm->size)
        FAIL(STATE, "the program was compiled for %lld ranks, and communicator %d has %d: compile it again in this job",
             (long long)call->attr[FFI_ATTR_size].number, rmpi_comm_number(call->comm), call->comm->size);
    return 0;
}
