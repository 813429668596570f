"""JAX calls this when it is about to make its clients: the moment at which the number of devices is known."""

import sys


def initialize() -> None:
    distributed = sys.modules.get("reactant_mpi.jax._distributed")
    if distributed is not None:
        distributed.before_clients()
