/*
 * Every device call of a GPU communicator: all types, all legal operations, all forms in place, several counts, every root, against
 * values computed here from integers; communicators from communicators; NCCL's functions under our names; what is refused.
 *
 *   gpu_collectives [data | comms | calls | names]...      default: all four, each in its header: gpu_data.h, gpu_comms.h ...
 *
 * Values are exact in every type, the 8-bit ones included, whatever the order of the additions. 64 guard bytes stand on both sides of
 * every buffer, and what is only sent must come out unchanged.
 */
#include "gpu_calls.h"
#include "gpu_comms.h"
#include "gpu_data.h"
#include "gpu_names.h"

int main(int argc, char **argv)
{
    bool all = argc < 2;
    int device;
    const char *word = getenv("REACTANT_MPI_TEST_FULL");
    full = word && *word && strcmp(word, "0") != 0;
    host_open(RTLD_LOCAL);
    comm = reactant_mpi_initialize(REACTANT_MPI_COMM_WORLD);
    NEED(comm, "initialize: %d %s", reactant_mpi_last_error_code(), reactant_mpi_last_error());
    check_rank = rank = reactant_mpi_rank(comm);
    size = reactant_mpi_size(comm);
    device = reactant_mpi_device(comm);
    NEED(device >= 0, "a device; look at reactant_mpi_describe");
    gpu_look();
    gpu_enter(device);
    version = gpu_nccl_version();
    stream = gpu_stream();
    buffers_make();
    for (int i = all ? 0 : 1; i < argc; i++) {
        if (all || !strcmp(argv[i], "calls"))
            test_calls();
        if (all || !strcmp(argv[i], "comms"))
            test_comms();
        if (all || !strcmp(argv[i], "names"))
            test_names();
        if (all || !strcmp(argv[i], "data")) {
            test_refused_pairs();
            test_data();
        }
    }
    DEVICE_ALIVE(comm);
    buffers_end();
    gpu_stream_end(stream);
    gpu_leave();
    OK(reactant_mpi_finalize(NULL));
    CHECK(gpu_live_comms() <= 0, "%d NCCL communicators live on", gpu_live_comms());
    CHECK(gpu_context_refs(device) <= 0, "the device's context is held %d times", gpu_context_refs(device));
    CHECK(gpu_bytes_live() <= 0, "%ld bytes of device memory are left", gpu_bytes_live());
    return check_done(rank);
}
