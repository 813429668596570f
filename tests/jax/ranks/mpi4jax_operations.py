"""The operations of mpi4jax with its types, outside of jit and inside, against NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
from with_mpi4jax import COMM, MPI, OURS, RANK, SIZE, data, done, mpi4jax, same, twice

jax.config.update("jax_enable_x64", True)
LAST = SIZE - 1
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float64"] + ["float16", "bfloat16"] * OURS
COMPLEX = ["complex64", "complex128"]
REDUCTIONS = {"SUM": np.sum, "PROD": np.prod, "MIN": np.min, "MAX": np.max}
BITS = {"BAND": np.bitwise_and, "BOR": np.bitwise_or, "BXOR": np.bitwise_xor}
TRUTH = {"LAND": np.logical_and, "LOR": np.logical_or, "LXOR": np.logical_xor}


def reductions(dtype):
    """(name of a reduction, function of the stacked arrays of some ranks)"""
    if dtype == "bool":
        yield from ((name, lambda x, f=function: f.reduce(x, axis=0)) for name, function in TRUTH.items())
        return
    for name, function in REDUCTIONS.items():
        if dtype not in COMPLEX or name in ("SUM", "PROD"):
            yield name, lambda x, f=function: f(x, axis=0).astype(dtype)
    if dtype in INTEGERS:
        yield from ((name, lambda x, f=function: f.reduce(x, axis=0)) for name, function in BITS.items())


def reduced(dtype):
    x = data(dtype=jnp.dtype(dtype))
    mine = jnp.asarray(x[RANK])
    for name, function in reductions(dtype):
        op, what, total = getattr(MPI, name), f"{name} of {dtype}", function(x)
        yield lambda x, op=op: mpi4jax.allreduce(x, op), mine, total, f"allreduce {what}"
        yield lambda x, op=op: mpi4jax.reduce(x, op, root=LAST), mine, total if RANK == LAST else x[RANK], f"reduce {what}"
        yield lambda x, op=op: mpi4jax.scan(x, op), mine, function(x[: RANK + 1]), f"scan {what}"


def moved(dtype):
    x, many, like = data(dtype=jnp.dtype(dtype)), data((SIZE, 3, 2), jnp.dtype(dtype), 1), jnp.zeros((3, 2), dtype)
    mine, rows = jnp.asarray(x[RANK]), jnp.asarray(many[RANK])
    yield lambda x: mpi4jax.allgather(x), mine, x, f"allgather {dtype}"
    yield lambda x: mpi4jax.alltoall(x), rows, many[:, RANK], f"alltoall {dtype}"
    for root in sorted({0, LAST}):
        at_root = RANK == root
        yield lambda x, r=root: mpi4jax.bcast(x, r), mine, x[root], f"bcast {dtype} from {root}"
        yield lambda x, r=root: mpi4jax.gather(x, r), mine, x if at_root else x[RANK], f"gather {dtype} at {root}"
        yield lambda x, r=root: mpi4jax.scatter(x, r), rows if at_root else like, many[root, RANK], f"scatter {dtype} from {root}"
    after, before = (RANK + 1) % SIZE, (RANK - 1) % SIZE
    yield lambda x: mpi4jax.sendrecv(x, x, before, after), mine, x[before], f"sendrecv {dtype}"


for dtype in INTEGERS + FLOATS + COMPLEX + ["bool"]:
    twice([*reduced(dtype), *moved(dtype)])

# Numbers of Python, shapes without elements and without axes, arrays that are not in order.
for function in (lambda f: f, jax.jit):
    same(function(lambda x: mpi4jax.allreduce(x, op=MPI.SUM))(RANK + 1), np.int64(SIZE * (SIZE + 1) // 2), "a Python integer")
    same(function(lambda x: mpi4jax.allreduce(x, op=MPI.MAX, comm=COMM))(1.5 * RANK), np.float64(1.5 * LAST), "a Python float")
    same(function(lambda x: mpi4jax.gather(x, root=0))(RANK), np.arange(SIZE) if RANK == 0 else np.int64(RANK), "gather")
    same(function(lambda x: mpi4jax.allgather(x))(jnp.zeros((0, 3))), np.zeros((SIZE, 0, 3)), "no elements")
    same(function(lambda x: mpi4jax.allreduce(x.T, MPI.SUM))(jnp.asarray(data()[RANK])), data().sum(0).T, "transposed")
    function(lambda x: mpi4jax.barrier() or x)(1.0)

# What is given is not changed.
x = jnp.arange(4.0)
mpi4jax.allreduce(x, MPI.SUM)
mpi4jax.bcast(x, 0)
same(x, np.arange(4.0), "x afterwards")
assert isinstance(mpi4jax.has_cuda_support(), bool) and not mpi4jax.has_sycl_support()
done()
