/* MPI_Init to MPI_Finalize, and which communicator is the world. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "group.h"

struct world world;
int world_error;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool initialised, finalized, told;  /* told: by reactant_mpi_wrapper_use */
static reactant_mpi_comm *made;            /* the world that MPI_Init made here, where nobody told */
static char thread_level[16] = "multiple";

bool life_ended(void)
{
    return finalized;
}

/* What stands after "name": in the library's description. */
static bool described(const reactant_mpi_comm *comm, const char *name, char *value, size_t n)
{
    const size_t length = core.describe(comm, NULL, 0) + 1024;
    char *text = malloc(length), key[64];
    snprintf(key, sizeof key, "\"%s\": ", name);
    const char *at = text && core.describe(comm, text, length) ? strstr(text, key) : NULL;
    if (at) {
        at += strlen(key);
        at += *at == '"';
        snprintf(value, n, "%.*s", (int)strcspn(at, "\",\n"), at);
    }
    free(text);
    return at;
}

static int described_number(const reactant_mpi_comm *comm, const char *name)
{
    char value[32];
    return described(comm, name, value, sizeof value) ? atoi(value) : 0;
}

/* As many CPU devices as JAX makes when nobody says more: its option, else XLA's flag. */
static int devices_by_environment(void)
{
    const char *option = getenv("JAX_NUM_CPU_DEVICES"), *flags = getenv("XLA_FLAGS"), *flag = "--xla_force_host_platform_device_count=";
    int n = option ? atoi(option) : 0;
    for (const char *at = flags; n <= 0 && at && (at = strstr(at, flag)); at++)
        n = atoi(at + strlen(flag));
    return n > 0 ? n : 1;
}

/*
 * Takes a communicator as the world; the same one again when the number of devices has changed. Collective over its ranks. The wrapper works
 * on duplicates, whose calls never meet those of the owner.
 */
static int adopt(reactant_mpi_comm *comm, int devices)
{
    static int64_t id;
    struct world new = world;
    if (core.comm_id(comm) != id || id <= 0) {
        new = (struct world){.comm = {.rank = core.rank(comm), .size = core.size(comm)}};
        if (core.comm_dup(comm, &new.comm.core) || core.comm_dup(comm, &new.talk) ||
            (described_number(comm, "call_timeout_ms") && core.comm_set_timeout(new.talk, 0)))
            return fail_core("MPI_Init");
    }
    new.timeout_ms = described_number(new.comm.core, "call_timeout_ms");
    new.split_timeout_ms = new.timeout_ms ? new.timeout_ms : described_number(comm, "timeout_ms");
    new.devices = malloc(sizeof(int) * (size_t)new.comm.size);
    if (!new.devices)
        return fail(REACTANT_MPI_ERR_MEMORY, "MPI_Init: out of memory");
    if (core.allgather(&devices, new.devices, 1, REACTANT_MPI_INT32, new.comm.core))
        return fail_core("MPI_Init");
    described(NULL, "thread_level", thread_level, sizeof thread_level);
    /* The same on every process, whatever it has itself. */
    bool several = false;
    for (int p = 0; p < new.comm.size; p++)
        several |= new.devices[p] != 1;
    if (several && !new.timeout_ms && strcmp(thread_level, "multiple"))
        return fail(REACTANT_MPI_ERR_THREAD, "MPI_Init: MPI was initialised at thread level %s, where one thread's collective keeps the "
                    "others out, and the devices of one process wait for one another: initialise MPI with MPI_THREAD_MULTIPLE, or set "
                    "REACTANT_MPI_CALL_TIMEOUT_MS, under which those that wait let others in", thread_level);
    if (core.comm_id(comm) != id) {
        split_forget();
        round_forget();
    }
    waiting_prepare(devices * core.local_size(comm));
    free(world.devices);
    world = new;
    id = core.comm_id(comm);
    return 0;
}

static int start(void)
{
    if (world.comm.core)
        return 0;
    int error = library_open();
    if (error)
        return error;
    reactant_mpi_options options = REACTANT_MPI_OPTIONS_INIT;
    options.gpu = REACTANT_MPI_GPU_OFF;
    /* A world that the program made with devices is as good: then nothing may be asked for. */
    if (!made && core.initialize_with(REACTANT_MPI_COMM_WORLD, &options, &made) == REACTANT_MPI_ERR_STATE)
        core.initialize_with(REACTANT_MPI_COMM_WORLD, NULL, &made);
    return made ? adopt(made, devices_by_environment()) : fail_core("MPI_Init");
}

EXPORT int MPIABI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    (void)argc, (void)argv, (void)required;
    pthread_mutex_lock(&lock);
    const int error = world_error = latch(start());
    initialised |= !error;
    pthread_mutex_unlock(&lock);
    if (provided)
        *provided = error ? REACTANT_MPI_THREAD_SINGLE : REACTANT_MPI_THREAD_MULTIPLE;
    return error;
}

EXPORT int MPIABI_Init(int *argc, char ***argv)
{
    return MPIABI_Init_thread(argc, argv, REACTANT_MPI_THREAD_MULTIPLE, NULL);
}

EXPORT int reactant_mpi_wrapper_use(int64_t comm, int devices)
{
    if (devices < 1)
        return error_code(fail(REACTANT_MPI_ERR_ARGUMENT, "reactant_mpi_wrapper_use: %d devices: a process has one at least", devices));
    pthread_mutex_lock(&lock);
    int error = library_open();
    if (!error)
        error = adopt((reactant_mpi_comm *)(intptr_t)comm, devices);
    if (!error)
        told = initialised = true, finalized = false, world_error = 0;
    pthread_mutex_unlock(&lock);
    return error ? error_code(error) : 0;
}

/* Ends MPI only where nobody else has its world from the library; else whoever has it does. */
EXPORT int MPIABI_Finalize(void)
{
    pthread_mutex_lock(&lock);
    if (made && !finalized && !told && described_number(made, "references") == 1)
        core.finalize(NULL);
    finalized = initialised;
    pthread_mutex_unlock(&lock);
    return 0;
}

EXPORT int MPIABI_Initialized(int *flag)
{
    *flag = initialised;
    return 0;
}

EXPORT int MPIABI_Finalized(int *flag)
{
    *flag = finalized;
    return 0;
}

EXPORT int MPIABI_Query_thread(int *provided)
{
    const char *names[] = {"single", "funneled", "serialized", "multiple"};
    for (int i = 0; i < 4; i++)
        if (!strcmp(names[i], thread_level))
            *provided = i;
    return 0;
}

/* XLA asks before it makes a communicator, and refuses other threads than the first; any thread may call here. */
EXPORT int MPIABI_Is_thread_main(int *flag)
{
    *flag = 1;
    return 0;
}

EXPORT int MPIABI_Get_version(int *version, int *subversion)
{
    *version = 3;
    *subversion = 1;
    return 0;
}

EXPORT int MPIABI_Get_library_version(char *text, int *length)
{
    *length = sprintf(text, "libreactant_mpi_wrapper.so %d.%d.%d, over any MPI that libreactant_mpi.so finds", REACTANT_MPI_VERSION_MAJOR,
                      REACTANT_MPI_VERSION_MINOR, REACTANT_MPI_VERSION_PATCH);
    return 0;
}

EXPORT double MPIABI_Wtime(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

EXPORT double MPIABI_Wtick(void)
{
    return 1e-9;
}
