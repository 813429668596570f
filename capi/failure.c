/* Failed data calls: all of it cold, none of it Go. */
#include "capi/call.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* " [communicator 1, rank 0 of 2 on host; library path]": who failed, for a log of many ranks. */
static void add_where(const struct rmpi_comm *c, char *text, size_t size)
{
    size_t n = strlen(text);
    snprintf(text + n, size - n, " [communicator %d, rank %d of %d on %s; %s]", rmpi_comm_number(c), c->rank, c->size, c->host,
             c->mpi->path);
}

static void compose(const struct rmpi_comm *c, char text[RMPI_STRING_BYTES], const char *function, const char *format, va_list list)
{
    int n = snprintf(text, RMPI_STRING_BYTES, "%s: ", function);
    vsnprintf(text + n, RMPI_STRING_BYTES - (size_t)n, format, list);
    add_where(c, text, RMPI_STRING_BYTES);
}

int rmpi_call_failed(struct rmpi_comm *c, int code, const char *function, const char *format, ...)
{
    char text[RMPI_STRING_BYTES];
    va_list list;
    va_start(list, format);
    compose(c, text, function, format, list);
    va_end(list);
    rmpi_comm_latch(c, code, text);
    return rmpi_fail_text(code, text);
}

int rmpi_call_failed_for_now(struct rmpi_comm *c, int code, const char *function, const char *format, ...)
{
    char text[RMPI_STRING_BYTES];
    va_list list;
    va_start(list, format);
    compose(c, text, function, format, list);
    va_end(list);
    return rmpi_fail_text(code, text);
}

/* Names the failed ranks that MPI tells of; without any the communicator was revoked by a rank that had noticed. */
static int peer_failed(struct rmpi_comm *c, uint32_t row, const char *mpi_text)
{
    enum { MOST = 8 };
    int ranks[MOST], n = 0, at = 0;
    char text[512] = "a rank that noticed the failure of another has ended this communicator (reactant_mpi_comm_shrink)";
    if (c->mpi->control->comm_failed(c->mpi, c->word, MOST, ranks, &n) == 0 && n > 0) {
        for (int i = 0; i < n && i < MOST; i++)
            at += snprintf(text + at, sizeof text - (size_t)at, "%s%d", i ? ", " : n > 1 ? "the processes of ranks " : "the process of rank ",
                           ranks[i]);
        snprintf(text + at, sizeof text - (size_t)at, n > MOST ? " and %d more have ended" : n > 1 ? " have ended" : " has ended", n - MOST);
    }
    rmpi_call_failed(c, REACTANT_MPI_ERR_PEER, rmpi_rows[row].name,
                     "%s, MPI says (%s). reactant_mpi_comm_shrink makes a communicator of those that live", text, mpi_text);
    rmpi_comm_out_of_step(c); /* after the reason, which other threads give from now on */
    return REACTANT_MPI_ERR_PEER;
}

int rmpi_mpi_failed(struct rmpi_comm *c, uint32_t row, int rc)
{
    char text[RMPI_STRING_BYTES];
    rmpi_mpi_error_text(c->mpi, rc, text);
    if (rmpi_is_peer_failure(c->mpi, rc))
        return peer_failed(c, row, text);
    return rmpi_call_failed(c, REACTANT_MPI_ERR_MPI, rmpi_rows[row].name, "%s failed: %s (MPI error %d)", rmpi_rows[row].mpi, text,
                            rc);
}

int rmpi_out_of_step(const struct rmpi_comm *c, const char *function)
{
    const char *text = __atomic_load_n(&c->error_text, __ATOMIC_ACQUIRE);
    return rmpi_fail(__atomic_load_n(&c->error, __ATOMIC_ACQUIRE), "%s: communicator %d takes no more calls: %s", function, rmpi_comm_number(c), text ? text : "");
}

int rmpi_bad_comm(const char *function, const void *word)
{
    const struct rmpi_comm *c = rmpi_comm_slot(word);
    if (rmpi_forked())
        return rmpi_control_refused(function);
    switch (c ? rmpi_comm_state(c) : RMPI_FREE) {
    case RMPI_DEAD:
        return rmpi_fail(REACTANT_MPI_ERR_COMM, "%s: communicator %d has been finalized", function, rmpi_comm_number(c));
    case RMPI_ENDED:
        return rmpi_fail(REACTANT_MPI_ERR_MPI_FINALIZED, "%s: MPI has been finalized under communicator %d (rank %d on %s)", function,
                         rmpi_comm_number(c), c->rank, c->host);
    default:
        return rmpi_fail(REACTANT_MPI_ERR_COMM,
                         "%s: %p is not a communicator of this library; pass what reactant_mpi_initialize returned, or its id",
                         function, word);
    }
}
