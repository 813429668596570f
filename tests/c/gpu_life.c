/*
 * The life of GPU communicators beside a host program. The first argument is one life of a process:
 *
 *   loops N        N times initialize, a collective, finalize(comm); then finalize(NULL): nothing is left
 *   forgotten      the host ends MPI while a GPU communicator lives
 *   after          finalize after the host has ended MPI
 *   double         finalize twice, of a communicator and of everything
 *   exit           the process ends without finalize; the host ends MPI
 *   async RANK     an asynchronous error on a rank: latched on all, device calls refused, host calls go on
 *   async-hang RANK      the same where ncclCommAbort never returns
 *   async-forgotten RANK the same, and the host ends MPI without finalize
 *   killed RANK    the rank kills itself; the others notice (needs a launcher that lets them live)
 *   client MODE    the client has exactly our device
 *   where [FILE]   initialize, told in one line of key=value between tabs; FILE is loaded before
 *   many           three communicators at once, and one made again after finalize
 */
#include "gpu.h"
#include "hostmpi.h"

#include <dirent.h>
#include <signal.h>
#include <time.h>

static reactant_mpi_comm *comm;
static int rank, size, device;
static void *stream, *memory;

#define I32 REACTANT_MPI_INT32

static void start(bool host_begins)
{
    host_open(RTLD_LOCAL);
    if (host_begins)
        host_init(HOST_MULTIPLE);
    comm = reactant_mpi_initialize(REACTANT_MPI_COMM_WORLD);
    NEED(comm, "%d %s", reactant_mpi_last_error_code(), reactant_mpi_last_error());
    check_rank = rank = reactant_mpi_rank(comm);
    size = reactant_mpi_size(comm);
    device = reactant_mpi_device(comm);
    NEED(device >= 0, "a device");
    gpu_look();
    gpu_enter(device);
    stream = gpu_stream();
    memory = gpu_alloc(4096);
}

static int enqueue(reactant_mpi_comm *c)
{
    return reactant_mpi_allreduce_stream(memory, memory, 1, I32, REACTANT_MPI_SUM, c, stream);
}

static void check_device(int line, reactant_mpi_comm *c)
{
    int32_t x = 1;
    int rc;
    gpu_put(memory, &x, sizeof x);
    rc = enqueue(c);
    CHECK(rc == 0, "line %d: %d %s", line, rc, reactant_mpi_last_error());
    if (rc)
        return;
    gpu_sync(stream);
    gpu_get(&x, memory, sizeof x);
    CHECK(x == reactant_mpi_size(c), "line %d: %d", line, x);
}
#define DEVICE_ALIVE(c) check_device(__LINE__, (c))

static void release(void)
{
    gpu_free(memory);
    gpu_stream_end(stream);
    gpu_leave();
}

static void check_nothing_left(int line)
{
    CHECK(gpu_live_comms() <= 0, "line %d: %d NCCL communicators live on", line, gpu_live_comms());
    for (int d = 0; d < 16; d++)
        CHECK(gpu_context_refs(d) <= 0, "line %d: the context of device %d is held %d times", line, d, gpu_context_refs(d));
    CHECK(gpu_bytes_live() <= 0, "line %d: %ld bytes of device memory are left", line, gpu_bytes_live());
}

/* ---- what the process has ---- */

static int entries(const char *folder)
{
    int n = 0;
    DIR *d = opendir(folder);
    NEED(d, "%s", folder);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static long resident_kib(void)
{
    long pages = 0, whole = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    NEED(f && fscanf(f, "%ld %ld", &whole, &pages) == 2, "statm");
    fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void nap_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* Without the ends of libraries. Hydra loses what a process has written if it goes at the same moment. */
static void __attribute__((noreturn)) leave(int rc)
{
    fflush(NULL);
    nap_ms(500);
    _exit(rc);
}

/* Threads on their way out count a little longer. */
static int threads(int at_most)
{
    int n = entries("/proc/self/task");
    for (int i = 0; i < 500 && n > at_most; i++) {
        nap_ms(20);
        n = entries("/proc/self/task");
    }
    return n;
}

static int life_loops(int n)
{
    int files = 0, tasks = 0, contexts = 0;
    long memory_kib = 0;
    hword h;
    start(true);
    h = host_dup(host.world);
    for (int i = 0; i < n; i++) {
        reactant_mpi_comm *c = reactant_mpi_initialize((uintptr_t)h);
        NEED(c, "number %d: %s", i, reactant_mpi_last_error());
        DEVICE_ALIVE(c);
        OK(reactant_mpi_finalize(c));
        CHECK(gpu_live_comms() == 1 || gpu_live_comms() == -1, "number %d: %d NCCL communicators live", i, gpu_live_comms());
        CHECK(gpu_context_refs(device) == 2 || gpu_context_refs(device) == -1, "number %d: the context is held %d times, by us and comm",
              i, gpu_context_refs(device));
        if (i == n / 5) { /* by now everything that is made once is there */
            files = entries("/proc/self/fd");
            nap_ms(400); /* what is on its way out is gone: two rounds of the watcher */
            tasks = entries("/proc/self/task");
            memory_kib = resident_kib();
            contexts = gpu_contexts_created(device);
        }
    }
    CHECK(entries("/proc/self/fd") <= files, "%d files, %d before", entries("/proc/self/fd"), files);
    CHECK(threads(tasks) <= tasks, "%d threads, %d before", threads(tasks), tasks);
    CHECK(gpu_contexts_created(device) == contexts, "%d contexts, %d before", gpu_contexts_created(device), contexts);
    /* the doubles keep a few hundred bytes of each communicator and stream on purpose */
    CHECK(resident_kib() - memory_kib < 8192, "%ld KiB resident, %ld before", resident_kib(), memory_kib);
    DEVICE_ALIVE(comm);
    host_free(&h);
    release();
    OK(reactant_mpi_finalize(NULL));
    check_nothing_left(__LINE__);
    host_finalize();
    return check_done(rank);
}

static int life_forgotten(void)
{
    start(true);
    DEVICE_ALIVE(comm);
    gpu_sync(stream);
    host_finalize();
    FAILS(REACTANT_MPI_ERR_MPI_FINALIZED, "allreduce_stream", enqueue(comm));
    FAILS(REACTANT_MPI_ERR_MPI_FINALIZED, "barrier", reactant_mpi_barrier(comm));
    CHECK(reactant_mpi_ncclAllReduce(memory, memory, 1, 2, 0, comm, stream) == 5, "NCCL's name");
    CHECK(gpu_live_comms() <= 0, "%d NCCL communicators live on", gpu_live_comms());
    OK(reactant_mpi_finalize(comm));
    release();
    return check_done(rank);
}

static int life_after(void)
{
    start(true);
    DEVICE_ALIVE(comm);
    host_finalize();
    OK(reactant_mpi_finalize(NULL));
    OK(reactant_mpi_finalize(NULL));
    CHECK(reactant_mpi_initialize(REACTANT_MPI_COMM_WORLD) == NULL && reactant_mpi_last_error_code() == REACTANT_MPI_ERR_MPI_FINALIZED,
          "%d", reactant_mpi_last_error_code());
    release();
    return check_done(rank);
}

static int life_double(void)
{
    start(false);
    reactant_mpi_comm *again = reactant_mpi_initialize(REACTANT_MPI_COMM_WORLD);
    CHECK(again == comm, "the same pointer");
    OK(reactant_mpi_finalize(comm)); /* a reference is left */
    DEVICE_ALIVE(comm);
    release();
    OK(reactant_mpi_finalize(comm));
    OK(reactant_mpi_finalize(comm));
    check_nothing_left(__LINE__);
    OK(reactant_mpi_finalize(NULL));
    OK(reactant_mpi_finalize(NULL));
    CHECK(host_finalized(), "MPI has ended");
    return check_done(rank);
}

static int life_exit(void)
{
    start(true);
    DEVICE_ALIVE(comm);
    host_finalize();
    return check_done(rank); /* with a stream, memory and a reference of the context */
}

static int life_many(void)
{
    start(true);
    hword h[3];
    reactant_mpi_comm *c[3];
    for (int i = 0; i < 3; i++) {
        h[i] = host_split(host.world, 0, i == 1 ? -rank : rank);
        c[i] = reactant_mpi_initialize((uintptr_t)h[i]);
        NEED(c[i], "%s", reactant_mpi_last_error());
        CHECK(reactant_mpi_device(c[i]) == device, "device %d, the first has %d", reactant_mpi_device(c[i]), device);
        CHECK(reactant_mpi_rank(c[i]) == (i == 1 ? size - 1 - rank : rank), "%d", reactant_mpi_rank(c[i]));
        for (int j = 0; j < i; j++)
            CHECK(reactant_mpi_nccl_comm(c[i]) != reactant_mpi_nccl_comm(c[j]), "an own ncclComm_t");
    }
    for (int i = 2; i >= 0; i--)
        DEVICE_ALIVE(c[i]);
    OK(reactant_mpi_finalize(c[1])); /* in the middle */
    DEVICE_ALIVE(c[0]);
    DEVICE_ALIVE(c[2]);
    c[1] = reactant_mpi_initialize((uintptr_t)h[1]);
    NEED(c[1], "%s", reactant_mpi_last_error());
    DEVICE_ALIVE(c[1]);
    release();
    OK(reactant_mpi_finalize(NULL));
    check_nothing_left(__LINE__);
    host_finalize();
    return check_done(rank);
}

/* ---- the watcher ---- */

static void fault(const char *rule)
{
    setenv("FAKE_NCCL_FAIL", rule, 1);
    void (*reload)(void) = (void (*)(void))gpu_symbol(gpu.nccl, "fake_nccl_reload");
    reload();
}

static void wait_for_error(void)
{
    for (int i = 0; i < 1500 && reactant_mpi_comm_error(comm) == 0; i++)
        nap_ms(20); /* at most half a minute */
    CHECK(reactant_mpi_comm_error(comm) == REACTANT_MPI_ERR_NCCL, "%d", reactant_mpi_comm_error(comm));
}

static void check_refused(void)
{
    static char text[65536];
    char word[64];
    FAILS(REACTANT_MPI_ERR_NCCL, "allreduce_stream", enqueue(comm));
    FAILS(REACTANT_MPI_ERR_NCCL, "barrier_stream", reactant_mpi_barrier_stream(comm, stream));
    CHECK(reactant_mpi_ncclAllReduce(memory, memory, 1, 2, 0, comm, stream) == 5, "NCCL's name");
    snprintf(word, sizeof word, "rank %d of %d", rank, size);
    reactant_mpi_describe(comm, text, sizeof text);
    CHECK(strstr(text, word) && strstr(text, "asynchronous error"), "'%s' wanted in %s", word, text);
    CHECK(strstr(text, "\"failed\": true"), "%s", text);
}

static int life_async(int culprit, bool hangs, bool forgotten)
{
    char rule[128];
    start(true);
    DEVICE_ALIVE(comm);
    host_barrier(host.world);
    if (hangs)
        snprintf(rule, sizeof rule, "%d:async:1:6,%d:ncclCommAbort:*:hang", culprit, culprit);
    else
        snprintf(rule, sizeof rule, "%d:async:1:6", culprit);
    fault(rule);
    OK(enqueue(comm)); /* it is told later */
    if (!hangs || rank == culprit) { /* of an abort that hangs NCCL tells nobody else */
        wait_for_error();
        check_refused();
    }
    ALIVE(comm); /* host operations go on */
    host_barrier(host.world);
    if (forgotten) {
        long aborts;
        nap_ms(500);
        aborts = gpu_calls("ncclCommAbort");
        host_finalize();
        CHECK(gpu_calls("ncclCommAbort") == aborts && aborts == 1, "the communicator was aborted %ld times, and %ld before MPI's end",
              gpu_calls("ncclCommAbort"), aborts);
        OK(reactant_mpi_finalize(comm));
        return check_done(rank);
    }
    if (!hangs) { /* the abort has freed the stream, and a new communicator works */
        gpu_sync(stream);
        unsetenv("FAKE_NCCL_FAIL");
        hword h = host_dup(host.world);
        reactant_mpi_comm *c = reactant_mpi_initialize((uintptr_t)h);
        NEED(c, "%s", reactant_mpi_last_error());
        DEVICE_ALIVE(c);
        OK(reactant_mpi_finalize(comm));
        DEVICE_ALIVE(c);
        OK(reactant_mpi_finalize(c));
        host_free(&h);
        release();
        OK(reactant_mpi_finalize(NULL));
        check_nothing_left(__LINE__);
    } else {
        int rc = reactant_mpi_finalize(NULL); /* ends, whatever it says */
        CHECK(rc == 0 || rc == REACTANT_MPI_ERR_NCCL, "%d %s", rc, reactant_mpi_last_error());
    }
    host_finalize();
    if (hangs) /* no end of the process by functions that wait for the device */
        leave(check_done(rank));
    return check_done(rank);
}

/* Nobody calls MPI after the death of a rank: it is the device half that must not hang. */
static int life_killed(int culprit)
{
    start(true);
    DEVICE_ALIVE(comm);
    host_barrier(host.world);
    if (rank == culprit) {
        kill(getpid(), SIGKILL);
        nap_ms(60000);
    }
    OK(enqueue(comm));
    wait_for_error();
    check_refused();
    gpu_sync(stream); /* the abort has freed it */
    leave(check_done(rank == (culprit == 0) ? 0 : rank + 1)); /* the first that lives says so */
}

/* ---- clients ---- */

static int life_client(const char *mode)
{
    start(true);
    void *client = reactant_mpi_client(comm);
    bool makes = !strcmp(mode, "reactant") || !strcmp(mode, "pjrt");
    CHECK((client != NULL) == makes, "%p", client);
    if (!strcmp(mode, "reactant")) {
        void *extra = gpu_loaded("libReactantExtra", NULL), *list[8] = {NULL};
        int n = ((int (*)(void *))gpu_symbol(extra, "ClientNumAddressableDevices"))(client);
        CHECK(n == 1, "%d devices", n);
        ((void (*)(void *, void **))gpu_symbol(extra, "ClientGetAddressableDevices"))(client, list);
        int64_t id = ((int64_t(*)(void *))gpu_symbol(extra, "PjRtDeviceGetLocalHardwareId"))(list[0]);
        CHECK(id == device, "the client has device %lld, ours is %d", (long long)id, device);
    }
    reactant_mpi_comm *child = NULL; /* shares the client, and does not end it */
    OK(reactant_mpi_comm_split(comm, 0, 0, &child));
    CHECK(reactant_mpi_client(child) == client, "%p, the parent has %p", reactant_mpi_client(child), client);
    OK(reactant_mpi_comm_free(child));
    CHECK(reactant_mpi_client(comm) == client, "");
    DEVICE_ALIVE(comm);
    printf("client rank %d device %d\n", rank, device);
    release();
    OK(reactant_mpi_finalize(NULL));
    check_nothing_left(__LINE__);
    host_finalize();
    return check_done(rank);
}

/* ---- what a rank got, for tests of the choice ---- */

static char lines[3500]; /* one line: launchers mingle those of the ranks */

__attribute__((format(printf, 2, 3))) static void line(const char *key, const char *format, ...)
{
    size_t used = strlen(lines), room = sizeof lines - used;
    va_list list;
    snprintf(lines + used, room, "%s=", key);
    used = strlen(lines);
    va_start(list, format);
    vsnprintf(lines + used, sizeof lines - used, format, list);
    va_end(list);
    for (char *at = lines + used; *at; at++)
        if (*at == '\n' || *at == '\t')
            *at = ' ';
    used = strlen(lines);
    snprintf(lines + used, sizeof lines - used, "\t");
}

/* A string or number of the description, behind a place in it. */
static void tell(const char *from, const char *key)
{
    char word[64];
    snprintf(word, sizeof word, "\"%s\": ", key);
    const char *at = strstr(from, word);
    if (!at)
        return;
    at += strlen(word);
    int n = *at == '"' ? (int)strcspn(++at, "\"") : (int)strcspn(at, ",\n}");
    line(key, "%.*s", n > 900 ? 900 : n, at);
}

static int life_where(const char *file)
{
    static char json[65536];
    if (file && !dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
        fprintf(stderr, "gpu_life: %s\n", dlerror());
        return 2;
    }
    comm = reactant_mpi_initialize(REACTANT_MPI_COMM_WORLD);
    line("code", "%d", comm ? 0 : reactant_mpi_last_error_code());
    line("text", "%.1500s", comm ? "" : reactant_mpi_last_error());
    if (comm) {
        static const char *const keys[] = {"ordinal", "id", "nccl", "nccl_path", "nccl_found", "nccl_warning"};
        int64_t x = reactant_mpi_rank(comm) + 1, sum = -1;
        int rc = reactant_mpi_allreduce(&x, &sum, 1, REACTANT_MPI_INT64, REACTANT_MPI_SUM, comm);
        line("rank", "%d", reactant_mpi_rank(comm));
        line("sum", "%lld", rc ? -1LL : (long long)sum);
        line("device", "%d", reactant_mpi_device(comm));
        reactant_mpi_describe(comm, json, sizeof json);
        const char *from = strstr(json, "\"device\": ");
        NEED(from, "%s", json);
        for (size_t i = 0; i < sizeof keys / sizeof *keys && reactant_mpi_device(comm) >= 0; i++)
            tell(strncmp(keys[i], "id", 3) == 0 ? strchr(from, '{') : from, keys[i]);
        tell(from, "device_reason");
    }
    puts(lines);
    fflush(stdout);
    reactant_mpi_finalize(NULL);
    return 0;
}

int main(int argc, char **argv)
{
    const char *life = argc > 1 ? argv[1] : "";
    int n = argc > 2 ? atoi(argv[2]) : 0;
    alarm(240); /* a hang ends the process, and so the test */
    if (!strcmp(life, "loops"))
        return life_loops(n ? n : 100);
    if (!strcmp(life, "forgotten"))
        return life_forgotten();
    if (!strcmp(life, "after"))
        return life_after();
    if (!strcmp(life, "double"))
        return life_double();
    if (!strcmp(life, "exit"))
        return life_exit();
    if (!strcmp(life, "where"))
        return life_where(argc > 2 ? argv[2] : NULL);
    if (!strcmp(life, "many"))
        return life_many();
    if (!strcmp(life, "async"))
        return life_async(n, false, false);
    if (!strcmp(life, "async-hang"))
        return life_async(n, true, false);
    if (!strcmp(life, "async-forgotten"))
        return life_async(n, false, true);
    if (!strcmp(life, "killed"))
        return life_killed(n);
    if (!strcmp(life, "client") && argc > 2)
        return life_client(argv[2]);
    fprintf(stderr, "gpu_life: unknown life '%s'\n", life);
    return 2;
}
