/*
 * libreactant_mpi_wrapper.so, called as XLA calls it, threads in the place of devices. The program is not linked with libreactant_mpi.so:
 * the wrapper opens it.
 *
 *   groups DEVICES       meshes over DEVICES per process ("2", or "1,3": by process); groups told DEVICES: another owner of the library says so
 *   life                 one device each: Init twice, what is not served, wrong words, Comm_free after Finalize
 *   host                 the program has initialised MPI, and ends it
 *   partial DEVICES      the last device does not split
 *   missing DEVICES      the last device does not call an allreduce; missing message: does not send
 *   killed DEVICES       the last process is killed
 *   level                MPI is initialised below MPI_THREAD_MULTIPLE (by REACTANT_MPI_THREAD_LEVEL)
 *   crowd                more threads call than the process has devices
 */
#include "wrapper_groups.h"
#include "wrapper_life.h"
#include "wrapper_late.h"

int main(int argc, char **argv)
{
    NEED(argc > 1, "which case?");
    const char *what = argv[1], *last = argv[argc - 1];
    const bool second = argc > 3;
    if (!strcmp(what, "groups"))
        return groups(last, second);
    if (!strcmp(what, "life"))
        return life();
    if (!strcmp(what, "host"))
        return host_has_mpi();
    if (!strcmp(what, "partial"))
        return partial(last);
    if (!strcmp(what, "missing"))
        return missing(last, second);
    if (!strcmp(what, "killed"))
        return killed(last);
    if (!strcmp(what, "level"))
        return level();
    if (!strcmp(what, "crowd"))
        return crowd();
    fprintf(stderr, "no case %s\n", what);
    return 2;
}
