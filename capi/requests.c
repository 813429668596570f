/* Started and prepared calls: what happens to a request after it was made. */
#include "capi/company.h"
#include "capi/flight.h"
#include "internal/trace/trace.h"

/* A look that finds it still under way leaves nothing in the trace. */
int rmpi_end_request(struct rmpi_request *r, int64_t limit_ms, int *open)
{
    const int64_t begin = rmpi_modes(r->comm) & RMPI_TRACE ? rmpi_trace_now() : 0;
    const int rc = rmpi_flight_end(r->comm, &r->call, &r->flight, limit_ms, open);
    if (begin && !*open)
        rmpi_trace_done(r->comm, &r->call, &r->flight, begin, rc);
    return rc;
}

int rmpi_bad_request(const char *function, const void *word)
{
    if (rmpi_forked())
        return rmpi_control_refused(function);
    return rmpi_fail(REACTANT_MPI_ERR_REQUEST, "%s: %p is not a live request: it was waited for already, was freed, or is none", function,
                     word);
}

/* Whether a word means a request that can be waited for: 0, or the public code with the failure recorded. */
static int waitable(const char *function, const void *word)
{
    struct rmpi_request *r;
    const enum rmpi_phase phase = rmpi_request_look(word, &r);
    if (unlikely(phase == RMPI_REQUEST_GONE))
        return rmpi_bad_request(function, word);
    if (unlikely(rmpi_comm_state(rmpi_request_comm(r)) != RMPI_LIVE))
        return rmpi_bad_comm(function, rmpi_request_comm(r));
    if (unlikely(phase == RMPI_REQUEST_IDLE))
        return rmpi_fail(REACTANT_MPI_ERR_STATE, "%s: the prepared call has not been started", function);
    return 0;
}

/* It is in another phase than wanted. */
static int not_taken(const char *function, const void *word)
{
    struct rmpi_request *r;
    return rmpi_request_look(word, &r) == RMPI_REQUEST_GONE
               ? rmpi_bad_request(function, word)
               : rmpi_fail(REACTANT_MPI_ERR_REQUEST, "%s: another thread is using this request", function);
}

/* A started request for this thread alone, which may call; NULL with the failure recorded. */
static struct rmpi_request *take_started(const char *function, const void *word, int *rc)
{
    struct rmpi_request *r = NULL;
    if ((*rc = waitable(function, word)) != 0)
        return NULL;
    if (!(r = rmpi_request_take(word, RMPI_REQUEST_STARTED)))
        *rc = not_taken(function, word);
    else if ((*rc = rmpi_admit(r->comm, function)) != 0)
        rmpi_request_give(r, RMPI_REQUEST_STARTED);
    return *rc == 0 ? r : NULL;
}

/* Ends a request that this thread has taken, and gives it back; *open as in rmpi_flight_end, then it is still taken. *place becomes NULL
 * if the request is gone. */
static int end(struct rmpi_request *r, int64_t limit_ms, reactant_mpi_status *status, reactant_mpi_request **place, int *open)
{
    int rc;
    if (r->flight.watched)
        rmpi_company_enter(r->comm, &r->call);
    rc = rmpi_end_request(r, limit_ms, open);
    if (r->flight.watched)
        rmpi_company_leave(r->comm);
    if (*open)
        return rc;
    if (status)
        *status = r->flight.got;
    if (r->prepared) {
        rmpi_request_give(r, RMPI_REQUEST_IDLE);
        return rc;
    }
    rmpi_request_give(r, RMPI_REQUEST_GONE);
    rmpi_request_recycle(r);
    if (place)
        *place = NULL;
    return rc;
}

static int wait_until(const char *function, reactant_mpi_request *request, int64_t limit_ms, reactant_mpi_status *status,
                      reactant_mpi_request **place, int *open)
{
    int rc;
    struct rmpi_request *r = take_started(function, request, &rc);
    *open = 1;
    if (!r)
        return rc;
    rc = end(r, limit_ms, status, place, open);
    if (*open)
        rmpi_request_give(r, RMPI_REQUEST_STARTED);
    return rc;
}

int reactant_mpi_wait(reactant_mpi_request *request, reactant_mpi_status *status)
{
    int open;
    return wait_until("reactant_mpi_wait", request, RMPI_FOR_EVER, status, NULL, &open);
}

int reactant_mpi_wait_for(reactant_mpi_request *request, int timeout_ms, reactant_mpi_status *status)
{
    static const char *const name = "reactant_mpi_wait_for";
    struct rmpi_request *r;
    int open, rc = waitable(name, request);
    if (rc != 0)
        return rc;
    if (timeout_ms < 0)
        return rmpi_fail(REACTANT_MPI_ERR_ARGUMENT, "%s: a wait of %d ms; reactant_mpi_wait waits for ever", name, timeout_ms);
    if (!(r = take_started(name, request, &rc)))
        return rc;
    rc = end(r, timeout_ms, status, NULL, &open);
    if (!open)
        return rc;
    if (rc == 0)
        rc = rmpi_fail(REACTANT_MPI_ERR_TIMEOUT, "%s: %s on communicator %d is not done after %d ms", name, rmpi_rows[r->call.row].name,
                       rmpi_comm_number(r->comm), timeout_ms);
    rmpi_request_give(r, RMPI_REQUEST_STARTED);
    return rc;
}

int reactant_mpi_test(reactant_mpi_request *request, int *done, reactant_mpi_status *status)
{
    int rc, open;
    if (!done)
        return rmpi_fail(REACTANT_MPI_ERR_ARGUMENT, "reactant_mpi_test: the place for the answer is NULL");
    *done = 0;
    rc = wait_until("reactant_mpi_test", request, 0, status, NULL, &open);
    *done = !open;
    return rc;
}

/* All of a list must be waitable, or none is touched. */
static int check_list(const char *function, int n, reactant_mpi_request **requests)
{
    int rc;
    if (n < 0 || (n > 0 && !requests))
        return rmpi_fail(REACTANT_MPI_ERR_ARGUMENT, "%s: the list of %d requests is not there", function, n);
    for (int i = 0; i < n; i++)
        if (requests[i] && (rc = waitable(function, requests[i])) != 0)
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
        int rc, open;
        if (statuses)
            nothing(&statuses[i]);
        if (!requests[i])
            continue;
        rc = wait_until(name, requests[i], RMPI_FOR_EVER, statuses ? &statuses[i] : NULL, &requests[i], &open);
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
            struct rmpi_request *r = take_started(name, requests[i], &rc);
            int is_done;
            if (!r)
                return rc;
            is_done = rmpi_flight_done(r->comm, &r->call, &r->flight);
            rmpi_request_give(r, RMPI_REQUEST_STARTED);
            if (!is_done)
                return 0;
        }
    rc = reactant_mpi_waitall(n, requests, statuses);
    *done = rc != REACTANT_MPI_ERR_REQUEST; /* the same one twice in the list */
    return rc;
}

/* ---- prepared ---- */

int reactant_mpi_start(reactant_mpi_request *request)
{
    static const char *const name = "reactant_mpi_start";
    struct rmpi_request *r;
    int rc;
    if (rmpi_request_look(request, &r) == RMPI_REQUEST_GONE)
        return rmpi_bad_request(name, request);
    if (rmpi_comm_state(rmpi_request_comm(r)) != RMPI_LIVE)
        return rmpi_bad_comm(name, rmpi_request_comm(r));
    if (!(r = rmpi_request_take(request, RMPI_REQUEST_IDLE)))
        return rmpi_fail(REACTANT_MPI_ERR_STATE, "%s: the call is started already; wait for it first", name);
    rc = rmpi_begin(r->comm, &r->call, &r->flight);
    rmpi_request_give(r, rc == 0 ? RMPI_REQUEST_STARTED : RMPI_REQUEST_IDLE);
    return rc;
}

int reactant_mpi_request_free(reactant_mpi_request *request)
{
    static const char *const name = "reactant_mpi_request_free";
    struct rmpi_request *r;
    if (rmpi_forked()) /* the lock may be held by a thread that does not exist here */
        return rmpi_bad_request(name, request);
    if ((r = rmpi_request_take(request, RMPI_REQUEST_IDLE)) != NULL) {
        rmpi_request_give(r, RMPI_REQUEST_GONE);
        rmpi_request_recycle(r);
    } else if ((r = rmpi_request_take(request, RMPI_REQUEST_STARTED)) != NULL) {
        rmpi_request_give(r, RMPI_REQUEST_GONE);
        rmpi_adopt(r);
    } else {
        return not_taken(name, request);
    }
    return 0;
}
