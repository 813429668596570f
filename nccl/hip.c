/* HIP as a GPU runtime. It has no contexts: a thread has a current device. RCCL links the same libamdhip64. */
#include "nccl/nccl.h"

#include <stdio.h>
#include <string.h>

enum function {
#define NEEDED(name, ...) F_##name,
#define OPTIONAL NEEDED
#include "nccl/hip.inc"
#undef NEEDED
#undef OPTIONAL
    FUNCTIONS
};

#define NEEDED(name, parameters) typedef int(*type_of_##name) parameters;
#define OPTIONAL NEEDED
#include "nccl/hip.inc"
#undef NEEDED
#undef OPTIONAL

#define CALL(g, name) ((type_of_##name)(g)->function[F_##name])
typedef const char *(*text_function)(int);
#define TEXT(g, name) ((text_function)(g)->function[F_##name])

enum { HIP_NOT_READY = 600, STREAM_NON_BLOCKING = 1, HOST_TO_DEVICE = 1, DEVICE_TO_HOST = 2, DEVICE_TO_DEVICE = 3 };

static int start(struct rmpi_gpu *g)
{
    return CALL(g, hipInit)(0);
}

static int count(struct rmpi_gpu *g, int *n)
{
    return CALL(g, hipGetDeviceCount)(n);
}

static int version(struct rmpi_gpu *g, int *v)
{
    return CALL(g, hipRuntimeGetVersion)(v);
}

static int info(struct rmpi_gpu *g, int device, struct rmpi_gpu_info *out)
{
    int rc;
    memset(out, 0, sizeof *out);
    if ((rc = CALL(g, hipDeviceGetPCIBusId)(out->pci, sizeof out->pci, device)) != 0)
        return rc;
    /* Older runtimes know no UUID: the bus address identifies the device on its host. */
    if (!CALL(g, hipDeviceGetUuid) || CALL(g, hipDeviceGetUuid)(out->uuid, device) != 0)
        memcpy(out->uuid, out->pci, sizeof out->uuid);
    return 0;
}

static int retain(struct rmpi_gpu *g, int device, void **context)
{
    (void)g, (void)device;
    *context = NULL;
    return 0;
}

static int release(struct rmpi_gpu *g, int device)
{
    (void)g, (void)device;
    return 0;
}

static int enter(struct rmpi_gpu *g, int device, void *context)
{
    (void)context;
    return CALL(g, hipSetDevice)(device);
}

static int allocate(struct rmpi_gpu *g, size_t bytes, void **out)
{
    return CALL(g, hipMalloc)(out, bytes);
}

static int give_back(struct rmpi_gpu *g, void *memory)
{
    return CALL(g, hipFree)(memory);
}

static int to_device(struct rmpi_gpu *g, void *device, const void *host, size_t bytes)
{
    return CALL(g, hipMemcpy)(device, host, bytes, HOST_TO_DEVICE);
}

static int to_host(struct rmpi_gpu *g, void *host, const void *device, size_t bytes)
{
    return CALL(g, hipMemcpy)(host, device, bytes, DEVICE_TO_HOST);
}

static int zero(struct rmpi_gpu *g, void *device, size_t bytes, void *stream)
{
    return CALL(g, hipMemsetAsync)(device, 0, bytes, stream);
}

static int copy(struct rmpi_gpu *g, void *to, const void *from, size_t bytes, void *stream)
{
    return CALL(g, hipMemcpyAsync)(to, from, bytes, DEVICE_TO_DEVICE, stream);
}

static int stream_create(struct rmpi_gpu *g, void **stream)
{
    return CALL(g, hipStreamCreateWithFlags)(stream, STREAM_NON_BLOCKING);
}

static int stream_destroy(struct rmpi_gpu *g, void *stream)
{
    return CALL(g, hipStreamDestroy)(stream);
}

static int stream_query(struct rmpi_gpu *g, void *stream)
{
    int rc = CALL(g, hipStreamQuery)(stream);
    return rc == HIP_NOT_READY ? RMPI_GPU_BUSY : rc;
}

static void text(struct rmpi_gpu *g, int rc, char out[RMPI_NCCL_TEXT])
{
    const char *words = TEXT(g, hipGetErrorString)(rc), *name = TEXT(g, hipGetErrorName)(rc);
    snprintf(out, RMPI_NCCL_TEXT, "%s (HIP error %d: %s)%s", words ? words : "unknown", rc, name ? name : "?",
             rc == 100 || rc == 101 ? "; no GPU is visible: look at ROCR_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES (the second counts within "
                                      "the first) and the job's GPU request"
                                    : "");
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
    g->to_device = to_device;
    g->to_host = to_host;
    g->zero = zero;
    g->copy = copy;
    g->stream_create = stream_create;
    g->stream_destroy = stream_destroy;
    g->stream_query = stream_query;
    g->text = text;
}

static const struct rmpi_gpu_row rows[FUNCTIONS] = {
#define NEEDED(name, ...) {#name, 1},
#define OPTIONAL(name, ...) {#name, 0},
#include "nccl/hip.inc"
#undef NEEDED
#undef OPTIONAL
};

const struct rmpi_gpu_kind rmpi_hip = {"HIP", rows, FUNCTIONS, fill};
