/*
 * Random calls of every public function, right ones whose results are known, and wrong ones that must be refused:
 *
 *   fuzz CALLS [SEED]    at any number of ranks; all draw the same, so that collectives match and refusals can be compared
 *   fuzz names           the public functions that are called here
 *
 * Prints its seed; the same seed makes the same calls again. Never a crash or a hang, every result a known code with a text, nothing
 * written beyond a buffer, and after a refusal a right collective still gives the right values.
 */
#include "fuzz.h"
#include "fuzz_collectives.h"
#include "fuzz_compiled.h"
#include "fuzz_ffi.h"
#include "fuzz_life.h"
#include "fuzz_messages.h"

#include <signal.h>
#include <time.h>

static const struct {
    unsigned weight;
    void (*step)(void);
} steps[] = {
    {30, step_wrong_collective}, {20, step_right_collective}, {10, step_wrong_message},      {6, step_right_message}, {8, step_wrong_requests},
    {8, step_query},             {5, step_stream},            {4, step_stream_message},      {4, step_nccl},          {2, step_wrong_end},
    {2, step_initialize},        {3, step_wrong_communicator}, {15, step_right_name},  {10, step_right_message_by_name},
    {15, step_wrong_name},       {8, step_wrong_tokens},       {1, step_symbols},      {3, step_compiled_life},
    {10, step_wrong_frame},      {5, step_right_frame},
};

/* Costly for MPI: now and then. */
enum { STEPS_PER_COMMUNICATOR = 200, STEPS_PER_LOOK = 64 };

static void take_a_step(void)
{
    unsigned total = 0, at;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        total += steps[i].weight;
    at = draw(total);
    on = &pool[draw((unsigned)members)];
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (at < steps[i].weight) {
            steps[i].step();
            return;
        }
        at -= steps[i].weight;
    }
}

/* The ranks have had the same refusals, and the communicator works. */
static void look(void)
{
    uint64_t least = 0, most = 0;
    GIVES(0, CALL(allreduce, &told, &least, 1, REACTANT_MPI_UINT64, REACTANT_MPI_MIN, pool[0].c));
    GIVES(0, CALL(allreduce, &told, &most, 1, REACTANT_MPI_UINT64, REACTANT_MPI_MAX, pool[0].c));
    CHECK(least == most && least == told, "the ranks were refused differently (before call %lu)", calls);
    for (int i = 0; i < members; i++)
        ALIVE(pool[i].c);
}

static void died(int sig)
{
    char text[200];
    const int n = snprintf(text, sizeof text, "fuzz: signal %d in %s, call %lu of seed %llu\n", sig, calling, calls, (unsigned long long)seed);
    if (write(STDERR_FILENO, text, (size_t)n) != n)
        _exit(3);
    signal(sig, SIG_DFL);
    raise(sig);
}

static int names(void)
{
    for (const struct site *s = __start_fuzz_sites; s < __stop_fuzz_sites; s++)
        puts(s->name);
    return 0;
}

/* In a run that is long enough every place has its turn. */
static void check_all_called(unsigned long wanted)
{
    for (const struct site *s = __start_fuzz_sites; s < __stop_fuzz_sites; s++) {
        unsigned long n = 0;
        for (const struct site *other = __start_fuzz_sites; other < __stop_fuzz_sites; other++)
            n += strcmp(s->name, other->name) ? 0 : other->calls;
        CHECK(n > 0 || wanted < 20000, "%s was never called in %lu calls", s->name, calls);
    }
}

int main(int argc, char **argv)
{
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGTERM};
    unsigned long wanted;
    if (argc == 2 && !strcmp(argv[1], "names"))
        return names();
    if (argc < 2 || (wanted = strtoul(argv[1], NULL, 10)) == 0) {
        fprintf(stderr, "usage: fuzz CALLS [SEED], fuzz names\n");
        return 2;
    }
    reactant_mpi_comm *world = reactant_mpi_initialize(REACTANT_MPI_COMM_WORLD);
    NEED(world, "%s", reactant_mpi_last_error());
    no_access = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    join(world, false);
    in_own_process = true;
    GIVES(0, CALL(register_symbols, count_symbol, REACTANT_MPI_SYMBOLS_G2 | REACTANT_MPI_ERRORS_RETURN));
    on = &pool[0];
    check_rank = on->rank;
    seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL) * 1000003 + (uint64_t)getpid();
    NEED(reactant_mpi_bcast(&seed, 1, REACTANT_MPI_UINT64, 0, world) == 0, "%s", reactant_mpi_last_error());
    state = mix(seed);
    if (on->rank == 0) {
        printf("seed %llu\n", (unsigned long long)seed);
        fflush(stdout);
    }
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        signal(fatal[i], died);
    /* By steps and not by calls: a loop of tests is longer on one rank than on another. */
    for (unsigned long step = 1; step <= wanted; step++) {
        take_a_step();
        if (step % STEPS_PER_COMMUNICATOR == 0)
            step_communicator();
        if (step % STEPS_PER_LOOK == 0)
            look();
    }
    look();
    while (members > 1)
        leave(members - 1);
    GIVES_CLASS(0, CALL(MPI_Finalize));
    check_all_called(wanted);
    if (check_failures)
        fprintf(stderr, "rank %d: again with: fuzz %lu %llu\n", check_rank, wanted, (unsigned long long)seed);
    return check_done(check_rank);
}
