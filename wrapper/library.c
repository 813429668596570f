/* libreactant_mpi.so: found once, at the first call that needs it. */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wrapper.h"

#define TEXT(x)  TEXT_(x)
#define TEXT_(x) #x
#define SONAME "libreactant_mpi.so." TEXT(REACTANT_MPI_VERSION_MAJOR)

struct core core;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool opened;

/* The library beside this file: where both are installed, or built. */
static void *open_neighbour(void)
{
    Dl_info me;
    char path[PATH_MAX];
    if (!dladdr(&core, &me) || !me.dli_fname)
        return NULL;
    const char *slash = strrchr(me.dli_fname, '/');
    const int folder = slash ? (int)(slash - me.dli_fname) + 1 : 0;
    if (snprintf(path, sizeof path, "%.*s" SONAME, folder, me.dli_fname) >= (int)sizeof path)
        return NULL;
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static int bind(void *library)
{
#define FIND(name)                                                                                                              \
    if (!(core.name = (__typeof__(core.name))dlsym(library, "reactant_mpi_" #name)))                                            \
        return fail(REACTANT_MPI_ERR_UNSUPPORTED, "the " SONAME " that is loaded has no reactant_mpi_" #name                   \
                    ": it is of another version than libreactant_mpi_wrapper.so");
    CORE_FUNCTIONS(FIND)
#undef FIND
    if (core.version() >> 8 != REACTANT_MPI_VERSION >> 8)
        return fail(REACTANT_MPI_ERR_UNSUPPORTED, "libreactant_mpi_wrapper.so is of version %#x and the " SONAME " beside it of %#x: "
                    "install both from one package", REACTANT_MPI_VERSION, core.version());
    opened = true;
    return 0;
}

static int find(void)
{
    void *library = dlopen(SONAME, RTLD_NOW | RTLD_NOLOAD);
    const char *named = getenv("REACTANT_MPI_LIBRARY");
    if (!library && named && *named) {
        library = dlopen(named, RTLD_NOW | RTLD_LOCAL);
        if (!library)
            return fail(REACTANT_MPI_ERR_OPTION, "REACTANT_MPI_LIBRARY: %s", dlerror());
    }
    if (!library)
        library = open_neighbour();
    if (!library)
        library = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return fail(REACTANT_MPI_ERR_STATE, "libreactant_mpi_wrapper.so finds no " SONAME " beside itself (%s); "
                    "REACTANT_MPI_LIBRARY names it", dlerror());
    return bind(library);
}

int library_open(void)
{
    pthread_mutex_lock(&lock);
    const int error = opened ? 0 : find();
    pthread_mutex_unlock(&lock);
    return error;
}
