"""Ways to end, by name; each after some work. What is checked is how the job ends."""

import sys

import numpy as np
import reactant_mpi
from checks import done, fails


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
    elif how == "under way":  # all ranks have started them, nobody waits
        big = np.ones(1 << 18)
        comm.Iallreduce(big, np.empty_like(big))
        comm.Isend(big, (comm.rank + 1) % comm.size)
        comm.Irecv(np.empty_like(big), (comm.rank - 1) % comm.size)
        prepared.Start()
        done()
    elif how == "never joined":
        open_ = [comm.Irecv(np.empty(4), 0, 9), comm.Isend(np.ones(1 << 18), 0, 8)]
        if comm.rank == 0:
            open_ += [comm.Ibarrier(), comm.Iallreduce(np.ones(4), np.empty(4))]
        done()
    elif how == "timeout":
        part = comm.dup()
        part.set_timeout(300)
        part.allreduce(1)
        if comm.rank == 0:
            request = part.Iallreduce(np.ones(4), np.empty(4))
            fails(31, ["300 ms", "not arrived: rank 1"], request.Wait)
            fails(31, "no more calls", part.barrier)
        comm.barrier()  # other communicators work on
        print("the end of this rank\n", end="", flush=True)
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
