/* Calls that are not plain. Each layer is written once, over the record. */
#include "capi/call.h"

#include <stdlib.h>
#include <string.h>

static int reduce_a_copy(struct rmpi_comm *c, const struct rmpi_call *a);

static int run_or_split(struct rmpi_comm *c, const struct rmpi_call *a)
{
    int rc;
    if (c->modes & RMPI_COPY_REDUCE && a->row == RMPI_reduce && a->send == REACTANT_MPI_IN_PLACE && a->root != 0 && a->count)
        return reduce_a_copy(c, a);
    rc = a->large ? rmpi_run_large(c, a) : c->run[a->row](c, a);
    return likely(rc == 0) ? 0 : rmpi_mpi_failed(c, a->row, rc);
}

/* The root's input, which stands in recv, is copied; only where an MPI cannot work in place. */
static int reduce_a_copy(struct rmpi_comm *c, const struct rmpi_call *a)
{
    const size_t bytes = a->count * (size_t)rmpi_type_bytes[a->type];
    struct rmpi_call copied = *a;
    void *input = malloc(bytes);
    int rc;
    if (!input)
        return rmpi_call_failed(c, REACTANT_MPI_ERR_MEMORY, rmpi_rows[a->row].name, "no memory for a copy of %zu bytes", bytes);
    memcpy(input, a->recv, bytes);
    copied.send = input;
    rc = run_or_split(c, &copied);
    free(input);
    return rc;
}

/* With SERIALIZED a second thread inside MPI would be undefined behaviour; it is told instead. */
static int one_at_a_time(struct rmpi_comm *c, const struct rmpi_call *a)
{
    int rc;
    if (!rmpi_enter())
        return rmpi_call_failed(c, REACTANT_MPI_ERR_THREAD, rmpi_rows[a->row].name,
                                "another thread is inside a call, and MPI was initialised with thread level serialized; initialise "
                                "it with MPI_THREAD_MULTIPLE");
    rc = run_or_split(c, a);
    rmpi_leave();
    return rc;
}

int rmpi_layers(struct rmpi_comm *c, const struct rmpi_call *a)
{
    const struct rmpi_mpi *m = c->mpi;
    int flag = 0;
    if (c->modes & RMPI_LOOK_FINALIZED && m->control->finalized(m, &flag) == 0 && flag) {
        rmpi_mpi_ends();
        return rmpi_bad_comm(rmpi_rows[a->row].name, c);
    }
    if (c->modes & RMPI_MAIN_THREAD && (m->control->is_thread_main(m, &flag) != 0 || !flag))
        return rmpi_call_failed(c, REACTANT_MPI_ERR_THREAD, rmpi_rows[a->row].name,
                                "MPI was initialised with thread level funneled or single, so only the thread that initialised it "
                                "may call; initialise it with MPI_THREAD_MULTIPLE");
    if (c->modes & RMPI_ONE_AT_A_TIME)
        return one_at_a_time(c, a);
    return run_or_split(c, a);
}
