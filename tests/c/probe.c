/*
 * One initialize, told in lines of key=value, for tests that need a process per case:
 *
 *   probe [--preload FILE local|global]... [--setenv NAME=VALUE | NAME]... [--host-init] [--describe] [--at WORD] [--show NAME]
 *
 * in the order given (--host-init: the host initialises the MPI named by REACTANT_MPI_LIBMPI).
 * Prints code, name, text (line ends as " | "), and if it went well rank, size and sum (of rank + 1 over the ranks) and, when
 * asked, describe (of the communicator, or of the process where there is none), and the variable NAME as it is afterwards. Exits with 0 whatever the code: a crash or an exit
 * is what the tests look for.
 */
#include "check.h"
#include "hostmpi.h"

#include <stdbool.h>

static char text[65536];
static size_t used;

__attribute__((format(printf, 1, 2))) static void say(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text + used, sizeof text - used, fmt, ap);
    va_end(ap);
    if (n > 0)
        used += (size_t)n < sizeof text - used ? (size_t)n : sizeof text - used - 1;
}

/* A text in one line; a line's end in JSON, which may stand only between its words, becomes a space. */
static void say_line(const char *key, const char *value)
{
    say("%s=", key);
    for (; *value; value++)
        if (*value == '\n')
            say("%s", !strcmp(key, "text") ? " | " : " ");
        else
            say("%c", *value);
    say("\n");
}

int main(int argc, char **argv)
{
    bool describe = false, host_init_first = false;
    const char *variable = NULL;
    uintptr_t at = 0;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--preload") && i + 2 < argc) {
            void *p = dlopen(argv[i + 1], RTLD_NOW | (!strcmp(argv[i + 2], "global") ? RTLD_GLOBAL : RTLD_LOCAL));
            if (!p) {
                fprintf(stderr, "probe: %s\n", dlerror());
                return 2;
            }
            i += 2;
        } else if (!strcmp(argv[i], "--setenv") && i + 1 < argc) {
            putenv(argv[++i]);                        /* without "=" it takes the variable away */
        } else if (!strcmp(argv[i], "--host-init")) { /* where it stands among the others: --setenv before or after it */
            host_open(RTLD_LOCAL);
            host_init(HOST_MULTIPLE);
            host_init_first = true;
        } else if (!strcmp(argv[i], "--describe")) {
            describe = true;
        } else if (!strcmp(argv[i], "--show") && i + 1 < argc) {
            variable = argv[++i];
        } else if (!strcmp(argv[i], "--at") && i + 1 < argc) {
            at = (uintptr_t)strtoull(argv[++i], NULL, 0);
        } else {
            fprintf(stderr, "probe: unknown argument %s\n", argv[i]);
            return 2;
        }
    }
    reactant_mpi_comm *comm = reactant_mpi_initialize(at);
    int code = comm ? 0 : reactant_mpi_last_error_code();
    say("code=%d\nname=%s\n", code, reactant_mpi_error_name(code));
    say_line("text", comm ? "" : reactant_mpi_last_error());
    if (comm) {
        int64_t x = reactant_mpi_rank(comm) + 1, sum = -1;
        int rc = reactant_mpi_allreduce(&x, &sum, 1, REACTANT_MPI_INT64, REACTANT_MPI_SUM, comm);
        say("rank=%d\nsize=%d\nallreduce=%d\nsum=%lld\n", reactant_mpi_rank(comm), reactant_mpi_size(comm), rc, (long long)sum);
    }
    if (variable)
        say_line(variable, getenv(variable) ? getenv(variable) : "");
    if (describe) {
        static char json[32768];
        reactant_mpi_describe(comm, json, sizeof json);
        say_line("describe", json);
        reactant_mpi_describe(NULL, json, sizeof json);
        say_line("process", json);
    }
    say("end=%d\n", reactant_mpi_finalize(NULL));
    if (host_init_first)
        host_finalize();
    for (size_t done = 0; done < used;) { /* in one piece, so that the ranks' lines do not mix */
        ssize_t n = write(1, text + done, used - done);
        if (n <= 0)
            return 3;
        done += (size_t)n;
    }
    return 0;
}
