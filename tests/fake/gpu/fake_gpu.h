/*
 * What the doubles of the GPU libraries share: faults and traces by environment (inject.c, in each of them), and the hooks by which
 * a double of NCCL reaches the double of the driver that is mapped into its process.
 */
#ifndef FAKE_GPU_H
#define FAKE_GPU_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_EXPORT __attribute__((visibility("default")))

/* ---- inject.c ---- */

/* One for each function: its calls are counted, and rules of <prefix>_FAIL and <prefix>_DELAY are looked up by its name. */
struct fake_site {
    const char *_Atomic name;
    atomic_ulong calls;
    struct fake_site *next;
};

enum { FAKE_STUCK = -1 };

/* What the environment wants this call to return: 0 go on, a code, or FAKE_STUCK. Sleeps, hangs, kills the process as it says. */
int fake_enter(struct fake_site *site, const char *name);
/* getenv of NAME_<rank>, else of NAME. */
const char *fake_env(const char *name);
long fake_env_number(const char *name, long otherwise);
/* The rank of this process: FAKE_RANK, else as its launcher says it, else the one set. */
int fake_rank(void);
void fake_set_rank(int rank);
/* One line into the file named by <prefix>_TRACE, after the rank and a tab. */
bool fake_traces(void);
void fake_trace(const char *format, ...) __attribute__((format(printf, 1, 2)));
unsigned long fake_calls(const char *name);
void fake_reload(void);
void fake_sleep_us(long us);

/* ---- the driver's hooks ---- */

struct fake_gpu {
    char uuid_text[48]; /* GPU-... */
    char mig_text[48];  /* MIG-... or empty */
    uint8_t uuid[16], mig[16];
    char name[64], pci[16];
    int domain, bus, slot, numa, major, minor, mode, physical;
    size_t memory;
};

struct fake_gpu_hooks {
    int (*init)(void);                                                          /* cuInit: a CUDA code */
    int (*get_device)(void);                                                    /* cudaGetDevice: 0 where no context is current */
    int (*set_device)(int device);                                              /* cudaSetDevice: makes a context where none is */
    bool (*has_context)(void);                                                  /* one is current to this thread */
    const struct fake_gpu *(*describe)(int device);                             /* NULL: no such ordinal */
    void *(*range)(uint64_t pointer, size_t bytes, int *device);                /* where its bytes are; NULL: not device memory */
    int (*alloc)(int device, size_t bytes, uint64_t *pointer);                  /* */
    int (*release)(uint64_t pointer);                                           /* */
    int (*enqueue)(int device, void *stream, void (*run)(void *), void *what);  /* a CUDA code; stream NULL: that of the device */
};

/* Exported by the doubles of libcuda and libamdhip64 under this name. */
const struct fake_gpu_hooks *fake_gpu_hooks(void);

#endif
