"""Communicators from communicators, on the host: as mpi4py's Dup, Split, Split_type and Create_group make them; by device ids."""

import numpy as np
import reactant_mpi
from checks import check, done, fails, same
from mpi4py import MPI
from reactant_mpi import Request

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


def duplicates(ours):
    """Independent of what they are made of, and of each other."""
    rank, n = ours.rank, ours.size
    first, second = ours.dup(), ours.Dup()
    compare(first, MPI.COMM_WORLD, "dup")
    same(np.unique([ours.id, first.id, second.id]).size, np.int64(3), "three ids")
    requests = [comm.Isend(np.full(1, k), (rank + 1) % n) for k, comm in enumerate((ours, first, second))]
    for k, comm in reversed(list(enumerate((ours, first, second)))):
        same(comm.recv(shape=1, dtype=int), np.full(1, k), "messages stay with their communicator")
    check(Request.Waitall(requests), "all sent")
    first.Free()
    fails(2, "finalize()", first.barrier)
    compare(second, MPI.COMM_WORLD, "dup, when the other has ended")
    second.finalize()
    again, theirs = ours.Split(key=-rank), MPI.COMM_WORLD.Split(key=-rank)
    compare(again, theirs, "Split with mpi4py's defaults")
    again.Free()
    theirs.Free()


def by_host(ours):
    for key in (0, -ours.rank):
        mine, theirs = ours.split_node(key), MPI.COMM_WORLD.Split_type(MPI.COMM_TYPE_SHARED, key)
        compare(mine, theirs, "split_node")
        check(mine.size == ours.local_size, "all ranks of this host")
        mine.finalize()
        theirs.Free()


def by_device(ours):
    """Rank r holds the devices 10 r and 10 r + 1; cliques are made by those that hold the ids."""
    rank, n = ours.rank, ours.size
    fails(8, "set_devices", ours.from_devices, [0])
    fails(1, "twice", ours.set_devices, [5, 5])
    for wrong in ([1.5], 3, [2**63], None):
        fails(1, "64-bit integers", ours.set_devices, wrong)
        fails(1, "64-bit integers", ours.from_devices, wrong)
    part = ours.dup()
    if n > 1:
        fails(30, "7", part.set_devices, [7])
    part.finalize()
    ours.set_devices(np.array([10 * rank, 10 * rank + 1]))
    fails(8, "already", ours.set_devices, [rank])
    backwards = [10 * r + r % 2 for r in reversed(range(n))]
    for ids in ([10 * r for r in range(n)], backwards, list({10 * n - 9: 0, 0: 0, 1: 0}), [10 * rank + 1]):
        ranks = list(dict.fromkeys(i // 10 for i in ids))
        if rank not in ranks:
            fails(1, "", ours.from_devices, ids)
            continue
        clique = ours.from_devices(ids)
        check((clique.rank, clique.size) == (ranks.index(rank), len(ranks)), f"{ids}: rank {clique.rank} of {clique.size}")
        same(clique.allgather(rank), np.array(ranks), f"{ids}: its ranks in the world")
        clique.finalize()
    fails(1, str(10 * n), ours.from_devices, [10 * rank, 10 * n])
    fails(1, "twice", ours.from_devices, [10 * rank, 10 * rank])


def times(ours):
    part = ours.dup()
    for wrong in (0.5, None, 2**31):
        fails(1, "timeout_ms", part.set_timeout, wrong)
    fails(1, "-1", part.set_timeout, -1)
    if ours.size > 1:
        fails(30, "same time", part.set_timeout, 1000 + part.rank)
    part.set_timeout(60_000)
    compare(part, MPI.COMM_WORLD, "with a timeout")
    with part.prepare_barrier() as barrier:
        barrier()
        barrier.Start()
        barrier.Wait()
    part.set_timeout(0)
    compare(part, MPI.COMM_WORLD, "without it again")
    part.finalize()
    fails(10, "ulfm", ours.shrink)


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
    duplicates(ours)
    by_host(ours)
    by_device(ours)
    times(ours)
    compare(ours, MPI.COMM_WORLD, "the parent, after all")
    done()


main()
