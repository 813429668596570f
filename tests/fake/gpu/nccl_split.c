/*
 * ncclCommSplit of the doubles of libnccl and librccl.
 * Not modelled: splitShare, sharing of anything between parent and child. ncclCommShrink and ncclCommGrow are in nccl_rest.c.
 */
#include <stdlib.h>

#include "nccl.h"

struct split {
    ncclComm_t parent, child;
    int color, key;
};

/* As meet, but an error of the parent ends it. */
static ncclResult_t gather(ncclComm_t comm)
{
    bool aborted = false;
    uint64_t all = ++comm->host_barriers * (uint64_t)comm->nranks;
    if (atomic_fetch_add(&comm->segment->host_barrier, 1) + 1 == all)
        ring(comm);
    WAIT_UNTIL(comm, comm->segment->host_barrier >= all || (comm->result != SUCCESS && comm->result != IN_PROGRESS), aborted);
    if (comm->segment->host_barrier >= all)
        return SUCCESS;
    return aborted ? INTERNAL_ERROR : comm->result;
}

static ncclResult_t run(const struct split *split)
{
    ncclComm_t parent = split->parent, child = split->child;
    struct peer *peers = parent->segment->peers;
    peers[parent->rank].color = split->color;
    peers[parent->rank].key = split->key;
    ncclResult_t code = gather(parent);
    int rank = 0, n = 0;
    for (int i = 0; i < parent->nranks && code == SUCCESS; i++) {
        if (peers[i].color != split->color)
            continue;
        n++;
        rank += peers[i].key < split->key || (peers[i].key == split->key && i < parent->rank);
    }
    if (code == SUCCESS)
        code = gather(parent); /* all have read */
    parent->splits++;
    if (code != SUCCESS || !child)
        return code;
    child->rank = rank;
    child->nranks = n;
    derived_name(parent->name, parent->splits, split->color, child->name);
    return init_run(child);
}

static void *run_apart(void *argument)
{
    struct split *split = argument;
    ncclResult_t code = run(split);
    int busy = IN_PROGRESS;
    if (split->child)
        split->child->result = code;
    atomic_compare_exchange_strong(&split->parent->result, &busy, code);
    free(split);
    return NULL;
}

API(ncclCommSplit, ncclComm_t comm, int color, int key, ncclComm_t *out, const void *config)
{
    ENTER(color, -1, -1, key, comm, NULL);
    ncclResult_t code = comm_ready(comm, __func__);
    if (code != SUCCESS)
        return code;
    if (!out || color < -1)
        return fail(INVALID_ARGUMENT, "ncclCommSplit: invalid argument (color %d)", color);
    struct config own;
    code = config_read(&own, config, &comm->config);
    if (code != SUCCESS)
        return code;
    struct split split = {comm, color < 0 ? NULL : comm_new(-1, 0, &own), color, key};
    if (split.child)
        split.child->device = comm->device;
    *out = split.child;
    if (!comm->blocking) {
        struct split *copy = malloc(sizeof *copy);
        *copy = split;
        comm->result = IN_PROGRESS;
        if (split.child)
            split.child->result = IN_PROGRESS;
        comm_help(comm, run_apart, copy);
        return IN_PROGRESS;
    }
    code = run(&split);
    if (code != SUCCESS) {
        if (split.child)
            comm_close(split.child, FAILED);
        *out = NULL;
    }
    return code;
}
