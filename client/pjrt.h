/* A client from a PJRT plugin (GetPjrtApi). What we use of the PJRT C API, in declarations of our own: names and order follow the
 * API, offsets are checked below. A plugin accepts argument structs that are larger than its own and refuses smaller ones, so ours
 * are the newest; every function is used only after a look at the size of the plugin's table. */
#ifndef RMPI_CLIENT_PJRT_H
#define RMPI_CLIENT_PJRT_H

#include <stddef.h>
#include <stdint.h>

#include "client/guard.h"

#pragma GCC visibility push(hidden)

enum { RMPI_PJRT_MAJOR = 0, RMPI_PJRT_MINOR_MIN = 29 };

/* Every argument struct begins so. */
struct rmpi_pjrt_head {
    size_t struct_size;
    void *extension;
};

typedef void *(*rmpi_pjrt_fn)(void *args); /* a PJRT_Error, or NULL */

struct rmpi_pjrt_api {
    struct rmpi_pjrt_head head;
    struct {
        struct rmpi_pjrt_head head;
        int major, minor;
    } version;
    void (*error_destroy)(void *args);
    void (*error_message)(void *args);
    rmpi_pjrt_fn error_code;
    rmpi_pjrt_fn plugin_initialize, plugin_attributes;
    rmpi_pjrt_fn event[5];
    rmpi_pjrt_fn client_create, client_destroy, client_platform_name, client_process_index, client_platform_version;
    rmpi_pjrt_fn client_devices, client_addressable_devices, client_lookup[2], client_memories, client_compile, client_assignment;
    rmpi_pjrt_fn client_buffer;
    rmpi_pjrt_fn description[6];
    rmpi_pjrt_fn device_description, device_is_addressable, device_hardware_id;
    /* ... and more that we do not use */
};

enum { RMPI_PJRT_STRING, RMPI_PJRT_INT64, RMPI_PJRT_INT64_LIST, RMPI_PJRT_FLOAT, RMPI_PJRT_BOOL };

struct rmpi_pjrt_value {
    struct rmpi_pjrt_head head;
    const char *name;
    size_t name_size;
    int type;
    union {
        const char *text;
        int64_t integer;
        const int64_t *list;
        float number;
        _Bool flag;
    } value;
    size_t value_size; /* elements of a list or string, else 1 */
};

struct rmpi_pjrt_error_args { /* of destroy, message and code */
    struct rmpi_pjrt_head head;
    void *error;
    union {
        const char *message;
        int code;
    } out;
    size_t message_size;
};

struct rmpi_pjrt_create_args {
    struct rmpi_pjrt_head head;
    const struct rmpi_pjrt_value *options;
    size_t num_options;
    /* A key-value store between processes; none, for a client of this process alone. */
    void *get, *get_arg, *put, *put_arg;
    void *client;
    void *try_get, *try_get_arg;
};

struct rmpi_pjrt_list_args { /* of destroy, addressable devices, platform name and version */
    struct rmpi_pjrt_head head;
    void *client;
    void *list;
    size_t count;
};

struct rmpi_pjrt_id_args {
    struct rmpi_pjrt_head head;
    void *device;
    int id;
};

/* The 64-bit layout of API 0.114; PJRT runs on no other. */
#define RMPI_AT(type, field, offset) _Static_assert(offsetof(struct type, field) == offset, #type "." #field)
RMPI_AT(rmpi_pjrt_api, version, 16);
RMPI_AT(rmpi_pjrt_api, error_destroy, 40);
RMPI_AT(rmpi_pjrt_api, plugin_initialize, 64);
RMPI_AT(rmpi_pjrt_api, client_create, 120);
RMPI_AT(rmpi_pjrt_api, client_platform_version, 152);
RMPI_AT(rmpi_pjrt_api, client_addressable_devices, 168);
RMPI_AT(rmpi_pjrt_api, device_hardware_id, 288);
RMPI_AT(rmpi_pjrt_value, name, 16);
RMPI_AT(rmpi_pjrt_value, type, 32);
RMPI_AT(rmpi_pjrt_value, value, 40);
RMPI_AT(rmpi_pjrt_value, value_size, 48);
RMPI_AT(rmpi_pjrt_error_args, out, 24);
RMPI_AT(rmpi_pjrt_error_args, message_size, 32);
RMPI_AT(rmpi_pjrt_create_args, options, 16);
RMPI_AT(rmpi_pjrt_create_args, get, 32);
RMPI_AT(rmpi_pjrt_create_args, put, 48);
RMPI_AT(rmpi_pjrt_create_args, client, 64);
RMPI_AT(rmpi_pjrt_create_args, try_get, 72);
RMPI_AT(rmpi_pjrt_list_args, list, 24);
RMPI_AT(rmpi_pjrt_id_args, id, 24);
#undef RMPI_AT
_Static_assert(sizeof(struct rmpi_pjrt_value) == 56 && sizeof(struct rmpi_pjrt_create_args) == 88, "sizes of API 0.114");

enum { RMPI_PJRT_OPTIONS = 16 };

struct rmpi_pjrt {
    struct rmpi_xla_hooks hooks;
    const struct rmpi_pjrt_api *api;
    struct rmpi_pjrt_value option[RMPI_PJRT_OPTIONS];
    int64_t integer[RMPI_PJRT_OPTIONS]; /* the one element of an option that is a list */
    size_t options;
    /* What came of it. */
    void *client;
    const char *step; /* the function that failed; NULL = none */
    int code;         /* of the failure */
    size_t addressable;
    int hardware; /* id of the only one */
    char platform[128], platform_version[512];
    char text[RMPI_XLA_TEXT];
};

/* Calls GetPjrtApi; p->api may be NULL afterwards. */
enum rmpi_xla_end rmpi_pjrt_api(struct rmpi_pjrt *p, void *get_api);
/* The first function that the plugin's table lacks of those that a client needs; NULL = none. */
const char *rmpi_pjrt_lacks(const struct rmpi_pjrt_api *api);
/* Adds an option; name and text must live until the client is made. */
void rmpi_pjrt_option(struct rmpi_pjrt *p, const char *name, int type, int64_t integer, double number, const char *text);
/* Initialises the plugin, makes a client and reads back what it has. */
enum rmpi_xla_end rmpi_pjrt_make(struct rmpi_pjrt *p);
enum rmpi_xla_end rmpi_pjrt_destroy(struct rmpi_pjrt *p);

#pragma GCC visibility pop

#endif
