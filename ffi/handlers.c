/*
 * The handlers: one for each row, all of them the same function. wait = true makes the blocking call on XLA's thread; wait = false starts
 * it, and if it is not over soon a future is completed later.
 */
#include "ffi/completer.h"
#include "ffi/record.h"

#include <stdlib.h>

enum { LOOKS = 16 }; /* at a started call, before it is handed over */

static int has_futures(const struct ffi_api *api)
{
    return api->struct_size >= offsetof(struct ffi_api, future_set_error) + sizeof api->future_set_error;
}

static int blocking(const struct ffi_call *call, struct rmpi_call *a, const struct ffi_after *after)
{
    reactant_mpi_status got = {0};
    int rc;
    a->status = &got;
    rc = rmpi_call_row(call->row, call->comm, a);
    return ffi_finish(call->row, after, rc, &got);
}

/* A call that is not over soon: with a future, or waited for here by runtimes that have none. */
static int later(const struct ffi_call *call, reactant_mpi_request *request, const struct ffi_after *after)
{
    struct XLA_FFI_CallFrame *frame = call->frame;
    struct ffi_future_create create = {.struct_size = sizeof create};
    struct ffi_pending *p = has_futures(frame->api) ? malloc(sizeof *p) : NULL;
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
    struct ffi_after after;
    int rc;
    if (!frame || !frame->api) { /* nobody to tell */
        ffi_fail(row, REACTANT_MPI_ERR_ARGUMENT, "the call frame is NULL, or has no api");
        return NULL;
    }
    if (ffi_is_a_question(frame))
        return NULL;
    if ((rc = ffi_read(&call, frame, row)) == 0 && (rc = ffi_record(&call, &a, &lists, &after)) == 0) {
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
