/* Jobs (jobs.h) as XLA gives them: operands and results on every rank, blocks one after the other, zeros where MPI would leave a result alone. */
#ifndef FFI_JOBS_H
#define FFI_JOBS_H

#include "ffi.h"
#include "jobs.h"

static handler *const handlers[N_ROWS] = {
    [ALLREDUCE] = reactant_mpi_ffi_allreduce,   [REDUCE] = reactant_mpi_ffi_reduce,
    [REDUCE_SCATTER] = reactant_mpi_ffi_reduce_scatter, [SCAN] = reactant_mpi_ffi_scan,
    [EXSCAN] = reactant_mpi_ffi_exscan,         [REDUCE_SCATTERV] = reactant_mpi_ffi_reduce_scatterv,
    [BCAST] = reactant_mpi_ffi_bcast,           [ALLGATHER] = reactant_mpi_ffi_allgather,
    [ALLTOALL] = reactant_mpi_ffi_alltoall,     [GATHER] = reactant_mpi_ffi_gather,
    [SCATTER] = reactant_mpi_ffi_scatter,       [ALLGATHERV] = reactant_mpi_ffi_allgatherv,
    [GATHERV] = reactant_mpi_ffi_gatherv,       [SCATTERV] = reactant_mpi_ffi_scatterv,
    [ALLTOALLV] = reactant_mpi_ffi_alltoallv,   [PERMUTE] = reactant_mpi_ffi_permute,
    [BARRIER] = reactant_mpi_ffi_barrier,
};

/* 0: it has none of its own. BYTE stands for the 8-bit floats that MPI does not know. */
static int dtype_of(const struct type *t)
{
    switch (t->value) {
    case REACTANT_MPI_BOOL: return PRED;
    case REACTANT_MPI_INT8: return S8;
    case REACTANT_MPI_INT16: return S16;
    case REACTANT_MPI_INT32: return S32;
    case REACTANT_MPI_INT64: return S64;
    case REACTANT_MPI_UINT8: return U8;
    case REACTANT_MPI_UINT16: return U16;
    case REACTANT_MPI_UINT32: return U32;
    case REACTANT_MPI_UINT64: return U64;
    case REACTANT_MPI_FLOAT16: return F16;
    case REACTANT_MPI_BFLOAT16: return BF16;
    case REACTANT_MPI_FLOAT32: return F32;
    case REACTANT_MPI_FLOAT64: return F64;
    case REACTANT_MPI_COMPLEX64: return C64;
    case REACTANT_MPI_COMPLEX128: return C128;
    case REACTANT_MPI_FLOAT8_E4M3FN: return F8E4M3FN;
    case REACTANT_MPI_FLOAT8_E5M2: return F8E5M2;
    default: return F8E8M0FNU;
    }
}

struct counts {
    int64_t all[MAX_RANKS], back[MAX_RANKS]; /* counts, or sendcounts and recvcounts */
    int32_t dests[MAX_RANKS];
    int n_dests, source;
};

static void zeros(struct layout *l, size_t n)
{
    one_piece(l, n, 0, -1);
}

static void line_up(struct layout *l)
{
    l->room = 0;
    for (int k = 0; k < l->n; k++) {
        l->piece[k].at = l->room;
        l->room += l->piece[k].n;
    }
}

static void describe_for_xla(const struct job *j, struct layout *in, struct layout *out, struct counts *c)
{
    const bool root = rank == j->root;
    const size_t n = j->count;
    struct lists unused;
    size_t sum = 0;
    *c = (struct counts){.source = REACTANT_MPI_PROC_NULL};
    describe(j, in, out, &unused);
    for (int r = 0; r < size; r++) {
        const bool from_root = j->row == SCATTERV || j->row == REDUCE_SCATTERV;
        c->all[r] = (int64_t)(j->row == ALLTOALLV ? block(j, rank, r) : from_root ? block(j, 0, r) : block(j, r, 0));
        c->back[r] = (int64_t)block(j, r, rank);
        sum += (size_t)c->all[r];
    }
    if (j->row == BCAST && !root)
        one_piece(in, n, 0, rank);
    if (j->row == SCATTER && !root)
        pieces(in, n);
    for (int r = 0; j->row == SCATTERV && r < size; r++)
        in->n = size, in->piece[r] = (struct piece){0, block(j, 0, r), (size_t)r * BETWEEN, rank};
    if ((j->row == REDUCE && !root) || (j->row == EXSCAN && rank == 0))
        zeros(out, n);
    if (j->row == GATHER && !root)
        zeros(out, (size_t)size * n);
    if (j->row == GATHERV && !root)
        zeros(out, sum);
    if (j->row == PERMUTE) {
        if (source_of(j, rank) >= 0)
            c->source = source_of(j, rank);
        for (int r = 0; r < size; r++)
            if (source_of(j, r) == rank)
                c->dests[c->n_dests++] = r;
    }
    line_up(in), line_up(out);
}

static void frame_of_job(struct XLA_FFI_CallFrame *f, const struct job *j, const struct counts *c, bool wait, void *in, size_t in_n, void *out,
                         size_t out_n, float *token, float *next)
{
    const int dtype = dtype_of(j->t);
    frame_start(f);
    frame_buffer(f, 0, dtype, in, in_n);
    frame_buffer(f, 0, F32, token, 1);
    frame_buffer(f, 1, dtype, out, out_n);
    frame_buffer(f, 1, F32, next, 1);
    frame_common(f, reactant_mpi_comm_id(comm), size, wait);
    if (reduces(j->row))
        frame_scalar(f, "op", S32, j->op);
    if (has_root(j->row))
        frame_scalar(f, "root", S32, j->root);
    if (j->row == PERMUTE) {
        frame_scalar(f, "source", S32, c->source);
        frame_list(f, "dests", S32, c->dests, (size_t)c->n_dests);
    }
    if (j->row == ALLTOALLV) {
        frame_list(f, "sendcounts", S64, c->all, (size_t)size);
        frame_list(f, "recvcounts", S64, c->back, (size_t)size);
    } else if (j->row == ALLGATHERV || j->row == GATHERV || j->row == SCATTERV || j->row == REDUCE_SCATTERV) {
        frame_list(f, "counts", S64, c->all, (size_t)size);
    }
}

#endif
