/*
 * Of compiled.c: every function that moves data, for every type by every name that it has, and every legal operation; out of place
 * and in place as the host's MPI says it; roots other than 0. Expected values are made of what each rank sends (types.h).
 */
#ifndef COMPILED_DATA_H
#define COMPILED_DATA_H

#include "compiled.h"

/* Names of types, and what they are on this machine. */
static const struct {
    const char *name, *type;
} type_names[] = {
    {"MPI_INT8_T", "int8"}, {"MPI_UINT8_T", "uint8"}, {"MPI_INT16_T", "int16"}, {"MPI_UINT16_T", "uint16"},
    {"MPI_INT32_T", "int32"},
    {"MPI_UINT32_T", "uint32"}, {"MPI_INT64_T", "int64"}, {"MPI_UINT64_T", "uint64"}, {"MPI_FLOAT", "float32"},
    {"MPI_DOUBLE", "float64"},
    {"MPI_C_FLOAT_COMPLEX", "complex64"}, {"MPI_C_DOUBLE_COMPLEX", "complex128"}, {"MPI_C_BOOL", "bool"}, {"MPI_BYTE", "byte"},
    {"MPI_SHORT", "int16"}, {"MPI_UNSIGNED_SHORT", "uint16"}, {"MPI_INT", "int32"}, {"MPI_UNSIGNED", "uint32"},
    {"MPI_LONG", "int64"},
    {"MPI_UNSIGNED_LONG", "uint64"}, {"MPI_LONG_LONG_INT", "int64"}, {"MPI_UNSIGNED_LONG_LONG", "uint64"}, {"MPI_CHAR", "int8"},
    {"MPI_SIGNED_CHAR", "int8"}, {"MPI_UNSIGNED_CHAR", "uint8"}, {"MPI_WCHAR", "int32"}, {"MPI_AINT", "int64"},
    {"MPI_OFFSET", "int64"},
    {"MPI_COUNT", "int64"},
};
_Static_assert(sizeof(long) == 8 && sizeof(short) == 2 && (wchar_t)-1 < 0 && sizeof(wchar_t) == 4 && (char)-1 < 0, "LP64");
enum { N_TYPE_NAMES = sizeof type_names / sizeof *type_names };

/* By the names that the table of operations (types.h) has for them. */
static word op_word(const char *name)
{
    char upper[16] = "MPI_";
    for (int i = 0; name[i]; i++)
        upper[4 + i] = (char)(name[i] - 'a' + 'A');
    return look_up(upper);
}

static const struct type *type_called(const char *name)
{
    for (int i = 0; i < N_TYPES; i++)
        if (!strcmp(types[i].name, name))
            return &types[i];
    NEED(0, "%s", name);
    return NULL;
}

/* One kind of call under way, for the messages of its checks. */
static struct {
    const char *what, *type, *op;
    const struct type *t;
    int opv;
    word type_word, op_word;
    unsigned seed;
} now;

enum { MOST_BYTES = 16 * 8 * 64, EDGE = 32, FILLED = 0xa5 }; /* bytes, ranks, elements */
static unsigned char sending[MOST_BYTES + 2 * EDGE], receiving[MOST_BYTES + 2 * EDGE];
static unsigned char *const from = sending + EDGE, *const into = receiving + EDGE;

static void begin_call(const char *what)
{
    now.what = what;
    now.seed++;
    memset(sending, FILLED, sizeof sending);
    memset(receiving, FILLED, sizeof receiving);
}

/* Elements first .. of what `who` sends in this call, at p. */
static void place(unsigned char *p, int who, size_t first, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put(now.t, p, i, sent(now.t, now.opv, now.seed, who, first + i));
}

static void expect(int line, const unsigned char *p, size_t i, struct element want)
{
    check_count++;
    if (!same(now.t, p, i, want))
        check_fail(__FILE__, line, "the right values", " %s of %s%s%s at %d ranks, element %zu", now.what, now.type,
                   now.op ? ", " : "", now.op ? now.op : "", size, i);
}

static void expect_moved(int line, const unsigned char *p, int who, size_t first, size_t n)
{
    for (size_t i = 0; i < n; i++)
        expect(line, p, i, sent(now.t, now.opv, now.seed, who, first + i));
}

/* Of the ranks 0 .. last. */
static void expect_reduced(int line, const unsigned char *p, int last, size_t first, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct element e = sent(now.t, now.opv, now.seed, 0, first + i);
        for (int r = 1; r <= last; r++)
            e = fold(now.t, now.opv, e, sent(now.t, now.opv, now.seed, r, first + i));
        expect(line, p, i, e);
    }
}

/* Only the first n elements of the receive buffer were written. */
static void end_call(int line, size_t n)
{
    const size_t end = EDGE + n * now.t->size;
    for (size_t i = 0; i < sizeof receiving; i++)
        if ((i < EDGE || i >= end) && receiving[i] != FILLED) {
            check_fail(__FILE__, line, "nothing written elsewhere", " %s of %s: at byte %zd", now.what, now.type,
                       (ssize_t)i - EDGE);
            return;
        }
}

static void reductions(int n)
{
    const int last = size - 1;
    void *const in_place = (void *)host_numbers().in_place;
    const size_t all = (size_t)n * (size_t)size;

    begin_call("Allreduce");
    place(from, rank, 0, (size_t)n);
    RIGHT(Allreduce(from, into, n, now.type_word, now.op_word, WORLD));
    expect_reduced(__LINE__, into, last, 0, (size_t)n);
    end_call(__LINE__, (size_t)n);

    begin_call("Allreduce in place");
    place(into, rank, 0, (size_t)n);
    RIGHT(Allreduce(in_place, into, n, now.type_word, now.op_word, WORLD));
    expect_reduced(__LINE__, into, last, 0, (size_t)n);
    end_call(__LINE__, (size_t)n);

    begin_call("Scan");
    place(from, rank, 0, (size_t)n);
    RIGHT(Scan(from, into, n, now.type_word, now.op_word, WORLD));
    expect_reduced(__LINE__, into, rank, 0, (size_t)n);
    end_call(__LINE__, (size_t)n);

    begin_call("Scan in place");
    place(into, rank, 0, (size_t)n);
    RIGHT(Scan(in_place, into, n, now.type_word, now.op_word, WORLD));
    expect_reduced(__LINE__, into, rank, 0, (size_t)n);
    end_call(__LINE__, (size_t)n);

    for (int root = 0; root < size; root += last ? last : 1) {
        begin_call("Reduce");
        place(from, rank, 0, (size_t)n);
        RIGHT(Reduce(from, rank == root ? into : NULL, n, now.type_word, now.op_word, root, WORLD));
        if (rank == root)
            expect_reduced(__LINE__, into, last, 0, (size_t)n);
        end_call(__LINE__, rank == root ? (size_t)n : 0);

        begin_call("Reduce in place");
        place(rank == root ? into : from, rank, 0, (size_t)n);
        RIGHT(Reduce(rank == root ? in_place : from, into, n, now.type_word, now.op_word, root, WORLD));
        if (rank == root)
            expect_reduced(__LINE__, into, last, 0, (size_t)n);
        end_call(__LINE__, rank == root ? (size_t)n : 0);
    }

    begin_call("Reduce_scatter_block");
    place(from, rank, 0, all);
    RIGHT(Reduce_scatter_block(from, into, n, now.type_word, now.op_word, WORLD));
    expect_reduced(__LINE__, into, last, (size_t)(rank * n), (size_t)n);
    end_call(__LINE__, (size_t)n);

    begin_call("Reduce_scatter_block in place");
    place(into, rank, 0, all);
    RIGHT(Reduce_scatter_block(in_place, into, n, now.type_word, now.op_word, WORLD));
    expect_reduced(__LINE__, into, last, (size_t)(rank * n), (size_t)n);
    end_call(__LINE__, all);
}

static void moves(int n)
{
    const int last = size - 1, next = (rank + 1) % size, before = (rank + last) % size;
    void *const in_place = (void *)host_numbers().in_place;
    const word t = now.type_word;
    const size_t each = (size_t)n * now.t->size;
    unsigned char *const own = into + (size_t)rank * each; /* this rank's block */

    for (int root = 0; root < size; root++) {
        begin_call("Bcast");
        if (rank == root)
            place(into, root, 0, (size_t)n);
        RIGHT(Bcast(into, n, t, root, WORLD));
        expect_moved(__LINE__, into, root, 0, (size_t)n);
        end_call(__LINE__, (size_t)n);
    }
    for (int way = 0; way < 2; way++) {
        begin_call(way ? "Allgather in place" : "Allgather");
        place(way ? own : from, rank, 0, (size_t)n);
        RIGHT(Allgather(way ? in_place : from, way ? 0 : n, way ? WORD(DATATYPE_NULL) : t, into, n, t, WORLD));
        for (int r = 0; r < size; r++)
            expect_moved(__LINE__, into + (size_t)r * each, r, 0, (size_t)n);
        end_call(__LINE__, (size_t)(n * size));

        begin_call(way ? "Alltoall in place" : "Alltoall");
        place(way ? into : from, rank, 0, (size_t)(n * size));
        RIGHT(Alltoall(way ? in_place : from, way ? 0 : n, way ? WORD(DATATYPE_NULL) : t, into, n, t, WORLD));
        for (int r = 0; r < size; r++)
            expect_moved(__LINE__, into + (size_t)r * each, r, (size_t)(rank * n), (size_t)n);
        end_call(__LINE__, (size_t)(n * size));

        for (int root = 0; root < size; root += last ? last : 1) {
            const bool mine = rank == root, here = way && mine; /* what only the root has is wrong elsewhere, where nobody looks */
            begin_call(way ? "Gather in place" : "Gather");
            place(here ? own : from, rank, 0, (size_t)n);
            RIGHT(Gather(here ? in_place : from, here ? 0 : n, here ? WORD(DATATYPE_NULL) : t, mine ? into : NULL, mine ? n : -5,
                         mine ? t : WORD(OP_NULL), root, WORLD));
            for (int r = 0; mine && r < size; r++)
                expect_moved(__LINE__, into + (size_t)r * each, r, 0, (size_t)n);
            end_call(__LINE__, mine ? (size_t)(n * size) : 0);

            begin_call(way ? "Scatter in place" : "Scatter");
            if (mine)
                place(from, root, 0, (size_t)(n * size));
            RIGHT(Scatter(mine ? from : NULL, mine ? n : -5, mine ? t : WORD(OP_NULL), here ? in_place : into, here ? 0 : n,
                          here ? WORD(DATATYPE_NULL) : t, root, WORLD));
            if (!here)
                expect_moved(__LINE__, into, root, (size_t)(rank * n), (size_t)n);
            end_call(__LINE__, here ? 0 : (size_t)n);
        }
    }
    for (int way = 0; way < 3; way++) {
        static const char *const names[] = {"Sendrecv", "Irecv and Send", "Isend and Recv"};
        struct requests r;
        begin_call(names[way]);
        place(from, rank, 0, (size_t)n);
        requests_new(&r, 1);
        switch (way) {
        case 0: RIGHT(Sendrecv(from, n, t, next, 7, into, n, t, before, 7, WORLD, WORD(STATUS_IGNORE))); break;
        case 1:
            RIGHT(Irecv(into, n, t, before, 8, WORLD, request(&r, 0)));
            RIGHT(Send(from, n, t, next, 8, WORLD));
            RIGHT(Wait(request(&r, 0), WORD(STATUS_IGNORE)));
            requests_done(__LINE__, &r, 1);
            break;
        case 2:
            RIGHT(Isend(from, n, t, next, 9, WORLD, request(&r, 0)));
            RIGHT(Recv(into, n, t, before, 9, WORLD, WORD(STATUS_IGNORE)));
            RIGHT(Wait(request(&r, 0), WORD(STATUS_IGNORE)));
            requests_done(__LINE__, &r, 1);
            break;
        }
        expect_moved(__LINE__, into, before, 0, (size_t)n);
        end_call(__LINE__, (size_t)n);
    }
}

/* The sides of a call may name a block differently, if its bytes are the same. */
static void blocks_by_two_names(void)
{
    const int last = size - 1, next = (rank + 1) % size, before = (rank + last) % size;
    const word f = WORD(FLOAT), b = WORD(BYTE), i = WORD(INT32_T);
    now.t = type_called("float32"), now.type = "MPI_FLOAT", now.op = NULL, now.opv = 0;
    begin_call("Sendrecv of 3 floats as 12 bytes");
    place(from, rank, 0, 3);
    RIGHT(Sendrecv(from, 3, f, next, 1, into, 12, b, before, 1, WORLD, NULL));
    expect_moved(__LINE__, into, before, 0, 3);
    end_call(__LINE__, 3);
    begin_call("Sendrecv of 3 floats into room for 5 doubles");
    place(from, rank, 0, 3);
    RIGHT(Sendrecv(from, 3, f, next, 1, into, 5, WORD(DOUBLE), before, 1, WORLD, NULL));
    expect_moved(__LINE__, into, before, 0, 3);
    end_call(__LINE__, 3);
    begin_call("Allgather of 2 floats as 2 integers");
    place(from, rank, 0, 2);
    RIGHT(Allgather(from, 2, f, into, 2, i, WORLD));
    for (int r = 0; r < size; r++)
        expect_moved(__LINE__, into + 8 * r, r, 0, 2);
    end_call(__LINE__, (size_t)(2 * size));
    begin_call("Alltoall of 2 floats as 8 bytes");
    place(from, rank, 0, (size_t)(2 * size));
    RIGHT(Alltoall(from, 8, b, into, 2, f, WORLD));
    for (int r = 0; r < size; r++)
        expect_moved(__LINE__, into + 8 * r, r, (size_t)(2 * rank), 2);
    /* What the root has for the others is as they have it; its own block may be named otherwise. */
    const bool root = rank == last;
    begin_call("Gather of 2 floats as 8 bytes");
    place(from, rank, 0, 2);
    RIGHT(Gather(from, root ? 2 : 8, root ? f : b, into, 8, b, last, WORLD));
    for (int r = 0; root && r < size; r++)
        expect_moved(__LINE__, into + 8 * r, r, 0, 2);
    begin_call("Scatter of 2 floats as 2 integers");
    place(from, rank, 0, (size_t)(2 * size));
    RIGHT(Scatter(from, 2, i, into, root ? 8 : 2, root ? b : i, last, WORLD));
    expect_moved(__LINE__, into, last, (size_t)(2 * rank), 2);
}

static void test_data(void)
{
    for (int i = 0; i < N_TYPE_NAMES; i++) {
        now.type = type_names[i].name;
        now.type_word = look_up(type_names[i].name);
        now.t = type_called(type_names[i].type);
        now.op = NULL, now.opv = 0;
        moves(5);
        moves(0);
        for (int o = 0; o < N_OPS; o++) {
            if (!legal(now.t, ops[o].value) || ops[o].value == REACTANT_MPI_AVG)
                continue;
            now.op = ops[o].name, now.opv = ops[o].value;
            now.op_word = op_word(ops[o].name);
            reductions(o % 2 ? 5 : 1);
            if (o == 0)
                reductions(0);
        }
    }
    /* 16-bit floats have no name in MPI; their words are the values of the header. */
    for (int i = N_STANDARD; i < N_TYPES; i++) {
        now.type = types[i].name, now.t = &types[i], now.op = NULL, now.opv = 0;
        now.type_word = (word)(uintptr_t)types[i].value;
        moves(5);
        if (types[i].kind == HALF) {
            now.op = "sum", now.opv = REACTANT_MPI_SUM, now.op_word = WORD(SUM);
            reductions(5);
        }
    }
    blocks_by_two_names();
}

#endif
