/*
 * XLA as the handlers see it: call frames built by hand, and a double of the runtime's functions. The structs are written down here once more,
 * from XLA's own header, so that a mistake in the library's shows.
 */
#ifndef TEST_FFI_H
#define TEST_FFI_H

#include "check.h"

#include <sched.h>
#include <stdbool.h>
#include <time.h>

enum { PRED = 1, S8, S16, S32, S64, U8, U16, U32, U64, F16, F32, F64, C64 = 15, BF16, TOKEN, C128, F8E5M2, F8E4M3FN, S4, U4, F8E8M0FNU = 33 };
enum { INVALID_ARGUMENT = 3, DEADLINE_EXCEEDED = 4, FAILED_PRECONDITION = 9, UNIMPLEMENTED = 12, INTERNAL = 13, UNAVAILABLE = 14 };
enum { INSTANTIATE, PREPARE, INITIALIZE, EXECUTE };
enum { API_0_5 = 208, API_0_4 = 200, API_0_3 = 192, API_WITHOUT_FUTURES = 152 };

/* ---- errors and futures ---- */

struct XLA_FFI_Error {
    int code;
    char text[3000];
};

struct future {
    _Atomic int done;
    struct XLA_FFI_Error *error;
};

static _Atomic int futures_made, errors_live, futures_live;

struct error_args {
    size_t size;
    void *extension;
    const char *message;
    int code;
};

static struct XLA_FFI_Error *error_create(struct error_args *a)
{
    struct XLA_FFI_Error *e = malloc(sizeof *e);
    NEED(e && a->size >= 28 && a->message, "size %zu", a->size);
    e->code = a->code;
    snprintf(e->text, sizeof e->text, "%s", a->message);
    errors_live++;
    return e;
}

static void error_free(struct XLA_FFI_Error *e)
{
    if (e)
        errors_live--;
    free(e);
}

struct future_args {
    size_t size;
    void *extension;
    struct future *future;
    struct XLA_FFI_Error *error;
};

static struct XLA_FFI_Error *future_create(struct future_args *a)
{
    CHECK(a->size >= 24, "size %zu", a->size);
    a->future = calloc(1, sizeof *a->future);
    futures_made++;
    futures_live++;
    return NULL;
}

/* What XLA has waiting for a future runs on the thread that completes it. */
static void (*_Atomic continuation)(void);

static void future_done(struct future *f, struct XLA_FFI_Error *e)
{
    void (*then)(void) = continuation;
    CHECK(!f->done, "completed twice");
    f->error = e;
    f->done = 1;
    if (then)
        then();
}

static struct XLA_FFI_Error *future_set_available(struct future_args *a)
{
    CHECK(a->size >= 24, "size %zu", a->size);
    future_done(a->future, NULL);
    return NULL;
}

static struct XLA_FFI_Error *future_set_error(struct future_args *a)
{
    CHECK(a->size >= 32 && a->error, "size %zu", a->size);
    future_done(a->future, a->error);
    return NULL;
}

/* ---- stream and memory ---- */

static void *ffi_stream;          /* what a frame's context stands for */
static int stream_fails;          /* with this code */
static void *(*scratch)(size_t);  /* device memory; NULL: none */
static void (*scratch_end)(void *);
static int scratches;

struct stream_args {
    size_t size;
    void *extension, *context, *stream;
};

static struct XLA_FFI_Error *stream_get(struct stream_args *a)
{
    struct error_args e = {sizeof e, NULL, "no stream in this double", stream_fails};
    CHECK(a->size >= 32 && a->context, "size %zu", a->size);
    a->stream = ffi_stream;
    return stream_fails ? error_create(&e) : NULL;
}

struct memory_args {
    size_t size;
    void *extension, *context;
    size_t bytes;
    union {
        size_t alignment;
        void *given;
    };
    void *data;
};

static struct XLA_FFI_Error *memory_allocate(struct memory_args *a)
{
    struct error_args e = {sizeof e, NULL, "no memory in this double", 8};
    scratches++;
    return scratch && (a->data = scratch(a->bytes)) ? NULL : error_create(&e);
}

static struct XLA_FFI_Error *memory_free(struct memory_args *a)
{
    scratches--;
    scratch_end(a->given);
    return NULL;
}

/* ---- the interface, by offset ---- */

#ifndef OF_RANK
#define OF_RANK
#endif
static OF_RANK union {
    size_t size;
    void *slot[26];
} api;

static void api_of(size_t bytes)
{
    memset(&api, 0, sizeof api);
    api.size = bytes;
    api.slot[2] = (void *)24;
    ((int32_t *)&api.slot[4])[1] = 1;
    api.slot[6] = (void *)error_create;
    api.slot[8] = (void *)error_free; /* not as XLA has it, and never called here */
    api.slot[10] = (void *)stream_get;
    api.slot[15] = (void *)memory_allocate;
    api.slot[16] = (void *)memory_free;
    if (bytes > API_WITHOUT_FUTURES) {
        api.slot[19] = (void *)future_create;
        api.slot[20] = (void *)future_set_available;
        api.slot[21] = (void *)future_set_error;
    }
}

/* ---- frames ---- */

enum { MOST = 16 };

struct xla_buffer {
    size_t size;
    void *extension;
    int32_t dtype;
    void *data;
    int64_t rank;
    int64_t *dims;
};

struct xla_name {
    const char *text;
    size_t length;
};

struct xla_buffers {
    size_t size;
    void *extension;
    int64_t n;
    int32_t *types;
    void **buffers;
};

/* XLA_FFI_CallFrame, and everything that it points to. */
struct XLA_FFI_CallFrame {
    size_t size;
    void *extension;
    void *api, *context;
    int32_t stage;
    struct xla_buffers args, rets;
    struct {
        size_t size;
        void *extension;
        int64_t n;
        int32_t *types;
        struct xla_name **names;
        void **values;
    } attrs;
    struct future *future;
    /* beyond XLA's */
    struct xla_buffer buffer[2][4];
    int32_t buffer_types[2][4];
    void *buffer_list[2][4];
    int64_t dims[2][4][2];
    struct xla_name name[MOST], *name_list[MOST];
    int32_t attr_types[MOST];
    void *value_list[MOST];
    struct {
        int32_t dtype;
        size_t size; /* of a list; of a scalar the address of its value */
        void *data;
        int64_t scalar;
    } value[MOST];
};
_Static_assert(offsetof(struct XLA_FFI_CallFrame, future) == 168, "as XLA has it");

typedef struct XLA_FFI_Error *handler(struct XLA_FFI_CallFrame *);

static void frame_start(struct XLA_FFI_CallFrame *f)
{
    *f = (struct XLA_FFI_CallFrame){.size = 168, .api = &api, .context = f, .stage = EXECUTE};
    f->args = (struct xla_buffers){40, NULL, 0, f->buffer_types[0], f->buffer_list[0]};
    f->rets = (struct xla_buffers){40, NULL, 0, f->buffer_types[1], f->buffer_list[1]};
    f->attrs.size = 48;
    f->attrs.types = f->attr_types;
    f->attrs.names = f->name_list;
    f->attrs.values = f->value_list;
}

/* An operand (which 0) or result (1) of one dimension. */
static void frame_buffer(struct XLA_FFI_CallFrame *f, int which, int dtype, void *data, size_t n)
{
    struct xla_buffers *list = which ? &f->rets : &f->args;
    const int64_t i = list->n++;
    f->dims[which][i][0] = (int64_t)n;
    f->buffer[which][i] = (struct xla_buffer){48, NULL, dtype, data, 1, f->dims[which][i]};
    f->buffer_types[which][i] = 1;
    f->buffer_list[which][i] = &f->buffer[which][i];
}

/* Sorted by name, as XLA has them. */
static int frame_attr(struct XLA_FFI_CallFrame *f, const char *name, int type, int dtype)
{
    int64_t at = f->attrs.n++;
    const int i = (int)at; /* place of the value */
    f->name[i] = (struct xla_name){name, strlen(name)};
    for (; at > 0 && strcmp(name, f->name_list[at - 1]->text) < 0; at--) {
        f->name_list[at] = f->name_list[at - 1];
        f->attr_types[at] = f->attr_types[at - 1];
        f->value_list[at] = f->value_list[at - 1];
    }
    f->name_list[at] = &f->name[i];
    f->attr_types[at] = type;
    f->value_list[at] = &f->value[i];
    f->value[i].dtype = dtype;
    return i;
}

static void frame_scalar(struct XLA_FFI_CallFrame *f, const char *name, int dtype, int64_t value)
{
    const int i = frame_attr(f, name, 3, dtype);
    f->value[i].scalar = value;
    f->value[i].size = (size_t)(uintptr_t)&f->value[i].scalar;
}

__attribute__((unused)) static void frame_list(struct XLA_FFI_CallFrame *f, const char *name, int dtype, const void *list, size_t n)
{
    const int i = frame_attr(f, name, 1, dtype);
    f->value[i].size = n;
    f->value[i].data = (void *)(uintptr_t)list;
}

/* What every call has. */
static void frame_common(struct XLA_FFI_CallFrame *f, int64_t comm, int size, bool wait)
{
    frame_scalar(f, "size", S32, size);
    frame_scalar(f, "comm", S64, comm);
    frame_scalar(f, "wait", PRED, wait);
}

/* Waits for a call's future; its error is then as one that was returned. */
__attribute__((unused)) static struct XLA_FFI_Error *frame_end(struct XLA_FFI_CallFrame *f, struct XLA_FFI_Error *e)
{
    if (!f->future)
        return e;
    CHECK(!e, "an error and a future");
    while (!f->future->done)
        sched_yield();
    e = f->future->error;
    free(f->future);
    futures_live--;
    f->future = NULL;
    return e;
}

__attribute__((unused)) static void check_error(const char *file, int line, struct XLA_FFI_Error *e, int code, const char *text)
{
    check_count++;
    if (!e || e->code != code || !strstr(e->text, text))
        check_fail(file, line, "an error of XLA's", " %d with '%s' wanted, got %d: %s", code, text, e ? e->code : 0, e ? e->text : "");
    error_free(e);
}
#define GIVES_ERROR(code, text, call) check_error(__FILE__, __LINE__, (call), (code), (text))
#define NO_ERROR(call)                                                                       \
    do {                                                                                     \
        struct XLA_FFI_Error *no_e = (call);                                                 \
        CHECK(!no_e, #call " gave %d: %s", no_e->code, no_e->text);                          \
        error_free(no_e);                                                                    \
    } while (0)

#endif
