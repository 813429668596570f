/*
 * A bound NCCL or RCCL and a bound GPU runtime: function tables filled at run time. Streams, contexts and communicators travel as
 * pointers; no header of NVIDIA or AMD is used.
 */
#ifndef RMPI_NCCL_H
#define RMPI_NCCL_H

#include "internal/handle/handle.h"

#pragma GCC visibility push(hidden)

enum { RMPI_NCCL_ID_BYTES = 128, RMPI_NCCL_TEXT = 512 };

/* ncclUniqueId: passed by value. */
struct rmpi_nccl_id {
    char bytes[RMPI_NCCL_ID_BYTES];
};

/* ncclConfig_t as of 2.18: every later library, and RCCL, takes this layout when `version` says so. */
struct rmpi_nccl_config {
    size_t size;
    unsigned magic, version;
    int blocking, cga_cluster_size, min_ctas, max_ctas;
    const char *net_name;
    int split_share, traffic_class;
};
_Static_assert(sizeof(struct rmpi_nccl_config) == 48, "the layout of 2.18");

enum rmpi_nccl_result { NCCL_SUCCESS = 0, NCCL_SYSTEM = 2, NCCL_INTERNAL = 3, NCCL_INVALID_ARGUMENT = 4, NCCL_INVALID_USAGE = 5, NCCL_IN_PROGRESS = 7 };

enum rmpi_nccl_function {
#define NCCL(name, ...) RMPI_N_##name,
#include "nccl/functions.inc"
#undef NCCL
    RMPI_NCCL_FUNCTIONS
};

#define NCCL(name, other, version, parameters) typedef int(*rmpi_nccl_##name) parameters;
#include "nccl/functions.inc"
#undef NCCL

struct rmpi_nccl {
    void *function[RMPI_NCCL_FUNCTIONS];
    const char *(*error_string)(int);
    const char *(*last_error)(void *); /* 2.13; one text for the whole process: a hint */
    int version;
    int rccl;
    char *path;
};

/* Typed call; the function must be there. */
#define RMPI_NCCL(n, name) ((rmpi_nccl_##name)(n)->function[RMPI_N_##name])
#define RMPI_NCCL_HAS(n, name) ((n)->function[RMPI_N_##name] != NULL)

struct rmpi_nccl_row {
    const char *name, *other;
    int version;
};
extern const struct rmpi_nccl_row rmpi_nccl_rows[RMPI_NCCL_FUNCTIONS];

/* The one NCCL of the process, NULL before there is one: two would not understand each other's communicators. */
const struct rmpi_nccl *rmpi_nccl_bound(void);
void rmpi_nccl_bind(const struct rmpi_nccl *n);

/* "text of the code; last error: hint" */
void rmpi_nccl_text(const struct rmpi_nccl *n, int rc, char text[RMPI_NCCL_TEXT]);

struct rmpi_gpu_info {
    unsigned char uuid[16];
    char pci[32];
    int active; /* the primary context is active in this process */
    int mig;
    int exclusive; /* compute mode: one process at a time */
};

/* A GPU runtime: the CUDA driver API or HIP. All functions return the runtime's own code, 0 = fine. */
struct rmpi_gpu {
    const char *name;
    const char *library;
    void *function[40];
    int (*start)(struct rmpi_gpu *);
    int (*count)(struct rmpi_gpu *, int *n);
    int (*version)(struct rmpi_gpu *, int *version);
    int (*info)(struct rmpi_gpu *, int device, struct rmpi_gpu_info *out);
    int (*retain)(struct rmpi_gpu *, int device, void **context);
    int (*release)(struct rmpi_gpu *, int device);
    int (*enter)(struct rmpi_gpu *, int device, void *context);  /* make it current on this thread */
    int (*alloc)(struct rmpi_gpu *, size_t bytes, void **out);
    int (*free)(struct rmpi_gpu *, void *memory);
    int (*room)(struct rmpi_gpu *, const void *memory, size_t *bytes); /* to the end of its allocation; CUDA only, NULL elsewhere */
    int (*to_device)(struct rmpi_gpu *, void *device, const void *host, size_t bytes);
    int (*to_host)(struct rmpi_gpu *, void *host, const void *device, size_t bytes);
    int (*zero)(struct rmpi_gpu *, void *device, size_t bytes, void *stream);
    int (*copy)(struct rmpi_gpu *, void *to, const void *from, size_t bytes, void *stream); /* on the device */
    int (*stream_create)(struct rmpi_gpu *, void **stream);
    int (*stream_destroy)(struct rmpi_gpu *, void *stream);
    int (*stream_query)(struct rmpi_gpu *, void *stream); /* 0 done, RMPI_GPU_BUSY, or an error */
    void (*text)(struct rmpi_gpu *, int rc, char text[RMPI_NCCL_TEXT]);
    /* CUDA only: the context of the calling thread */
    int (*current_of)(void **context);
    int (*set_current)(void *context);
};
enum { RMPI_GPU_BUSY = -1 };

/* Names to look up in the runtime's library; the table's functions are set after every needed one was found. */
struct rmpi_gpu_row {
    const char *name;
    int needed;
};
struct rmpi_gpu_kind {
    const char *name;
    const struct rmpi_gpu_row *rows;
    int count;
    void (*fill)(struct rmpi_gpu *);
};
extern const struct rmpi_gpu_kind rmpi_cuda, rmpi_hip;

/* The device side of a communicator; never freed, since calls in flight may look at it. */
struct rmpi_device {
    const struct rmpi_nccl *nccl;
    struct rmpi_gpu *gpu;
    void *comm; /* ncclComm_t */
    void *context;
    void *scratch; /* a few bytes of device memory, for barrier */
    void *client;  /* the XLA client, if we made it */
    int ordinal;
};

#pragma GCC visibility pop

#endif
