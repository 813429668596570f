/*
 * Point to point, of collectives.c: rings of every type, lengths against rooms, messages that are too long, PROC_NULL, probe,
 * ANY_SOURCE, tags.
 */
#ifndef COLLECTIVES_MESSAGES_H
#define COLLECTIVES_MESSAGES_H

#include "collectives.h"

/* A ring of sendrecv, and of send and recv, for every type; the room is larger than the message by `spare`. */
static void test_ring(const struct type *t, size_t count, size_t spare, int tag, bool any)
{
    struct buffer sb, rb;
    char *out = buffer_new(&sb, count * t->size), *in = buffer_new(&rb, (count + spare) * t->size);
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    int source = any ? REACTANT_MPI_ANY_SOURCE : before, rtag = any ? REACTANT_MPI_ANY_TAG : tag;
    reactant_mpi_status st = {-7, -7, 777};

    fill_message(t, out, count, 11);
    OK(reactant_mpi_sendrecv(out, count, next, tag, in, count + spare, source, rtag, t->value, comm, &st));
    check_message(t, in, count, 11, before);
    CHECK(st.source == before && st.tag == tag && st.bytes == count * t->size,
          "sendrecv of %zu %s: source %d tag %d bytes %zu, wanted %d %d %zu", count, t->name, st.source, st.tag, st.bytes, before,
          tag, count * t->size);
    CHECK(buffer_whole(&sb) && buffer_whole(&rb), "%zu %s", count, t->name);
    OK(reactant_mpi_sendrecv(out, count, next, tag, in, count + spare, source, rtag, t->value, comm, NULL));

    if (size > 1) {
        st.source = st.tag = -7, st.bytes = 777;
        fill_message(t, out, count, 12);
        if (rank % 2 == 0) {
            OK(reactant_mpi_send(out, count, t->value, next, tag, comm));
            OK(reactant_mpi_recv(in, count + spare, t->value, source, rtag, comm, &st));
        } else {
            OK(reactant_mpi_recv(in, count + spare, t->value, source, rtag, comm, &st));
            OK(reactant_mpi_send(out, count, t->value, next, tag, comm));
        }
        check_message(t, in, count, 12, before);
        CHECK(st.source == before && st.tag == tag && st.bytes == count * t->size,
              "recv of %zu %s: source %d tag %d bytes %zu, wanted %d %d %zu", count, t->name, st.source, st.tag, st.bytes, before,
              tag, count * t->size);
        CHECK(buffer_whole(&rb), "%zu %s", count, t->name);
    }
    free(sb.block);
    free(rb.block);
    if (any) /* nobody's next message may be taken by a slower rank's ANY_SOURCE */
        OK(reactant_mpi_barrier(comm));
}

static void test_point_to_point(void)
{
    static const size_t counts[] = {0, 1, 3, 6, 7, 8, 14, 15, 21, 1000};
    for (size_t t = 0; t < N_TYPES; t++)
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
            test_ring(&types[t], counts[c], 0, (int)c, false);
            test_ring(&types[t], counts[c], 6, 32767, false);
            test_ring(&types[t], counts[c], 0, 5, true);
        }
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        test_ring(&types[4], counts[c], 1, 1, true);
        test_ring(&types[11], counts[c], 40, 1, true);
    }
    test_ring(&types[9], 70000, 3, 2, false); /* beyond every eager limit */
}

/* Lengths of message and room against each other, two messages under way, both with the same tag: order and lengths must hold. */
static void test_lengths(void)
{
    static const size_t lengths[] = {0, 1, 6, 7, 8, 13, 14, 15, 21, 28};
    enum { N = sizeof lengths / sizeof lengths[0] };
    const struct type *t = &types[5];
    if (size == 1)
        return;
    for (size_t a = 0; a < N; a++)
        for (size_t b = 0; b < N; b++) {
            uint32_t out[2][32], in[32];
            if (rank == 0) {
                fill_message(t, out[0], lengths[a], 100 + (unsigned)a);
                fill_message(t, out[1], lengths[b], 200 + (unsigned)b);
                OK(reactant_mpi_send(out[0], lengths[a], t->value, 1, 9, comm));
                OK(reactant_mpi_send(out[1], lengths[b], t->value, 1, 9, comm));
            } else if (rank == 1) {
                reactant_mpi_status st;
                OK(reactant_mpi_recv(in, 32, t->value, 0, 9, comm, &st));
                CHECK(st.bytes == 4 * lengths[a], "%zu bytes of %zu elements", st.bytes, lengths[a]);
                check_message(t, in, lengths[a], 100 + (unsigned)a, 0);
                OK(reactant_mpi_recv(in, lengths[b], t->value, 0, 9, comm, &st));
                CHECK(st.bytes == 4 * lengths[b], "%zu bytes of %zu elements", st.bytes, lengths[b]);
                check_message(t, in, lengths[b], 200 + (unsigned)b, 0);
            }
        }
    OK(reactant_mpi_barrier(comm));
}

/* A message longer than the room: code 44, and the next message comes whole. */
static void test_truncated(void)
{
    static const size_t pairs[][2] = {{2, 1}, {8, 7}, {15, 14}, {30, 20}, {30, 7}, {7, 3}, {5, 0}, {30, 0}};
    const struct type *t = &types[4];
    char about[8192] = "";
    reactant_mpi_describe(comm, about, sizeof about);
    bool intel = strstr(about, "Intel");
    if (size == 1)
        return;
    for (size_t k = 0; k < sizeof pairs / sizeof pairs[0]; k++) {
        struct buffer rb;
        int32_t out[32];
        size_t room = pairs[k][1];
        int32_t *in = buffer_new(&rb, room * sizeof *in);
        if (rank == 0) {
            fill_message(t, out, 32, 300);
            OK(reactant_mpi_send(out, pairs[k][0], t->value, 1, 4, comm));
            fill_message(t, out, 32, 301);
            OK(reactant_mpi_send(out, 12, t->value, 1, 4, comm));
        } else if (rank == 1) {
            int32_t next[12];
            reactant_mpi_status st;
            int rc = reactant_mpi_recv(in, room, t->value, 0, 4, comm, NULL);
            if (rc != 0 || room > 0 || !intel) /* Intel MPI itself says nothing where there is no room at all */
                FAILS(REACTANT_MPI_ERR_MPI, "recv", rc);
            CHECK(buffer_whole(&rb), "%zu elements into room for %zu", pairs[k][0], room);
            OK(reactant_mpi_recv(next, 12, t->value, 0, 4, comm, &st));
            CHECK(st.bytes == sizeof next, "after %zu elements into room for %zu: %zu bytes", pairs[k][0], room, st.bytes);
            check_message(t, next, 12, 301, 0);
        }
        free(rb.block);
    }
    OK(reactant_mpi_barrier(comm));
}

static void test_proc_null(void)
{
    int32_t x = 5, y = 6;
    reactant_mpi_status st = {-7, -7, 777};
    OK(reactant_mpi_send(&x, 1, REACTANT_MPI_INT32, REACTANT_MPI_PROC_NULL, 0, comm));
    OK(reactant_mpi_recv(&y, 1, REACTANT_MPI_INT32, REACTANT_MPI_PROC_NULL, 0, comm, &st));
    CHECK(y == 6 && st.source == REACTANT_MPI_PROC_NULL && st.bytes == 0, "y %d source %d bytes %zu", y, st.source, st.bytes);
    OK(reactant_mpi_recv(&y, 1, REACTANT_MPI_INT32, REACTANT_MPI_PROC_NULL, REACTANT_MPI_ANY_TAG, comm, NULL));
    /* A chain: rank 0 gets nothing, the last one sends to nobody. */
    st.bytes = 777;
    OK(reactant_mpi_sendrecv(&rank, 1, rank + 1 < size ? rank + 1 : REACTANT_MPI_PROC_NULL, 3, &y, 1,
                             rank ? rank - 1 : REACTANT_MPI_PROC_NULL, 3, REACTANT_MPI_INT32, comm, &st));
    CHECK(y == (rank ? rank - 1 : 6), "y %d", y);
    CHECK(st.bytes == (rank ? 4u : 0u) && st.source == (rank ? rank - 1 : REACTANT_MPI_PROC_NULL), "%zu bytes from %d", st.bytes,
          st.source);
    st.bytes = 777;
    OK(reactant_mpi_sendrecv(NULL, 0, REACTANT_MPI_PROC_NULL, 3, NULL, 0, REACTANT_MPI_PROC_NULL, 3, REACTANT_MPI_INT32, comm,
                             &st));
    CHECK(st.bytes == 0, "%zu bytes", st.bytes);
}

/* A probe tells what a receive would get, and leaves it there: messages in another order than they are asked for, and any. */
static void test_probe(void)
{
    static const size_t lengths[] = {0, 1, 7, 20, 5000};
    enum { N = sizeof lengths / sizeof lengths[0] };
    static uint16_t out[N][5000], in[5000];
    const struct type *t = &types[3];
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;
    reactant_mpi_request *req[N];
    reactant_mpi_status st = {-7, -7, 777};
    for (int k = 0; k < N; k++) {
        fill_message(t, out[k], lengths[k], 400 + (unsigned)k);
        OK(reactant_mpi_isend(out[k], lengths[k], t->value, next, k, comm, &req[k]));
    }
    OK(reactant_mpi_probe(REACTANT_MPI_ANY_SOURCE, REACTANT_MPI_ANY_TAG, comm, &st));
    CHECK(st.source == before && st.tag == 0 && st.bytes == 0, "probe of any: source %d tag %d bytes %zu", st.source, st.tag,
          st.bytes);
    for (int k = N - 1; k >= 0; k--)
        for (int twice = 0; twice < 2; twice++) {
            st = (reactant_mpi_status){-7, -7, 777};
            OK(twice ? reactant_mpi_recv(in, lengths[k], t->value, before, k, comm, &st)
                     : reactant_mpi_probe(before, k, comm, &st));
            CHECK(st.source == before && st.tag == k && st.bytes == 2 * lengths[k],
                  "probe, recv: source %d tag %d bytes %zu, wanted %d %d %zu", st.source, st.tag, st.bytes, before, k, 2 * lengths[k]);
            if (twice)
                check_message(t, in, lengths[k], 400 + (unsigned)k, before);
        }
    OK(reactant_mpi_waitall(N, req, NULL));
    OK(reactant_mpi_probe(REACTANT_MPI_PROC_NULL, 5, comm, &st));
    CHECK(st.source == REACTANT_MPI_PROC_NULL && st.tag == REACTANT_MPI_ANY_TAG && st.bytes == 0, "source %d tag %d bytes %zu",
          st.source, st.tag, st.bytes);
    OK(reactant_mpi_probe(REACTANT_MPI_PROC_NULL, REACTANT_MPI_ANY_TAG, comm, NULL));
    OK(reactant_mpi_barrier(comm));
}

/* Everybody sends to rank 0, which takes them as they come: ANY_SOURCE tells who it was, and every rank comes once, in its order.
 */
static void test_any_source(void)
{
    enum { EACH = 20, LENGTH = 16 };
    int32_t x[LENGTH];
    if (rank == 0) {
        int next[64] = {0};
        for (int k = 0; k < EACH * (size - 1); k++) {
            reactant_mpi_status st;
            OK(reactant_mpi_recv(x, LENGTH, REACTANT_MPI_INT32, REACTANT_MPI_ANY_SOURCE, REACTANT_MPI_ANY_TAG, comm, &st));
            NEED(st.source > 0 && st.source < size && size <= 64, "source %d", st.source);
            CHECK(st.tag == 100 + st.source && st.bytes == sizeof x, "tag %d bytes %zu", st.tag, st.bytes);
            for (int i = 0; i < LENGTH; i++)
                CHECK(x[i] == st.source * 100000 + next[st.source] * 100 + i, "from rank %d: %d", st.source, x[i]);
            next[st.source]++;
        }
    } else {
        for (int k = 0; k < EACH; k++) {
            for (int i = 0; i < LENGTH; i++)
                x[i] = rank * 100000 + k * 100 + i;
            OK(reactant_mpi_send(x, LENGTH, REACTANT_MPI_INT32, 0, 100 + rank, comm));
        }
    }
    OK(reactant_mpi_barrier(comm));
}

/* Tags keep messages apart, whatever the order of arrival. */
static void test_tags(void)
{
    if (size == 1)
        return;
    if (rank == 0) {
        for (int tag = 0; tag < 5; tag++)
            OK(reactant_mpi_send(&tag, 1, REACTANT_MPI_INT32, 1, tag, comm));
    } else if (rank == 1) {
        for (int tag = 4; tag >= 0; tag--) {
            int got = -1;
            reactant_mpi_status st;
            OK(reactant_mpi_recv(&got, 1, REACTANT_MPI_INT32, REACTANT_MPI_ANY_SOURCE, tag, comm, &st));
            CHECK(got == tag && st.tag == tag && st.source == 0, "tag %d: got %d from %d with tag %d", tag, got, st.source, st.tag);
        }
    }
}

#endif
