/* Started and prepared calls: what happens to a request after it was made. */
#include "capi/company.h"
#include "capi/flight.h"
#include "internal/trace/trace.h"

#include <pthread.h>
#include <stdlib.h>

/* ---- requests freed while under way: they are looked at now and then, and their slots used again when they are done ---- */

struct orphan {
    struct orphan *next;
    struct rmpi_request *request;
};
static struct orphan *orphans;
static pthread_mutex_t orphans_lock = PTHREAD_MUTEX_INITIALIZER;

static void adopt(struct rmpi_request *r)
{
    struct orphan *o = malloc(sizeof *o);
    if (!o)
        return; /* the slot is lost, nothing else */
    o->request = r;
    pthread_mutex_lock(&orphans_lock);
    o->next = orphans;
    __atomic_store_n(&orphans, o, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&orphans_lock);
}

/* A look that finds it still under way leaves nothing in the trace. */
static int end_flight(struct rmpi_request *r, int64_t limit_ms, int *open)
{
    const int64_t begin = r->comm->modes & RMPI_TRACE ? rmpi_trace_now() : 0;
    const int rc = rmpi_flight_end(r->comm, &r->call, &r->flight, limit_ms, open);
    if (begin && !*open)
        rmpi_trace_done(r->comm, &r->call, &r->flight, begin, rc);
    return rc;
}

static int is_over(struct rmpi_request *r)
{
    int open = 1;
    if (rmpi_comm_state(r->comm) != RMPI_LIVE)
        return 1;
    end_flight(r, 0, &open);
    return !open;
}

void rmpi_look_at_orphans(void)
{
    if (likely(!__atomic_load_n(&orphans, __ATOMIC_ACQUIRE)))
        return;
    pthread_mutex_lock(&orphans_lock);
    for (struct orphan **at = &orphans, *o; (o = *at) != NULL;) {
        if (!is_over(o->request)) {
            at = &o->next;
            continue;
        }
        *at = o->next;
        rmpi_request_recycle(o->request);
        free(o);
    }
    pthread_mutex_unlock(&orphans_lock);
}

/* ---- wait and test ---- */

enum { PREPARED_ONLY = 0, STARTED = 1, IN_USE = 2 };

int rmpi_bad_request(const char *function, const void *word)
{
    if (rmpi_forked())
        return rmpi_control_refused(function);
    return rmpi_fail(REACTANT_MPI_ERR_REQUEST, "%s: %p is not a live request: it was waited for already, was freed, or is none", function,
                     word);
}

/* The request that a word means, if it can be waited for; NULL with the failure recorded. */
static struct rmpi_request *waitable(const char *function, const void *word, int *rc)
{
    struct rmpi_request *r = rmpi_request_live(word);
    *rc = 0;
    if (unlikely(!r))
        *rc = rmpi_bad_request(function, word);
    else if (unlikely(rmpi_comm_state(r->comm) != RMPI_LIVE))
        *rc = rmpi_bad_comm(function, r->comm);
    else if (unlikely(__atomic_load_n(&r->active, __ATOMIC_ACQUIRE) == PREPARED_ONLY))
        *rc = rmpi_fail(REACTANT_MPI_ERR_STATE, "%s: the prepared call has not been started", function);
    return *rc == 0 ? r : NULL;
}

/* *open as in rmpi_flight_end. */
static int end(const char *function, const void *word, struct rmpi_request *r, int64_t limit_ms, reactant_mpi_status *status, int *open)
{
    uint32_t started = STARTED;
    int rc;
    *open = 0;
    if ((rc = rmpi_admit(r->comm, function)) != 0)
        return rc;
    if (!__atomic_compare_exchange_n(&r->active, &started, IN_USE, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return rmpi_fail(REACTANT_MPI_ERR_REQUEST, "%s: another thread waits for this request", function);
    if (r->flight.watched)
        rmpi_company_enter(r->comm, &r->call);
    rc = end_flight(r, limit_ms, open);
    if (r->flight.watched)
        rmpi_company_leave(r->comm);
    if (*open) {
        __atomic_store_n(&r->active, STARTED, __ATOMIC_RELEASE);
        return rc;
    }
    if (status)
        *status = r->flight.got;
    __atomic_store_n(&r->active, PREPARED_ONLY, __ATOMIC_RELEASE);
    if (!r->prepared && rmpi_request_drop(word))
        rmpi_request_recycle(r);
    return rc;
}

int reactant_mpi_wait(reactant_mpi_request *request, reactant_mpi_status *status)
{
    int rc, open;
    struct rmpi_request *r = waitable("reactant_mpi_wait", request, &rc);
    return r ? end("reactant_mpi_wait", request, r, RMPI_FOR_EVER, status, &open) : rc;
}

int reactant_mpi_wait_for(reactant_mpi_request *request, int timeout_ms, reactant_mpi_status *status)
{
    int rc, open;
    struct rmpi_request *r = waitable("reactant_mpi_wait_for", request, &rc);
    if (!r)
        return rc;
    if (timeout_ms < 0)
        return rmpi_fail(REACTANT_MPI_ERR_ARGUMENT, "reactant_mpi_wait_for: a wait of %d ms; reactant_mpi_wait waits for ever", timeout_ms);
    rc = end("reactant_mpi_wait_for", request, r, timeout_ms, status, &open);
    if (!open || rc != 0)
        return rc;
    return rmpi_fail(REACTANT_MPI_ERR_TIMEOUT, "reactant_mpi_wait_for: %s on communicator %d is not done after %d ms",
                     rmpi_rows[r->call.row].name, rmpi_comm_number(r->comm), timeout_ms);
}

int reactant_mpi_test(reactant_mpi_request *request, int *done, reactant_mpi_status *status)
{
    int rc, open = 1;
    struct rmpi_request *r;
    if (!done)
        return rmpi_fail(REACTANT_MPI_ERR_ARGUMENT, "reactant_mpi_test: the place for the answer is NULL");
    *done = 0;
    if (!(r = waitable("reactant_mpi_test", request, &rc)))
        return rc;
    rc = end("reactant_mpi_test", request, r, 0, status, &open);
    *done = !open;
    return rc;
}

/* All of a list must be waitable, or none is touched. */
static int check_list(const char *function, int n, reactant_mpi_request **requests)
{
    int rc = 0;
    if (n < 0 || (n > 0 && !requests))
        return rmpi_fail(REACTANT_MPI_ERR_ARGUMENT, "%s: the list of %d requests is not there", function, n);
    for (int i = 0; i < n; i++)
        if (requests[i] && !waitable(function, requests[i], &rc))
            return rc;
    return 0;
}

static void nothing(reactant_mpi_status *status)
{
    *status = (reactant_mpi_status){REACTANT_MPI_PROC_NULL, REACTANT_MPI_ANY_TAG, 0};
}

int reactant_mpi_waitall(int n, reactant_mpi_request **requests, reactant_mpi_status *statuses)
{
    static const char *const name = "reactant_mpi_waitall";
    int first = check_list(name, n, requests);
    if (first != 0)
        return first;
    for (int i = 0; i < n; i++) {
        int rc = 0, open;
        struct rmpi_request *r;
        if (statuses)
            nothing(&statuses[i]);
        if (!requests[i] || !(r = waitable(name, requests[i], &rc))) { /* the same one twice in the list */
            first = first == 0 ? rc : first;
            continue;
        }
        rc = end(name, requests[i], r, RMPI_FOR_EVER, statuses ? &statuses[i] : NULL, &open);
        if (!r->prepared)
            requests[i] = NULL;
        first = first == 0 ? rc : first;
    }
    return first;
}

int reactant_mpi_testall(int n, reactant_mpi_request **requests, int *done, reactant_mpi_status *statuses)
{
    static const char *const name = "reactant_mpi_testall";
    int rc;
    if (!done)
        return rmpi_fail(REACTANT_MPI_ERR_ARGUMENT, "%s: the place for the answer is NULL", name);
    *done = 0;
    if ((rc = check_list(name, n, requests)) != 0)
        return rc;
    /* Each is looked at without ending it, so that either all are gone afterwards or none. */
    for (int i = 0; i < n; i++)
        if (requests[i]) {
            struct rmpi_request *r = rmpi_request_live(requests[i]);
            if ((rc = rmpi_admit(r->comm, name)) != 0)
                return rc;
            if (!rmpi_flight_done(r->comm, &r->call, &r->flight))
                return 0;
        }
    *done = 1;
    return reactant_mpi_waitall(n, requests, statuses);
}

/* ---- prepared ---- */

int reactant_mpi_start(reactant_mpi_request *request)
{
    static const char *const name = "reactant_mpi_start";
    struct rmpi_request *r = rmpi_request_live(request);
    uint32_t idle = PREPARED_ONLY;
    int rc;
    if (!r || !r->prepared)
        return r ? rmpi_fail(REACTANT_MPI_ERR_STATE, "%s: the call is started already; it was not prepared", name)
                 : rmpi_bad_request(name, request);
    if (rmpi_comm_state(r->comm) != RMPI_LIVE)
        return rmpi_bad_comm(name, r->comm);
    if (!__atomic_compare_exchange_n(&r->active, &idle, IN_USE, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return rmpi_fail(REACTANT_MPI_ERR_STATE, "%s: the call is started already; wait for it first", name);
    rc = rmpi_begin(r->comm, &r->call, &r->flight);
    __atomic_store_n(&r->active, rc == 0 ? STARTED : PREPARED_ONLY, __ATOMIC_RELEASE);
    return rc;
}

int reactant_mpi_request_free(reactant_mpi_request *request)
{
    struct rmpi_request *r = rmpi_request_live(request);
    /* In a forked child the lock may be held by a thread that does not exist there. */
    if (rmpi_forked() || !r || !rmpi_request_drop(request))
        return rmpi_bad_request("reactant_mpi_request_free", request);
    if (__atomic_load_n(&r->active, __ATOMIC_ACQUIRE) == PREPARED_ONLY)
        rmpi_request_recycle(r);
    else
        adopt(r);
    return 0;
}
