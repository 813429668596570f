/* Collectives: each rank leaves its arguments at a meeting, and the last to come moves everybody's data. */
#include "fake.h"

#include <stdlib.h>
#include <string.h>

struct fake_call {
    int function; /* the blocking one's number */
    const void *send;
    void *recv;
    int count, root, in_place;
    size_t bytes; /* of an element */
    MPI_Datatype type;
    MPI_Op op;
    const int *counts, *displs;
};

struct meeting {
    struct meeting *next;
    unsigned long number;
    int here, blocking;
    struct fake_call call[FAKE_RANKS];
    MPI_Request request[FAKE_RANKS];
};

#define IN_PLACE ((void *)1) /* MPI-5 ABI */

static void *at(const void *buffer, size_t elements, const struct fake_call *a)
{
    return (char *)(uintptr_t)buffer + elements * a->bytes;
}

/* Nothing to copy is fine between NULLs. */
static void copy(void *to, const void *from, size_t bytes)
{
    if (bytes && to != from)
        memcpy(to, from, bytes);
}

/* The input of rank r: an own copy, since outputs may be the same memory. */
static char *input(const struct meeting *m, int r, size_t elements, size_t from)
{
    const struct fake_call *a = &m->call[r];
    char *own = malloc(elements * a->bytes + 1);
    copy(own, at(a->in_place ? a->recv : a->send, a->in_place ? from : 0, a), elements * a->bytes);
    return own;
}

/* Over ranks 0 to `upto`. */
static char *reduced(const struct meeting *m, size_t elements, int upto)
{
    char *sum = input(m, 0, elements, 0);
    for (int r = 1; r <= upto; r++) {
        char *mine = input(m, r, elements, 0), *swap;
        /* MPI's order: the lower rank is `in`, the result replaces the higher one's. */
        fake_reduce(sum, mine, (int)elements, m->call[r].type, m->call[r].op);
        swap = sum, sum = mine, mine = swap;
        free(mine);
    }
    return sum;
}

static void gather_all(struct meeting *m, int size, int varies, int only)
{
    const struct fake_call *first = &m->call[only >= 0 ? only : 0];
    for (int r = 0; r < size; r++) {
        const size_t n = varies ? (size_t)first->counts[r] : (size_t)m->call[r].count;
        const size_t place = varies ? (size_t)first->displs[r] : (size_t)r * n;
        char *mine = input(m, r, n, place);
        for (int to = 0; to < size; to++)
            if ((only < 0 || to == only) && !(m->call[to].in_place && to == r))
                copy(at(m->call[to].recv, place, first), mine, n * first->bytes);
        free(mine);
    }
}

static void all_to_all(struct meeting *m, int size)
{
    char *all[FAKE_RANKS];
    for (int r = 0; r < size; r++)
        all[r] = input(m, r, (size_t)(m->call[r].count * size), 0);
    for (int to = 0; to < size; to++)
        for (int r = 0; r < size; r++) {
            const size_t n = (size_t)m->call[to].count;
            copy(at(m->call[to].recv, (size_t)r * n, &m->call[to]), at(all[r], (size_t)to * n, &m->call[to]), n * m->call[to].bytes);
        }
    for (int r = 0; r < size; r++)
        free(all[r]);
}

static void reduce_blocks(struct meeting *m, int size, int varies)
{
    size_t total = 0, from = 0;
    char *sum;
    for (int r = 0; r < size; r++)
        total += (size_t)(varies ? m->call[0].counts[r] : m->call[0].count);
    sum = reduced(m, total, size - 1);
    for (int r = 0; r < size; r++) {
        const size_t n = (size_t)(varies ? m->call[0].counts[r] : m->call[0].count);
        copy(m->call[r].recv, at(sum, from, &m->call[0]), n * m->call[0].bytes);
        from += n;
    }
    free(sum);
}

static void prefixes(struct meeting *m, int size, int own_too)
{
    char *sum[FAKE_RANKS] = {NULL};
    for (int r = 0; r < size; r++)
        if (own_too || r > 0)
            sum[r] = reduced(m, (size_t)m->call[0].count, own_too ? r : r - 1);
    for (int r = 0; r < size; r++) {
        if (sum[r])
            copy(m->call[r].recv, sum[r], (size_t)m->call[0].count * m->call[0].bytes);
        free(sum[r]);
    }
}

static int agree(const struct meeting *m, int size)
{
    for (int r = 1; r < size; r++)
        if (m->call[r].function != m->call[0].function || m->call[r].root != m->call[0].root ||
            (size_t)m->call[r].count * m->call[r].bytes != (size_t)m->call[0].count * m->call[0].bytes)
            return 0;
    return 1;
}

static int move(struct meeting *m, int size)
{
    const struct fake_call *a = m->call;
    const size_t n = (size_t)a->count;
    const int root = a->root;
    char *all;
    if (!agree(m, size))
        return FAKE_MISMATCH;
    switch (a->function) {
    case RMPI_F_Allreduce:
    case RMPI_F_Reduce:
        all = reduced(m, n, size - 1);
        for (int r = 0; r < size; r++)
            if (a->function == RMPI_F_Allreduce || r == root)
                copy(m->call[r].recv, all, n * a->bytes);
        free(all);
        break;
    case RMPI_F_Bcast:
        for (int r = 0; r < size; r++)
            if (r != root)
                copy(m->call[r].recv, m->call[root].recv, n * a->bytes);
        break;
    case RMPI_F_Allgather: gather_all(m, size, 0, -1); break;
    case RMPI_F_Allgatherv: gather_all(m, size, 1, -1); break;
    case RMPI_F_Gather: gather_all(m, size, 0, root); break;
    case RMPI_F_Alltoall: all_to_all(m, size); break;
    case RMPI_F_Scatter:
        for (int r = 0; r < size; r++)
            if (!m->call[r].in_place)
                copy(m->call[r].recv, at(m->call[root].send, (size_t)r * n, a), n * a->bytes);
        break;
    case RMPI_F_Reduce_scatter_block: reduce_blocks(m, size, 0); break;
    case RMPI_F_Reduce_scatter: reduce_blocks(m, size, 1); break;
    case RMPI_F_Scan: prefixes(m, size, 1); break;
    case RMPI_F_Exscan: prefixes(m, size, 0); break;
    default: break; /* barrier */
    }
    return 0;
}

static MPI_Request meet(MPI_Comm comm, const struct fake_call *call, int blocking)
{
    struct fake_shared *s = comm->shared;
    MPI_Request request = fake_request(s);
    struct meeting *m, **p;
    pthread_mutex_lock(&s->lock);
    for (p = &s->meetings; (m = *p) != NULL && m->number != comm->collectives; p = &m->next)
        ;
    if (!m) {
        m = *p = calloc(1, sizeof *m);
        m->number = comm->collectives;
        m->blocking = blocking;
    }
    comm->collectives++;
    m->call[comm->rank] = *call;
    m->request[comm->rank] = request;
    if (m->blocking != blocking) /* a blocking collective does not match a started one */
        m->call[comm->rank].function = -1;
    if (++m->here == s->size) {
        const int rc = move(m, s->size);
        for (int r = 0; r < s->size; r++) {
            m->request[r]->rc = rc;
            m->request[r]->done = 1;
        }
        *p = m->next;
        free(m);
        pthread_cond_broadcast(&s->changed);
    }
    pthread_mutex_unlock(&s->lock);
    return request;
}

/* Both forms of a collective. */
#define BOTH(name, parameters, ...)                                                                   \
    int fake_##name parameters;                                                                       \
    int fake_##name parameters                                                                        \
    {                                                                                                 \
        struct fake_call a = {.function = RMPI_F_##name, __VA_ARGS__};                                \
        MPI_Request request;                                                                          \
        int rc = fake_enter(RMPI_F_##name);                                                           \
        if (rc == 0) {                                                                                \
            request = meet(comm, &a, 1);                                                              \
            rc = fake_finish(&request, NULL);                                                         \
        }                                                                                             \
        fake_leave();                                                                                 \
        return rc;                                                                                    \
    }
#define STARTED(name, blocking, parameters, ...)                                                      \
    int fake_##name parameters;                                                                       \
    int fake_##name parameters                                                                        \
    {                                                                                                 \
        struct fake_call a = {.function = RMPI_F_##blocking, __VA_ARGS__};                            \
        int rc = fake_enter(RMPI_F_##name);                                                           \
        if (rc == 0)                                                                                  \
            *request = meet(comm, &a, 0);                                                             \
        fake_leave();                                                                                 \
        return rc;                                                                                    \
    }
#define LIST(...) __VA_ARGS__
#define COLLECTIVE(name, iname, parameters, fields)                       \
    BOTH(name, (parameters, MPI_Comm comm), fields)                       \
    STARTED(iname, name, (parameters, MPI_Comm comm, MPI_Request *request), fields)

#define DATA .send = send, .recv = recv, .type = type, .bytes = fake_bytes(type), .in_place = send == IN_PLACE
#define REDUCTION const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op
COLLECTIVE(Allreduce, Iallreduce, LIST(REDUCTION), LIST(DATA, .count = count, .op = op))
COLLECTIVE(Reduce, Ireduce, LIST(REDUCTION, int root), LIST(DATA, .count = count, .op = op, .root = root))
COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block, LIST(REDUCTION), LIST(DATA, .count = count, .op = op))
COLLECTIVE(Scan, Iscan, LIST(REDUCTION), LIST(DATA, .count = count, .op = op))
COLLECTIVE(Exscan, Iexscan, LIST(REDUCTION), LIST(DATA, .count = count, .op = op))
COLLECTIVE(Reduce_scatter, Ireduce_scatter,
           LIST(const void *send, void *recv, const int *counts, MPI_Datatype type, MPI_Op op), LIST(DATA, .counts = counts, .op = op))
COLLECTIVE(Bcast, Ibcast, LIST(void *recv, int count, MPI_Datatype type, int root),
           LIST(.recv = recv, .count = count, .type = type, .bytes = fake_bytes(type), .root = root))
#define TWO const void *send, int send_count, MPI_Datatype send_type, void *recv, int count, MPI_Datatype type
COLLECTIVE(Allgather, Iallgather, LIST(TWO), LIST(DATA, .count = send == IN_PLACE ? count : send_count + 0 * (int)(intptr_t)send_type))
COLLECTIVE(Alltoall, Ialltoall, LIST(TWO), LIST(DATA, .count = count + 0 * send_count + 0 * (int)(intptr_t)send_type))
COLLECTIVE(Gather, Igather, LIST(TWO, int root),
           LIST(.send = send, .recv = recv, .type = send == IN_PLACE ? type : send_type, .in_place = send == IN_PLACE,
                .bytes = fake_bytes(send == IN_PLACE ? type : send_type), .count = send == IN_PLACE ? count : send_count, .root = root))
COLLECTIVE(Scatter, Iscatter, LIST(TWO, int root),
           LIST(.send = send, .recv = recv, .type = recv == IN_PLACE ? send_type : type, .in_place = recv == IN_PLACE,
                .bytes = fake_bytes(recv == IN_PLACE ? send_type : type), .count = recv == IN_PLACE ? send_count : count, .root = root))
COLLECTIVE(Allgatherv, Iallgatherv,
           LIST(const void *send, int send_count, MPI_Datatype send_type, void *recv, const int *counts, const int *displs,
                MPI_Datatype type),
           LIST(DATA, .counts = counts, .displs = displs, .count = 0 * send_count + 0 * (int)(intptr_t)send_type))
BOTH(Barrier, (MPI_Comm comm), .count = 0)
STARTED(Ibarrier, Barrier, (MPI_Comm comm, MPI_Request *request), .count = 0)
