/* The names that are looked for, and nothing behind most of them. */
#include "wrapper.h"

#define WORD(name, value)   EXPORT uintptr_t name = (uintptr_t)(value);
#define NUMBER(name, value) EXPORT int name = value;
#define LONG(name, value)   EXPORT int64_t name = value;
#define SERVED(name)
#define REFUSED(name)                                                                                                           \
    EXPORT int name(void)                                                                                                       \
    {                                                                                                                           \
        return fail(REACTANT_MPI_ERR_UNSUPPORTED, #name " is not served by libreactant_mpi_wrapper.so: it has what JAX's collectives call"); \
    }
#define REFUSED_WORD(name)                                                                                                      \
    EXPORT uintptr_t name(void)                                                                                                 \
    {                                                                                                                           \
        fail(REACTANT_MPI_ERR_UNSUPPORTED, #name " is not served by libreactant_mpi_wrapper.so: it has what JAX's collectives call");       \
        return 0;                                                                                                               \
    }
#define ABSENT(name)                                                                                                            \
    EXPORT int name(void)                                                                                                       \
    {                                                                                                                           \
        return 0;                                                                                                               \
    }
#include "symbols.inc"

/* The ABI that MPItrampoline checks: the same first number, and at least its second one (jaxlib 0.6 to 0.12: 2.9). */
EXPORT const int mpiabi_version_major = 2, mpiabi_version_minor = 10, mpiabi_version_patch = 0;
EXPORT const int mpiwrapper_version_major = REACTANT_MPI_VERSION_MAJOR, mpiwrapper_version_minor = REACTANT_MPI_VERSION_MINOR,
                 mpiwrapper_version_patch = REACTANT_MPI_VERSION_PATCH;

/* Called when this file is opened; there is no Fortran here. */
EXPORT void mpiwrapper_export_fortran_constants_(void)
{
}

EXPORT uint32_t reactant_mpi_wrapper_version(void)
{
    return REACTANT_MPI_VERSION;
}
