"""Communicators from communicators, on the host: as mpi4py's Split and Create_group make them."""

import numpy as np
import reactant_mpi
from checks import check, done, fails, same
from mpi4py import MPI

BIG = 2**31 - 1

# (colour, key) of each rank; None: no part of it
SPLITS = {
    "all, as they are": lambda rank, n: (0, 0),
    "all, reversed": lambda rank, n: (0, -rank),
    "odd and even": lambda rank, n: (rank % 2, rank),
    "everyone alone": lambda rank, n: (rank + 7, 0),
    "the first is out": lambda rank, n: (None if rank == 0 else 3, n - rank),
    "all are out": lambda rank, n: (None, 0),
    "equal keys": lambda rank, n: (BIG, 5),
    "extreme keys": lambda rank, n: (0, BIG if rank % 2 == 0 else -BIG - 1),
}


def compare(ours, theirs, what):
    """The same ranks, in the same order, and a communicator that works."""
    rank, n = theirs.Get_rank(), theirs.Get_size()
    check((ours.rank, ours.size) == (rank, n), f"{what}: rank {ours.rank} of {ours.size} instead of {rank} of {n}")
    world = MPI.COMM_WORLD.Get_rank()
    same(ours.allgather(world), np.array(theirs.allgather(world)), f"{what}: its ranks in the world")
    same(ours.allgather(ours.id), np.full(n, ours.id), f"{what}: one id")
    x = np.arange(7.0) * (rank + 1)
    same(ours.allreduce(x), theirs.allreduce(x), f"{what}: allreduce")
    for root in (0, n - 1):
        same(ours.bcast(x, root), theirs.bcast(x, root), f"{what}: bcast from {root}")
    same(ours.sendrecv(world, (rank + 1) % n), np.array(theirs.sendrecv(world, (rank + 1) % n)), f"{what}: round the ring")
    check((ours.device, ours.nccl_comm, ours.client) == (None, None, None), f"{what}: a host communicator has no device")


def splits(ours, theirs, seen):
    """Every split of a communicator; the parts work together with it, and end one by one."""
    rank, n = theirs.Get_rank(), theirs.Get_size()
    kept = []
    for what, wish in SPLITS.items():
        color, key = wish(rank, n)
        mine = ours.split(-1 if color is None else color, key)
        yours = theirs.Split(MPI.UNDEFINED if color is None else color, key)
        if color is None:
            check(mine is None and yours == MPI.COMM_NULL, f"{what}: no communicator")
            continue
        check(mine.id not in seen, f"{what}: an id of its own")
        seen.add(mine.id)
        compare(mine, yours, what)
        kept.append((mine, yours, what))
    for mine, yours, what in reversed(kept):
        compare(mine, yours, what + ", while others are alive")
        mine.finalize()
        fails(2, "finalize()", mine.barrier)
        fails(2, "finalize()", mine.split, 0)
        fails(2, "finalize()", mine.create, [0])
        for name in ("device", "nccl_comm", "client"):
            fails(2, "finalize()", getattr, mine, name)
        yours.Free()
    check(ours.split(MPI.UNDEFINED) is None, "MPI.UNDEFINED is a negative color")


def parts_of_parts(ours):
    """A part lives on when what it comes from has ended."""
    part = ours.split(0, -ours.rank)
    again = part.split(ours.rank % 2)
    part.finalize()
    theirs = MPI.COMM_WORLD.Split(ours.rank % 2, -ours.rank)
    compare(again, theirs, "a part of an ended part")
    again.finalize()
    theirs.Free()


def create(ours):
    rank, n = ours.rank, ours.size
    group = MPI.COMM_WORLD.Get_group()
    for what, ranks in {
        "all": list(range(n)),
        "all, reversed": list(reversed(range(n))),
        "every second, reversed": list(range(0, n, 2))[::-1],
        "the last": [n - 1],
    }.items():
        if rank not in ranks:
            continue
        mine = ours.create(np.array(ranks) if what == "all" else iter(ranks))
        theirs = MPI.COMM_WORLD.Create_group(group.Incl(ranks))
        compare(mine, theirs, what)
        with mine:
            pass
        theirs.Free()
    ours.barrier()
    # Found by each rank for itself: nobody waits.
    fails(1, "empty", ours.create, [])
    fails(6, str(n), ours.create, [rank, n])
    fails(6, "-1", ours.create, [rank, -1])
    fails(6, "twice", ours.create, [rank, rank])
    fails(6, "2147483648", ours.create, [rank, 2**31])
    fails(1, "rank must be an integer", ours.create, [rank, 1.5])
    if n > 1:
        fails(1, "not in the list", ours.create, [(rank + 1) % n])


def main():
    ours = reactant_mpi.initialize(MPI.COMM_WORLD)
    for color, key in ((1.5, 0), ("red", 0), (None, 0), (0, None), (2**31, 0), (0, -(2**31) - 1)):
        fails(1, "32-bit integer", ours.split, color, key)
    seen = {ours.id}
    splits(ours, MPI.COMM_WORLD, seen)
    halves, theirs = ours.split(ours.rank % 2), MPI.COMM_WORLD.Split(ours.rank % 2)
    splits(halves, theirs, seen)
    halves.finalize()
    theirs.Free()
    parts_of_parts(ours)
    create(ours)
    compare(ours, MPI.COMM_WORLD, "the parent, after all")
    done()


main()
