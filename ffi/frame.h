/* A call frame as read: its attributes by name, its data operand and result, its token. */
#ifndef RMPI_FFI_FRAME_H
#define RMPI_FFI_FRAME_H

#include "capi/call.h"
#include "ffi/xla_ffi.h"

#pragma GCC visibility push(hidden)

enum ffi_attr {
#define ATTRIBUTE(name, ...) FFI_ATTR_##name,
#include "ffi/attributes.inc"
#undef ATTRIBUTE
    FFI_ATTRS
};

struct ffi_value {
    int64_t number;   /* of a scalar; of a list: how many */
    const void *list; /* int32_t or int64_t */
};

struct ffi_data {
    void *data;
    size_t count; /* elements */
    int32_t dtype;
    int here; /* 0: the row has none */
};

struct ffi_call {
    struct XLA_FFI_CallFrame *frame;
    uint32_t row;
    struct rmpi_comm *comm;
    struct ffi_value attr[FFI_ATTRS];
    struct ffi_data in, out;
    float *token, *next_token;
    int on_device;
    int type;    /* ours, of in and out */
    size_t bits; /* of an element; below 8 they are packed in bytes, all of a buffer together, the first one lowest */
};

/* Whether a frame asks for something else than the call itself: what the handler is, another stage; it has been answered. Or there is
 * nobody to tell. */
int ffi_is_no_call(struct XLA_FFI_CallFrame *frame, uint32_t row);
/* Read and check a frame. 0, or a public code with the failure recorded. */
int ffi_read(struct ffi_call *call, struct XLA_FFI_CallFrame *frame, uint32_t row, int on_device);
/* Records a failure of this thread, named after the row; gives the code. */
int ffi_fail(uint32_t row, int code, const char *format, ...) __attribute__((cold, noinline, format(printf, 3, 4)));
/* This thread's failure as XLA's error. */
struct XLA_FFI_Error *ffi_error(const struct ffi_api *api, uint32_t row, int code) __attribute__((cold, noinline));

static inline size_t ffi_bytes(const struct ffi_call *call, size_t count)
{
    return call->bits < 8 ? (count * call->bits + 7) / 8 : count * (call->bits / 8);
}

static inline int ffi_has_input(uint32_t row)
{
    return rmpi_rows[row].rules & HAS_SEND || row == RMPI_bcast;
}

#pragma GCC visibility pop

#endif
