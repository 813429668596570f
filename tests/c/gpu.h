/*
 * The GPU as a test program sees it: the driver (CUDA or HIP) that the library has loaded, resolved with dlsym, and what the test
 * doubles tell of themselves (fake_ functions; absent with a real driver, then the questions answer -1).
 */
#ifndef TEST_GPU_H
#define TEST_GPU_H

#include "check.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>

static struct {
    void *driver, *nccl;
    bool hip;
    int device;
} gpu = {NULL, NULL, false, -1};

struct gpu_search {
    const char *begin[2];
    char path[512];
};

__attribute__((unused)) static int gpu_image(struct dl_phdr_info *info, size_t size, void *pointer)
{
    struct gpu_search *s = pointer;
    const char *slash = strrchr(info->dlpi_name, '/'), *base = slash ? slash + 1 : info->dlpi_name;
    (void)size;
    for (int i = 0; i < 2; i++)
        if (s->begin[i] && strncmp(base, s->begin[i], strlen(s->begin[i])) == 0) {
            snprintf(s->path, sizeof s->path, "%s", info->dlpi_name);
            return 1;
        }
    return 0;
}

/* A library that is in the process, by the beginning of its file name. */
__attribute__((unused)) static void *gpu_loaded(const char *one, const char *other)
{
    struct gpu_search s = {{one, other}, ""};
    return dl_iterate_phdr(gpu_image, &s) ? dlopen(s.path, RTLD_NOW | RTLD_NOLOAD) : NULL;
}

/* What is loaded by now; called again it finds what has come since. */
__attribute__((unused)) static void gpu_look(void)
{
    if (!gpu.nccl)
        gpu.nccl = gpu_loaded("libnccl.so", "librccl.so");
    if (gpu.driver)
        return;
    if ((gpu.driver = gpu_loaded("libamdhip64.so", NULL)) != NULL)
        gpu.hip = true;
    else
        gpu.driver = gpu_loaded("libcuda.so", NULL);
}

__attribute__((unused)) static void *gpu_symbol(void *library, const char *name)
{
    void *p = library ? dlsym(library, name) : NULL;
    NEED(p, "%s is in no library", name);
    return p;
}

/* GPU(type of the function, name in CUDA, name in HIP) */
#define GPU_FN(type, cuda, hip_name) ((type)gpu_symbol(gpu.driver, gpu.hip ? hip_name : cuda))
#define GPU_OK(call)                                                                                                               \
    do {                                                                                                                           \
        int gpu_rc = (call);                                                                                                       \
        NEED(gpu_rc == 0, #call " gave %d", gpu_rc);                                                                               \
    } while (0)

/* The device's context on this thread, as a host that uses the device has it. */
__attribute__((unused)) static void gpu_enter(int device)
{
    gpu_look();
    NEED(gpu.driver, "no driver in the process");
    gpu.device = device;
    if (gpu.hip) {
        GPU_OK(((int (*)(int))gpu_symbol(gpu.driver, "hipSetDevice"))(device));
        return;
    }
    int handle = -1;
    void *context = NULL;
    GPU_OK(((int (*)(int *, int))gpu_symbol(gpu.driver, "cuDeviceGet"))(&handle, device));
    GPU_OK(((int (*)(void **, int))gpu_symbol(gpu.driver, "cuDevicePrimaryCtxRetain"))(&context, handle));
    GPU_OK(((int (*)(void *))gpu_symbol(gpu.driver, "cuCtxSetCurrent"))(context));
}

/* The host is done with the device: what it retained goes back. */
__attribute__((unused)) static void gpu_leave(void)
{
    if (gpu.hip || gpu.device < 0)
        return;
    GPU_OK(((int (*)(int))gpu_symbol(gpu.driver, "cuDevicePrimaryCtxRelease_v2"))(gpu.device));
    gpu.device = -1;
}

__attribute__((unused)) static void *gpu_alloc(size_t bytes)
{
    void *p = NULL;
    if (gpu.hip)
        GPU_OK(((int (*)(void **, size_t))gpu_symbol(gpu.driver, "hipMalloc"))(&p, bytes));
    else
        GPU_OK(((int (*)(void **, size_t))gpu_symbol(gpu.driver, "cuMemAlloc_v2"))(&p, bytes));
    return p;
}

__attribute__((unused)) static void gpu_free(void *p)
{
    GPU_OK(GPU_FN(int (*)(void *), "cuMemFree_v2", "hipFree")(p));
}

__attribute__((unused)) static void gpu_put(void *device, const void *from, size_t bytes)
{
    if (!bytes)
        return;
    if (gpu.hip)
        GPU_OK(((int (*)(void *, const void *, size_t, int))gpu_symbol(gpu.driver, "hipMemcpy"))(device, from, bytes, 1));
    else
        GPU_OK(((int (*)(void *, const void *, size_t))gpu_symbol(gpu.driver, "cuMemcpyHtoD_v2"))(device, from, bytes));
}

__attribute__((unused)) static void gpu_get(void *to, const void *device, size_t bytes)
{
    if (!bytes)
        return;
    if (gpu.hip)
        GPU_OK(((int (*)(void *, const void *, size_t, int))gpu_symbol(gpu.driver, "hipMemcpy"))(to, device, bytes, 2));
    else
        GPU_OK(((int (*)(void *, const void *, size_t))gpu_symbol(gpu.driver, "cuMemcpyDtoH_v2"))(to, device, bytes));
}

__attribute__((unused)) static void *gpu_stream(void)
{
    void *s = NULL;
    GPU_OK(GPU_FN(int (*)(void **, unsigned), "cuStreamCreate", "hipStreamCreateWithFlags")(&s, 1));
    return s;
}

__attribute__((unused)) static void gpu_stream_end(void *s)
{
    GPU_OK(GPU_FN(int (*)(void *), "cuStreamDestroy_v2", "hipStreamDestroy")(s));
}

__attribute__((unused)) static void gpu_sync(void *s)
{
    GPU_OK(GPU_FN(int (*)(void *), "cuStreamSynchronize", "hipStreamSynchronize")(s));
}

/* A function of ours at this place of the stream: what comes behind it waits for it. */
__attribute__((unused)) static void gpu_host_function(void *s, void (*run)(void *), void *what)
{
    GPU_OK(GPU_FN(int (*)(void *, void (*)(void *), void *), "cuLaunchHostFunc", "hipLaunchHostFunc")(s, run, what));
}

/* ---- the doubles ---- */

__attribute__((unused)) static bool gpu_is_double(void)
{
    gpu_look();
    return gpu.driver && dlsym(gpu.driver, "fake_gpu_hooks");
}

__attribute__((unused)) static int gpu_ask(const char *name, int device)
{
    int (*f)(int);
    *(void **)&f = gpu.driver ? dlsym(gpu.driver, name) : NULL;
    return f ? f(device) : -1;
}

__attribute__((unused)) static int gpu_contexts_created(int device)
{
    return gpu_ask("fake_gpu_contexts_created", device);
}

__attribute__((unused)) static int gpu_context_refs(int device)
{
    return gpu_ask("fake_gpu_context_refs", device);
}

__attribute__((unused)) static long gpu_bytes_live(void)
{
    size_t (*f)(void);
    *(void **)&f = gpu.driver ? dlsym(gpu.driver, "fake_gpu_bytes_live") : NULL;
    return f ? (long)f() : -1;
}

__attribute__((unused)) static int gpu_live_comms(void)
{
    int (*f)(void);
    *(void **)&f = gpu.nccl ? dlsym(gpu.nccl, "fake_nccl_live_comms") : NULL;
    return f ? f() : -1;
}

__attribute__((unused)) static int gpu_group_depth(void)
{
    int (*f)(void);
    *(void **)&f = gpu.nccl ? dlsym(gpu.nccl, "fake_nccl_group_depth") : NULL;
    return f ? f() : -1;
}

__attribute__((unused)) static long gpu_calls(const char *function)
{
    unsigned long (*f)(const char *);
    bool nccl = strncmp(function, "nccl", 4) == 0;
    void *library = nccl ? gpu.nccl : gpu.driver;
    *(void **)&f = library ? dlsym(library, nccl ? "fake_nccl_calls" : "fake_gpu_calls") : NULL;
    return f ? (long)f(function) : -1;
}

/*
 * The doubles read their rules of faults again. The driver forgets its machine with them and has it back after its init, which the
 * library calls once only: so it is called here. It is not called where a rule is about it, or where the library has not called it
 * yet.
 */
__attribute__((unused)) static void gpu_reload(bool init)
{
    void (*f)(void);
    gpu_look();
    *(void **)&f = gpu.driver ? dlsym(gpu.driver, "fake_gpu_reload") : NULL;
    if (f)
        f();
    if (f && init)
        GPU_OK(GPU_FN(int (*)(unsigned), "cuInit", "hipInit")(0));
    *(void **)&f = gpu.nccl ? dlsym(gpu.nccl, "fake_nccl_reload") : NULL;
    if (f)
        f();
}

/* NCCL's version code, as it says it. */
__attribute__((unused)) static int gpu_nccl_version(void)
{
    int version = 0;
    GPU_OK(((int (*)(int *))gpu_symbol(gpu.nccl, "ncclGetVersion"))(&version));
    return version;
}

#endif
