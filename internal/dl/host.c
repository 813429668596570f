#define _GNU_SOURCE
#include "host.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *rmpi_dl_open(const char *path, int how, char *file, char *text)
{
    /* "" is the main program: an MPI linked into it statically. */
    const char *name = *path ? path : NULL;
    static const int flags[] = {
        [RMPI_DL_GLOBAL] = RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE,
        [RMPI_DL_LOCAL] = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE,
        [RMPI_DL_DEEP] = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND | RTLD_NODELETE,
        [RMPI_DL_REOPEN] = RTLD_LAZY | RTLD_NOLOAD,
    };
    void *handle = dlopen(name, flags[how]);
    struct link_map *map = NULL;
    if (!handle) {
        const char *why = dlerror();
        snprintf(text, RMPI_DL_TEXT, "%s", why ? why : "not in the process");
        return NULL;
    }
    /* Asking by name or SONAME may give another file than the one asked for: tell which. */
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name && *map->l_name)
        snprintf(file, RMPI_DL_TEXT, "%s", map->l_name);
    else
        snprintf(file, RMPI_DL_TEXT, "%s", path);
    return handle;
}

void rmpi_dl_close(void *handle)
{
    dlclose(handle);
}

/*
 * A program that was linked to the library and is not position-independent code has the library's variables in itself (R_X86_64_COPY): the library
 * uses those as well, and never its own.
 */
static void *in_program(const char *name)
{
    void *address = dlsym(RTLD_DEFAULT, name);
    struct link_map *map = NULL;
    const ElfW(Sym) *symbol = NULL;
    Dl_info info;
    if (!address || !dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) || !map || *map->l_name ||
        !dladdr1(address, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol || (symbol->st_info & 0xf) != STT_OBJECT)
        return NULL;
    return address;
}

void *rmpi_dl_symbol(void *handle, const char *name)
{
    void *address = dlsym(handle, name), *copy = address ? in_program(name) : NULL;
    return copy ? copy : address;
}

int rmpi_dl_owns(void *handle, const char *name)
{
    void *address = dlsym(handle, name);
    struct link_map *map = NULL, *owner = NULL;
    Dl_info info;
    if (!address || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0)
        return 0;
    return dladdr1(address, &info, (void **)&owner, RTLD_DL_LINKMAP) != 0 && owner == map;
}

struct names {
    char *text;
    size_t bytes;
};

static int add_name(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct names *names = arg;
    size_t n = strlen(info->dlpi_name) + 1;
    char *longer = realloc(names->text, names->bytes + n);
    (void)size;
    if (!longer)
        return 1;
    memcpy(longer + names->bytes, info->dlpi_name, n);
    names->text = longer;
    names->bytes += n;
    return 0;
}

char *rmpi_dl_loaded(size_t *bytes)
{
    struct names names = {NULL, 0};
    dl_iterate_phdr(add_name, &names);
    *bytes = names.bytes;
    return names.text;
}
