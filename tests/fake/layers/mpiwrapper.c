/*
 * MPIwrapper 2.11 (libmpiwrapper.so): functions and constants are called MPIABI_*, handles are those of the MPI behind it, widened
 * to words, a status is the MPI's own one with source, tag and error after it. Where the original is linked to an MPI, this opens
 * the one named by FAKE_WRAPPED_MPI; without it there are constants of 0 and functions that abort.
 * Not modelled: see layer.h; Fortran.
 */
#define APP_MPIABI
#define NAME(name) MPIABI_##name
#include "layer.h"

const int mpiwrapper_version_major = 2, mpiwrapper_version_minor = 11, mpiwrapper_version_patch = 1;
const int mpiabi_version_major = 2, mpiabi_version_minor = 10, mpiabi_version_patch = 0;

#define HANDLE(kind, name, ...) word MPIABI_##name;
#define NUMBER(name, ...) int MPIABI_##name;
#include "constants.h"
#undef HANDLE
#undef NUMBER
word MPIABI_IN_PLACE, MPIABI_STATUS_IGNORE, MPIABI_STATUSES_IGNORE, MPIABI_BOTTOM;

__attribute__((constructor)) static void load(void)
{
    const char *mpi = getenv("FAKE_WRAPPED_MPI");
    if (!mpi)
        return;
    run_open(mpi);
#define HANDLE(kind, name, ...) MPIABI_##name = to_app(KIND_##kind, run.constant[H_##name], 0);
#define NUMBER(name, ...) MPIABI_##name = run_number(N_##name);
#include "constants.h"
#undef HANDLE
#undef NUMBER
    MPIABI_IN_PLACE = RUN_IN_PLACE;
    MPIABI_STATUS_IGNORE = MPIABI_STATUSES_IGNORE = RUN_STATUS_IGNORE;
}

int MPIABI_Get_library_version(char *text, int *n)
{
    char wrapped[8192] = "nothing";
    int length = 0;
    if (run.lib)
        run_call(RUN("Get_library_version"), (word[13]){(word)wrapped, (word)&length});
    return *n = snprintf(text, 8192, "MPIwrapper 2.11.1, using MPIABI 2.10.0, wrapping:\n%s", wrapped), 0;
}

MPI_Comm MPIABI_Comm_f2c(int f)
{
    word (*f2c)(int) = (word(*)(int))RUN("Comm_f2c");
    return to_app(KIND_Comm, run_handle(f2c(f)), 0);
}

int MPIABI_Comm_c2f(MPI_Comm comm)
{
    return run_call(RUN("Comm_c2f"), (word[13]){comm});
}
