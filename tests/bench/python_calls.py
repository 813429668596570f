"""Time of an 8-byte allreduce from Python at one rank, in turn with mpi4py's on the same MPI: blocking, started and waited for, and
prepared (persistent, where this MPI has that). Run by run.py under tests/launch.

Prints lines `way minimum median`, in nanoseconds per call, from many short windows.
"""

import gc
import statistics
import sys
import time

import mpi4py.MPI
import numpy as np
import reactant_mpi

CALLS, WINDOWS = 200, int(sys.argv[1]) if len(sys.argv) > 1 else 400


def window(call, *arguments):
    begin = time.perf_counter_ns()
    for _ in range(CALLS):
        call(*arguments)
    return (time.perf_counter_ns() - begin) / CALLS


def started(call, *arguments):
    return lambda: call(*arguments).Wait()


def persistent(request):
    def start_and_wait():
        request.Start()
        request.Wait()

    return start_and_wait


def main():
    world = mpi4py.MPI.COMM_WORLD
    comm = reactant_mpi.initialize(world)
    send, recv = np.array([1.5]), np.zeros(1)
    prepared = comm.prepare_allreduce(send, recv)
    ways = {
        "nothing": (lambda: None,),
        "mpi4py": (world.Allreduce, send, recv),
        "Allreduce": (comm.Allreduce, send, recv),
        "prepared": (prepared,),
        "allreduce": (comm.allreduce, send),
        "mpi4py.started": (started(world.Iallreduce, send, recv),),
        "started": (started(comm.Iallreduce, send, recv),),
        "prepared.started": (persistent(prepared),),
    }
    theirs = world.Allreduce_init(send, recv) if mpi4py.MPI.Get_version() >= (4, 0) else None
    if theirs:
        ways["mpi4py.persistent"] = (persistent(theirs),)
    times = {way: [] for way in ways}
    gc.disable()
    for k in range(-3, WINDOWS):
        for way, call in ways.items():
            ns = window(*call)
            if k >= 0:
                times[way].append(ns)
    assert recv[0] == 1.5 * world.size
    if comm.rank == 0:
        for way, ns in times.items():
            print(way, f"{min(ns):.1f} {statistics.median(ns):.1f}")
    prepared.free()
    if theirs:
        theirs.Free()
    comm.finalize()


main()
