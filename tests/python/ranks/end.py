"""Ways to end, by name; each after some work. What is checked is how the job ends."""

import sys

import numpy as np
import reactant_mpi
from checks import done


def main(how):
    comm = reactant_mpi.initialize()
    prepared = comm.prepare_allreduce(np.ones(1), np.empty(1))
    prepared()
    others_wait = comm.rank != comm.size - 1
    if how == "nothing":  # the exit handler does it, with a prepared call alive
        done()
    elif how == "sys.exit":
        done()
        sys.exit(0)
    elif how == "finalize":
        reactant_mpi.finalize()
        reactant_mpi.finalize()
        done()
    elif how == "with":
        with comm:
            comm.barrier()
        done()
    elif others_wait:
        comm.recv(shape=1, source=comm.size - 1)
        print("the message that nobody sent has come")
    elif how == "raise":
        raise ValueError("this rank fails")
    elif how == "raise in with":
        with comm:
            raise ValueError("this rank fails")
    elif how == "our error":
        comm.Bcast(np.zeros(1), 99)
    elif how == "abort":
        print("this rank aborts")
        comm.abort(3)


main(sys.argv[1])
