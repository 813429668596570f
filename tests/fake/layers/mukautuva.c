/*
 * Mukautuva (libmuk.so) of the 2023 prototype ABI: handles are words, the predefined ones small numbers, the others those of the
 * MPI behind it. As in the original that MPI, named by MPI_LIB, is opened in MPI_Init, with an abort if it cannot be used; but for
 * Initialized, Finalized, Get_library_version and Init(_thread) all functions are null pointers before. No PMPI_*; functions of
 * MPI 4 are exported and null where the MPI behind has none.
 * Not modelled: see layer.h; the converters mpich-wrap.so and ompi-wrap.so, which need only be there.
 */
#define APP_MUKAUTUVA
#define NAME(name) MPI_##name
#define MPI_Init init_behind
#define MPI_Init_thread init_thread_behind
#define MPI_Initialized initialized_behind
#define MPI_Finalized finalized_behind
#include "layer.h"
#undef MPI_Init
#undef MPI_Init_thread
#undef MPI_Initialized
#undef MPI_Finalized

int whose_mpi;

int WRAP_CODE_IMPL_TO_MUK(int code)
{
    return code;
}

static void start(void)
{
    const char *mpi = getenv("MPI_LIB");
    char beside[4096];
    Dl_info info;
    run_open(mpi ? mpi : "libmpi.so");
    dladdr(&whose_mpi, &info);
    snprintf(beside, sizeof beside, "%.*s/%s-wrap.so", (int)(strrchr(info.dli_fname, '/') - info.dli_fname), info.dli_fname,
             run.ints ? "mpich" : "ompi");
    if (access(beside, R_OK) != 0) {
        printf("dlopen of %s failed\n", beside);
        abort();
    }
    whose_mpi = run.ints ? 2 : 1;
}

int MPI_Init(int *argc, char ***argv)
{
    start();
    return init_behind(argc, argv);
}

int MPI_Init_thread(int *argc, char ***argv, int want, int *got)
{
    start();
    return init_thread_behind(argc, argv, want, got);
}

int MPI_Initialized(int *flag)
{
    return run.lib ? initialized_behind(flag) : (*flag = 0);
}

int MPI_Finalized(int *flag)
{
    return run.lib ? finalized_behind(flag) : (*flag = 0);
}

int MPI_Get_library_version(char *text, int *n)
{
    if (run.lib)
        return run_call(RUN("Get_library_version"), (word[13]){(word)text, (word)n});
    return *n = snprintf(text, 8192, "MUKAUTUVA: the underlying MPI library is not initialized.\n"), 0;
}

int MPI_Get_count_c(const void *status, MPI_Datatype type, int64_t *count)
{
    struct run_status s;
    status_again(status, &s);
    return run_call(RUN("Get_count_c"), (word[13]){(word)&s, to_run(KIND_Datatype, type), (word)count});
}
