/*
 * Cliques of devices over meshes as JAX makes them, in any order of the devices; everything XLA calls, with values that a mistake in rank,
 * order or operation changes. Numbers are small, so that every type holds them.
 */
#ifndef WRAPPER_GROUPS_H
#define WRAPPER_GROUPS_H

#include "wrapper_call.h"

#include <complex.h>

static int value(int device, int i)
{
    return 1 + (device * 5 + i * 3) % 7;
}

/* 1 or 2, so that products of 16 fit 32 bits and wrap in fewer as integers do. */
static int factor(int device, int i)
{
    return 1 + (device + i) % 2;
}

enum op { OP_SUM, OP_PROD, OP_MIN, OP_MAX };
static const char *op_names[] = {"SUM", "PROD", "MIN", "MAX"};

static int64_t expected(enum op op, int n, const int *clique, int i)
{
    int64_t sum = 0, prod = 1, min = INT64_MAX, max = INT64_MIN;
    for (int k = 0; k < n; k++) {
        const int v = value(clique[k], i);
        sum += v, prod *= factor(clique[k], i);
        min = v < min ? v : min, max = v > max ? v : max;
    }
    return op == OP_SUM ? sum : op == OP_PROD ? prod : op == OP_MIN ? min : max;
}

#define TYPES(T)                                                                                                                \
    T(INT8_T, int8_t, 4) T(UINT8_T, uint8_t, 4) T(INT16_T, int16_t, 4) T(UINT16_T, uint16_t, 4) T(INT32_T, int32_t, 4)          \
    T(UINT32_T, uint32_t, 4) T(INT64_T, int64_t, 4) T(UINT64_T, uint64_t, 4) T(FLOAT, float, 4) T(DOUBLE, double, 4)            \
    T(C_COMPLEX, float complex, 2) T(C_DOUBLE_COMPLEX, double complex, 2)

static void check_equal(const char *what, const void *got, const void *want, size_t bytes, int at, const struct device *d)
{
    if (memcmp(got, want, bytes) != 0 || at == 0)
        CHECK(memcmp(got, want, bytes) == 0, "%s: element %d on device %d", what, at, d->id);
}

#define REDUCTIONS(name, type, n_ops)                                                                                           \
    static void reductions_##name(const struct device *d, word comm, int n, const int *clique, int count, bool in_place)        \
    {                                                                                                                           \
        const word mpi_type = constant(#name);                                                                                  \
        const size_t all = (size_t)(count * n);                                                                                 \
        type *send = malloc((all + 1) * sizeof *send), *recv = malloc((all + 1) * sizeof *recv);                                \
        int counts[MAX_DEVICES];                                                                                                \
        for (int op = 0; op < n_ops; op++) {                                                                                    \
            const word mpi_op = constant(op_names[op]);                                                                         \
            for (int i = 0; i < count * n; i++)                                                                                 \
                send[i] = recv[i] = (type)(op == OP_PROD ? factor(d->id, i) : value(d->id, i));                                 \
            GOOD(mpi.Allreduce(in_place ? recv : send, recv, count, mpi_type, mpi_op, comm));                                   \
            for (int i = 0; i < count; i++)                                                                                     \
                check_equal("Allreduce " #name, &recv[i], &(type){(type)expected((enum op)op, n, clique, i)}, sizeof *recv, i, d); \
            int rank = 0;                                                                                                       \
            while (clique[rank] != d->id)                                                                                       \
                rank++;                                                                                                         \
            for (int k = 0; k < n; k++)                                                                                         \
                counts[k] = count;                                                                                              \
            GOOD(mpi.Reduce_scatter(send, recv, counts, mpi_type, mpi_op, comm));                                               \
            for (int i = 0; i < count; i++)                                                                                     \
                check_equal("Reduce_scatter " #name, &recv[i], &(type){(type)expected((enum op)op, n, clique, rank * count + i)}, sizeof *recv, \
                            i, d);                                                                                              \
        }                                                                                                                       \
        GOOD(mpi.Allgather(send, count, mpi_type, recv, count, mpi_type, comm));                                                \
        for (int i = 0; i < count * n; i++) {                                                                                   \
            const int from = clique[i / count], at = i % count;                                                                 \
            const type want = (type)(n_ops == 2 ? factor(from, at) : value(from, at));                                          \
            check_equal("Allgather " #name, &recv[i], &want, sizeof *recv, i, d);                                               \
        }                                                                                                                       \
        free(send), free(recv);                                                                                                 \
    }
TYPES(REDUCTIONS)

/* The pairs of XLA's all-to-all. */
static void all_to_all(const struct device *d, word comm, int n, const int *clique, int count)
{
    int rank = 0;
    int32_t *send = malloc(sizeof *send * (size_t)(n * count)), *recv = malloc(sizeof *recv * (size_t)(n * count));
    while (clique[rank] != d->id)
        rank++;
    for (int i = 0; i < n * count; i++)
        send[i] = d->id * 1000000 + i;
    memcpy(recv + rank * count, send + rank * count, sizeof *send * (size_t)count);
    for (int i = 1; i < n; i++) {
        const int to = (rank + i) % n, from = (rank + n - i) % n;
        GOOD(mpi.Sendrecv(send + to * count, count * 4, BYTE, to, 0, recv + from * count, count * 4, BYTE, from, 0, comm, NULL));
    }
    for (int i = 0; i < n * count; i++)
        CHECK(recv[i] == clique[i / count] * 1000000 + rank * count + i % count, "all to all, element %d: %d", i, recv[i]);
    free(send), free(recv);
}

/* The first of the list sends to all others but the last, the second to the first; then a ring with messages in flight. */
static void permute(const struct device *d, word comm, int n, const int *clique, int count)
{
    int rank = 0, status[10], r = 0;
    word requests[MAX_DEVICES + 1];
    int32_t *send = malloc(sizeof *send * (size_t)count), *recv = calloc(2 * (size_t)count, sizeof *recv);
    while (clique[rank] != d->id)
        rank++;
    for (int i = 0; i < count; i++)
        send[i] = d->id * 1000 + i;
    const int source = rank == 0 ? (n > 1 ? 1 : -1) : rank < n - 1 ? 0 : -1;
    if (source >= 0)
        GOOD(mpi.Irecv(recv, count * 4, BYTE, source, 0, comm, &requests[r++]));
    for (int to = 1; rank == 0 && to < n - 1; to++)
        GOOD(mpi.Isend(send, count * 4, BYTE, to, 0, comm, &requests[r++]));
    if (rank == 1)
        GOOD(mpi.Isend(send, count * 4, BYTE, 0, 0, comm, &requests[r++]));
    for (int k = 0; k < r; k++) {
        GOOD(mpi.Wait(&requests[k], status));
        CHECK(requests[k] == REQUEST_NULL, "");
        CHECK(k > 0 || source < 0 || (status[6] == source && status[7] == 0), "from %d, tag %d", status[6], status[7]);
    }
    for (int i = 0; i < count; i++)
        CHECK(recv[i] == (source < 0 ? 0 : clique[source] * 1000 + i), "permute, element %d: %d", i, recv[i]);
    if (n > 1) {
        const int next = (rank + 1) % n, before = (rank + n - 1) % n;
        GOOD(mpi.Irecv(recv, count * 4, BYTE, before, 0, comm, &requests[0]));
        GOOD(mpi.Irecv(recv + count, count * 4, BYTE, before, 0, comm, &requests[1]));
        GOOD(mpi.Isend(send, count * 4, BYTE, next, 0, comm, &requests[2]));
        GOOD(mpi.Isend(send, count * 4, BYTE, next, 0, comm, &requests[3]));
        for (int k = 3; k >= 0; k--)
            GOOD(mpi.Wait(&requests[k], NULL));
        for (int i = 0; i < 2 * count; i++)
            CHECK(recv[i] == clique[before] * 1000 + i % count, "ring, element %d: %d", i, recv[i]);
    }
    free(send), free(recv);
}

static void everything(const struct device *d, word comm, int n, const int *clique, bool all_types)
{
#define ALL_COUNTS(name, type, n_ops) reductions_##name(d, comm, n, clique, 1, false), reductions_##name(d, comm, n, clique, 13, true);
    if (all_types) {
        TYPES(ALL_COUNTS)
    }
    reductions_FLOAT(d, comm, n, clique, 0, false);
    reductions_FLOAT(d, comm, n, clique, 70001, false); /* long: the devices share the work */
    reductions_INT64_T(d, comm, n, clique, 50000, true);
    all_to_all(d, comm, n, clique, 3);
    all_to_all(d, comm, n, clique, 30000);
    permute(d, comm, n, clique, 5);
    permute(d, comm, n, clique, 40000);
    GOOD(mpi.Barrier(comm));
}

/* ---- meshes: the devices of the job in some order, cut into cliques of n: neighbours in that order, or every (total / n)-th ---- */

struct mesh {
    int order[MAX_DEVICES], n;
    bool strided, all_types;
};

static void clique_of(const struct mesh *mesh, int id, int clique[MAX_DEVICES])
{
    int at = 0;
    const int groups = device_total / mesh->n;
    while (mesh->order[at] != id)
        at++;
    for (int k = 0; k < mesh->n; k++)
        clique[k] = mesh->order[mesh->strided ? at % groups + k * groups : at / mesh->n * mesh->n + k];
}

static struct mesh meshes[64];
static int n_meshes;

/* Every cut of four orders: as they are, reversed, interleaved over the processes, and stirred. */
static void make_meshes(void)
{
    for (int kind = 0; kind < 4; kind++)
        for (int n = 1; n <= device_total; n++)
            for (int strided = 0; strided < 2; strided++) {
                if (device_total % n || (n == 1 && kind) || (strided && (n == 1 || n == device_total)) || n_meshes == 64)
                    continue;
                struct mesh *m = &meshes[n_meshes++];
                *m = (struct mesh){.n = n, .strided = strided, .all_types = kind == 0 || kind == 3};
                int at = 0;
                if (kind == 2)
                    for (int local = 0; local < MAX_DEVICES; local++)
                        for (int p = 0; p < processes; p++)
                            if (local < devices[p])
                                m->order[at++] = first_device(p) + local;
                for (int i = 0; i < device_total && kind != 2; i++)
                    m->order[i] = kind == 0 ? i : kind == 1 ? device_total - 1 - i : i;
                for (int i = device_total - 1; i > 0 && kind == 3; i--) {
                    const int j = (i * 7 + 3) % (i + 1), was = m->order[i];
                    m->order[i] = m->order[j], m->order[j] = was;
                }
            }
}

static void on_meshes(struct device *d)
{
    word comms[64];
    int clique[MAX_DEVICES];
    for (int m = 0; m < n_meshes; m++) {
        clique_of(&meshes[m], d->id, clique);
        comms[m] = split_as(d, meshes[m].n, clique);
        everything(d, comms[m], meshes[m].n, clique, meshes[m].all_types);
    }
    for (int round = 0; round < 150; round++) { /* many in flight: no device waits for the others between them */
        const int m = (round * 5) % n_meshes;
        int64_t x = value(d->id, round), sum = -1;
        clique_of(&meshes[m], d->id, clique);
        GOOD(mpi.Allreduce(&x, &sum, 1, constant("INT64_T"), SUM, comms[m]));
        CHECK(sum == expected(OP_SUM, meshes[m].n, clique, round), "round %d on mesh %d: %lld", round, m, (long long)sum);
    }
    for (int m = 0; m < n_meshes; m++)
        GOOD(mpi.Comm_free(&comms[m]));
}

static int groups(const char *list, bool told)
{
    begin(list, told);
    make_meshes();
    on_devices(on_meshes);
    return end(told);
}

#endif
