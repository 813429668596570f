#include "client/pjrt.h"

#include <stdio.h>
#include <string.h>

/* A function is there if the plugin's table is long enough to hold it and holds something. */
#define HAS(api, field)                                                                                                            \
    ((api)->head.struct_size >= offsetof(struct rmpi_pjrt_api, field) + sizeof((api)->field) && (api)->field != NULL)
#define ARGS(type, name) struct type name = {.head = {sizeof name, NULL}}

const char *rmpi_pjrt_lacks(const struct rmpi_pjrt_api *api)
{
#define NEEDS(field, name)                                                                                                         \
    if (!HAS(api, field))                                                                                                          \
        return name;
    NEEDS(error_destroy, "PJRT_Error_Destroy")
    NEEDS(error_message, "PJRT_Error_Message")
    NEEDS(error_code, "PJRT_Error_GetCode")
    NEEDS(plugin_initialize, "PJRT_Plugin_Initialize")
    NEEDS(client_create, "PJRT_Client_Create")
    NEEDS(client_destroy, "PJRT_Client_Destroy")
    NEEDS(client_addressable_devices, "PJRT_Client_AddressableDevices")
    NEEDS(device_hardware_id, "PJRT_Device_LocalHardwareId")
#undef NEEDS
    return NULL;
}

void rmpi_pjrt_option(struct rmpi_pjrt *p, const char *name, int type, int64_t integer, double number, const char *text)
{
    struct rmpi_pjrt_value *v = &p->option[p->options];
    if (p->options == RMPI_PJRT_OPTIONS)
        return;
    p->integer[p->options] = integer;
    memset(v, 0, sizeof *v);
    v->head.struct_size = sizeof *v;
    v->name = name;
    v->name_size = strlen(name);
    v->type = type;
    v->value_size = 1;
    switch (type) {
    case RMPI_PJRT_STRING:
        v->value.text = text;
        v->value_size = strlen(text);
        break;
    case RMPI_PJRT_INT64:
        v->value.integer = integer;
        break;
    case RMPI_PJRT_INT64_LIST:
        v->value.list = &p->integer[p->options];
        break;
    case RMPI_PJRT_FLOAT:
        v->value.number = (float)number;
        break;
    case RMPI_PJRT_BOOL:
        v->value.flag = integer != 0;
        break;
    }
    p->options++;
}

/* PJRT's strings come with a length and without an end. */
static void copy(char *out, size_t bytes, const char *text, size_t length)
{
    if (!text)
        length = 0;
    if (length >= bytes)
        length = bytes - 1;
    if (length)
        memcpy(out, text, length);
    out[length] = 0;
}

static void destroy_error(const struct rmpi_pjrt_api *api, void *error)
{
    ARGS(rmpi_pjrt_error_args, args);
    args.error = error;
    api->error_destroy(&args);
}

/* Notes the failure of a step; 0 = there was none. The first failure stays. */
static int failed(struct rmpi_pjrt *p, const char *step, void *error)
{
    ARGS(rmpi_pjrt_error_args, args);
    void *again;
    if (!error)
        return 0;
    args.error = error;
    if (!p->step) {
        p->step = step;
        p->api->error_message(&args);
        copy(p->text, sizeof p->text, args.out.message, args.message_size);
        memset(&args.out, 0, sizeof args.out);
        again = p->api->error_code(&args);
        p->code = again ? 0 : args.out.code;
        if (again)
            destroy_error(p->api, again);
    }
    destroy_error(p->api, error);
    return 1;
}

static void destroy(void *arg)
{
    struct rmpi_pjrt *p = arg;
    ARGS(rmpi_pjrt_list_args, args);
    args.client = p->client;
    p->client = NULL;
    failed(p, "PJRT_Client_Destroy", p->api->client_destroy(&args));
}

static void name_of(const struct rmpi_pjrt *p, rmpi_pjrt_fn get, char *out, size_t bytes)
{
    ARGS(rmpi_pjrt_list_args, args);
    void *error;
    args.client = p->client;
    error = get(&args);
    if (error)
        destroy_error(p->api, error); /* nothing hangs on the name */
    else
        copy(out, bytes, args.list, args.count);
}

static void make(void *arg)
{
    struct rmpi_pjrt *p = arg;
    const struct rmpi_pjrt_api *api = p->api;
    struct rmpi_pjrt_head initialize = {sizeof initialize, NULL};
    ARGS(rmpi_pjrt_create_args, create);
    ARGS(rmpi_pjrt_list_args, devices);
    ARGS(rmpi_pjrt_id_args, id);
    if (failed(p, "PJRT_Plugin_Initialize", api->plugin_initialize(&initialize)))
        return;
    create.options = p->option;
    create.num_options = p->options;
    if (failed(p, "PJRT_Client_Create", api->client_create(&create)))
        return;
    p->client = create.client;
    if (!p->client)
        return;
    if (HAS(api, client_platform_name))
        name_of(p, api->client_platform_name, p->platform, sizeof p->platform);
    if (HAS(api, client_platform_version))
        name_of(p, api->client_platform_version, p->platform_version, sizeof p->platform_version);
    devices.client = p->client;
    if (!failed(p, "PJRT_Client_AddressableDevices", api->client_addressable_devices(&devices))) {
        p->addressable = devices.count;
        if (p->addressable == 1) {
            id.device = *(void **)devices.list;
            if (!failed(p, "PJRT_Device_LocalHardwareId", api->device_hardware_id(&id)))
                p->hardware = id.id;
        }
    }
    if (p->step)
        destroy(p);
}

static void get_api(void *arg)
{
    struct rmpi_pjrt *p = ((void **)arg)[0];
    void *get = ((void **)arg)[1];
    p->api = ((const struct rmpi_pjrt_api *(*)(void))get)();
}

enum rmpi_xla_end rmpi_pjrt_api(struct rmpi_pjrt *p, void *get)
{
    void *args[] = {p, get};
    return rmpi_xla_guarded(&p->hooks, get_api, args, p->text);
}

enum rmpi_xla_end rmpi_pjrt_make(struct rmpi_pjrt *p)
{
    char thrown[RMPI_XLA_TEXT];
    enum rmpi_xla_end end;
    p->hardware = -1;
    end = rmpi_xla_guarded(&p->hooks, make, p, thrown);
    if (end != RMPI_XLA_RETURNED)
        memcpy(p->text, thrown, sizeof thrown);
    return end;
}

enum rmpi_xla_end rmpi_pjrt_destroy(struct rmpi_pjrt *p)
{
    char thrown[RMPI_XLA_TEXT];
    enum rmpi_xla_end end;
    p->step = NULL;
    end = rmpi_xla_guarded(&p->hooks, destroy, p, thrown);
    if (end != RMPI_XLA_RETURNED)
        memcpy(p->text, thrown, sizeof thrown);
    return end;
}
