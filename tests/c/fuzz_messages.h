/*
 * Messages, of fuzz.c: a ring of right ones, in which every rank sends to the next and receives from the one before, and wrong ones.
 */
#ifndef FUZZ_MESSAGES_H
#define FUZZ_MESSAGES_H

#include "fuzz_requests.h"

struct message {
    const struct type *t;
    size_t count, room;
    int to, from, tag, source, recv_tag; /* the last two as the receive names them */
    unsigned values;
    reactant_mpi_comm *c;
};

static void draw_message(struct message *m)
{
    static const size_t some[] = {0, 1, 3, 17, 100};
    m->t = &types[draw(N_TYPES)];
    m->count = ONE_OF(some);
    m->room = m->count + (one_in(3) ? draw(50) : 0);
    m->to = (on->rank + 1) % on->size;
    m->from = (on->rank + on->size - 1) % on->size;
    m->tag = one_in(2) ? (int)draw(32768) : 0;
    m->source = one_in(3) ? REACTANT_MPI_ANY_SOURCE : m->from;
    m->recv_tag = one_in(3) ? REACTANT_MPI_ANY_TAG : m->tag;
    m->values = draw(1u << 30);
    m->c = handle_of(on);
    fill();
    for (size_t i = 0; i < m->count; i++)
        put(m->t, data.send, i, sent(m->t, 0, m->values, on->rank, i));
}

static void check_message(const struct message *m, const reactant_mpi_status *s)
{
    CHECK(s->source == m->from && s->tag == m->tag && s->bytes == m->count * m->t->size, "%s: from %d, tag %d, %zu bytes (call %lu)", calling,
          s->source, s->tag, s->bytes, calls);
}

static void step_right_message(void)
{
    struct message m;
    reactant_mpi_status status[2] = {{0, 0, 0}, {0, 0, 0}}, *const s = one_in(3) ? NULL : status;
    reactant_mpi_request *r[2] = {NULL, NULL};
    draw_message(&m);
    switch (draw(5)) {
    case 0:
        GIVES(0, CALL(sendrecv, data.send, m.count, m.to, m.tag, data.recv, m.room, m.source, m.recv_tag, m.t->value, m.c, s));
        break;
    case 1:
        GIVES(0, CALL(irecv, data.recv, m.room, m.t->value, m.source, m.recv_tag, m.c, &r[0]));
        GIVES(0, CALL(send, data.send, m.count, m.t->value, m.to, m.tag, m.c));
        finish(1, r, s, false);
        break;
    case 2:
        GIVES(0, CALL(isend, data.send, m.count, m.t->value, m.to, m.tag, m.c, &r[0]));
        if (one_in(2)) {
            GIVES(0, CALL(probe, m.source, m.recv_tag, m.c, s));
            if (s)
                check_message(&m, s);
        }
        GIVES(0, CALL(recv, data.recv, m.room, m.t->value, m.source, m.recv_tag, m.c, s));
        finish(1, r, NULL, false);
        break;
    case 3:
        GIVES(0, CALL(irecv, data.recv, m.room, m.t->value, m.source, m.recv_tag, m.c, &r[0]));
        GIVES(0, CALL(isend, data.send, m.count, m.t->value, m.to, m.tag, m.c, &r[1]));
        finish(2, r, s, false);
        break;
    case 4: { /* to nobody, from nobody */
        const int nobody = REACTANT_MPI_PROC_NULL;
        GIVES(0, CALL(send, data.send, m.count, m.t->value, nobody, m.tag, m.c));
        GIVES(0, CALL(recv, data.recv, m.room, m.t->value, nobody, m.recv_tag, m.c, s));
        if (s)
            CHECK(s->source == nobody && s->tag == REACTANT_MPI_ANY_TAG && s->bytes == 0, "%d %d %zu", s->source, s->tag, s->bytes);
        check_whole();
        return;
    }
    }
    if (s)
        check_message(&m, s);
    for (size_t i = 0; i < m.count; i++)
        CHECK(same(m.t, data.recv, i, sent(m.t, 0, m.values, m.from, i)), "%s: element %zu (call %lu)", calling, i, calls);
    memset(data.recv, FILL, m.count * m.t->size);
    check_whole();
}

static void step_wrong_message(void)
{
    static const int bad_tags[] = {-1, -2, -7, INT32_MIN, -103, -101};
    struct message m;
    reactant_mpi_status status;
    reactant_mpi_request *r = (reactant_mpi_request *)data.send, **out = &r;
    const void *send = data.send;
    void *recv = data.recv;
    int type, want, to, from, tag, recv_tag;
    const bool many = one_in(3);
    const unsigned call = draw(6);
    draw_message(&m);
    m.count++, m.room++;
    type = m.t->value, to = m.to, from = m.from, tag = m.tag, recv_tag = m.recv_tag;
    do {
        const bool started = call == 1 || call == 3;
        switch (draw(7)) {
        case 0: m.c = wrong_comm(), want = REACTANT_MPI_ERR_COMM; break;
        case 1: type = wrong_type(), want = call == 5 ? 0 : REACTANT_MPI_ERR_TYPE; break;
        case 2: to = from = wrong_rank(), want = REACTANT_MPI_ERR_RANK; break;
        case 3: tag = recv_tag = ONE_OF(bad_tags), want = REACTANT_MPI_ERR_RANK; break;
        case 4: m.count = m.room = wrong_count(m.t->size), want = call == 5 ? 0 : REACTANT_MPI_ERR_COUNT; break;
        case 5: send = recv = one_in(2) ? NULL : REACTANT_MPI_IN_PLACE, want = call == 5 ? 0 : REACTANT_MPI_ERR_ARGUMENT; break;
        default: out = started ? NULL : out, want = started ? REACTANT_MPI_ERR_ARGUMENT : 0; break;
        }
    } while (want == 0 || (many && one_in(2)));
    if (many)
        want = ANY_FAILURE;
    switch (call) {
    case 0: GIVES(want, CALL(send, send, m.count, type, to, tag, m.c)); break;
    case 1: GIVES(want, CALL(isend, send, m.count, type, to, tag, m.c, out)); break;
    case 2: GIVES(want, CALL(recv, recv, m.room, type, from, recv_tag, m.c, one_in(2) ? NULL : &status)); break;
    case 3: GIVES(want, CALL(irecv, recv, m.room, type, from, recv_tag, m.c, out)); break;
    case 4:
        GIVES(want, CALL(sendrecv, send, m.count, to, tag, recv, m.room, from, recv_tag, type, m.c, one_in(2) ? NULL : &status));
        break;
    default: GIVES(want, CALL(probe, from, recv_tag, m.c, one_in(2) ? NULL : &status)); break;
    }
    check_whole();
}

/* Device messages on a host communicator. */
static void step_stream_message(void)
{
    struct message m;
    void *const stream = (void *)(uintptr_t)draw(3);
    draw_message(&m);
    if (one_in(3))
        m.c = wrong_comm();
    switch (draw(5)) {
    case 0: GIVES(ANY_FAILURE, CALL(send_stream, data.send, m.count, m.t->value, m.to, m.c, stream)); break;
    case 1: GIVES(ANY_FAILURE, CALL(recv_stream, data.recv, m.room, m.t->value, m.from, m.c, stream)); break;
    case 2:
        GIVES(ANY_FAILURE, CALL(sendrecv_stream, data.send, m.count, m.to, data.recv, m.room, m.from, m.t->value, m.c, stream));
        break;
    case 3: GIVES(ANY_FAILURE, CALL(group_start)); break;
    case 4: GIVES(ANY_FAILURE, CALL(group_end)); break;
    }
    check_whole();
}

#endif
