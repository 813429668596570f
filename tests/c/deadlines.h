/* What the cases of deadlines.c share: three calls that all ranks make, a failure that is expected, the end of a rank that is out of step. */
#ifndef DEADLINES_H
#define DEADLINES_H

#include "check.h"
#include "times.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>

enum { LIMIT_MS = 500, HANG_MS = 20000, MISSING = 1, EARLIER = 3 };
#define I64 REACTANT_MPI_INT64

static reactant_mpi_comm *comm, *other;
static int rank, size;
static char host[256];
static int64_t pids[64];

static void contains(const char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void contains(const char *text, const char *format, ...)
{
    char want[512];
    va_list list;
    va_start(list, format);
    vsnprintf(want, sizeof want, format, list);
    va_end(list);
    CHECK(strstr(text, want), "'%s' in: %s", want, text);
}

/* The ranks but the missing one, as a text names them: "rank 0" or "ranks 0, 2, 3". */
static const char *present(void)
{
    static char text[128];
    int n = snprintf(text, sizeof text, "Arrived: rank%s 0", size > 2 ? "s" : "");
    for (int r = 2; r < size; r++)
        n += snprintf(text + n, sizeof text - (size_t)n, ", %d", r);
    return text;
}

static void begin(void)
{
    comm = reactant_mpi_initialize(REACTANT_MPI_COMM_WORLD);
    NEED(comm, "%s", reactant_mpi_last_error());
    check_rank = rank = reactant_mpi_rank(comm);
    size = reactant_mpi_size(comm);
    NEED(size >= 2 && size <= 64, "2 to 64 ranks, not %d", size);
    NEED(host[0] || gethostname(host, sizeof host) == 0, "");
    int64_t pid = getpid();
    OK(reactant_mpi_allgather(&pid, pids, 1, I64, comm));
    OK(reactant_mpi_comm_split(comm, 0, rank, &other));
}

/* Three collectives, all of them in time. */
static void warm_up(void)
{
    int64_t x = rank == 0 ? 77 : 0;
    OK(reactant_mpi_barrier(comm));
    OK(reactant_mpi_barrier(comm));
    OK(reactant_mpi_bcast(&x, 1, I64, 0, comm));
    CHECK(x == 77, "%lld", (long long)x);
}

/* Ranks that are not root cannot be made to look remote; the caller sees what was not tested. */
static void no_right_to(const char *what)
{
    printf("no right to %s\n", what);
    fflush(stdout);
    _exit(0);
}

/* /dev/shm of this process alone: what others make there cannot be opened. */
static void be_elsewhere(void)
{
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", "/dev/shm", "tmpfs", 0, NULL) != 0)
        no_right_to("mount");
}

/* A host name of its own, before MPI is asked for it: as if each rank had a node. */
static void be_a_host(void)
{
    const char *hydra = getenv("PMI_RANK"), *prte = getenv("OMPI_COMM_WORLD_RANK");
    NEED(hydra || prte, "no rank in the environment");
    int n = snprintf(host, sizeof host, "node%s", hydra ? hydra : prte);
    if (unshare(CLONE_NEWUTS) != 0 || sethostname(host, (size_t)n) != 0)
        no_right_to("be a host");
}

static int64_t bcast_word;

/* A call that must fail with `want`, within the time. */
static const char *must_fail(int want, const char *name, int rc, double began)
{
    const double took = now_ms() - began;
    CHECK(rc == want, "code %d wanted, got %d: %s", want, rc, reactant_mpi_last_error());
    CHECK(took < HANG_MS, "%.0f ms", took);
    CHECK(reactant_mpi_comm_error(comm) == want, "latched %d", reactant_mpi_comm_error(comm));
    contains(reactant_mpi_last_error(), "%s", name);
    printf("rank %d: code %d after %.0f ms: %s\n", rank, rc, took, reactant_mpi_last_error());
    fflush(stdout);
    return reactant_mpi_last_error();
}

/* After a failure: the communicator is shut, and others are not. */
static void after_failure(int code)
{
    reactant_mpi_comm *made = comm;
    FAILS(code, "takes no more calls", reactant_mpi_barrier(comm));
    FAILS(code, "takes no more calls", reactant_mpi_comm_split(comm, 0, 0, &made));
    CHECK(made == NULL, "");
    FAILS(code, "takes no more calls", reactant_mpi_comm_set_timeout(comm, 100));
}

static int end(void)
{
    const double began = now_ms();
    int rc = 0, r = rank;
    if (reactant_mpi_comm_error(comm) == 0) /* this rank is in step, and would wait for those that are not */
        _exit(check_done(r));
    rc = reactant_mpi_finalize(NULL);
    CHECK(rc == 0, "finalize(NULL) gave %d: %s", rc, reactant_mpi_last_error());
    CHECK(now_ms() - began < HANG_MS, "%.0f ms in finalize", now_ms() - began);
    return check_done(r);
}

#endif
