"""Operations that are started, and waited for later.

A handler that has started its call lets XLA go on with what does not need the result. The next operation of the chain would need
its token, so these have a communicator and an order of their own, and the chain of the program goes on beside them.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp

from .._abi import SUM
from . import _check, _communicators, _order
from ._primitives import bind
from ._table import ROWS


class Started(NamedTuple):
    """An operation under way. For wait(), in the same function."""

    result: Any
    token: Any


def iallreduce(x, op=SUM, *, comm=None, token=None):
    """allreduce, started after what the token comes from: gives Started, with a token (Started, token).

    XLA goes on meanwhile with what does not use the result. Several are done one after the other; outside of jit each at once.
    """
    x, place = jnp.asarray(x), _communicators.place_of(comm)._replace(started=True)
    op = _check.reduction(op, x.dtype, "iallreduce")
    before = _order.nothing_before() if token is None else token
    started = Started(*bind(ROWS["allreduce"], x, before, place=place, op=op, donate=False, replicated=None))
    return started if token is None else (started, token)


def wait(started, *, token=None):
    """The result of what was started; with a token (result, a token after both)."""
    return started.result if token is None else (started.result, _order.join(token, started.token))
