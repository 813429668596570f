/*
 * The rest of what each version of NCCL exports, for the symbol table: registration and memory do what a program can see, everything
 * else answers ncclInvalidUsage and says that it is not modelled.
 * Not modelled: shrink, grow, revoke, suspend, windows, one-sided calls, the device API, parameters, per-call configurations (these
 * do the plain call).
 */
#include <string.h>

#include "nccl.h"

#define NOT_MODELLED(name)                                                                                                         \
    API(name, void)                                                                                                                \
    {                                                                                                                              \
        ENTER_PLAIN();                                                                                                             \
        return fail(INVALID_USAGE, "%s is not modelled by this test double", #name);                                               \
    }

#if NCCL_CODE >= 21900
API(ncclCommRegister, ncclComm_t comm, void *buffer, size_t bytes, void **handle)
{
    ENTER_COMM(comm);
    ncclResult_t code = comm_ready(comm, __func__);
    if (code == SUCCESS && (!handle || !gpu()->range((uintptr_t)buffer, bytes, NULL)))
        code = fail(INVALID_ARGUMENT, "ncclCommRegister: %p is not in the memory of a device", buffer);
    if (code == SUCCESS)
        *handle = buffer;
    return code;
}

API(ncclCommDeregister, ncclComm_t comm, void *handle)
{
    (void)handle;
    ENTER_COMM(comm);
    return comm_ready(comm, __func__);
}

API(ncclMemAlloc, void **pointer, size_t bytes)
{
    ENTER_PLAIN();
    const struct fake_gpu_hooks *driver = gpu();
    int code = driver ? driver->init() : 35;
    if (!code)
        code = driver->set_device(driver->get_device());
    uint64_t at = 0;
    if (!code)
        code = driver->alloc(driver->get_device(), bytes, &at);
    if (code)
        return gpu_failed(code, "ncclMemAlloc");
    *pointer = (void *)(uintptr_t)at;
    return SUCCESS;
}

API(ncclMemFree, void *pointer)
{
    ENTER_PLAIN();
    int code = gpu() ? gpu()->release((uintptr_t)pointer) : 35;
    return code ? gpu_failed(code, "ncclMemFree") : SUCCESS;
}
#endif

#if NCCL_CODE >= 22200
struct sim_info {
    size_t size;
    unsigned magic, version;
    float estimated_time;
};

API(ncclGroupSimulateEnd, struct sim_info *info)
{
    ENTER_PLAIN();
    if (info && (info->magic != 0x74685283u || info->size < sizeof *info))
        return fail(INVALID_ARGUMENT, "ncclSimInfo_t argument not initialized via NCCL_SIM_INFO_INITIALIZER");
    if (group_depth == 0)
        return fail(INVALID_USAGE, "ncclGroupEnd: not in a group call.");
    group_failed(INTERNAL_ERROR); /* drops what is in the group */
    ncclResult_t code = group_end();
    if (info)
        info->estimated_time = 1;
    return code == INTERNAL_ERROR ? SUCCESS : code;
}
#endif

#if NCCL_CODE >= 22400
FAKE_EXPORT void pncclResetDebugInit(void) __attribute__((alias("ncclResetDebugInit")));
FAKE_EXPORT void ncclResetDebugInit(void)
{
}
#endif
#if NCCL_CODE >= 22700
NOT_MODELLED(ncclCommShrink)
NOT_MODELLED(ncclCommWindowRegister)
NOT_MODELLED(ncclCommWindowDeregister)
#endif
#if NCCL_CODE >= 22803
NOT_MODELLED(ncclDevCommCreate)
NOT_MODELLED(ncclDevCommDestroy)
#endif
#if NCCL_CODE >= 22807
NOT_MODELLED(ncclCommRevoke)
#endif
#if NCCL_CODE >= 22902
NOT_MODELLED(ncclCommGetUniqueId)
NOT_MODELLED(ncclCommGrow)
NOT_MODELLED(ncclPutSignal)
NOT_MODELLED(ncclSignal)
NOT_MODELLED(ncclWaitSignal)
NOT_MODELLED(ncclWinGetUserPtr)
NOT_MODELLED(ncclCommQueryProperties)
NOT_MODELLED(ncclGetPeerDevicePointer)
#endif
#if NCCL_CODE >= 22907
NOT_MODELLED(ncclCommSuspend)
NOT_MODELLED(ncclCommResume)
NOT_MODELLED(ncclCommMemStats)
#endif
#if NCCL_CODE >= 23004
NOT_MODELLED(ncclParamBind)
NOT_MODELLED(ncclParamGetI8)
NOT_MODELLED(ncclParamGetI16)
NOT_MODELLED(ncclParamGetI32)
NOT_MODELLED(ncclParamGetI64)
NOT_MODELLED(ncclParamGetU8)
NOT_MODELLED(ncclParamGetU16)
NOT_MODELLED(ncclParamGetU32)
NOT_MODELLED(ncclParamGetU64)
NOT_MODELLED(ncclParamGetStr)
NOT_MODELLED(ncclParamGet)
NOT_MODELLED(ncclParamGetParameter)
NOT_MODELLED(ncclParamGetAllParameterKeys)
NOT_MODELLED(ncclParamDumpAll)
#endif

#if NCCL_CODE >= 23200 && !defined FAKE_RCCL
#define WITH_CONFIG(name, parameters, ...)                                                                                         \
    ncclResult_t name parameters;                                                                                                  \
    API(name##Config, WITH_CONFIG_PARAMETERS parameters, const void *config)                                                       \
    {                                                                                                                              \
        (void)config;                                                                                                              \
        return name(__VA_ARGS__);                                                                                                  \
    }
#define WITH_CONFIG_PARAMETERS(...) __VA_ARGS__
typedef ncclComm_t C;
WITH_CONFIG(ncclAllReduce, (const void *s, void *r, size_t n, int t, int op, C c, void *st), s, r, n, t, op, c, st)
WITH_CONFIG(ncclBroadcast, (const void *s, void *r, size_t n, int t, int root, C c, void *st), s, r, n, t, root, c, st)
WITH_CONFIG(ncclReduce, (const void *s, void *r, size_t n, int t, int op, int root, C c, void *st), s, r, n, t, op, root, c, st)
WITH_CONFIG(ncclAllGather, (const void *s, void *r, size_t n, int t, C c, void *st), s, r, n, t, c, st)
WITH_CONFIG(ncclReduceScatter, (const void *s, void *r, size_t n, int t, int op, C c, void *st), s, r, n, t, op, c, st)
WITH_CONFIG(ncclAlltoAll, (const void *s, void *r, size_t n, int t, C c, void *st), s, r, n, t, c, st)
WITH_CONFIG(ncclGather, (const void *s, void *r, size_t n, int t, int root, C c, void *st), s, r, n, t, root, c, st)
WITH_CONFIG(ncclScatter, (const void *s, void *r, size_t n, int t, int root, C c, void *st), s, r, n, t, root, c, st)
#endif

#ifdef FAKE_RCCL
NOT_MODELLED(mscclLoadAlgo)
NOT_MODELLED(mscclRunAlgo)
NOT_MODELLED(mscclUnloadAlgo)
#endif
