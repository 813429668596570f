/*
 * The handlers over device buffers, for the rows that have a device form. They enqueue on XLA's stream and return: wait means nothing here,
 * tags neither.
 */
#include "capi/device.h"
#include "ffi/record.h"

static struct XLA_FFI_Error *stream_of(const struct XLA_FFI_CallFrame *frame, void **stream)
{
    struct ffi_stream_get get = {.struct_size = sizeof get, .context = frame->context};
    struct XLA_FFI_Error *error = frame->api->stream_get(&get);
    *stream = get.stream;
    return error;
}

static int gpu_failed(const struct ffi_call *call, const char *what, int rc)
{
    const struct rmpi_gpu *gpu = call->comm->device->gpu;
    char text[RMPI_NCCL_TEXT];
    if (likely(rc == 0))
        return 0;
    gpu->text((struct rmpi_gpu *)(uintptr_t)gpu, rc, text);
    return ffi_fail(call->row, REACTANT_MPI_ERR_DRIVER, "%s: %s", what, text);
}

static int copy(const struct ffi_call *call, void *to, const void *from, size_t bytes, void *stream)
{
    struct rmpi_gpu *gpu = call->comm->device->gpu;
    return bytes && to != from ? gpu_failed(call, "copying on the device", gpu->copy(gpu, to, from, bytes, stream)) : 0;
}

/* Where the operand is also the result and cannot be: device memory of XLA's, whose use is in the order of the stream. */
static struct XLA_FFI_Error *scratch(const struct XLA_FFI_CallFrame *frame, size_t bytes, void **memory)
{
    struct ffi_memory_allocate get = {.struct_size = sizeof get, .context = frame->context, .size = bytes, .alignment = 64};
    struct XLA_FFI_Error *error = frame->api->memory_allocate(&get);
    *memory = get.data;
    return error;
}

static void scratch_free(const struct XLA_FFI_CallFrame *frame, size_t bytes, void *memory)
{
    struct ffi_memory_free give = {.struct_size = sizeof give, .context = frame->context, .size = bytes, .data = memory};
    struct XLA_FFI_Error *error = frame->api->memory_free(&give);
    if (error) {
        struct ffi_error_destroy destroy = {.struct_size = sizeof destroy, .error = error};
        frame->api->error_destroy(&destroy);
    }
}

static int enqueue(uint32_t row, struct rmpi_comm *c, struct rmpi_call *a, void *stream)
{
    reactant_mpi_comm *const comm = (reactant_mpi_comm *)c;
    switch (row) {
    case RMPI_allgatherv:
        return reactant_mpi_allgatherv_stream(a->send, a->count, a->recv, a->recv_counts, a->recv_displs, a->type, comm, stream);
    case RMPI_gatherv:
        return reactant_mpi_gatherv_stream(a->send, a->count, a->recv, a->recv_counts, a->recv_displs, a->type, a->root, comm, stream);
    case RMPI_scatterv:
        return reactant_mpi_scatterv_stream(a->send, a->send_counts, a->send_displs, a->recv, a->count, a->type, a->root, comm, stream);
    case RMPI_alltoallv:
        return reactant_mpi_alltoallv_stream(a->send, a->send_counts, a->send_displs, a->recv, a->recv_counts, a->recv_displs, a->type, comm,
                                             stream);
    case RMPI_reduce_scatterv:
        return reactant_mpi_reduce_scatterv_stream(a->send, a->recv, a->recv_counts, a->type, a->op, comm, stream);
    case RMPI_permute:
        return reactant_mpi_permute_stream(a->send, a->recv, a->count, a->type, a->source, a->n_dests, a->dests, comm, stream);
    default:
        return rmpi_stream_row(row, comm, a, stream);
    }
}

static int run(const struct ffi_call *call, struct rmpi_call *a, const struct ffi_around *around, void *memory, void *stream)
{
    struct rmpi_gpu *gpu = call->comm->device->gpu;
    int rc;
    rmpi_ensure_context(call->comm->device);
    if ((rc = copy(call, call->next_token, call->token, sizeof *call->token, stream)) != 0 ||
        (rc = copy(call, a->recv, a->send, around->first, stream)) != 0 || (rc = copy(call, memory, a->send, around->apart, stream)) != 0)
        return rc;
    if (around->apart)
        a->send = memory;
    if ((rc = enqueue(call->row, call->comm, a, stream)) != 0)
        return rc;
    return around->zero_bytes ? gpu_failed(call, "filling with zeros", gpu->zero(gpu, around->zero, around->zero_bytes, stream)) : 0;
}

static struct XLA_FFI_Error *on_stream(struct XLA_FFI_CallFrame *frame, uint32_t row)
{
    struct XLA_FFI_Error *error = NULL;
    struct ffi_call call;
    struct rmpi_call a;
    struct ffi_lists lists;
    struct ffi_around around;
    void *stream = NULL, *memory = NULL;
    int rc;
    if (ffi_is_no_call(frame, row))
        return NULL;
    if ((rc = ffi_read(&call, frame, row, 1)) == 0 && rmpi_device_comm(rmpi_rows[row].name, call.comm, &rc)) {
        if ((rc = ffi_record(&call, &a, &lists, &around)) == 0 && !(error = stream_of(frame, &stream)) &&
            !(around.apart && (error = scratch(frame, around.apart, &memory)) != NULL))
            rc = run(&call, &a, &around, memory, stream);
        if (memory)
            scratch_free(frame, around.apart, memory);
        ffi_lists_free(&lists);
    }
    return likely(rc == 0) ? error : ffi_error(frame->api, row, rc);
}

#define COLLECTIVE(name, ...)                                                                    \
    struct XLA_FFI_Error *reactant_mpi_ffi_##name##_stream(struct XLA_FFI_CallFrame *frame)      \
    {                                                                                            \
        return on_stream(frame, RMPI_##name);                                                    \
    }
#define EXCHANGE COLLECTIVE
#define MESSAGE COLLECTIVE
#define PAIR COLLECTIVE
#define VARIED(name, ...) VARIED_##name(name)
#define VARIED_scan(name)
#define VARIED_exscan(name)
#define VARIED_allgatherv COLLECTIVE
#define VARIED_reduce_scatterv COLLECTIVE
#define PROBE(...)
#include "internal/table/rows.inc"
#include "internal/table/end.h"
