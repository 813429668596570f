"""Collectives and messages that are started, and waited for later."""

from . import _arguments, _blocks
from ._abi import ANY_SOURCE, ANY_TAG, SUM
from ._library import functions
from ._request import Request


class StartedCalls:
    """The calls of BufferCalls and PointToPoint with an I before their name: they return at once, and give a Request.

    Arguments are those of the call. The buffers belong to the call, and are kept alive, until the request says that it is done; lists
    of counts, displacements and ranks may change at once. Collectives are started by every rank, in the same order; a started one
    does not match a blocking one. Errors: those of the call, and 22 no request left.
    """

    __slots__ = ()

    def Isend(self, buf, dest, tag=0) -> Request:
        """Send, started."""
        return Request(self, functions.isend, _arguments.send(self, buf, dest, tag), buf)

    def Irecv(self, buf, source=ANY_SOURCE, tag=ANY_TAG) -> Request:
        """Recv, started; give Wait or Test a Status to know what came."""
        return Request(self, functions.irecv, _arguments.recv(self, buf, source, tag), buf)

    def Iallreduce(self, sendbuf, recvbuf, op=SUM) -> Request:
        """Allreduce, started."""
        return Request(self, functions.iallreduce, _arguments.allreduce(self, sendbuf, recvbuf, op), sendbuf, recvbuf)

    def Ireduce(self, sendbuf, recvbuf=None, op=SUM, root=0) -> Request:
        """Reduce, started."""
        return Request(self, functions.ireduce, _arguments.reduce(self, sendbuf, recvbuf, op, root), sendbuf, recvbuf)

    def Ireduce_scatter_block(self, sendbuf, recvbuf, op=SUM) -> Request:
        """Reduce_scatter_block, started."""
        return Request(self, functions.ireduce_scatter, _arguments.reduce_scatter(self, sendbuf, recvbuf, op), sendbuf, recvbuf)

    def Ibcast(self, buf, root=0) -> Request:
        """Bcast, started."""
        return Request(self, functions.ibcast, _arguments.bcast(self, buf, root), buf)

    def Iallgather(self, sendbuf, recvbuf) -> Request:
        """Allgather, started."""
        return Request(self, functions.iallgather, _arguments.allgather(self, sendbuf, recvbuf), sendbuf, recvbuf)

    def Ialltoall(self, sendbuf, recvbuf) -> Request:
        """Alltoall, started."""
        return Request(self, functions.ialltoall, _arguments.alltoall(self, sendbuf, recvbuf), sendbuf, recvbuf)

    def Igather(self, sendbuf, recvbuf=None, root=0) -> Request:
        """Gather, started."""
        return Request(self, functions.igather, _arguments.gather(self, sendbuf, recvbuf, root), sendbuf, recvbuf)

    def Iscatter(self, sendbuf, recvbuf, root=0) -> Request:
        """Scatter, started."""
        return Request(self, functions.iscatter, _arguments.scatter(self, sendbuf, recvbuf, root), sendbuf, recvbuf)

    def Ibarrier(self) -> Request:
        """Barrier, started."""
        return Request(self, functions.ibarrier, _arguments.barrier(self))

    def Iscan(self, sendbuf, recvbuf, op=SUM) -> Request:
        """Scan, started."""
        return Request(self, functions.iscan, _arguments.scan(self, sendbuf, recvbuf, op), sendbuf, recvbuf)

    def Iexscan(self, sendbuf, recvbuf, op=SUM) -> Request:
        """Exscan, started."""
        return Request(self, functions.iexscan, _arguments.exscan(self, sendbuf, recvbuf, op), sendbuf, recvbuf)

    def Ipermute(self, sendbuf, recvbuf, source, dests) -> Request:
        """Permute, started."""
        return Request(self, functions.ipermute, _arguments.permute(self, sendbuf, recvbuf, source, dests), sendbuf, recvbuf)

    def Iallgatherv(self, sendbuf, recvbuf) -> Request:
        """Allgatherv, started."""
        return Request(self, functions.iallgatherv, _blocks.allgatherv(self, sendbuf, recvbuf), sendbuf, recvbuf)

    def Igatherv(self, sendbuf, recvbuf=None, root=0) -> Request:
        """Gatherv, started."""
        return Request(self, functions.igatherv, _blocks.gatherv(self, sendbuf, recvbuf, root), sendbuf, recvbuf)

    def Iscatterv(self, sendbuf, recvbuf, root=0) -> Request:
        """Scatterv, started."""
        return Request(self, functions.iscatterv, _blocks.scatterv(self, sendbuf, recvbuf, root), sendbuf, recvbuf)

    def Ialltoallv(self, sendbuf, recvbuf) -> Request:
        """Alltoallv, started."""
        return Request(self, functions.ialltoallv, _blocks.alltoallv(self, sendbuf, recvbuf), sendbuf, recvbuf)

    def Ireduce_scatter(self, sendbuf, recvbuf, recvcounts=None, op=SUM) -> Request:
        """Reduce_scatter, started."""
        arguments = _blocks.reduce_scatterv(self, sendbuf, recvbuf, recvcounts, op)
        return Request(self, functions.ireduce_scatterv, arguments, sendbuf, recvbuf)
