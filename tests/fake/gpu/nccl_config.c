/*
 * ncclConfig_t as each version of NCCL reads it: what is copied, which fields a caller's version resets, which values are refused.
 * Not modelled: what the fields do, but for blocking. Stricter than the real one: a size below that of 2.14 is refused.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "nccl.h"

enum { UNDEFINED = INT_MIN, MAGIC = 0xcafebeef };
enum { OWN_SIZE = NCCL_CODE >= 23200   ? 120
                  : NCCL_CODE >= 23100 ? 112
                  : NCCL_CODE >= 23000 ? 96
                  : NCCL_CODE >= 22900 ? 88
                  : NCCL_CODE >= 22800 ? 80
                  : NCCL_CODE >= 22700 ? 72
                                       : 48 };

_Static_assert(offsetof(struct config, comm_name) == 48 && offsetof(struct config, n_channels_per_net_peer) == 72, "2.28");
_Static_assert(offsetof(struct config, nvls_host_mode) == 112 && sizeof(struct config) == 120, "2.32");

static unsigned char last[128];
static size_t n_last;

/* The fields that came after the first, and since when one of a caller's version counts. */
static const struct { size_t offset; unsigned since; int low, high; const char *name; } fields[] = {
    {offsetof(struct config, blocking), 21400, 0, 1, "blocking"},
    {offsetof(struct config, cga_cluster_size), 21700, 0, 8, "cgaClusterSize"},
    {offsetof(struct config, min_ctas), 21700, 1, INT_MAX, "minCTAs"},
    {offsetof(struct config, max_ctas), 21700, 1, INT_MAX, "maxCTAs"},
    {offsetof(struct config, split_share), 21800, 0, 1, "splitShare"},
    {offsetof(struct config, traffic_class), 22500, 0, INT_MAX, "trafficClass"},
    {offsetof(struct config, collnet_enable), 22700, 0, 1, "collnetEnable"},
    {offsetof(struct config, cta_policy), 22700, 0, 7, "CTAPolicy"},
    {offsetof(struct config, shrink_share), 22700, 0, 1, "shrinkShare"},
    {offsetof(struct config, nvls_ctas), 22700, 1, INT_MAX, "nvlsCTAs"},
    {offsetof(struct config, n_channels_per_net_peer), 22800, 1, INT_MAX, "nChannelsPerNetPeer"},
    {offsetof(struct config, nvlink_centric_sched), 22800, 0, 1, "nvlinkCentricSched"},
    {offsetof(struct config, graph_usage_mode), 22900, 0, 2, "graphUsageMode"},
    {offsetof(struct config, num_rma_ctx), 22900, 1, INT_MAX, "numRmaCtx"},
    {offsetof(struct config, max_p2p_peers), 23000, 1, INT_MAX, "maxP2pPeers"},
    {offsetof(struct config, graph_stream_ordering), 23005, 0, 1, "graphStreamOrdering"},
    {offsetof(struct config, launch_order_implicit), 23100, 0, 1, "launchOrderImplicit"},
    {offsetof(struct config, num_rma_sig), 23100, 0, INT_MAX, "numRmaSig"},
    {offsetof(struct config, rma_eager_init), 23100, 0, 1, "rmaEagerInit"},
    {offsetof(struct config, host_cft_mode), 23100, 0, INT_MAX, "hostCftMode"},
    {offsetof(struct config, nvls_host_mode), 23200, 0, INT_MAX, "nvlsHostMode"},
};

static int *field(struct config *config, size_t i)
{
    return (int *)((char *)config + fields[i].offset);
}

ncclResult_t config_read(struct config *into, const void *user, const struct config *parent)
{
    *into = (struct config){.size = OWN_SIZE, .magic = MAGIC, .version = NCCL_CODE};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        *field(into, i) = UNDEFINED;
    if (parent && !user)
        *into = *parent;
    if (user) {
        size_t size;
        memcpy(&size, user, sizeof size);
        if (size < 24)
            return fail(INVALID_ARGUMENT, "ncclConfig_t of size %zu: not initialized via NCCL_CONFIG_INITIALIZER", size);
        n_last = size < sizeof last ? size : sizeof last;
        memcpy(last, user, n_last);
        memcpy(into, user, size < OWN_SIZE ? size : OWN_SIZE);
        if (into->magic != (unsigned)MAGIC)
            return fail(INVALID_ARGUMENT, "ncclConfig_t argument not initialized via NCCL_CONFIG_INITIALIZER");
    }
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        int *value = field(into, i);
        if (into->version < fields[i].since)
            *value = UNDEFINED;
        if (*value != UNDEFINED && fields[i].offset < OWN_SIZE && (fields[i].since != 22500 || NCCL_CODE >= 22600) &&
            (*value < fields[i].low || *value > fields[i].high))
            return fail(INVALID_ARGUMENT, "Invalid config %s attribute value %d", fields[i].name, *value);
    }
    if (into->min_ctas > into->max_ctas && into->max_ctas != UNDEFINED)
        return fail(INVALID_ARGUMENT, "Invalid config min/max channels attribute value %d/%d", into->min_ctas, into->max_ctas);
    if (into->blocking == UNDEFINED)
        into->blocking = 1;
    const char *env = getenv("NCCL_COMM_BLOCKING");
    if (env && (strcmp(env, "0") == 0 || strcmp(env, "1") == 0))
        into->blocking = *env == '1';
    return SUCCESS;
}

/* The bytes of the newest ncclConfig_t that this process gave. */
FAKE_EXPORT size_t fake_nccl_last_config(void *out, size_t n)
{
    memcpy(out, last, n < n_last ? n : n_last);
    return n_last;
}
