"""Receives that fill a status of mpi4py: calls of Python in their place among the operations."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback
from mpi4py import MPI

from ... import PROC_NULL, Status
from .. import _communicators
from .._primitives import TOKEN, traced
from ._ordered import bind


def recv(like, source, tag, place, status):
    """A message, and `status` says from where."""

    def now():
        got, about = np.empty(like.shape, like.dtype), Status()
        _communicators.communicator(place).Recv(got, source, tag, about)
        _fill(status, about)
        return got

    return _in_order(now, place, like)


def sendrecv(sent, like, source, dest, sendtag, recvtag, place, status):
    """The same, and one is sent."""

    def now(sent):
        got, about = np.empty(like.shape, like.dtype), Status()
        _communicators.communicator(place).Sendrecv(np.asarray(sent), dest, sendtag, got, source, recvtag, about)
        _fill(status, about)
        return got

    return _in_order(now, place, like, sent)


def _in_order(now, place, like, *operands):
    """What `now` gives. In a program that is traced it has its place between two messages to nobody."""
    if not traced(like, *operands):
        jax.effects_barrier()
        return jnp.asarray(now(*operands))
    nobody = {"dest": PROC_NULL, "place": place}
    zero = jnp.zeros(TOKEN.shape, TOKEN.dtype)
    before = bind("sendrecv", zero, zero, source=PROC_NULL, sendtag=0, recvtag=0, **nobody)
    shapes = jax.ShapeDtypeStruct(like.shape, like.dtype), TOKEN
    got, after = io_callback(lambda before, *operands: (now(*operands), np.asarray(before)), shapes, before, *operands)
    bind("send", after, tag=0, **nobody)
    return got


def _fill(status, about) -> None:
    """An mpi4py status with what ours says. From nobody both have what MPI has for that."""
    if about.source == PROC_NULL:
        status.Set_source(MPI.PROC_NULL)
        status.Set_tag(MPI.ANY_TAG)
    else:
        status.Set_source(about.source)
        status.Set_tag(about.tag)
    status.Set_elements(MPI.BYTE, about.bytes)
