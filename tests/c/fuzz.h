/*
 * What the parts of fuzz.c share: the random numbers (the same on every rank), the call that counts and judges, guarded buffers, words
 * that are no handle. Where ranks are threads (tests/sanitize), OF_RANK makes each its own.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include "check.h"
#include "types.h"

#include <sys/mman.h>

#ifndef OF_RANK
#define OF_RANK
#endif

/* ---- random numbers ---- */

static OF_RANK uint64_t seed, state;

static uint64_t draw64(void)
{
    return mix(state++);
}

/* 0 to n - 1 */
static unsigned draw(unsigned n)
{
    return (unsigned)(draw64() % n);
}

static bool one_in(unsigned n)
{
    return draw(n) == 0;
}

#define ONE_OF(list) (list)[draw(sizeof(list) / sizeof *(list))]

/* ---- calls: each place that calls a public function has a record, so that the program knows what it calls, and how often ---- */

struct site {
    const char *name;
    unsigned long calls;
};
extern struct site __start_fuzz_sites[], __stop_fuzz_sites[];

static OF_RANK unsigned long calls;
static OF_RANK const char *volatile calling; /* for the word on a crash */

/* The bare call. */
#define CALL(function, ...)                                                                               \
    ({                                                                                                    \
        static struct site site __attribute__((section("fuzz_sites"), used)) = {"reactant_mpi_" #function, 0}; \
        __atomic_fetch_add(&site.calls, 1, __ATOMIC_RELAXED), calls++;                                                                            \
        calling = site.name;                                                                              \
        reactant_mpi_##function(__VA_ARGS__);                                                             \
    })

static const int codes[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 20, 21, 22, 30, 31, 32,
                            40, 41, 42, 43, 44, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 80, 81};

static bool known(int code)
{
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i] == code)
            return true;
    return false;
}

enum { ANY_FAILURE = -1, ANY_RESULT = -2 };

static OF_RANK uint64_t told; /* the refusals so far; the ranks compare */

/* A result against the code that the drawn fault must give. */
static void judge(const char *file, int line, int got, int want)
{
    if (want != 0 && want != ANY_RESULT)
        told = mix(told ^ (uint64_t)(want == ANY_FAILURE ? got != 0 : (unsigned)got));
    check_count++;
    if (!known(got))
        check_fail(file, line, "a known code", " got %d from %s", got, calling);
    else if (got != 0 && (reactant_mpi_last_error_code() != got || !reactant_mpi_last_error()[0]))
        check_fail(file, line, "code and text of the failure", " %s gave %d, last_error_code %d, text '%s'", calling, got,
                   reactant_mpi_last_error_code(), reactant_mpi_last_error());
    else if (want == ANY_FAILURE ? got == 0 : want != ANY_RESULT && got != want)
        check_fail(file, line, "another code", " %s gave %d instead of %d (call %lu): %s", calling, got, want, calls,
                   got ? reactant_mpi_last_error() : "");
}
#define GIVES(want, call) ({ int got_ = (call); judge(__FILE__, __LINE__, got_, (want)); got_; })

/* ---- communicators in use ---- */

struct member {
    reactant_mpi_comm *c;
    int rank, size;
    bool has_devices;
};
enum { POOL = 4 };
static OF_RANK struct member pool[POOL];
static OF_RANK int members;
static OF_RANK struct member *on; /* where this step's calls go */

/* The handle or the id, which mean the same. */
static reactant_mpi_comm *handle_of(const struct member *m)
{
    return one_in(4) ? (reactant_mpi_comm *)(uintptr_t)reactant_mpi_comm_id(m->c) : m->c;
}

/* ---- buffers between guards ---- */

enum { GUARD = 64, CAPACITY = 8192, FILL = 0xa5 };
static OF_RANK struct {
    unsigned char before[GUARD], send[CAPACITY], between[GUARD], recv[CAPACITY], after[GUARD];
} data __attribute__((aligned(64)));

static bool all_fill(const unsigned char *p, size_t n)
{
    return n == 0 || (p[0] == FILL && memcmp(p, p + 1, n - 1) == 0);
}

static void fill(void)
{
    memset(&data, FILL, sizeof data);
}

/* What was expected in the receive buffer has been looked at and filled over: all of it, and the guards, are as at the beginning. */
static void check_whole(void)
{
    CHECK(all_fill(data.before, GUARD) && all_fill(data.between, GUARD) && all_fill(data.after, GUARD), "%s wrote beyond a buffer (call %lu)",
          calling, calls);
    CHECK(all_fill(data.recv, CAPACITY), "%s wrote where it should not (call %lu)", calling, calls);
}

/* ---- words that are no handle ---- */

enum { GRAVES = 64 };
static OF_RANK uintptr_t dead_comms[GRAVES], dead_requests[GRAVES];
static OF_RANK unsigned n_dead_comms, n_dead_requests;

static void bury(uintptr_t *graves, unsigned *n, const void *word)
{
    graves[(*n)++ % GRAVES] = (uintptr_t)word;
}
#define BURY_COMM(word) bury(dead_comms, &n_dead_comms, (word))
#define BURY_REQUEST(word) bury(dead_requests, &n_dead_requests, (word))

static uintptr_t of_graves(const uintptr_t *graves, unsigned n)
{
    const unsigned i = draw(GRAVES);
    return n == 0 ? 0 : graves[i % (n < GRAVES ? n : GRAVES)];
}

static void *no_access; /* a page */

/* Never a live communicator, nor a live request. */
static uintptr_t wrong_word(void)
{
    static const uintptr_t fixed[] = {0x44000000, 0x44000001, 0x84000000, 0xc4000005, (uintptr_t)-1, (uintptr_t)INT64_MIN, 0x7fffffffffff,
                                      0xdeadbeefdeadbeef, 60000, 65535, 65536, 65537};
    static char block[512];
    const uint64_t r = draw64();
    switch (draw(8)) {
    case 0: return 0;
    case 1: return ONE_OF(fixed);
    case 2: return (uintptr_t)(r | 1u << 20); /* beyond every id */
    case 3: return (uintptr_t)on->c + 1 + r % 255;
    case 4: return (uintptr_t)block + r % 512;
    case 5: return (uintptr_t)no_access + r % 4096;
    case 6: return (uintptr_t)on->c + (1 + r % 1000) * 65536 * 1024;
    default: return reactant_mpi_mpi_comm(on->c) > 65536 ? reactant_mpi_mpi_comm(on->c) : (uintptr_t)-7;
    }
}

static reactant_mpi_comm *wrong_comm(void)
{
    const uintptr_t word = wrong_word(), dead = of_graves(dead_comms, n_dead_comms), request = of_graves(dead_requests, n_dead_requests);
    const unsigned which = draw(4);
    return (reactant_mpi_comm *)(which == 0 ? dead : which == 1 ? request : word);
}

static reactant_mpi_request *wrong_request(void)
{
    const uintptr_t word = wrong_word(), dead = of_graves(dead_requests, n_dead_requests), comm = (uintptr_t)on->c;
    const unsigned which = draw(4);
    return (reactant_mpi_request *)(which == 0 ? comm : which < 3 ? dead : word);
}

/* ---- values that the checks must refuse ---- */

static int wrong_type(void)
{
    static const int fixed[] = {0, 1, -1, 0x200, 0x2ff, 0x300, 0x211, 0x246, 0x2f4, INT32_MAX, INT32_MIN, 0x4c000405, 0x21};
    return ONE_OF(fixed);
}

static int wrong_op(void)
{
    static const int fixed[] = {0, 1, -1, 0x20, 0x25, 0x3e, 0x40, 0x33, INT32_MAX, INT32_MIN, 0x58000003, REACTANT_MPI_FLOAT32};
    return ONE_OF(fixed);
}

static int wrong_rank(void)
{
    const int some[] = {-1, -2, -3, on->size, on->size + 1, INT32_MAX, INT32_MIN, REACTANT_MPI_ANY_TAG, -104, -100};
    return ONE_OF(some);
}

/* Times any element size it passes the address space. */
static size_t wrong_count(size_t bytes)
{
    const size_t some[] = {SIZE_MAX, SIZE_MAX / bytes, SIZE_MAX / 2 + 1, PTRDIFF_MAX / bytes + 1, SIZE_MAX - 15};
    return ONE_OF(some);
}

/* 0: a type that is moved only. */
static int legal_op(const struct type *t, bool average_too)
{
    const unsigned from = draw(N_OPS);
    for (unsigned i = 0; i < N_OPS; i++) {
        const int op = ops[(from + i) % N_OPS].value;
        if (legal(t, op) && (average_too || op != REACTANT_MPI_AVG))
            return op;
    }
    return 0;
}

/* 0: this type takes every operation of the list. */
static int illegal_op(const struct type *t)
{
    const unsigned from = draw(N_OPS);
    for (unsigned i = 0; i < N_OPS; i++)
        if (!legal(t, ops[(from + i) % N_OPS].value))
            return ops[(from + i) % N_OPS].value;
    return 0;
}

#endif
