"""Collectives on buffers of the caller, in mpi4py's habit."""

from . import _arguments, _blocks
from ._abi import SUM
from ._library import functions


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

    def Reduce(self, sendbuf, recvbuf=None, op=SUM, root=0) -> None:
        """recvbuf at the root = op over the ranks' sendbuf; recvbuf is ignored elsewhere. IN_PLACE as sendbuf at the root."""
        code = functions.reduce(*_arguments.reduce(self, sendbuf, recvbuf, op, root))
        if code:
            self._fail(code)

    def Reduce_scatter_block(self, sendbuf, recvbuf, op=SUM) -> None:
        """recvbuf = this rank's block of the op over the ranks' sendbuf, which holds n blocks.

        IN_PLACE as sendbuf: recvbuf holds the n blocks, and the result is in its first.
        """
        code = functions.reduce_scatter(*_arguments.reduce_scatter(self, sendbuf, recvbuf, op))
        if code:
            self._fail(code)

    def Bcast(self, buf, root=0) -> None:
        """buf of the root to every rank. At the root buf may be read-only."""
        code = functions.bcast(*_arguments.bcast(self, buf, root))
        if code:
            self._fail(code)

    def Allgather(self, sendbuf, recvbuf) -> None:
        """recvbuf on every rank = the ranks' sendbuf, one after the other: n blocks.

        IN_PLACE as sendbuf: this rank's block is already in its place in recvbuf.
        """
        code = functions.allgather(*_arguments.allgather(self, sendbuf, recvbuf))
        if code:
            self._fail(code)

    def Alltoall(self, sendbuf, recvbuf) -> None:
        """Block j of sendbuf goes to rank j; block i of recvbuf comes from rank i. IN_PLACE as sendbuf on every rank or none."""
        code = functions.alltoall(*_arguments.alltoall(self, sendbuf, recvbuf))
        if code:
            self._fail(code)

    def Gather(self, sendbuf, recvbuf=None, root=0) -> None:
        """recvbuf at the root = the ranks' sendbuf, n blocks; recvbuf is ignored elsewhere.

        IN_PLACE as sendbuf at the root: its block is already in its place in recvbuf.
        """
        code = functions.gather(*_arguments.gather(self, sendbuf, recvbuf, root))
        if code:
            self._fail(code)

    def Scatter(self, sendbuf, recvbuf, root=0) -> None:
        """Block i of the root's sendbuf, n blocks, to recvbuf of rank i; sendbuf is ignored elsewhere.

        IN_PLACE as recvbuf at the root: its block stays where it is.
        """
        code = functions.scatter(*_arguments.scatter(self, sendbuf, recvbuf, root))
        if code:
            self._fail(code)

    def Barrier(self) -> None:
        """Returns when every rank has called."""
        code = functions.barrier(*_arguments.barrier(self))
        if code:
            self._fail(code)

    def Scan(self, sendbuf, recvbuf, op=SUM) -> None:
        """recvbuf = op over the sendbuf of ranks 0 to this one. IN_PLACE as sendbuf: over the ranks' recvbuf."""
        code = functions.scan(*_arguments.scan(self, sendbuf, recvbuf, op))
        if code:
            self._fail(code)

    def Exscan(self, sendbuf, recvbuf, op=SUM) -> None:
        """The same without this rank's own; recvbuf of rank 0 is left as it is."""
        code = functions.exscan(*_arguments.exscan(self, sendbuf, recvbuf, op))
        if code:
            self._fail(code)

    def Permute(self, sendbuf, recvbuf, source, dests) -> None:
        """sendbuf goes to each of `dests`, recvbuf comes from `source`, and is zeros if that is PROC_NULL: XLA's permute.

        Every two ranks must agree: a rank that is a destination names its source. Not in place.
        """
        code = functions.permute(*_arguments.permute(self, sendbuf, recvbuf, source, dests))
        if code:
            self._fail(code)

    # Blocks of different sizes. The buffer that has them is [array, counts], [array, (counts, displs)] or [array, counts, displs], with or
    # without a type at the end, or an array of n equal blocks. One number for all counts, or as distance for all displs, will do.

    def Allgatherv(self, sendbuf, recvbuf) -> None:
        """recvbuf on every rank = the ranks' sendbuf: recvbuf is [array, counts], [array, (counts, displs)], ...

        Without displs the blocks lie one after the other. IN_PLACE as sendbuf: this rank's block is already in its place.
        """
        code = functions.allgatherv(*_blocks.allgatherv(self, sendbuf, recvbuf))
        if code:
            self._fail(code)

    def Gatherv(self, sendbuf, recvbuf=None, root=0) -> None:
        """The same at the root only; recvbuf is ignored elsewhere. IN_PLACE as sendbuf at the root."""
        code = functions.gatherv(*_blocks.gatherv(self, sendbuf, recvbuf, root))
        if code:
            self._fail(code)

    def Scatterv(self, sendbuf, recvbuf, root=0) -> None:
        """Block i of the root's sendbuf to recvbuf of rank i: sendbuf is [array, counts], [array, (counts, displs)], ...

        It is ignored elsewhere. IN_PLACE as recvbuf at the root: its block stays where it is.
        """
        code = functions.scatterv(*_blocks.scatterv(self, sendbuf, recvbuf, root))
        if code:
            self._fail(code)

    def Alltoallv(self, sendbuf, recvbuf) -> None:
        """Block j of sendbuf goes to rank j; block i of recvbuf comes from rank i: both are [array, counts], ...

        IN_PLACE as sendbuf, on every rank or none: block j of recvbuf goes to rank j and is replaced.
        """
        code = functions.alltoallv(*_blocks.alltoallv(self, sendbuf, recvbuf))
        if code:
            self._fail(code)

    def Reduce_scatter(self, sendbuf, recvbuf, recvcounts=None, op=SUM) -> None:
        """recvbuf = this rank's block of the op over the ranks' sendbuf, whose block i has recvcounts[i] elements.

        recvcounts are the same on every rank; None: equal blocks. IN_PLACE as sendbuf: recvbuf holds all blocks, and the result is
        in its first recvcounts[rank] elements.
        """
        code = functions.reduce_scatterv(*_blocks.reduce_scatterv(self, sendbuf, recvbuf, recvcounts, op))
        if code:
            self._fail(code)
