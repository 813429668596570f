/*
 * MPItrampoline 5 (libmpitrampoline.so.5): MPI_* functions jump to MPIABI_* of the MPIwrapper that MPITRAMPOLINE_LIB named when it
 * was loaded, MPI_* variables are copies of its. Without one, variables hold 0xdeadbeef, Initialized, Finalized, Init and
 * Init_thread end the process, the others are null pointers; with a name that cannot be loaded the constructor ends the process.
 * Not modelled: the other MPITRAMPOLINE_* variables, version checks, Fortran.
 */
#include "jump.h"

int mpitrampoline_version_major = 5, mpitrampoline_version_minor = 5, mpitrampoline_version_patch = 0;
int mpiwrapper_version_major = -1;

#define NAME(name) JUMP(name, MPIABI_##name)
#include "names.h"
#undef NAME
JUMP(Get_library_version, MPIABI_Get_library_version)
JUMP(Comm_f2c, MPIABI_Comm_f2c)
JUMP(Comm_c2f, MPIABI_Comm_c2f)

#define HANDLE(kind, name, ...) uint64_t MPI_##name = 0xdeadbeef;
#define NUMBER(name, ...) int MPI_##name = (int)0xdeadbeef;
#include "constants.h"
#undef HANDLE
#undef NUMBER
#define ADDRESSES(m) m(IN_PLACE) m(STATUS_IGNORE) m(STATUSES_IGNORE) m(BOTTOM)
#define ADDRESS(name) uint64_t MPI_##name = 0xdeadbeef;
ADDRESSES(ADDRESS)
#undef ADDRESS

static void *symbol(void *lib, const char *name)
{
    void *p = dlsym(lib, name);
    if (!p) {
        fprintf(stderr, "MPItrampoline: could not resolve %s\n", name);
        exit(1);
    }
    return p;
}

static void no_wrapper(void)
{
    fprintf(stderr, "MPItrampoline: MPITRAMPOLINE_LIB is not set\n");
    exit(1);
}

__attribute__((constructor)) static void load(void)
{
    const char *path = getenv("MPITRAMPOLINE_LIB");
    if (!path) {
        MPIABI_Initialized = MPIABI_Finalized = MPIABI_Init = MPIABI_Init_thread = (void *)no_wrapper;
        return;
    }
    void *lib = dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_DEEPBIND);
    if (!lib) {
        fprintf(stderr, "MPItrampoline: could not load %s: %s\n", path, dlerror());
        exit(1);
    }
    mpiwrapper_version_major = *(int *)symbol(lib, "mpiwrapper_version_major");
#define NAME(name) MPIABI_##name = symbol(lib, "MPIABI_" #name);
#include "names.h"
    NAME(Get_library_version) NAME(Comm_f2c) NAME(Comm_c2f)
#undef NAME
#define HANDLE(kind, name, ...) memcpy(&MPI_##name, symbol(lib, "MPIABI_" #name), sizeof MPI_##name);
#define NUMBER(name, ...) memcpy(&MPI_##name, symbol(lib, "MPIABI_" #name), sizeof MPI_##name);
#include "constants.h"
#define ADDRESS(name) memcpy(&MPI_##name, symbol(lib, "MPIABI_" #name), sizeof MPI_##name);
    ADDRESSES(ADDRESS)
}
