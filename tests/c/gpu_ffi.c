/*
 * The XLA FFI handlers over device buffers, called with built frames: every row, apart and in place, tokens, scratch memory, what is refused.
 * Results are those of jobs.h.
 */
#include "ffi_jobs.h"
#include "gpu.h"
#include "hostmpi.h"

#include <dlfcn.h>

static handler *const on_stream[N_ROWS] = {
    [ALLREDUCE] = reactant_mpi_ffi_allreduce_stream, [REDUCE] = reactant_mpi_ffi_reduce_stream,
    [REDUCE_SCATTER] = reactant_mpi_ffi_reduce_scatter_stream, [REDUCE_SCATTERV] = reactant_mpi_ffi_reduce_scatterv_stream,
    [BCAST] = reactant_mpi_ffi_bcast_stream, [ALLGATHER] = reactant_mpi_ffi_allgather_stream,
    [ALLTOALL] = reactant_mpi_ffi_alltoall_stream, [GATHER] = reactant_mpi_ffi_gather_stream,
    [SCATTER] = reactant_mpi_ffi_scatter_stream, [ALLGATHERV] = reactant_mpi_ffi_allgatherv_stream,
    [GATHERV] = reactant_mpi_ffi_gatherv_stream, [SCATTERV] = reactant_mpi_ffi_scatterv_stream,
    [ALLTOALLV] = reactant_mpi_ffi_alltoallv_stream, [PERMUTE] = reactant_mpi_ffi_permute_stream,
    [BARRIER] = reactant_mpi_ffi_barrier_stream,
};

static float *tokens; /* two, on the device */

static void run_job(const struct job *j, bool alias)
{
    const size_t bytes = j->t->size;
    const int aparts = scratches;
    struct layout in, out;
    struct counts counts;
    struct XLA_FFI_CallFrame f;
    struct XLA_FFI_Error *e;
    float token[2] = {42, -1};
    char *input, *output, *host;
    size_t room;
    describe_for_xla(j, &in, &out, &counts);
    alias &= in.room == out.room;
    room = (in.room > out.room ? in.room : out.room) * bytes;
    host = malloc(room + 1);
    memset(host, 0xa5, room + 1);
    for (int k = 0; k < in.n; k++)
        for (size_t i = 0; i < in.piece[k].n; i++)
            put(j->t, host, in.piece[k].at + i, sent(j->t, reduces(j->row) ? j->op : 0, 1, rank, in.piece[k].first + i));
    input = gpu_alloc(room + 1);
    output = alias ? input : gpu_alloc(room + 1);
    gpu_put(input, host, in.room * bytes);
    gpu_put(tokens, token, sizeof token);
    frame_of_job(&f, j, &counts, true, input, in.room, output, out.room, tokens, tokens + 1);
    e = on_stream[j->row](&f);
    CHECK(!e && !f.future, "%s of %zu %s: %s", row_names[j->row], j->count, j->t->name, e ? e->text : "a future");
    error_free(e);
    gpu_sync(ffi_stream);
    gpu_get(token, tokens, sizeof token);
    CHECK(token[1] == 42, "the token is %g", (double)token[1]);
    CHECK(scratches == aparts, "scratch memory is given back");
    gpu_get(host, output, out.room * bytes);
    for (int k = 0; k < out.n; k++)
        for (size_t i = 0; i < out.piece[k].n; i++)
            if (!same(j->t, host, out.piece[k].at + i, expected(j, 1, &out.piece[k], i))) {
                check_fail(__FILE__, __LINE__, "the right result", " %s of %zu %s, op 0x%x, root %d, variant %d, %s, element %zu of block %d",
                           row_names[j->row], j->count, j->t->name, j->op, j->root, j->variant, alias ? "in place" : "apart", i, k);
                k = out.n - 1;
                break;
            }
    if (!alias)
        gpu_free(output);
    gpu_free(input);
    free(host);
}

static void test_data(void)
{
    static const int chosen[] = {REACTANT_MPI_INT32, REACTANT_MPI_FLOAT64, REACTANT_MPI_COMPLEX64, REACTANT_MPI_BFLOAT16, REACTANT_MPI_BOOL};
    static const size_t lengths[] = {0, 1, 300};
    for (size_t t = 0; t < N_TYPES; t++)
        for (size_t c = 0; c < sizeof chosen / sizeof *chosen; c++)
            for (enum row row = 0; types[t].value == chosen[c] && row < BARRIER; row++)
                for (size_t n = 0; n < sizeof lengths / sizeof *lengths; n++) {
                    struct job j = {.row = row, .t = &types[t], .count = lengths[n], .op = REACTANT_MPI_SUM};
                    const int variants = row == PERMUTE ? N_PERMUTATIONS : 3;
                    if (types[t].kind == BOOLEAN)
                        j.op = REACTANT_MPI_LOR;
                    if (!on_stream[row])
                        continue;
                    for (j.root = 0; j.root < (has_root(row) ? size : 1); j.root++)
                        for (j.variant = 0; j.variant < variants; j.variant++)
                            for (int alias = 0; alias < 2; alias++)
                                run_job(&j, alias);
                }
}

/* A sum of one element; the caller changes it. */
static void good(struct XLA_FFI_CallFrame *f, int dtype, int op, void *in, void *out, int64_t id)
{
    frame_start(f);
    frame_buffer(f, 0, dtype, in, 1);
    frame_buffer(f, 0, F32, tokens, 1);
    frame_buffer(f, 1, dtype, out, 1);
    frame_buffer(f, 1, F32, tokens + 1, 1);
    frame_common(f, id, size, true);
    if (op)
        frame_scalar(f, "op", S32, op);
}

static void test_messages(char *memory)
{
    struct XLA_FFI_CallFrame f;
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;
    int32_t word[2] = {10 + rank, -1};
    gpu_put(memory, word, sizeof word);
    good(&f, S32, 0, memory, memory + 4, reactant_mpi_comm_id(comm));
    frame_scalar(&f, "dest", S32, right), frame_scalar(&f, "source", S32, left);
    frame_scalar(&f, "sendtag", S32, 0), frame_scalar(&f, "recvtag", S32, 0);
    NO_ERROR(reactant_mpi_ffi_sendrecv_stream(&f));
    gpu_sync(ffi_stream);
    gpu_get(word, memory, sizeof word);
    CHECK(word[0] == 10 + rank && word[1] == 10 + left, "%d %d", word[0], word[1]);
    good(&f, S32, 0, memory, memory + 4, reactant_mpi_comm_id(comm));
    frame_scalar(&f, "source", S32, REACTANT_MPI_PROC_NULL), frame_scalar(&f, "tag", S32, 0);
    f.args.buffers = &f.buffer_list[0][1]; /* the token alone */
    f.args.n = 1;
    NO_ERROR(reactant_mpi_ffi_recv_stream(&f));
    gpu_sync(ffi_stream);
    gpu_get(word, memory, sizeof word);
    CHECK(word[1] == 0, "nobody's message is zeros, not %d", word[1]);
    for (int turn = 0; turn < 2 && size == 2; turn++) { /* one sends, the other receives */
        const bool sends = rank == turn;
        good(&f, S32, 0, memory, memory + 4, reactant_mpi_comm_id(comm));
        frame_scalar(&f, sends ? "dest" : "source", S32, 1 - rank), frame_scalar(&f, "tag", S32, 0);
        if (sends)
            f.rets.buffers = &f.buffer_list[1][1], f.rets.n = 1;
        else
            f.args.buffers = &f.buffer_list[0][1], f.args.n = 1;
        NO_ERROR(sends ? reactant_mpi_ffi_send_stream(&f) : reactant_mpi_ffi_recv_stream(&f));
    }
    gpu_sync(ffi_stream);
    gpu_get(word, memory, sizeof word);
    CHECK(size != 2 || word[1] == 11 - rank, "%d", word[1]);
}

static void test_wrong(char *memory)
{
    struct XLA_FFI_CallFrame f;
    reactant_mpi_options options = REACTANT_MPI_OPTIONS_INIT;
    reactant_mpi_comm *on_host = NULL;
    const int64_t id = reactant_mpi_comm_id(comm);
    good(&f, F8E8M0FNU, REACTANT_MPI_SUM, memory, memory + 8, id);
    GIVES_ERROR(UNIMPLEMENTED, "F8E8M0FNU is moved", reactant_mpi_ffi_allreduce_stream(&f));
    good(&f, S16, REACTANT_MPI_SUM, memory, memory + 8, id);
    GIVES_ERROR(INVALID_ARGUMENT, "16-bit integers", reactant_mpi_ffi_allreduce_stream(&f));
    good(&f, S32, REACTANT_MPI_BAND, memory, memory + 8, id);
    GIVES_ERROR(INVALID_ARGUMENT, "(ERR_OP)", reactant_mpi_ffi_allreduce_stream(&f));
    good(&f, S32, REACTANT_MPI_SUM, memory, memory + 8, id);
    f.value[0].scalar = size + 3;
    GIVES_ERROR(FAILED_PRECONDITION, "compiled for", reactant_mpi_ffi_allreduce_stream(&f));
    good(&f, S32, 0, memory, memory + 8, id);
    frame_scalar(&f, "source", S32, REACTANT_MPI_ANY_SOURCE), frame_scalar(&f, "tag", S32, 0);
    f.args.buffers = &f.buffer_list[0][1];
    f.args.n = 1;
    GIVES_ERROR(INVALID_ARGUMENT, "ANY_SOURCE", reactant_mpi_ffi_recv_stream(&f));
    stream_fails = INTERNAL;
    good(&f, S32, REACTANT_MPI_SUM, memory, memory + 8, id);
    GIVES_ERROR(INTERNAL, "no stream in this double", reactant_mpi_ffi_allreduce_stream(&f));
    stream_fails = 0;
    options.gpu = REACTANT_MPI_GPU_OFF;
    OK(reactant_mpi_initialize_with((uintptr_t)host.self, &options, &on_host));
    good(&f, S32, REACTANT_MPI_SUM, memory, memory + 8, reactant_mpi_comm_id(on_host));
    f.value[0].scalar = 1;
    GIVES_ERROR(INTERNAL, "(ERR_NO_DEVICE)", reactant_mpi_ffi_allreduce_stream(&f));
    OK(reactant_mpi_finalize(on_host));
}

/* What is asked beside calls; a barrier; and no memory for an operand that must be somewhere else. */
static void test_rest(char *memory)
{
    struct XLA_FFI_CallFrame f;
    for (enum row r = 0; r < N_ROWS; r++)
        for (int stage = INSTANTIATE; on_stream[r] && stage < EXECUTE; stage++) {
            frame_start(&f);
            f.stage = stage;
            NO_ERROR(on_stream[r](&f));
        }
    good(&f, S32, 0, memory, memory, reactant_mpi_comm_id(comm));
    f.args.buffers = &f.buffer_list[0][1], f.args.n = 1;
    f.rets.buffers = &f.buffer_list[1][1], f.rets.n = 1;
    NO_ERROR(reactant_mpi_ffi_barrier_stream(&f));
    gpu_sync(ffi_stream);
    scratch = NULL;
    good(&f, S32, 0, memory, memory, reactant_mpi_comm_id(comm));
    f.dims[0][0][0] = f.dims[1][0][0] = size;
    GIVES_ERROR(8, "no memory in this double", reactant_mpi_ffi_alltoall_stream(&f));
}

int main(void)
{
    char *memory;
    host_open(RTLD_LOCAL);
    comm = reactant_mpi_initialize(REACTANT_MPI_COMM_WORLD);
    NEED(comm, "initialize: %d %s", reactant_mpi_last_error_code(), reactant_mpi_last_error());
    check_rank = rank = reactant_mpi_rank(comm);
    size = reactant_mpi_size(comm);
    NEED(reactant_mpi_device(comm) >= 0, "a device");
    gpu_enter(reactant_mpi_device(comm));
    ffi_stream = gpu_stream();
    scratch = gpu_alloc;
    scratch_end = gpu_free;
    api_of(API_0_5);
    tokens = gpu_alloc(8);
    memory = gpu_alloc(256);
    test_data();
    test_messages(memory);
    test_wrong(memory);
    test_rest(memory);
    scratches = 0;
    gpu_free(memory);
    gpu_free(tokens);
    gpu_stream_end(ffi_stream);
    gpu_leave();
    OK(reactant_mpi_finalize(NULL));
    CHECK(errors_live == 0, "%d errors are left", errors_live);
    return check_done(rank);
}
