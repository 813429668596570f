/*
 * Of fuzz.c: communicators that come and go, options, queries, and NCCL's names on a host communicator.
 */
#ifndef FUZZ_LIFE_H
#define FUZZ_LIFE_H

#include "fuzz_compiled.h"

/* What is made from a communicator with devices has them too. */
static void join(reactant_mpi_comm *c, bool has_devices)
{
    struct member *m = &pool[members++];
    *m = (struct member){c, reactant_mpi_rank(c), reactant_mpi_size(c), has_devices};
    CHECK(m->rank >= 0 && m->size > m->rank, "rank %d of %d", m->rank, m->size);
}

static void leave(int i)
{
    reactant_mpi_comm *const c = pool[i].c;
    GIVES(0, one_in(2) ? CALL(comm_free, c) : CALL(finalize, c));
    BURY_COMM(c);
    pool[i] = pool[--members];
    on = &pool[0];
}

/* Every member of `on` makes another communicator of it, or one of the pool goes. */
static void step_communicator(void)
{
    reactant_mpi_comm *c = NULL;
    int list[RANKS];
    int64_t ids[2 * RANKS];
    if (members == POOL) {
        leave(1 + (int)draw(POOL - 1));
        return;
    }
    for (int r = 0; r < on->size; r++)
        list[r] = on->size - 1 - r;
    const int64_t own[] = {1000 + 2 * pool[0].rank, 1001 + 2 * pool[0].rank}; /* of the process, on every communicator */
    for (int i = 0; i < 2 * on->size; i++)
        ids[i] = on->size == 1 ? own[i] : 1000 + i;
    switch (draw(6)) {
    case 0: GIVES(0, CALL(comm_split, handle_of(on), 3, -on->rank, &c)); break;
    case 1: GIVES(0, CALL(comm_split, on->c, on->rank, 0, &c)); break;
    case 2: GIVES(0, CALL(comm_create, on->c, on->size, list, &c)); break;
    case 3: GIVES(0, CALL(comm_dup, on->c, &c)); break;
    case 4: GIVES(0, CALL(comm_split_node, on->c, on->rank, &c)); break;
    case 5:
        GIVES(on->has_devices ? REACTANT_MPI_ERR_STATE : 0, CALL(set_devices, on->c, own, 2));
        on->has_devices = true;
        GIVES(0, CALL(comm_from_devices, on->c, ids, 2 * on->size, &c));
        break;
    }
    if (c)
        join(c, on->has_devices);
    c = (reactant_mpi_comm *)data.send;
    if (one_in(3)) {
        GIVES(0, CALL(comm_split, on->c, -1, 0, &c)); /* a part of none */
        CHECK(!c, "%p", (void *)c);
    }
    if (one_in(3)) { /* the world again: one reference more, and one less */
        c = CALL(initialize, REACTANT_MPI_COMM_WORLD);
        CHECK(c == pool[0].c, "%p: %s", (void *)c, c ? "" : reactant_mpi_last_error());
        GIVES(0, CALL(finalize, c));
    }
    if (one_in(3))
        for (int ms = 100000; ms >= 0; ms -= 100000) {
            int64_t x = on->rank + 1, sum = 0;
            GIVES(0, CALL(comm_set_timeout, on->c, ms));
            GIVES(0, CALL(allreduce, &x, &sum, 1, REACTANT_MPI_INT64, REACTANT_MPI_SUM, on->c));
            CHECK(sum == (int64_t)on->size * (on->size + 1) / 2, "%lld", (long long)sum);
        }
}

static void step_wrong_communicator(void)
{
    reactant_mpi_comm *c = (reactant_mpi_comm *)data.send, *const wrong = wrong_comm(), **out = &c;
    const int64_t twice[] = {7, 7};
    const int outside[] = {wrong_rank()}, self_twice[] = {0, 0};
    int want = REACTANT_MPI_ERR_COMM, made = 1;
    const bool null_out = one_in(4);
    if (null_out)
        out = NULL, want = REACTANT_MPI_ERR_ARGUMENT;
    switch (draw(15)) {
    case 0: GIVES(want, CALL(comm_split, wrong, 0, 0, out)); break;
    case 1: GIVES(want, CALL(comm_create, wrong, 1, self_twice, out)); break;
    case 2: GIVES(want, CALL(comm_dup, wrong, out)); break;
    case 3: GIVES(want, CALL(comm_split_node, wrong, 0, out)); break;
    case 4: GIVES(null_out ? want : ANY_FAILURE, CALL(comm_from_devices, wrong, twice, 1, out)); break;
    case 5: GIVES(null_out ? want : ANY_FAILURE, CALL(comm_shrink, wrong, out)); break;
    case 6: GIVES(null_out ? want : REACTANT_MPI_ERR_RANK, CALL(comm_create, on->c, 1, outside, out)); break;
    case 7: GIVES(null_out ? want : REACTANT_MPI_ERR_RANK, CALL(comm_create, on->c, 2, self_twice, out)); break;
    case 8:
        GIVES(REACTANT_MPI_ERR_ARGUMENT, CALL(comm_create, on->c, one_in(2) ? 0 : INT32_MIN, one_in(2) ? NULL : self_twice, out));
        break;
    case 9: GIVES(REACTANT_MPI_ERR_ARGUMENT, CALL(comm_from_devices, on->c, NULL, 3, out)), made = 0; break;
    case 10:
        GIVES(on->has_devices ? REACTANT_MPI_ERR_STATE : REACTANT_MPI_ERR_ARGUMENT, CALL(set_devices, on->c, twice, 2)), made = 0;
        break;
    case 11: GIVES(REACTANT_MPI_ERR_COMM, CALL(set_devices, wrong, twice, 1)), made = 0; break;
    case 12: GIVES(REACTANT_MPI_ERR_COMM, CALL(comm_set_timeout, wrong, 0)), made = 0; break;
    case 13: GIVES(REACTANT_MPI_ERR_ARGUMENT, CALL(comm_set_timeout, on->c, -1 - (int)draw(1000))), made = 0; break;
    case 14: GIVES(REACTANT_MPI_ERR_COMM, CALL(comm_free, NULL)), made = 0; break;
    }
    CHECK(!made || !out || !c, "a failed %s leaves %p", calling, (void *)c);
}

/* Ends nothing: of wrong words only those that are refused, or dead already. */
static void step_wrong_end(void)
{
    const uintptr_t dead = of_graves(dead_comms, n_dead_comms);
    uintptr_t word = wrong_word();
    if (!word)
        word = 60000;
    if (one_in(2) && dead)
        GIVES(0, one_in(2) ? CALL(finalize, (reactant_mpi_comm *)dead) : CALL(comm_free, (reactant_mpi_comm *)dead));
    else
        GIVES(REACTANT_MPI_ERR_COMM, one_in(2) ? CALL(finalize, (reactant_mpi_comm *)word) : CALL(comm_free, (reactant_mpi_comm *)word));
    if (one_in(2))
        GIVES(REACTANT_MPI_ERR_COMM, CALL(abort, (reactant_mpi_comm *)word, 3));
}

/* Options that no initialize takes, and communicators that are none. All are refused before the ranks meet. */
static void step_initialize(void)
{
    const reactant_mpi_options unset = REACTANT_MPI_OPTIONS_INIT;
    const size_t sizes[] = {0, 1, 7, 4097, SIZE_MAX, SIZE_MAX - 7, (size_t)1 << 31};
    const int bad[] = {-2, 7, 100, INT32_MAX, INT32_MIN};
    const int foreign[] = {-12345678, INT32_MIN, 0x7ffffff1};
    const uintptr_t implausible[] = {0xdeadbeefdeadbeef, (uintptr_t)no_access, (uintptr_t)no_access + 9, 0x800000000000, 3, 0xfff0000000000000};
    reactant_mpi_options o = unset;
    reactant_mpi_comm *c = (reactant_mpi_comm *)data.send, **out = &c;
    uintptr_t word = 0;
    int want = REACTANT_MPI_ERR_OPTION;
    o.timeout_ms = 20000;
    switch (draw(12)) {
    case 0: o.size = ONE_OF(sizes); break;
    case 1: o.gpu = ONE_OF(bad); break;
    case 2: o.client = ONE_OF(bad); break;
    case 3: o.thread_level = ONE_OF(bad); break;
    case 4: o.max_count = one_in(2) ? UINT64_MAX : ((uint64_t)1 << 30) + 1 + draw(100); break;
    case 5: o.timeout_ms = -2 - (int)draw(1000); break;
    case 6: o.memory_fraction = one_in(2) ? -1 : 1.5; break;
    case 7: o.check = ONE_OF(bad); break;
    case 8: o.half = ONE_OF(bad); break;
    case 9: out = NULL, want = REACTANT_MPI_ERR_ARGUMENT; break;
    case 10: want = ANY_FAILURE, word = ONE_OF(implausible); break;
    case 11:
        GIVES(ANY_FAILURE, CALL(initialize_fint, ONE_OF(foreign), &o, out));
        CHECK(!c, "%p", (void *)c);
        return;
    }
    GIVES(want, CALL(initialize_with, word, &o, out));
    CHECK(!out || !c, "a failed initialize leaves %p", (void *)c);
}

static void step_query(void)
{
    const bool wrong = one_in(2);
    reactant_mpi_comm *const c = wrong ? wrong_comm() : handle_of(on);
    const int refused = -REACTANT_MPI_ERR_COMM;
    static char text[20000];
    size_t room = one_in(2) ? draw(100) : one_in(2) ? draw(20000) : 0, needed;
    const char *words;
    int got;
    switch (draw(16)) {
    case 0: got = CALL(rank, c); CHECK(got == (wrong ? refused : on->rank), "%d", got); break;
    case 1: got = CALL(size, c); CHECK(got == (wrong ? refused : on->size), "%d", got); break;
    case 2: got = CALL(local_rank, c); CHECK(got == (wrong ? refused : on->rank), "%d", got); break; /* one host */
    case 3: got = CALL(local_size, c); CHECK(got == (wrong ? refused : on->size), "%d", got); break;
    case 4: got = CALL(device, c); CHECK(got == (wrong ? refused : -1), "%d", got); break;
    case 5: got = (int)CALL(comm_id, c); CHECK(wrong ? got == refused : got > 0 && got < 65536, "%d", got); break;
    case 6: CHECK((CALL(mpi_comm, c) != 0) == !wrong, ""); break;
    case 7: CHECK(CALL(nccl_comm, c) == NULL, ""); break;
    case 8: CHECK(CALL(client, c) == NULL, ""); break;
    case 9: got = CALL(comm_error, c); CHECK(wrong ? got == refused : known(got), "%d", got); break;
    case 10:
        memset(text, FILL, sizeof text);
        needed = CALL(describe, c, one_in(8) ? NULL : text, room);
        CHECK((needed == 0) == (wrong && c), "%zu", needed); /* NULL describes the process */
        if ((unsigned char)text[0] != FILL)
            CHECK(room > 0 && memchr(text, 0, room), "describe into %zu bytes ends in NUL", room);
        CHECK(all_fill((unsigned char *)text + room, sizeof text - room), "describe into %zu bytes", room);
        break;
    case 11: CHECK(CALL(version) == REACTANT_MPI_VERSION, ""); break;
    case 12: words = CALL(error_name, one_in(2) ? (int)draw(100) : wrong_rank()); CHECK(words && words[0], ""); break;
    case 13: words = CALL(last_error); CHECK(words, ""); break;
    case 14: CHECK(known(CALL(last_error_code)), ""); break;
    case 15: words = CALL(ncclGetErrorString, (int)draw(20) - 5); CHECK(words && words[0], ""); break;
    }
}

/* ---- compiled code: what is not data ---- */

static unsigned symbols_mapped, symbols_of_nothing;

static void count_symbol(const char *name, void *address)
{
    symbols_mapped++;
    symbols_of_nothing += !address || !name[0];
}

static void count_constant(const char *name, void *value, int is_pointer)
{
    (void)value;
    symbols_mapped++;
    symbols_of_nothing += is_pointer != 1 || !name[0];
}

static void step_symbols(void)
{
    const unsigned flags = one_in(4) ? 1u << draw(32) | 1u << draw(8) : 1u << draw(3) | (one_in(2) ? 0 : REACTANT_MPI_ERRORS_RETURN);
    const unsigned generation = flags & 7;
    const bool right = generation && !(generation & (generation - 1)) && !(flags & ~0x77u) && ((flags >> 4) & ((flags >> 4) - 1)) == 0;
    const reactant_mpi_map_fn map = generation == 4 ? (reactant_mpi_map_fn)(void (*)(void))count_constant : count_symbol;
    symbols_mapped = symbols_of_nothing = 0;
    GIVES(right ? 0 : REACTANT_MPI_ERR_ARGUMENT, CALL(register_symbols, map, flags));
    CHECK(right ? symbols_mapped > 117 && !symbols_of_nothing : symbols_mapped == 0, "%u mapped by %#x", symbols_mapped, flags);
    if (one_in(4))
        GIVES(REACTANT_MPI_ERR_ARGUMENT, CALL(register_symbols, NULL, flags));
    GIVES(0, CALL(register_symbols, count_symbol, REACTANT_MPI_SYMBOLS_G2 | REACTANT_MPI_ERRORS_RETURN)); /* no log, and no abort */
}

static void step_compiled_life(void)
{
    struct {
        char text[256];
        unsigned char behind[16];
    } out;
    int length = -1, got = -1;
    size_t room;
    uintptr_t c = 7;
    memset(&out, FILL, sizeof out);
    switch (draw(6)) {
    case 0: {
        const int code = one_in(2) ? (int)draw(70) : ONE_OF(((const int[]){-1, INT32_MAX, INT32_MIN, 1000}));
        got = CALL(MPI_Error_string, code, out.text, &length);
        CHECK(got == 0 || got == CLASS_ARG, "%d", got);
        CHECK(memchr(out.text, 0, sizeof out.text) && length == (int)strlen(out.text) && length > 0, "%d", length);
        CHECK(CALL(MPI_Error_string, code, one_in(2) ? NULL : out.text, NULL) == CLASS_ARG, "");
        break;
    }
    case 1:
        room = draw(sizeof out.text + 1);
        CALL(MPI_Barrier, 0x100);
        got = CALL(compiled_error, one_in(4) ? NULL : out.text, room);
        CHECK(got == REACTANT_MPI_ERR_COMM, "%d", got);
        CHECK(all_fill((unsigned char *)out.text + room, sizeof out.text - room), "wrote beyond %zu bytes", room);
        break;
    case 2: GIVES_CLASS(0, one_in(2) ? CALL(MPI_Init, NULL, NULL) : CALL(MPI_Init, &length, &length)); break;
    case 3:
        GIVES_CLASS(CLASS_COMM, CALL(MPI_Comm_split, wrong_comm_word(), 0, 0, &c));
        CHECK(c == 0x100, "%#zx", c);
        GIVES_CLASS(CLASS_ARG, CALL(MPI_Comm_split, word_of(on), one_in(2) ? -5 : 0, 0, c % 2 ? &c : NULL));
        break;
    case 4:
        if (members == POOL)
            break;
        GIVES_CLASS(0, CALL(MPI_Comm_split, word_of(on), 2, -on->rank, &c));
        GIVES_CLASS(0, CALL(MPI_Comm_rank, c, &got));
        CHECK(got == on->size - 1 - on->rank, "%d", got);
        GIVES_CLASS(0, CALL(MPI_Comm_size, c, &got));
        CHECK(got == on->size, "%d", got);
        GIVES(0, CALL(comm_free, (reactant_mpi_comm *)c));
        BURY_COMM((void *)c);
        break;
    case 5:
        GIVES_CLASS(0, CALL(MPI_Comm_size, 0x102, &got)); /* MPI_COMM_SELF */
        CHECK(got == 1, "%d", got);
        break;
    }
    CHECK(all_fill(out.behind, sizeof out.behind), "%s wrote beyond its text", calling);
}

/* NCCL's own codes, 0 to 8; never success for a call that moves data. */
static void step_nccl(void)
{
    void *const c = one_in(2) ? (void *)wrong_comm() : (void *)handle_of(on), *const stream = (void *)(uintptr_t)draw(2);
    const size_t n = one_in(2) ? draw(10) : wrong_count(1);
    const int type = (int)draw(14) - 1, op = (int)draw(7) - 1, peer = one_in(2) ? 0 : wrong_rank();
    int value = 7, got = 8, moves = 1;
    void *made = &value;
    switch (draw(18)) {
    case 0: got = CALL(ncclAllReduce, data.send, data.recv, n, type, op, c, stream); break;
    case 1: got = CALL(ncclReduce, data.send, data.recv, n, type, op, peer, c, stream); break;
    case 2: got = CALL(ncclBroadcast, data.send, data.recv, n, type, peer, c, stream); break;
    case 3: got = CALL(ncclAllGather, data.send, data.recv, n, type, c, stream); break;
    case 4: got = CALL(ncclReduceScatter, data.send, data.recv, n, type, op, c, stream); break;
    case 5: got = CALL(ncclAlltoAll, data.send, data.recv, n, type, c, stream); break;
    case 6: got = CALL(ncclSend, data.send, n, type, peer, c, stream); break;
    case 7: got = CALL(ncclRecv, data.recv, n, type, peer, c, stream); break;
    case 8: got = CALL(ncclGroupStart), moves = 0; break;
    case 9: got = CALL(ncclGroupEnd), moves = 0; break;
    case 10: got = CALL(ncclCommCount, c, one_in(4) ? NULL : &value); break;
    case 11: got = CALL(ncclCommUserRank, c, one_in(4) ? NULL : &value); break;
    case 12: got = CALL(ncclCommCuDevice, c, one_in(4) ? NULL : &value); break;
    case 13: got = CALL(ncclCommGetAsyncError, c, one_in(4) ? NULL : &value), moves = 0; break;
    case 14: got = CALL(ncclCommFinalize, c), moves = 0; break;
    case 15: got = CALL(ncclCommDestroy, c), moves = 0; break;
    case 16: got = CALL(ncclCommAbort, c), moves = 0; break;
    case 17:
        got = CALL(ncclCommSplit, c, (int)draw(3) - 1, peer, one_in(4) ? NULL : &made, NULL);
        CHECK(made == NULL || made == &value, "%p", made);
        break;
    }
    CALL(compiled_error, NULL, 0);
    CHECK(got >= 0 && got <= 8 && !(moves && got == 0), "%s gave %d", calling, got);
}

#endif
