/*
 * The test of the doubles of the GPU libraries: ranks are processes that this program forks.
 * Not tested: what the README of this folder lists as not modelled.
 */
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "selftest.h"

int rank, nranks;
const char *variant;
bool hip;
void *driver, *nccl;

static struct shared {
    atomic_int checks, arrived, generation, ids;
    struct id id;
} *shared;
static char root[PATH_MAX];
static const char *scenario;

void checked(void)
{
    shared->checks++;
}

void failed(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s: rank %d: %s:%d: wrong: %s (last error of the library: %s)\n", scenario, rank, file, line, what,
            nccl ? last_error() : "");
    _exit(1);
}

void failed_numbers(const char *file, int line, const char *what, long got, long wanted)
{
    char text[256];
    snprintf(text, sizeof text, "%s is %ld and not %ld", what, got, wanted);
    failed(file, line, text);
}

function sym(void *library, const char *name)
{
    function f;
    *(void **)&f = dlsym(library, name);
    if (!f)
        failed(name, 0, "no such function");
    return f;
}

double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void meet_ranks(void)
{
    int generation = shared->generation;
    if (atomic_fetch_add(&shared->arrived, 1) + 1 == nranks) {
        shared->arrived = 0;
        shared->generation++;
    }
    while (shared->generation == generation)
        usleep(200);
}

void share_id(struct id *id)
{
    meet_ranks();
    if (rank == 0)
        EQUAL(N(ncclGetUniqueId)(&shared->id), 0);
    meet_ranks();
    *id = shared->id;
}

static void *open_library(const char *folder, const char *name)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/%s/%s", root, folder, name);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        failed(path, 0, "cannot be loaded");
    }
    return library;
}

void load(const char *which)
{
    variant = which;
    hip = strncmp(which, "rccl", 4) == 0;
    driver = hip ? open_library("hip", "libamdhip64.so.6") : open_library("cuda", "libcuda.so.1");
    if (*which)
        nccl = hip                             ? open_library(which, "librccl.so.1")
               : strncmp(which, "xla", 3) == 0 ? open_library(which, "libReactantExtra.so")
                                               : open_library(which, "libnccl.so.2");
}

void *bring_up(void)
{
    void *context, *comm = NULL;
    struct id id;
    if (hip) {
        EQUAL(D(hipSetDevice)(rank), 0);
    } else {
        EQUAL(D(cuInit)(0u), 0);
        EQUAL(D(cuDevicePrimaryCtxRetain)(&context, rank), 0);
        EQUAL(D(cuCtxSetCurrent)(context), 0);
    }
    share_id(&id);
    EQUAL(N(ncclCommInitRank)(&comm, nranks, id, rank), 0);
    CHECK(comm != NULL);
    return comm;
}

void *stream_new(void)
{
    void *stream;
    EQUAL(hip ? D(hipStreamCreate)(&stream) : D(cuStreamCreate)(&stream, 0u), 0);
    return stream;
}

uint64_t device_new(size_t bytes)
{
    uint64_t pointer = 0;
    EQUAL(hip ? D(hipMalloc)(&pointer, bytes) : D(cuMemAlloc_v2)(&pointer, bytes), 0);
    return pointer;
}

void device_free(uint64_t pointer)
{
    EQUAL(hip ? D(hipFree)(pointer) : D(cuMemFree_v2)(pointer), 0);
}

void to_device(uint64_t to, const void *from, size_t bytes)
{
    EQUAL(hip ? D(hipMemcpy)(to, from, bytes, 1) : D(cuMemcpyHtoD_v2)(to, from, bytes), 0);
}

void from_device(void *to, uint64_t from, size_t bytes)
{
    EQUAL(hip ? D(hipMemcpy)(to, from, bytes, 2) : D(cuMemcpyDtoH_v2)(to, from, bytes), 0);
}

int sync_stream(void *stream)
{
    return hip ? D(hipStreamSynchronize)(stream) : D(cuStreamSynchronize)(stream);
}

int query_stream(void *stream)
{
    return hip ? D(hipStreamQuery)(stream) : D(cuStreamQuery)(stream);
}

const char *last_error(void)
{
    const char *(*get)(void *);
    *(void **)&get = dlsym(nccl, "ncclGetLastError");
    return get ? get(NULL) : "";
}

void device(int ordinal)
{
    void *context;
    EQUAL(D(cuInit)(0u), 0);
    EQUAL(D(cuDevicePrimaryCtxRetain)(&context, ordinal), 0);
    EQUAL(D(cuCtxSetCurrent)(context), 0);
}

int async_error(void *comm)
{
    int code = -1;
    EQUAL(N(ncclCommGetAsyncError)(comm, &code), 0);
    return code;
}

int until_not(void *comm, int code, double limit)
{
    double start = seconds();
    while (async_error(comm) == code && seconds() - start < limit)
        usleep(2000);
    return async_error(comm);
}

float number(uint64_t at)
{
    float x;
    from_device(&x, at, sizeof x);
    return x;
}

uint64_t with_number(float x)
{
    uint64_t at = device_new(64);
    to_device(at, &x, sizeof x);
    return at;
}

int all_reduce(uint64_t at, size_t count, void *comm, void *stream)
{
    return N(ncclAllReduce)(at, at, count, FLOAT, ADD, comm, stream);
}

void works(void *comm, int n, float wanted)
{
    void *stream = stream_new();
    uint64_t at = with_number((float)rank + 1);
    int got = -1;
    EQUAL(N(ncclCommCount)(comm, &got), 0);
    EQUAL(got, n);
    EQUAL(all_reduce(at, 1, comm, stream), 0);
    EQUAL(sync_stream(stream), 0);
    CHECK(number(at) == wanted);
}

static void set_all(const char *settings)
{
    char *copy = strdup(settings), *rest = copy, *one;
    while ((one = strsep(&rest, " ")) != NULL) {
        char *value = strchr(one, '=');
        if (!value)
            continue;
        *value++ = 0;
        setenv(one, value, 1);
    }
    free(copy);
}

static void child(void (*f)(void), const char *which, const char *settings)
{
    char number[16];
    snprintf(number, sizeof number, "%d", rank);
    setenv("FAKE_RANK", number, 1);
    snprintf(number, sizeof number, "%d", nranks);
    setenv("FAKE_GPUS", number, 1);
    set_all(settings);
    if (which)
        load(which);
    f();
    _exit(0);
}

void run(const char *title, void (*f)(void), int n, const char *which, const char *settings, int killed)
{
    pid_t pids[64];
    double start = seconds();
    int status, before = shared->checks;
    bool bad = false;
    shared->arrived = 0;
    scenario = title;
    nranks = n;
    for (rank = 0; rank < n; rank++) {
        pids[rank] = fork();
        if (pids[rank] == 0)
            child(f, which, settings);
    }
    for (int left = n; left > 0;) {
        for (int i = 0; i < n; i++) {
            if (!pids[i] || waitpid(pids[i], &status, WNOHANG) != pids[i])
                continue;
            pids[i] = 0;
            left--;
            if (i == killed ? !WIFSIGNALED(status) : status != 0) {
                fprintf(stderr, "%s (%s): rank %d ended with status %#x\n", title, which ? which : "-", i, status);
                bad = true;
            }
        }
        if (bad || seconds() - start > 60) {
            if (!bad)
                fprintf(stderr, "%s (%s): it takes too long\n", title, which ? which : "-");
            for (int i = 0; i < n; i++)
                if (pids[i])
                    kill(pids[i], SIGKILL);
            exit(1);
        }
        usleep(500);
    }
    if (getenv("SELFTEST_VERBOSE"))
        printf("%-28s %-12s %d ranks %6d checks %5.2f s\n", title, which ? which : "-", n, shared->checks - before, seconds() - start);
    fflush(stdout);
}

int main(void)
{
    ssize_t n = readlink("/proc/self/exe", root, sizeof root - 1);
    if (n < 0)
        return 1;
    root[n] = 0;
    *strrchr(root, '/') = 0;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    test_driver();
    test_data();
    test_comm();
    test_faults();
    printf("ok %d checks\n", shared->checks);
    return 0;
}
