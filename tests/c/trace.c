/*
 * Makes known calls for the test of option trace, which reads the files:
 *
 *   trace calls          every kind of call, then finalize
 *   trace late RANK      10 barriers, to each of which one rank comes 50 ms after the others
 *   trace killed         calls, a pause, one more call, and the last rank ends by SIGKILL; the others by _exit without finalize
 *   trace left           calls, then exit without finalize
 *   trace threads        two threads, each with a communicator of its own
 *   trace forked         a child that ends normally adds nothing
 */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

static reactant_mpi_comm *comm;
static int rank, size;

enum { F64 = REACTANT_MPI_FLOAT64, SUM = REACTANT_MPI_SUM };

static double send[64], recv[64];

static void calls(void)
{
    reactant_mpi_status status;
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;
    reactant_mpi_request *request;
    reactant_mpi_comm *half;
    OK(reactant_mpi_allreduce(send, recv, 5, F64, SUM, comm));
    OK(reactant_mpi_bcast(recv, 7, REACTANT_MPI_INT8, size - 1, comm));
    OK(reactant_mpi_sendrecv(send, 3, next, 11, recv, 4, REACTANT_MPI_ANY_SOURCE, REACTANT_MPI_ANY_TAG, F64, comm, &status));
    CHECK(status.source == before, "%d", status.source);
    OK(reactant_mpi_prepare_allgather(send, recv, 2, REACTANT_MPI_FLOAT32, comm, &request));
    OK(reactant_mpi_run(request));
    OK(reactant_mpi_run(request));
    OK(reactant_mpi_request_free(request));
    OK(reactant_mpi_send(send, 1, F64, REACTANT_MPI_PROC_NULL, 3, comm));
    OK(reactant_mpi_iallreduce(send, recv, 2, F64, SUM, comm, &request));
    OK(reactant_mpi_wait(request, NULL));
    OK(reactant_mpi_permute(send, recv, 2, F64, before, 1, &next, comm));
    OK(reactant_mpi_comm_split(comm, rank % 2, 0, &half));
    OK(reactant_mpi_barrier(half));
}

/* The late rank has heard from every other one, and sleeps. */
static void late_barrier(int late)
{
    int word = 0;
    if (rank != late)
        OK(reactant_mpi_send(&word, 1, REACTANT_MPI_INT32, late, 0, comm));
    for (int r = 0; r < size && rank == late; r++)
        if (r != late)
            OK(reactant_mpi_recv(&word, 1, REACTANT_MPI_INT32, r, 0, comm, NULL));
    if (rank == late)
        usleep(50000);
    OK(reactant_mpi_barrier(comm));
}

static void *barriers(void *on)
{
    for (int i = 0; i < 1000; i++)
        OK(reactant_mpi_barrier(on));
    return NULL;
}

static int threads(void)
{
    reactant_mpi_comm *other;
    pthread_t thread;
    OK(reactant_mpi_comm_split(comm, 0, rank, &other));
    NEED(pthread_create(&thread, NULL, barriers, other) == 0, "a thread");
    barriers(comm);
    pthread_join(thread, NULL);
    OK(reactant_mpi_finalize(NULL));
    return check_done(rank);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int late = argc > 2 ? atoi(argv[2]) : -1;
    comm = reactant_mpi_initialize(0);
    NEED(comm, "%s", reactant_mpi_last_error());
    check_rank = rank = reactant_mpi_rank(comm);
    size = reactant_mpi_size(comm);
    if (strcmp(what, "threads") == 0)
        return threads();
    for (int i = 0; strcmp(what, "late") == 0 && i < 10; i++)
        late_barrier(late);
    if (strcmp(what, "late") != 0)
        calls();
    if (strcmp(what, "killed") == 0) {
        usleep(150000);
        OK(reactant_mpi_barrier(comm));
        if (rank == size - 1)
            kill(getpid(), SIGKILL);
        pause();
    }
    if (strcmp(what, "forked") == 0) {
        pid_t child = fork();
        if (child == 0)
            exit(0);
        NEED(waitpid(child, NULL, 0) == child, "a child");
    }
    if (strcmp(what, "left") == 0) {
        OK(reactant_mpi_barrier(comm));
        check_done(rank);
        exit(0);
    }
    OK(reactant_mpi_finalize(NULL));
    return check_done(rank);
}
