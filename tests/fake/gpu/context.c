/*
 * Primary contexts of the doubles of libcuda and libamdhip64: counted for each device, current for each thread, and what a CUDA
 * runtime inside libnccl does to them (cudaSetDevice makes a context where none is).
 * Not modelled: contexts other than primary ones, the stack of contexts, loss of memory and streams with the context.
 */
#include <pthread.h>

#include "gpu.h"

struct gpu_context {
    int refs;     /* cuDevicePrimaryCtxRetain */
    bool runtime; /* a CUDA runtime in this process holds it */
    int created;
};

static struct gpu_context contexts[MAX_GPUS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread struct gpu_context *current;

struct gpu_context *gpu_context_current(void)
{
    return current;
}

int gpu_context_device(const struct gpu_context *context)
{
    uintptr_t offset = (uintptr_t)context - (uintptr_t)contexts;
    return context && offset < sizeof contexts && offset % sizeof *contexts == 0 ? (int)(offset / sizeof *contexts) : -1;
}

static bool active(const struct gpu_context *context)
{
    return context->refs > 0 || context->runtime;
}

static void use(struct gpu_context *context, const char *by)
{
    if (active(context))
        return;
    context->created++;
    fake_trace("context\t%d\t%s", gpu_context_device(context), by);
}

int gpu_context_set(struct gpu_context *context)
{
    int code = OK;
    pthread_mutex_lock(&lock);
    if (context && gpu_context_device(context) < 0)
        code = INVALID_CONTEXT;
    else if (context && !active(context))
        code = CONTEXT_IS_DESTROYED;
    else
        current = context;
    pthread_mutex_unlock(&lock);
    return code;
}

int gpu_context_retain(int ordinal, struct gpu_context **context)
{
    if (!gpu_at(ordinal))
        return INVALID_DEVICE;
    pthread_mutex_lock(&lock);
    use(&contexts[ordinal], "retain");
    contexts[ordinal].refs++;
    *context = &contexts[ordinal];
    pthread_mutex_unlock(&lock);
    return OK;
}

int gpu_context_release(int ordinal)
{
    if (!gpu_at(ordinal))
        return INVALID_DEVICE;
    pthread_mutex_lock(&lock);
    int code = contexts[ordinal].refs > 0 ? OK : INVALID_CONTEXT;
    if (code == OK)
        contexts[ordinal].refs--;
    pthread_mutex_unlock(&lock);
    return code;
}

bool gpu_context_active(int ordinal)
{
    pthread_mutex_lock(&lock);
    bool is = active(&contexts[ordinal]);
    pthread_mutex_unlock(&lock);
    return is;
}

int gpu_runtime_device(void)
{
    return current ? gpu_context_device(current) : 0;
}

int gpu_runtime_set(int ordinal)
{
    if (!gpu_at(ordinal))
        return INVALID_DEVICE;
    if (current == &contexts[ordinal])
        return OK;
    pthread_mutex_lock(&lock);
    use(&contexts[ordinal], "set_device");
    contexts[ordinal].runtime = true;
    current = &contexts[ordinal];
    pthread_mutex_unlock(&lock);
    return OK;
}

static bool has_context(void)
{
    return current != NULL;
}

FAKE_EXPORT const struct fake_gpu_hooks *fake_gpu_hooks(void)
{
    static const struct fake_gpu_hooks hooks = {
        gpu_init, gpu_runtime_device, gpu_runtime_set, has_context, gpu_at, gpu_memory_range, gpu_memory_alloc, gpu_memory_free,
        gpu_stream_enqueue,
    };
    return &hooks;
}

static int ask(int ordinal, int what)
{
    if (ordinal < 0 || ordinal >= MAX_GPUS)
        return -1;
    pthread_mutex_lock(&lock);
    const struct gpu_context *context = &contexts[ordinal];
    int answer = what == 0 ? context->created : what == 1 ? context->refs : active(context);
    pthread_mutex_unlock(&lock);
    return answer;
}

/* How often a context came to be on a device of this process; how often it is retained and not released; whether it is there. */
FAKE_EXPORT int fake_gpu_contexts_created(int ordinal)
{
    return ask(ordinal, 0);
}

FAKE_EXPORT int fake_gpu_context_refs(int ordinal)
{
    return ask(ordinal, 1);
}

FAKE_EXPORT int fake_gpu_context_active(int ordinal)
{
    return ask(ordinal, 2);
}
