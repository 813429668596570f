"""A forked child gets code 20 from every call and ends by itself; the parent works on."""

import os
import sys
import time

import numpy as np
import reactant_mpi
from checks import check, done, fails, same


def child(comm, prepared):
    x = np.zeros(2)
    words = ["forked", "spawn"]
    for call in (comm.barrier, prepared, comm.describe, comm.prepare_barrier, reactant_mpi.describe, reactant_mpi.finalize):
        fails(20, words, call)
    fails(20, words, comm.Allreduce, x, x)
    fails(20, words, comm.allreduce, 1)
    fails(20, words, comm.Send, x, 0)
    fails(20, words, reactant_mpi.initialize)
    fails(20, words, comm.finalize)
    fails(20, words, comm.abort)
    fails(20, words, getattr, comm, "local_rank")
    prepared.free()
    check(comm.rank >= 0, "the rank is remembered")
    if os.fork() == 0:  # and its child
        fails(20, words, comm.barrier)
        os._exit(0)
    check(os.waitstatus_to_exitcode(os.wait()[1]) == 0, "the grandchild")


def status_of(pid, seconds=30):
    """Exit code of a child; it must end in time."""
    for _ in range(seconds * 50):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.kill(pid, 9)
    return "hangs"


def main():
    comm = reactant_mpi.initialize()
    out = np.empty(1)
    prepared = comm.prepare_allreduce(np.ones(1), out)
    for leave in (os._exit, sys.exit):  # sys.exit: with all exit handlers
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                child(comm, prepared)
                code = 0
            finally:
                leave(code)
        code = status_of(pid)
        check(code == 0, f"child that leaves by {leave.__name__}: {code}")
        prepared()
        same(out, np.full(1, float(comm.size)), "the parent works on")
        same(comm.allreduce(1), np.int64(comm.size), "the parent works on")
    done()


main()
