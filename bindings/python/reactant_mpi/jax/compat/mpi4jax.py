"""The operations of mpi4jax 0.9, by its names and with its arguments. A program changes one line:

    import reactant_mpi.jax.compat.mpi4jax as mpi4jax

They come in the order of the program, as mpi4jax's. Errors are exceptions, and MPI is not aborted; any MPI is found at run time;
bfloat16 and float16 can be reduced; sendrecv has a forward derivative, too.
"""

import functools
import inspect

import jax
import jax.numpy as jnp
import numpy as np
from mpi4py import MPI  # initialises MPI, as `import mpi4jax` does

import reactant_mpi

from .. import _check, _communicators
from . import _status
from ._ordered import bind

__all__ = [
    "allgather",
    "allreduce",
    "alltoall",
    "barrier",
    "bcast",
    "gather",
    "has_cuda_support",
    "has_sycl_support",
    "recv",
    "reduce",
    "scan",
    "scatter",
    "send",
    "sendrecv",
]

_UNSET = object()
_KINDS = {"op": (MPI.Op,), "comm": (type(None), MPI.Intracomm), "status": (type(None), MPI.Status)}
_KINDS |= dict.fromkeys(("root", "source", "dest", "tag", "sendtag", "recvtag"), (np.integer,))
_REDUCTIONS = ("SUM", "PROD", "MIN", "MAX", "BAND", "BOR", "BXOR", "LAND", "LOR", "LXOR")

# The places of communicators are kept with them, and end with them.
_KEY = MPI.Comm.Create_keyval()


def _operation(function):
    """`function` with its arguments looked at, and with the place of its communicator for comm=."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def checked(*args, **kwargs):
        given = signature.bind(*args, **kwargs)
        if given.arguments.pop("token", _UNSET) is not _UNSET:
            raise RuntimeError(
                f"{function.__name__}: token= is not taken, as in mpi4jax since 0.8: operations come in the order of the program and "
                "return their result alone. The operations of reactant_mpi.jax can take tokens"
            )
        for name in given.arguments.keys() & _KINDS.keys():
            _check_kind(function.__name__, name, given.arguments[name])
        given.arguments["comm"] = _place(given.arguments.get("comm"))
        return function(*given.args, **given.kwargs)

    return checked


def _check_kind(function: str, name: str, value) -> None:
    kinds = _KINDS[name]
    if any(np.issubdtype(type(value), kind) if kind is np.integer else isinstance(value, kind) for kind in kinds):
        return
    expected = " or ".join("None" if kind is type(None) else kind.__name__ for kind in kinds)
    text = f"{function}: {name} must be {expected}, not {type(value).__name__}"
    if isinstance(value, jax.core.Tracer):
        text += ". It must be known when the program is compiled: name it in static_argnums of jax.jit"
    raise TypeError(text)


def _place(comm):
    """Where operations with this comm= run: on a duplicate, so that nobody else's messages meet theirs. Collective when it is new."""
    if comm is None:
        return _default
    place = comm.Get_attr(_KEY)
    if place is None:
        place = _communicators.place_of(reactant_mpi.initialize(comm).dup())
        comm.Set_attr(_KEY, place)
    return place


# All ranks come by here: a communicator for comm=None, as mpi4jax has, and that of all ranks, which some may use without the others.
_default = _communicators.place_of(reactant_mpi.initialize(MPI.COMM_WORLD).dup())
_place(MPI.COMM_WORLD)


def _reduction(op, x, function: str) -> int:
    for name in _REDUCTIONS:
        if op == getattr(MPI, name):
            return _check.reduction(getattr(reactant_mpi, name), x.dtype, function)
    raise NotImplementedError(f"{function}: op must be one of MPI's {', '.join(_REDUCTIONS)}")


def _peer(rank, name: str, function: str, place) -> int:
    """A rank, or what this MPI has in place of one."""
    rank = {MPI.ANY_SOURCE: reactant_mpi.ANY_SOURCE, MPI.PROC_NULL: reactant_mpi.PROC_NULL}.get(int(rank), rank)
    return _check.rank(rank, name, function, place, nobody=True, any_source=name == "source")


def _tag(tag, name: str, function: str) -> int:
    received = name != "sendtag" and function != "send"
    return _check.tag(reactant_mpi.ANY_TAG if tag == MPI.ANY_TAG else tag, name, function, any_tag=received)


@_operation
def allgather(x, *, comm=None, token=_UNSET):
    """x of every rank, one after another: (nproc, *x.shape)."""
    return bind("allgather", jnp.asarray(x), place=comm)


@_operation
def allreduce(x, op, *, comm=None, token=_UNSET):
    """x of all ranks reduced by op. With SUM it has derivatives; its transpose is the identity, since all ranks have the same result."""
    x = jnp.asarray(x)
    return bind("allreduce", x, op=_reduction(op, x, "allreduce"), place=comm)


@_operation
def alltoall(x, *, comm=None, token=_UNSET):
    """Row i of x goes to rank i; row i of the result came from rank i."""
    x = jnp.asarray(x)
    _check_rows(x, comm, "Alltoall")
    return bind("alltoall", x, place=comm)


@_operation
def barrier(*, comm=None, token=_UNSET):
    """Done when every rank has come."""
    bind("barrier", place=comm)


@_operation
def bcast(x, root, *, comm=None, token=_UNSET):
    """x of the root."""
    x = jnp.asarray(x)
    result = bind("bcast", x, root=_check.rank(root, "root", "bcast", comm), place=comm)
    return x if comm.rank == root else result


@_operation
def gather(x, root, *, comm=None, token=_UNSET):
    """At the root x of every rank, (nproc, *x.shape); elsewhere x."""
    x = jnp.asarray(x)
    result = bind("gather", x, root=_check.rank(root, "root", "gather", comm), place=comm)
    return result if comm.rank == root else x


@_operation
def recv(x, source=MPI.ANY_SOURCE, *, tag=MPI.ANY_TAG, comm=None, status=None, token=_UNSET):
    """A message of the shape and type of x."""
    x, source, tag = jnp.asarray(x), _peer(source, "source", "recv", comm), _tag(tag, "tag", "recv")
    if status is not None:
        return _status.recv(x, source, tag, comm, status)
    return bind("recv", x, source=source, tag=tag, place=comm)


@_operation
def reduce(x, op, root, *, comm=None, token=_UNSET):
    """At the root x of all ranks reduced by op; elsewhere x."""
    x = jnp.asarray(x)
    op, at = _reduction(op, x, "reduce"), _check.rank(root, "root", "reduce", comm)
    result = bind("reduce", x, op=op, root=at, place=comm)
    return result if comm.rank == root else x


@_operation
def scan(x, op, *, comm=None, token=_UNSET):
    """x of the ranks up to this one reduced by op."""
    x = jnp.asarray(x)
    return bind("scan", x, op=_reduction(op, x, "scan"), place=comm)


@_operation
def scatter(x, root, *, comm=None, token=_UNSET):
    """Row i of the root's x, (nproc, ...), at rank i. On the other ranks x has the shape and type of the result."""
    x = jnp.asarray(x)
    if comm.rank == root:
        _check_rows(x, comm, "Scatter")
    else:
        x = jnp.zeros((comm.size, *x.shape), x.dtype)
    return bind("scatter", x, root=_check.rank(root, "root", "scatter", comm), place=comm)


@_operation
def send(x, dest, *, tag=0, comm=None, token=_UNSET):
    """Send x."""
    bind("send", jnp.asarray(x), dest=_peer(dest, "dest", "send", comm), tag=_tag(tag, "tag", "send"), place=comm)


@_operation
def sendrecv(
    sendbuf, recvbuf, source, dest, *, sendtag=0, recvtag=MPI.ANY_TAG, comm=None, status=None, token=_UNSET
):
    """Send sendbuf, and receive a message of the shape and type of recvbuf. It has derivatives; on the way back the tags are the same."""
    sent, like = jnp.asarray(sendbuf), jnp.asarray(recvbuf)
    if sent.dtype != like.dtype:
        raise TypeError(f"sendrecv: sendbuf has dtype {sent.dtype} and recvbuf {like.dtype}: both must be the same")
    source, dest = _peer(source, "source", "sendrecv", comm), _peer(dest, "dest", "sendrecv", comm)
    sendtag, recvtag = _tag(sendtag, "sendtag", "sendrecv"), _tag(recvtag, "recvtag", "sendrecv")
    if status is not None:
        return _status.sendrecv(sent, like, source, dest, sendtag, recvtag, comm, status)
    return bind("sendrecv", sent, like, source=source, dest=dest, sendtag=sendtag, recvtag=recvtag, place=comm)


def _check_rows(x, place, function: str) -> None:
    if x.shape[:1] != (place.size,):
        raise ValueError(f"{function} input must have shape (nproc, ...): one row for each of {place.size} ranks, not {x.shape}")


def has_cuda_support() -> bool:
    """Whether arrays on CUDA devices can be given to these operations: the ranks are connected by NCCL."""
    device = _communicators.communicator(_default).describe()["communicator"]["device"]
    return device is not None and device["runtime"] == "CUDA"


def has_sycl_support() -> bool:
    """Whether arrays on SYCL devices can be given: no."""
    return False
