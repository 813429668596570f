"""The GIL is released while a call waits, and several threads work at a time.

threads.py [mpi4py | funneled]: eight threads on eight communicators; or only the first thread may call.
"""

import sys
import threading
import time

import numpy as np
import reactant_mpi
from checks import check, done, fails, same

THREADS = 8


def gil_released(comm):
    """While rank 0 waits for a message, another thread of it runs Python."""
    if comm.rank == 0:
        steps, waiting = 0, threading.Event()

        def work():
            nonlocal steps
            while not waiting.is_set():
                steps += 1
                time.sleep(0.001)

        worker = threading.Thread(target=work)
        worker.start()
        got = comm.recv(shape=1, source=1)
        seen = steps
        waiting.set()
        worker.join()
        same(got, np.ones(1), "the message")
        check(seen > 20, f"the other thread took {seen} steps during 0.5 s in recv")
    elif comm.rank == 1:
        time.sleep(0.5)
        comm.send(np.ones(1), 0)
    comm.barrier()


def in_threads(work, count=THREADS):
    """Run work(i) in threads at once; raise the first exception."""
    failures = []

    def guarded(i):
        try:
            work(i)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def tags(comm):
    """Threads of two ranks exchange messages on one communicator, told apart by tags."""
    n, rank = comm.size, comm.rank
    right, left = (rank + 1) % n, (rank - 1) % n

    def work(i):
        for step in range(20):
            out = np.zeros(3)
            comm.Sendrecv(np.full(3, 100.0 * rank + i + step), right, i, out, left, i)
            same(out, np.full(3, 100.0 * left + i + step), f"thread {i} step {step}")

    in_threads(work)


def errors_per_thread(comm):
    """Each thread sees the text of its own failure."""

    def work(i):
        for _ in range(50):
            root = comm.size + i
            try:
                comm.Bcast(np.zeros(1), root)
            except reactant_mpi.ReactantMPIError as error:
                check(error.code == 6 and str(root) in error.text, f"thread {i}: {error}")

    in_threads(work)


def eight_communicators():
    from mpi4py import MPI

    comms = [reactant_mpi.initialize(MPI.COMM_WORLD.Dup()) for _ in range(THREADS)]

    def work(i):
        comm = comms[i]
        out = np.zeros(2)
        prepared = comm.prepare_allreduce(np.full(2, 1.0 + i), out)
        for step in range(20):
            same(comm.allreduce(i + step + comm.rank), np.int64(comm.size * (i + step) + sum(range(comm.size))), f"thread {i}")
            prepared()
            same(out, np.full(2, comm.size * (1.0 + i)), f"prepared in thread {i}")

    in_threads(work)


def funneled():
    """Calls of another thread are refused, and the first one works on."""
    comm = reactant_mpi.initialize(thread_level="funneled")
    check(reactant_mpi.describe()["mpi"]["thread_level"] in ("single", "funneled"), "less than MULTIPLE was asked for")
    again = reactant_mpi.initialize()
    check(again.id == comm.id, "an option that is left out does not differ")
    again.finalize()
    prepared = comm.prepare_barrier()

    def work(_):
        for call in (comm.barrier, prepared, comm.finalize, reactant_mpi.initialize, reactant_mpi.finalize):
            fails(9, "thread", call)
        check(comm.local_rank >= 0, "what a communicator is may be asked by any thread")

    in_threads(work, 1)
    prepared()
    same(comm.allreduce(1), np.int64(comm.size), "the first thread works on")


def main():
    if sys.argv[1:] == ["funneled"]:
        funneled()
        done()
        return
    comm = reactant_mpi.initialize()
    gil_released(comm)
    tags(comm)
    errors_per_thread(comm)
    if sys.argv[1:] == ["mpi4py"]:
        eight_communicators()
    comm.barrier()
    done()


main()
