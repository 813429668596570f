/* A client from libReactantExtra. Its C functions are declared here as that library exports them; objects are words to us. */
#ifndef RMPI_CLIENT_REACTANT_H
#define RMPI_CLIENT_REACTANT_H

#include <stdbool.h>
#include <stdint.h>

#include "client/guard.h"

#pragma GCC visibility push(hidden)

/* MakeGPUClient (PJRT) and ifrt_make_pjrt_gpu_client (IFRT): the same arguments, another kind of client. */
typedef void *(*rmpi_reactant_make_fn)(int node_id, int num_nodes, int64_t *allowed_devices, int64_t num_allowed_devices,
                                       double memory_fraction, bool preallocate, const char *platform_name, const char **error,
                                       void *distributed_runtime_client);

struct rmpi_reactant {
    struct rmpi_xla_hooks hooks;
    /* The functions of one runtime, PJRT or IFRT; never a mixture. */
    void *make, *count, *devices, *hardware_id, *platform_name, *free;
    /* What is asked for. */
    int64_t device;
    double memory_fraction;
    int preallocate;
    const char *platform;
    /* What came of it. */
    void *client;
    int addressable;  /* number of addressable devices */
    int64_t hardware; /* id of the only one */
    char found_platform[128];
    char text[RMPI_XLA_TEXT];
};

/* Makes the client; with client NULL after RMPI_XLA_RETURNED text is the library's. */
enum rmpi_xla_end rmpi_reactant_make(struct rmpi_reactant *r);
/* Reads back what the client has. */
enum rmpi_xla_end rmpi_reactant_look(struct rmpi_reactant *r);
/* Frees the client. */
enum rmpi_xla_end rmpi_reactant_free(struct rmpi_reactant *r);

#pragma GCC visibility pop

#endif
