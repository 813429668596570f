/* Frames that are no calls, and calls that must be refused: by the same error on every rank, before anything is moved. */
#ifndef FFI_WRONG_H
#define FFI_WRONG_H

#include "ffi_jobs.h"

static float wrong_token, wrong_next;
static int32_t wrong_in[16 * MAX_RANKS], wrong_out[16 * MAX_RANKS];

/* A good allreduce, less what `without` names. */
static void good(struct XLA_FFI_CallFrame *f, bool wait, const char *without)
{
    frame_start(f);
    frame_buffer(f, 0, S32, wrong_in, 4);
    frame_buffer(f, 0, F32, &wrong_token, 1);
    frame_buffer(f, 1, S32, wrong_out, 4);
    frame_buffer(f, 1, F32, &wrong_next, 1);
    if (strcmp(without, "size"))
        frame_scalar(f, "size", S32, size);
    if (strcmp(without, "comm"))
        frame_scalar(f, "comm", S64, reactant_mpi_comm_id(comm));
    if (strcmp(without, "wait"))
        frame_scalar(f, "wait", PRED, wait);
    if (strcmp(without, "op"))
        frame_scalar(f, "op", S32, REACTANT_MPI_SUM);
}

#define WRONG(code, text, handler_name, ...)                                                          \
    do {                                                                                              \
        struct XLA_FFI_CallFrame f;                                                                   \
        good(&f, wait, "");                                                                           \
        __VA_ARGS__;                                                                                  \
        GIVES_ERROR(code, text, frame_end(&f, reactant_mpi_ffi_##handler_name(&f)));                  \
    } while (0)

static void test_wrong_attributes(bool wait)
{
    static const char *const names[] = {"comm", "op", "size", "wait"};
    static const int32_t list[1] = {1};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct XLA_FFI_CallFrame f;
        char text[64];
        snprintf(text, sizeof text, "attribute '%s' (", names[i]);
        good(&f, wait, names[i]);
        GIVES_ERROR(INVALID_ARGUMENT, text, frame_end(&f, reactant_mpi_ffi_allreduce(&f)));
        snprintf(text, sizeof text, "attribute '%s' must be", names[i]);
        good(&f, wait, names[i]);
        frame_scalar(&f, names[i], F32, 1);
        GIVES_ERROR(INVALID_ARGUMENT, text, frame_end(&f, reactant_mpi_ffi_allreduce(&f)));
        good(&f, wait, names[i]);
        frame_list(&f, names[i], S32, list, 1);
        GIVES_ERROR(INVALID_ARGUMENT, text, frame_end(&f, reactant_mpi_ffi_allreduce(&f)));
    }
    WRONG(INVALID_ARGUMENT, "no attribute 'root' here", allreduce, frame_scalar(&f, "root", S32, 0));
    WRONG(INVALID_ARGUMENT, "no attribute 'color' here", allreduce, frame_scalar(&f, "color", S32, 0));
    WRONG(INVALID_ARGUMENT, "no attribute 'op' here", allgather, (void)0);
    WRONG(FAILED_PRECONDITION, "compiled for 77 ranks", allreduce, f.value[0].scalar = 77);
    WRONG(INVALID_ARGUMENT, "(ERR_COMM)", allreduce, f.value[1].scalar = 60000);
    WRONG(INVALID_ARGUMENT, "(ERR_COMM)", allreduce, f.value[1].scalar = -1);
    WRONG(INVALID_ARGUMENT, "0x99 is no operation", allreduce, f.value[3].scalar = 0x99);
    WRONG(INVALID_ARGUMENT, "(ERR_OP)", scan, f.value[3].scalar = REACTANT_MPI_AVG);
    WRONG(INVALID_ARGUMENT, "root 99 is outside", reduce, frame_scalar(&f, "root", S32, 99));
}

static void test_wrong_buffers(bool wait)
{
    WRONG(INVALID_ARGUMENT, "it has 1 operands", allreduce, f.args.n = 1);
    WRONG(INVALID_ARGUMENT, "it has 1 results", allreduce, f.rets.n = 1);
    WRONG(INVALID_ARGUMENT, "it has 3 operands", allreduce, frame_buffer(&f, 0, F32, &wrong_token, 1));
    WRONG(INVALID_ARGUMENT, "is no buffer", allreduce, f.buffer_types[0][0] = 9);
    WRONG(INVALID_ARGUMENT, "is not the token", allreduce, f.buffer[0][1].dtype = S32);
    WRONG(INVALID_ARGUMENT, "is not the token", allreduce, f.dims[1][1][0] = 2);
    WRONG(INVALID_ARGUMENT, "and no address", allreduce, f.buffer[0][0].data = NULL);
    WRONG(INVALID_ARGUMENT, "the operand is S32 and the result U32", allreduce, f.buffer[1][0].dtype = U32);
    WRONG(INVALID_ARGUMENT, "element type 999", allreduce, f.buffer[0][0].dtype = f.buffer[1][0].dtype = 999);
    WRONG(INVALID_ARGUMENT, "element type -5", allreduce, f.buffer[0][0].dtype = f.buffer[1][0].dtype = -5);
    WRONG(UNIMPLEMENTED, "F8E8M0FNU is moved, not reduced", allreduce, f.buffer[0][0].dtype = f.buffer[1][0].dtype = F8E8M0FNU);
    WRONG(UNIMPLEMENTED, "F8E5M2 is moved, not reduced", scan, f.buffer[0][0].dtype = f.buffer[1][0].dtype = F8E5M2);
    WRONG(UNIMPLEMENTED, "S4 is moved, not reduced", allreduce, f.buffer[0][0].dtype = f.buffer[1][0].dtype = S4);
    WRONG(INVALID_ARGUMENT, "(ERR_OP)", allreduce, f.buffer[0][0].dtype = f.buffer[1][0].dtype = C64, f.value[3].scalar = REACTANT_MPI_MAX);
    WRONG(INVALID_ARGUMENT, "the result has 3 elements where 4 are due", allreduce, f.dims[1][0][0] = 3);
    WRONG(INVALID_ARGUMENT, "address space", allreduce, f.dims[0][0][0] = f.dims[1][0][0] = INT64_MAX);
    WRONG(INVALID_ARGUMENT, "address space", allreduce, f.dims[0][0][0] = f.dims[1][0][0] = -1);
    WRONG(INVALID_ARGUMENT, "the operand has 4 elements where", reduce_scatter, f.dims[1][0][0] = 3);
    if (size > 1) {
        struct XLA_FFI_CallFrame f;
        good(&f, wait, "op");
        f.dims[0][0][0] = f.dims[1][0][0] = 2 * size + 1;
        GIVES_ERROR(INVALID_ARGUMENT, "cannot be divided", frame_end(&f, reactant_mpi_ffi_alltoall(&f)));
    }
}

static void test_wrong_lists(bool wait)
{
    int64_t counts[MAX_RANKS + 1] = {0};
    struct XLA_FFI_CallFrame f;
    for (int k = 0; k < 4; k++) {
        static const char *const texts[] = {"numbers, and there are", "is -1", "the result has 5 elements", "the operand has 4 elements where 5"};
        for (int r = 0; r < size; r++)
            counts[r] = k == 3 ? 5 : 4;
        if (k == 1)
            counts[0] = -1;
        good(&f, wait, "op");
        frame_list(&f, "counts", S64, counts, (size_t)size + (k == 0));
        f.dims[1][0][0] = k == 2 ? 5 : 5 * size;
        GIVES_ERROR(INVALID_ARGUMENT, texts[k], frame_end(&f, reactant_mpi_ffi_allgatherv(&f)));
    }
}

static void test_wrong(bool wait)
{
    test_wrong_attributes(wait);
    test_wrong_buffers(wait);
    test_wrong_lists(wait);
    CHECK(wrong_next == 0 || wrong_next == wrong_token, "the token was handed on");
}

/* What a handler is asked beside calls. */
static void test_questions(void)
{
    struct {
        size_t size, api_size;
        void *extension;
        int32_t major, minor;
        uint32_t traits;
        int64_t state;
    } metadata = {40, 0, &metadata, -1, -1, 77, 88};
    struct {
        size_t size;
        int32_t type;
        void *next, *metadata;
    } extension = {32, 1, NULL, &metadata};
    struct XLA_FFI_CallFrame f;
    for (enum row r = 0; r < N_ROWS; r++) {
        frame_start(&f);
        f.extension = &extension;
        metadata.major = metadata.minor = -1;
        NO_ERROR(handlers[r](&f));
        CHECK(metadata.major == 0 && metadata.minor == 1 && metadata.traits == 0 && metadata.state == 88, "%d.%d", metadata.major, metadata.minor);
        for (int stage = INSTANTIATE; stage < EXECUTE; stage++) {
            frame_start(&f); /* nothing in it */
            f.stage = stage;
            NO_ERROR(handlers[r](&f));
        }
        NO_ERROR(handlers[r](NULL));
        CHECK(reactant_mpi_last_error_code() == REACTANT_MPI_ERR_ARGUMENT, "%d", reactant_mpi_last_error_code());
        frame_start(&f);
        f.api = NULL;
        NO_ERROR(handlers[r](&f));
    }
    /* XLA's own tokens are skipped wherever they stand. */
    good(&f, true, "");
    f.args.n = f.rets.n = 0;
    frame_buffer(&f, 0, TOKEN, &f, 1);
    frame_buffer(&f, 0, S32, wrong_in, 4);
    frame_buffer(&f, 0, TOKEN, NULL, 1);
    frame_buffer(&f, 0, F32, &wrong_token, 1);
    frame_buffer(&f, 1, S32, wrong_out, 4);
    frame_buffer(&f, 1, F32, &wrong_next, 1);
    frame_buffer(&f, 1, TOKEN, &f, 1);
    NO_ERROR(frame_end(&f, reactant_mpi_ffi_allreduce(&f)));
}

#endif
