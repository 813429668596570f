/* Calls that are not plain. Each layer is written once, over the record. */
#include "capi/call.h"

static int run_or_split(struct rmpi_comm *c, const struct rmpi_call *a)
{
    int rc = a->large ? rmpi_run_large(c, a) : c->run[a->row](c, a);
    return likely(rc == 0) ? 0 : rmpi_mpi_failed(c, a->row, rc);
}

/* With SERIALIZED a second thread inside MPI would be undefined behaviour; it is told instead. */
static int one_at_a_time(struct rmpi_comm *c, const struct rmpi_call *a)
{
    static int busy;
    int free = 0, rc;
    if (!__atomic_compare_exchange_n(&busy, &free, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return rmpi_call_failed(c, REACTANT_MPI_ERR_THREAD, rmpi_rows[a->row].name,
                                "another thread is inside a call, and MPI was initialised with thread level serialized; initialise "
                                "it with MPI_THREAD_MULTIPLE");
    rc = run_or_split(c, a);
    __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
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
