/* The collectives that XLA calls. */
#include "group.h"

static const void *from(const void *send, const void *own)
{
    return send == (const void *)WRAPPER_IN_PLACE ? own : send;
}

EXPORT int MPIABI_Allreduce(const void *send, void *recv, int count, uintptr_t type, uintptr_t op, uintptr_t word)
{
    struct comm *comm = comm_of(word);
    if (!comm)
        return comm_wrong(word, "MPI_Allreduce");
    if (comm->group)
        return group_allreduce(comm, &(struct call){"MPI_Allreduce", from(send, recv), recv, elements(count), (int)type, (int)op});
    return core.allreduce(send, recv, elements(count), (int)type, (int)op, comm->core) ? fail_core("MPI_Allreduce") : 0;
}

/* Blocks of one size, which XLA's are, are what the library's reduce_scatter takes. */
EXPORT int MPIABI_Reduce_scatter(const void *send, void *recv, const int *counts, uintptr_t type, uintptr_t op, uintptr_t word)
{
    struct comm *comm = comm_of(word);
    if (!comm)
        return comm_wrong(word, "MPI_Reduce_scatter");
    for (int i = 1; i < comm->size; i++)
        if (counts[i] != counts[0])
            return fail(REACTANT_MPI_ERR_UNSUPPORTED, "MPI_Reduce_scatter: blocks of %d and of %d elements: all must have one size",
                        counts[0], counts[i]);
    if (comm->group)
        return group_reduce_scatter(comm, &(struct call){"MPI_Reduce_scatter", from(send, recv), recv, elements(counts[0]), (int)type, (int)op});
    return core.reduce_scatter(send, recv, elements(counts[0]), (int)type, (int)op, comm->core) ? fail_core("MPI_Reduce_scatter") : 0;
}

EXPORT int MPIABI_Allgather(const void *send, int send_count, uintptr_t send_type, void *recv, int recv_count, uintptr_t recv_type,
                            uintptr_t word)
{
    struct comm *comm = comm_of(word);
    if (!comm)
        return comm_wrong(word, "MPI_Allgather");
    if ((send_count != recv_count || send_type != recv_type) && send != (const void *)WRAPPER_IN_PLACE)
        return fail(REACTANT_MPI_ERR_COUNT, "MPI_Allgather: %d elements of type %#zx are sent and %d of type %#zx received", send_count,
                    (size_t)send_type, recv_count, (size_t)recv_type);
    const size_t n = elements(recv_count);
    if (comm->group)
        return group_allgather(comm, &(struct call){"MPI_Allgather", from(send, (char *)recv + n * type_size(recv_type) * (size_t)comm->rank), recv, n,
                                                    (int)recv_type, 0});
    return core.allgather(send, recv, n, (int)recv_type, comm->core) ? fail_core("MPI_Allgather") : 0;
}

EXPORT int MPIABI_Barrier(uintptr_t word)
{
    struct comm *comm = comm_of(word);
    if (!comm)
        return comm_wrong(word, "MPI_Barrier");
    if (comm->group)
        return group_barrier(comm, &(struct call){.name = "MPI_Barrier"});
    return core.barrier(comm->core) ? fail_core("MPI_Barrier") : 0;
}
