/*
 * XLA's C interface for calls from compiled programs (XLA FFI), as far as it is used here: our own declarations of its structs, whose
 * layout has not changed since version 0.1 (the runtimes since then only added to the ends). XLA's header itself would tie the library
 * to the version that it was compiled with, and the names in it have changed.
 */
#ifndef RMPI_XLA_FFI_H
#define RMPI_XLA_FFI_H

#include <stddef.h>
#include <stdint.h>

enum { FFI_MAJOR = 0, FFI_MINOR = 1 }; /* what the handlers say they need: every runtime from this one on takes them */

enum ffi_data_type {
#define DTYPE(name, number, ...) FFI_##name = number,
#include "ffi/dtypes.inc"
#undef DTYPE
};

enum ffi_attr_type { FFI_ARRAY = 1, FFI_SCALAR = 3 };
enum { FFI_BUFFER = 1 }; /* the one type of operands and results */
enum { FFI_EXECUTE = 3 };  /* the stage in which buffers hold data */
enum { FFI_EXTENSION_METADATA = 1 };

enum ffi_error_code {
    FFI_INVALID_ARGUMENT = 3,
    FFI_DEADLINE_EXCEEDED = 4,
    FFI_RESOURCE_EXHAUSTED = 8,
    FFI_FAILED_PRECONDITION = 9,
    FFI_UNIMPLEMENTED = 12,
    FFI_INTERNAL = 13,
    FFI_UNAVAILABLE = 14,
};

struct XLA_FFI_Error;
struct ffi_context;
struct ffi_future;

struct ffi_api_version {
    size_t struct_size;
    void *extension_start;
    int32_t major, minor;
};

struct ffi_extension {
    size_t struct_size;
    int32_t type;
    struct ffi_extension *next;
};

struct ffi_metadata {
    size_t struct_size;
    struct ffi_api_version api_version;
    uint32_t traits;
};

struct ffi_metadata_extension {
    struct ffi_extension base;
    struct ffi_metadata *metadata;
};

struct ffi_buffer {
    size_t struct_size;
    void *extension_start;
    int32_t dtype;
    void *data;
    int64_t rank;
    int64_t *dims;
};

struct ffi_name {
    const char *text; /* no NUL at its end */
    size_t length;
};

struct ffi_scalar {
    int32_t dtype;
    void *value;
};

struct ffi_array {
    int32_t dtype;
    size_t size;
    void *data;
};

struct ffi_buffers { /* XLA_FFI_Args, XLA_FFI_Rets */
    size_t struct_size;
    void *extension_start;
    int64_t size;
    int32_t *types;
    struct ffi_buffer **buffers;
};

struct ffi_attrs {
    size_t struct_size;
    void *extension_start;
    int64_t size;
    int32_t *types;
    struct ffi_name **names; /* sorted */
    void **attrs;
};

struct ffi_error_create {
    size_t struct_size;
    void *extension_start;
    const char *message;
    int32_t code;
};

struct ffi_error_destroy {
    size_t struct_size;
    void *extension_start;
    struct XLA_FFI_Error *error;
};

struct ffi_stream_get {
    size_t struct_size;
    void *extension_start;
    struct ffi_context *context;
    void *stream; /* out */
};

struct ffi_memory_allocate {
    size_t struct_size;
    void *extension_start;
    struct ffi_context *context;
    size_t size, alignment;
    void *data; /* out */
};

struct ffi_memory_free {
    size_t struct_size;
    void *extension_start;
    struct ffi_context *context;
    size_t size;
    void *data;
};

struct ffi_future_create {
    size_t struct_size;
    void *extension_start;
    struct ffi_future *future; /* out */
};

struct ffi_future_set_available {
    size_t struct_size;
    void *extension_start;
    struct ffi_future *future;
};

struct ffi_future_set_error {
    size_t struct_size;
    void *extension_start;
    struct ffi_future *future;
    struct XLA_FFI_Error *error; /* the runtime's from then on */
};

struct ffi_api {
    size_t struct_size;
    void *extension_start;
    struct ffi_api_version version;
    void *internal;
    struct XLA_FFI_Error *(*error_create)(struct ffi_error_create *);
    void *error_message;
    void (*error_destroy)(struct ffi_error_destroy *);
    void *handler_register;
    struct XLA_FFI_Error *(*stream_get)(struct ffi_stream_get *);
    void *others[4];
    struct XLA_FFI_Error *(*memory_allocate)(struct ffi_memory_allocate *);
    struct XLA_FFI_Error *(*memory_free)(struct ffi_memory_free *);
    void *thread_pool[2];
    struct XLA_FFI_Error *(*future_create)(struct ffi_future_create *);
    struct XLA_FFI_Error *(*future_set_available)(struct ffi_future_set_available *);
    struct XLA_FFI_Error *(*future_set_error)(struct ffi_future_set_error *);
};

struct XLA_FFI_CallFrame {
    size_t struct_size; /* up to the end of attrs: it does not tell whether there are futures */
    struct ffi_extension *extension_start;
    const struct ffi_api *api;
    struct ffi_context *context;
    int32_t stage;
    struct ffi_buffers args, rets;
    struct ffi_attrs attrs;
    struct ffi_future *future; /* out */
};

#define AT(type, field, offset) _Static_assert(offsetof(struct type, field) == offset, "XLA's layout")
#define SIZE(type, size) _Static_assert(sizeof(struct type) == size, "XLA's layout")
SIZE(ffi_api_version, 24);
AT(ffi_api_version, major, 16);
AT(ffi_api_version, minor, 20);
SIZE(ffi_extension, 24);
AT(ffi_extension, type, 8);
AT(ffi_metadata, api_version, 8);
AT(ffi_metadata, traits, 32);
AT(ffi_metadata_extension, metadata, 24);
SIZE(ffi_buffer, 48);
AT(ffi_buffer, dtype, 16);
AT(ffi_buffer, data, 24);
AT(ffi_buffer, rank, 32);
AT(ffi_buffer, dims, 40);
SIZE(ffi_name, 16);
SIZE(ffi_scalar, 16);
AT(ffi_scalar, value, 8);
SIZE(ffi_array, 24);
AT(ffi_array, size, 8);
AT(ffi_array, data, 16);
SIZE(ffi_buffers, 40);
AT(ffi_buffers, size, 16);
AT(ffi_buffers, types, 24);
AT(ffi_buffers, buffers, 32);
SIZE(ffi_attrs, 48);
AT(ffi_attrs, names, 32);
AT(ffi_attrs, attrs, 40);
SIZE(ffi_error_create, 32);
AT(ffi_error_create, message, 16);
AT(ffi_error_create, code, 24);
SIZE(ffi_stream_get, 32);
AT(ffi_stream_get, stream, 24);
AT(ffi_memory_allocate, data, 40);
AT(ffi_memory_free, data, 32);
AT(ffi_future_create, future, 16);
AT(ffi_future_set_error, error, 24);
AT(ffi_api, error_create, 48);
AT(ffi_api, error_destroy, 64);
AT(ffi_api, stream_get, 80);
AT(ffi_api, memory_allocate, 120);
AT(ffi_api, memory_free, 128);
AT(ffi_api, future_create, 152);
AT(ffi_api, future_set_available, 160);
AT(ffi_api, future_set_error, 168);
SIZE(XLA_FFI_CallFrame, 176);
AT(XLA_FFI_CallFrame, api, 16);
AT(XLA_FFI_CallFrame, stage, 32);
AT(XLA_FFI_CallFrame, args, 40);
AT(XLA_FFI_CallFrame, rets, 80);
AT(XLA_FFI_CallFrame, attrs, 120);
AT(XLA_FFI_CallFrame, future, 168);
#undef AT
#undef SIZE

#endif
