/* Compiled as C and as C++, alone and beside a real mpi.h: the header must stand wherever it is put. */
#ifdef MPI_H_BEFORE
#include <mpi.h>
#endif
#include "reactant_mpi.h"
#include "reactant_mpi.h"
#ifdef MPI_H_AFTER
#include <mpi.h>
#endif

static void on_log(void *arg, int level, const char *text)
{
    (void)arg;
    (void)level;
    (void)text;
}

int main(void)
{
    reactant_mpi_options options = REACTANT_MPI_OPTIONS_INIT;
    reactant_mpi_status status = {0, 0, 0};
    void *in_place = REACTANT_MPI_IN_PLACE;
    uintptr_t world = REACTANT_MPI_COMM_WORLD;
    options.gpu = REACTANT_MPI_GPU_OFF;
    options.log_fn = on_log;
    (void)status;
    (void)in_place;
    (void)world;
    return !(options.size == sizeof options && reactant_mpi_version() == REACTANT_MPI_VERSION);
}
