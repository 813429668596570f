/*
 * What a device call through the library costs the host over the bare NCCL call through a resolved pointer: one rank, in place, no
 * elements, so that next to nothing but the calls themselves is measured, in short windows one after the other in turn. Prints, in
 * nanoseconds per call:
 *
 *     way  minimum
 *
 * Arguments: calls in a window, windows of each way.
 */
#include "../c/check.h"
#include "../c/gpu.h"

#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    int calls = argc > 1 ? atoi(argv[1]) : 200, windows = argc > 2 ? atoi(argv[2]) : 500;
    static const char *const names[] = {"bare", "stream", "by_name"};
    double best[3] = {1e18, 1e18, 1e18};
    int (*bare)(const void *, void *, size_t, int, int, void *, void *);
    reactant_mpi_comm *comm = reactant_mpi_initialize(0);
    NEED(comm, "%s", reactant_mpi_last_error());
    void *raw = reactant_mpi_nccl_comm(comm);
    NEED(raw, "a GPU communicator");
    gpu_look();
    *(void **)&bare = gpu_symbol(gpu.nccl, "ncclAllReduce");
    NEED(bare, "ncclAllReduce");
    for (int k = 0; k < windows; k++)
        for (int way = 0; way < 3; way++) {
            double begin = now(), ns;
            for (int i = 0; i < calls; i++)
                switch (way) {
                case 0:
                    bare(NULL, NULL, 0, 7, 0, raw, NULL);
                    break;
                case 1:
                    reactant_mpi_allreduce_stream(NULL, NULL, 0, REACTANT_MPI_FLOAT32, REACTANT_MPI_SUM, comm, NULL);
                    break;
                case 2:
                    reactant_mpi_ncclAllReduce(NULL, NULL, 0, 7, 0, comm, NULL);
                    break;
                }
            ns = (now() - begin) / calls;
            if (k > 0 && ns < best[way])
                best[way] = ns;
        }
    for (int way = 0; way < 3; way++)
        printf("%s %.2f\n", names[way], best[way]);
    OK(reactant_mpi_finalize(NULL));
    return check_failures ? 1 : 0;
}
