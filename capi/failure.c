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

int rmpi_call_failed(struct rmpi_comm *c, int code, const char *function, const char *format, ...)
{
    char text[RMPI_STRING_BYTES];
    va_list list;
    int n = snprintf(text, sizeof text, "%s: ", function);
    va_start(list, format);
    vsnprintf(text + n, sizeof text - (size_t)n, format, list);
    va_end(list);
    add_where(c, text, sizeof text);
    rmpi_comm_latch(c, code, text);
    return rmpi_fail_text(code, text);
}

int rmpi_mpi_failed(struct rmpi_comm *c, uint32_t row, int rc)
{
    char text[RMPI_STRING_BYTES];
    rmpi_mpi_error_text(c->mpi, rc, text);
    return rmpi_call_failed(c, REACTANT_MPI_ERR_MPI, rmpi_rows[row].name, "%s failed: %s (MPI error %d)", rmpi_rows[row].mpi, text,
                            rc);
}

int rmpi_out_of_step(const struct rmpi_comm *c, const char *function)
{
    const char *text = __atomic_load_n(&c->error_text, __ATOMIC_ACQUIRE);
    return rmpi_fail(c->error, "%s: communicator %d takes no more calls: %s", function, rmpi_comm_number(c), text ? text : "");
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
