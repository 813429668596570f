"""Operations of MPI inside compiled programs and outside of them.

All of them take these keywords:
  comm    None for the default communicator, a reactant_mpi.Communicator, or a communicator of mpi4py
  token   what keeps the operations of a program in order, on every rank in the same one
            None   all operations without token= come in the order of the program, without more: the safe choice
            a token, made by token(): the cheap form; gives (result, next token), and the next operation takes that one
            a Ref, made by new_ref() and passed to the jitted function: as None, but in a chain of its own
            False  no order: only for a program in which each operation needs the result of the one before
Operations that give an array have donate= where its shape is that of x: the memory of x may be used for it.
n is the number of ranks. Outside of jit they are done at once, on NumPy arrays (the result is one) and JAX arrays, without copies.
Wrong arguments raise ReactantMPIError while the program is traced. What fails in a compiled program is, when its results are looked
at, jax.errors.JaxRuntimeError, or ValueError where JAX makes that of it.
"""

import jax
import jax.numpy as jnp
import numpy as np

from .. import _abi
from .._abi import ANY_SOURCE, SUM
from ..errors import ReactantMPIError
from . import _batching, _check, _communicators, _eager, _order  # noqa: F401 - rules of vmap
from ._primitives import TOKEN, bind, traced
from ._table import ROWS


def allreduce(x, op=SUM, *, comm=None, token=None, donate=False, replicated=False):
    """op over the ranks' x, on every rank.

    replicated  the result is used alike on every rank, as in a loss that each of them computes: then a cotangent goes back as it
                is. Else each rank's use of the result counts, and cotangents are summed.
    """
    x, place = _array(x), _communicators.place_of(comm)
    op = _check.reduction(op, x.dtype, "allreduce")
    if replicated and op != SUM:
        raise ReactantMPIError(_abi.ERR_OP, "allreduce: replicated=True is for SUM only")
    return _do("allreduce", [x], place, token, op=op, donate=bool(donate), replicated="sum" if replicated else None)


def reduce(x, op=SUM, root=0, *, comm=None, token=None, donate=False):
    """op over the ranks' x at the root, zeros elsewhere."""
    x, place = _array(x), _communicators.place_of(comm)
    op, root = _check.reduction(op, x.dtype, "reduce"), _check.rank(root, "root", "reduce", place)
    return _do("reduce", [x], place, token, op=op, root=root, donate=bool(donate))


def bcast(x, root=0, *, comm=None, token=None, donate=False):
    """x of the root, on every rank; elsewhere x gives shape and dtype."""
    x, place = _array(x), _communicators.place_of(comm)
    return _do("bcast", [x], place, token, root=_check.rank(root, "root", "bcast", place), donate=bool(donate))


def allgather(x, *, comm=None, token=None):
    """The ranks' x on every rank, stacked: (n, *x.shape)."""
    return _do("allgather", [_array(x)], _communicators.place_of(comm), token)


def gather(x, root=0, *, comm=None, token=None):
    """The ranks' x at the root, stacked: (n, *x.shape); zeros elsewhere."""
    x, place = _array(x), _communicators.place_of(comm)
    return _do("gather", [x], place, token, root=_check.rank(root, "root", "gather", place))


def scatter(x, root=0, *, comm=None, token=None):
    """x[i] of the root to rank i: x has shape (n, ...) on every rank, and is read at the root."""
    x, place = _array(x), _communicators.place_of(comm)
    _check.blocks(x, "scatter", place)
    return _do("scatter", [x], place, token, root=_check.rank(root, "root", "scatter", place))


def reduce_scatter(x, op=SUM, *, comm=None, token=None):
    """This rank's block of the op over the ranks' x: (n, ...) gives (...)."""
    x, place = _array(x), _communicators.place_of(comm)
    _check.blocks(x, "reduce_scatter", place)
    return _do("reduce_scatter", [x], place, token, op=_check.reduction(op, x.dtype, "reduce_scatter"))


def alltoall(x, *, comm=None, token=None):
    """x[j] goes to rank j, block i of the result comes from rank i: both (n, ...)."""
    x, place = _array(x), _communicators.place_of(comm)
    _check.blocks(x, "alltoall", place)
    return _do("alltoall", [x], place, token)


def scan(x, op=SUM, *, comm=None, token=None, donate=False):
    """op over the x of ranks 0 to this one."""
    x, place = _array(x), _communicators.place_of(comm)
    return _do("scan", [x], place, token, op=_check.reduction(op, x.dtype, "scan"), donate=bool(donate))


def exscan(x, op=SUM, *, comm=None, token=None, donate=False):
    """op over the x of the ranks below this one; zeros on rank 0."""
    x, place = _array(x), _communicators.place_of(comm)
    return _do("exscan", [x], place, token, op=_check.reduction(op, x.dtype, "exscan"), donate=bool(donate))


def barrier(*, comm=None, token=None):
    """Done when every rank has come. Gives the next token, which must be used, or XLA drops the call; None with a Ref or None."""
    return _do("barrier", [], _communicators.place_of(comm), token)


def send(x, dest, tag=0, *, comm=None, token=None):
    """Send x to the rank dest. Gives the next token, which must be used, or XLA drops the call; None with a Ref or None."""
    x, place = _array(x), _communicators.place_of(comm)
    dest = _check.rank(dest, "dest", "send", place, nobody=True)
    return _do("send", [x], place, token, dest=dest, tag=_check.tag(tag, "tag", "send"))


def recv(like, source=ANY_SOURCE, tag=0, *, comm=None, token=None):
    """What the rank source has sent: of the shape and dtype of `like`, whose values are not read. Zeros from PROC_NULL."""
    like, place = _array(like), _communicators.place_of(comm)
    source = _check.rank(source, "source", "recv", place, nobody=True, any_source=True)
    return _do("recv", [like], place, token, source=source, tag=_check.tag(tag, "tag", "recv", any_tag=True))


def sendrecv(x, like, source, dest, sendtag=0, recvtag=None, *, comm=None, token=None):
    """Send x to the rank dest, and receive what source sends: of the shape and dtype of `like`.

    recvtag is sendtag where it is None. Nothing is sent to PROC_NULL, and zeros come from there.
    """
    x, like, place = _array(x), _array(like), _communicators.place_of(comm)
    if x.dtype != like.dtype:
        raise ReactantMPIError(_abi.ERR_TYPE, f"sendrecv: x has dtype {x.dtype} and like {like.dtype}: both must be the same")
    return _do(
        "sendrecv",
        [x, like],
        place,
        token,
        source=_check.rank(source, "source", "sendrecv", place, nobody=True, any_source=True),
        dest=_check.rank(dest, "dest", "sendrecv", place, nobody=True),
        sendtag=_check.tag(sendtag, "sendtag", "sendrecv"),
        recvtag=_check.tag(sendtag if recvtag is None else recvtag, "recvtag", "sendrecv", any_tag=True),
    )


def permute(x, perm, *, comm=None, token=None):
    """x of rank s to rank d for each pair (s, d) of perm, as jax.lax.ppermute; zeros on ranks to which nothing goes.

    perm is the same on every rank; no rank is twice a source or a destination.
    """
    x, place = _array(x), _communicators.place_of(comm)
    return _do("permute", [x], place, token, perm=_check.pairs(perm, "permute", place))


def allgatherv(x, counts, *, comm=None, token=None):
    """The ranks' x one after the other, on every rank: x has counts[rank] rows, the result sum(counts)."""
    x, place = _array(x), _communicators.place_of(comm)
    counts = _check.counts(counts, "counts", "allgatherv", place)
    _check.rows(x, counts[place.rank], "the count of this rank", "allgatherv")
    return _do("allgatherv", [x], place, token, counts=counts)


def gatherv(x, counts, root=0, *, comm=None, token=None):
    """As allgatherv, at the root; zeros elsewhere."""
    x, place = _array(x), _communicators.place_of(comm)
    counts = _check.counts(counts, "counts", "gatherv", place)
    _check.rows(x, counts[place.rank], "the count of this rank", "gatherv")
    return _do("gatherv", [x], place, token, counts=counts, root=_check.rank(root, "root", "gatherv", place))


def scatterv(x, counts, root=0, *, comm=None, token=None):
    """counts[i] rows of the root's x to rank i: x has sum(counts) rows on every rank, and is read at the root."""
    x, place = _array(x), _communicators.place_of(comm)
    counts = _check.counts(counts, "counts", "scatterv", place)
    _check.rows(x, sum(counts), "the sum of the counts", "scatterv")
    return _do("scatterv", [x], place, token, counts=counts, root=_check.rank(root, "root", "scatterv", place))


def reduce_scatterv(x, counts, op=SUM, *, comm=None, token=None):
    """This rank's rows of the op over the ranks' x: x has sum(counts) rows, the result counts[rank]."""
    x, place = _array(x), _communicators.place_of(comm)
    counts = _check.counts(counts, "counts", "reduce_scatterv", place)
    _check.rows(x, sum(counts), "the sum of the counts", "reduce_scatterv")
    return _do("reduce_scatterv", [x], place, token, counts=counts, op=_check.reduction(op, x.dtype, "reduce_scatterv"))


def alltoallv(x, sendcounts, recvcounts, *, comm=None, token=None):
    """sendcounts[j] rows of x to rank j, one block after the other, and recvcounts[i] rows from rank i."""
    x, place = _array(x), _communicators.place_of(comm)
    sendcounts = _check.counts(sendcounts, "sendcounts", "alltoallv", place)
    recvcounts = _check.counts(recvcounts, "recvcounts", "alltoallv", place)
    _check.rows(x, sum(sendcounts), "the sum of the sendcounts", "alltoallv")
    return _do("alltoallv", [x], place, token, sendcounts=sendcounts, recvcounts=recvcounts)


def _array(x):
    if isinstance(x, np.generic):
        return np.asarray(x)
    return x if isinstance(x, (jax.Array, np.ndarray)) else jnp.asarray(x)


# Elements of less than a byte, of which XLA has several in one, travel as these.
_WIDER = {"int2": "int8", "int4": "int8", "uint2": "uint8", "uint4": "uint8", "float4_e2m1fn": "bfloat16"}


def _do(name, operands, place, token, **parameters):
    """The operation, with elements that have bytes of their own."""
    narrow = operands[0].dtype if operands else None
    if narrow is None or narrow.name not in _WIDER:
        return _ordered(name, operands, place, token, **parameters)
    wide = jnp.dtype(_WIDER[narrow.name])
    results = _ordered(name, [x.astype(wide) for x in operands], place, token, **parameters)
    if not ROWS[name].gives:
        return results
    return (results[0].astype(narrow), results[1]) if isinstance(results, tuple) else results.astype(narrow)


def _ordered(name, operands, place, token, **parameters):
    """The operation in the form that its token asks for."""
    row = ROWS[name]
    if token is None or _order.is_ref(token):
        if traced(*operands, token):
            ref = _order.hidden() if token is None else token
            return _order.through(row, ref, [jnp.asarray(x) for x in operands], place, parameters)
        _order.wait(token)
        results = _eager.call(row, [*operands, _order.nothing_before()], place, parameters)
        return results[0] if row.gives else None
    if token is False:
        if not row.gives:
            raise ReactantMPIError(_abi.ERR_ARGUMENT, f"{name}: with token=False nothing depends on it, so it would never be done")
        return bind(row, *operands, _order.nothing_before(), place=place._replace(free=True), **parameters)[0]
    if getattr(token, "shape", None) != TOKEN.shape or token.dtype != TOKEN.dtype:
        raise ReactantMPIError(
            _abi.ERR_ARGUMENT,
            f"{name}: token must be one made by token(), a Ref made by new_ref(), None or False, not {token!r:.60}",
        )
    results = bind(row, *operands, token, place=place, **parameters)
    return tuple(results) if row.gives else results[0]
