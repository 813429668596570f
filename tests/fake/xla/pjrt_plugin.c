/*
 * A PJRT plugin for up to 8 devices that makes clients and destroys them, with the refusals of XLA's GPU plugin: argument structs that are
 * too small, options of unknown name or wrong type. Written by the offsets of PJRT API 0.114, not by the headers of the product.
 * Not modelled: everything after the client (buffers, programs, events, memories, extensions), and a key-value store.
 * FAKE_XLA_DEVICES: how many devices there are (4).
 * Faults: null_api old_minor major_1 short_table hole init_error create_error create_null no_error_text no_error_code
 * ignore_unknown wrong_device devices_error id_error destroy_error cxx_throw pthread_exit
 */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "double.h"

enum { TABLE_BYTES = 1144, MAX_DEVICES = 8, CLIENT = 0x0c11e470, DEVICE = 0x0de71ce0 };

struct error {
    int code;
    char text[256];
};

struct device {
    int magic, id;
};

struct client {
    int magic, n;
    struct device device[MAX_DEVICES];
    struct device *list[MAX_DEVICES];
};

static int live_errors, live_clients;

/* Fields by offset, as a plugin built against another copy of the API sees them. */
static void *word(void *args, size_t offset)
{
    return *(void **)((char *)args + offset);
}

static size_t size(void *args, size_t offset)
{
    return *(size_t *)((char *)args + offset);
}

static void put(void *args, size_t offset, void *value)
{
    *(void **)((char *)args + offset) = value;
}

__attribute__((format(printf, 2, 3))) static void *error(int code, const char *format, ...)
{
    struct error *e = calloc(1, sizeof *e);
    va_list list;
    e->code = code;
    va_start(list, format);
    vsnprintf(e->text, sizeof e->text, format, list);
    va_end(list);
    live_errors++;
    return e;
}

static void *too_small(void *args, const char *name, size_t bytes)
{
    if (size(args, 0) >= bytes && !word(args, 8))
        return NULL;
    return error(3, "Unexpected %s size: expected %zu, got %zu. Check installed software versions.", name, bytes, size(args, 0));
}

#define SIZE(name, bytes)                                                                                                          \
    do {                                                                                                                           \
        void *small = too_small(args, name, bytes);                                                                                \
        if (small)                                                                                                                 \
            return small;                                                                                                          \
    } while (0)

static void *error_destroy(void *args)
{
    free(word(args, 16));
    live_errors--;
    return NULL;
}

static void *error_message(void *args)
{
    struct error *e = word(args, 16);
    if (fault("no_error_text"))
        return NULL;
    put(args, 24, e->text);
    *(size_t *)((char *)args + 32) = strlen(e->text);
    return NULL;
}

static void *error_code(void *args)
{
    if (fault("no_error_code"))
        return error(13, "no code");
    SIZE("PJRT_Error_GetCode_Args", 28);
    *(int *)((char *)args + 24) = ((struct error *)word(args, 16))->code;
    return NULL;
}

static void *initialize(void *args)
{
    SIZE("PJRT_Plugin_Initialize_Args", 16);
    record("PJRT_Plugin_Initialize %s", thread_state());
    return fault("init_error") ? error(14, "the double's plugin does not start") : NULL;
}

static void *create(void *args)
{
    const char *devices = getenv("FAKE_XLA_DEVICES");
    int present = devices ? atoi(devices) : 4, visible = -1;
    char *options = word(args, 16);
    size_t count = size(args, 24);
    struct client *c;
    char line[512] = "";
    SIZE("PJRT_Client_Create_Args", 88);
    for (size_t i = 0; i < count; i++) {
        char *o = options + 56 * i, *name = word(o, 16);
        int length = (int)size(o, 24), type = *(int *)(o + 32), ok = 0;
        size_t used = strlen(line);
        char *to = line + used;
        size_t left = sizeof line - used;
        if (size(o, 0) != 56)
            return error(3, "PJRT_NamedValue of %zu bytes", size(o, 0));
#define IS(text) (length == (int)strlen(text) && memcmp(name, text, strlen(text)) == 0)
        if (IS("visible_devices") && type == 2 && size(o, 48) == 1) {
            visible = (int)*(int64_t *)word(o, 40);
            snprintf(to, left, " visible_devices=[%d]", visible);
            ok = 1;
        } else if (IS("memory_fraction") && type == 3) {
            snprintf(to, left, " memory_fraction=%g", (double)*(float *)(o + 40));
            ok = 1;
        } else if ((IS("preallocate") || IS("use_tfrt_gpu_client")) && type == 4) {
            snprintf(to, left, " %.*s=%d", length, name, *(bool *)(o + 40));
            ok = 1;
        } else if (IS("allocator") && type == 0) {
            snprintf(to, left, " allocator=%.*s", (int)size(o, 48), (char *)word(o, 40));
            ok = 1;
        } else if ((IS("node_id") || IS("num_nodes") || IS("collective_memory_size")) && type == 1) {
            snprintf(to, left, " %.*s=%lld", length, name, (long long)*(int64_t *)(o + 40));
            ok = 1;
        }
        if (!ok && !fault("ignore_unknown"))
            return error(3, "Unexpected option name passed to create: %.*s (type %d)", length, name, type);
    }
    record("PJRT_Client_Create%s kv=%d %s", line, word(args, 32) || word(args, 48) || word(args, 72), thread_state());
    if (fault("cxx_throw"))
        throw_int();
    if (fault("pthread_exit"))
        pthread_exit(NULL);
    if (fault("create_error") || present == 0)
        return error(9, "No visible GPU devices.");
    if (visible >= present)
        return error(3, "visible_devices contained invalid device: %d. There are %d devices.", visible, present);
    if (fault("create_null"))
        return NULL;
    c = calloc(1, sizeof *c);
    c->magic = CLIENT;
    c->n = visible >= 0 ? 1 : present;
    for (int i = 0; i < c->n; i++) {
        c->device[i] = (struct device){DEVICE, visible >= 0 ? visible + fault("wrong_device") : i};
        c->list[i] = &c->device[i];
    }
    live_clients++;
    put(args, 64, c);
    return NULL;
}

static struct client *client_of(void *args)
{
    struct client *c = word(args, 16);
    if (!c || c->magic != CLIENT) {
        fprintf(stderr, "a test double was given a client that is not its own\n");
        _exit(99);
    }
    return c;
}

static void *destroy(void *args)
{
    struct client *c;
    SIZE("PJRT_Client_Destroy_Args", 24);
    c = client_of(args);
    c->magic = 0;
    free(c);
    record("PJRT_Client_Destroy live_clients=%d live_errors=%d", --live_clients, live_errors);
    return fault("destroy_error") ? error(13, "the double's client does not end") : NULL;
}

static void *answer(void *args, char *text)
{
    client_of(args);
    put(args, 24, text);
    *(size_t *)((char *)args + 32) = 6; /* no NUL after it */
    return NULL;
}

static void *platform_name(void *args)
{
    SIZE("PJRT_Client_PlatformName_Args", 40);
    return answer(args, "doubleXXX");
}

static void *platform_version(void *args)
{
    SIZE("PJRT_Client_PlatformVersion_Args", 40);
    return answer(args, "v 1234XXX");
}

static void *addressable(void *args)
{
    struct client *c;
    SIZE("PJRT_Client_AddressableDevices_Args", 40);
    if (fault("devices_error"))
        return error(12, "no list of devices");
    c = client_of(args);
    put(args, 24, c->list);
    *(size_t *)((char *)args + 32) = (size_t)c->n;
    return NULL;
}

static void *hardware_id(void *args)
{
    struct device *d;
    SIZE("PJRT_Device_LocalHardwareId_Args", 28);
    d = word(args, 16);
    if (fault("id_error") || d->magic != DEVICE)
        return error(13, "no hardware id");
    *(int *)((char *)args + 24) = d->id;
    return NULL;
}

static void *unused(void *args)
{
    (void)args;
    fprintf(stderr, "a test double was asked for a PJRT function that it does not have\n");
    _exit(99);
}

void *GetPjrtApi(void)
{
    static union {
        void *function[TABLE_BYTES / 8];
        size_t size[TABLE_BYTES / 8];
        int number[TABLE_BYTES / 4];
    } table;
    if (fault("null_api"))
        return NULL;
    for (size_t i = 5; i < TABLE_BYTES / 8; i++)
        table.function[i] = (void *)unused;
    table.size[0] = fault("short_table") ? 288 : TABLE_BYTES;
    table.size[16 / 8] = 24;
    table.number[32 / 4] = fault("major_1") ? 1 : 0;
    table.number[36 / 4] = fault("old_minor") ? 28 : 114;
    table.function[40 / 8] = (void *)error_destroy;
    table.function[48 / 8] = (void *)error_message;
    table.function[56 / 8] = (void *)error_code;
    table.function[64 / 8] = (void *)initialize;
    table.function[120 / 8] = (void *)create;
    table.function[128 / 8] = (void *)destroy;
    table.function[136 / 8] = (void *)platform_name;
    table.function[152 / 8] = (void *)platform_version;
    table.function[168 / 8] = (void *)addressable;
    table.function[288 / 8] = fault("hole") ? NULL : (void *)hardware_id;
    return &table;
}
