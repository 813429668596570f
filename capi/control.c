/* The public control functions: argument checks, then one call into Go, or a look at the communicator's slot. */
#include "_cgo_export.h"
#include "capi/flight.h"
#include "ffi/completer.h"
#include "nccl/nccl.h"

#include <stdlib.h>
#include <string.h>

uint32_t reactant_mpi_version(void)
{
    return REACTANT_MPI_VERSION;
}

/* ---- life ---- */

/* The caller's options in this library's layout: what an older header lacks stays unset. */
static int read_options(const char *function, const reactant_mpi_options *given, reactant_mpi_options *options)
{
    const reactant_mpi_options unset = REACTANT_MPI_OPTIONS_INIT;
    *options = unset;
    if (!given)
        return 0;
    if (given->size < offsetof(reactant_mpi_options, device) || given->size > 4096)
        return rmpi_fail(REACTANT_MPI_ERR_OPTION, "%s: options.size is %zu; start from REACTANT_MPI_OPTIONS_INIT", function,
                         given->size);
    memcpy(options, given, given->size < sizeof *options ? given->size : sizeof *options);
    return 0;
}

static int initialize(const char *function, uintptr_t word, int fcomm, int by_int, const reactant_mpi_options *given,
                      reactant_mpi_comm **out)
{
    reactant_mpi_options options;
    int rc;
    if (!out)
        return rmpi_fail(REACTANT_MPI_ERR_ARGUMENT, "%s: the place for the communicator is NULL", function);
    *out = NULL;
    if ((rc = rmpi_control_refused(function)) != 0 || (rc = read_options(function, given, &options)) != 0)
        return rc;
    return rmpiGoInitialize((char *)(uintptr_t)function, word, fcomm, by_int, &options, out);
}

int reactant_mpi_initialize_with(uintptr_t comm, const reactant_mpi_options *options, reactant_mpi_comm **out)
{
    return initialize("reactant_mpi_initialize", comm, 0, 0, options, out);
}

int reactant_mpi_initialize_fint(int fcomm, const reactant_mpi_options *options, reactant_mpi_comm **out)
{
    return initialize("reactant_mpi_initialize_fint", 0, fcomm, 1, options, out);
}

reactant_mpi_comm *reactant_mpi_initialize(uintptr_t comm)
{
    reactant_mpi_comm *out;
    return reactant_mpi_initialize_with(comm, NULL, &out) == 0 ? out : NULL;
}

int reactant_mpi_finalize(reactant_mpi_comm *comm)
{
    int rc = rmpi_control_refused("reactant_mpi_finalize");
    if (rc != 0)
        return rc;
    if (!comm)
        ffi_completer_end();
    if (!comm || rmpi_comm_live(comm))
        rmpi_settle(rmpi_comm_live(comm));
    return rmpiGoFinalize(comm);
}

int reactant_mpi_comm_split(reactant_mpi_comm *comm, int color, int key, reactant_mpi_comm **out)
{
    int rc;
    if (!out)
        return rmpi_fail(REACTANT_MPI_ERR_ARGUMENT, "reactant_mpi_comm_split: the place for the communicator is NULL");
    *out = NULL;
    if ((rc = rmpi_control_refused("reactant_mpi_comm_split")) != 0)
        return rc;
    return rmpi_comm_live(comm) ? rmpiGoSplit(comm, color, key, out) : rmpi_bad_comm("reactant_mpi_comm_split", comm);
}

int reactant_mpi_comm_create(reactant_mpi_comm *comm, int n, const int *ranks, reactant_mpi_comm **out)
{
    const struct rmpi_comm *c;
    int rc;
    if (!out)
        return rmpi_fail(REACTANT_MPI_ERR_ARGUMENT, "reactant_mpi_comm_create: the place for the communicator is NULL");
    *out = NULL;
    if ((rc = rmpi_control_refused("reactant_mpi_comm_create")) != 0)
        return rc;
    if (n < 1 || !ranks)
        return rmpi_fail(REACTANT_MPI_ERR_ARGUMENT, "reactant_mpi_comm_create: the list of ranks is empty");
    if (!(c = rmpi_comm_live(comm)))
        return rmpi_bad_comm("reactant_mpi_comm_create", comm);
    /* Of more ranks than there are one is outside or comes twice, among the first size + 1 already: no need to read on. */
    return rmpiGoCreate(comm, n > c->size ? c->size + 1 : n, (int *)(uintptr_t)ranks, out);
}

int reactant_mpi_comm_set_timeout(reactant_mpi_comm *comm, int timeout_ms)
{
    int rc = rmpi_control_refused("reactant_mpi_comm_set_timeout");
    if (rc != 0)
        return rc;
    if (timeout_ms < 0)
        return rmpi_fail(REACTANT_MPI_ERR_ARGUMENT, "reactant_mpi_comm_set_timeout: %d milliseconds; it takes 0 (for ever) and more",
                         timeout_ms);
    return rmpi_comm_live(comm) ? rmpiGoSetTimeout(comm, timeout_ms) : rmpi_bad_comm("reactant_mpi_comm_set_timeout", comm);
}

int reactant_mpi_comm_shrink(reactant_mpi_comm *comm, reactant_mpi_comm **out)
{
    int rc;
    if (!out)
        return rmpi_fail(REACTANT_MPI_ERR_ARGUMENT, "reactant_mpi_comm_shrink: the place for the communicator is NULL");
    *out = NULL;
    if ((rc = rmpi_control_refused("reactant_mpi_comm_shrink")) != 0)
        return rc;
    return rmpi_comm_live(comm) ? rmpiGoShrink(comm, out) : rmpi_bad_comm("reactant_mpi_comm_shrink", comm);
}

int reactant_mpi_comm_dup(reactant_mpi_comm *comm, reactant_mpi_comm **out)
{
    int rc;
    if (!out)
        return rmpi_fail(REACTANT_MPI_ERR_ARGUMENT, "reactant_mpi_comm_dup: the place for the communicator is NULL");
    *out = NULL;
    if ((rc = rmpi_control_refused("reactant_mpi_comm_dup")) != 0)
        return rc;
    return rmpi_comm_live(comm) ? rmpiGoDup(comm, out) : rmpi_bad_comm("reactant_mpi_comm_dup", comm);
}

int reactant_mpi_comm_split_node(reactant_mpi_comm *comm, int key, reactant_mpi_comm **out)
{
    int rc;
    if (!out)
        return rmpi_fail(REACTANT_MPI_ERR_ARGUMENT, "reactant_mpi_comm_split_node: the place for the communicator is NULL");
    *out = NULL;
    if ((rc = rmpi_control_refused("reactant_mpi_comm_split_node")) != 0)
        return rc;
    return rmpi_comm_live(comm) ? rmpiGoSplitNode(comm, key, out) : rmpi_bad_comm("reactant_mpi_comm_split_node", comm);
}

int reactant_mpi_set_devices(reactant_mpi_comm *comm, const int64_t *ids, int n)
{
    int rc = rmpi_control_refused("reactant_mpi_set_devices");
    if (rc != 0)
        return rc;
    /* A bad list is for Go to tell every rank. */
    return rmpi_comm_live(comm) ? rmpiGoSetDevices(comm, (int64_t *)(uintptr_t)ids, n)
                                : rmpi_bad_comm("reactant_mpi_set_devices", comm);
}

int reactant_mpi_comm_from_devices(reactant_mpi_comm *comm, const int64_t *ids, int n, reactant_mpi_comm **out)
{
    int rc;
    if (!out)
        return rmpi_fail(REACTANT_MPI_ERR_ARGUMENT, "reactant_mpi_comm_from_devices: the place for the communicator is NULL");
    *out = NULL;
    if ((rc = rmpi_control_refused("reactant_mpi_comm_from_devices")) != 0)
        return rc;
    if (n < 1 || !ids)
        return rmpi_fail(REACTANT_MPI_ERR_ARGUMENT, "reactant_mpi_comm_from_devices: the list of device ids is empty");
    return rmpi_comm_live(comm) ? rmpiGoFromDevices(comm, (int64_t *)(uintptr_t)ids, n, out)
                                : rmpi_bad_comm("reactant_mpi_comm_from_devices", comm);
}

int reactant_mpi_comm_free(reactant_mpi_comm *comm)
{
    return comm ? reactant_mpi_finalize(comm) : rmpi_bad_comm("reactant_mpi_comm_free", comm);
}

int reactant_mpi_abort(reactant_mpi_comm *comm, int code)
{
    const struct rmpi_comm *c;
    int rc = rmpi_forked() ? rmpi_control_refused("reactant_mpi_abort") : 0;
    if (rc != 0)
        return rc;
    if (!comm)
        return rmpiGoAbortWorld(code);
    if (!(c = rmpi_comm_live(comm)))
        return rmpi_bad_comm("reactant_mpi_abort", comm);
    c->mpi->control->abort(c->mpi, c->word, code);
    return rmpi_fail(REACTANT_MPI_ERR_MPI, "reactant_mpi_abort: MPI_Abort returned");
}

/* ---- what it is ---- */

/* The slot if it is live, or MPI ended under it: then it can still be looked at. */
static const struct rmpi_comm *visible(const reactant_mpi_comm *comm)
{
    const struct rmpi_comm *c = rmpi_comm_slot(comm);
    uint32_t state = c ? rmpi_comm_state(c) : RMPI_FREE;
    return state == RMPI_LIVE || state == RMPI_ENDED ? c : NULL;
}

/* Positive codes as negative numbers, below every valid result. */
#define LOOK(function, expression)                                       \
    const struct rmpi_comm *c = visible(comm);                           \
    return likely(c != NULL) ? (expression) : -rmpi_bad_comm(function, comm)

int reactant_mpi_rank(const reactant_mpi_comm *comm)
{
    LOOK("reactant_mpi_rank", c->rank);
}

int reactant_mpi_size(const reactant_mpi_comm *comm)
{
    LOOK("reactant_mpi_size", c->size);
}

int reactant_mpi_local_rank(const reactant_mpi_comm *comm)
{
    LOOK("reactant_mpi_local_rank", c->local_rank);
}

int reactant_mpi_local_size(const reactant_mpi_comm *comm)
{
    LOOK("reactant_mpi_local_size", c->local_size);
}

int reactant_mpi_device(const reactant_mpi_comm *comm)
{
    LOOK("reactant_mpi_device", c->device ? c->device->ordinal : -1);
}

void *reactant_mpi_nccl_comm(const reactant_mpi_comm *comm)
{
    const struct rmpi_comm *c = visible(comm);
    if (c)
        return c->device && !(rmpi_modes(c) & RMPI_DEVICE_FAILED) ? c->device->comm : NULL;
    rmpi_bad_comm("reactant_mpi_nccl_comm", comm);
    return NULL;
}

void *reactant_mpi_client(const reactant_mpi_comm *comm)
{
    const struct rmpi_comm *c = visible(comm);
    if (c)
        return c->device ? c->device->client : NULL;
    rmpi_bad_comm("reactant_mpi_client", comm);
    return NULL;
}

int64_t reactant_mpi_comm_id(const reactant_mpi_comm *comm)
{
    LOOK("reactant_mpi_comm_id", rmpi_comm_number(c));
}

int reactant_mpi_comm_error(const reactant_mpi_comm *comm)
{
    LOOK("reactant_mpi_comm_error", __atomic_load_n(&c->error, __ATOMIC_ACQUIRE));
}

uintptr_t reactant_mpi_mpi_comm(const reactant_mpi_comm *comm)
{
    const struct rmpi_comm *c = visible(comm);
    if (c)
        return (uintptr_t)c->word;
    rmpi_bad_comm("reactant_mpi_mpi_comm", comm);
    return 0;
}

size_t reactant_mpi_describe(const reactant_mpi_comm *comm, char *buf, size_t n)
{
    if (buf && n)
        buf[0] = 0;
    if (rmpi_control_refused("reactant_mpi_describe") != 0)
        return 0;
    return rmpiGoDescribe((void *)(uintptr_t)comm, buf, buf ? n : 0);
}

/* ---- errors ---- */

const char *reactant_mpi_last_error(void)
{
    return rmpi_error_text();
}

int reactant_mpi_last_error_code(void)
{
    return rmpi_error_code();
}

const char *reactant_mpi_error_name(int code)
{
    return rmpi_error_name(code);
}
