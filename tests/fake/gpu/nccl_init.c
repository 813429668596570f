/*
 * How a communicator comes to be in the doubles of libnccl and librccl: ids, init in its forms, the checks between ranks.
 * Not modelled: several ids of ncclCommInitRankScalable (the first counts), ncclCommInitRankMulti, topology, everything that the
 * environment of NCCL sets but NCCL_COMM_BLOCKING, NCCL_HOSTID and NCCL_MULTI_RANK_GPU_ENABLE.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nccl.h"

#ifdef FAKE_RCCL
#define DRIVER "libamdhip64.so.6"
#else
#define DRIVER "libcuda.so.1"
#endif

/* The driver that is mapped, else the one that a bare name finds, as a CUDA runtime does. One that is no double is none. */
const struct fake_gpu_hooks *gpu(void)
{
    static const struct fake_gpu_hooks *_Atomic known;
    if (known)
        return known;
    void *driver = dlopen(DRIVER, RTLD_NOW | RTLD_NOLOAD);
    if (!driver)
        driver = dlopen(DRIVER, RTLD_NOW);
    const struct fake_gpu_hooks *(*hooks)(void) = NULL;
    if (driver)
        *(void **)&hooks = dlsym(driver, "fake_gpu_hooks");
    if (hooks)
        known = hooks();
    return known;
}

ncclResult_t gpu_failed(int code, const char *function)
{
    const char *text = code == 35    ? "CUDA driver version is insufficient for CUDA runtime version"
                       : code == 100 ? "no CUDA-capable device is detected"
                       : code == 400 ? "invalid resource handle"
                       : code == 2   ? "out of memory"
                                     : "unknown error";
    return fail(CUDA_ERROR, "%s: Cuda failure %d '%s'", function, code, text);
}

int library_version(void)
{
    return (int)fake_env_number("FAKE_NCCL_VERSION", NCCL_CODE);
}

API(ncclGetVersion, int *version)
{
    ENTER_PLAIN();
    if (!version)
        return fail(INVALID_ARGUMENT, "ncclGetVersion: version argument is NULL");
    *version = library_version();
    return SUCCESS;
}

API(ncclGetUniqueId, ncclUniqueId *id)
{
    ENTER_PLAIN();
    return id ? unique_id(id) : fail(INVALID_ARGUMENT, "ncclGetUniqueId: id argument is NULL");
}

/* ---- between the ranks ---- */

static ncclResult_t verdict(ncclComm_t comm)
{
    const char *many = getenv("NCCL_MULTI_RANK_GPU_ENABLE");
    for (int i = 0; i < comm->nranks; i++) {
        struct peer *a = &comm->segment->peers[i], *first = &comm->segment->peers[0];
        if (a->version != first->version)
            return fail(INVALID_USAGE, "Mismatched NCCL version detected : rank 0 version %d rank %d version %d", first->version, i,
                        a->version);
        for (int j = 0; j < i; j++) {
            struct peer *b = &comm->segment->peers[j];
            bool same = NCCL_CODE >= 23000 ? memcmp(a->uuid, b->uuid, 16) == 0 : strcmp(a->pci, b->pci) == 0;
            unsigned domain, bus, slot;
            if (a->host != b->host || !same || (NCCL_CODE >= 23000 && many && *many == '1'))
                continue;
            sscanf(a->pci, "%x:%x:%x", &domain, &bus, &slot);
            return fail(INVALID_USAGE, "Duplicate GPU detected : rank %d and rank %d both on CUDA device %x", j, i,
                        domain << 20 | bus << 12 | slot << 4);
        }
    }
    return SUCCESS;
}

/* An id serves once: the rank that has used it does not find its root again. */
static bool used_before(const char *name, int rank)
{
    static struct { char name[64]; int rank; } used[256];
    static unsigned n;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    bool before = false;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < n && i < 256; i++)
        before |= used[i].rank == rank && strcmp(used[i].name, name) == 0;
    strcpy(used[n % 256].name, name);
    used[n++ % 256].rank = rank;
    pthread_mutex_unlock(&lock);
    return before;
}

static ncclResult_t arrive(ncclComm_t comm)
{
    struct segment *segment = comm->segment;
    int none = 0;
    if (!atomic_compare_exchange_strong(&segment->nranks, &none, comm->nranks) && none != comm->nranks)
        return fail(INTERNAL_ERROR, "Bootstrap Root : mismatch in rank count from procs %d : %d", none, comm->nranks);
    struct peer *self = &segment->peers[comm->rank];
    none = ABSENT;
    if (!atomic_compare_exchange_strong(&self->state, &none, CLAIMED))
        return fail(INTERNAL_ERROR, "Bootstrap Root : rank %d of %d ranks has already checked in", comm->rank, comm->nranks);
    const struct fake_gpu *device = gpu()->describe(comm->device);
    self->pid = (int)getpid();
    self->born = process_born(self->pid);
    self->version = library_version();
    self->device = comm->device;
    self->host = host_hash();
    memcpy(self->uuid, device->mig, 16);
    memcpy(self->pci, device->pci, sizeof self->pci);
    self->state = ARRIVED;
    ring(comm);
    for (unsigned waits = 1;; waits++) {
        uint32_t seen = segment->bell;
        int here = 0;
        for (int i = 0; i < comm->nranks; i++) {
            struct peer *peer = &segment->peers[i];
            here += peer->state >= ARRIVED;
            if (waits % 4 == 0 && peer_gone(peer))
                return fail(REMOTE_ERROR, "rank %d has gone during the initialization: connection closed by remote peer", i);
        }
        if (here == comm->nranks)
            return verdict(comm);
        if (comm->aborting)
            return INTERNAL_ERROR;
        doze(comm, seen);
    }
}

ncclResult_t init_run(ncclComm_t comm)
{
    if (used_before(comm->name, comm->rank))
        return fail(SYSTEM_ERROR, "connect to the root of the unique id: Connection refused (the id was used before)");
    segment_waits(comm, true);
    ncclResult_t code = segment_open(comm, comm->name);
    if (code == SUCCESS)
        code = arrive(comm);
    segment_waits(comm, false);
    if (!comm->segment)
        return code;
    if (code != SUCCESS && code != INTERNAL_ERROR)
        comm->segment->peers[comm->rank].state = FAILED;
    bool last = atomic_fetch_add(&comm->segment->finished, 1) + 1 == comm->nranks;
    if (last || comm->aborting || code == REMOTE_ERROR) /* nobody else can need the name */
        segment_unlink(comm);
    if (code == SUCCESS)
        comm_watch(comm);
    return code;
}

#ifndef FAKE_RCCL
static void *init_apart(void *argument)
{
    ncclComm_t comm = argument;
    ncclResult_t code = init_run(comm);
    comm->result = code;
    return NULL;
}
#endif

/* ---- the calls ---- */

/* From 2.23.4 to 2.30.7 ncclCommInitRankConfig leaves the thread inside a group when it finds no device. */
static ncclResult_t no_device(int code, bool with_config)
{
    if (with_config && NCCL_CODE >= 22304 && NCCL_CODE <= 23007)
        group_depth++;
    return gpu_failed(code, with_config ? "ncclCommInitRankConfig" : "ncclCommInitRank");
}

static ncclResult_t init(ncclComm_t *out, int nranks, const ncclUniqueId *id, int rank, const void *user, bool with_config)
{
    struct config config;
    const struct fake_gpu_hooks *driver = gpu();
    fake_set_rank(rank);
    int code = driver ? driver->init() : 35;
    if (code)
        return no_device(code, with_config);
    if (!out || nranks < 1 || rank < 0 || rank >= nranks)
        return fail(INVALID_ARGUMENT, "Invalid rank requested : %d/%d", rank, nranks);
    ncclResult_t result = config_read(&config, user, NULL);
    if (result != SUCCESS)
        return result;
    char name[64];
    if (!unique_id_name(id, name))
        return fail(INVALID_ARGUMENT, "ncclUniqueId: these are not the bytes that ncclGetUniqueId gave");
    int device = driver->get_device();
    code = driver->set_device(device); /* cudaFree(0): whoever came without a context has one on GPU 0 now */
    if (code)
        return no_device(code, with_config);
    ncclComm_t comm = comm_new(rank, nranks, &config);
    comm->device = device;
    strcpy(comm->name, name);
    if (group_depth > 0) {
        comm->result = IN_PROGRESS;
        *out = comm;
        group_add_init(comm);
        return SUCCESS;
    }
#ifndef FAKE_RCCL /* it waits for the others whatever the configuration says */
    if (!comm->blocking) {
        comm->result = IN_PROGRESS;
        *out = comm;
        comm_help(comm, init_apart, comm);
        return IN_PROGRESS;
    }
#endif
    result = init_run(comm);
    if (result == SUCCESS)
        *out = comm;
    else
        comm_close(comm, FAILED);
    return result;
}

#ifndef FAKE_WITHOUT_COMM_INIT_RANK
API(ncclCommInitRank, ncclComm_t *comm, int nranks, ncclUniqueId id, int rank)
{
    ENTER(nranks, -1, -1, rank, comm ? *comm : NULL, NULL);
    return init(comm, nranks, &id, rank, NULL, false);
}
#endif

static ncclResult_t init_config(ncclComm_t *comm, int nranks, const ncclUniqueId *id, int rank, const void *config, const char *name)
{
    ENTER_AS(name, nranks, -1, -1, rank, comm ? *comm : NULL, NULL);
    return init(comm, nranks, id, rank, config, true);
}

/* On its way out after an error the real one looks into *comm. */
static ncclResult_t look(ncclComm_t *comm, ncclResult_t code)
{
    if (code != SUCCESS && code != IN_PROGRESS && comm && *comm && !comm_known(*comm)) {
        fprintf(stderr, "ncclCommInitRankConfig dereferences *comm after an error, and it is %p: set it to NULL before\n",
                (void *)*comm);
        abort();
    }
    return code;
}

API(ncclCommInitRankConfig, ncclComm_t *comm, int nranks, ncclUniqueId id, int rank, const void *config)
{
    return look(comm, init_config(comm, nranks, &id, rank, config, __func__));
}

#if NCCL_CODE >= 22300
API(ncclCommInitRankScalable, ncclComm_t *comm, int nranks, int rank, int n_ids, const ncclUniqueId *ids, const void *config)
{
    if (n_ids < 1 || n_ids > nranks || !ids)
        return fail(INVALID_ARGUMENT, "Invalid number of unique ids: %d", n_ids);
    return look(comm, init_config(comm, nranks, ids, rank, config, __func__));
}
#endif

API(ncclCommInitAll, ncclComm_t *comms, int n, const int *devices)
{
    ENTER(n, -1, -1, -1, NULL, NULL);
    const struct fake_gpu_hooks *driver = gpu();
    int code = driver ? driver->init() : 35;
    if (code)
        return gpu_failed(code, "ncclCommInitAll");
    if (!comms || n < 1)
        return fail(INVALID_ARGUMENT, "Invalid device count requested : %d", n);
    ncclUniqueId id;
    ncclResult_t result = unique_id(&id), ended;
    int before = driver->get_device();
    group_start();
    for (int i = 0; i < n && result == SUCCESS; i++) {
        code = driver->set_device(devices ? devices[i] : i);
        result = code ? gpu_failed(code, "ncclCommInitAll") : init(&comms[i], n, &id, i, NULL, false);
    }
    if (result != SUCCESS)
        group_failed(result);
    ended = group_end();
    driver->set_device(before);
    return result != SUCCESS ? result : ended;
}
