"""Collectives that are prepared: checked once, called often."""

from . import _arguments, _blocks
from ._abi import SUM
from ._library import functions
from ._prepared import Prepared


class PreparedCalls:
    """The calls of BufferCalls with their arguments fixed, to be called, or started, many times.

    Local: nothing is sent before the first call. Errors: those of the call, and 22 no request left.
    """

    __slots__ = ()

    def prepare_allreduce(self, sendbuf, recvbuf, op=SUM) -> Prepared:
        """Allreduce with these arguments."""
        return Prepared(self, functions.prepare_allreduce, _arguments.allreduce(self, sendbuf, recvbuf, op), sendbuf, recvbuf)

    def prepare_reduce(self, sendbuf, recvbuf=None, op=SUM, root=0) -> Prepared:
        """Reduce with these arguments."""
        return Prepared(self, functions.prepare_reduce, _arguments.reduce(self, sendbuf, recvbuf, op, root), sendbuf, recvbuf)

    def prepare_reduce_scatter(self, sendbuf, recvbuf, op=SUM) -> Prepared:
        """Reduce_scatter_block with these arguments."""
        arguments = _arguments.reduce_scatter(self, sendbuf, recvbuf, op)
        return Prepared(self, functions.prepare_reduce_scatter, arguments, sendbuf, recvbuf)

    def prepare_bcast(self, buf, root=0) -> Prepared:
        """Bcast with these arguments."""
        return Prepared(self, functions.prepare_bcast, _arguments.bcast(self, buf, root), buf)

    def prepare_allgather(self, sendbuf, recvbuf) -> Prepared:
        """Allgather with these arguments."""
        return Prepared(self, functions.prepare_allgather, _arguments.allgather(self, sendbuf, recvbuf), sendbuf, recvbuf)

    def prepare_alltoall(self, sendbuf, recvbuf) -> Prepared:
        """Alltoall with these arguments."""
        return Prepared(self, functions.prepare_alltoall, _arguments.alltoall(self, sendbuf, recvbuf), sendbuf, recvbuf)

    def prepare_gather(self, sendbuf, recvbuf=None, root=0) -> Prepared:
        """Gather with these arguments."""
        return Prepared(self, functions.prepare_gather, _arguments.gather(self, sendbuf, recvbuf, root), sendbuf, recvbuf)

    def prepare_scatter(self, sendbuf, recvbuf, root=0) -> Prepared:
        """Scatter with these arguments."""
        return Prepared(self, functions.prepare_scatter, _arguments.scatter(self, sendbuf, recvbuf, root), sendbuf, recvbuf)

    def prepare_barrier(self) -> Prepared:
        """Barrier with these arguments."""
        return Prepared(self, functions.prepare_barrier, _arguments.barrier(self))

    def prepare_scan(self, sendbuf, recvbuf, op=SUM) -> Prepared:
        """Scan with these arguments."""
        return Prepared(self, functions.prepare_scan, _arguments.scan(self, sendbuf, recvbuf, op), sendbuf, recvbuf)

    def prepare_exscan(self, sendbuf, recvbuf, op=SUM) -> Prepared:
        """Exscan with these arguments."""
        return Prepared(self, functions.prepare_exscan, _arguments.exscan(self, sendbuf, recvbuf, op), sendbuf, recvbuf)

    def prepare_permute(self, sendbuf, recvbuf, source, dests) -> Prepared:
        """Permute with these arguments."""
        arguments = _arguments.permute(self, sendbuf, recvbuf, source, dests)
        return Prepared(self, functions.prepare_permute, arguments, sendbuf, recvbuf)

    def prepare_allgatherv(self, sendbuf, recvbuf) -> Prepared:
        """Allgatherv with these arguments."""
        return Prepared(self, functions.prepare_allgatherv, _blocks.allgatherv(self, sendbuf, recvbuf), sendbuf, recvbuf)

    def prepare_gatherv(self, sendbuf, recvbuf=None, root=0) -> Prepared:
        """Gatherv with these arguments."""
        return Prepared(self, functions.prepare_gatherv, _blocks.gatherv(self, sendbuf, recvbuf, root), sendbuf, recvbuf)

    def prepare_scatterv(self, sendbuf, recvbuf, root=0) -> Prepared:
        """Scatterv with these arguments."""
        return Prepared(self, functions.prepare_scatterv, _blocks.scatterv(self, sendbuf, recvbuf, root), sendbuf, recvbuf)

    def prepare_alltoallv(self, sendbuf, recvbuf) -> Prepared:
        """Alltoallv with these arguments."""
        return Prepared(self, functions.prepare_alltoallv, _blocks.alltoallv(self, sendbuf, recvbuf), sendbuf, recvbuf)

    def prepare_reduce_scatterv(self, sendbuf, recvbuf, recvcounts=None, op=SUM) -> Prepared:
        """Reduce_scatter with these arguments."""
        arguments = _blocks.reduce_scatterv(self, sendbuf, recvbuf, recvcounts, op)
        return Prepared(self, functions.prepare_reduce_scatterv, arguments, sendbuf, recvbuf)
