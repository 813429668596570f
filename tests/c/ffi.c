/*
 * The XLA FFI handlers over host buffers, called with built frames on real ranks:
 *
 *   ffi data SHARE     one of SHARE of: every row, type, operation, root, size of blocks, apart and in place; blocking, with futures, and
 *                      in runtimes that have none. Results as in collectives.c
 *   ffi rest           messages, packed types, what is refused, questions, threads, many in flight, continuations that wait
 *   ffi late | killed | pending | funneled | forked    in ffi_ends.h
 */
#include "ffi_jobs.h"
#include "ffi_ends.h"
#include "ffi_wrong.h"

#include <pthread.h>
#include <unistd.h>

/* ---- data ---- */

static void check_layout(const struct job *j, const char *base, const struct layout *l, bool results, const char *what)
{
    const int op = reduces(j->row) ? j->op : 0;
    check_count++;
    for (int k = 0; k < l->n; k++)
        for (size_t i = 0; i < l->piece[k].n; i++) {
            const struct piece *p = &l->piece[k];
            if (!same(j->t, base, p->at + i, results ? expected(j, 1, p, i) : sent(j->t, op, 1, rank, p->first + i))) {
                check_fail(__FILE__, __LINE__, what, " %s of %zu %s, op 0x%x, root %d, variant %d, element %zu", row_names[j->row], j->count,
                           j->t->name, j->op, j->root, j->variant, i);
                return;
            }
        }
}

static void run_job(const struct job *j, bool wait, bool alias, size_t api_bytes)
{
    struct layout in, out;
    struct counts counts;
    struct buffer from = {0}, to = {0};
    struct XLA_FFI_CallFrame f;
    float token = 42, next = -1;
    char *input, *output;
    describe_for_xla(j, &in, &out, &counts);
    alias &= in.room == out.room;
    input = buffer_new(&from, in.room * j->t->size);
    output = alias ? input : buffer_new(&to, out.room * j->t->size);
    for (int k = 0; k < in.n; k++)
        for (size_t i = 0; i < in.piece[k].n; i++)
            put(j->t, input, in.piece[k].at + i, sent(j->t, reduces(j->row) ? j->op : 0, 1, rank, in.piece[k].first + i));
    api_of(api_bytes);
    frame_of_job(&f, j, &counts, wait, input, in.room, output, out.room, &token, alias ? &token : &next);
    NO_ERROR(frame_end(&f, handlers[j->row](&f)));
    check_layout(j, output, &out, true, "the right result");
    if (!alias)
        check_layout(j, input, &in, false, "the operand unchanged");
    CHECK(token == 42 && (alias || next == 42), "the token is %g and %g", (double)token, (double)next);
    if (!buffer_whole(&from) || (!alias && !buffer_whole(&to)))
        check_fail(__FILE__, __LINE__, "nothing written beyond the result", " %s", row_names[j->row]);
    free(from.block);
    free(to.block);
}

static unsigned share;

static void maybe(const struct job *j)
{
    static const size_t apis[] = {API_0_5, API_0_4, API_0_3, API_WITHOUT_FUTURES};
    static uint64_t number;
    const uint64_t h = mix(++number * MAX_RANKS + (uint64_t)size);
    if (h % share == 0)
        run_job(j, h >> 32 & 1, h >> 33 & 1, apis[h >> 34 & 3]);
}

static void test_data(void)
{
    static const size_t lengths[] = {0, 1, 7, 600};
    for (size_t t = 0; t < N_TYPES; t++)
        for (size_t c = 0; c < sizeof lengths / sizeof *lengths; c++)
            for (enum row row = 0; row < BARRIER; row++) {
                struct job j = {.row = row, .t = &types[t], .count = lengths[c]};
                const bool listed = row == ALLGATHERV || row == GATHERV || row == SCATTERV || row == ALLTOALLV || row == REDUCE_SCATTERV;
                const int variants = listed ? 3 : row == PERMUTE ? N_PERMUTATIONS : 1;
                for (size_t o = 0; o < (reduces(row) ? (size_t)N_OPS : 1); o++) {
                    j.op = ops[o].value;
                    if (reduces(row) && (!legal(j.t, j.op) || j.t->kind == BITS || (j.op == REACTANT_MPI_AVG && (row == SCAN || row == EXSCAN))))
                        continue;
                    for (j.root = 0; j.root < (has_root(row) ? size : 1); j.root++)
                        for (j.variant = 0; j.variant < variants; j.variant++)
                            maybe(&j);
                }
            }
}

/* ---- messages ---- */

static struct XLA_FFI_Error *message(handler *h, struct XLA_FFI_CallFrame *f, bool wait, void *in, size_t in_n, void *out, size_t out_n, int dest,
                                     int source, int tag)
{
    static float token;
    frame_start(f);
    if (h != reactant_mpi_ffi_recv)
        frame_buffer(f, 0, S32, in, in_n);
    frame_buffer(f, 0, F32, &token, 1);
    if (h != reactant_mpi_ffi_send)
        frame_buffer(f, 1, S32, out, out_n);
    frame_buffer(f, 1, F32, &token, 1);
    frame_common(f, reactant_mpi_comm_id(comm), size, wait);
    if (h != reactant_mpi_ffi_recv)
        frame_scalar(f, "dest", S32, dest);
    if (h != reactant_mpi_ffi_send)
        frame_scalar(f, "source", S32, source);
    if (h == reactant_mpi_ffi_sendrecv)
        frame_scalar(f, "sendtag", S32, tag), frame_scalar(f, "recvtag", S32, tag);
    else
        frame_scalar(f, "tag", S32, tag);
    return h(f);
}

static void test_messages(bool wait)
{
    struct XLA_FFI_CallFrame f, g;
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;
    int32_t out[100], in[100];
    for (int i = 0; i < 100; i++)
        out[i] = 1000 * rank + i, in[i] = -1;
    NO_ERROR(frame_end(&f, message(reactant_mpi_ffi_sendrecv, &f, wait, out, 100, in, 100, right, left, 3)));
    CHECK(in[0] == 1000 * left && in[99] == 1000 * left + 99, "%d %d", in[0], in[99]);
    /* In place. */
    NO_ERROR(frame_end(&f, message(reactant_mpi_ffi_sendrecv, &f, wait, out, 100, out, 100, right, left, 3)));
    CHECK(out[0] == 1000 * left && out[99] == 1000 * left + 99, "%d %d", out[0], out[99]);
    for (int i = 0; i < 100; i++)
        out[i] = 1000 * rank + i, in[i] = -1;
    /* Both directions open at once; nothing blocks. */
    if (!wait) {
        struct XLA_FFI_Error *e = message(reactant_mpi_ffi_recv, &f, false, NULL, 0, in, 100, 0, left, 7);
        NO_ERROR(frame_end(&g, message(reactant_mpi_ffi_send, &g, false, out, 100, NULL, 0, right, 0, 7)));
        NO_ERROR(frame_end(&f, e));
        CHECK(in[0] == 1000 * left && in[99] == 1000 * left + 99, "%d %d", in[0], in[99]);
    }
    NO_ERROR(frame_end(&f, message(reactant_mpi_ffi_send, &f, wait, out, 100, NULL, 0, REACTANT_MPI_PROC_NULL, 0, 7)));
    in[0] = in[99] = -1;
    NO_ERROR(frame_end(&f, message(reactant_mpi_ffi_recv, &f, wait, NULL, 0, in, 100, 0, REACTANT_MPI_PROC_NULL, 7)));
    CHECK(in[0] == 0 && in[99] == 0, "nobody's message is zeros, not %d %d", in[0], in[99]);
    in[0] = -1;
    NO_ERROR(frame_end(&f, message(reactant_mpi_ffi_sendrecv, &f, wait, out, 100, in, 100, right, REACTANT_MPI_ANY_SOURCE, 9)));
    CHECK(in[0] == 1000 * left, "%d", in[0]);
    /* A message of another size is found out where it arrives. */
    GIVES_ERROR(INVALID_ARGUMENT, "has 200 bytes, and the result 400",
                frame_end(&f, message(reactant_mpi_ffi_sendrecv, &f, wait, out, 50, in, 100, right, left, 11)));
}

/* 4 bits, packed: the elements of a rank are whole bytes or the call is refused. */
static void test_packed(bool wait)
{
    struct XLA_FFI_CallFrame f;
    unsigned char in[4] = {(unsigned char)(0x21 + rank), 0x43, 0x65, 0x07}, out[4 * MAX_RANKS];
    float token = 0;
    for (int odd = 0; odd < 2; odd++) {
        memset(out, 0xee, sizeof out);
        frame_start(&f);
        frame_buffer(&f, 0, odd ? S4 : U4, in, odd ? 7 : 8);
        frame_buffer(&f, 0, F32, &token, 1);
        frame_buffer(&f, 1, odd ? S4 : U4, out, (size_t)(odd ? 7 : 8) * (size_t)size);
        frame_buffer(&f, 1, F32, &token, 1);
        frame_common(&f, reactant_mpi_comm_id(comm), size, wait);
        if (odd && size > 1) {
            GIVES_ERROR(UNIMPLEMENTED, "whole bytes", frame_end(&f, reactant_mpi_ffi_allgather(&f)));
            continue;
        }
        NO_ERROR(frame_end(&f, reactant_mpi_ffi_allgather(&f)));
        for (int r = 0; r < size; r++)
            CHECK(out[4 * r] == 0x21 + r && out[4 * r + 1] == 0x43 && out[4 * r + 3] == 0x07, "%02x", out[4 * r]);
    }
    memset(out, 0xee, sizeof out);
    frame_start(&f);
    frame_buffer(&f, 0, S4, in, 7);
    frame_buffer(&f, 0, F32, &token, 1);
    frame_buffer(&f, 1, S4, out, 7);
    frame_buffer(&f, 1, F32, &token, 1);
    frame_common(&f, reactant_mpi_comm_id(comm), size, wait);
    frame_scalar(&f, "root", S32, size - 1);
    NO_ERROR(frame_end(&f, reactant_mpi_ffi_bcast(&f)));
    CHECK(out[0] == 0x21 + size - 1 && out[3] == 0x07 && out[4] == 0xee, "%02x %02x %02x", out[0], out[3], out[4]);
}

/* ---- several at once ---- */

/* All of them are begun before any can end: the last rank comes late. */
static void test_many(void)
{
    enum { N = 40 };
    static struct sum s[N];
    struct XLA_FFI_Error *e[N];
    OK(reactant_mpi_barrier(comm));
    if (rank == size - 1)
        usleep(50000);
    for (int i = 0; i < N; i++)
        e[i] = start_sum(&s[i], 100 * i + rank, false, reactant_mpi_comm_id(comm));
    if (rank == 0 && size > 1)
        CHECK(s[N - 1].f.future, "the last call is over before the last rank has come");
    for (int i = 0; i < N; i++)
        check_sum(&s[i], e[i], 100 * i);
}

/* One of them blocks: of two, with SERIALIZED, each could have MPI on another rank. */
static void *thread_of_sums(void *number)
{
    const intptr_t k = (intptr_t)number;
    struct sum s;
    for (int i = 0; i < 200; i++)
        check_sum(&s, start_sum(&s, 1000 * k + i + rank, k == 1, reactant_mpi_comm_id(own[k])), 1000 * k + i);
    return NULL;
}

static void test_threads(void)
{
    pthread_t t[THREADS];
    for (int k = 0; k < THREADS; k++)
        NEED(pthread_create(&t[k], NULL, thread_of_sums, (void *)(intptr_t)k) == 0, "no thread");
    for (int k = 0; k < THREADS; k++)
        pthread_join(t[k], NULL);
}

/* A continuation, on the thread that completes a future, makes a call that blocks; calls behind it must go on all the same, since the
 * other ranks come to the blocking one after them. */
static struct sum inner;
static _Atomic int inner_done;
static struct XLA_FFI_Error *inner_error;

static void then_block(void)
{
    continuation = NULL;
    inner_error = start_sum(&inner, 7 + rank, true, reactant_mpi_comm_id(own[0]));
    inner_done = 1;
}

/* A blocking call then keeps MPI for itself. */
static bool is_serialized(void)
{
    const char *level = getenv("REACTANT_MPI_THREAD_LEVEL");
    return level && !strcmp(level, "serialized");
}

static void test_continuation(void)
{
    struct sum first, second;
    struct XLA_FFI_Error *e, *g;
    OK(reactant_mpi_barrier(comm));
    inner_done = 0;
    if (rank == 0) {
        continuation = then_block;
        e = start_sum(&first, 1, false, reactant_mpi_comm_id(own[1]));
        if (!first.f.future) /* over at once: nothing continues */
            then_block();
        g = start_sum(&second, 2, false, reactant_mpi_comm_id(own[2]));
        check_sum(&first, e, 1);
        check_sum(&second, g, 2);
        while (!inner_done)
            sched_yield();
        NO_ERROR(inner_error);
        CHECK(inner.out == 7 * size + (int64_t)size * (size - 1) / 2, "%lld", (long long)inner.out);
        return;
    }
    usleep(20000); /* rank 0 has a future */
    check_sum(&first, start_sum(&first, 1 + rank, false, reactant_mpi_comm_id(own[1])), 1);
    usleep(20000); /* rank 0 is inside the continuation */
    check_sum(&second, start_sum(&second, 2 + rank, false, reactant_mpi_comm_id(own[2])), 2);
    check_sum(&inner, start_sum(&inner, 7 + rank, true, reactant_mpi_comm_id(own[0])), 7);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "rest";
    comm = reactant_mpi_initialize(REACTANT_MPI_COMM_WORLD);
    NEED(comm, "%s", reactant_mpi_last_error());
    check_rank = rank = reactant_mpi_rank(comm);
    size = reactant_mpi_size(comm);
    api_of(API_0_5);
    for (int k = 0; k < THREADS; k++)
        OK(reactant_mpi_comm_dup(comm, &own[k]));
    if (!strcmp(what, "data")) {
        share = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
        test_data();
    } else if (!strcmp(what, "rest")) {
        test_questions();
        for (int wait = 0; wait < 2; wait++) {
            if (size > 1)
                test_messages(wait);
            test_packed(wait);
            test_wrong(wait);
        }
        test_threads();
        test_many();
        if (size > 1 && !is_serialized())
            test_continuation();
    } else {
        test_end(what);
        return check_done(rank);
    }
    ALIVE(comm);
    OK(reactant_mpi_finalize(NULL));
    CHECK(futures_live == 0 && errors_live == 0, "%d futures and %d errors are left", futures_live, errors_live);
    return check_done(rank);
}
