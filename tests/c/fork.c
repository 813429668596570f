/*
 * A forked child must not use the library: every call returns code 20 there, none hangs, and the parent goes on undisturbed.
 */
#include "check.h"
#include "hostmpi.h"

#include <sys/wait.h>

#define I64 REACTANT_MPI_INT64

static reactant_mpi_comm *comm;
static reactant_mpi_request *req;

/* The number of wrong answers; an alarm ends a child that hangs. */
static int child(void)
{
    int64_t x = 1, y = 0;
    reactant_mpi_comm *out = NULL;
    reactant_mpi_request *other = NULL;
    reactant_mpi_options options = REACTANT_MPI_OPTIONS_INIT;
    char text[8192];
    alarm(20);
    unsigned before = check_failures;
    FAILS(REACTANT_MPI_ERR_FORKED, "allreduce", reactant_mpi_allreduce(&x, &y, 1, I64, REACTANT_MPI_SUM, comm));
    FAILS(REACTANT_MPI_ERR_FORKED, "reduce", reactant_mpi_reduce(&x, &y, 1, I64, REACTANT_MPI_SUM, 0, comm));
    FAILS(REACTANT_MPI_ERR_FORKED, "reduce_scatter", reactant_mpi_reduce_scatter(&x, &y, 1, I64, REACTANT_MPI_SUM, comm));
    FAILS(REACTANT_MPI_ERR_FORKED, "bcast", reactant_mpi_bcast(&x, 1, I64, 0, comm));
    FAILS(REACTANT_MPI_ERR_FORKED, "allgather", reactant_mpi_allgather(&x, &y, 1, I64, comm));
    FAILS(REACTANT_MPI_ERR_FORKED, "alltoall", reactant_mpi_alltoall(&x, &y, 1, I64, comm));
    FAILS(REACTANT_MPI_ERR_FORKED, "gather", reactant_mpi_gather(&x, &y, 1, I64, 0, comm));
    FAILS(REACTANT_MPI_ERR_FORKED, "scatter", reactant_mpi_scatter(&x, &y, 1, I64, 0, comm));
    FAILS(REACTANT_MPI_ERR_FORKED, "barrier", reactant_mpi_barrier(comm));
    FAILS(REACTANT_MPI_ERR_FORKED, "send", reactant_mpi_send(&x, 1, I64, 0, 0, comm));
    FAILS(REACTANT_MPI_ERR_FORKED, "recv", reactant_mpi_recv(&x, 1, I64, 0, 0, comm, NULL));
    FAILS(REACTANT_MPI_ERR_FORKED, "sendrecv", reactant_mpi_sendrecv(&x, 1, 0, 0, &y, 1, 0, 0, I64, comm, NULL));
    FAILS(REACTANT_MPI_ERR_FORKED, "run", reactant_mpi_run(req));
    FAILS(REACTANT_MPI_ERR_FORKED, "bcast", reactant_mpi_prepare_bcast(&x, 1, I64, 0, comm, &other));
    FAILS(REACTANT_MPI_ERR_FORKED, "allreduce", reactant_mpi_allreduce(NULL, NULL, 0, I64, REACTANT_MPI_SUM, comm));
    FAILS_NULL(REACTANT_MPI_ERR_FORKED, "initialize", reactant_mpi_initialize(0));
    FAILS(REACTANT_MPI_ERR_FORKED, "initialize", reactant_mpi_initialize_with(0, &options, &out));
    FAILS(REACTANT_MPI_ERR_FORKED, "initialize", reactant_mpi_initialize_fint(0, NULL, &out));
    FAILS(REACTANT_MPI_ERR_FORKED, "finalize", reactant_mpi_finalize(comm));
    FAILS(REACTANT_MPI_ERR_FORKED, "finalize", reactant_mpi_finalize(NULL));
    FAILS(REACTANT_MPI_ERR_FORKED, "abort", reactant_mpi_abort(comm, 1));
    FAILS(REACTANT_MPI_ERR_FORKED, "request_free", reactant_mpi_request_free(req));
    FAILS(REACTANT_MPI_ERR_FORKED, "rank", -reactant_mpi_rank(comm));
    FAILS(REACTANT_MPI_ERR_FORKED, "size", -reactant_mpi_size(comm));
    FAILS(REACTANT_MPI_ERR_FORKED, "comm_id", -(int)reactant_mpi_comm_id(comm));
    FAILS(REACTANT_MPI_ERR_FORKED, "describe", reactant_mpi_describe(comm, text, sizeof text) ? 0 : reactant_mpi_last_error_code());
    CHECK(reactant_mpi_mpi_comm(comm) == 0 && reactant_mpi_comm_error(comm) < 0, "");
    CHECK(reactant_mpi_version() == REACTANT_MPI_VERSION && reactant_mpi_error_name(20)[0], "what needs nothing still answers");
    return (int)(check_failures - before);
}

static void fork_once(void)
{
    fflush(NULL);
    pid_t pid = fork();
    NEED(pid >= 0, "fork");
    if (pid == 0)
        _exit(child() == 0 ? 0 : 1);
    int status = -1;
    NEED(waitpid(pid, &status, 0) == pid, "waitpid");
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with 0x%x%s", (unsigned)status,
          WIFSIGNALED(status) ? " (it hung, or crashed)" : "");
    ALIVE(comm);
    OK(reactant_mpi_run(req));
}

int main(void)
{
    int64_t x = 1, y = 0;
    host_open(0);
    comm = reactant_mpi_initialize(0);
    NEED(comm, "%s", reactant_mpi_last_error());
    int rank = check_rank = reactant_mpi_rank(comm);
    OK(reactant_mpi_prepare_allreduce(&x, &y, 1, I64, REACTANT_MPI_SUM, comm, &req));
    fork_once();
    fork_once();
    hword h = host_dup(host.world); /* control calls of the parent go on, too */
    reactant_mpi_comm *c = reactant_mpi_initialize((uintptr_t)h);
    NEED(c, "%s", reactant_mpi_last_error());
    ALIVE(c);
    OK(reactant_mpi_finalize(c));
    host_free(&h);
    CHECK(reactant_mpi_comm_error(comm) == 0, "the child's errors are not the parent's: %d", reactant_mpi_comm_error(comm));
    OK(reactant_mpi_request_free(req));
    OK(reactant_mpi_finalize(NULL));
    return check_done(rank);
}
