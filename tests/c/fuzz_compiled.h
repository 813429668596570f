/*
 * MPI by name, of fuzz.c: right calls of compiled code in both widths, whose results are computed here, and wrong ones, that every
 * rank must refuse with the class of the fault, and keep.
 */
#ifndef FUZZ_COMPILED_H
#define FUZZ_COMPILED_H

#include "fuzz_collectives.h"
#include "fuzz_messages.h"

static OF_RANK bool in_own_process; /* pool[0] is what 0x101 means, and what is kept is this rank's failure */

enum { MPI_WORLD = 0x101, MPI_REQUEST_NULL = 0x180, MPI_SUCCESS = 0, CLASS_COUNT = 2, CLASS_TYPE = 3, CLASS_TAG = 4,
       CLASS_COMM = 5, CLASS_RANK = 6,
       CLASS_REQUEST = 7, CLASS_ROOT = 8, CLASS_OP = 10, CLASS_ARG = 13, MOST_CLASS = 62 };

/* A class against the one that the drawn fault must give. What has failed is kept until it is asked for. */
static void judge_class(const char *file, int line, int got, int want)
{
    static const char *const all[] = {"in compiled code, MPI_", ""};
    const char *const was = calling;
    char text[200];
    const int kept = CALL(compiled_error, text, sizeof text);
    calling = was;
    if (want != 0 && want != ANY_RESULT)
        told = mix(told ^ (uint64_t)(want == ANY_FAILURE ? got != 0 : (unsigned)got));
    check_count++;
    if (got < 0 || got > MOST_CLASS)
        check_fail(file, line, "a class", " got %d from %s", got, calling);
    else if ((in_own_process && (got != 0) != (kept != 0)) || strncmp(text, all[kept == 0], strlen(all[kept == 0])) != 0 ||
             !known(kept))
        check_fail(file, line, "the failure, kept", " %s gave class %d, kept %d '%s'", calling, got, kept, text);
    else if (want == ANY_FAILURE ? got == 0 : want != ANY_RESULT && got != want)
        check_fail(file, line, "another class", " %s gave %d instead of %d (call %lu): %s", calling, got, want, calls, text);
}
#define GIVES_CLASS(want, call) ({ int class_ = (call); judge_class(__FILE__, __LINE__, class_, (want)); class_; })

/* A call of compiled code: its words, and where its data is. */
struct named {
    const void *send;
    void *recv;
    int count, other_count; /* the other's for the second description of a block */
    uintptr_t type, op, comm;
    int peer, from, tag;
};

enum name { N_ALLREDUCE, N_SCAN, N_REDUCE_SCATTER_BLOCK, N_REDUCE, N_BCAST, N_ALLGATHER, N_ALLTOALL, N_GATHER, N_SCATTER,
            N_SENDRECV, N_SEND,
            N_RECV, N_ISEND, N_IRECV, N_ISEND4, N_IRECV4, N_BARRIER, N_COMM_RANK, N_COMM_SIZE, N_NAMES };

static int by_name(enum name f, const struct named *a, int *number, void *place)
{
    switch (f) {
    case N_ALLREDUCE: return CALL(MPI_Allreduce, a->send, a->recv, a->count, a->type, a->op, a->comm);
    case N_SCAN: return CALL(MPI_Scan, a->send, a->recv, a->count, a->type, a->op, a->comm);
    case N_REDUCE_SCATTER_BLOCK: return CALL(MPI_Reduce_scatter_block, a->send, a->recv, a->count, a->type, a->op, a->comm);
    case N_REDUCE: return CALL(MPI_Reduce, a->send, a->recv, a->count, a->type, a->op, a->peer, a->comm);
    case N_BCAST: return CALL(MPI_Bcast, a->recv, a->count, a->type, a->peer, a->comm);
    case N_ALLGATHER: return CALL(MPI_Allgather, a->send, a->count, a->type, a->recv, a->other_count, a->type, a->comm);
    case N_ALLTOALL: return CALL(MPI_Alltoall, a->send, a->count, a->type, a->recv, a->other_count, a->type, a->comm);
    case N_GATHER: return CALL(MPI_Gather, a->send, a->count, a->type, a->recv, a->count, a->type, a->peer, a->comm);
    case N_SCATTER: return CALL(MPI_Scatter, a->send, a->count, a->type, a->recv, a->count, a->type, a->peer, a->comm);
    case N_SENDRECV:
        return CALL(MPI_Sendrecv, a->send, a->count, a->type, a->peer, a->tag, a->recv, a->other_count, a->type, a->from, a->tag,
                    a->comm, place);
    case N_SEND: return CALL(MPI_Send, a->send, a->count, a->type, a->peer, a->tag, a->comm);
    case N_RECV: return CALL(MPI_Recv, a->recv, a->count, a->type, a->from, a->tag, a->comm, place);
    case N_ISEND: return CALL(MPI_Isend, a->send, a->count, a->type, a->peer, a->tag, a->comm, place);
    case N_IRECV: return CALL(MPI_Irecv, a->recv, a->count, a->type, a->from, a->tag, a->comm, place);
    case N_ISEND4: return CALL(MPI_Isend4, a->send, a->count, a->type, a->peer, a->tag, a->comm, place);
    case N_IRECV4: return CALL(MPI_Irecv4, a->recv, a->count, a->type, a->from, a->tag, a->comm, place);
    case N_BARRIER: return CALL(MPI_Barrier, a->comm);
    case N_COMM_RANK: return CALL(MPI_Comm_rank, a->comm, number);
    case N_COMM_SIZE: return CALL(MPI_Comm_size, a->comm, number);
    case N_NAMES: break;
    }
    return -1;
}
static bool name_has_data(enum name f) { return f < N_BARRIER; }
static bool name_has_op(enum name f) { return f <= N_REDUCE; }
static bool name_has_peer(enum name f)
{
    return name_has_data(f) && f >= N_REDUCE && f != N_ALLGATHER && f != N_ALLTOALL;
}
static bool name_is_message(enum name f) { return f >= N_SENDRECV && f <= N_IRECV4; }

static uintptr_t word_of(const struct member *m)
{
    return in_own_process && m == &pool[0] && one_in(2) ? MPI_WORLD : (uintptr_t)handle_of(m);
}

static void draw_named(struct named *a, const struct type **t)
{
    *t = &types[draw(N_TYPES)];
    *a = (struct named){
        .send = data.send, .recv = data.recv, .count = (int)draw(20), .type = (uintptr_t)(*t)->value, .comm = word_of(on)};
    a->other_count = a->count;
    a->peer = (on->rank + 1) % on->size;
    a->from = (on->rank + on->size - 1) % on->size;
    a->tag = (int)draw(32768);
    fill();
}

static void expect_elements(const struct type *t, size_t from, size_t n, const struct element *want)
{
    for (size_t i = 0; i < n; i++)
        CHECK(same(t, data.recv, from + i, want[i]), "%s of %s: element %zu (call %lu)", calling, t->name, from + i, calls);
    memset(data.recv + from * t->size, FILL, n * t->size);
}

static void step_right_name(void)
{
    static const enum name collectives[] = {N_ALLREDUCE, N_SCAN,   N_REDUCE_SCATTER_BLOCK, N_REDUCE, N_BCAST, N_ALLGATHER,
                                            N_ALLTOALL,  N_GATHER, N_SCATTER,              N_SENDRECV, N_BARRIER};
    const enum name f = never_blocking ? (one_in(2) ? N_SENDRECV : N_BARRIER) : ONE_OF(collectives);
    const int root = (int)draw((unsigned)on->size), me = on->rank, n_ranks = on->size;
    const unsigned values = draw(1u << 30);
    const struct type *t;
    struct element want[20];
    struct named a;
    int op;
    draw_named(&a, &t);
    const size_t n = (size_t)a.count;
    op = name_has_op(f) ? legal_op(t, f != N_SCAN) : 0;
    if (name_has_op(f) && !op)
        return;
    a.op = (uintptr_t)op;
    if (f != N_SENDRECV)
        a.peer = root;
    for (size_t i = 0; i < n * (size_t)n_ranks; i++)
        put(t, data.send, i, sent(t, op, values, me, i));
    if (f == N_BCAST && me == root)
        memcpy(data.recv, data.send, n * t->size);
    GIVES_CLASS(0, by_name(f, &a, NULL, one_in(2) ? NULL : (void *)1));
    for (int r = 0; r < n_ranks; r++) { /* block r of the result */
        const size_t first = f == N_REDUCE_SCATTER_BLOCK || f == N_ALLTOALL || f == N_SCATTER ? (size_t)me * n : 0;
        const bool blocks = f == N_ALLGATHER || f == N_ALLTOALL || (f == N_GATHER && me == root);
        const bool has_one = name_has_op(f) ? f != N_REDUCE || me == root : f == N_BCAST || f == N_SCATTER || f == N_SENDRECV;
        if (!blocks && (r > 0 || !has_one))
            continue;
        for (size_t i = 0; i < n; i++) {
            const int from = blocks ? r : f == N_SENDRECV ? a.from : name_has_op(f) ? 0 : root;
            const int last = !name_has_op(f) ? from : f == N_SCAN ? me : n_ranks - 1;
            want[i] = sent(t, op, values, from, first + i);
            for (int k = from + 1; k <= last; k++)
                want[i] = fold(t, op, want[i], sent(t, op, values, k, first + i));
            if (op == REACTANT_MPI_AVG)
                want[i] = average(t, want[i], n_ranks);
        }
        expect_elements(t, (size_t)r * n, n, want);
    }
    check_whole();
}

/* Requests of 8 or 4 bytes, and a guard. */
struct tokens {
    uint32_t at[10];
};

static void tokens_new(struct tokens *r, int n, int width)
{
    memset(r, FILL, sizeof *r);
    memset(r, 0xff, (size_t)(n * width));
}

static void tokens_done(const struct tokens *r, int n, int width)
{
    for (int i = 0; i < n * width / 4; i++)
        CHECK(r->at[i] == (width == 8 && i % 2 ? 0 : MPI_REQUEST_NULL), "%s leaves %#x (call %lu)", calling, r->at[i], calls);
    CHECK(all_fill((const unsigned char *)r + n * width, sizeof *r - (size_t)(n * width)), "%s wrote beyond a request (call %lu)",
          calling, calls);
}

static void wait_for_tokens(struct tokens *r, int n, int width, void *status)
{
    uintptr_t *const wide = (uintptr_t *)(void *)r->at;
    int32_t *const narrow = (int32_t *)r->at;
    if (one_in(2)) {
        GIVES_CLASS(0, width == 8 ? CALL(MPI_Waitall, n, wide, NULL) : CALL(MPI_Waitall4, n, narrow, NULL));
        return;
    }
    for (int i = n - 1; i >= 0; i--)
        GIVES_CLASS(0, width == 8 ? CALL(MPI_Wait, wide + i, status) : CALL(MPI_Wait4, narrow + i, status));
}

/* The next rank's message and ours to it. */
static void step_right_message_by_name(void)
{
    const int width = one_in(2) ? 8 : 4;
    const unsigned values = draw(1u << 30), way = draw(4);
    unsigned char status[24 + 8];
    void *const where = one_in(2) ? status : one_in(2) ? (void *)1 : NULL;
    const struct type *t;
    struct element want[20];
    struct named a;
    struct tokens r __attribute__((aligned(8)));
    draw_named(&a, &t);
    memset(status, FILL, sizeof status);
    for (size_t i = 0; i < (size_t)a.count; i++) {
        put(t, data.send, i, sent(t, 0, values, on->rank, i));
        want[i] = sent(t, 0, values, a.from, i);
    }
    tokens_new(&r, 2, width);
    if (way != 1)
        GIVES_CLASS(0, by_name(width == 8 ? N_IRECV : N_IRECV4, &a, NULL, &r));
    if (way == 0) {
        GIVES_CLASS(0, by_name(N_SEND, &a, NULL, NULL));
        GIVES_CLASS(0, width == 8 ? CALL(MPI_Wait, (uintptr_t *)(void *)&r, where) : CALL(MPI_Wait4, (int32_t *)(void *)&r, where));
        memset((char *)&r + width, FILL, (size_t)width);
        tokens_done(&r, 1, width);
    } else {
        GIVES_CLASS(0, by_name(width == 8 ? N_ISEND : N_ISEND4, &a, NULL, (char *)&r + (way == 1 ? 0 : width)));
        if (way == 1)
            GIVES_CLASS(0, by_name(N_RECV, &a, NULL, where));
        if (way == 1)
            memset((char *)&r + width, FILL, (size_t)width);
        if (way == 1 && one_in(2)) { /* it has been received, or will be */
            GIVES_CLASS(0, width == 8 ? CALL(MPI_Request_free, (uintptr_t *)(void *)&r)
                                      : CALL(MPI_Request_free4, (int32_t *)(void *)&r));
            GIVES_CLASS(0, by_name(N_BARRIER, &a, NULL, NULL));
        } else {
            wait_for_tokens(&r, way == 1 ? 1 : 2, width, where);
        }
        tokens_done(&r, way == 1 ? 1 : 2, width);
    }
    CHECK(all_fill(status + 24, 8), "%s wrote beyond a status (call %lu)", calling, calls);
    expect_elements(t, 0, (size_t)a.count, want);
    check_whole();
}

/* Nothing that a host's MPI has given to initialize. */
static uintptr_t wrong_comm_word(void)
{
    static const uintptr_t fixed[] = {0x100, 0, 0x84777777, 0xffffffff84777777, 0x180, 0x210, 60000};
    const uintptr_t word = (uintptr_t)wrong_comm();
    return one_in(2) || (word >> 4) == 0x4400000 ? ONE_OF(fixed) : word;
}

static void step_wrong_name(void)
{
    static const uintptr_t bad_ops[] = {0, 0x20, 0x38, 0x39, 0x3c, 0x3d, 0x58000003, 0x100000021, (uintptr_t)-1, 0x210};
    static const uintptr_t bad_types[] = {0, 0x200, 0x220, 0x228, 0x22b, 0x2ff, 0x300, 0x100000210, 0x4c00040a, (uintptr_t)-1,
                                          0x21};
    const enum name f = (enum name)draw(N_NAMES);
    const int bad_peers[] = {on->size, on->size + 1, INT32_MAX, INT32_MIN, -9};
    const bool many = one_in(3);
    const struct type *t;
    struct named a;
    uintptr_t place[3] = {~(uintptr_t)0, ~(uintptr_t)0, 0x5a};
    void *const where = f == N_RECV || f == N_SENDRECV ? NULL : place;
    int number = 7, want, got;
    draw_named(&a, &t);
    a.count++, a.other_count++;
    a.op = (uintptr_t)legal_op(t, f != N_SCAN);
    if (name_has_op(f) && !a.op)
        a.type = REACTANT_MPI_INT32, a.op = REACTANT_MPI_SUM, t = &types[4];
    if (f == N_REDUCE || f == N_BCAST || f == N_GATHER || f == N_SCATTER)
        a.peer = (int)draw((unsigned)on->size);
    do {
        want = 0;
        switch (draw(7)) {
        case 0: a.comm = wrong_comm_word(), want = CLASS_COMM; break;
        case 1:
            if (name_has_data(f))
                a.type = ONE_OF(bad_types), want = CLASS_TYPE;
            break;
        case 2:
            if (name_has_op(f))
                a.op = one_in(2) && illegal_op(t) ? (uintptr_t)illegal_op(t) : ONE_OF(bad_ops), want = CLASS_OP;
            break;
        case 3:
            if (name_has_data(f))
                a.count = a.other_count = one_in(2) ? -1 - (int)draw(1000) : INT32_MIN, want = CLASS_COUNT;
            break;
        case 4:
            if (name_has_peer(f))
                a.peer = a.from = ONE_OF(bad_peers), want = name_is_message(f) ? CLASS_RANK : CLASS_ROOT;
            break;
        case 5:
            if (name_is_message(f))
                a.tag = -9 - (int)draw(50), want = CLASS_TAG;
            break;
        case 6:
            if (f == N_ALLGATHER || f == N_ALLTOALL)
                a.other_count++, want = CLASS_COUNT;
            else if (name_has_data(f))
                a.send = a.recv = NULL, want = CLASS_ARG;
            break;
        }
    } while (want == 0 || (many && one_in(2)));
    got = GIVES_CLASS(many ? ANY_FAILURE : want, by_name(f, &a, &number, where));
    CHECK(got == 0 || number == (f == N_COMM_RANK || f == N_COMM_SIZE ? -1 : 7), "%s leaves %d", calling, number);
    if (f >= N_ISEND && f <= N_IRECV4)
        CHECK((uint32_t)place[0] == MPI_REQUEST_NULL && place[1] == ~(uintptr_t)0, "%s leaves %#zx (call %lu)", calling, place[0],
              calls);
    check_whole();
}

/* Words that are no request of compiled code, in both widths. */
static void step_wrong_tokens(void)
{
    static const uint32_t fixed[] = {0, 0xffffffff, 0x179, 0x181, 0xffff, 0x10000, 0x7fffffff, 0x80000000, FILL};
    const int width = one_in(2) ? 8 : 4, n = 1 + (int)draw(2);
    struct tokens r __attribute__((aligned(8))), before;
    uintptr_t *const wide = (uintptr_t *)(void *)r.at;
    int32_t *const narrow = (int32_t *)r.at;
    tokens_new(&r, n, width);
    for (int i = 0; i < n * width / 4; i++)
        if (one_in(2))
            r.at[i] = one_in(2) ? ONE_OF(fixed) : (uint32_t)draw64();
        else if (one_in(4))
            r.at[i] = (uint32_t)(uintptr_t)wrong_request();
    if (r.at[0] == MPI_REQUEST_NULL)
        r.at[0] = 0;
    before = r;
    switch (draw(6)) {
    case 0: GIVES_CLASS(CLASS_REQUEST, width == 8 ? CALL(MPI_Wait, wide, NULL) : CALL(MPI_Wait4, narrow, NULL)); break;
    case 1: GIVES_CLASS(CLASS_REQUEST, width == 8 ? CALL(MPI_Waitall, n, wide, NULL) : CALL(MPI_Waitall4, n, narrow, NULL)); break;
    case 2: GIVES_CLASS(CLASS_REQUEST, width == 8 ? CALL(MPI_Request_free, wide) : CALL(MPI_Request_free4, narrow)); break;
    case 3: GIVES_CLASS(CLASS_ARG, width == 8 ? CALL(MPI_Wait, NULL, NULL) : CALL(MPI_Wait4, NULL, NULL)); break;
    case 4: GIVES_CLASS(CLASS_ARG, width == 8 ? CALL(MPI_Waitall, n, NULL, NULL) : CALL(MPI_Waitall4, -n, narrow, NULL)); break;
    case 5:
        GIVES_CLASS(0, width == 8 ? CALL(MPI_Waitall, 0, one_in(2) ? NULL : wide, NULL) : CALL(MPI_Waitall4, 0, NULL, NULL));
        break;
    }
    CHECK(memcmp((char *)&r + n * width, (char *)&before + n * width, sizeof r - (size_t)(n * width)) == 0,
          "%s wrote beyond a request", calling);
}

#endif
