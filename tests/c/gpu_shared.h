/*
 * What the topics of gpu_collectives share: the communicator and what is known of it, guarded device buffers, checks that a
 * communicator still works on the device and that no other device has a context.
 */
#ifndef GPU_SHARED_H
#define GPU_SHARED_H

#include "gpu.h"
#include "hostmpi.h"

static reactant_mpi_comm *comm;
static int rank, size, version;
static void *stream;
static bool full; /* every root of every case */

#define I32 REACTANT_MPI_INT32

/* ---- guarded device buffers ---------------------------------------------------------------------------------------------------- */

enum { GUARD = 64, ROOM = 4 << 20 };
enum { SENDING, RECEIVING, BUFFERS };

static struct {
    char *device, *image; /* on the device, and the host's copy of what it holds or held */
    size_t bytes;
} buffers[BUFFERS];

static void buffers_make(void)
{
    for (int i = 0; i < BUFFERS; i++) {
        buffers[i].device = gpu_alloc((size_t)size * ROOM + 2 * GUARD);
        buffers[i].image = malloc((size_t)size * ROOM + 2 * GUARD);
        NEED(buffers[i].image, "no memory");
    }
}

static void buffers_end(void)
{
    for (int i = 0; i < BUFFERS; i++) {
        gpu_free(buffers[i].device);
        free(buffers[i].image);
    }
}

/* The host's copy, to be filled and then brought up. */
static char *fresh(int which, size_t bytes)
{
    NEED(bytes <= (size_t)size * ROOM, "%zu bytes", bytes);
    buffers[which].bytes = bytes;
    memset(buffers[which].image, 0xa5, bytes + 2 * GUARD);
    return buffers[which].image + GUARD;
}

static void *up(int which)
{
    gpu_put(buffers[which].device, buffers[which].image, buffers[which].bytes + 2 * GUARD);
    return buffers[which].device + GUARD;
}

/* Copies the device's bytes into scratch; NULL if a guard was touched. */
static char *down(int which, char **scratch)
{
    size_t n = buffers[which].bytes + 2 * GUARD;
    *scratch = malloc(n);
    NEED(*scratch, "no memory");
    gpu_get(*scratch, buffers[which].device, n);
    for (size_t i = 0; i < GUARD; i++)
        if ((unsigned char)(*scratch)[i] != 0xa5 || (unsigned char)(*scratch)[n - 1 - i] != 0xa5)
            return NULL;
    return *scratch + GUARD;
}

/* ---- checks --------------------------------------------------------------------------------------------------------------- */

/* One device allreduce with a known answer. */
static void check_device(const char *file, int line, reactant_mpi_comm *c)
{
    int n = reactant_mpi_size(c), r = reactant_mpi_rank(c);
    int64_t x = 10 + r, sum = -1;
    void *at = buffers[RECEIVING].device;
    gpu_put(at, &x, sizeof x);
    int rc = reactant_mpi_allreduce_stream(REACTANT_MPI_IN_PLACE, at, 1, REACTANT_MPI_INT64, REACTANT_MPI_SUM, c, stream);
    check_count++;
    if (rc != 0) {
        check_fail(file, line, "a good device allreduce", " got %d: %s", rc, reactant_mpi_last_error());
        return;
    }
    gpu_sync(stream);
    gpu_get(&sum, at, sizeof sum);
    if (sum != 10 * (int64_t)n + (int64_t)n * (n - 1) / 2)
        check_fail(file, line, "a right device allreduce", " got the sum %lld at %d ranks", (long long)sum, n);
}
#define DEVICE_ALIVE(c) check_device(__FILE__, __LINE__, (c))

/* A thread without a context is a matter of CUDA: of HIP's devices one is always current, device 0 at first, and RCCL goes back to it. */
static void check_contexts(const char *file, int line)
{
    int mine = reactant_mpi_device(comm);
    for (int d = 0; d < 16 && !gpu.hip; d++) {
        int made = gpu_contexts_created(d);
        if (d != mine)
            CHECK(made <= 0, "%s:%d: %d contexts were made on device %d; ours is %d", file, line, made, d, mine);
        else
            CHECK(made == 1 || made == -1, "%s:%d: %d contexts were made on our device %d", file, line, made, d);
    }
}
#define CONTEXTS_RIGHT() check_contexts(__FILE__, __LINE__)

#endif
