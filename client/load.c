#define _GNU_SOURCE
#include "client/load.h"

#include <dlfcn.h>
#include <stdio.h>

int rmpi_xla_load(const char *path, char text[RMPI_XLA_LOAD_TEXT])
{
    /* Never closed: XLA's threads run its code until the process ends. */
    if (!dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
        const char *why = dlerror();
        snprintf(text, RMPI_XLA_LOAD_TEXT, "%s", why ? why : "the loader gave no reason");
        return -1;
    }
    return 0;
}
