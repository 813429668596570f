"""For collectives.py: scan and exscan, blocks of different sizes, permute; against NumPy on all ranks' data."""

import numpy as np
from checks import check, data, empty, fails, run_prepared, same
from reactant_mpi import IN_PLACE, PROC_NULL

THREE = ["", "I", "prepared "]


def call(comm, form, name, *arguments):
    """One call in one of its three forms, by mpi4py's name."""
    if form == "I":
        check(getattr(comm, f"I{name.lower()}")(*arguments).Wait() is True, f"I{name}")
    elif form:
        c_name = {"Reduce_scatter": "reduce_scatterv"}.get(name, name.lower())
        run_prepared(getattr(comm, f"prepare_{c_name}")(*arguments))
    else:
        getattr(comm, name)(*arguments)


def sizes(n, count):
    """How many elements each rank gives: all different, also none."""
    return [count + 2 * r if r != 1 else 0 for r in range(n)]


def places(counts):
    """Displacements with gaps, the last rank's block first; and how long the buffer is."""
    displs, at = [0] * len(counts), 1
    for r in reversed(range(len(counts))):
        displs[r] = at
        at += counts[r] + 2
    return displs, at


def put(blocks, displs, length, dtype):
    """The blocks at their places, and between them what was there before."""
    whole = empty(length, dtype)
    for block, at in zip(blocks, displs, strict=True):
        whole[at : at + len(block)] = block
    return whole


def over(op, function, inputs):
    """op over some ranks' data."""
    if len(inputs) == 1:
        return inputs[0]
    if inputs[0].dtype == "V1":
        return function.reduce([x.view("uint8") for x in inputs]).view("V1")
    return function.reduce(inputs).astype(inputs[0].dtype)


def reductions(comm, dtype, op, count, function):
    rank, n = comm.rank, comm.size
    what = f"{op} of {count} {dtype}"
    mine, below = data(rank, dtype, count), [data(r, dtype, count) for r in range(rank)]
    wanted = over(op, function, [*below, mine])
    above = over(op, function, below) if rank else empty(count, dtype)
    for form in THREE:
        out = empty(count, dtype)
        call(comm, form, "Scan", mine, out, op)
        same(out, wanted, f"{form}Scan {what}")
        out = empty(count, dtype)
        call(comm, form, "Exscan", mine, out, op)
        same(out, above, f"{form}Exscan {what}")
    out = mine.copy()
    comm.Scan(IN_PLACE, out, op)
    same(out, wanted, f"Scan in place {what}")
    out = mine.copy()
    comm.Exscan(IN_PLACE, out, op)
    same(out, above if rank else mine, f"Exscan in place {what}")
    same(comm.scan(mine, op), wanted, f"scan {what}")
    got = comm.exscan(mine, op)
    check((got is None) == (rank == 0), f"exscan {what} returns {got!r}")
    if rank:
        same(got, above, f"exscan {what}")
    counts = sizes(n, count)
    begin, everyone = sum(counts[:rank]), [data(r, dtype, sum(counts)) for r in range(n)]
    wanted = over(op, function, everyone)[begin : begin + counts[rank]]
    for form in THREE:
        out = empty(counts[rank], dtype)
        call(comm, form, "Reduce_scatter", everyone[rank], out, counts, op)
        same(out, wanted, f"{form}Reduce_scatter {what}")
    out = everyone[rank].copy()
    comm.Reduce_scatter(IN_PLACE, out, counts, op)
    same(out[: counts[rank]], wanted, f"Reduce_scatter in place {what}")


def movements(comm, dtype, count):
    rank, n = comm.rank, comm.size
    what = f"{count} {dtype}"
    counts = sizes(n, count)
    displs, length = places(counts)
    blocks = [data(r, dtype, counts[r]) for r in range(n)]
    wanted, root = put(blocks, displs, length, dtype), (n - 1) // 2
    at_root = rank == root
    for form in THREE:
        out = empty(length, dtype)
        call(comm, form, "Allgatherv", blocks[rank], [out, (counts, displs)])
        same(out, wanted, f"{form}Allgatherv {what}")
        out = empty(length, dtype)
        call(comm, form, "Gatherv", blocks[rank], [out, counts, displs] if at_root else None, root)
        same(out, wanted if at_root else empty(length, dtype), f"{form}Gatherv {what}")
        out = empty(counts[rank], dtype)
        call(comm, form, "Scatterv", [wanted, (counts, displs)] if at_root else None, out, root)
        same(out, blocks[rank], f"{form}Scatterv {what}")
    out = empty(length, dtype)
    out[displs[rank] : displs[rank] + counts[rank]] = blocks[rank]
    comm.Allgatherv(IN_PLACE, [out, (counts, displs)])
    same(out, wanted, f"Allgatherv in place {what}")

    # Rank i sends (i + 2 j) % 3 + count elements to rank j.
    def part(i, j):
        return data(i * n + j, dtype, (i + 2 * j) % 3 + count)

    sent, got = [part(rank, j) for j in range(n)], [part(i, rank) for i in range(n)]
    send_counts, recv_counts = [len(x) for x in sent], [len(x) for x in got]
    (send_displs, send_length), (recv_displs, recv_length) = places(send_counts), places(recv_counts)
    whole = put(sent, send_displs, send_length, dtype)
    for form in THREE:
        out = empty(recv_length, dtype)
        call(comm, form, "Alltoallv", [whole, send_counts, send_displs, dtype], [out, (recv_counts, recv_displs), dtype])
        same(out, put(got, recv_displs, recv_length, dtype), f"{form}Alltoallv {what}")
    # In place both ways must be equally long.
    counts = [(rank + j) % 3 + count for j in range(n)]
    displs, length = places(counts)
    out = put([data(rank * n + j, dtype, counts[j]) for j in range(n)], displs, length, dtype)
    comm.Alltoallv(IN_PLACE, [out, counts, displs])
    same(out, put([data(j * n + rank, dtype, counts[j]) for j in range(n)], displs, length, dtype), f"Alltoallv in place {what}")

    # Rank 0 to all the others, and nothing to rank 0; then round the ring.
    mine, zeros = data(rank, dtype, count), np.zeros(count, dtype)
    sources = {"from the first": [PROC_NULL, *[0] * (n - 1)], "round": [(r - 1) % n for r in range(n)]}
    for pattern, source in sources.items():
        dests = [r for r in range(n) if source[r] == rank]
        wanted = zeros if source[rank] == PROC_NULL else data(source[rank], dtype, count)
        for form in THREE:
            out = empty(count, dtype)
            call(comm, form, "Permute", mine, out, source[rank], dests)
            same(out, wanted, f"{form}Permute {pattern} {what}")
        same(comm.permute(mine, source[rank], np.array(dests, int)), wanted, f"permute {pattern} {what}")


class MPIType:
    """A datatype as mpi4py's is to be told: by its typestr."""

    typestr = "f8"


def ways_to_say_it(comm):
    """mpi4py's forms of counts and displacements; and what is none."""
    rank, n = comm.rank, comm.size
    mine = np.full(2, rank + 0.5)
    blocks = np.repeat(np.arange(n) + 0.5, 2)
    spread = np.full(3 * n, 7.0)
    spread.reshape(n, 3)[:, :2] = blocks.reshape(n, 2)
    twos = np.full(n, 2, "uint8")
    for say, wanted in (
        (lambda out: out, blocks),
        (lambda out: [out, None], blocks),
        (lambda out: [out, 2], blocks),
        (lambda out: [out, "d"], blocks),
        (lambda out: [out, np.float64], blocks),
        (lambda out: (out, twos), blocks),
        (lambda out: [out, twos, float], blocks),
        (lambda out: [out, twos, None, "float64"], blocks),
        (lambda out: [out, (twos, None)], blocks),
        (lambda out: [out, twos, 3], spread),
        (lambda out: [out, (2, 3)], spread),
        (lambda out: [out, (2, range(0, 3 * n, 3)), np.dtype("f8")], spread),
        (lambda out: [out, list(twos), np.arange(n) * 3, None], spread),
    ):
        out = np.full(len(wanted), 7.0)
        comm.Allgatherv(mine, say(out))
        same(out, wanted, f"Allgatherv into {say(out)!r}")
    out = np.full(2, 7.0)
    comm.Reduce_scatter(blocks, out)
    same(out, np.full(2, n * (rank + 0.5)), "Reduce_scatter without counts")

    out = np.zeros(2 * n)
    for spec, code, words in (
        ([out, [2] * (n + 1)], 1, ["counts of recvbuf", f"{n} numbers"]),
        ([out, []], 1, f"{n} numbers"),
        ([out, [-1] * n], 1, "not negative"),
        ([out, [1.5] * n], 1, "numbers"),
        ([out, [2**70] * n], 1, "numbers"),
        ([out, [[1], [2, 3]]], 1, "numbers"),
        ([out, twos, [2**64] * n], 1, "displacements of recvbuf"),
        ([out, [3] * n], 1, [f"block {2 * n // 3} of recvbuf", f"has {2 * n}"]),
        ([out, twos, [2 * n - 1] * n], 1, ["block 0", f"2 elements at {2 * n - 1}"]),
        ([out, twos, [2**63] * n], 1, "block 0"),
        ([out, (2, 1, 0)], 1, "(counts, displs)"),
        ([out, twos, "f4"], 3, ["float64", "f4"]),
        ([out], 1, "[array, counts]"),
        ([out, 2, 2, "d", 5], 1, "[array, counts]"),
        ([2, 3], 1, "recvbuf must be a NumPy array"),
        (np.zeros(2 * n + 1) if n > 1 else [out, 3], 1, "recvbuf"),
        (np.zeros(2 * n, "f4"), 3, "float32"),
        ([out, 1], 1, ["sendbuf has 2", f"rank ({rank})", "has 1"]),
    ):
        for allgatherv in (comm.Allgatherv, comm.Iallgatherv, comm.prepare_allgatherv):
            fails(code, words, allgatherv, mine, spec)
        fails(code, words, comm.Gatherv, mine, spec, rank)
    fails(1, ["sendbuf", "add up to"], comm.Reduce_scatter, blocks, np.zeros(1), [1] * n)
    fails(1, ["recvbuf has 1", "has 2"], comm.Reduce_scatter, blocks, np.zeros(1), [2] * n)
    fails(1, "recvbuf has 1", comm.Scatterv, [blocks, 2], np.zeros(1), rank)
    fails(3, "dtype", comm.Alltoallv, [blocks, 2], [np.zeros(2 * n, "f4"), 2])
    fails(1, "in_place", comm.Alltoallv, [out, 2], [out, 2])
    fails(6 if n > 1 else 1, "twice", comm.Permute, mine, np.zeros(2), rank, [rank, rank])
    fails(6, "source", comm.Permute, mine, np.zeros(2), n, [])
    fails(6, "destination", comm.Permute, mine, np.zeros(2), PROC_NULL, [n])
    fails(1, "dests", comm.Permute, mine, np.zeros(2), PROC_NULL, [0.5])
    fails(1, "dests", comm.Permute, mine, np.zeros(2), PROC_NULL, 1)
    fails(4, "", comm.Scan, mine, np.zeros(2), "avg")
    for gatherv in (comm.Gatherv, comm.Igatherv, comm.prepare_gatherv):
        fails(6, "", gatherv, mine, [out, 2], n)
    for scatterv in (comm.Scatterv, comm.Iscatterv, comm.prepare_scatterv):
        fails(6, "", scatterv, None, mine, n)
    comm.barrier()
