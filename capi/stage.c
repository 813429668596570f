/*
 * Buffers of ours between MPI and the user's: under a timeout (a call that is given up may still be written to), where MPI reduces
 * 16-bit floats as 32-bit ones, where an MPI cannot work in place or count the displacements; and the arrays of ints that MPI reads
 * until it is done. Blocks lie one after the other here.
 */
#include "capi/flight.h"
#include "node/kernels/half.h"

#include <stdlib.h>
#include <string.h>

struct rmpi_stage {
    struct rmpi_call user, ours;
    int owns_recv, by_f32;
};

/* The elements of one buffer of a call. counts NULL: contiguous. */
struct side {
    size_t elements;
    const size_t *counts, *displs;
};

static size_t sum(const size_t *counts, int n)
{
    size_t total = 0;
    for (int r = 0; r < n; r++)
        total += counts[r];
    return total;
}

static int is_half(int type)
{
    return type == RMPI_FLOAT16 || type == RMPI_BFLOAT16;
}

static enum rmpi_half half_of(int type)
{
    return type == RMPI_FLOAT16 ? RMPI_HALF_F16 : RMPI_HALF_BF16;
}

static int at_root(const struct rmpi_comm *c, const struct rmpi_call *a)
{
    return !(rmpi_rows[a->row].rules & HAS_ROOT) || a->root == c->rank;
}

static int in_place(const struct rmpi_call *a)
{
    return rmpi_rows[a->row].rules & HAS_SEND && a->send == REACTANT_MPI_IN_PLACE;
}

/* Whether the call reads a send buffer here, and writes a receive buffer. */
static int has_send(const struct rmpi_comm *c, const struct rmpi_call *a)
{
    const unsigned rules = rmpi_rows[a->row].rules;
    return rules & HAS_SEND && a->send != REACTANT_MPI_IN_PLACE && (!(rules & SEND_AT_ROOT) || at_root(c, a)) &&
           (a->row != RMPI_permute || a->n_dests > 0);
}

static int has_recv(const struct rmpi_comm *c, const struct rmpi_call *a)
{
    const unsigned rules = rmpi_rows[a->row].rules;
    return rules & HAS_RECV && a->recv != REACTANT_MPI_IN_PLACE && (!(rules & RECV_AT_ROOT) || at_root(c, a));
}

static struct side send_side(const struct rmpi_comm *c, const struct rmpi_call *a)
{
    const unsigned rules = rmpi_rows[a->row].rules;
    const size_t ranks = (size_t)c->size;
    if (rules & HAS_SEND_BLOCKS)
        return (struct side){sum(a->send_counts, c->size), a->send_counts, a->send_displs};
    if (rules & HAS_SUM_OF_BLOCKS)
        return (struct side){sum(a->recv_counts, c->size), NULL, NULL};
    if (a->row == RMPI_reduce_scatter || a->row == RMPI_alltoall || a->row == RMPI_scatter)
        return (struct side){a->count * ranks, NULL, NULL};
    return (struct side){a->count, NULL, NULL};
}

/* What is written. In place, more may be read (recv_input). */
static struct side recv_side(const struct rmpi_comm *c, const struct rmpi_call *a)
{
    const unsigned rules = rmpi_rows[a->row].rules;
    const size_t ranks = (size_t)c->size;
    if (rules & HAS_RECV_BLOCKS)
        return (struct side){sum(a->recv_counts, c->size), a->recv_counts, a->recv_displs};
    if (rules & HAS_SUM_OF_BLOCKS)
        return (struct side){a->recv_counts[c->rank], NULL, NULL};
    if (a->row == RMPI_allgather || a->row == RMPI_alltoall || a->row == RMPI_gather)
        return (struct side){a->count * ranks, NULL, NULL};
    return (struct side){rules & HAS_SOURCE ? a->recv_count : a->count, NULL, NULL};
}

/* The input of a call in place. */
static struct side recv_input(const struct rmpi_comm *c, const struct rmpi_call *a)
{
    if (a->row == RMPI_reduce_scatter)
        return (struct side){a->count * (size_t)c->size, NULL, NULL};
    if (a->row == RMPI_reduce_scatterv)
        return (struct side){sum(a->recv_counts, c->size), NULL, NULL};
    return recv_side(c, a);
}

/* MPI cannot work in place here: the input is copied to a send buffer. (MPICH's Reduce_scatter ends by moving the own block to the
 * front, and aborts the job when the two places overlap. Open MPI's Iallreduce takes another way on a rank that works in place.) */
static int must_part(const struct rmpi_comm *c, const struct rmpi_call *a, int started)
{
    return in_place(a) && at_root(c, a) &&
           ((started && c->mpi->parts_allreduce && a->row == RMPI_allreduce) || a->row == RMPI_alltoallv || a->row == RMPI_reduce_scatterv ||
            (rmpi_rows[a->row].large == BY_REDUCE && a->special & SPECIAL_LARGE) ||
            (rmpi_modes(c) & RMPI_COPY_REDUCE && a->row == RMPI_reduce && a->root != 0 && a->count));
}

/* MIN and MAX round nothing, and MPI's of floats may lose a NaN: ours do them always. */
static int by_f32(const struct rmpi_comm *c, const struct rmpi_call *a)
{
    return rmpi_rows[a->row].rules & HAS_OP && rmpi_modes(c) & RMPI_HALF_BY_F32 && is_half(a->type) && a->op != RMPI_MIN &&
           a->op != RMPI_MAX;
}

int rmpi_needs_stage(const struct rmpi_comm *c, const struct rmpi_call *a, int started, int copies)
{
    if (!(rmpi_rows[a->row].rules & (HAS_SEND | HAS_RECV)))
        return 0;
    return copies || a->special & (SPECIAL_INTS | SPECIAL_AVERAGE | SPECIAL_STAGED) || by_f32(c, a) ||
           must_part(c, a, started);
}

const struct rmpi_call *rmpi_staged(const struct rmpi_stage *s)
{
    return &s->ours;
}

/* Elements from the user's buffer to ours, which are contiguous, and back. */
static void copy(const struct rmpi_stage *s, struct side side, char *user, char *ours, int out)
{
    const size_t bytes = (size_t)rmpi_type_bytes[s->user.type], own = s->by_f32 ? sizeof(float) : bytes;
    const size_t whole = side.elements, none = 0, *counts = side.counts ? side.counts : &whole;
    const size_t *displs = side.counts ? side.displs : &none;
    for (size_t r = 0, at = 0; at < whole; at += counts[r], r++) {
        char *u = user + displs[r] * bytes, *o = ours + at * own;
        if (!counts[r])
            continue;
        if (!s->by_f32)
            memcpy(out ? u : o, out ? o : u, counts[r] * bytes);
        else if (out)
            rmpi_half_from_f32(half_of(s->user.type), (const float *)o, u, counts[r]);
        else
            rmpi_half_to_f32(half_of(s->user.type), u, (float *)o, counts[r]);
    }
}

static size_t rounded(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

/* Takes n bytes of the block that the stage was made with. */
static void *carve(char **from, size_t n)
{
    char *here = *from;
    *from += rounded(n);
    return here;
}

static const size_t *same(char **from, const size_t *list, int n)
{
    return memcpy(carve(from, (size_t)n * sizeof *list), list, (size_t)n * sizeof *list);
}

/* Displacements of blocks that lie one after the other. */
static const size_t *compact(char **from, const size_t *counts, int n)
{
    size_t *displs = carve(from, (size_t)n * sizeof *displs);
    for (size_t r = 0, at = 0; r < (size_t)n; at += counts[r], r++)
        displs[r] = at;
    return displs;
}

static const int *ints(char **from, const size_t *values, int n)
{
    int *out = carve(from, (size_t)n * sizeof *out);
    for (int r = 0; r < n; r++)
        out[r] = (int)values[r];
    return out;
}

struct rmpi_stage *rmpi_stage_new(struct rmpi_comm *c, const struct rmpi_call *a, int started, int copies, int *rc)
{
    const int parted = must_part(c, a, started), f32 = by_f32(c, a);
    const int scattered = a->row == RMPI_allgatherv && (a->special & (SPECIAL_STAGED | SPECIAL_LARGE)) == SPECIAL_STAGED;
    const int own_send = parted || (has_send(c, a) && (copies || f32));
    const int own_recv = has_recv(c, a) && (copies || f32 || scattered);
    const int reads_recv = own_recv && ((in_place(a) && !parted) || (a->row == RMPI_bcast && at_root(c, a)));
    const size_t bytes = f32 ? sizeof(float) : (size_t)rmpi_type_bytes[a->type];
    const struct side none = {0, NULL, NULL};
    const struct side from = parted ? recv_input(c, a) : own_send ? send_side(c, a) : none;
    const struct side to = !own_recv ? none : reads_recv ? recv_input(c, a) : recv_side(c, a);
    const int ints_too = a->special & SPECIAL_INTS && !(a->special & SPECIAL_LARGE);
    const int receives = has_recv(c, a) && rmpi_rows[a->row].rules & HAS_COUNTS && a->row != RMPI_scatterv;
    const size_t lists = rounded((size_t)c->size * sizeof(size_t)) * 6;
    struct rmpi_stage *s = NULL;
    size_t in, out, total;
    char *at;
    if (!__builtin_mul_overflow(from.elements, bytes, &in) && !__builtin_mul_overflow(to.elements, bytes, &out) &&
        !__builtin_add_overflow(in, out, &total) && total < PTRDIFF_MAX - lists - 4096)
        s = malloc(rounded(sizeof *s) + 64 + rounded(from.elements * bytes) + rounded(to.elements * bytes) + lists);
    if (!s) {
        *rc = rmpi_call_failed(c, REACTANT_MPI_ERR_MEMORY, rmpi_rows[a->row].name, "no memory for buffers of %zu and %zu bytes",
                               from.elements * bytes, to.elements * bytes);
        return NULL;
    }
    s->user = s->ours = *a;
    s->owns_recv = own_recv;
    s->by_f32 = f32;
    at = (char *)s + rounded(sizeof *s);
    if (receives) { /* results are put in their places when the user's lists may be gone */
        s->user.recv_counts = s->ours.recv_counts = same(&at, a->recv_counts, c->size);
        if (rmpi_rows[a->row].rules & HAS_RECV_BLOCKS)
            s->user.recv_displs = s->ours.recv_displs = same(&at, a->recv_displs, c->size);
    }
    if (own_send) {
        char *buffer = carve(&at, from.elements * bytes);
        copy(s, from, (char *)(uintptr_t)(parted ? a->recv : a->send), buffer, 0);
        s->ours.send = buffer;
        if (from.counts) {
            s->ours.send_counts = from.counts;
            s->ours.send_displs = compact(&at, from.counts, c->size);
        }
    }
    if (own_recv) {
        s->ours.recv = carve(&at, to.elements * bytes);
        if (reads_recv)
            copy(s, to, a->recv, s->ours.recv, 0);
        if (to.counts)
            s->ours.recv_displs = compact(&at, to.counts, c->size);
    }
    if (f32) {
        s->ours.type = RMPI_FLOAT32;
        s->ours.send_type = s->ours.recv_type = c->mpi->type[RMPI_FLOAT32];
    }
    if (a->special & SPECIAL_AVERAGE)
        s->ours.op = RMPI_SUM;
    if (ints_too) {
        s->ours.int_counts = ints(&at, a->recv_counts, c->size);
        if (rmpi_rows[a->row].rules & HAS_RECV_BLOCKS)
            s->ours.int_displs = ints(&at, s->ours.recv_displs, c->size);
    }
    *rc = 0;
    return s;
}

static void divide(int type, void *data, size_t n, int by)
{
    switch (type) {
    case RMPI_FLOAT16:
    case RMPI_BFLOAT16:
        rmpi_half_divide(half_of(type), data, n, (float)by);
        break;
    case RMPI_COMPLEX64:
    case RMPI_FLOAT32:
        for (size_t i = 0, parts = type == RMPI_COMPLEX64 ? 2 * n : n; i < parts; i++)
            ((float *)data)[i] /= (float)by;
        break;
    default:
        for (size_t i = 0, parts = type == RMPI_COMPLEX128 ? 2 * n : n; i < parts; i++)
            ((double *)data)[i] /= (double)by;
    }
}

void rmpi_stage_out(struct rmpi_comm *c, const struct rmpi_stage *s, size_t received)
{
    const struct rmpi_call *user = &s->user;
    struct side to;
    if (!has_recv(c, user) || (user->row == RMPI_bcast && at_root(c, user)) || (user->row == RMPI_exscan && c->rank == 0))
        return;
    to = recv_side(c, user);
    if (user->special & SPECIAL_AVERAGE)
        divide(s->ours.type, s->ours.recv, to.elements, c->size);
    if (!s->owns_recv)
        return;
    if (rmpi_rows[user->row].rules & HAS_SOURCE) { /* a message may be shorter than its room */
        memcpy(user->recv, s->ours.recv, received);
        return;
    }
    copy(s, to, user->recv, s->ours.recv, 1);
}

void rmpi_stage_free(struct rmpi_stage *s)
{
    free(s);
}
