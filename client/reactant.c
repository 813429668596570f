#include "client/reactant.h"

#include <stdio.h>
#include <stdlib.h>

static void make(void *arg)
{
    struct rmpi_reactant *r = arg;
    const char *error = NULL;
    int64_t allowed = r->device;
    /* A client of this process alone, node 0 of 1: the ranks meet in NCCL, not in XLA's distributed runtime. */
    r->client = ((rmpi_reactant_make_fn)r->make)(0, 1, &allowed, 1, r->memory_fraction, r->preallocate != 0, r->platform, &error, NULL);
    /* The text is malloc'ed in some cases and a literal in others, and nothing tells which: it is copied and left alone. */
    if (!r->client)
        snprintf(r->text, sizeof r->text, "%s", error && *error ? error : "it gave no reason");
}

static void look(void *arg)
{
    struct rmpi_reactant *r = arg;
    void *list[2] = {NULL, NULL};
    r->addressable = ((int (*)(void *))r->count)(r->client);
    if (r->platform_name) {
        /* This one is always malloc'ed. */
        char *name = ((char *(*)(void *))r->platform_name)(r->client);
        snprintf(r->found_platform, sizeof r->found_platform, "%s", name ? name : "");
        free(name);
    }
    if (r->addressable != 1)
        return;
    ((void (*)(void *, void **))r->devices)(r->client, list);
    r->hardware = list[0] ? ((int64_t(*)(void *))r->hardware_id)(list[0]) : -1;
}

static void release(void *arg)
{
    struct rmpi_reactant *r = arg;
    ((void (*)(void *))r->free)(r->client);
    r->client = NULL;
}

enum rmpi_xla_end rmpi_reactant_make(struct rmpi_reactant *r)
{
    char thrown[RMPI_XLA_TEXT];
    enum rmpi_xla_end end = rmpi_xla_guarded(&r->hooks, make, r, thrown);
    if (end != RMPI_XLA_RETURNED)
        snprintf(r->text, sizeof r->text, "%s", thrown);
    return end;
}

enum rmpi_xla_end rmpi_reactant_look(struct rmpi_reactant *r)
{
    r->addressable = 0;
    r->hardware = -1;
    return rmpi_xla_guarded(&r->hooks, look, r, r->text);
}

enum rmpi_xla_end rmpi_reactant_free(struct rmpi_reactant *r)
{
    return rmpi_xla_guarded(&r->hooks, release, r, r->text);
}
