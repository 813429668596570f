/* Messages between devices: XLA's collective permute is made of MPI_Irecv, MPI_Isend and MPI_Wait, its all-to-all of MPI_Sendrecv. */
#include "wrapper.h"

/* MPI_Status as MPItrampoline has it: room for the status of an MPI, then what programs may read. */
struct status {
    char room[24];
    int source, tag, error, unused;
};

static void tell(struct status *out, const reactant_mpi_status *status)
{
    if (out)
        out->source = status->source, out->tag = status->tag, out->error = 0;
}

EXPORT int MPIABI_Isend(const void *buf, int count, uintptr_t type, int dest, int tag, uintptr_t word, uintptr_t *request)
{
    struct comm *comm = comm_of(word);
    *request = WRAPPER_REQUEST_NULL;
    if (!comm)
        return comm_wrong(word, "MPI_Isend");
    reactant_mpi_request *started;
    if (core.isend(buf, (size_t)count, (int)type, dest, tag, comm->core, &started))
        return fail_core("MPI_Isend");
    return *request = (uintptr_t)started, 0;
}

EXPORT int MPIABI_Irecv(void *buf, int count, uintptr_t type, int source, int tag, uintptr_t word, uintptr_t *request)
{
    struct comm *comm = comm_of(word);
    *request = WRAPPER_REQUEST_NULL;
    if (!comm)
        return comm_wrong(word, "MPI_Irecv");
    reactant_mpi_request *started;
    if (core.irecv(buf, (size_t)count, (int)type, source, tag, comm->core, &started))
        return fail_core("MPI_Irecv");
    return *request = (uintptr_t)started, 0;
}

EXPORT int MPIABI_Wait(uintptr_t *request, struct status *status)
{
    const uintptr_t word = *request;
    reactant_mpi_status got = {REACTANT_MPI_PROC_NULL, REACTANT_MPI_ANY_TAG, 0};
    *request = WRAPPER_REQUEST_NULL;
    if (word != WRAPPER_REQUEST_NULL && core.wait((reactant_mpi_request *)word, &got))
        return fail_core("MPI_Wait");
    return tell(status, &got), 0;
}

EXPORT int MPIABI_Sendrecv(const void *send, int send_count, uintptr_t send_type, int dest, int send_tag, void *recv, int recv_count,
                           uintptr_t recv_type, int source, int recv_tag, uintptr_t word, struct status *status)
{
    struct comm *comm = comm_of(word);
    reactant_mpi_status got;
    if (!comm)
        return comm_wrong(word, "MPI_Sendrecv");
    if (send_type != recv_type)
        return fail(REACTANT_MPI_ERR_TYPE, "MPI_Sendrecv: elements of type %#zx are sent and of type %#zx received", (size_t)send_type,
                    (size_t)recv_type);
    if (core.sendrecv(send, (size_t)send_count, dest, send_tag, recv, (size_t)recv_count, source, recv_tag, (int)recv_type, comm->core, &got))
        return fail_core("MPI_Sendrecv");
    return tell(status, &got), 0;
}

EXPORT int MPIABI_Type_size(uintptr_t type, int *size)
{
    *size = (int)type_size(type);
    return *size ? 0 : fail(REACTANT_MPI_ERR_TYPE, "MPI_Type_size: %#zx is not a type that is served", (size_t)type);
}
