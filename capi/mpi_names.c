/* MPI's functions under our names, for compiled code: life, communicators, collectives. The messages are in mpi_messages.c. */
#include "capi/check.h"
#include "capi/mpi_words.h"
#include "internal/table/shapes.h"

#include <stdlib.h>
#include <string.h>

/* ---- life and communicators ---- */

int reactant_mpi_MPI_Init(int *argc, void *argv)
{
    reactant_mpi_options options = REACTANT_MPI_OPTIONS_INIT;
    reactant_mpi_comm *made;
    (void)argc;
    (void)argv;
    if (!rmpi_forked() && rmpi_look_for_predefined(0))
        return 0;
    if (!getenv("REACTANT_MPI_GPU")) /* a device is for who asks for one */
        options.gpu = REACTANT_MPI_GPU_OFF;
    return as_class("MPI_Init", NULL, reactant_mpi_initialize_with(REACTANT_MPI_COMM_WORLD, &options, &made));
}

int reactant_mpi_MPI_Finalize(void)
{
    return as_class("MPI_Finalize", NULL, reactant_mpi_finalize(NULL));
}

/* COMM_SELF needs nobody else, so it is made when it is asked for. */
static struct rmpi_comm *self(const char *function)
{
    const struct rmpi_comm *any = rmpi_comm_any(), *ended = rmpi_predefined(0);
    reactant_mpi_options options = REACTANT_MPI_OPTIONS_INIT;
    reactant_mpi_comm *made;
    struct rmpi_comm *c = rmpi_look_for_predefined(1);
    if (c)
        return c;
    if (!any) {
        if (ended && rmpi_comm_state(ended) == RMPI_ENDED)
            rmpi_bad_comm(function, ended);
        else
            rmpi_fail(REACTANT_MPI_ERR_COMM, "MPI_COMM_SELF is there while there is a communicator of reactant_mpi_initialize");
        return NULL;
    }
    options.gpu = REACTANT_MPI_GPU_OFF;
    if (reactant_mpi_initialize_with((uintptr_t)any->mpi->constant[RMPI_K_COMM_SELF], &options, &made) != 0)
        return NULL;
    return rmpi_comm_slot(made);
}

static struct rmpi_comm *world(const char *function)
{
    const struct rmpi_comm *there = rmpi_predefined(0);
    struct rmpi_comm *c = rmpi_look_for_predefined(0);
    if (c)
        return c;
    if (there && rmpi_comm_state(there) == RMPI_ENDED)
        rmpi_bad_comm(function, there);
    else
        rmpi_fail(REACTANT_MPI_ERR_COMM,
                  "%s: call reactant_mpi_initialize for MPI_COMM_WORLD on every rank before compiled code runs",
                  there ? "the communicator of MPI_COMM_WORLD has been finalized" : "there is no communicator of MPI_COMM_WORLD yet");
    return NULL;
}

/* By the host's own handle. */
static struct rmpi_comm *of_host(uintptr_t word)
{
    for (int id = rmpi_comm_next() - 1; id > 0; id--) {
        struct rmpi_comm *c = &rmpi_comms[id];
        if (rmpi_comm_state(c) == RMPI_LIVE && c->given &&
            (c->given == word || (c->mpi->family == RMPI_MPICH_ABI && c->given == (uint32_t)word)))
            return c;
    }
    rmpi_fail(REACTANT_MPI_ERR_COMM,
              "%#zx is neither a communicator of this library nor a handle of the host's MPI that reactant_mpi_initialize was given",
              (size_t)word);
    return NULL;
}

struct rmpi_comm *rmpi_comm_of_word(const char *function, uintptr_t word)
{
    if (rmpi_forked()) {
        rmpi_control_refused(function);
        return NULL;
    }
    switch (word) {
    case RMPI_WORD_COMM_WORLD:
        return world(function);
    case RMPI_WORD_COMM_SELF:
        return self(function);
    case RMPI_WORD_COMM_NULL:
        rmpi_fail(REACTANT_MPI_ERR_COMM, "the communicator is MPI_COMM_NULL");
        return NULL;
    }
    if (!rmpi_comm_slot((const void *)word))
        return of_host(word);
    rmpi_bad_comm(function, (const void *)word); /* one of ours, and not live */
    return NULL;
}

int rmpi_no_comm_of_word(const char *function, uintptr_t word)
{
    struct rmpi_comm *c = word - RMPI_WORD_COMM_WORLD < 2 ? rmpi_predefined(word == RMPI_WORD_COMM_SELF)
                                                          : rmpi_comm_slot((const void *)word);
    return as_class(function, c && rmpi_comm_state(c) > RMPI_CLAIMED ? c : NULL, rmpi_error_code());
}

int reactant_mpi_MPI_Comm_rank(uintptr_t comm, int *rank)
{
    if (rank)
        *rank = -1; /* until it is known: no rank at all */
    WITH_COMM("MPI_Comm_rank");
    if (!rank)
        return as_class("MPI_Comm_rank", c, rmpi_fail(REACTANT_MPI_ERR_ARGUMENT, "the place for the rank is NULL"));
    *rank = c->rank;
    return 0;
}

int reactant_mpi_MPI_Comm_size(uintptr_t comm, int *size)
{
    if (size)
        *size = -1;
    WITH_COMM("MPI_Comm_size");
    if (!size)
        return as_class("MPI_Comm_size", c, rmpi_fail(REACTANT_MPI_ERR_ARGUMENT, "the place for the size is NULL"));
    *size = c->size;
    return 0;
}

int reactant_mpi_MPI_Comm_split(uintptr_t comm, int color, int key, uintptr_t *out)
{
    static const char *const name = "MPI_Comm_split";
    reactant_mpi_comm *made = NULL;
    int rc;
    if (out)
        *out = RMPI_WORD_COMM_NULL; /* all 8 bytes: compiled code puts -1 there */
    WITH_COMM(name);
    if (!out)
        return as_class(name, c, rmpi_fail(REACTANT_MPI_ERR_ARGUMENT, "the place for the communicator is NULL"));
    if (color < 0 && color != constant(c, RMPI_K_UNDEFINED))
        return as_class(name, c, rmpi_fail(REACTANT_MPI_ERR_ARGUMENT, "colour %d is neither 0 or more nor MPI_UNDEFINED (%d)", color,
                                           constant(c, RMPI_K_UNDEFINED)));
    rc = reactant_mpi_comm_split((reactant_mpi_comm *)c, color, key, &made);
    if (made)
        *out = (uintptr_t)rmpi_comm_number(rmpi_comm_slot(made)); /* the id: 4 bytes hold it, too */
    return as_class(name, c, rc);
}

/* ---- collectives: as capi/collectives.c has them, with the compiler seeing through the words ---- */

static const struct rmpi_row rows[RMPI_ROWS] = {
#include "capi/rows.inc"
};

/* The only rank that a collective names is its root. */
static inline int of_collective(int class)
{
    return unlikely(class == RMPI_CLASS_RANK) ? RMPI_CLASS_ROOT : class;
}

/* Only what the row has is filled in: the record is large. */
#define CALL(function, row, ...)                                                      \
    struct rmpi_call a;                                                               \
    WITH_COMM(function);                                                              \
    __VA_ARGS__;                                                                      \
    a.count = (size_t)count, a.type = element_type(type);                             \
    return of_collective(as_class(function, c, rmpi_blocking(&rows[RMPI_##row], RMPI_##row, c, &a)))
#define REDUCTION a.send = buffer_of(c, send), a.recv = recv, a.op = small(op)

int reactant_mpi_MPI_Bcast(void *buf, int count, uintptr_t type, int root, uintptr_t comm)
{
    CALL("MPI_Bcast", bcast, a.recv = buf, a.root = root);
}

int reactant_mpi_MPI_Allreduce(const void *send, void *recv, int count, uintptr_t type, uintptr_t op, uintptr_t comm)
{
    CALL("MPI_Allreduce", allreduce, REDUCTION);
}

int reactant_mpi_MPI_Reduce(const void *send, void *recv, int count, uintptr_t type, uintptr_t op, int root, uintptr_t comm)
{
    CALL("MPI_Reduce", reduce, REDUCTION, a.root = root);
}

int reactant_mpi_MPI_Reduce_scatter_block(const void *send, void *recv, int count, uintptr_t type, uintptr_t op, uintptr_t comm)
{
    CALL("MPI_Reduce_scatter_block", reduce_scatter, REDUCTION);
}

int reactant_mpi_MPI_Scan(const void *send, void *recv, int count, uintptr_t type, uintptr_t op, uintptr_t comm)
{
    CALL("MPI_Scan", scan, REDUCTION);
}

/* ---- barrier ---- */

/* To one rank and from another. A message, so that it is neither counted nor compared with what other ranks do. */
static int notice(struct rmpi_comm *c, int dest, int source)
{
    char token = 0, theirs;
    struct rmpi_call a = {.send = &token, .recv = &theirs, .count = 1, .recv_count = 1, .type = REACTANT_MPI_BYTE, .root = dest,
                          .tag = RMPI_TAG_BARRIER, .source = source, .recv_tag = RMPI_TAG_BARRIER, .row = RMPI_sendrecv};
    const int rc = check(&rows[RMPI_sendrecv], c, &a);
    a.special |= SPECIAL_MADE | SPECIAL_OURS;
    return rc ? rc : rmpi_now(RMPI_sendrecv, c, &a);
}

/*
 * Messages between neighbours at growing distance, over the control communicator: XLA runs a barrier beside the collectives around it, or before
 * them, and MPI's own would then meet a collective of another rank.
 */
int reactant_mpi_MPI_Barrier(uintptr_t comm)
{
    int rc = 0;
    WITH_COMM("MPI_Barrier");
    for (int distance = 1; distance < c->size && rc == 0; distance *= 2)
        rc = notice(c, (c->rank + distance) % c->size, (c->rank + c->size - distance) % c->size);
    return as_class("MPI_Barrier", c, rc);
}

/* ---- blocks of one size: of a call's two descriptions that counts which every rank gives ---- */

struct block {
    size_t count;
    int type;
};

static struct block one(int count, uintptr_t type)
{
    return (struct block){(size_t)count, element_type(type)};
}

/* 0, or the failure: where both descriptions are looked at they must have the same bytes. */
static int differ(int send_count, uintptr_t send_type, int recv_count, uintptr_t recv_type)
{
    const int s = element_type(send_type), r = element_type(recv_type);
    const size_t s_bytes = element_bytes(s), r_bytes = element_bytes(r);
    if (s == r && send_count == recv_count) /* if both are wrong, the call itself says so */
        return 0;
    if (!s_bytes || !r_bytes)
        return rmpi_fail(REACTANT_MPI_ERR_TYPE, "%#zx is no element type", (size_t)(s_bytes ? recv_type : send_type));
    if (send_count < 0 || recv_count < 0 || (size_t)send_count * s_bytes != (size_t)recv_count * r_bytes)
        return rmpi_fail(REACTANT_MPI_ERR_COUNT, "a block sent of %d elements of %zu bytes and one received of %d elements of %zu bytes differ",
                         send_count, s_bytes, recv_count, r_bytes);
    return 0;
}

/* Where every rank has both. */
static int on_every_rank(const char *function, int (*call)(const void *, void *, size_t, int, reactant_mpi_comm *), const void *send,
                         int send_count, uintptr_t send_type, void *recv, int recv_count, uintptr_t recv_type, uintptr_t comm)
{
    const struct block b = one(recv_count, recv_type);
    int rc;
    WITH_COMM(function);
    send = buffer_of(c, send);
    rc = send == REACTANT_MPI_IN_PLACE ? 0 : differ(send_count, send_type, recv_count, recv_type);
    return as_class(function, c, rc ? rc : call(send, recv, b.count, b.type, (void *)c));
}

int reactant_mpi_MPI_Allgather(const void *send, int send_count, uintptr_t send_type, void *recv, int recv_count,
                               uintptr_t recv_type, uintptr_t comm)
{
    return on_every_rank("MPI_Allgather", reactant_mpi_allgather, send, send_count, send_type, recv, recv_count, recv_type, comm);
}

int reactant_mpi_MPI_Alltoall(const void *send, int send_count, uintptr_t send_type, void *recv, int recv_count,
                              uintptr_t recv_type, uintptr_t comm)
{
    return on_every_rank("MPI_Alltoall", reactant_mpi_alltoall, send, send_count, send_type, recv, recv_count, recv_type, comm);
}

int reactant_mpi_MPI_Gather(const void *send, int send_count, uintptr_t send_type, void *recv, int recv_count, uintptr_t recv_type,
                            int root, uintptr_t comm)
{
    struct block b = one(send_count, send_type);
    int rc = 0;
    WITH_COMM("MPI_Gather");
    send = buffer_of(c, send);
    if (root == c->rank && send != REACTANT_MPI_IN_PLACE)
        rc = differ(send_count, send_type, recv_count, recv_type);
    if (root == c->rank)
        b = one(recv_count, recv_type);
    return of_collective(as_class("MPI_Gather", c, rc ? rc : reactant_mpi_gather(send, recv, b.count, b.type, root, (void *)c)));
}

int reactant_mpi_MPI_Scatter(const void *send, int send_count, uintptr_t send_type, void *recv, int recv_count, uintptr_t recv_type,
                             int root, uintptr_t comm)
{
    struct block b = one(recv_count, recv_type);
    int rc = 0;
    WITH_COMM("MPI_Scatter");
    recv = buffer_of(c, recv);
    if (root == c->rank && recv != REACTANT_MPI_IN_PLACE)
        rc = differ(send_count, send_type, recv_count, recv_type);
    if (root == c->rank)
        b = one(send_count, send_type);
    return of_collective(as_class("MPI_Scatter", c, rc ? rc : reactant_mpi_scatter(send, recv, b.count, b.type, root, (void *)c)));
}
