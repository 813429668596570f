/* cgo cannot call through the pointers of a struct: one plain function per control call that Go makes. */
#ifndef RMPI_SHIMS_H
#define RMPI_SHIMS_H

#include "mpi/mpi.h"

static inline int do_initialized(const struct rmpi_mpi *m, int *flag) { return m->control->initialized(m, flag); }
static inline int do_finalized(const struct rmpi_mpi *m, int *flag) { return m->control->finalized(m, flag); }
static inline int do_init_thread(const struct rmpi_mpi *m, int want, int *got) { return m->control->init_thread(m, want, got); }
static inline int do_query_thread(const struct rmpi_mpi *m, int *got) { return m->control->query_thread(m, got); }
static inline int do_is_thread_main(const struct rmpi_mpi *m, int *flag) { return m->control->is_thread_main(m, flag); }
static inline int do_finalize(const struct rmpi_mpi *m) { return m->control->finalize(m); }
static inline int do_abort(const struct rmpi_mpi *m, uint64_t c, int code) { return m->control->abort(m, c, code); }
static inline int do_version(const struct rmpi_mpi *m, int *major, int *minor) { return m->control->version(m, major, minor); }
static inline int do_processor_name(const struct rmpi_mpi *m, char *text) { return m->control->processor_name(m, text); }
static inline int do_comm_rank(const struct rmpi_mpi *m, uint64_t c, int *rank) { return m->control->comm_rank(m, c, rank); }
static inline int do_comm_size(const struct rmpi_mpi *m, uint64_t c, int *size) { return m->control->comm_size(m, c, size); }
static inline int do_comm_test_inter(const struct rmpi_mpi *m, uint64_t c, int *flag) { return m->control->comm_test_inter(m, c, flag); }
static inline int do_comm_compare(const struct rmpi_mpi *m, uint64_t a, uint64_t b, int *same)
{
    return m->control->comm_compare(m, a, b, same);
}
static inline int do_comm_free(const struct rmpi_mpi *m, uint64_t c) { return m->control->comm_free(m, c); }
static inline int do_comm_tag_ub(const struct rmpi_mpi *m, uint64_t c, int *ub) { return m->control->comm_tag_ub(m, c, ub); }
static inline int do_comm_fromint(const struct rmpi_mpi *m, int f, uint64_t *c) { return m->control->comm_fromint(m, f, c); }
static inline int do_errors_return(const struct rmpi_mpi *m, uint64_t c) { return m->control->errors_return(m, c); }
static inline int do_make_errors_return(const struct rmpi_mpi *m, uint64_t *handler)
{
    return m->control->make_errors_return(m, handler);
}
static inline int do_errhandler_swap(const struct rmpi_mpi *m, uint64_t c, uint64_t *old) { return m->control->errhandler_swap(m, c, old); }
static inline int do_errhandler_restore(const struct rmpi_mpi *m, uint64_t c, uint64_t old)
{
    return m->control->errhandler_restore(m, c, old);
}
static inline int do_repair(struct rmpi_mpi *m, int *repaired) { return m->control->repair(m, repaired); }
static inline int do_type_size(const struct rmpi_mpi *m, uint64_t type, int *bytes) { return m->control->type_size(m, type, bytes); }
static inline int do_comm_idup(const struct rmpi_mpi *m, uint64_t c, void *result, void *request)
{
    return m->control->comm_idup(m, c, result, request);
}
static inline uint64_t do_comm_of(const struct rmpi_mpi *m, void *result) { return m->control->comm_of(result); }
static inline int do_iallgather(const struct rmpi_mpi *m, void *send, void *recv, int bytes, uint64_t c, void *request)
{
    return m->control->iallgather(m, send, recv, bytes, c, request);
}
static inline int do_iallgatherv(const struct rmpi_mpi *m, void *send, int bytes, void *recv, int *counts, int *displs, uint64_t c,
                                 void *request)
{
    return m->control->iallgatherv(m, send, bytes, recv, counts, displs, c, request);
}

static inline int do_ibcast(const struct rmpi_mpi *m, void *data, int bytes, int root, uint64_t c, void *request)
{
    return m->control->ibcast(m, data, bytes, root, c, request);
}
static inline int do_ibarrier(const struct rmpi_mpi *m, uint64_t c, void *request) { return m->control->ibarrier(m, c, request); }
static inline int do_isend_empty(const struct rmpi_mpi *m, uint64_t c, int dest, int tag, void *request)
{
    return m->control->isend_empty(m, c, dest, tag, request);
}
static inline int do_recv_empty(const struct rmpi_mpi *m, uint64_t c, int source, int tag)
{
    return m->control->recv_empty(m, c, source, tag);
}
static inline int do_comm_split(const struct rmpi_mpi *m, uint64_t c, int color, int key, uint64_t *out)
{
    return m->control->comm_split(m, c, color, key, out);
}
static inline int do_comm_create_group(const struct rmpi_mpi *m, uint64_t c, int n, int *ranks, int tag, uint64_t *out)
{
    return m->control->comm_create_group(m, c, n, ranks, tag, out);
}
static inline int do_fault_tolerant(const struct rmpi_mpi *m, int *flag) { return m->control->fault_tolerant(m, flag); }
static inline int do_comm_revoke(const struct rmpi_mpi *m, uint64_t c) { return m->control->comm_revoke(m, c); }
static inline int do_comm_iagree(const struct rmpi_mpi *m, uint64_t c, int *flag, void *request)
{
    return m->control->comm_iagree(m, c, flag, request);
}
static inline int do_comm_shrink(const struct rmpi_mpi *m, uint64_t c, uint64_t *out) { return m->control->comm_shrink(m, c, out); }

#endif
