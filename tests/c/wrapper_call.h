/* libreactant_mpi_wrapper.so as the MPItrampoline in jaxlib sees it: opened with dlopen, functions and constants by name. */
#ifndef WRAPPER_CALL_H
#define WRAPPER_CALL_H

#include "check.h"
#include "times.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

typedef uintptr_t word;

enum { HANG_MS = 20000, MAX_DEVICES = 16 };

static void *wrapper;

static struct {
    int (*Init_thread)(int *, char ***, int, int *);
    int (*Init)(int *, char ***);
    int (*Initialized)(int *), (*Finalized)(int *), (*Query_thread)(int *), (*Is_thread_main)(int *), (*Finalize)(void);
    int (*Comm_rank)(word, int *), (*Comm_size)(word, int *), (*Comm_split)(word, int, int, word *), (*Comm_free)(word *);
    int (*Allreduce)(const void *, void *, int, word, word, word);
    int (*Reduce_scatter)(const void *, void *, const int *, word, word, word);
    int (*Allgather)(const void *, int, word, void *, int, word, word);
    int (*Barrier)(word);
    int (*Isend)(const void *, int, word, int, int, word, word *), (*Irecv)(void *, int, word, int, int, word, word *), (*Wait)(word *, int *);
    int (*Sendrecv)(const void *, int, word, int, int, void *, int, word, int, int, word, int *);
    int (*Type_size)(word, int *);
    int (*Error_string)(int, char *, int *), (*Error_class)(int, int *);
    int (*Get_library_version)(char *, int *);
} mpi;

static int (*wrapper_use)(int64_t, int);
static int (*wrapper_error)(char *, size_t);
static uint32_t (*wrapper_version)(void);

/* A file of build/, where this program is tests/c/wrapper. */
static const char *built(const char *name)
{
    static char path[4096];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 64);
    NEED(n > 0, "");
    path[n] = 0;
    for (int up = 0; up < 3; up++)
        *strrchr(path, '/') = 0;
    strcat(strcat(path, "/"), name);
    return path;
}

static void *name_of(const char *name)
{
    void *p = dlsym(wrapper, name);
    NEED(p, "no %s: %s", name, dlerror());
    return p;
}

static word constant(const char *name)
{
    char text[64];
    snprintf(text, sizeof text, "MPIABI_%s", name);
    return *(word *)name_of(text);
}

static int number(const char *name)
{
    char text[64];
    snprintf(text, sizeof text, "MPIABI_%s", name);
    return *(int *)name_of(text);
}

static word WORLD, COMM_NULL, REQUEST_NULL, BYTE, FLOAT, SUM;

static void open_wrapper(void)
{
    wrapper = dlopen(built("libreactant_mpi_wrapper.so"), RTLD_LAZY | RTLD_LOCAL | RTLD_DEEPBIND);
    NEED(wrapper, "%s", dlerror());
#define FIND(name) *(void **)&mpi.name = name_of("MPIABI_" #name);
    FIND(Init_thread) FIND(Init) FIND(Initialized) FIND(Finalized) FIND(Query_thread) FIND(Is_thread_main) FIND(Finalize)
    FIND(Comm_rank) FIND(Comm_size) FIND(Comm_split) FIND(Comm_free) FIND(Allreduce) FIND(Reduce_scatter) FIND(Allgather)
    FIND(Barrier) FIND(Isend) FIND(Irecv) FIND(Wait) FIND(Sendrecv) FIND(Type_size) FIND(Error_string) FIND(Error_class)
    FIND(Get_library_version)
#undef FIND
    *(void **)&wrapper_use = name_of("reactant_mpi_wrapper_use");
    *(void **)&wrapper_error = name_of("reactant_mpi_wrapper_error");
    *(void **)&wrapper_version = name_of("reactant_mpi_wrapper_version");
    WORLD = constant("COMM_WORLD"), COMM_NULL = constant("COMM_NULL"), REQUEST_NULL = constant("REQUEST_NULL");
    BYTE = constant("BYTE"), FLOAT = constant("FLOAT"), SUM = constant("SUM");
}

static void error_string(int code, char text[1024])
{
    int n = -1;
    mpi.Error_string(code, text, &n);
    CHECK(n == (int)strlen(text), "length %d of '%s'", n, text);
}

/* A call that must succeed. */
#define GOOD(call)                                                                                                              \
    do {                                                                                                                        \
        const int good_rc = (call);                                                                                             \
        check_count++;                                                                                                          \
        if (good_rc != 0) {                                                                                                     \
            char good_text[1024];                                                                                               \
            error_string(good_rc, good_text);                                                                                   \
            check_fail(__FILE__, __LINE__, #call " == 0", " got %d: %s", good_rc, good_text);                                   \
        }                                                                                                                       \
    } while (0)

/* A call that must fail with a text in which `want` stands. */
static void check_bad(int line, const char *call, const char *want, int code)
{
    char text[1024] = "";
    check_count++;
    if (code)
        error_string(code, text);
    if (!code || !strstr(text, want))
        check_fail(__FILE__, line, call, " a failure that says '%s' wanted, got %d: %s", want, code, text);
}
#define BAD(want, call) check_bad(__LINE__, #call, (want), (call))

/* ---- devices: process p has devices[p % n] of them, each a thread ------------------------------------------------------------- */

static int process, processes, devices[64], device_total;

struct device {
    int id, local; /* among all, in its process */
    void (*body)(struct device *);
    pthread_t thread;
};

static int first_device(int p)
{
    int n = 0;
    for (int i = 0; i < p; i++)
        n += devices[i];
    return n;
}

/* "2" or "1,3,2": the devices of each process, cyclically. */
static void read_devices(const char *list)
{
    int given[64], n = 0;
    for (const char *at = list; n < 64; at++) {
        given[n++] = atoi(at);
        if (!(at = strchr(at, ',')))
            break;
    }
    for (int p = 0; p < processes; p++)
        devices[p] = given[p % n];
    device_total = first_device(processes);
    NEED(device_total <= MAX_DEVICES, "%d devices", device_total);
}

static void *run_device(void *device)
{
    ((struct device *)device)->body(device);
    return NULL;
}

/* One thread for each device of this process, all at once. */
static void on_devices(void (*body)(struct device *))
{
    struct device all[MAX_DEVICES];
    for (int i = 0; i < devices[process]; i++) {
        all[i] = (struct device){.id = first_device(process) + i, .local = i, .body = body};
        NEED(pthread_create(&all[i].thread, NULL, run_device, &all[i]) == 0, "");
    }
    for (int i = 0; i < devices[process]; i++)
        pthread_join(all[i].thread, NULL);
}

/* As XLA makes the communicator of a clique: from the thread of each of its devices. */
static word split_as(const struct device *device, int n, const int *clique)
{
    int rank = -1, size = -1, main_thread = 0, key = 0;
    word comm = COMM_NULL;
    while (key < n && clique[key] != device->id)
        key++;
    GOOD(mpi.Is_thread_main(&main_thread));
    CHECK(main_thread == 1, "%d", main_thread);
    GOOD(mpi.Comm_split(WORLD, clique[0], key, &comm));
    GOOD(mpi.Comm_rank(comm, &rank));
    GOOD(mpi.Comm_size(comm, &size));
    CHECK(rank == key && size == n, "rank %d of %d wanted, got %d of %d", key, n, rank, size);
    return comm;
}

/* By the environment, or by another owner of the library who tells the wrapper. */
static void begin(const char *list, bool told)
{
    open_wrapper();
    int provided = -1;
    if (told) {
        void *library = dlopen(built("libreactant_mpi.so.0"), RTLD_NOW | RTLD_LOCAL);
        NEED(library, "%s", dlerror());
#define CORE(name) __typeof__(reactant_mpi_##name) *name = (__typeof__(reactant_mpi_##name) *)dlsym(library, "reactant_mpi_" #name)
        CORE(initialize);
        CORE(comm_id);
        CORE(rank);
        CORE(size);
        reactant_mpi_comm *comm = initialize(REACTANT_MPI_COMM_WORLD);
        NEED(comm, "initialize");
        process = rank(comm), processes = size(comm);
        read_devices(list);
        CHECK(wrapper_use(comm_id(comm), devices[process]) == 0, "");
        GOOD(mpi.Init_thread(NULL, NULL, number("THREAD_FUNNELED"), &provided));
    } else {
        setenv("XLA_FLAGS", "--xla_cpu_something=1", 1);
        setenv("JAX_NUM_CPU_DEVICES", list, 1);
        GOOD(mpi.Init_thread(NULL, NULL, number("THREAD_FUNNELED"), &provided));
        GOOD(mpi.Comm_rank(WORLD, &process));
        GOOD(mpi.Comm_size(WORLD, &processes));
        read_devices(list);
    }
    check_rank = process;
    CHECK(provided >= number("THREAD_SERIALIZED"), "%d", provided);
}

static int end(bool told)
{
    GOOD(mpi.Finalize());
    if (told) {
        void *library = dlopen(built("libreactant_mpi.so.0"), RTLD_NOW | RTLD_NOLOAD);
        CORE(finalize);
        CORE(rank);
        CHECK(rank((reactant_mpi_comm *)1) == process, "the communicator of another owner was ended");
        CHECK(finalize(NULL) == 0, "");
    }
#undef CORE
    return check_done(process);
}

#endif
