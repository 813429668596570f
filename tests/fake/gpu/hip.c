/*
 * libamdhip64.so.6: the runtime API of HIP as far as programs here use it, over the machine that also the double of libcuda shows.
 * Not modelled: hipDeviceProp_t (hipGetDeviceProperties), kernels and modules, flags of any kind, the sticky error of a thread but
 * for hipGetLastError, and what device.c, context.c, stream.c and memory.c say. Copies take the direction from their argument only.
 */
#include <stdio.h>
#include <string.h>

#include "gpu.h"

typedef int hipError_t;
typedef int hipDevice_t;
typedef struct gpu_context *hipCtx_t;

static __thread hipError_t last_error;

static hipError_t keep(hipError_t code)
{
    if (code)
        last_error = code;
    return code;
}

/* Every call but a few initializes. */
#define READY()                                                                                                                    \
    do {                                                                                                                           \
        ENTER();                                                                                                                   \
        int code_ = gpu_ready() ? OK : gpu_init();                                                                                 \
        if (code_)                                                                                                                 \
            return keep(code_);                                                                                                    \
    } while (0)
/* The device of the thread, 0 where it has said nothing; its context comes to be with the first use. */
#define CURRENT(device)                                                                                                            \
    int device = gpu_runtime_device();                                                                                             \
    if (gpu_runtime_set(device))                                                                                                   \
    return keep(INVALID_DEVICE)
#define OF_STREAM(device, stream)                                                                                                  \
    int device = stream ? -1 : gpu_runtime_device();                                                                               \
    if (!stream && gpu_runtime_set(device))                                                                                        \
    return keep(INVALID_DEVICE)

FAKE_EXPORT hipError_t hipInit(unsigned flags)
{
    ENTER();
    int code = flags ? INVALID_VALUE : gpu_init();
    return keep(code == NO_DEVICE ? INVALID_DEVICE : code);
}

static hipError_t version(int *out)
{
    if (!out)
        return keep(INVALID_VALUE);
    *out = (int)fake_env_number("FAKE_DRIVER_VERSION", 60342133);
    return OK;
}

FAKE_EXPORT hipError_t hipDriverGetVersion(int *out)
{
    ENTER();
    return version(out);
}

FAKE_EXPORT hipError_t hipRuntimeGetVersion(int *out)
{
    ENTER();
    return version(out);
}

FAKE_EXPORT hipError_t hipGetDeviceCount(int *count)
{
    ENTER();
    if (!count)
        return keep(INVALID_VALUE);
    *count = 0;
    int code = gpu_ready() ? OK : gpu_init();
    if (code)
        return keep(code);
    *count = gpu_count();
    return OK;
}

FAKE_EXPORT hipError_t hipSetDevice(int device)
{
    READY();
    return keep(gpu_runtime_set(device));
}

FAKE_EXPORT hipError_t hipGetDevice(int *device)
{
    READY();
    if (!device)
        return keep(INVALID_VALUE);
    *device = gpu_runtime_device();
    return OK;
}

FAKE_EXPORT hipError_t hipDeviceGet(hipDevice_t *device, int ordinal)
{
    READY();
    *device = ordinal;
    return keep(gpu_at(ordinal) ? OK : INVALID_DEVICE);
}

static hipError_t text(char *out, int n, const char *from)
{
    if (!out || n <= 0)
        return keep(INVALID_VALUE);
    snprintf(out, (size_t)n, "%s", from);
    return OK;
}

FAKE_EXPORT hipError_t hipDeviceGetName(char *name, int n, hipDevice_t device)
{
    READY();
    return gpu_at(device) ? text(name, n, gpu_at(device)->name) : keep(INVALID_DEVICE);
}

FAKE_EXPORT hipError_t hipDeviceGetPCIBusId(char *id, int n, int device)
{
    READY();
    return gpu_at(device) ? text(id, n, gpu_at(device)->pci) : keep(INVALID_DEVICE);
}

FAKE_EXPORT hipError_t hipDeviceGetUuid(char uuid[16], hipDevice_t device)
{
    READY();
    if (!gpu_at(device))
        return keep(INVALID_DEVICE);
    memcpy(uuid, gpu_at(device)->uuid, 16);
    return OK;
}

/* hipDeviceAttribute_t has its own numbers. */
FAKE_EXPORT hipError_t hipDeviceGetAttribute(int *value, int attribute, int device)
{
    READY();
    const struct fake_gpu *gpu = gpu_at(device);
    if (!gpu || !value)
        return keep(gpu ? INVALID_VALUE : INVALID_DEVICE);
    switch (attribute) {
    case 6: *value = gpu->mode; break;    /* hipDeviceAttributeComputeMode */
    case 23: *value = gpu->major; break;  /* hipDeviceAttributeComputeCapabilityMajor */
    case 61: *value = gpu->minor; break;  /* hipDeviceAttributeComputeCapabilityMinor */
    case 63: *value = 132; break;         /* hipDeviceAttributeMultiprocessorCount */
    case 67: *value = gpu->bus; break;    /* hipDeviceAttributePciBusId */
    case 68: *value = gpu->slot; break;   /* hipDeviceAttributePciDeviceId */
    case 69: *value = gpu->domain; break; /* hipDeviceAttributePciDomainID */
    case 85: *value = 1; break;           /* hipDeviceAttributeUnifiedAddressing */
    case 92: *value = gpu->numa; break;   /* hipDeviceAttributeHostNumaId, ROCm 7.2 */
    default: *value = 0;
    }
    return OK;
}

FAKE_EXPORT const char *hipGetErrorName(hipError_t error)
{
    static const struct { int code; const char *name; } names[] = {
        {OK, "hipSuccess"}, {INVALID_VALUE, "hipErrorInvalidValue"}, {OUT_OF_MEMORY, "hipErrorOutOfMemory"},
        {NOT_INITIALIZED, "hipErrorNotInitialized"}, {35, "hipErrorInsufficientDriver"}, {NO_DEVICE, "hipErrorNoDevice"},
        {INVALID_DEVICE, "hipErrorInvalidDevice"}, {INVALID_CONTEXT, "hipErrorInvalidContext"}, {INVALID_HANDLE, "hipErrorInvalidHandle"},
        {NOT_READY, "hipErrorNotReady"}, {CONTEXT_IS_DESTROYED, "hipErrorContextIsDestroyed"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].code == error)
            return names[i].name;
    return "hipErrorUnknown";
}

FAKE_EXPORT const char *hipGetErrorString(hipError_t error)
{
    const char *string = error == NO_DEVICE ? "no ROCm-capable device is detected" : gpu_error_string(error);
    return string ? string : "unknown error";
}

FAKE_EXPORT hipError_t hipGetLastError(void)
{
    hipError_t error = last_error;
    last_error = OK;
    return error;
}

FAKE_EXPORT hipError_t hipPeekAtLastError(void)
{
    return last_error;
}

/* ---- contexts ---- */

FAKE_EXPORT hipError_t hipDevicePrimaryCtxRetain(hipCtx_t *context, hipDevice_t device)
{
    READY();
    return keep(context ? gpu_context_retain(device, context) : INVALID_VALUE);
}

FAKE_EXPORT hipError_t hipDevicePrimaryCtxRelease(hipDevice_t device)
{
    READY();
    return keep(gpu_context_release(device));
}

FAKE_EXPORT hipError_t hipDevicePrimaryCtxGetState(hipDevice_t device, unsigned *flags, int *active)
{
    READY();
    if (!gpu_at(device) || !flags || !active)
        return keep(gpu_at(device) ? INVALID_VALUE : INVALID_DEVICE);
    *flags = 0;
    *active = gpu_context_active(device);
    return OK;
}

FAKE_EXPORT hipError_t hipCtxGetCurrent(hipCtx_t *context)
{
    READY();
    *context = gpu_context_current();
    return OK;
}

FAKE_EXPORT hipError_t hipCtxSetCurrent(hipCtx_t context)
{
    READY();
    return keep(gpu_context_set(context));
}

FAKE_EXPORT hipError_t hipCtxGetDevice(hipDevice_t *device)
{
    READY();
    *device = gpu_context_device(gpu_context_current());
    return keep(*device < 0 ? INVALID_CONTEXT : OK);
}

FAKE_EXPORT hipError_t hipDeviceSynchronize(void)
{
    READY();
    return gpu_streams_wait(gpu_runtime_device());
}

/* ---- streams and events ---- */

FAKE_EXPORT hipError_t hipStreamCreateWithFlags(void **stream, unsigned flags)
{
    (void)flags;
    READY();
    CURRENT(device);
    return keep(stream ? gpu_stream_create(device, stream) : INVALID_VALUE);
}

FAKE_EXPORT hipError_t hipStreamCreate(void **stream)
{
    return hipStreamCreateWithFlags(stream, 0);
}

FAKE_EXPORT hipError_t hipStreamDestroy(void *stream)
{
    READY();
    return keep(gpu_stream_destroy(stream));
}

FAKE_EXPORT hipError_t hipStreamQuery(void *stream)
{
    READY();
    OF_STREAM(device, stream);
    return gpu_stream_query(device, stream);
}

FAKE_EXPORT hipError_t hipStreamSynchronize(void *stream)
{
    READY();
    OF_STREAM(device, stream);
    return keep(gpu_stream_wait(device, stream));
}

FAKE_EXPORT hipError_t hipStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    (void)flags;
    READY();
    OF_STREAM(device, stream);
    return keep(gpu_event_join(event, device, stream));
}

FAKE_EXPORT hipError_t hipLaunchHostFunc(void *stream, void (*run)(void *), void *what)
{
    READY();
    OF_STREAM(device, stream);
    return keep(run ? gpu_stream_enqueue(device, stream, run, what) : INVALID_VALUE);
}

FAKE_EXPORT hipError_t hipEventCreateWithFlags(void **event, unsigned flags)
{
    (void)flags;
    READY();
    return keep(event ? gpu_event_create(event) : INVALID_VALUE);
}

FAKE_EXPORT hipError_t hipEventCreate(void **event)
{
    return hipEventCreateWithFlags(event, 0);
}

FAKE_EXPORT hipError_t hipEventRecord(void *event, void *stream)
{
    READY();
    OF_STREAM(device, stream);
    return keep(gpu_event_record(event, device, stream));
}

FAKE_EXPORT hipError_t hipEventQuery(void *event)
{
    READY();
    return gpu_event_query(event);
}

FAKE_EXPORT hipError_t hipEventSynchronize(void *event)
{
    READY();
    return keep(gpu_event_wait(event));
}

FAKE_EXPORT hipError_t hipEventElapsedTime(float *ms, void *from, void *to)
{
    READY();
    return keep(gpu_event_elapsed(from, to, ms));
}

FAKE_EXPORT hipError_t hipEventDestroy(void *event)
{
    READY();
    return keep(gpu_event_destroy(event));
}

/* ---- memory ---- */

FAKE_EXPORT hipError_t hipMalloc(void **pointer, size_t bytes)
{
    READY();
    CURRENT(device);
    uint64_t at = 0;
    if (!pointer)
        return keep(INVALID_VALUE);
    hipError_t code = bytes ? gpu_memory_alloc(device, bytes, &at) : OK;
    *pointer = (void *)(uintptr_t)at;
    return keep(code);
}

FAKE_EXPORT hipError_t hipFree(void *pointer)
{
    READY();
    return keep(gpu_memory_free((uintptr_t)pointer));
}

FAKE_EXPORT hipError_t hipMemGetInfo(size_t *free_bytes, size_t *total)
{
    READY();
    CURRENT(device);
    *total = gpu_at(device)->memory;
    *free_bytes = *total - gpu_memory_used(device);
    return OK;
}

/* 1 host to device, 2 device to host, 3 device to device */
FAKE_EXPORT hipError_t hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream)
{
    READY();
    OF_STREAM(device, stream);
    if (kind < 1 || kind > 3)
        return keep(INVALID_VALUE);
    return keep(gpu_memory_copy((enum gpu_copy)(kind - 1), (uintptr_t)to, (uintptr_t)from, bytes, device, stream));
}

FAKE_EXPORT hipError_t hipMemcpy(void *to, const void *from, size_t bytes, int kind)
{
    hipError_t code = hipMemcpyAsync(to, from, bytes, kind, NULL);
    return code == OK ? hipStreamSynchronize(NULL) : code;
}

FAKE_EXPORT hipError_t hipMemsetAsync(void *to, int value, size_t bytes, void *stream)
{
    READY();
    OF_STREAM(device, stream);
    return keep(gpu_memory_set((uintptr_t)to, (uint8_t)value, bytes, device, stream));
}

FAKE_EXPORT hipError_t hipPointerGetAttribute(void *value, int attribute, void *pointer)
{
    READY();
    int device = -1;
    if (!value || !gpu_memory_range((uintptr_t)pointer, 1, &device))
        return keep(INVALID_VALUE);
    switch (attribute) {
    case 2: *(unsigned *)value = 2; return OK;
    case 3: *(void **)value = pointer; return OK;
    case 9: *(int *)value = device; return OK;
    default: return keep(INVALID_VALUE);
    }
}
