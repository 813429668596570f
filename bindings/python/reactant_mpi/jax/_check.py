"""The arguments of operations, checked while the program is traced, before any rank waits for another."""

from operator import index

import jax.numpy as jnp
import numpy as np

from .. import _abi
from .._arguments import operation
from ..errors import ReactantMPIError
from ._table import OPERATION_NAMES

_NUMBERS = (_abi.SUM, _abi.PROD, _abi.AVG)
_ORDERED = (*_NUMBERS, _abi.MIN, _abi.MAX)
_TRUTH = (_abi.LAND, _abi.LOR, _abi.LXOR)
_INTEGERS = (_abi.SUM, _abi.PROD, _abi.MIN, _abi.MAX, _abi.BAND, _abi.BOR, _abi.BXOR, *_TRUTH)


def reduction(op, dtype, name: str) -> int:
    """The number of a reduction, which there must be for this dtype."""
    op = operation(op)
    legal = _legal(np.dtype(dtype))
    if name in ("scan", "exscan"):
        legal = [known for known in legal if known != _abi.AVG]
    if op not in legal:
        can = ", ".join(OPERATION_NAMES[known] for known in legal)
        raise ReactantMPIError(
            _abi.ERR_OP,
            f"{name}: {OPERATION_NAMES[op]} cannot be done on {np.dtype(dtype).name}: "
            + (f"possible are {can}" if can else "it can be moved only"),
        )
    return op


def _legal(dtype):
    if dtype == np.bool_:
        return (*_TRUTH, _abi.MIN, _abi.MAX)
    if jnp.issubdtype(dtype, jnp.integer):
        return _INTEGERS
    if jnp.issubdtype(dtype, jnp.complexfloating):
        return _NUMBERS
    return _ORDERED if dtype.itemsize > 1 else ()


def rank(value, what: str, name: str, place, nobody: bool = False, any_source: bool = False) -> int:
    """A root or a peer, which must be one of the ranks; a peer may be PROC_NULL, a source ANY_SOURCE."""
    number = _integer(value, what, name)
    if 0 <= number < place.size or (nobody and number == _abi.PROC_NULL) or (any_source and number == _abi.ANY_SOURCE):
        return number
    raise ReactantMPIError(_abi.ERR_RANK, f"{name}: {what} {number} is none of the {place.size} ranks")


def tag(value, what: str, name: str, any_tag: bool = False) -> int:
    number = _integer(value, what, name)
    if 0 <= number < 2**31 or (any_tag and number == _abi.ANY_TAG):
        return number
    raise ReactantMPIError(_abi.ERR_RANK, f"{name}: {what} {number} is out of range: it must be from 0 to at least 32767")


def blocks(x, name: str, place) -> None:
    """The first axis must be the ranks."""
    if x.ndim == 0 or x.shape[0] != place.size:
        raise ReactantMPIError(
            _abi.ERR_ARGUMENT, f"{name}: x has shape {x.shape}; its first axis must be the {place.size} ranks, one block each"
        )


def counts(values, what: str, name: str, place) -> tuple[int, ...]:
    """Rows for each rank."""
    try:
        numbers = tuple(index(value) for value in values)
    except TypeError:
        raise ReactantMPIError(
            _abi.ERR_ARGUMENT, f"{name}: {what} must be a list of integers known while the program is traced, not {values!r:.60}"
        ) from None
    if len(numbers) != place.size or any(number < 0 for number in numbers):
        raise ReactantMPIError(
            _abi.ERR_ARGUMENT,
            f"{name}: {what} must be {place.size} numbers, one for each rank and none negative, not {values!r:.60}",
        )
    return numbers


def rows(x, count: int, where: str, name: str) -> None:
    """The first axis must have so many rows."""
    if x.ndim == 0 or x.shape[0] != count:
        raise ReactantMPIError(_abi.ERR_ARGUMENT, f"{name}: x has shape {x.shape}; its first axis must be {where}, {count}")


def pairs(perm, name: str, place) -> tuple[tuple[int, int], ...]:
    """Pairs (source, destination) of all ranks, no rank twice on one side."""
    try:
        perm = tuple((rank(s, "source", name, place), rank(d, "destination", name, place)) for s, d in perm)
    except (TypeError, ValueError):
        raise ReactantMPIError(
            _abi.ERR_ARGUMENT, f"{name}: perm must be a list of pairs (source, destination) of ranks, not {perm!r:.60}"
        ) from None
    for side, what in enumerate(("source", "destination")):
        seen = [pair[side] for pair in perm]
        twice = next((r for r in seen if seen.count(r) > 1), None)
        if twice is not None:
            raise ReactantMPIError(_abi.ERR_ARGUMENT, f"{name}: rank {twice} is twice a {what} in perm {perm!r:.80}")
    return perm


def _integer(value, what: str, name: str) -> int:
    try:
        return index(value)
    except TypeError:
        raise ReactantMPIError(
            _abi.ERR_ARGUMENT, f"{name}: {what} must be an integer known while the program is traced, not {value!r:.60}"
        ) from None
