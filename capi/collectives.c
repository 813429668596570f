/*
 * The public functions of the table: for each row the blocking function and, for collectives, the prepared one. A blocking call is
 * handle check, record check, one indirect call; no Go, no lock, no allocation, no thread-local storage unless it fails.
 */
#include "capi/check.h"
#include "capi/flight.h"
#include "internal/table/shapes.h"

const struct rmpi_row rmpi_rows[RMPI_ROWS] = {
#include "capi/rows.inc"
};

static inline __attribute__((always_inline)) int blocking(uint32_t row, const void *word, struct rmpi_call *a)
{
    struct rmpi_comm *c = rmpi_comm_live(word);
    return likely(c != NULL) ? rmpi_blocking(&rmpi_rows[row], row, c, a) : rmpi_bad_comm(rmpi_rows[row].name, word);
}

/* A checked record into a request. *out is NULL unless all is well. */
static inline __attribute__((always_inline)) struct rmpi_request *make(const char *name, uint32_t row, const void *word,
                                                                       struct rmpi_call *a, reactant_mpi_request **out, void **handle,
                                                                       int *rc)
{
    struct rmpi_comm *c = rmpi_comm_live(word);
    struct rmpi_request *r = NULL;
    if (!out) {
        *rc = rmpi_fail(REACTANT_MPI_ERR_ARGUMENT, "%s: the place for the request is NULL", name);
        return NULL;
    }
    *out = NULL;
    if (!c) {
        *rc = rmpi_bad_comm(name, word);
        return NULL;
    }
    a->row = row;
    if ((*rc = check(&rmpi_rows[row], c, a)))
        return NULL;
    if (!(r = rmpi_request_new(c, handle))) {
        rmpi_look_at_orphans(RMPI_ALL);
        r = rmpi_request_new(c, handle);
    }
    if (!r) {
        *rc = rmpi_call_failed(c, REACTANT_MPI_ERR_MEMORY, rmpi_rows[row].name,
                               "all %d requests of the process are in use; free some (reactant_mpi_request_free), or wait for them",
                               RMPI_REQUEST_SLOTS);
        return NULL;
    }
    r->call = *a;
    return r;
}

static inline __attribute__((always_inline)) int prepare(const char *name, uint32_t row, const void *word, struct rmpi_call *a,
                                                         reactant_mpi_request **out)
{
    void *handle = NULL;
    int rc = 0;
    struct rmpi_request *r = make(name, row, word, a, out, &handle, &rc);
    if (!r)
        return rc;
    r->prepared = 1;
    rmpi_request_give(r, RMPI_REQUEST_IDLE);
    *out = handle;
    return 0;
}

static inline __attribute__((always_inline)) int start(const char *name, uint32_t row, const void *word, struct rmpi_call *a,
                                                       reactant_mpi_request **out)
{
    void *handle = NULL;
    int rc = 0;
    struct rmpi_request *r = make(name, row, word, a, out, &handle, &rc);
    if (!r)
        return rc;
    if ((rc = rmpi_begin(r->comm, &r->call, &r->flight)) != 0) {
        rmpi_request_recycle(r);
        return rc;
    }
    r->prepared = 0;
    rmpi_request_give(r, RMPI_REQUEST_STARTED);
    *out = handle;
    return 0;
}

#define FORM(form, name, shape)                                                                               \
    int reactant_mpi_##form##name(PARAMS_##shape reactant_mpi_comm *comm, reactant_mpi_request **out)         \
    {                                                                                                         \
        struct rmpi_call a;                                                                                   \
        STORE_##shape(a);                                                                                     \
        return FORM_##form("reactant_mpi_" #form #name, RMPI_##name, comm, &a, out);                          \
    }
#define FORM_i start
#define FORM_prepare_ prepare

#define PAIR(name, shape, ...)                                                         \
    int reactant_mpi_##name(PARAMS_##shape reactant_mpi_comm *comm AFTER_COMM_##shape) \
    {                                                                                  \
        struct rmpi_call a;                                                            \
        STORE_##shape(a);                                                              \
        return blocking(RMPI_##name, comm, &a);                                        \
    }
#define PROBE PAIR
#define MESSAGE(name, shape, ...)                                                                 \
    PAIR(name, shape)                                                                             \
    int reactant_mpi_i##name(PARAMS_##shape reactant_mpi_comm *comm, reactant_mpi_request **out)  \
    {                                                                                             \
        struct rmpi_call a;                                                                       \
        reactant_mpi_status *const status = NULL; /* wait gives it */                             \
        (void)status;                                                                             \
        STORE_##shape(a);                                                                         \
        return start("reactant_mpi_i" #name, RMPI_##name, comm, &a, out);                         \
    }
#define COLLECTIVE(name, shape, ...)                                                  \
    int reactant_mpi_##name(PARAMS_##shape reactant_mpi_comm *comm)                   \
    {                                                                                 \
        struct rmpi_call a;                                                           \
        STORE_##shape(a);                                                             \
        return blocking(RMPI_##name, comm, &a);                                       \
    }                                                                                 \
    FORM(i, name, shape)                                                              \
    FORM(prepare_, name, shape)
#define VARIED COLLECTIVE
#define EXCHANGE COLLECTIVE
#include "internal/table/rows.inc"
#include "internal/table/end.h"

int rmpi_call_row(uint32_t row, const void *word, struct rmpi_call *a)
{
    return blocking(row, word, a);
}

int rmpi_start_row(uint32_t row, const void *word, struct rmpi_call *a, reactant_mpi_request **out)
{
    return start(rmpi_rows[row].name, row, word, a, out);
}

int reactant_mpi_run(reactant_mpi_request *request)
{
    struct rmpi_request *r;
    const enum rmpi_phase phase = rmpi_request_look(request, &r);
    if (unlikely(phase == RMPI_REQUEST_GONE))
        return rmpi_bad_request("reactant_mpi_run", request);
    if (unlikely(rmpi_comm_state(rmpi_request_comm(r)) != RMPI_LIVE))
        return rmpi_bad_comm("reactant_mpi_run", rmpi_request_comm(r));
    if (unlikely(phase != RMPI_REQUEST_IDLE))
        return rmpi_fail(REACTANT_MPI_ERR_STATE, "reactant_mpi_run: the call has been started; wait for it");
    return rmpi_now(r->call.row, r->comm, &r->call);
}
