/*
 * Pairs of calls measured in turn (A B A B ...) at the ranks there are; rank 0 prints
 *
 *     pair  median of A  median of B  median of B / A, turn by turn           (nanoseconds per call)
 *
 * The bare MPI calls take their handles as 64-bit words whatever the ABI: on x86-64 and AArch64 an int is read from the low half.
 */
#include "../c/check.h"
#include "../c/ffi.h"
#include "../c/hostmpi.h"

#include <time.h>

enum { TURNS = 400, LARGE = 4 << 20 };

static reactant_mpi_comm *comm, *timed, *checked;
static int rank, size;
static hword mpi_comm, type_byte, type_double, op_sum;
static char *in, *out;
static size_t counts[64], displs[64];
static int int_counts[64], int_displs[64];
static size_t elements; /* of the pair at hand */
static reactant_mpi_request *prepared;

static int (*mpi_iallreduce)(const void *, void *, int, hword, hword, hword, void *);
static int (*mpi_wait)(void *, void *);
static int (*mpi_alltoallv)(const void *, const int *, const int *, hword, void *, const int *, const int *, hword, hword);
static int (*mpi_gatherv)(const void *, int, hword, void *, const int *, const int *, hword, int, hword);
static int (*mpi_isend)(const void *, int, hword, int, int, hword, void *);
static int (*mpi_irecv)(void *, int, hword, int, int, hword, void *);
static void *status_ignore;

static void blocking(void)
{
    OK(reactant_mpi_allreduce(in, out, elements, REACTANT_MPI_FLOAT32, REACTANT_MPI_SUM, comm));
}

static void bare_started(void)
{
    hword request = 0;
    mpi_iallreduce(in, out, 1, type_double, op_sum, mpi_comm, &request);
    mpi_wait(&request, status_ignore);
}

static void started(void)
{
    reactant_mpi_request *request;
    OK(reactant_mpi_iallreduce(in, out, 1, REACTANT_MPI_FLOAT64, REACTANT_MPI_SUM, comm, &request));
    OK(reactant_mpi_wait(request, NULL));
}

static void prepared_started(void)
{
    OK(reactant_mpi_start(prepared));
    OK(reactant_mpi_wait(prepared, NULL));
}

static void bare_messages(void)
{
    hword request[2] = {0, 0};
    mpi_irecv(out, 8, type_byte, (rank + size - 1) % size, 1, mpi_comm, &request[0]);
    mpi_isend(in, 8, type_byte, (rank + 1) % size, 1, mpi_comm, &request[1]);
    mpi_wait(&request[0], status_ignore);
    mpi_wait(&request[1], status_ignore);
}

static void messages(void)
{
    reactant_mpi_request *request[2];
    OK(reactant_mpi_irecv(out, 8, REACTANT_MPI_BYTE, (rank + size - 1) % size, 1, comm, &request[0]));
    OK(reactant_mpi_isend(in, 8, REACTANT_MPI_BYTE, (rank + 1) % size, 1, comm, &request[1]));
    OK(reactant_mpi_waitall(2, request, NULL));
}

static void bfloat16(void)
{
    OK(reactant_mpi_allreduce(in, out, elements, REACTANT_MPI_BFLOAT16, REACTANT_MPI_SUM, comm));
}

static void float16(void)
{
    OK(reactant_mpi_allreduce(in, out, elements, REACTANT_MPI_FLOAT16, REACTANT_MPI_SUM, comm));
}

static void with_timeout(void)
{
    OK(reactant_mpi_allreduce(in, out, elements, REACTANT_MPI_FLOAT32, REACTANT_MPI_SUM, timed));
}

static void with_check(void)
{
    OK(reactant_mpi_allreduce(in, out, elements, REACTANT_MPI_FLOAT32, REACTANT_MPI_SUM, checked));
}

static void lists(size_t block)
{
    for (int r = 0; r < size; r++) {
        counts[r] = block, displs[r] = (size_t)r * block;
        int_counts[r] = (int)block, int_displs[r] = r * (int)block;
    }
}

static void bare_alltoallv(void)
{
    mpi_alltoallv(in, int_counts, int_displs, type_byte, out, int_counts, int_displs, type_byte, mpi_comm);
}

static void alltoallv(void)
{
    OK(reactant_mpi_alltoallv(in, counts, displs, out, counts, displs, REACTANT_MPI_BYTE, comm));
}

static void bare_gatherv(void)
{
    mpi_gatherv(in, int_counts[0], type_byte, out, int_counts, int_displs, type_byte, 0, mpi_comm);
}

static void gatherv(void)
{
    OK(reactant_mpi_gatherv(in, counts[0], out, counts, displs, REACTANT_MPI_BYTE, 0, comm));
}

/* Of two floats, as XLA calls it. */
static void by_handler(bool wait)
{
    static struct XLA_FFI_CallFrame frames[2];
    static float token;
    struct XLA_FFI_CallFrame *f = &frames[wait];
    if (!f->api) {
        api_of(API_0_5);
        frame_start(f);
        frame_buffer(f, 0, F32, in, 2);
        frame_buffer(f, 0, F32, &token, 1);
        frame_buffer(f, 1, F32, out, 2);
        frame_buffer(f, 1, F32, &token, 1);
        frame_common(f, reactant_mpi_comm_id(comm), size, wait);
        frame_scalar(f, "op", S32, REACTANT_MPI_SUM);
    }
    NO_ERROR(frame_end(f, reactant_mpi_ffi_allreduce(f)));
}

static void handler_blocking(void)
{
    by_handler(true);
}

static void handler_with_future(void)
{
    by_handler(false);
}

static double window(void (*call)(void), int calls)
{
    struct timespec begin, end;
    call();
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < calls; i++)
        call();
    clock_gettime(CLOCK_MONOTONIC, &end);
    return ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / calls;
}

static int smaller(const void *a, const void *b)
{
    double d = *(const double *)a - *(const double *)b;
    return (d > 0) - (d < 0);
}

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, smaller);
    return v[n / 2];
}

static void pair(const char *name, void (*a)(void), void (*b)(void), int calls, int turns)
{
    static double first[TURNS], second[TURNS], ratio[TURNS];
    for (int t = -3; t < turns; t++) {
        const int swapped = t & 1;
        double one = window(swapped ? b : a, calls), other = window(swapped ? a : b, calls);
        if (t < 0)
            continue;
        first[t] = swapped ? other : one;
        second[t] = swapped ? one : other;
        ratio[t] = second[t] / first[t];
    }
    double a_ns = median(first, turns), b_ns = median(second, turns), r = median(ratio, turns);
    if (rank == 0)
        printf("%s %.1f %.1f %.4f\n", name, a_ns, b_ns, r);
}

static reactant_mpi_comm *with(int timeout_ms, int check)
{
    reactant_mpi_options o = REACTANT_MPI_OPTIONS_INIT;
    reactant_mpi_comm *twin, *made; /* a communicator of MPI has the options that it was first given with */
    o.call_timeout_ms = timeout_ms;
    o.check = check;
    OK(reactant_mpi_comm_dup(comm, &twin));
    OK(reactant_mpi_initialize_with((uintptr_t)reactant_mpi_mpi_comm(twin), &o, &made));
    return made;
}

int main(void)
{
    comm = reactant_mpi_initialize(0);
    NEED(comm, "%s", reactant_mpi_last_error());
    rank = check_rank = reactant_mpi_rank(comm), size = reactant_mpi_size(comm);
    NEED(size <= 64, "64 ranks at most");
    timed = with(60000, 0);
    checked = with(0, 1);
    host_open(0);
    mpi_comm = (hword)reactant_mpi_mpi_comm(comm);
    type_byte = host.family == HOST_MPICH ? 0x4c00010d : host.family == HOST_ABI ? 0x247 : (hword)(uintptr_t)host_sym("ompi_mpi_byte");
    type_double = host.family == HOST_MPICH ? 0x4c00080b : host.family == HOST_ABI ? 0x214 : (hword)(uintptr_t)host_sym("ompi_mpi_double");
    op_sum = host.family == HOST_MPICH ? 0x58000003 : host.family == HOST_ABI ? 0x21 : (hword)(uintptr_t)host_sym("ompi_mpi_op_sum");
    status_ignore = host.family == HOST_MPICH ? (void *)1 : NULL;
    *(void **)&mpi_iallreduce = host_sym("MPI_Iallreduce");
    *(void **)&mpi_wait = host_sym("MPI_Wait");
    *(void **)&mpi_alltoallv = host_sym("MPI_Alltoallv");
    *(void **)&mpi_gatherv = host_sym("MPI_Gatherv");
    *(void **)&mpi_isend = host_sym("MPI_Isend");
    *(void **)&mpi_irecv = host_sym("MPI_Irecv");
    in = calloc(LARGE + 1, sizeof(float));
    out = calloc(LARGE + 1, sizeof(float));
    NEED(in && out, "memory");
    OK(reactant_mpi_prepare_allreduce(in, out, 1, REACTANT_MPI_FLOAT64, REACTANT_MPI_SUM, comm, &prepared));

    pair("started.8B", bare_started, started, 200, TURNS);
    pair("prepared_started.8B", bare_started, prepared_started, 200, TURNS);
    pair("messages.8B", bare_messages, messages, 200, TURNS);
    lists(8);
    pair("alltoallv.8B", bare_alltoallv, alltoallv, 200, TURNS);
    pair("gatherv.8B", bare_gatherv, gatherv, 200, TURNS);
    lists(1 << 20);
    pair("alltoallv.1MB", bare_alltoallv, alltoallv, 4, 50);
    elements = 2;
    pair("timeout.8B", blocking, with_timeout, 200, TURNS);
    pair("check.8B", blocking, with_check, 200, TURNS);
    pair("ffi.8B", blocking, handler_blocking, 200, TURNS);
    pair("ffi_future.8B", started, handler_with_future, 200, TURNS);
    elements = 1 << 18;
    pair("timeout.1MB", blocking, with_timeout, 4, 50);
    pair("bfloat16.256Ki", blocking, bfloat16, 4, 50);
    pair("float16.256Ki", blocking, float16, 4, 50);
    elements = LARGE;
    pair("bfloat16.4Mi", blocking, bfloat16, 1, 15);
    OK(reactant_mpi_request_free(prepared));
    OK(reactant_mpi_finalize(NULL));
    return check_failures ? 1 : 0;
}
