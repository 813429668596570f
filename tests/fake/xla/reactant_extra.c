/*
 * A libReactantExtra for 4 GPUs: MakeGPUClient and its IFRT twin honour allowed_devices, the clients are told apart, and failures come
 * the ways the real library has: a text malloc'ed or literal, ReactantThrowError (which must not return), a C++ exception.
 * Not modelled: everything else of that library, memory of a device, XLA's own threads, and that the first client's devices stick.
 * FAKE_XLA_DEVICES: how many devices there are (4).
 * Faults: error_text literal_text no_text throw throw_in_look throw_elsewhere set_handler
 * cxx_throw terminate pthread_exit wrong_device two_devices no_devices throw_in_free
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "double.h"

void (*ReactantThrowError)(const char *) = NULL;

enum kind { PJRT = 0x9a11, IFRT = 0x1f27 };

struct device {
    enum kind kind;
    int64_t id;
};

struct client {
    enum kind kind;
    int n;
    struct device device[2];
};

/* What the real one does with a failed status: the handler, and if that returns, an exception or the end. */
static void fail(const char *text)
{
    ReactantThrowError(text);
    fprintf(stderr, "ReactantThrowError returned\n");
    _exit(98);
}

static void check(const struct client *c, enum kind kind)
{
    if (!c || c->kind != kind) {
        fprintf(stderr, "a client of another runtime, or none, was given to a test double\n");
        _exit(97);
    }
}

/* A handler as a host sets one; tests look whether it was called, and on which thread. */
void fake_host_handler(const char *text)
{
    record("host handler: %s", text);
}

static void *fail_elsewhere(void *unused)
{
    (void)unused;
    ReactantThrowError("a failure of the host's own");
    return NULL;
}

static void other_handler(const char *text)
{
    record("other handler: %s", text);
}

/* std::terminate() */
void _ZSt9terminatev(void) __attribute__((weak, noreturn));

static struct client *make(const char *function, enum kind kind, int node_id, int num_nodes, int64_t *allowed, int64_t n, double fraction,
                           bool preallocate, const char *platform, const char **error, void *distributed)
{
    const char *devices = getenv("FAKE_XLA_DEVICES");
    int present = devices ? atoi(devices) : 4;
    struct client *c;
    record("%s node=%d/%d allowed=%lld:%lld fraction=%g preallocate=%d platform=%s distributed=%d %s", function, node_id, num_nodes,
           (long long)n, (long long)(allowed ? allowed[0] : -1), fraction, preallocate, platform, distributed != NULL, thread_state());
    if (fault("throw"))
        fail("INTERNAL: the double throws");
    if (fault("throw_elsewhere")) {
        pthread_t other;
        pthread_create(&other, NULL, fail_elsewhere, NULL);
        pthread_join(other, NULL);
    }
    if (fault("set_handler"))
        ReactantThrowError = other_handler;
    if (fault("cxx_throw"))
        throw_int();
    if (fault("terminate"))
        _ZSt9terminatev();
    if (fault("pthread_exit"))
        pthread_exit(NULL);
    if (fault("no_text"))
        return NULL;
    if (fault("literal_text")) {
        *error = "ReactantExtra was not built with GPU support";
        return NULL;
    }
    if (fault("error_text") || present == 0) {
        *error = strdup("No visible GPU devices.");
        return NULL;
    }
    if (n != 1 || allowed[0] >= present) {
        *error = strdup("no such device");
        return NULL;
    }
    c = calloc(1, sizeof *c);
    c->kind = kind;
    c->n = fault("two_devices") ? 2 : fault("no_devices") ? 0 : 1;
    c->device[0] = (struct device){kind, allowed[0] + fault("wrong_device")};
    c->device[1] = (struct device){kind, allowed[0] + 1};
    return c;
}

static void list(struct client *c, enum kind kind, struct device **out)
{
    check(c, kind);
    for (int i = 0; i < c->n; i++)
        out[i] = &c->device[i];
}

static int64_t id_of(const struct device *d, enum kind kind)
{
    if (d->kind != kind)
        check(NULL, kind);
    if (fault("throw_in_look"))
        fail("INTERNAL: the double has no hardware id");
    return d->id;
}

static void end(const char *function, struct client *c, enum kind kind)
{
    check(c, kind);
    record("%s", function);
    if (fault("throw_in_free"))
        fail("INTERNAL: the double's client does not end");
    c->kind = 0;
    free(c);
}

#define RUNTIME(kind, make_name, count_name, list_name, id_name, platform_name, free_name)                                         \
    struct client *make_name(int node_id, int num_nodes, int64_t *allowed, int64_t n, double fraction, bool preallocate,           \
                             const char *platform, const char **error, void *distributed)                                          \
    {                                                                                                                              \
        return make(#make_name, kind, node_id, num_nodes, allowed, n, fraction, preallocate, platform, error, distributed);        \
    }                                                                                                                              \
    int count_name(struct client *c)                                                                                               \
    {                                                                                                                              \
        check(c, kind);                                                                                                            \
        return c->n;                                                                                                               \
    }                                                                                                                              \
    void list_name(struct client *c, struct device **out)                                                                          \
    {                                                                                                                              \
        list(c, kind, out);                                                                                                        \
    }                                                                                                                              \
    int64_t id_name(struct device *d)                                                                                              \
    {                                                                                                                              \
        return id_of(d, kind);                                                                                                     \
    }                                                                                                                              \
    const char *platform_name(struct client *c)                                                                                    \
    {                                                                                                                              \
        check(c, kind);                                                                                                            \
        return strdup("double");                                                                                                   \
    }                                                                                                                              \
    void free_name(struct client *c)                                                                                               \
    {                                                                                                                              \
        end(#free_name, c, kind);                                                                                                  \
    }

/* A constant for the FFI handlers of MPI calls. */
void enzymexla_set_mpi_constant(const char *name, void *value, int is_pointer)
{
    record("constant %s=%#lx pointer=%d", name, (unsigned long)value, is_pointer);
}

RUNTIME(PJRT, MakeGPUClient, ClientNumAddressableDevices, ClientGetAddressableDevices, PjRtDeviceGetLocalHardwareId, ClientGetPlatformName,
        FreeClient)
RUNTIME(IFRT, ifrt_make_pjrt_gpu_client, ifrt_client_addressable_device_count, ifrt_client_addressable_devices,
        ifrt_DeviceGetLocalHardwareId, ifrt_ClientGetPlatformName, ifrt_FreeClient)
