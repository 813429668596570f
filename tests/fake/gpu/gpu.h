/*
 * Inside the doubles of libcuda and libamdhip64: the machine, contexts, streams and memory below the two APIs. All return CUDA codes,
 * which are HIP's too.
 */
#ifndef FAKE_GPU_INSIDE_H
#define FAKE_GPU_INSIDE_H

#include "fake_gpu.h"

enum { MAX_GPUS = 64 };
enum {
    OK, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_CONTEXT = 201,
    INVALID_HANDLE = 400, NOT_READY = 600, CONTEXT_IS_DESTROYED = 709,
};

#define ENTER()                                                                                                                    \
    do {                                                                                                                           \
        static struct fake_site site_;                                                                                             \
        int code_ = fake_enter(&site_, __func__);                                                                                  \
        if (code_)                                                                                                                 \
            return code_;                                                                                                          \
    } while (0)

/* device.c */
int gpu_init(void);
bool gpu_ready(void);
int gpu_count(void);
const struct fake_gpu *gpu_at(int ordinal);
int gpu_attribute(int attribute, int ordinal, int *value);
const char *gpu_error_name(int code);
const char *gpu_error_string(int code);

/* context.c */
struct gpu_context;
struct gpu_context *gpu_context_current(void);
int gpu_context_set(struct gpu_context *context);
int gpu_context_device(const struct gpu_context *context); /* -1: none, or not one of ours */
int gpu_context_retain(int ordinal, struct gpu_context **context);
int gpu_context_release(int ordinal);
bool gpu_context_active(int ordinal);
int gpu_runtime_device(void);
int gpu_runtime_set(int ordinal);

/* stream.c; a stream of NULL is that of the device */
int gpu_stream_create(int device, void **stream);
int gpu_stream_destroy(void *stream);
int gpu_stream_enqueue(int device, void *stream, void (*run)(void *), void *what);
int gpu_stream_wait(int device, void *stream); /* for all that is in it now */
int gpu_stream_query(int device, void *stream);
int gpu_streams_wait(int device); /* all of a device */
int gpu_event_create(void **event);
int gpu_event_destroy(void *event);
int gpu_event_record(void *event, int device, void *stream);
int gpu_event_query(void *event);
int gpu_event_wait(void *event);
int gpu_event_join(void *event, int device, void *stream);
int gpu_event_elapsed(void *from, void *to, float *ms);

/* memory.c */
enum gpu_copy { HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE };
int gpu_memory_alloc(int device, size_t bytes, uint64_t *pointer);
int gpu_memory_free(uint64_t pointer);
void *gpu_memory_range(uint64_t pointer, size_t bytes, int *device);
int gpu_memory_base(uint64_t pointer, uint64_t *base, size_t *bytes);
size_t gpu_memory_used(int device);
int gpu_memory_copy(enum gpu_copy kind, uint64_t to, uint64_t from, size_t bytes, int device, void *stream);
int gpu_memory_set(uint64_t to, uint8_t value, size_t bytes, int device, void *stream);

#endif
