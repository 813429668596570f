/*
 * The interface library of WI4MPI 4, itself called libmpi.so: MPI_* jump to CCMPI_* of the library that WI4MPI_WRAPPER_LIB names;
 * without one the constructor ends the process. Not modelled: Fortran.
 */
#include "jump.h"

#define NAME(name) JUMP(name, INTERFACE_LOCAL_MPI_##name)
#include "names.h"
NAME(Get_library_version)
#undef NAME

__attribute__((constructor)) static void load(void)
{
    const char *path = getenv("WI4MPI_WRAPPER_LIB");
    void *lib = path ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
    if (!lib) {
        fprintf(stderr, "Please provide WI4MPI_WRAPPER_LIB\n");
        exit(1);
    }
#define NAME(name) INTERFACE_LOCAL_MPI_##name = dlsym(lib, "CCMPI_" #name);
#include "names.h"
    NAME(Get_library_version)
}
