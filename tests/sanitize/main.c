/*
 * The library's C files without Go, over a double of MPI: every call from many threads at once, for the sanitizers and for memcheck to
 * watch. Expected values are those of the fuzzer (tests/c/fuzz_*.h), whose ranks are threads here.
 */
#define OF_RANK __thread
#include "tests/c/fuzz.h"
#include "tests/c/fuzz_collectives.h"
#include "tests/c/fuzz_compiled.h"
#include "tests/c/fuzz_ffi.h"
#include "team.h"

#include "device.h"
#include "races.h"

enum { UNLIMITED = 1 << 30, STEPS = 300 };

/* ---- calls of every kind on teams of 1 to 3 ranks ---- */

struct play {
    int size;
    uint32_t modes;
    uint64_t max_count;
    bool started_only;
    reactant_mpi_comm *handles[FAKE_RANKS];
};

static void one_rank(struct play *p, int rank, uint64_t game)
{
    static void (*const steps[])(void) = {step_right_collective, step_right_collective, step_wrong_collective, step_right_message,
                                          step_wrong_message,    step_wrong_requests,   step_stream,           step_stream_message,
                                          step_right_name,       step_wrong_name,       step_wrong_tokens,     step_right_message_by_name,
                                          step_right_frame,      step_wrong_frame};
    pool[0] = (struct member){p->handles[rank], rank, p->size, false};
    members = 1;
    on = &pool[0];
    never_blocking = p->started_only;
    state = mix(game);
    for (int i = 0; i < STEPS; i++) {
        steps[draw(sizeof steps / sizeof *steps)]();
        if (check_failures) /* the others would wait for this rank */
            _exit(1);
    }
}

/* Threads: the ranks of play 0, then those of play 1 ... */
static void player(void *plays, int i)
{
    struct play *p = plays;
    for (; i >= p->size; p++)
        i -= p->size;
    one_rank(p, i, (uint64_t)(p - (struct play *)plays) + 1000 * p->modes + p->max_count);
}

static void play(int n, struct play *plays)
{
    int threads = 0;
    for (int i = 0; i < n; i++) {
        team_new(plays[i].size, plays[i].modes, plays[i].max_count, plays[i].handles);
        threads += plays[i].size;
    }
    in_threads(threads, player, plays);
    for (int i = 0; i < n; i++)
        team_free(plays[i].size, plays[i].handles);
}

static void test_calls(void)
{
    static const uint32_t modes[] = {0, RMPI_LOOK_FINALIZED | RMPI_COPY_REDUCE, RMPI_HALF_BY_F32};
    static const uint64_t limits[] = {UNLIMITED, 7, 1};
    fake_set_level(FAKE_MULTIPLE);
    for (size_t m = 0; m < sizeof modes / sizeof *modes; m++)
        for (size_t l = 0; l < sizeof limits / sizeof *limits; l++) {
            struct play several[] = {{.size = 1, .modes = modes[m], .max_count = limits[l]},
                                     {.size = 2, .modes = modes[m], .max_count = limits[l]},
                                     {.size = 2, .modes = modes[m], .max_count = UNLIMITED},
                                     {.size = 3, .modes = modes[m], .max_count = limits[l]}};
            play(4, several);
        }
}

static void test_serialized(void)
{
    struct play alone[] = {{.size = 1, .modes = RMPI_ONE_AT_A_TIME, .max_count = UNLIMITED},
                           {.size = 1, .modes = RMPI_ONE_AT_A_TIME, .max_count = 7},
                           {.size = 1, .modes = RMPI_ONE_AT_A_TIME, .max_count = UNLIMITED}};
    struct play together[] = {{.size = 2, .modes = RMPI_ONE_AT_A_TIME, .max_count = UNLIMITED, .started_only = true},
                              {.size = 3, .modes = RMPI_ONE_AT_A_TIME, .max_count = 7, .started_only = true}};
    fake_set_level(FAKE_SERIALIZED);
    play(3, alone);
    play(2, together);
    fake_set_level(FAKE_MULTIPLE);
}

static void no_map(const char *name, void *address)
{
    CHECK(name[0] && address, "%s", name);
}

int main(void)
{
    struct fake_counts left;
    reactant_mpi_register_symbols(no_map, REACTANT_MPI_SYMBOLS_G1 | REACTANT_MPI_ERRORS_RETURN);
    no_access = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check_rank = 0;
    test_calls();
    test_serialized();
    test_main_thread();
    test_finalized();
    test_storm();
    test_contest();
    test_orphans();
    test_latch();
    test_out_of_step();
    test_mpi_fails();
    test_devices();
    CHECK(futures_made > 0 && futures_live == 0 && errors_live == 0, "%d futures, %d not ended, %d errors left", futures_made, futures_live,
          errors_live);
    left = fake_count();
    CHECK(left.forbidden == 0, "%ld calls that MPI's thread level forbids", left.forbidden);
    CHECK(left.comms == 0 && left.requests == 0 && left.types == 0, "left: %ld communicators, %ld requests, %ld types", left.comms,
          left.requests, left.types);
    return check_done(0);
}
