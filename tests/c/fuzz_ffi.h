/*
 * The XLA FFI handlers, of fuzz.c: frames with random attributes, buffers and types and at least one fault that every rank must refuse, and
 * right sums, blocking and with a future.
 */
#ifndef FUZZ_FFI_H
#define FUZZ_FFI_H

#include "ffi.h"
#include "fuzz_collectives.h"

#define FFI_ROWS                                                                                                                     \
    X(allreduce) X(reduce) X(bcast) X(allgather) X(gather) X(scatter) X(reduce_scatter) X(alltoall) X(scan) X(exscan) X(barrier) X(send) \
    X(recv) X(sendrecv) X(permute) X(allgatherv) X(gatherv) X(scatterv) X(reduce_scatterv) X(alltoallv)                              \
    X(allreduce_stream) X(reduce_stream) X(bcast_stream) X(allgather_stream) X(gather_stream) X(scatter_stream)                      \
    X(reduce_scatter_stream) X(alltoall_stream) X(barrier_stream) X(send_stream) X(recv_stream) X(sendrecv_stream) X(permute_stream) \
    X(allgatherv_stream) X(gatherv_stream) X(scatterv_stream) X(reduce_scatterv_stream) X(alltoallv_stream)

enum {
#define X(name) FFI_##name,
    FFI_ROWS
#undef X
    N_FFI_ROWS
};

static struct XLA_FFI_Error *handler_of(unsigned row, struct XLA_FFI_CallFrame *f)
{
#define X(name)            \
    if (row == FFI_##name) \
        return CALL(ffi_##name, f);
    FFI_ROWS
#undef X
    return NULL;
}

static const char *const attribute_names[] = {"comm", "counts", "dest", "dests", "op", "recvcounts", "recvtag", "root", "sendcounts",
                                              "sendtag", "size", "source", "tag", "wait"};
enum { N_ATTRIBUTES = sizeof attribute_names / sizeof *attribute_names };

static int64_t any_number(void)
{
    static const int64_t some[] = {0, 1, 2, 3, 7, -1, -2, -101, -103, 0x21, 0x22, 0x210, 0x258, 4096, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    return ONE_OF(some);
}

static void draw_buffers(struct XLA_FFI_CallFrame *f, int which, unsigned char *memory)
{
    static const int64_t lengths[] = {0, 1, 2, 3, 8, 64, -1, INT64_MAX, INT64_MAX / 2, 1ll << 40};
    for (unsigned n = draw(4); n > 0; n--) {
        const bool token = one_in(2);
        frame_buffer(f, which, token ? F32 : one_in(8) ? (int)any_number() : (int)draw(35), one_in(8) ? NULL : memory, 1);
        f->dims[which][(which ? f->rets.n : f->args.n) - 1][0] = token && !one_in(8) ? 1 : ONE_OF(lengths);
    }
}

static void step_wrong_frame(void)
{
    static OF_RANK int64_t list[32];
    static OF_RANK struct XLA_FFI_CallFrame f;
    const unsigned row = draw(N_FFI_ROWS), fault = draw(6);
    struct XLA_FFI_Error *e;
    const size_t apis[] = {API_0_5, API_0_3, API_WITHOUT_FUTURES};
    api_of(ONE_OF(apis));
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        list[i] = any_number();
    fill();
    frame_start(&f);
    draw_buffers(&f, 0, data.send);
    draw_buffers(&f, 1, data.recv);
    for (unsigned i = 0; i < N_ATTRIBUTES; i++) {
        const bool is_list = strstr(attribute_names[i], "counts") || !strcmp(attribute_names[i], "dests");
        const bool is_right = !one_in(16);
        const int type = i == 0 || (is_list && i != 3) ? S64 : i == N_ATTRIBUTES - 1 ? PRED : S32;
        const int drawn = (int)draw(35);
        const size_t n = draw(9);
        const int64_t number = any_number();
        const int64_t value = i == 0 ? reactant_mpi_comm_id(on->c) : i == 10 ? on->size : number;
        if (one_in(3) || (fault == 1 && i == 0))
            continue;
        if (is_list == is_right)
            frame_list(&f, attribute_names[i], is_right ? type : drawn, list, n);
        else
            frame_scalar(&f, attribute_names[i], is_right ? type : drawn,
                         fault == 2 && i == 0 ? (int64_t)(uintptr_t)wrong_comm() : fault == 3 && i == 10 ? on->size + 1 : value);
    }
    if (fault == 4)
        frame_scalar(&f, "colour", S32, 1);
    if (fault == 5)
        f.args.n = f.rets.n = 0;
    if (fault == 2) /* the rest may be right, and comm must be there to be wrong */
        f.rets.n = 0;
    if (fault == 3)
        f.args.n = 0;
    e = handler_of(row, fault == 0 ? NULL : &f);
    check_count++;
    if (fault == 0 ? e != NULL : !e || strncmp(e->text, "reactant_mpi ", 13) || (e->code != INVALID_ARGUMENT && e->code != UNIMPLEMENTED &&
                                                                             e->code != FAILED_PRECONDITION && e->code != INTERNAL))
        check_fail(__FILE__, __LINE__, "an error", " fault %u of %s gave %d: %s", fault, calling, e ? e->code : 0, e ? e->text : "");
    CHECK(!f.future, "%s: a future and an error", calling);
    error_free(e);
    check_whole();
}

static void step_right_frame(void)
{
    static OF_RANK struct XLA_FFI_CallFrame f;
    int64_t in[3] = {on->rank, 1, draw(1000)}, out[3] = {-1, -1, -1}, third = in[2];
    float token = 5, next = 0;
    const size_t apis[] = {API_0_5, API_WITHOUT_FUTURES};
    api_of(ONE_OF(apis));
    frame_start(&f);
    frame_buffer(&f, 0, S64, in, 3);
    frame_buffer(&f, 0, F32, &token, 1);
    frame_buffer(&f, 1, S64, out, 3);
    frame_buffer(&f, 1, F32, &next, 1);
    frame_common(&f, reactant_mpi_comm_id(on->c), on->size, one_in(2) && !never_blocking);
    frame_scalar(&f, "op", S32, REACTANT_MPI_SUM);
    NO_ERROR(frame_end(&f, CALL(ffi_allreduce, &f)));
    CHECK(out[0] == (int64_t)on->size * (on->size - 1) / 2 && out[1] == on->size && out[2] == third * on->size && next == 5, "%lld %lld %lld",
          (long long)out[0], (long long)out[1], (long long)out[2]);
}

#endif
