/*
 * What an 8-byte allreduce through the library costs over the bare MPI call through a resolved pointer, on the same communicator:
 * eight ways of calling (bare, ours, prepared, by MPI's name as compiled code does; each on the thread's own stack and on a ucontext
 * stack), in short windows, one after the other in turn, so that whatever else the machine does meets all alike. Rank 0 prints, in nanoseconds per call:
 *
 *     way  minimum  10th percentile  median  ratio
 *
 * ratio: to the bare call on the same stack in the same turn, the median of all turns. Every second turn goes backwards.
 *
 * Arguments: calls in a window, windows of each way.
 */
#include "../c/check.h"
#include "../c/hostmpi.h"

#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

enum way { BARE, OURS, PREPARED, BY_NAME, WAYS };
static const char *const way_names[] = {"bare",           "ours",           "prepared",           "by_name",
                                        "bare.coroutine", "ours.coroutine", "prepared.coroutine", "by_name.coroutine"};

static struct {
    reactant_mpi_comm *comm;
    reactant_mpi_request *request;
    double in, out;
    int calls;
    enum way way;
    double ns; /* of the last window */
} run;

/* The MPI function with the host's types; the words that are handles are ints in one family and pointers in the others. */
static int (*with_ints)(const void *, void *, int, int, int, int);
static int (*with_pointers)(const void *, void *, int, void *, void *, void *);
static hword type_double, op_sum, dup_comm;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

#define WINDOW(call)                                                                                                               \
    do {                                                                                                                           \
        for (int i = 0; i < 2; i++) /* the ranks meet, the code is warm */                                                         \
            call;                                                                                                                  \
        double begin = now();                                                                                                      \
        for (int i = 0; i < run.calls; i++)                                                                                        \
            call;                                                                                                                  \
        run.ns = (now() - begin) / run.calls;                                                                                      \
    } while (0)

static void window(void)
{
    if (run.way == BARE && host.family == HOST_MPICH) {
        int t = (int)type_double, o = (int)op_sum, c = (int)dup_comm;
        WINDOW(with_ints(&run.in, &run.out, 1, t, o, c));
    } else if (run.way == BARE) {
        void *t = (void *)type_double, *o = (void *)op_sum, *c = (void *)dup_comm;
        WINDOW(with_pointers(&run.in, &run.out, 1, t, o, c));
    } else if (run.way == OURS) {
        reactant_mpi_comm *c = run.comm;
        WINDOW(reactant_mpi_allreduce(&run.in, &run.out, 1, REACTANT_MPI_FLOAT64, REACTANT_MPI_SUM, c));
    } else if (run.way == BY_NAME) {
        WINDOW(reactant_mpi_MPI_Allreduce(&run.in, &run.out, 1, 0x214, 0x21, 0x101));
    } else {
        reactant_mpi_request *r = run.request;
        WINDOW(reactant_mpi_run(r));
    }
}

static ucontext_t home, away;

static void coroutine(void)
{
    for (;;) {
        window();
        swapcontext(&away, &home);
    }
}

static int smaller(const void *a, const void *b)
{
    double d = *(const double *)a - *(const double *)b;
    return (d > 0) - (d < 0);
}

int main(int argc, char **argv)
{
    run.calls = argc > 1 ? atoi(argv[1]) : 200;
    int windows = argc > 2 ? atoi(argv[2]) : 1000;
    NEED(run.calls > 0 && windows > 0, "two positive numbers");

    run.comm = reactant_mpi_initialize(0);
    NEED(run.comm, "%s", reactant_mpi_last_error());
    int rank = check_rank = reactant_mpi_rank(run.comm), size = reactant_mpi_size(run.comm);
    host_open(0);
    dup_comm = (hword)reactant_mpi_mpi_comm(run.comm);
    type_double = host.family == HOST_MPICH ? 0x4c00080b
                  : host.family == HOST_ABI ? 0x214
                                            : (hword)(uintptr_t)host_sym("ompi_mpi_double");
    op_sum = host.family == HOST_MPICH ? 0x58000003
             : host.family == HOST_ABI ? 0x21
                                       : (hword)(uintptr_t)host_sym("ompi_mpi_op_sum");
    *(void **)&with_ints = *(void **)&with_pointers = host_sym("MPI_Allreduce");
    OK(reactant_mpi_prepare_allreduce(&run.in, &run.out, 1, REACTANT_MPI_FLOAT64, REACTANT_MPI_SUM, run.comm, &run.request));

    size_t stack_bytes = 256 << 10;
    void *stack = mmap(NULL, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEED(stack != MAP_FAILED && getcontext(&away) == 0, "a stack");
    away.uc_stack.ss_sp = stack;
    away.uc_stack.ss_size = stack_bytes;
    away.uc_link = &home;
    makecontext(&away, coroutine, 0);

    double *ns[2 * WAYS];
    for (int w = 0; w < 2 * WAYS; w++)
        NEED(ns[w] = malloc((size_t)windows * sizeof(double)), "memory");
    run.in = rank + 1;
    for (int k = -5; k < windows; k++) /* the first rounds do not count */
        for (int i = 0; i < 2 * WAYS; i++) {
            int w = k % 2 ? 2 * WAYS - 1 - i : i;
            run.way = (enum way)(w % WAYS);
            run.out = -1;
            if (w < WAYS)
                window();
            else
                swapcontext(&home, &away);
            CHECK(run.out == size * (size + 1) / 2.0, "%s gave %g", way_names[w], run.out);
            if (k >= 0)
                ns[w][k] = run.ns;
        }
    double *ratio = malloc((size_t)windows * sizeof(double));
    NEED(ratio, "memory");
    double medians[2 * WAYS];
    for (int w = 0; w < 2 * WAYS; w++) {
        for (int k = 0; k < windows; k++)
            ratio[k] = ns[w][k] / ns[w < WAYS ? BARE : WAYS + BARE][k];
        qsort(ratio, (size_t)windows, sizeof(double), smaller);
        medians[w] = ratio[windows / 2];
    }
    for (int w = 0; w < 2 * WAYS; w++) {
        qsort(ns[w], (size_t)windows, sizeof(double), smaller);
        if (rank == 0)
            printf("%s %.2f %.2f %.2f %.4f\n", way_names[w], ns[w][0], ns[w][windows / 10], ns[w][windows / 2], medians[w]);
        free(ns[w]);
    }
    free(ratio);
    OK(reactant_mpi_request_free(run.request));
    OK(reactant_mpi_finalize(NULL));
    return check_failures ? 1 : 0;
}
