"""The public names of reactant_mpi.jax and the module of each."""

OPERATIONS = (
    "allreduce",
    "reduce",
    "bcast",
    "allgather",
    "gather",
    "scatter",
    "reduce_scatter",
    "alltoall",
    "scan",
    "exscan",
    "barrier",
    "send",
    "recv",
    "sendrecv",
    "permute",
    "allgatherv",
    "gatherv",
    "scatterv",
    "reduce_scatterv",
    "alltoallv",
)

NAMES = (
    dict.fromkeys(OPERATIONS, "_ops")
    | dict.fromkeys(("token", "new_ref", "join"), "_order")
    | dict.fromkeys(("iallreduce", "wait"), "_started")
)
