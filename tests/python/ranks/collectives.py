"""Every collective, on every dtype and operation, in all its forms and in place, against NumPy on all ranks' data."""

import importlib.util
import itertools
import os

import numpy as np
import reactant_mpi
import started
import varied
from checks import check, data, done, empty, fails, run_prepared, same
from reactant_mpi import IN_PLACE

OPERATIONS = {
    "sum": np.add,
    "prod": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "band": np.bitwise_and,
    "bor": np.bitwise_or,
    "bxor": np.bitwise_xor,
    "land": np.logical_and,
    "lor": np.logical_or,
    "lxor": np.logical_xor,
}
INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
REALS = ["float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
LEGAL = (
    dict.fromkeys(INTEGERS, list(OPERATIONS))
    | dict.fromkeys(REALS, ["sum", "prod", "min", "max", "avg"])
    | dict.fromkeys(COMPLEX, ["sum", "prod", "avg"])
    | {"bool": ["land", "lor", "lxor", "min", "max"], "V1": ["band", "bor", "bxor"]}
)
# Moved, not reduced. ml_dtypes teaches NumPy its names.
MOVED = []
if importlib.util.find_spec("ml_dtypes"):
    importlib.import_module("ml_dtypes")
    MOVED += ["float8_e4m3fn", "float8_e5m2"]
    LEGAL["bfloat16"] = LEGAL["float32"]
# 5 splits where the run says that one MPI call may carry 3 elements.
COUNTS = [0, 1, 5]


def reduced(op, dtype, count, n):
    """op over all ranks' data, by NumPy."""
    inputs = [data(r, dtype, count) for r in range(n)]
    if n == 1:  # nothing to combine: MPI copies, and LAND of a lone 2 is 2
        return inputs[0]
    if dtype == "V1":
        return OPERATIONS[op].reduce([x.view("uint8") for x in inputs]).view("V1")
    if op == "avg":
        total = np.add.reduce(inputs)
        return ((total.real / n) + 1j * (total.imag / n)).astype(dtype) if dtype in COMPLEX else (total / n).astype(dtype)
    return OPERATIONS[op].reduce(inputs).astype(dtype)


def in_place_reduce_crashes(comm):
    """Known: MPI_Reduce of MPICH 4.0 itself, in place at another root than 0, with more than 2048 bytes."""
    return "MPICH Version: 4.0." in comm.describe()["mpi"]["version"]


def reductions(comm, dtype, op, count):
    rank, n = comm.rank, comm.size
    mine, wanted = data(rank, dtype, count), reduced(op, dtype, count, n)
    root = count % n
    what = f"{op} of {count} {dtype}"

    out = empty(count, dtype)
    comm.Allreduce(mine, out, op)
    same(out, wanted, f"Allreduce {what}")
    out = mine.copy()
    comm.Allreduce(IN_PLACE, out, op)
    same(out, wanted, f"Allreduce in place {what}")
    out = mine.copy()
    comm.Allreduce(out, out, op)
    same(out, wanted, f"Allreduce with equal arrays {what}")
    same(comm.allreduce(mine, op), wanted, f"allreduce {what}")
    out = empty(count, dtype)
    run_prepared(comm.prepare_allreduce(mine, out, op))
    same(out, wanted, f"prepared allreduce {what}")

    out = empty(count, dtype)
    comm.Reduce(mine, out, op, root)
    same(out, wanted if rank == root else empty(count, dtype), f"Reduce {what}")
    if not (root and count > 5 and in_place_reduce_crashes(comm)):
        out = mine.copy()
        comm.Reduce(IN_PLACE if rank == root else out, out if rank == root else None, op, root)
        same(out, wanted if rank == root else mine, f"Reduce in place {what}")
    got = comm.reduce(mine, op, root)
    check((got is None) == (rank != root), f"reduce {what} returns {got!r}")
    if rank == root:
        same(got, wanted, f"reduce {what}")
    out = empty(count, dtype)
    run_prepared(comm.prepare_reduce(mine, out if rank == root else None, op, root))
    same(out, wanted if rank == root else empty(count, dtype), f"prepared reduce {what}")

    mine, wanted = data(rank, dtype, n * count), reduced(op, dtype, n * count, n)[rank * count : (rank + 1) * count]
    out = empty(count, dtype)
    comm.Reduce_scatter_block(mine, out, op)
    same(out, wanted, f"Reduce_scatter_block {what}")
    out = mine.copy()
    comm.Reduce_scatter_block(IN_PLACE, out, op)
    same(out[:count], wanted, f"Reduce_scatter_block in place {what}")
    same(comm.reduce_scatter(mine.reshape(n, count), op), wanted, f"reduce_scatter {what}")
    out = empty(count, dtype)
    run_prepared(comm.prepare_reduce_scatter(mine, out, op))
    same(out, wanted, f"prepared reduce_scatter {what}")


def movements(comm, dtype, count):
    rank, n = comm.rank, comm.size
    mine = data(rank, dtype, count)
    everyone = np.concatenate([data(r, dtype, count) for r in range(n)])
    what = f"{count} {dtype}"
    for root in range(n):
        at_root = rank == root
        wanted = data(root, dtype, count)
        out = wanted.copy() if at_root else empty(count, dtype)
        comm.Bcast(out, root)
        same(out, wanted, f"Bcast {what} from {root}")
        same(comm.bcast(mine, root), wanted, f"bcast {what} from {root}")
        out = wanted.copy() if at_root else empty(count, dtype)
        run_prepared(comm.prepare_bcast(out, root))
        same(out, wanted, f"prepared bcast {what} from {root}")

        out = empty(n * count, dtype)
        comm.Gather(mine, out if at_root else None, root)
        same(out, everyone if at_root else empty(n * count, dtype), f"Gather {what} to {root}")
        out = everyone.copy()
        comm.Gather(IN_PLACE if at_root else mine, out, root)
        same(out, everyone, f"Gather in place {what} to {root}")
        got = comm.gather(mine, root)
        check((got is None) == (not at_root), f"gather {what} returns {got!r}")
        if at_root:
            same(got, everyone.reshape(n, count), f"gather {what}")
        out = empty(n * count, dtype)
        run_prepared(comm.prepare_gather(mine, out, root))
        same(out, everyone if at_root else empty(n * count, dtype), f"prepared gather {what} to {root}")

        parts = data(root, dtype, n * count)
        wanted = parts[rank * count : (rank + 1) * count]
        out = empty(count, dtype)
        comm.Scatter(parts if at_root else None, out, root)
        same(out, wanted, f"Scatter {what} from {root}")
        out = empty(count, dtype)
        kept = parts.copy()
        comm.Scatter(kept, IN_PLACE if at_root else out, root)
        same(kept if at_root else out, parts if at_root else wanted, f"Scatter in place {what} from {root}")
        same(comm.scatter(parts.reshape(n, count), root), wanted, f"scatter {what} from {root}")
        same(comm.scatter(parts.reshape(n, count) if at_root else None, root, like=wanted), wanted, f"scatter like {what}")
        out = empty(count, dtype)
        run_prepared(comm.prepare_scatter(parts, out, root))
        same(out, wanted, f"prepared scatter {what} from {root}")

    out = empty(n * count, dtype)
    comm.Allgather(mine, out)
    same(out, everyone, f"Allgather {what}")
    out = empty(n * count, dtype)
    out[rank * count : (rank + 1) * count] = mine
    comm.Allgather(IN_PLACE, out)
    same(out, everyone, f"Allgather in place {what}")
    same(comm.allgather(mine), everyone.reshape(n, count), f"allgather {what}")
    out = empty(n * count, dtype)
    run_prepared(comm.prepare_allgather(mine, out))
    same(out, everyone, f"prepared allgather {what}")

    parts = data(rank, dtype, n * count)
    wanted = np.concatenate([data(r, dtype, n * count)[rank * count : (rank + 1) * count] for r in range(n)])
    out = empty(n * count, dtype)
    comm.Alltoall(parts, out)
    same(out, wanted, f"Alltoall {what}")
    out = parts.copy()
    comm.Alltoall(IN_PLACE, out)
    same(out, wanted, f"Alltoall in place {what}")
    same(comm.alltoall(parts.reshape(n, count)), wanted.reshape(n, count), f"alltoall {what}")
    out = empty(n * count, dtype)
    run_prepared(comm.prepare_alltoall(parts, out))
    same(out, wanted, f"prepared alltoall {what}")


def shapes(comm):
    rank, n = comm.rank, comm.size
    total = n * (n - 1) // 2
    same(comm.allreduce(rank), np.int64(total), "allreduce of an int")
    same(comm.allreduce(float(rank), "max"), np.float64(n - 1), "allreduce of a float")
    same(comm.allreduce(rank == 0, reactant_mpi.LOR), np.bool_(True), "allreduce of a bool")
    same(comm.allreduce([rank, 1]), np.array([total, n]), "allreduce of a list")
    check(isinstance(comm.allreduce(np.float32(1)), np.float32), "a result without dimensions is a NumPy scalar")
    same(comm.bcast(rank + 0.5, n - 1), np.float64(n - 0.5), "bcast of a float")
    same(comm.allgather(rank), np.arange(n), "allgather of an int")
    same(comm.scatter(np.arange(n), 0), np.int64(rank), "scatter of ints")
    same(comm.reduce_scatter(np.arange(n)), np.int64(n * rank), "reduce_scatter of ints")

    block = np.arange(6.0).reshape(2, 3) + rank
    same(comm.allreduce(block), np.arange(6.0).reshape(2, 3) * n + total, "allreduce keeps the shape")
    same(comm.allreduce(block.T), (np.arange(6.0).reshape(2, 3) * n + total).T, "allreduce of a transposed array")
    same(comm.allreduce(block[:, ::2]), (np.arange(6.0).reshape(2, 3) * n + total)[:, ::2], "allreduce of a strided array")
    same(comm.allgather(block), np.stack([np.arange(6.0).reshape(2, 3) + r for r in range(n)]), "allgather stacks")
    block.flags.writeable = False
    same(comm.allreduce(block), np.arange(6.0).reshape(2, 3) * n + total, "allreduce of a read-only array")
    out = np.empty((3, 2))
    comm.Allreduce(block, out)
    same(out.ravel(), np.arange(6.0) * n + total, "only sizes matter to Allreduce")
    memory = bytearray(4)
    comm.Allreduce(bytes([1, 2, 3, 4]), memory, "max")
    check(memory == bytearray([1, 2, 3, 4]), "other objects with a buffer work too")
    same(comm.Get_rank(), np.int64(rank), "Get_rank")
    same(comm.Get_size(), np.int64(n), "Get_size")


def prepared(comm):
    """A prepared call uses what is in the arrays at the time of each call, and lives by itself."""
    values, out = np.zeros(3), np.empty(3)
    again = comm.prepare_allreduce(values, out, "sum")
    for step in range(20):
        values[:] = step + comm.rank
        again()
        same(out, np.full(3, step * comm.size + comm.size * (comm.size - 1) / 2), "prepared, new values")
    for _ in range(2000):  # far more than are alive at a time
        comm.prepare_allreduce(values, out)
    again()
    again.free()
    again.free()
    fails(7, "request", again)
    keeps = comm.prepare_allgather(np.full(2, comm.rank), np.empty(2 * comm.size, int))
    keeps()
    same(keeps._buffers[1][1], np.repeat(np.arange(comm.size), 2), "the arrays are kept alive")
    del keeps
    run_prepared(comm.prepare_barrier())
    comm.Ibarrier().Wait()


def main():
    comm = reactant_mpi.initialize(max_count=int(os.environ["MAX_COUNT"]) if "MAX_COUNT" in os.environ else None)
    for dtype, ops in LEGAL.items():
        for op, count in itertools.product(ops, COUNTS):
            reductions(comm, dtype, op, count)
    for dtype, count in itertools.product([*LEGAL, *MOVED], COUNTS):
        movements(comm, dtype, count)
    for i, dtype in enumerate([*LEGAL, *MOVED]):  # with one operation and count each, in turn
        ops = [op for op in LEGAL.get(dtype, []) if op != "avg"]
        if ops:
            op = ops[i % len(ops)]
            started.reductions(comm, dtype, op, COUNTS[i % 3], reduced)
            varied.reductions(comm, dtype, op, COUNTS[i % 3], OPERATIONS[op])
        started.movements(comm, dtype, COUNTS[i % 3])
        varied.movements(comm, dtype, COUNTS[i % 3])
    many = 1_000 if "MAX_COUNT" in os.environ else 10_000
    reductions(comm, "float64", "sum", many)
    movements(comm, "int32", many)
    started.reductions(comm, "float16", "avg", many, reduced)
    started.movements(comm, "complex128", many)
    varied.reductions(comm, "float64", "max", many, np.maximum)
    varied.movements(comm, "int32", many)
    shapes(comm)
    prepared(comm)
    comm.barrier()
    check(comm.error == 0, f"an error {comm.error} was kept")
    varied.ways_to_say_it(comm)
    done()


main()
