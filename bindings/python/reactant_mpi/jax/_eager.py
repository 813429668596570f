"""Operations outside of compiled code: at once, on the memory of the arrays themselves."""

import jax
import numpy as np

from .. import _abi
from .._buffers import ML_TYPES, TYPES
from . import _communicators
from ._table import neighbours

# XLA takes memory as it is where it begins at a multiple of this.
_ALIGNMENT = 64


def call(row, operands, place, parameters):
    """[y, token]. Waits for the operands, so for what the token comes from."""
    jax.block_until_ready(operands)
    token = operands[row.operands - 1]
    if parameters.get("replicated") == "back":
        return list(operands[:2])
    if row.name == "barrier":
        _communicators.communicator(place).Barrier()
        return [token]
    x = operands[0] if row.takes else None
    shaped = operands[row.operands - 2]
    result = _done(row, x, shaped, _communicators.communicator(place), place, parameters)
    if result is None:
        return [token]
    return [_like(shaped, result), token]


def _done(row, x, shaped, comm, place, p):
    x, dtype = (None, np.dtype(shaped.dtype)) if x is None else _plain(np.asarray(x), row)
    result = None
    if row.gives:
        result = _aligned(row.shape(shaped.shape, place, p), dtype)
    raw = None if result is None else _plain(result, row)[0]
    if row.name in ("permute", "alltoall", "sendrecv", "recv", "send") or result is None:
        _messages(row.name, x, raw, comm, place, p)
    else:
        _collective(row.name, x, raw, comm, p)
    return result


def _messages(name, x, result, comm, place, p):
    if name == "send":
        comm.Send(x, p["dest"], p["tag"])
    elif name == "alltoall":
        comm.Alltoall(x, result)
    elif name == "permute":
        comm.Permute(x, result, *neighbours(place, p["perm"]))
    else:
        if p["source"] == _abi.PROC_NULL:
            result.fill(0)
        if name == "recv":
            comm.Recv(result, p["source"], p["tag"])
        else:
            comm.Sendrecv(x, p["dest"], p["sendtag"], result, p["source"], p["recvtag"])


def _collective(name, x, result, comm, p):
    root = p.get("root", comm.rank)
    if comm.rank != root and name in ("reduce", "gather", "gatherv"):
        result.fill(0)
    inner = int(np.prod(x.shape[1:], dtype=np.int64))
    counts = [count * inner for count in p.get("counts", ())]
    match name:
        case "allreduce":
            comm.Allreduce(x, result, p["op"])
        case "reduce":
            comm.Reduce(x, result if comm.rank == root else None, p["op"], root)
        case "bcast":
            if comm.rank == root:
                result[...] = x
            comm.Bcast(result, root)
        case "allgather":
            comm.Allgather(x, result)
        case "gather":
            comm.Gather(x, result if comm.rank == root else None, root)
        case "scatter":
            comm.Scatter(x if comm.rank == root else None, result, root)
        case "reduce_scatter":
            comm.Reduce_scatter_block(x, result, p["op"])
        case "scan":
            comm.Scan(x, result, p["op"])
        case "exscan":
            result.fill(0)
            comm.Exscan(x, result, p["op"])
        case "allgatherv":
            comm.Allgatherv(x, [result, counts])
        case "gatherv":
            comm.Gatherv(x, [result, counts] if comm.rank == root else None, root)
        case "scatterv":
            comm.Scatterv([x, counts] if comm.rank == root else None, result, root)
        case "reduce_scatterv":
            comm.Reduce_scatter(x, result, counts, p["op"])
        case "alltoallv":
            sent, received = ([count * inner for count in p[name]] for name in ("sendcounts", "recvcounts"))
            comm.Alltoallv([x, sent], [result, received])


def _plain(x, row):
    """(x as the library knows it, dtype of x): what is only moved may be of types that it has not, and goes as bytes."""
    x = np.asarray(x, order="C")
    if x.dtype in TYPES or x.dtype.name in ML_TYPES:
        return x, x.dtype
    return x.view(np.uint8) if x.ndim else x.reshape(1).view(np.uint8).reshape(()), x.dtype


def _aligned(shape, dtype):
    """A fresh array that XLA takes without a copy."""
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    memory = np.empty(size + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    return memory[start : start + size].view(dtype).reshape(shape)


def _like(given, result):
    """The result as a JAX array where a JAX array was given."""
    return jax.device_put(result, given.sharding) if isinstance(given, jax.Array) else result
