/*
 * libReactantExtra.so as a holder of NCCL's names: XLA's trampolines, which look for libnccl.so.2 at the first call. This one answers
 * as they do where there is none; built with FAKE_FORWARD it passes every call on to the libnccl.so.2 that dlopen finds then.
 * Not modelled: everything else in libReactantExtra. The names are those of XLA's list: no Gather, Scatter, Revoke, Grow, Suspend, Param.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
#define NONE_TEXT "Unable to load NCCL library. Multi-GPU collectives will not work."

typedef struct {
    char internal[128];
} ncclUniqueId;

static void *target(const char *name)
{
#ifdef FAKE_FORWARD
    void *nccl = dlopen("libnccl.so.2", RTLD_NOW);
    return nccl ? dlsym(nccl, name) : NULL;
#else
    (void)name;
    return NULL;
#endif
}

#define T(name, parameters, arguments)                                                                                             \
    EXPORT int name parameters                                                                                                     \
    {                                                                                                                              \
        static int(*volatile to) parameters;                                                                                       \
        if (!to)                                                                                                                   \
            *(void *volatile *)&to = target(#name);                                                                                \
        return to ? to arguments : 2;                                                                                              \
    }

typedef void *P;
typedef const void *K;

T(ncclGetVersion, (int *a), (a))
T(ncclGetUniqueId, (ncclUniqueId *a), (a))
T(ncclCommInitRank, (P *a, int b, ncclUniqueId c, int d), (a, b, c, d))
T(ncclCommInitRankConfig, (P *a, int b, ncclUniqueId c, int d, P e), (a, b, c, d, e))
T(ncclCommInitRankScalable, (P *a, int b, int c, int d, ncclUniqueId *e, P f), (a, b, c, d, e, f))
T(ncclCommInitAll, (P *a, int b, const int *c), (a, b, c))
T(ncclCommFinalize, (P a), (a))
T(ncclCommDestroy, (P a), (a))
T(ncclCommAbort, (P a), (a))
T(ncclCommSplit, (P a, int b, int c, P *d, P e), (a, b, c, d, e))
T(ncclCommShrink, (P a, int *b, int c, P *d, P e, int f), (a, b, c, d, e, f))
T(ncclCommGetAsyncError, (P a, int *b), (a, b))
T(ncclCommCount, (P a, int *b), (a, b))
T(ncclCommCuDevice, (P a, int *b), (a, b))
T(ncclCommUserRank, (P a, int *b), (a, b))
T(ncclCommRegister, (P a, P b, size_t c, P *d), (a, b, c, d))
T(ncclCommDeregister, (P a, P b), (a, b))
T(ncclCommWindowRegister, (P a, P b, size_t c, P *d, int e), (a, b, c, d, e))
T(ncclCommWindowDeregister, (P a, P b), (a, b))
T(ncclMemAlloc, (P *a, size_t b), (a, b))
T(ncclMemFree, (P a), (a))
T(ncclRedOpCreatePreMulSum, (int *a, P b, int c, int d, P e), (a, b, c, d, e))
T(ncclRedOpDestroy, (int a, P b), (a, b))
T(ncclReduce, (K a, P b, size_t c, int d, int e, int f, P g, P h), (a, b, c, d, e, f, g, h))
T(ncclBcast, (P a, size_t b, int c, int d, P e, P f), (a, b, c, d, e, f))
T(ncclBroadcast, (K a, P b, size_t c, int d, int e, P f, P g), (a, b, c, d, e, f, g))
T(ncclAllReduce, (K a, P b, size_t c, int d, int e, P f, P g), (a, b, c, d, e, f, g))
T(ncclReduceScatter, (K a, P b, size_t c, int d, int e, P f, P g), (a, b, c, d, e, f, g))
T(ncclAllGather, (K a, P b, size_t c, int d, P e, P f), (a, b, c, d, e, f))
T(ncclAlltoAll, (K a, P b, size_t c, int d, P e, P f), (a, b, c, d, e, f))
T(ncclSend, (K a, size_t b, int c, int d, P e, P f), (a, b, c, d, e, f))
T(ncclRecv, (P a, size_t b, int c, int d, P e, P f), (a, b, c, d, e, f))
T(ncclGroupStart, (void), ())
T(ncclGroupEnd, (void), ())
T(ncclGroupSimulateEnd, (P a), (a))
T(ncclDevCommCreate, (P a, P b, P c), (a, b, c))
T(ncclDevCommDestroy, (P a, P b), (a, b))
T(ncclAllReduceConfig, (K a, P b, size_t c, int d, int e, P f, P g, K h), (a, b, c, d, e, f, g, h))
T(ncclBroadcastConfig, (K a, P b, size_t c, int d, int e, P f, P g, K h), (a, b, c, d, e, f, g, h))
T(ncclReduceConfig, (K a, P b, size_t c, int d, int e, int f, P g, P h, K i), (a, b, c, d, e, f, g, h, i))
T(ncclAllGatherConfig, (K a, P b, size_t c, int d, P e, P f, K g), (a, b, c, d, e, f, g))
T(ncclReduceScatterConfig, (K a, P b, size_t c, int d, int e, P f, P g, K h), (a, b, c, d, e, f, g, h))
T(ncclAlltoAllConfig, (K a, P b, size_t c, int d, P e, P f, K g), (a, b, c, d, e, f, g))
T(ncclPutSignal, (K a, size_t b, int c, int d, P e, size_t f, int g, int h, unsigned i, P j, P k), (a, b, c, d, e, f, g, h, i, j, k))
T(ncclSignal, (int a, int b, int c, unsigned d, P e, P f), (a, b, c, d, e, f))
T(ncclWaitSignal, (int a, P b, P c, P d), (a, b, c, d))

#define TEXT(name, parameters, arguments)                                                                                          \
    EXPORT const char *name parameters                                                                                             \
    {                                                                                                                              \
        const char *(*to) parameters;                                                                                              \
        *(void **)&to = target(#name);                                                                                             \
        return to ? to arguments : NONE_TEXT;                                                                                      \
    }

TEXT(ncclGetErrorString, (int a), (a))
TEXT(ncclGetLastError, (P a), (a))
