"""Collectives on buffers of the caller, in mpi4py's habit, and their prepared forms."""

from . import _arguments
from ._abi import SUM
from ._library import functions
from ._prepared import Prepared


class BufferCalls:
    """Collectives with an upper-case first letter: they read and write arrays that the caller gives.

    All of them are collective and block. Buffers are C-contiguous NumPy arrays of one dtype, or other objects with a buffer;
    what is written must be writable. Sizes must fit exactly; shapes do not matter. Where "n blocks" is said, n is the number
    of ranks and block i belongs to rank i. op is a constant as SUM or its name in lower case.
    Errors: 1 buffer or size, 2 the communicator has ended, 3 dtype, 4 op, 6 root, 9 thread, 20 forked, 44 MPI failed.
    """

    __slots__ = ()

    def Allreduce(self, sendbuf, recvbuf, op=SUM) -> None:
        """recvbuf on every rank = op over the ranks' sendbuf. IN_PLACE as sendbuf: over the ranks' recvbuf."""
        code = functions.allreduce(*_arguments.allreduce(self, sendbuf, recvbuf, op))
        if code:
            self._fail(code)

    def prepare_allreduce(self, sendbuf, recvbuf, op=SUM) -> Prepared:
        """Allreduce with these arguments, to be called many times. Local."""
        return Prepared(self, "allreduce", _arguments.allreduce(self, sendbuf, recvbuf, op), sendbuf, recvbuf)

    def Reduce(self, sendbuf, recvbuf=None, op=SUM, root=0) -> None:
        """recvbuf at the root = op over the ranks' sendbuf; recvbuf is ignored elsewhere. IN_PLACE as sendbuf at the root."""
        code = functions.reduce(*_arguments.reduce(self, sendbuf, recvbuf, op, root))
        if code:
            self._fail(code)

    def prepare_reduce(self, sendbuf, recvbuf=None, op=SUM, root=0) -> Prepared:
        """Reduce with these arguments, to be called many times. Local."""
        return Prepared(self, "reduce", _arguments.reduce(self, sendbuf, recvbuf, op, root), sendbuf, recvbuf)

    def Reduce_scatter_block(self, sendbuf, recvbuf, op=SUM) -> None:
        """recvbuf = this rank's block of the op over the ranks' sendbuf, which holds n blocks.

        IN_PLACE as sendbuf: recvbuf holds the n blocks, and the result is in its first.
        """
        code = functions.reduce_scatter(*_arguments.reduce_scatter(self, sendbuf, recvbuf, op))
        if code:
            self._fail(code)

    def prepare_reduce_scatter(self, sendbuf, recvbuf, op=SUM) -> Prepared:
        """Reduce_scatter_block with these arguments, to be called many times. Local."""
        return Prepared(self, "reduce_scatter", _arguments.reduce_scatter(self, sendbuf, recvbuf, op), sendbuf, recvbuf)

    def Bcast(self, buf, root=0) -> None:
        """buf of the root to every rank. At the root buf may be read-only."""
        code = functions.bcast(*_arguments.bcast(self, buf, root))
        if code:
            self._fail(code)

    def prepare_bcast(self, buf, root=0) -> Prepared:
        """Bcast with these arguments, to be called many times. Local."""
        return Prepared(self, "bcast", _arguments.bcast(self, buf, root), buf)

    def Allgather(self, sendbuf, recvbuf) -> None:
        """recvbuf on every rank = the ranks' sendbuf, one after the other: n blocks.

        IN_PLACE as sendbuf: this rank's block is already in its place in recvbuf.
        """
        code = functions.allgather(*_arguments.allgather(self, sendbuf, recvbuf))
        if code:
            self._fail(code)

    def prepare_allgather(self, sendbuf, recvbuf) -> Prepared:
        """Allgather with these arguments, to be called many times. Local."""
        return Prepared(self, "allgather", _arguments.allgather(self, sendbuf, recvbuf), sendbuf, recvbuf)

    def Alltoall(self, sendbuf, recvbuf) -> None:
        """Block j of sendbuf goes to rank j; block i of recvbuf comes from rank i. IN_PLACE as sendbuf on every rank or none."""
        code = functions.alltoall(*_arguments.alltoall(self, sendbuf, recvbuf))
        if code:
            self._fail(code)

    def prepare_alltoall(self, sendbuf, recvbuf) -> Prepared:
        """Alltoall with these arguments, to be called many times. Local."""
        return Prepared(self, "alltoall", _arguments.alltoall(self, sendbuf, recvbuf), sendbuf, recvbuf)

    def Gather(self, sendbuf, recvbuf=None, root=0) -> None:
        """recvbuf at the root = the ranks' sendbuf, n blocks; recvbuf is ignored elsewhere.

        IN_PLACE as sendbuf at the root: its block is already in its place in recvbuf.
        """
        code = functions.gather(*_arguments.gather(self, sendbuf, recvbuf, root))
        if code:
            self._fail(code)

    def prepare_gather(self, sendbuf, recvbuf=None, root=0) -> Prepared:
        """Gather with these arguments, to be called many times. Local."""
        return Prepared(self, "gather", _arguments.gather(self, sendbuf, recvbuf, root), sendbuf, recvbuf)

    def Scatter(self, sendbuf, recvbuf, root=0) -> None:
        """Block i of the root's sendbuf, n blocks, to recvbuf of rank i; sendbuf is ignored elsewhere.

        IN_PLACE as recvbuf at the root: its block stays where it is.
        """
        code = functions.scatter(*_arguments.scatter(self, sendbuf, recvbuf, root))
        if code:
            self._fail(code)

    def prepare_scatter(self, sendbuf, recvbuf, root=0) -> Prepared:
        """Scatter with these arguments, to be called many times. Local."""
        return Prepared(self, "scatter", _arguments.scatter(self, sendbuf, recvbuf, root), sendbuf, recvbuf)

    def Barrier(self) -> None:
        """Returns when every rank has called."""
        code = functions.barrier(*_arguments.barrier(self))
        if code:
            self._fail(code)

    def prepare_barrier(self) -> Prepared:
        """Barrier, to be called many times. Local."""
        return Prepared(self, "barrier", _arguments.barrier(self))
