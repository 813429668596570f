/*
 * Requests, of fuzz.c: ways to end a started call, what is refused in each state, words that are no request.
 */
#ifndef FUZZ_REQUESTS_H
#define FUZZ_REQUESTS_H

#include "fuzz.h"

/* Every function that takes one request must refuse it with this code. Those that end it count only where it has not been started. */
static void refused(reactant_mpi_request *r, int want, bool not_started)
{
    reactant_mpi_status status;
    reactant_mpi_request *list[3] = {NULL, r, NULL};
    int done = 7;
    switch (draw(not_started ? 5 : 7)) {
    case 0: GIVES(want, CALL(wait, r, one_in(2) ? NULL : &status)); break;
    case 1: GIVES(want, CALL(wait_for, r, (int)draw(3), one_in(2) ? NULL : &status)); break;
    case 2:
        GIVES(want, CALL(test, r, &done, NULL));
        CHECK(done == 0, "%d", done);
        break;
    case 3:
        GIVES(want, CALL(waitall, 3, list, NULL));
        CHECK(list[1] == r, "a refused list is left alone");
        break;
    case 4:
        GIVES(want, CALL(testall, 3, list, &done, NULL));
        CHECK(done == 0 && list[1] == r, "%d", done);
        break;
    case 5: GIVES(want, CALL(run, r)); break;
    case 6: GIVES(want, CALL(start, r)); break;
    }
}

/* End n started calls, in one of the ways. Those that are not prepared are gone afterwards. */
static void finish(int n, reactant_mpi_request **list, reactant_mpi_status *statuses, bool prepared)
{
    reactant_mpi_request *was[8];
    int done = 0;
    memcpy(was, list, (size_t)n * sizeof *list);
    switch (draw(5)) {
    case 0:
        for (int i = n - 1; i >= 0; i--)
            GIVES(0, CALL(wait, list[i], statuses ? &statuses[i] : NULL));
        break;
    case 1:
        for (int i = 0; i < n; i++)
            while (GIVES(ANY_RESULT, CALL(wait_for, list[i], 1000, statuses ? &statuses[i] : NULL)) == REACTANT_MPI_ERR_TIMEOUT)
                ;
        break;
    case 2:
        for (int i = 0; i < n; i++)
            for (done = 0; !done;)
                if (GIVES(0, CALL(test, list[i], &done, statuses ? &statuses[i] : NULL)) != 0)
                    break;
        break;
    case 3: GIVES(0, CALL(waitall, n, list, statuses)); break;
    case 4:
        while (!done)
            if (GIVES(0, CALL(testall, n, list, &done, statuses)) != 0)
                break;
        break;
    }
    for (int i = 0; i < n; i++) {
        if (prepared) {
            if (one_in(4))
                refused(was[i], REACTANT_MPI_ERR_STATE, true);
            continue;
        }
        BURY_REQUEST(was[i]);
        if (one_in(4))
            refused(was[i], REACTANT_MPI_ERR_REQUEST, false);
        if (one_in(8))
            GIVES(REACTANT_MPI_ERR_REQUEST, CALL(request_free, was[i]));
    }
}

static void step_wrong_requests(void)
{
    reactant_mpi_request *const r = wrong_request(), *list[2] = {NULL, NULL};
    int done = 7;
    switch (draw(9)) {
    case 0: GIVES(REACTANT_MPI_ERR_REQUEST, CALL(request_free, r)); break;
    case 1: GIVES(0, CALL(waitall, (int)draw(3), list, NULL)); break;
    case 2: GIVES(REACTANT_MPI_ERR_ARGUMENT, CALL(waitall, -1 - (int)draw(INT32_MAX), list, NULL)); break;
    case 3: GIVES(REACTANT_MPI_ERR_ARGUMENT, CALL(waitall, 1 + (int)draw(1000), NULL, NULL)); break;
    case 4: GIVES(REACTANT_MPI_ERR_ARGUMENT, CALL(testall, one_in(2) ? -1 : 1, NULL, &done, NULL)); break;
    case 5:
        GIVES(REACTANT_MPI_ERR_ARGUMENT, one_in(2) ? CALL(test, r, NULL, NULL) : CALL(testall, 0, list, NULL, NULL));
        break;
    case 6:
        GIVES(0, CALL(testall, (int)draw(3), list, &done, NULL));
        CHECK(done == 1, "a list of nothing is done");
        break;
    default:
        if (r)
            refused(r, REACTANT_MPI_ERR_REQUEST, false);
        else
            GIVES(REACTANT_MPI_ERR_REQUEST, CALL(wait, r, NULL));
    }
}

#endif
