/*
 * A panic inside the library's Go code. Run with LD_PRELOAD=build/test/libreactant_mpi_panic.so, the same library with a panic that
 * REACTANT_MPI_TEST_PANIC sets off in initialize: that call and every later control call give code 21, the process lives, and what
 * was made before goes on carrying data.
 */
#include "check.h"
#include "hostmpi.h"

#define I64 REACTANT_MPI_INT64

int main(void)
{
    Dl_info info;
    NEED(dladdr((void *)&reactant_mpi_initialize, &info) && strstr(info.dli_fname, "panic"), "run me with the test library, not %s",
         info.dli_fname);
    host_open(0);
    reactant_mpi_comm *comm = reactant_mpi_initialize(0);
    NEED(comm, "%s", reactant_mpi_last_error());
    int rank = check_rank = reactant_mpi_rank(comm), size = reactant_mpi_size(comm);
    hword h = host_dup(host.world);
    int64_t x = 2, y = 0;
    reactant_mpi_request *req = NULL;
    OK(reactant_mpi_prepare_allreduce(&x, &y, 1, I64, REACTANT_MPI_SUM, comm, &req));
    ALIVE(comm);

    setenv("REACTANT_MPI_TEST_PANIC", "1", 1);
    FAILS_NULL(REACTANT_MPI_ERR_POISONED, "initialize", reactant_mpi_initialize((uintptr_t)h));
    unsetenv("REACTANT_MPI_TEST_PANIC");
    reactant_mpi_comm *out = comm;
    FAILS_NULL(REACTANT_MPI_ERR_POISONED, "initialize", reactant_mpi_initialize((uintptr_t)h));
    FAILS(REACTANT_MPI_ERR_POISONED, "initialize", reactant_mpi_initialize_with((uintptr_t)h, NULL, &out));
    CHECK(out == NULL, "*out");
    FAILS(REACTANT_MPI_ERR_POISONED, "finalize", reactant_mpi_finalize(comm));

    ALIVE(comm);
    CHECK(reactant_mpi_rank(comm) == rank && reactant_mpi_size(comm) == size, "");
    OK(reactant_mpi_run(req));
    CHECK(y == 2 * size, "%lld", (long long)y);
    OK(reactant_mpi_barrier(comm));
    OK(reactant_mpi_request_free(req));
    FAILS(REACTANT_MPI_ERR_TYPE, "allreduce", reactant_mpi_allreduce(&x, &y, 1, 5, REACTANT_MPI_SUM, comm));
    FAILS(REACTANT_MPI_ERR_POISONED, "finalize", reactant_mpi_finalize(NULL));
    host_free(&h);
    host_finalize(); /* the library can no longer do it */
    return check_done(rank);
}
