/*
 * Faults while a GPU communicator is made, put into the test doubles at run time. Whatever fails, on whichever rank: initialize ends on
 * every rank, with the same code, with a text that names the rank; and the process can be used afterwards.
 *
 *   gpu_fault RANK CASE...            cases of the table below, "before", "after" or "library" for a group of it
 *   gpu_fault random SEED COUNT       COUNT of them, of the group "after", rank and fault drawn by SEED
 *
 * RANK is the one that fails, -1 the last. "before" comes before the process has ever found its devices: they are found once. "library"
 * leaves other files named libnccl.so.2 in the process, so nothing of "after" can follow.
 * FAKE_DIR: build/tests/fake. Host-side communicators are made by the host's own MPI.
 */
#include "gpu.h"
#include "hostmpi.h"

#include <time.h>

enum { TIMEOUT_MS = 3000, NEVER_S = 120 };
enum who { ONE, ROOT, EVERY }; /* whom it hits: the chosen rank, rank 0, all */
enum kind {
    FAULT,
    MISSING, /* the rank does not call */
    LATE,    /* and yet it succeeds */
    UNNAMED, /* the text cannot know the rank */
    PEERS,   /* only a fault where other ranks have what this one has not */
};

struct fault {
    const char *group, *name, *set[3]; /* NAME=VALUE; @ stands for FAKE_DIR */
    int code;
    const char *text;
    enum who who;
    enum kind kind;
};

#define CUDA(function, code) "FAKE_GPU_FAIL=*:" function ":*:" code
#define NCCL(function, code) "FAKE_NCCL_FAIL=*:" function ":*:" code
#define PLUGIN "REACTANT_MPI_CLIENT=pjrt", "REACTANT_MPI_LIBXLA=@/xla/pjrt_plugin.so"
#define EXTRA "REACTANT_MPI_CLIENT=reactant", "REACTANT_MPI_LIBXLA=@/xla/libReactantExtra.so"

static const struct fault faults[] = {
    {"before", "no-device", {CUDA("cuInit", "100")}, 61, "no CUDA-capable device", ONE, PEERS},
    {"before", "driver-unknown", {CUDA("cuInit", "999")}, 67, "/dev/nvidia", ONE, FAULT},
    {"before", "driver-mismatch", {CUDA("cuInit", "803")}, 67, "container", ONE, FAULT},
    {"before", "fabric", {CUDA("cuInit", "802")}, 67, "fabric manager", ONE, FAULT},
    {"before", "stub", {CUDA("cuInit", "34")}, 67, "stub", ONE, FAULT},
    {"before", "driver-old", {CUDA("cuInit", "35")}, 67, "insufficient", ONE, FAULT},
    {"before", "count", {CUDA("cuDeviceGetCount", "3")}, 67, "initialization error", ONE, FAULT},
    {"before", "driver-version", {CUDA("cuDriverGetVersion", "999")}, 67, "unknown error", ONE, FAULT},
    {"before", "nccl-version", {NCCL("ncclGetVersion", "3")}, 60, "ncclGetVersion", ONE, PEERS},
    {"library", "no-such-file", {"REACTANT_MPI_LIBNCCL=/nowhere/libnccl.so.2"}, 60, "/nowhere/libnccl.so.2", ONE, FAULT},
    {"library", "not-nccl", {"REACTANT_MPI_LIBNCCL=@/gpu/not_nccl/libnccl.so.2"}, 60, "ncclGetVersion", ONE, FAULT},
    {"library", "symbol-missing", {"REACTANT_MPI_LIBNCCL=@/gpu/nccl_missing/libnccl.so.2"}, 60, "ncclCommInitRank", ONE, FAULT},
    {"after", "pci", {CUDA("cuDeviceGetPCIBusId", "999")}, 67, "device 0", ONE, FAULT},
    {"after", "context-state", {CUDA("cuDevicePrimaryCtxGetState", "1")}, 67, "device 0", ONE, FAULT},
    {"after", "option-client", {"REACTANT_MPI_CLIENT=bogus"}, 11, "REACTANT_MPI_CLIENT=bogus", ONE, FAULT},
    {"after", "option-device", {"REACTANT_MPI_DEVICE=99"}, 11, "device 99", ONE, FAULT},
    {"after", "option-word", {"REACTANT_MPI_DEVICE=first"}, 11, "REACTANT_MPI_DEVICE=first", ONE, FAULT},
    {"after", "option-fraction", {"REACTANT_MPI_MEMORY_FRACTION=2"}, 11, "MEMORY_FRACTION", ONE, FAULT},
    {"after", "option-nonblocking", {"REACTANT_MPI_NCCL_NONBLOCKING=maybe"}, 11, "NCCL_NONBLOCKING", ONE, FAULT},
    {"after", "option-preallocate", {"REACTANT_MPI_PREALLOCATE=7"}, 11, "PREALLOCATE", ONE, FAULT},
    {"after", "mode-differs", {"REACTANT_MPI_GPU=off"}, 30, "REACTANT_MPI_GPU=off", ONE, PEERS},
    {"after", "same-device", {"REACTANT_MPI_DEVICE=0"}, 63, "device 0", EVERY, UNNAMED},
    {"after", "retain", {CUDA("cuDevicePrimaryCtxRetain", "2")}, 67, "context", ONE, FAULT},
    {"after", "unique-id", {NCCL("ncclGetUniqueId", "2")}, 69, "ncclGetUniqueId", ROOT, FAULT},
    {"after", "init-cuda", {NCCL("ncclCommInitRankConfig", "1")}, 69, "ncclCommInitRankConfig", ONE, FAULT},
    {"after", "init-system", {NCCL("ncclCommInitRankConfig", "2")}, 69, "system error", ONE, FAULT},
    {"after", "init-usage", {NCCL("ncclCommInitRankConfig", "5")}, 69, "invalid usage", ONE, FAULT},
    {"after", "comm-count", {NCCL("ncclCommCount", "4")}, 69, "new communicator", ONE, FAULT},
    {"after", "comm-rank", {NCCL("ncclCommUserRank", "4")}, 69, "new communicator", ONE, FAULT},
    {"after", "comm-device", {NCCL("ncclCommCuDevice", "4")}, 69, "new communicator", ONE, FAULT},
    {"after", "first-allreduce", {NCCL("ncclAllReduce", "3")}, 69, "first ncclAllReduce", ONE, FAULT},
    {"after", "first-async", {NCCL("async", "6")}, 69, "", ONE, UNNAMED}, /* who aborts first is told, or who sees it */
    {"after", "alloc", {CUDA("cuMemAlloc_v2", "2")}, 69, "allocating device memory", ONE, FAULT},
    {"after", "stream", {CUDA("cuStreamCreate", "2")}, 69, "making a stream", ONE, FAULT},
    {"after", "to-device", {CUDA("cuMemcpyHtoD_v2", "700")}, 69, "copying to the device", ONE, FAULT},
    {"after", "to-host", {CUDA("cuMemcpyDtoH_v2", "700")}, 69, "copying from the device", ONE, FAULT},
    {"after", "stream-query", {CUDA("cuStreamQuery", "700")}, 69, "illegal memory access", ONE, FAULT},
    {"after", "set-context", {CUDA("cuCtxSetCurrent", "709")}, 69, "context current", ONE, FAULT},
    {"after", "plugin-file", {"REACTANT_MPI_CLIENT=pjrt", "REACTANT_MPI_LIBXLA=/nowhere/plugin.so"}, 80, "/nowhere/plugin.so", ONE, FAULT},
    {"after", "plugin-null", {PLUGIN, "FAKE_XLA=null_api"}, 80, "GetPjrtApi", ONE, FAULT},
    {"after", "plugin-start", {PLUGIN, "FAKE_XLA=init_error"}, 81, "does not start", ONE, FAULT},
    {"after", "plugin-create", {PLUGIN, "FAKE_XLA=create_error"}, 81, "No visible GPU devices", ONE, FAULT},
    {"after", "plugin-device", {PLUGIN, "FAKE_XLA=wrong_device"}, 81, "instead of", ONE, FAULT},
    {"after", "plugin-throws", {PLUGIN, "FAKE_XLA=cxx_throw"}, 81, "", ONE, FAULT},
    {"after", "extra-file", {"REACTANT_MPI_CLIENT=reactant", "REACTANT_MPI_LIBXLA=/nowhere/libReactantExtra.so"}, 80, "/nowhere", ONE, FAULT},
    {"after", "extra-text", {EXTRA, "FAKE_XLA=error_text"}, 81, "No visible GPU devices", ONE, FAULT},
    {"after", "extra-device", {EXTRA, "FAKE_XLA=wrong_device"}, 81, "instead of", ONE, FAULT},
    {"after", "extra-two", {EXTRA, "FAKE_XLA=two_devices"}, 81, "2 devices", ONE, FAULT},
    {"after", "extra-throws", {EXTRA, "FAKE_XLA=throw"}, 81, "the double throws", ONE, FAULT},
    {"after", "late", {"FAKE_NCCL_DELAY=*:ncclCommInitRankConfig:700000"}, 0, "", ONE, LATE},
    {"after", "missing", {NULL}, 31, "", ONE, MISSING},
    {"after", "init-hangs", {NCCL("ncclCommInitRankConfig", "hang")}, 31, "NCCL", ONE, UNNAMED},
    {"after", "allreduce-stuck", {NCCL("async", "stuck")}, 69, "did not end within", ONE, UNNAMED},
};
enum { FAULTS = sizeof faults / sizeof *faults };

static int rank, size;

/* NAME=VALUE into the environment, or NAME out of it. */
static void set(const char *assignment, bool on)
{
    char name[64], value[512] = "";
    const char *equals = strchr(assignment, '='), *dir = getenv("FAKE_DIR");
    snprintf(name, sizeof name, "%.*s", (int)(equals - assignment), assignment);
    if (!on) {
        unsetenv(name);
        return;
    }
    if (equals[1] == '@')
        snprintf(value, sizeof value, "%s%s", dir ? dir : "build/tests/fake", equals + 2);
    else
        snprintf(value, sizeof value, "%s", equals + 1);
    setenv(name, value, 1);
}

/* The doubles that are loaded read their rules again. Of the driver nothing may be in use: it forgets its machine and gets it back by
 * its init, which may be what the rule is about. */
static int reload_image(struct dl_phdr_info *info, size_t n, void *unused)
{
    static const char *const functions[] = {"fake_gpu_reload", "fake_nccl_reload"};
    const char *slash = strrchr(info->dlpi_name, '/'), *base = slash ? slash + 1 : info->dlpi_name;
    bool driver = strncmp(base, "libcuda.so", 10) == 0;
    (void)n, (void)unused;
    if (!driver && strncmp(base, "libnccl.so", 10) != 0)
        return 0;
    void *image = dlopen(info->dlpi_name, RTLD_NOW | RTLD_NOLOAD);
    void (*reload)(void);
    int (*init)(unsigned);
    *(void **)&reload = image ? dlsym(image, functions[driver ? 0 : 1]) : NULL;
    *(void **)&init = image && driver ? dlsym(image, "cuInit") : NULL;
    if (reload)
        reload();
    if (init)
        init(0);
    return 0;
}

static void arm(const struct fault *f, bool here, bool on)
{
    for (int i = 0; i < 3 && f->set[i]; i++)
        if (here)
            set(f->set[i], on);
    dl_iterate_phdr(reload_image, NULL);
}

/* "rank 3 on node" of the verdict, "ranks 2-3 on node" of the device choice. */
static bool names_rank(const char *text, int culprit)
{
    char word[32];
    snprintf(word, sizeof word, "rank %d", culprit);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        if (at[strlen(word)] < '0' || at[strlen(word)] > '9')
            return true;
    snprintf(word, sizeof word, "-%d on", culprit);
    return strstr(text, word) != NULL;
}

/* A communicator of the host alone, over the same ranks. */
static void check_host(const char *name, hword h)
{
    reactant_mpi_options o = REACTANT_MPI_OPTIONS_INIT;
    reactant_mpi_comm *c = NULL;
    int rc;
    o.gpu = REACTANT_MPI_GPU_OFF;
    o.timeout_ms = 30000;
    rc = reactant_mpi_initialize_with((uintptr_t)h, &o, &c);
    CHECK(rc == 0 && c, "%s: a host communicator afterwards: %d %s", name, rc, reactant_mpi_last_error());
    if (!c)
        return;
    CHECK(reactant_mpi_device(c) == -1, "%s", name);
    ALIVE(c);
    OK(reactant_mpi_finalize(c));
}

static void run(const struct fault *f, int culprit)
{
    const char *name = f->name;
    hword h = host_dup(host.world);
    reactant_mpi_options o = REACTANT_MPI_OPTIONS_INIT;
    reactant_mpi_comm *c = (reactant_mpi_comm *)&o;
    int codes[64] = {0}, rc = f->code;
    char text[4096] = "";
    bool here;
    if (f->who == ROOT)
        culprit = 0;
    here = f->who == EVERY || rank == culprit;
    o.timeout_ms = TIMEOUT_MS;
    alarm(NEVER_S); /* a hang ends the process, and so the test */
    arm(f, here, true);
    host_barrier(host.world); /* no rank's fault comes before the others are ready for it */
    if (f->kind != MISSING || !here) {
        rc = reactant_mpi_initialize_with((uintptr_t)h, &o, &c);
        snprintf(text, sizeof text, "%s", rc ? reactant_mpi_last_error() : "");
    }
    arm(f, here, false);
    host_allgather(&rc, sizeof rc, codes, host.world);
    /* A start of NCCL that an earlier fault left hanging holds its device: to that process another one is out of the question (68). */
    bool held = rc == 68 && !strcmp(f->name, "same-device") && strstr(text, "already uses");
    CHECK(rc == f->code || held, "%s at rank %d: code %d wanted, got %d: %s", name, culprit, f->code, rc, text);
    for (int i = 0; i < size; i++)
        CHECK(codes[i] == rc, "%s at rank %d: rank %d has code %d, we have %d: %s", name, culprit, i, codes[i], rc, text);
    if (rc && (f->kind != MISSING || !here)) {
        CHECK(!c, "%s: NULL with a failure", name);
        CHECK(strstr(text, f->text), "%s at rank %d: '%s' wanted in: %s", name, culprit, f->text, text);
        if (size > 1 && f->kind == FAULT)
            CHECK(names_rank(text, culprit), "%s: the text must name rank %d: %s", name, culprit, text);
    } else if (!rc && c != (reactant_mpi_comm *)&o) {
        CHECK(c && reactant_mpi_device(c) >= 0, "%s: a GPU communicator", name);
        ALIVE(c);
        OK(reactant_mpi_finalize(c));
    }
    if (f->kind == MISSING) /* the others have begun a collective on it that this rank never will: no use any more, in MPI itself */
        h = host_dup(host.world);
    check_host(name, h);
    host_free(&h);
    if (getenv("GPU_FAULT_VERBOSE") && rank == 0)
        fprintf(stderr, "%s at rank %d: %d %s\n", name, culprit, rc, text);
    alarm(0);
}

static uint64_t draw(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* One rank is not enough for it. */
static bool alone(const struct fault *f)
{
    return size == 1 && (f->who == EVERY || f->kind == MISSING || f->kind == PEERS);
}

static bool slow(const struct fault *f)
{
    return f->kind == MISSING || f->kind == LATE || strstr(f->name, "hangs") || strstr(f->name, "stuck");
}

/* The same draw on every rank. Slow ones wait for their end of time: one in 25. */
static void run_random(uint64_t seed, int count)
{
    uint64_t state = seed;
    for (int i = 0; i < count;) {
        const struct fault *f = &faults[draw(&state) % FAULTS];
        int culprit = (int)(draw(&state) % (uint64_t)size);
        bool now = draw(&state) % 25 == 0;
        if (strcmp(f->group, "after") != 0 || (slow(f) && !now) || alone(f))
            continue;
        unsigned before = check_failures;
        run(f, culprit);
        if (check_failures > before)
            fprintf(stderr, "rank %d: seed %llu, number %d: %s at rank %d\n", rank, (unsigned long long)seed, i, f->name, culprit);
        i++;
    }
}

/* After all that: a GPU communicator, and data through it. */
static void check_gpu(void)
{
    reactant_mpi_comm *c = reactant_mpi_initialize(REACTANT_MPI_COMM_WORLD);
    NEED(c, "%d %s", reactant_mpi_last_error_code(), reactant_mpi_last_error());
    NEED(reactant_mpi_device(c) >= 0, "a device");
    gpu_enter(reactant_mpi_device(c));
    int32_t one = 1, sum = 0;
    void *at = gpu_alloc(64), *stream = gpu_stream();
    gpu_put(at, &one, sizeof one);
    OK(reactant_mpi_allreduce_stream(at, at, 1, REACTANT_MPI_INT32, REACTANT_MPI_SUM, c, stream));
    gpu_sync(stream);
    gpu_get(&sum, at, sizeof sum);
    CHECK(sum == size, "%d", sum);
    gpu_free(at);
    gpu_stream_end(stream);
    gpu_leave();
    OK(reactant_mpi_finalize(c));
}

int main(int argc, char **argv)
{
    bool gpu_works = true;
    host_open(RTLD_LOCAL);
    host_init(HOST_MULTIPLE);
    check_rank = rank = host_rank(host.world);
    size = host_size(host.world);
    NEED(argc >= 3 && size <= 64, "usage: gpu_fault RANK CASE... | gpu_fault random SEED COUNT");
    if (!strcmp(argv[1], "random")) {
        run_random(strtoull(argv[2], NULL, 0), atoi(argv[3]));
    } else {
        int culprit = atoi(argv[1]) < 0 ? size - 1 : atoi(argv[1]) % size, done = 0;
        for (int a = 2; a < argc; a++)
            for (int i = 0; i < FAULTS; i++) {
                const struct fault *f = &faults[i];
                if (strcmp(argv[a], f->group) != 0 && strcmp(argv[a], f->name) != 0)
                    continue;
                if (alone(f))
                    continue;
                run(f, culprit);
                done++;
                gpu_works = gpu_works && strcmp(f->group, "library") != 0;
            }
        NEED(done, "no such case");
        if (rank == 0)
            printf("%d faults\n", done);
    }
    if (gpu_works)
        check_gpu();
    OK(reactant_mpi_finalize(NULL));
    host_finalize();
    return check_done(rank);
}
