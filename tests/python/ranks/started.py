"""For collectives.py: calls that are started, many at a time; against NumPy on all ranks' data."""

import numpy as np
from checks import check, data, empty, same
from reactant_mpi import IN_PLACE, Request


def reductions(comm, dtype, op, count, reduced):
    """reduced: what op over all ranks' data is."""
    rank, n, root = comm.rank, comm.size, comm.size // 2
    mine, wide = data(rank, dtype, count), data(rank, dtype, n * count)
    total = reduced(op, dtype, count, n)
    out, at_root, in_place, block = empty(count, dtype), empty(count, dtype), mine.copy(), empty(count, dtype)
    requests = [
        comm.Iallreduce(mine, out, op),
        comm.Ireduce(mine, at_root if rank == root else None, op, root),
        comm.Iallreduce(IN_PLACE, in_place, op),
        comm.Ireduce_scatter_block(wide, block, op),
    ]
    what = f"{op} of {count} {dtype}"
    check(Request.Waitall(requests) is True, "Waitall")
    same(out, total, f"Iallreduce {what}")
    same(at_root, total if rank == root else empty(count, dtype), f"Ireduce {what}")
    same(in_place, total, f"Iallreduce in place {what}")
    same(block, reduced(op, dtype, n * count, n)[rank * count : (rank + 1) * count], f"Ireduce_scatter_block {what}")


def movements(comm, dtype, count):
    rank, n, root = comm.rank, comm.size, comm.size // 2
    mine, wide = data(rank, dtype, count), data(rank, dtype, n * count)
    everyone = np.concatenate([data(r, dtype, count) for r in range(n)])
    parts = data(root, dtype, n * count)
    own = slice(rank * count, (rank + 1) * count)
    received = np.concatenate([data(r, dtype, n * count)[own] for r in range(n)])
    from_root = data(root, dtype, count) if rank == root else empty(count, dtype)
    gathered, block, all_of_them, exchanged = (empty(k * count, dtype) for k in (n, 1, n, n))
    requests = [
        comm.Ibcast(from_root, root),
        comm.Igather(mine, gathered, root),
        comm.Iscatter(parts if rank == root else None, block, root),
        comm.Iallgather(mine, all_of_them),
        comm.Ibarrier(),
        comm.Ialltoall(wide, exchanged),
    ]
    while not Request.Testall(requests):
        pass
    what = f"{count} {dtype}"
    same(from_root, data(root, dtype, count), f"Ibcast {what}")
    same(gathered, everyone if rank == root else empty(n * count, dtype), f"Igather {what}")
    same(block, parts[own], f"Iscatter {what}")
    same(all_of_them, everyone, f"Iallgather {what}")
    same(exchanged, received, f"Ialltoall {what}")
