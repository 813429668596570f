/* The names that compiled code asks for, and what they stand for. */
#include "capi/compiled.h"

#include <string.h>

struct symbol {
    const char *name;
    void *address;
};

#define MPI(name) {"MPI_" #name, (void *)reactant_mpi_MPI_##name},
#define NCCL(name) {"nccl" #name, (void *)reactant_mpi_nccl##name},
static const struct symbol functions[] = {
    MPI(Init) MPI(Finalize) MPI(Comm_rank) MPI(Comm_size) MPI(Comm_split) MPI(Barrier) MPI(Bcast) MPI(Allreduce) MPI(Reduce)
    MPI(Reduce_scatter_block) MPI(Scan) MPI(Allgather) MPI(Alltoall) MPI(Gather) MPI(Scatter) MPI(Send) MPI(Recv) MPI(Sendrecv)
    MPI(Error_string)
    NCCL(AllReduce) NCCL(Broadcast) NCCL(Reduce) NCCL(AllGather) NCCL(ReduceScatter) NCCL(AlltoAll) NCCL(Send) NCCL(Recv)
    NCCL(GroupStart) NCCL(GroupEnd) NCCL(CommSplit) NCCL(CommCount) NCCL(CommUserRank) NCCL(CommCuDevice) NCCL(CommGetAsyncError)
    NCCL(CommFinalize) NCCL(CommDestroy) NCCL(CommAbort) NCCL(GetErrorString)
};

/* By the width of a request: 8 bytes, 4 bytes. */
#define WIDE(name) {"MPI_" #name, (void *)reactant_mpi_MPI_##name},
#define NARROW(name) {"MPI_" #name, (void *)reactant_mpi_MPI_##name##4},
static const struct symbol wide[] = {WIDE(Isend) WIDE(Irecv) WIDE(Wait) WIDE(Waitall) WIDE(Request_free)};
static const struct symbol narrow[] = {NARROW(Isend) NARROW(Irecv) NARROW(Wait) NARROW(Waitall) NARROW(Request_free)};

static const struct {
    const char *name;
    uintptr_t value;
} constants[] = {
#define DATATYPE(name, value, type) {"MPI_" #name, value},
#define OPERATION(name, value) {"MPI_" #name, value},
#define HANDLE(name, value) {"MPI_" #name, value},
#define ERROR(name, value) {"MPI_ERR_" #name, value},
#include "capi/mpi_constants.inc"
};

typedef void (*set_fn)(const char *, void *, int);

#define COUNT(list) (sizeof(list) / sizeof *(list))

static void map_all(reactant_mpi_map_fn map, const struct symbol *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        map(list[i].name, list[i].address);
}

/* Bytes of the host's status, as far as its MPI is known. */
static uintptr_t status_bytes(void)
{
    const struct rmpi_comm *any = rmpi_comm_any();
    switch (any ? any->mpi->family : RMPI_OPEN_MPI_ABI) {
    case RMPI_MPICH_ABI:
        return 20;
    case RMPI_MPI5_ABI:
        return 32;
    case RMPI_MPIABI:
        return 40;
    default:
        return 24;
    }
}

int reactant_mpi_register_symbols(reactant_mpi_map_fn map, unsigned flags)
{
    static const char *const name = "reactant_mpi_register_symbols";
    const unsigned generations = REACTANT_MPI_SYMBOLS_G1 | REACTANT_MPI_SYMBOLS_G2 | REACTANT_MPI_SYMBOLS_G3;
    const unsigned policies = REACTANT_MPI_ERRORS_RETURN | REACTANT_MPI_ERRORS_LOG | REACTANT_MPI_ERRORS_ABORT;
    const unsigned generation = flags & generations;
    if (rmpi_forked())
        return rmpi_control_refused(name);
    if (!map)
        return rmpi_fail(REACTANT_MPI_ERR_ARGUMENT, "%s: the function that maps a name is NULL", name);
    if (__builtin_popcount(generation) != 1 || __builtin_popcount(flags & policies) > 1 || flags & ~(generations | policies))
        return rmpi_fail(REACTANT_MPI_ERR_ARGUMENT,
                         "%s: flags %#x; they are one REACTANT_MPI_SYMBOLS_ (G1, G2 or G3) and at most one REACTANT_MPI_ERRORS_", name,
                         flags);
    if (flags & policies)
        rmpi_compiled_policy(flags & policies);
    if (generation == REACTANT_MPI_SYMBOLS_G3) {
        /* Cast by the caller, as the header says; back over the type that fits every function. */
        const set_fn set = (set_fn)(void (*)(void))map;
        for (size_t i = 0; i < COUNT(constants); i++)
            set(constants[i].name, (void *)constants[i].value, 1);
        set("MPI_SUCCESS", NULL, 1);
        set("MPI_STATUS_SIZE", (void *)status_bytes(), 1);
        return 0;
    }
    map_all(map, functions, COUNT(functions));
    map_all(map, generation == REACTANT_MPI_SYMBOLS_G1 ? narrow : wide, COUNT(wide));
    for (size_t i = 0; i < COUNT(constants); i++)
        map(constants[i].name, (void *)constants[i].value);
    return 0;
}
