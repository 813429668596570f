/* The CUDA driver API as a GPU runtime. No CUDA runtime library: NCCL, XLA and CUDA.jl each carry their own; what they share is the
 * driver's current context of a thread. */
#include "nccl/nccl.h"

#include <stdio.h>
#include <string.h>

enum function {
#define NEEDED(name, ...) F_##name,
#define OPTIONAL NEEDED
#include "nccl/cuda.inc"
#undef NEEDED
#undef OPTIONAL
    FUNCTIONS
};

#define NEEDED(name, parameters) typedef int(*type_of_##name) parameters;
#define OPTIONAL NEEDED
#include "nccl/cuda.inc"
#undef NEEDED
#undef OPTIONAL

#define CALL(g, name) ((type_of_##name)(g)->function[F_##name])

enum { CUDA_NOT_READY = 600, STREAM_NON_BLOCKING = 1, COMPUTE_MODE = 20, EXCLUSIVE = 1, EXCLUSIVE_PROCESS = 3 };

static int start(struct rmpi_gpu *g)
{
    return CALL(g, cuInit)(0);
}

static int count(struct rmpi_gpu *g, int *n)
{
    return CALL(g, cuDeviceGetCount)(n);
}

static int version(struct rmpi_gpu *g, int *v)
{
    return CALL(g, cuDriverGetVersion)(v);
}

static int info(struct rmpi_gpu *g, int ordinal, struct rmpi_gpu_info *out)
{
    int device, rc = CALL(g, cuDeviceGet)(&device, ordinal);
    unsigned flags = 0;
    int mode = 0;
    unsigned char whole[16];
    memset(out, 0, sizeof *out);
    if (rc != 0 || (rc = CALL(g, cuDeviceGetPCIBusId)(out->pci, sizeof out->pci, device)) != 0 ||
        (rc = CALL(g, cuDevicePrimaryCtxGetState)(device, &flags, &out->active)) != 0)
        return rc;
    if (CALL(g, cuDeviceGetAttribute)(&mode, COMPUTE_MODE, device) == 0)
        out->exclusive = mode == EXCLUSIVE || mode == EXCLUSIVE_PROCESS;
    rc = CALL(g, cuDeviceGetUuid)(whole, device);
    memcpy(out->uuid, whole, sizeof whole);
    /* The newer function tells the instances of one GPU apart. */
    if (CALL(g, cuDeviceGetUuid_v2) && CALL(g, cuDeviceGetUuid_v2)(out->uuid, device) == 0) {
        out->mig = rc == 0 && memcmp(out->uuid, whole, sizeof whole) != 0;
        return 0;
    }
    return rc;
}

static int retain(struct rmpi_gpu *g, int ordinal, void **context)
{
    int device, rc = CALL(g, cuDeviceGet)(&device, ordinal);
    return rc != 0 ? rc : CALL(g, cuDevicePrimaryCtxRetain)(context, device);
}

static int release(struct rmpi_gpu *g, int ordinal)
{
    int device, rc = CALL(g, cuDeviceGet)(&device, ordinal);
    return rc != 0 ? rc : CALL(g, cuDevicePrimaryCtxRelease_v2)(device);
}

static int enter(struct rmpi_gpu *g, int ordinal, void *context)
{
    (void)ordinal;
    return CALL(g, cuCtxSetCurrent)(context);
}

static int allocate(struct rmpi_gpu *g, size_t bytes, void **out)
{
    uint64_t address = 0;
    int rc = CALL(g, cuMemAlloc_v2)(&address, bytes);
    *out = (void *)(uintptr_t)address;
    return rc;
}

static int give_back(struct rmpi_gpu *g, void *memory)
{
    return CALL(g, cuMemFree_v2)((uintptr_t)memory);
}

static int room(struct rmpi_gpu *g, const void *memory, size_t *bytes)
{
    enum { RANGE_START = 11, RANGE_SIZE = 12 };
    uint64_t start = 0;
    size_t size = 0;
    const uintptr_t at = (uintptr_t)memory;
    int rc = CALL(g, cuPointerGetAttribute)(&start, RANGE_START, at);
    if (rc == 0)
        rc = CALL(g, cuPointerGetAttribute)(&size, RANGE_SIZE, at);
    *bytes = (size_t)(start + size - at);
    return rc;
}

static int to_device(struct rmpi_gpu *g, void *device, const void *host, size_t bytes)
{
    return CALL(g, cuMemcpyHtoD_v2)((uintptr_t)device, host, bytes);
}

static int to_host(struct rmpi_gpu *g, void *host, const void *device, size_t bytes)
{
    return CALL(g, cuMemcpyDtoH_v2)(host, (uintptr_t)device, bytes);
}

static int zero(struct rmpi_gpu *g, void *device, size_t bytes, void *stream)
{
    return CALL(g, cuMemsetD8Async)((uintptr_t)device, 0, bytes, stream);
}

static int copy(struct rmpi_gpu *g, void *to, const void *from, size_t bytes, void *stream)
{
    return CALL(g, cuMemcpyDtoDAsync_v2)((uintptr_t)to, (uintptr_t)from, bytes, stream);
}

static int stream_create(struct rmpi_gpu *g, void **stream)
{
    return CALL(g, cuStreamCreate)(stream, STREAM_NON_BLOCKING);
}

static int stream_destroy(struct rmpi_gpu *g, void *stream)
{
    return CALL(g, cuStreamDestroy_v2)(stream);
}

static int stream_query(struct rmpi_gpu *g, void *stream)
{
    int rc = CALL(g, cuStreamQuery)(stream);
    return rc == CUDA_NOT_READY ? RMPI_GPU_BUSY : rc;
}

/* What people can do about the codes that a broken installation gives. */
static const char *advice(int rc)
{
    switch (rc) {
    case 34:
        return "; this libcuda is the stub of a toolkit, put the driver's before it in LD_LIBRARY_PATH";
    case 100:
        return "; no GPU is visible: look at CUDA_VISIBLE_DEVICES and the job's GPU request";
    case 802:
        return "; the fabric manager of this node is not running";
    case 803:
        return "; libcuda does not match the kernel driver: mount the host's libcuda into the container";
    case 804:
        return "; forward compatibility is not supported on this GPU";
    case 999:
        return "; often a device node (/dev/nvidia*) that the job may not open";
    }
    return "";
}

static void text(struct rmpi_gpu *g, int rc, char out[RMPI_NCCL_TEXT])
{
    const char *name = NULL, *words = NULL;
    CALL(g, cuGetErrorName)(rc, &name);
    CALL(g, cuGetErrorString)(rc, &words);
    snprintf(out, RMPI_NCCL_TEXT, "%s (CUDA error %d: %s)%s", words ? words : "unknown", rc, name ? name : "?", advice(rc));
}

static void fill(struct rmpi_gpu *g)
{
    g->start = start;
    g->count = count;
    g->version = version;
    g->info = info;
    g->retain = retain;
    g->release = release;
    g->enter = enter;
    g->alloc = allocate;
    g->free = give_back;
    if (CALL(g, cuPointerGetAttribute))
        g->room = room;
    g->to_device = to_device;
    g->to_host = to_host;
    g->zero = zero;
    g->copy = copy;
    g->stream_create = stream_create;
    g->stream_destroy = stream_destroy;
    g->stream_query = stream_query;
    g->text = text;
    g->current_of = (int (*)(void **))CALL(g, cuCtxGetCurrent);
    g->set_current = (int (*)(void *))CALL(g, cuCtxSetCurrent);
}

static const struct rmpi_gpu_row rows[FUNCTIONS] = {
#define NEEDED(name, ...) {#name, 1},
#define OPTIONAL(name, ...) {#name, 0},
#include "nccl/cuda.inc"
#undef NEEDED
#undef OPTIONAL
};

const struct rmpi_gpu_kind rmpi_cuda = {"CUDA", rows, FUNCTIONS, fill};
