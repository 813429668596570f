/*
 * The handlers over host buffers: one for each row, all of them the same function. wait = true makes the blocking call on XLA's thread;
 * wait = false starts it, and if it is not over soon a future is completed later.
 */
#include "ffi/completer.h"
#include "ffi/record.h"

#include <stdlib.h>
#include <string.h>

enum { LOOKS = 16 }; /* at a started call, before it is handed over */

/* Whether somebody else can end a call: the runtime must have futures, and MPI must let another thread in. */
static int can_be_later(const struct ffi_call *call)
{
    const struct ffi_api *api = call->frame->api;
    return api->struct_size >= offsetof(struct ffi_api, future_set_error) + sizeof api->future_set_error &&
           !(rmpi_modes(call->comm) & RMPI_MAIN_THREAD);
}

/* What comes before the call. */
static int prepare(const struct ffi_call *call, struct rmpi_call *a, const struct ffi_around *around, struct ffi_after *after)
{
    *after = (struct ffi_after){.zero = around->zero, .zero_bytes = around->zero_bytes, .must_come = around->must_come};
    *call->next_token = *call->token;
    if (around->first)
        memcpy(a->recv, a->send, around->first);
    if (!around->apart)
        return 0;
    if (!(after->copy = malloc(around->apart)))
        return ffi_fail(call->row, REACTANT_MPI_ERR_MEMORY, "no memory for a copy of the operand (%zu bytes), which is also the result",
                        around->apart);
    a->send = memcpy(after->copy, a->send, around->apart);
    return 0;
}

int ffi_finish(uint32_t row, const struct ffi_after *after, int code, const reactant_mpi_status *got)
{
    free(after->copy);
    if (code != 0)
        return code;
    if (after->zero_bytes)
        memset(after->zero, 0, after->zero_bytes);
    if (after->must_come != SIZE_MAX && got->bytes != after->must_come)
        return ffi_fail(row, REACTANT_MPI_ERR_COUNT, "the message from rank %d (tag %d) has %zu bytes, and the result %zu", got->source,
                        got->tag, got->bytes, after->must_come);
    return 0;
}

static int blocking(const struct ffi_call *call, struct rmpi_call *a, const struct ffi_after *after)
{
    reactant_mpi_status got = {0};
    int rc;
    a->status = &got;
    rc = rmpi_call_row(call->row, call->comm, a);
    return ffi_finish(call->row, after, rc, &got);
}

/* A call that is not over soon: with a future, or waited for here. */
static int later(const struct ffi_call *call, reactant_mpi_request *request, const struct ffi_after *after)
{
    struct XLA_FFI_CallFrame *frame = call->frame;
    struct ffi_future_create create = {.struct_size = sizeof create};
    struct ffi_pending *p = can_be_later(call) ? malloc(sizeof *p) : NULL;
    reactant_mpi_status got;
    int rc;
    if (p && !frame->api->future_create(&create)) {
        *p = (struct ffi_pending){.api = frame->api, .future = create.future, .request = request, .after = *after, .row = call->row};
        frame->future = create.future;
        ffi_complete_later(p);
        return 0;
    }
    free(p);
    rc = reactant_mpi_wait(request, &got);
    return ffi_finish(call->row, after, rc, &got);
}

static int started(const struct ffi_call *call, struct rmpi_call *a, const struct ffi_after *after)
{
    reactant_mpi_request *request;
    reactant_mpi_status got;
    int done = 0, rc = rmpi_start_row(call->row, call->comm, a, &request);
    if (rc != 0)
        return ffi_finish(call->row, after, rc, NULL);
    for (int i = 0; i < LOOKS && !done && rc == 0; i++)
        rc = reactant_mpi_test(request, &done, &got);
    return done || rc != 0 ? ffi_finish(call->row, after, rc, &got) : later(call, request, after);
}

static struct XLA_FFI_Error *on_host(struct XLA_FFI_CallFrame *frame, uint32_t row)
{
    struct ffi_call call;
    struct rmpi_call a;
    struct ffi_lists lists;
    struct ffi_around around;
    struct ffi_after after;
    int rc;
    if (ffi_is_no_call(frame, row))
        return NULL;
    if ((rc = ffi_read(&call, frame, row, 0)) == 0) {
        if ((rc = ffi_record(&call, &a, &lists, &around)) == 0 && (rc = prepare(&call, &a, &around, &after)) == 0)
            rc = call.attr[FFI_ATTR_wait].number ? blocking(&call, &a, &after) : started(&call, &a, &after);
        ffi_lists_free(&lists);
    }
    return likely(rc == 0) ? NULL : ffi_error(frame->api, row, rc);
}

#define COLLECTIVE(name, ...)                                                                    \
    struct XLA_FFI_Error *reactant_mpi_ffi_##name(struct XLA_FFI_CallFrame *frame)               \
    {                                                                                            \
        return on_host(frame, RMPI_##name);                                                      \
    }
#define VARIED COLLECTIVE
#define EXCHANGE COLLECTIVE
#define MESSAGE COLLECTIVE
#define PAIR COLLECTIVE
#define PROBE(...)
#include "internal/table/rows.inc"
#include "internal/table/end.h"
