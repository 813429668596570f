/*
 * The doubles of libcuda and libamdhip64: the machine, contexts, memory, streams; and what libraries export.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "selftest.h"

static void start(void)
{
    void *context;
    EQUAL(D(cuInit)(0u), 0);
    EQUAL(D(cuDevicePrimaryCtxRetain)(&context, 0), 0);
    EQUAL(D(cuCtxSetCurrent)(context), 0);
}

/* ---- the machine ---- */

static int count(void)
{
    int n = -1;
    return D(cuInit)(0u) == 0 && D(cuDeviceGetCount)(&n) == 0 ? n : 0;
}

static const char *pci(int device)
{
    static char id[16];
    EQUAL(D(cuDeviceGetPCIBusId)(id, 16, device), 0);
    return id;
}

static void visible(const char *list, int n, const char *first)
{
    if (list)
        setenv("CUDA_VISIBLE_DEVICES", list, 1);
    else
        unsetenv("CUDA_VISIBLE_DEVICES");
    D(fake_gpu_reload)();
    EQUAL(count(), n);
    if (n)
        CHECK(strcmp(pci(0), first) == 0);
}

static void machine(void)
{
    int version = 0, n = 0, value = -1;
    uint8_t uuid[16];
    char name[64];
    EQUAL(D(cuDeviceGetCount)(&n), 3);
    EQUAL(D(cuDriverGetVersion)(&version), 0);
    EQUAL(version, 12080);
    visible(NULL, 4, "0000:10:00.0");
    visible("2", 1, "0000:12:00.0");
    visible("3,1", 2, "0000:13:00.0");
    visible("", 0, NULL);
    EQUAL(D(cuInit)(0u), 100);
    visible("1,9,2", 1, "0000:11:00.0");
    visible("1,1,2", 1, "0000:11:00.0");
    visible("-1", 0, NULL);
    visible("GPU-00000002", 1, "0000:12:00.0");
    visible("GPU-0000000", 0, NULL); /* a prefix of all */
    visible("GPU-00000003-0000-4000-8000-000000000000,0", 2, "0000:13:00.0");
    EQUAL(D(cuDeviceGetUuid_v2)(uuid, 0), 0);
    CHECK(uuid[3] == 3 && uuid[6] == 0x40);
    EQUAL(D(cuDeviceGetName)(name, 64, 1), 0);
    CHECK(strcmp(name, "Fake H200") == 0);
    EQUAL(D(cuDeviceGetAttribute)(&value, 75, 0), 0);
    EQUAL(value, 9);
    EQUAL(D(cuDeviceGetName)(name, 64, 2), 101);
}

static void table(void)
{
    int numa = -1;
    uint8_t whole[16], part[16];
    visible(NULL, 2, "0001:18:00.0");
    EQUAL(D(cuDeviceGetAttribute)(&numa, 134, 1), 0);
    EQUAL(numa, 1);
    visible("2", 1, "0000:5e:00.0"); /* the first instance of the third GPU */
    visible("MIG-22222222", 1, "0000:5e:00.0");
    EQUAL(D(cuDeviceGetUuid)(whole, 0), 0);
    EQUAL(D(cuDeviceGetUuid_v2)(part, 0), 0);
    CHECK(whole[0] == 0xaa && part[0] == 0x22);
    visible("MIG-22222222,MIG-11111111", 1, "0000:5e:00.0");
}

static void none(void)
{
    const char *text = NULL;
    EQUAL(D(cuInit)(0u), 803);
    EQUAL(D(cuInit)(0u), 803);
    EQUAL(D(cuGetErrorName)(803, &text), 0);
    CHECK(strcmp(text, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH") == 0);
    EQUAL(D(cuGetErrorString)(100, &text), 0);
    CHECK(strcmp(text, "no CUDA-capable device is detected") == 0);
}

static void hip_machine(void)
{
    int n = -1, device = -1;
    char uuid[17] = {0};
    setenv("ROCR_VISIBLE_DEVICES", "2,3", 1);
    setenv("HIP_VISIBLE_DEVICES", "1", 1);
    EQUAL(D(hipGetDeviceCount)(&n), 0);
    EQUAL(n, 1);
    EQUAL(D(hipDeviceGetUuid)(uuid, 0), 0);
    CHECK(strcmp(uuid, "0000000300000000") == 0);
    EQUAL(D(hipGetDevice)(&device), 0);
    EQUAL(device, 0);
    EQUAL(D(fake_gpu_context_active)(0), 0);
    EQUAL(D(hipSetDevice)(1), 101);
    setenv("HIP_VISIBLE_DEVICES", "2", 1); /* filtered twice: nothing is left */
    D(fake_gpu_reload)();
    EQUAL(D(hipGetDeviceCount)(&n), 100);
    EQUAL(n, 0);
    EQUAL(D(hipInit)(0u), 101);
}

/* ---- contexts ---- */

static void *thread_without(void *argument)
{
    void *context = argument;
    EQUAL(D(cuCtxGetCurrent)(&context), 0);
    CHECK(context == NULL);
    EQUAL(D(cuCtxGetDevice)((int[]){0}), 201);
    return NULL;
}

static void contexts(void)
{
    void *zero = NULL, *one = NULL, *now = &zero;
    int device = -1, active = -1;
    unsigned flags;
    pthread_t thread;
    EQUAL(D(cuInit)(0u), 0);
    EQUAL(D(cuCtxGetCurrent)(&now), 0);
    CHECK(now == NULL);
    EQUAL(D(cuDevicePrimaryCtxGetState)(1, &flags, &active), 0);
    EQUAL(active, 0);
    EQUAL(D(cuDevicePrimaryCtxRetain)(&one, 1), 0);
    EQUAL(D(cuDevicePrimaryCtxRetain)(&one, 1), 0);
    EQUAL(D(fake_gpu_contexts_created)(0), 0);
    EQUAL(D(fake_gpu_contexts_created)(1), 1);
    EQUAL(D(fake_gpu_context_refs)(1), 2);
    EQUAL(D(cuCtxSetCurrent)(one), 0);
    EQUAL(D(cuCtxGetDevice)(&device), 0);
    EQUAL(device, 1);
    pthread_create(&thread, NULL, thread_without, &zero);
    pthread_join(thread, NULL);
    EQUAL(D(cuDevicePrimaryCtxGetState)(1, &flags, &active), 0);
    EQUAL(active, 1);
    EQUAL(D(cuDevicePrimaryCtxRelease_v2)(1), 0);
    EQUAL(D(cuDevicePrimaryCtxRelease)(1), 0);
    EQUAL(D(cuDevicePrimaryCtxRelease_v2)(1), 201);
    EQUAL(D(cuCtxSetCurrent)(one), 709);
    EQUAL(D(cuCtxSetCurrent)(&zero), 201);
    EQUAL(D(cuCtxSetCurrent)(NULL), 0);
}

/* ---- memory ---- */

static void memory(void)
{
    char host[64] = "text", back[64] = {0};
    unsigned kind = 0;
    int device = -1;
    start();
    uint64_t p = device_new(64), size = 0;
    to_device(p, host, 64);
    EQUAL(D(cuMemcpyDtoH_v2)(back, p + 1, (size_t)63), 0);
    CHECK(strcmp(back, "ext") == 0);
    EQUAL(D(cuMemcpyHtoD_v2)(host, back, (size_t)1), 1); /* a host pointer */
    EQUAL(D(cuMemcpyDtoH_v2)(back, host, (size_t)1), 1);
    EQUAL(D(cuMemcpyDtoH_v2)(p, p, (size_t)1), 1);
    EQUAL(D(cuMemcpyHtoD_v2)(p + 1, host, (size_t)64), 1); /* one byte too far */
    EQUAL(D(cuPointerGetAttribute)(&kind, 2, p + 5), 0);
    EQUAL(kind, 2);
    EQUAL(D(cuPointerGetAttribute)(&device, 9, p), 0);
    EQUAL(device, 0);
    EQUAL(D(cuPointerGetAttribute)(&size, 12, p), 0);
    EQUAL(size, 64);
    EQUAL(D(cuPointerGetAttribute)(&kind, 2, host), 1);
    void *(*data)(uint64_t);
    *(void **)&data = dlsym(driver, "fake_gpu_data");
    CHECK(memcmp(data(p), "text", 5) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        *(volatile char *)(uintptr_t)p; /* the host has no access */
        _exit(0);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    CHECK(status != 0); /* SIGSEGV, or what a sanitizer makes of it */
    device_free(p);
    EQUAL(D(cuMemFree_v2)(p), 1);
    EQUAL(D(fake_gpu_bytes_live)(), 0);
    EQUAL(D(cuMemAlloc_v2)(&p, (size_t)1 << 40), 2);
}

/* ---- streams ---- */

static atomic_int calls;

static void call(void *what)
{
    calls += *(int *)what;
}

static void streams(void)
{
    static int one = 1, two = 2;
    uint32_t x = 0;
    float ms = 0;
    void *event, *later, *a, *b;
    start();
    a = stream_new(), b = stream_new();
    EQUAL(D(fake_gpu_streams_live)(), 2);
    uint64_t p = device_new(4);
    EQUAL(D(cuEventCreate)(&event, 0u), 0);
    EQUAL(D(cuEventCreate)(&later, 0u), 0);
    EQUAL(D(cuEventQuery)(event), 0); /* never recorded */
    double before = seconds();
    EQUAL(D(cuMemsetD8Async)(p, (unsigned)7, (size_t)4, a), 0);
    EQUAL(D(cuMemcpyDtoHAsync_v2)(&x, p, (size_t)4, a), 0);
    EQUAL(D(cuEventRecord)(event, a), 0);
    EQUAL(D(cuLaunchHostFunc)(a, call, &one), 0);
    EQUAL(D(cuStreamWaitEvent)(b, event, 0u), 0);
    EQUAL(D(cuLaunchHostFunc)(b, call, &two), 0);
    EQUAL(D(cuEventRecord)(later, a), 0);
    EQUAL(x, 0); /* FAKE_STREAM_DELAY_US is 60 ms */
    EQUAL(D(cuStreamQuery)(a), 600);
    EQUAL(D(cuEventQuery)(event), 600);
    EQUAL(D(cuEventSynchronize)(event), 0);
    EQUAL(x, 0x07070707);
    EQUAL(D(cuStreamSynchronize)(a), 0);
    EQUAL(D(cuStreamSynchronize)(b), 0);
    EQUAL(calls, 3);
    CHECK(seconds() - before > 0.24);
    EQUAL(D(cuEventElapsedTime)(&ms, event, later), 0);
    CHECK(ms > 50);
    EQUAL(D(cuStreamQuery)(a), 0);
    EQUAL(D(cuStreamQuery)(&x), 400);
    EQUAL(D(cuLaunchHostFunc)(NULL, call, &one), 0);
    EQUAL(D(cuStreamQuery)(NULL), 600);
    EQUAL(D(cuCtxSynchronize)(), 0);
    EQUAL(D(cuStreamQuery)(NULL), 0);
    EQUAL(D(cuStreamDestroy_v2)(a), 0);
    EQUAL(D(cuStreamDestroy_v2)(a), 400);
    EQUAL(D(cuStreamSynchronize)(a), 400);
    EQUAL(D(fake_gpu_streams_live)(), 1);
    EQUAL(D(cuEventDestroy_v2)(event), 0);
    EQUAL(D(cuEventQuery)(event), 400);
}

static void faults(void)
{
    int n;
    EQUAL(D(cuInit)(0u), 0);
    EQUAL(D(cuDeviceGetCount)(&n), 0);
    EQUAL(D(cuDeviceGetCount)(&n), 999);
    EQUAL(D(cuDeviceGetCount)(&n), 0);
    EQUAL(D(fake_gpu_calls)("cuDeviceGetCount"), 3);
}

/* ---- what the libraries are ---- */

static void has(const char *name, bool there)
{
    char profiling[64];
    snprintf(profiling, sizeof profiling, "p%s", name);
    bool is = dlsym(nccl, name) && dlsym(nccl, profiling);
    if (is != there)
        failed(name, 0, there ? "missing" : "there and should not be");
    checked();
}

static void symbols(void)
{
    int version = 0;
    int code = strcmp(variant, "rccl") == 0 ? 22106 : strcmp(variant, "rccl_new") == 0 ? 22707 : 0;
    if (!code)
        code = atoi(variant + 4) == 218 ? 21805 : atoi(variant + 4) == 222 ? 22203 : atoi(variant + 4) == 228 ? 22809 : 23203;
    EQUAL(N(ncclGetVersion)(&version), 0);
    EQUAL(version, code);
    has("ncclAllReduce", true);
    has("ncclCommSplit", true);
    has("ncclGroupSimulateEnd", code >= 22200);
    has("ncclCommRegister", code >= 21900);
    has("ncclCommInitRankScalable", code >= 22300);
    has("ncclCommShrink", code >= 22700);
    has("ncclAlltoAll", hip ? code == 22707 : code >= 22803);
    has("ncclGather", hip || code >= 22803);
    has("ncclAllToAll", hip);
    has("ncclAllToAllv", hip);
    has("mscclLoadAlgo", hip);
    has("ncclCommRevoke", code >= 22807);
    has("ncclCommGrow", code >= 22902);
    has("ncclAllReduceConfig", code >= 23200);
    if (hip)
        return;
    CHECK(N(ncclCommInitAll)(NULL, 1, NULL) == 1); /* no device here */
    CHECK(strstr(last_error(), "no CUDA-capable device is detected") != NULL);
    CHECK(N(ncclGroupEnd)() == 5);
}

static void incomplete(void)
{
    CHECK(dlsym(nccl, "ncclCommInitRank") == NULL && dlsym(nccl, "ncclAllReduce") != NULL);
}

static void nothing(void)
{
    CHECK(dlsym(nccl, "ncclGetVersion") == NULL);
}

static void stub(void)
{
    int version = 0;
    bool forwards = strcmp(variant, "xla_forward") == 0;
    if (forwards) { /* as whoever loaded it first */
        char path[4096];
        ssize_t n = readlink("/proc/self/exe", path, sizeof path - 64);
        path[n] = 0;
        strcpy(strrchr(path, '/'), "/nccl228/libnccl.so.2");
        CHECK(dlopen(path, RTLD_NOW | RTLD_LOCAL) != NULL);
    }
    EQUAL(N(ncclGetVersion)(&version), forwards ? 0 : 2);
    EQUAL(version, forwards ? 22809 : 0);
    EQUAL(N(ncclGroupEnd)(), forwards ? 5 : 2);
    const char *(*text)(int);
    *(void **)&text = dlsym(nccl, "ncclGetErrorString");
    CHECK((strncmp(text(2), "Unable to load NCCL library", 27) == 0) == !forwards);
    CHECK(dlsym(nccl, "ncclGather") == NULL);
}

void test_driver(void)
{
    static const char *const variants[] = {"nccl218", "nccl222", "nccl228", "nccl232", "rccl", "rccl_new"};
    run("machine", machine, 1, "", "FAKE_GPUS=4", -1);
    run("table", table, 1, "",
        "FAKE_GPUS=pci=0001:18:00.0;numa=1;pci=0000:5e:00.0,uuid=GPU-aa000000-0000-0000-0000-000000000000,mig=MIG-11111111-0000-0000-0000-"
        "000000000000;pci=0000:5e:00.0,uuid=GPU-aa000000-0000-0000-0000-000000000000,mig=MIG-22222222-0000-0000-0000-000000000000", -1);
    run("no driver", none, 1, "", "FAKE_INIT_CODE=803", -1);
    run("machine of HIP", hip_machine, 1, "rccl", "FAKE_GPUS=4", -1);
    run("contexts", contexts, 1, "", "FAKE_GPUS=2", -1);
    run("memory", memory, 1, "", "", -1);
    run("streams", streams, 1, "", "FAKE_STREAM_DELAY_US=60000", -1);
    run("faults of the driver", faults, 1, "", "FAKE_GPU_FAIL=0:cuDeviceGetCount:2:999", -1);
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        run("symbols", symbols, 1, variants[i], "FAKE_GPUS=0", -1);
    run("a missing symbol", incomplete, 1, "nccl_missing", "", -1);
    run("not NCCL", nothing, 1, "not_nccl", "", -1);
    run("XLA's stub", stub, 1, "xla_stub", "", -1);
    run("XLA's stub", stub, 1, "xla_forward", "", -1);
}
