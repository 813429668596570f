"""Collectives that take a value and return a fresh array."""

import numpy as np

from . import _abi
from ._abi import SUM
from .errors import ReactantMPIError


class ValueCalls:
    """Collectives in lower case: they take an array, or what NumPy makes one of, and return a fresh one.

    All of them are collective and block. Every rank gives the same shape and dtype; nothing is pickled. Any memory order will
    do, the result is C-contiguous. A result without dimensions is a NumPy scalar. n is the number of ranks.
    Errors: 1 shape, 2 the communicator has ended, 3 dtype, 4 op, 6 root, 9 thread, 20 forked, 44 MPI failed.
    """

    __slots__ = ()

    def allreduce(self, x, op=SUM):
        """op over the ranks' x, on every rank; shape of x."""
        x = _value(x)
        result = np.empty(x.shape, x.dtype)
        self.Allreduce(x, result, op)
        return _returned(result)

    def reduce(self, x, op=SUM, root=0):
        """op over the ranks' x at the root, None elsewhere; shape of x."""
        x = _value(x)
        result = np.empty(x.shape, x.dtype) if self._rank == root else None
        self.Reduce(x, result, op, root)
        return _returned(result)

    def reduce_scatter(self, x, op=SUM):
        """This rank's part of the op over the ranks' x: x has shape (n, ...), the result (...)."""
        x = self._split(x)
        result = np.empty(x.shape[1:], x.dtype)
        self.Reduce_scatter_block(x, result, op)
        return _returned(result)

    def bcast(self, x, root=0):
        """x of the root, on every rank. Elsewhere x gives shape and dtype only."""
        result = np.array(x, order="C", subok=False)
        self.Bcast(result, root)
        return _returned(result)

    def allgather(self, x):
        """The ranks' x on every rank, stacked: shape (n, *x.shape)."""
        x = _value(x)
        result = np.empty((self._size, *x.shape), x.dtype)
        self.Allgather(x, result)
        return result

    def alltoall(self, x):
        """x[j] goes to rank j, result[i] comes from rank i: both have shape (n, ...)."""
        x = self._split(x)
        result = np.empty(x.shape, x.dtype)
        self.Alltoall(x, result)
        return result

    def gather(self, x, root=0):
        """The ranks' x at the root, stacked to shape (n, *x.shape); None elsewhere."""
        x = _value(x)
        result = np.empty((self._size, *x.shape), x.dtype) if self._rank == root else None
        self.Gather(x, result, root)
        return result

    def scatter(self, x=None, root=0, like=None):
        """x[i] of the root to rank i: x has shape (n, ...), the result (...).

        Elsewhere than at the root only shape and dtype matter: those of `like`, an array as the result will be, or else of x.
        """
        if self._rank == root or like is None:
            x = self._split(x)
            like = x[0]
        like = np.asarray(like)
        result = np.empty(like.shape, like.dtype)
        self.Scatter(x, result, root)
        return _returned(result)

    def scan(self, x, op=SUM):
        """op over the x of ranks 0 to this one; shape of x."""
        x = _value(x)
        result = np.empty(x.shape, x.dtype)
        self.Scan(x, result, op)
        return _returned(result)

    def exscan(self, x, op=SUM):
        """op over the x of the ranks below this one; shape of x. None on rank 0."""
        x = _value(x)
        result = np.empty(x.shape, x.dtype)
        self.Exscan(x, result, op)
        return _returned(result) if self._rank else None

    def permute(self, x, source, dests):
        """x to each of `dests`; the x of `source`, or zeros where that is PROC_NULL. Shape of x."""
        x = _value(x)
        result = np.empty(x.shape, x.dtype)
        self.Permute(x, result, source, dests)
        return _returned(result)

    def barrier(self) -> None:
        """Returns when every rank has called."""
        self.Barrier()

    def _split(self, x) -> np.ndarray:
        x = _value(x)
        if x.ndim == 0 or x.shape[0] != self._size:
            raise ReactantMPIError(
                _abi.ERR_ARGUMENT, f"x has shape {x.shape}; its first axis must be the {self._size} ranks, one block each"
            )
        return x


def _value(x) -> np.ndarray:
    return np.asarray(x, order="C")


def _returned(result):
    return result[()] if result is not None and result.ndim == 0 else result
