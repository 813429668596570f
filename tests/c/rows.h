/*
 * Every collective in every form, by number: for tests that go through all of them.
 */
#ifndef ROWS_H
#define ROWS_H

#include <reactant_mpi.h>

enum row {
    ALLREDUCE, REDUCE, REDUCE_SCATTER, SCAN, EXSCAN, REDUCE_SCATTERV, /* those that reduce */
    BCAST, ALLGATHER, ALLTOALL, GATHER, SCATTER, ALLGATHERV, GATHERV, SCATTERV, ALLTOALLV, PERMUTE, BARRIER, N_ROWS
};
static inline int reduces(enum row r)
{
    return r < BCAST;
}

static const char *const row_names[N_ROWS] = {
    "allreduce", "reduce",  "reduce_scatter", "scan",       "exscan",  "reduce_scatterv", "bcast",     "allgather", "alltoall",
    "gather",    "scatter", "allgatherv",     "gatherv",    "scatterv", "alltoallv",      "permute",   "barrier",
};

enum form { BLOCKING, STARTED, PREPARED, N_FORMS };
static const char *const form_names[N_FORMS] = {"", "i", "prepare_"};

struct args {
    const void *send;
    void *recv;
    size_t count;
    const size_t *send_counts, *send_displs, *recv_counts, *recv_displs;
    int type, op, root;
    int source, n_dests;
    const int *dests;
    reactant_mpi_comm *comm;
};

static inline int has_root(enum row r)
{
    return r == REDUCE || r == BCAST || r == GATHER || r == SCATTER || r == GATHERV || r == SCATTERV;
}

/* The communicator and, but for the blocking form, the place for the request follow the arguments. */
static inline int call_row(enum row row, enum form form, const struct args *a, reactant_mpi_request **out)
{
#define FORMS(name, ...)                                                        \
    switch (form) {                                                             \
    case BLOCKING: return reactant_mpi_##name(__VA_ARGS__ a->comm);             \
    case STARTED: return reactant_mpi_i##name(__VA_ARGS__ a->comm, out);        \
    default: return reactant_mpi_prepare_##name(__VA_ARGS__ a->comm, out);      \
    }
#define REDUCTION a->send, a->recv, a->count, a->type, a->op,
#define BLOCKS a->send, a->recv, a->count, a->type,
#define GATHERED a->send, a->count, a->recv, a->recv_counts, a->recv_displs, a->type,
    switch (row) {
    case ALLREDUCE: FORMS(allreduce, REDUCTION)
    case REDUCE: FORMS(reduce, REDUCTION a->root, )
    case REDUCE_SCATTER: FORMS(reduce_scatter, REDUCTION)
    case SCAN: FORMS(scan, REDUCTION)
    case EXSCAN: FORMS(exscan, REDUCTION)
    case REDUCE_SCATTERV: FORMS(reduce_scatterv, a->send, a->recv, a->recv_counts, a->type, a->op, )
    case BCAST: FORMS(bcast, a->recv, a->count, a->type, a->root, )
    case ALLGATHER: FORMS(allgather, BLOCKS)
    case ALLTOALL: FORMS(alltoall, BLOCKS)
    case GATHER: FORMS(gather, BLOCKS a->root, )
    case SCATTER: FORMS(scatter, BLOCKS a->root, )
    case ALLGATHERV: FORMS(allgatherv, GATHERED)
    case GATHERV: FORMS(gatherv, GATHERED a->root, )
    case SCATTERV: FORMS(scatterv, a->send, a->send_counts, a->send_displs, a->recv, a->count, a->type, a->root, )
    case ALLTOALLV:
        FORMS(alltoallv, a->send, a->send_counts, a->send_displs, a->recv, a->recv_counts, a->recv_displs, a->type, )
    case PERMUTE: FORMS(permute, a->send, a->recv, a->count, a->type, a->source, a->n_dests, a->dests, )
    case BARRIER: FORMS(barrier, )
    case N_ROWS: break;
    }
#undef FORMS
#undef REDUCTION
#undef BLOCKS
#undef GATHERED
    return -1;
}

#endif
