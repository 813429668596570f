/*
 * Device memory of the doubles of libcuda and libamdhip64. A device pointer is an address at which nothing can be read or written;
 * its bytes are elsewhere and only streams touch them. So a program that touches device memory from the host ends with SIGSEGV, and
 * a host pointer where a device pointer belongs is an error.
 * Not modelled: pinned, managed and pooled memory, access from one device to another's, a limit on what can be allocated beyond the
 * size of the device. Copies between host and device read and write the host's memory when the stream reaches them (as with pinned
 * memory).
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "gpu.h"

struct range {
    uint64_t base;
    size_t bytes, mapped;
    char *data;
    int device;
};

static struct range *ranges;
static size_t n_ranges, room;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct range *find(uint64_t pointer)
{
    for (size_t i = n_ranges; i-- > 0;)
        if (pointer - ranges[i].base < ranges[i].bytes)
            return &ranges[i];
    return NULL;
}

int gpu_memory_alloc(int device, size_t bytes, uint64_t *pointer)
{
    const struct fake_gpu *gpu = gpu_at(device);
    if (!gpu || !pointer || !bytes)
        return INVALID_VALUE;
    if (gpu_memory_used(device) + bytes > gpu->memory)
        return OUT_OF_MEMORY;
    size_t mapped = (bytes + 4095) / 4096 * 4096;
    char *at = mmap(NULL, mapped + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    char *data = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED || data == MAP_FAILED)
        return OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    if (n_ranges == room) {
        room = room ? room * 2 : 64;
        ranges = realloc(ranges, room * sizeof *ranges);
        if (!ranges)
            abort();
    }
    ranges[n_ranges++] = (struct range){(uint64_t)(uintptr_t)at, bytes, mapped, data, device};
    pthread_mutex_unlock(&lock);
    *pointer = (uint64_t)(uintptr_t)at;
    return OK;
}

/* As the real one it waits for the device first. */
int gpu_memory_free(uint64_t pointer)
{
    if (!pointer)
        return OK;
    pthread_mutex_lock(&lock);
    struct range *found = find(pointer);
    int device = found && found->base == pointer ? found->device : -1;
    pthread_mutex_unlock(&lock);
    if (device < 0)
        return INVALID_VALUE;
    gpu_streams_wait(device);
    pthread_mutex_lock(&lock);
    found = find(pointer);
    struct range gone = found ? *found : (struct range){0};
    if (found)
        *found = ranges[--n_ranges];
    pthread_mutex_unlock(&lock);
    if (gone.data) {
        munmap(gone.data, gone.mapped);
        munmap((void *)(uintptr_t)gone.base, gone.mapped + 4096);
    }
    return gone.data ? OK : INVALID_VALUE;
}

void *gpu_memory_range(uint64_t pointer, size_t bytes, int *device)
{
    void *data = NULL;
    pthread_mutex_lock(&lock);
    struct range *found = find(pointer);
    if (found && bytes <= found->bytes - (pointer - found->base)) {
        data = found->data + (pointer - found->base);
        if (device)
            *device = found->device;
    }
    pthread_mutex_unlock(&lock);
    return data;
}

int gpu_memory_base(uint64_t pointer, uint64_t *base, size_t *bytes)
{
    pthread_mutex_lock(&lock);
    struct range *found = find(pointer);
    if (found)
        *base = found->base, *bytes = found->bytes;
    pthread_mutex_unlock(&lock);
    return found ? OK : INVALID_VALUE;
}

size_t gpu_memory_used(int device)
{
    size_t used = 0;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n_ranges; i++)
        if (device < 0 || ranges[i].device == device)
            used += ranges[i].bytes;
    pthread_mutex_unlock(&lock);
    return used;
}

struct transfer {
    void *to;
    const void *from; /* NULL: set */
    uint8_t value;
    size_t bytes;
};

static void move(void *what)
{
    struct transfer *t = what;
    if (t->from)
        memmove(t->to, t->from, t->bytes);
    else
        memset(t->to, t->value, t->bytes);
    free(t);
}

static int put(struct transfer t, int device, void *stream)
{
    if (!t.bytes)
        return OK;
    struct transfer *copy = malloc(sizeof *copy);
    if (!copy)
        return OUT_OF_MEMORY;
    *copy = t;
    int code = gpu_stream_enqueue(device, stream, move, copy);
    if (code != OK)
        free(copy);
    return code;
}

/* The bytes behind a device pointer, or a host pointer itself; NULL if it is of the wrong kind. */
static void *place(uint64_t pointer, size_t bytes, bool on_device)
{
    void *data = gpu_memory_range(pointer, on_device ? bytes : 0, NULL);
    if (on_device)
        return data;
    return data ? NULL : (void *)(uintptr_t)pointer;
}

int gpu_memory_copy(enum gpu_copy kind, uint64_t to, uint64_t from, size_t bytes, int device, void *stream)
{
    if (!bytes)
        return OK;
    void *target = place(to, bytes, kind != DEVICE_TO_HOST), *source = place(from, bytes, kind != HOST_TO_DEVICE);
    return target && source ? put((struct transfer){target, source, 0, bytes}, device, stream) : INVALID_VALUE;
}

int gpu_memory_set(uint64_t to, uint8_t value, size_t bytes, int device, void *stream)
{
    void *target = place(to, bytes, true);
    return target || !bytes ? put((struct transfer){target, NULL, value, bytes}, device, stream) : INVALID_VALUE;
}

FAKE_EXPORT size_t fake_gpu_bytes_live(void)
{
    return gpu_memory_used(-1);
}

/* Where the bytes of a device pointer are, for a test that wants to look without a copy; NULL for any other pointer. */
FAKE_EXPORT void *fake_gpu_data(uint64_t pointer)
{
    return gpu_memory_range(pointer, 1, NULL);
}
