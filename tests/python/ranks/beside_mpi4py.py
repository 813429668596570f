"""In one process with mpi4py, whoever initialises MPI: handles of all kinds, results equal to mpi4py's, nobody disturbed.

beside_mpi4py.py ours-first | theirs-first
"""

import sys

import numpy as np
import reactant_mpi
from checks import check, done, fails, same

OURS_FIRST = sys.argv[1] == "ours-first"
if OURS_FIRST:
    first = reactant_mpi.initialize()
from mpi4py import MPI  # noqa: E402  (importing it initialises MPI)

CALLS = [
    ("Allreduce", lambda n: (6, 6), ["SUM", "MAX", "MIN", "PROD"]),
    ("Allgather", lambda n: (6, 6 * n), [None]),
    ("Alltoall", lambda n: (6 * n, 6 * n), [None]),
    ("Reduce_scatter_block", lambda n: (6 * n, 6), ["SUM"]),
]


def compare(ours, theirs):
    """The same calls by both, on the same data."""
    rank, n = theirs.Get_rank(), theirs.Get_size()
    check((ours.rank, ours.size) == (rank, n), "rank and size")
    for dtype in ("float64", "float32", "int32", "uint8", "complex128"):
        for name, sizes, ops in CALLS:
            for op in ops:
                if dtype == "complex128" and op in ("MAX", "MIN"):
                    continue
                send_size, recv_size = sizes(n)
                send = (np.arange(send_size) % 4 + rank % 3).astype(dtype)
                mine, yours = np.zeros(recv_size, dtype), np.zeros(recv_size, dtype)
                getattr(ours, name)(send, mine, *([getattr(reactant_mpi, op)] if op else []))
                getattr(theirs, name)(send, yours, *([getattr(MPI, op)] if op else []))
                same(mine, yours, f"{name} {op} {dtype}")
        for root in range(n):
            mine = (np.arange(4) + rank).astype(dtype)
            yours = mine.copy()
            ours.Bcast(mine, root)
            theirs.Bcast(yours, root)
            same(mine, yours, f"Bcast {dtype} from {root}")
    if n > 1:
        # Messages of the two never meet: same ranks, same tags, wildcards.
        right, left = (rank + 1) % n, (rank - 1) % n
        request = theirs.Isend(np.full(1, 100.0 + rank), right, tag=3)
        got, theirs_got = np.zeros(1), np.zeros(1)
        ours.Sendrecv(np.full(1, 200.0 + rank), right, 3, got)
        theirs.Recv(theirs_got)
        request.Wait()
        same((got[0], theirs_got[0]), np.array([200.0 + left, 100.0 + left]), "messages stay with their library")


def handles(world):
    """Every way to say which communicator."""
    n = world.size
    for given in (MPI.COMM_WORLD, MPI._handleof(MPI.COMM_WORLD), None):
        again = reactant_mpi.initialize(given)
        check(again.id == world.id and again.handle == world.handle, f"initialize({given!r}) is the same communicator")
        again.finalize()
    if hasattr(MPI.Comm, "py2f"):
        out = reactant_mpi._comm.ctypes.c_void_p()
        function = reactant_mpi._library.functions.initialize_fint
        check(function(MPI.COMM_WORLD.py2f(), None, reactant_mpi._comm.ctypes.byref(out)) == 0, "by the Fortran handle")
        check(out.value == world.handle, "the Fortran handle means the same communicator")
        reactant_mpi._library.check(reactant_mpi._library.functions.finalize(out))

    alone = reactant_mpi.initialize(MPI.COMM_SELF)
    check((alone.rank, alone.size) == (0, 1), "COMM_SELF has one rank")
    same(alone.allreduce(world.rank + 1), np.int64(world.rank + 1), "allreduce on COMM_SELF")
    alone.finalize()

    color = MPI.COMM_WORLD.Get_rank() % 2
    halves = MPI.COMM_WORLD.Split(color, -MPI.COMM_WORLD.Get_rank())
    ours = reactant_mpi.initialize(halves)
    compare(ours, halves)
    check(ours.id not in (0, world.id), "ids differ")
    check(ours.mpi_handle != MPI._handleof(halves) % 2**64, "it works on a duplicate")
    ours.finalize()
    halves.Free()

    # MPIs use handle values again after a free, each time for another communicator.
    ended = set()
    for _ in range(5):
        duplicate = MPI.COMM_WORLD.Dup()
        ours = reactant_mpi.initialize(duplicate)
        check(ours.id not in ended, "an id is not used again")
        same(ours.allreduce(1), np.int64(n), "allreduce on a duplicate")
        duplicate.Free()
        same(ours.allreduce(2), np.int64(2 * n), "it outlives the communicator it was made of")
        ended.add(ours.id)
        ours.finalize()

    # Still alive under a value that may have come back as another communicator.
    duplicate = MPI.COMM_WORLD.Dup()
    kept = reactant_mpi.initialize(duplicate)
    duplicate.Free()
    reverse = MPI.COMM_WORLD.Split(0, -MPI.COMM_WORLD.Get_rank())
    reversed_ = reactant_mpi.initialize(reverse)
    check(reversed_.rank == n - 1 - world.rank, "a value that came back is not taken for the old communicator")
    check(n == 1 or reversed_.id != kept.id, "two communicators, two ids")
    fails_for_null(MPI.COMM_NULL)


def fails_for_null(null):
    try:
        reactant_mpi.initialize(null)
    except reactant_mpi.ReactantMPIError as error:
        check(error.code in (1, 2), f"COMM_NULL: {error}")
    else:
        check(False, "COMM_NULL was taken")


def error_handler_untouched():
    """mpi4py's own communicator still answers errors as before."""
    handler = MPI.COMM_WORLD.Get_errhandler()
    check(handler == MPI.ERRORS_RETURN, "mpi4py's error handler is still there")
    handler.Free()
    try:
        MPI.COMM_WORLD.Send(np.zeros(1), dest=10_000)
    except MPI.Exception as error:
        check(error.Get_error_class() == MPI.ERR_RANK, f"mpi4py's error: {error}")
    else:
        check(False, "mpi4py has lost its errors")


def main():
    world = first if OURS_FIRST else reactant_mpi.initialize(MPI.COMM_WORLD)
    if OURS_FIRST:
        check(MPI.Query_thread() == MPI.THREAD_MULTIPLE, "MULTIPLE is asked for")
    compare(world, MPI.COMM_WORLD)
    handles(world)
    if not OURS_FIRST:
        error_handler_untouched()
    compare(world, MPI.COMM_WORLD)
    done()
    if not OURS_FIRST:
        # MPI is mpi4py's: ending ours leaves it.
        reactant_mpi.finalize()
        check(not MPI.Is_finalized(), "finalize() has ended an MPI that is not ours")
        check(MPI.COMM_WORLD.allreduce(1) == MPI.COMM_WORLD.Get_size(), "mpi4py works on")
        fails(2, "", world.barrier)


main()
