/* Device calls against the watcher, of main.c, over a double of NCCL that copies, and fails when it is told to. */
#ifndef DEVICE_H
#define DEVICE_H

#include "tests/c/check.h"
#include "nccl/init.h"
#include "team.h"

static int nccl_broken, nccl_aborts;

static int nccl_allreduce(const void *send, void *recv, size_t n, int type, int op, void *comm, void *stream)
{
    (void)type, (void)op, (void)comm, (void)stream;
    memmove(recv, send, n * 8);
    return 0;
}

static int nccl_async(void *comm, int *error)
{
    (void)comm;
    *error = __atomic_load_n(&nccl_broken, __ATOMIC_RELAXED) ? NCCL_SYSTEM : 0;
    return 0;
}

static int nccl_abort(void *comm)
{
    (void)comm;
    __atomic_fetch_add(&nccl_aborts, 1, __ATOMIC_RELAXED);
    return 0;
}

static int gpu_enter(struct rmpi_gpu *gpu, int device, void *context)
{
    (void)gpu, (void)device, (void)context;
    return 0;
}

static const char *nccl_text(int code)
{
    return code ? "failed on purpose" : "no error";
}

static void device_calls(void *handle, int i)
{
    int64_t x = i, y = 0;
    int rc = 0;
    for (int round = 0; rc == 0 && round < 1000000; round++) {
        if (i == 0 && round == 100)
            __atomic_store_n(&nccl_broken, 1, __ATOMIC_RELAXED);
        rc = reactant_mpi_allreduce_stream(&x, &y, 1, REACTANT_MPI_INT64, REACTANT_MPI_SUM, handle, NULL);
        CHECK(rc == 0 ? y == x : rc == REACTANT_MPI_ERR_NCCL, "%d %s", rc, reactant_mpi_last_error());
        if (round % 100 == 99)
            usleep(1000);
    }
    CHECK(rc == REACTANT_MPI_ERR_NCCL && reactant_mpi_comm_error(handle) == rc, "%d: the watcher has not seen the failure", rc);
    CHECK(reactant_mpi_nccl_comm(handle) == NULL, "");
}

static void test_devices(void)
{
    static struct rmpi_nccl nccl = {.version = 22809, .error_string = nccl_text};
    static struct rmpi_gpu gpu = {.enter = gpu_enter};
    static struct rmpi_device device = {.nccl = &nccl, .gpu = &gpu, .ordinal = 0};
    reactant_mpi_comm *c;
    int here;
    device.comm = &here;
    nccl.path = (char *)(uintptr_t)"double";
    nccl.function[RMPI_N_AllReduce] = (void *)nccl_allreduce;
    nccl.function[RMPI_N_CommGetAsyncError] = (void *)nccl_async;
    nccl.function[RMPI_N_CommAbort] = (void *)nccl_abort;
    team_new(1, 0, 1 << 30, &c);
    team_device(c, &device);
    NEED(rmpi_watch_add((struct rmpi_comm *)c) == 0, "no watcher");
    in_threads(3, device_calls, c);
    ALIVE(c); /* host calls go on */
    rmpi_watch_remove((struct rmpi_comm *)c);
    for (int i = 0; i < 1000 && !__atomic_load_n(&nccl_aborts, __ATOMIC_RELAXED); i++)
        usleep(10000);
    CHECK(__atomic_load_n(&nccl_aborts, __ATOMIC_RELAXED) == 1, "aborted %d times", nccl_aborts);
    team_free(1, &c);
}

#endif
