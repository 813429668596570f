/* cgo cannot call through the pointers of a struct: one plain function per runtime call that Go makes. */
#ifndef RMPI_NCCL_GPU_H
#define RMPI_NCCL_GPU_H

#include "nccl/nccl.h"

static inline void fill_gpu(const struct rmpi_gpu_kind *k, struct rmpi_gpu *g) { k->fill(g); }
static inline int gpu_start(struct rmpi_gpu *g, int *count, int *version)
{
    int rc = g->start(g);
    if (rc == 0 && (rc = g->count(g, count)) == 0)
        rc = g->version(g, version);
    return rc;
}
static inline int gpu_info(struct rmpi_gpu *g, int device, struct rmpi_gpu_info *out) { return g->info(g, device, out); }
static inline int gpu_retain(struct rmpi_gpu *g, int device, void **context) { return g->retain(g, device, context); }
static inline int gpu_release(struct rmpi_gpu *g, int device) { return g->release(g, device); }
static inline void gpu_text(struct rmpi_gpu *g, int rc, char *text) { g->text(g, rc, text); }

#endif
