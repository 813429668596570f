/*
 * libcuda.so.1: the driver API as far as programs here use it, over a machine that the environment describes.
 * Not modelled: kernels and modules, cuGetProcAddress, contexts other than primary ones, flags of any kind, and what device.c,
 * context.c, stream.c and memory.c say.
 */
#include <stdio.h>
#include <string.h>

#include "gpu.h"

typedef int CUresult;
typedef int CUdevice;
typedef struct gpu_context *CUcontext;
typedef void *CUstream;
typedef void *CUevent;
typedef unsigned long long CUdeviceptr;

#define READY()                                                                                                                    \
    do {                                                                                                                           \
        ENTER();                                                                                                                   \
        if (!gpu_ready())                                                                                                          \
            return NOT_INITIALIZED;                                                                                                \
    } while (0)
/* The device of the current context. */
#define CURRENT(device)                                                                                                            \
    int device = gpu_context_device(gpu_context_current());                                                                        \
    if (device < 0)                                                                                                                \
    return INVALID_CONTEXT
/* The same, not needed where a stream says it. */
#define OF_STREAM(device, stream)                                                                                                  \
    int device = stream ? -1 : gpu_context_device(gpu_context_current());                                                          \
    if (!stream && device < 0)                                                                                                     \
    return INVALID_CONTEXT

FAKE_EXPORT CUresult cuInit(unsigned flags)
{
    ENTER();
    return flags ? INVALID_VALUE : gpu_init();
}

FAKE_EXPORT CUresult cuDriverGetVersion(int *version)
{
    ENTER();
    if (!version)
        return INVALID_VALUE;
    *version = (int)fake_env_number("FAKE_DRIVER_VERSION", 12080);
    return OK;
}

FAKE_EXPORT CUresult cuDeviceGetCount(int *count)
{
    READY();
    if (!count)
        return INVALID_VALUE;
    *count = gpu_count();
    return OK;
}

FAKE_EXPORT CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    READY();
    if (!device)
        return INVALID_VALUE;
    *device = ordinal;
    return gpu_at(ordinal) ? OK : INVALID_DEVICE;
}

static CUresult text(char *out, int n, const char *from)
{
    if (!out || n <= 0)
        return INVALID_VALUE;
    snprintf(out, (size_t)n, "%s", from);
    return OK;
}

FAKE_EXPORT CUresult cuDeviceGetName(char *name, int n, CUdevice device)
{
    READY();
    return gpu_at(device) ? text(name, n, gpu_at(device)->name) : INVALID_DEVICE;
}

FAKE_EXPORT CUresult cuDeviceGetPCIBusId(char *id, int n, CUdevice device)
{
    READY();
    return gpu_at(device) ? text(id, n, gpu_at(device)->pci) : INVALID_DEVICE;
}

FAKE_EXPORT CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device)
{
    READY();
    return gpu_attribute(attribute, device, value);
}

/* That of the whole GPU; the second version knows MIG instances. */
FAKE_EXPORT CUresult cuDeviceGetUuid(void *uuid, CUdevice device)
{
    READY();
    if (!gpu_at(device))
        return INVALID_DEVICE;
    memcpy(uuid, gpu_at(device)->uuid, 16);
    return OK;
}

FAKE_EXPORT CUresult cuDeviceGetUuid_v2(void *uuid, CUdevice device)
{
    READY();
    if (!gpu_at(device))
        return INVALID_DEVICE;
    memcpy(uuid, gpu_at(device)->mig, 16);
    return OK;
}

FAKE_EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    READY();
    if (!gpu_at(device) || !bytes)
        return bytes ? INVALID_DEVICE : INVALID_VALUE;
    *bytes = gpu_at(device)->memory;
    return OK;
}

/* ---- contexts ---- */

FAKE_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    READY();
    return context ? gpu_context_retain(device, context) : INVALID_VALUE;
}

FAKE_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    READY();
    return gpu_context_release(device);
}

FAKE_EXPORT CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
    READY();
    return gpu_context_release(device);
}

FAKE_EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
    READY();
    if (!gpu_at(device))
        return INVALID_DEVICE;
    if (!flags || !active)
        return INVALID_VALUE;
    *flags = 0;
    *active = gpu_context_active(device);
    return OK;
}

FAKE_EXPORT CUresult cuCtxGetCurrent(CUcontext *context)
{
    READY();
    if (!context)
        return INVALID_VALUE;
    *context = gpu_context_current();
    return OK;
}

FAKE_EXPORT CUresult cuCtxSetCurrent(CUcontext context)
{
    READY();
    return gpu_context_set(context);
}

FAKE_EXPORT CUresult cuCtxGetDevice(CUdevice *device)
{
    READY();
    CURRENT(current);
    if (!device)
        return INVALID_VALUE;
    *device = current;
    return OK;
}

FAKE_EXPORT CUresult cuCtxSynchronize(void)
{
    READY();
    CURRENT(device);
    return gpu_streams_wait(device);
}

FAKE_EXPORT CUresult cuGetErrorName(CUresult error, const char **name)
{
    ENTER();
    *name = gpu_error_name(error);
    return *name ? OK : INVALID_VALUE;
}

FAKE_EXPORT CUresult cuGetErrorString(CUresult error, const char **string)
{
    ENTER();
    *string = gpu_error_string(error);
    return *string ? OK : INVALID_VALUE;
}

/* ---- streams and events ---- */

FAKE_EXPORT CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    (void)flags;
    READY();
    CURRENT(device);
    return stream ? gpu_stream_create(device, stream) : INVALID_VALUE;
}

FAKE_EXPORT CUresult cuStreamDestroy_v2(CUstream stream)
{
    READY();
    return gpu_stream_destroy(stream);
}

FAKE_EXPORT CUresult cuStreamQuery(CUstream stream)
{
    READY();
    OF_STREAM(device, stream);
    return gpu_stream_query(device, stream);
}

FAKE_EXPORT CUresult cuStreamSynchronize(CUstream stream)
{
    READY();
    OF_STREAM(device, stream);
    return gpu_stream_wait(device, stream);
}

FAKE_EXPORT CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    (void)flags;
    READY();
    OF_STREAM(device, stream);
    return gpu_event_join(event, device, stream);
}

FAKE_EXPORT CUresult cuLaunchHostFunc(CUstream stream, void (*run)(void *), void *what)
{
    READY();
    OF_STREAM(device, stream);
    return run ? gpu_stream_enqueue(device, stream, run, what) : INVALID_VALUE;
}

FAKE_EXPORT CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    (void)flags;
    READY();
    CURRENT(device);
    (void)device;
    return event ? gpu_event_create(event) : INVALID_VALUE;
}

FAKE_EXPORT CUresult cuEventRecord(CUevent event, CUstream stream)
{
    READY();
    OF_STREAM(device, stream);
    return gpu_event_record(event, device, stream);
}

FAKE_EXPORT CUresult cuEventQuery(CUevent event)
{
    READY();
    return gpu_event_query(event);
}

FAKE_EXPORT CUresult cuEventSynchronize(CUevent event)
{
    READY();
    return gpu_event_wait(event);
}

FAKE_EXPORT CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to)
{
    READY();
    return gpu_event_elapsed(from, to, ms);
}

FAKE_EXPORT CUresult cuEventDestroy_v2(CUevent event)
{
    READY();
    return gpu_event_destroy(event);
}

FAKE_EXPORT CUresult cuEventDestroy(CUevent event)
{
    READY();
    return gpu_event_destroy(event);
}

/* ---- memory ---- */

FAKE_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes)
{
    READY();
    CURRENT(device);
    uint64_t at = 0;
    CUresult code = pointer ? gpu_memory_alloc(device, bytes, &at) : INVALID_VALUE;
    if (code == OK)
        *pointer = at;
    return code;
}

FAKE_EXPORT CUresult cuMemFree_v2(CUdeviceptr pointer)
{
    READY();
    return gpu_memory_free(pointer);
}

FAKE_EXPORT CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    READY();
    CURRENT(device);
    *total = gpu_at(device)->memory;
    *free_bytes = *total - gpu_memory_used(device);
    return OK;
}

FAKE_EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    READY();
    OF_STREAM(device, stream);
    return gpu_memory_copy(HOST_TO_DEVICE, to, (uintptr_t)from, bytes, device, stream);
}

FAKE_EXPORT CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    READY();
    OF_STREAM(device, stream);
    return gpu_memory_copy(DEVICE_TO_HOST, (uintptr_t)to, from, bytes, device, stream);
}

FAKE_EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    READY();
    OF_STREAM(device, stream);
    return gpu_memory_copy(DEVICE_TO_DEVICE, to, from, bytes, device, stream);
}

static CUresult copy_now(enum gpu_copy kind, uint64_t to, uint64_t from, size_t bytes)
{
    CURRENT(device);
    CUresult code = gpu_memory_copy(kind, to, from, bytes, device, NULL);
    return code == OK ? gpu_stream_wait(device, NULL) : code;
}

FAKE_EXPORT CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes)
{
    READY();
    return copy_now(HOST_TO_DEVICE, to, (uintptr_t)from, bytes);
}

FAKE_EXPORT CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes)
{
    READY();
    return copy_now(DEVICE_TO_HOST, (uintptr_t)to, from, bytes);
}

FAKE_EXPORT CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream)
{
    READY();
    OF_STREAM(device, stream);
    return gpu_memory_set(to, value, bytes, device, stream);
}

FAKE_EXPORT CUresult cuPointerGetAttribute(void *value, int attribute, CUdeviceptr pointer)
{
    READY();
    int device = -1;
    uint64_t base = 0;
    size_t bytes = 0;
    if (!value || !gpu_memory_range(pointer, 1, &device) || gpu_memory_base(pointer, &base, &bytes))
        return INVALID_VALUE;
    struct gpu_context *context;
    switch (attribute) {
    case 1: /* the context: all memory is that of a primary one */
        if (gpu_context_retain(device, &context) != OK || gpu_context_release(device) != OK)
            return INVALID_VALUE;
        *(struct gpu_context **)value = context;
        return OK;
    case 2: *(unsigned *)value = 2; return OK; /* device memory */
    case 3: *(CUdeviceptr *)value = pointer; return OK;
    case 8: *(unsigned *)value = 0; return OK; /* managed */
    case 9: *(int *)value = device; return OK;
    case 11: *(CUdeviceptr *)value = base; return OK;
    case 12: *(size_t *)value = bytes; return OK;
    default: return INVALID_VALUE;
    }
}
