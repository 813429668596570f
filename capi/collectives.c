/*
 * The public functions of the table: for each row the blocking function and, for collectives, the prepared one. A blocking call is
 * handle check, record check, one indirect call; no Go, no lock, no allocation, no thread-local storage unless it fails.
 */
#include "capi/check.h"
#include "internal/table/shapes.h"

const struct rmpi_row rmpi_rows[RMPI_ROWS] = {
#define COLLECTIVE(name, shape, rules, large, function, arguments) \
    {"reactant_mpi_" #name, "MPI_" #function, HAS_##shape | (rules), large},
#define MESSAGE COLLECTIVE
#include "internal/table/rows.inc"
#undef COLLECTIVE
#undef MESSAGE
};

/* A checked record, now. */
static inline __attribute__((always_inline)) int run(struct rmpi_comm *c, const struct rmpi_call *a, uint32_t row)
{
    int rc;
    if (unlikely(c->modes | a->large))
        return rmpi_layers(c, a);
    rc = c->run[row](c, a);
    return likely(rc == 0) ? 0 : rmpi_mpi_failed(c, row, rc);
}

static inline __attribute__((always_inline)) int blocking(uint32_t row, const void *word, struct rmpi_call *a)
{
    struct rmpi_comm *c = rmpi_comm_live(word);
    int rc;
    if (unlikely(!c))
        return rmpi_bad_comm(rmpi_rows[row].name, word);
    a->row = row;
    if (unlikely(rc = check(&rmpi_rows[row], c, a)))
        return rc;
    return run(c, a, row);
}

static inline __attribute__((always_inline)) int prepare(const char *name, uint32_t row, const void *word, struct rmpi_call *a,
                                                         reactant_mpi_request **out)
{
    struct rmpi_comm *c = rmpi_comm_live(word);
    struct rmpi_request *r;
    void *handle = NULL;
    int rc;
    if (!out)
        return rmpi_fail(REACTANT_MPI_ERR_ARGUMENT, "%s: the place for the request is NULL", name);
    *out = NULL;
    if (!c)
        return rmpi_bad_comm(name, word);
    a->row = row;
    if ((rc = check(&rmpi_rows[row], c, a)))
        return rc;
    if (!(r = rmpi_request_new(c, &handle)))
        return rmpi_call_failed(c, REACTANT_MPI_ERR_MEMORY, rmpi_rows[row].name,
                                "all %d requests of the process are in use; free some (reactant_mpi_request_free)",
                                RMPI_REQUEST_SLOTS);
    r->call = *a;
    __atomic_store_n(&r->live, 1, __ATOMIC_RELEASE);
    *out = handle;
    return 0;
}

#define COLLECTIVE(name, shape, ...)                                                                      \
    int reactant_mpi_##name(PARAMS_##shape reactant_mpi_comm *comm)                                       \
    {                                                                                                     \
        struct rmpi_call a;                                                                               \
        STORE_##shape(a);                                                                                 \
        return blocking(RMPI_##name, comm, &a);                                                           \
    }                                                                                                     \
    int reactant_mpi_prepare_##name(PARAMS_##shape reactant_mpi_comm *comm, reactant_mpi_request **out)   \
    {                                                                                                     \
        struct rmpi_call a;                                                                               \
        STORE_##shape(a);                                                                                 \
        return prepare("reactant_mpi_prepare_" #name, RMPI_##name, comm, &a, out);                        \
    }
#define MESSAGE(name, shape, ...)                                                   \
    int reactant_mpi_##name(PARAMS_##shape reactant_mpi_comm *comm AFTER_COMM_##shape) \
    {                                                                               \
        struct rmpi_call a;                                                         \
        STORE_##shape(a);                                                           \
        return blocking(RMPI_##name, comm, &a);                                     \
    }
#include "internal/table/rows.inc"
#undef COLLECTIVE
#undef MESSAGE

int reactant_mpi_run(reactant_mpi_request *request)
{
    struct rmpi_request *r = rmpi_request_live(request);
    if (unlikely(!r))
        return rmpi_fail(REACTANT_MPI_ERR_REQUEST, "reactant_mpi_run: %p is not a live request", (void *)request);
    if (unlikely(rmpi_comm_state(r->comm) != RMPI_LIVE))
        return rmpi_bad_comm("reactant_mpi_run", r->comm);
    return run(r->comm, &r->call, r->call.row);
}

int reactant_mpi_request_free(reactant_mpi_request *request)
{
    /* In a forked child the lock may be held by a thread that does not exist there. */
    if (rmpi_forked())
        return rmpi_control_refused("reactant_mpi_request_free");
    if (!rmpi_request_drop(request))
        return rmpi_fail(REACTANT_MPI_ERR_REQUEST, "reactant_mpi_request_free: %p is not a live request", (void *)request);
    return 0;
}
