"""Collectives and messages on device memory: they are put on a stream, and return at once."""

from contextlib import contextmanager

from . import _arguments, _library
from ._abi import SUM
from ._device import device_buffer, stream_pointer
from ._library import check, functions


class OnStream:
    """The calls of a communicator on a stream of this rank's GPU, over NCCL or RCCL; made by Communicator.on_stream().

    Names and arguments are those of Communicator. Buffers are in device memory: arrays with __cuda_array_interface__ (CuPy,
    PyTorch, JAX, Numba; JAX takes its arrays for constants, so only send those), or DeviceBuffer(pointer, count, dtype).
    Every call enqueues and returns; nothing here waits for the device, and the stream that an array names is not waited for
    either. Buffers must live, and stay untouched, until the stream has passed.
    op may also be AVG. bool has "land" and "lor", complex "sum" and "avg", 16-bit integers nothing.
    Errors: 1 buffer or size, 2 the communicator has ended, 3 dtype, 4 op, 6 rank, 20 forked, 61 a host communicator, 69 NCCL.
    """

    __slots__ = ("_parent", "_pointer")

    def __init__(self, parent, stream):
        self._parent = parent
        self._pointer = stream_pointer(stream)

    # What _arguments asks of a communicator.
    _comm = property(lambda self: self._parent._comm)
    _rank = property(lambda self: self._parent._rank)
    _size = property(lambda self: self._parent._size)

    @property
    def stream(self) -> int:
        """The stream as an integer; 0 is the default one."""
        return self._pointer or 0

    def Allreduce(self, sendbuf, recvbuf, op=SUM) -> None:
        """recvbuf on every rank = op over the ranks' sendbuf. IN_PLACE, or the same memory, as sendbuf: over the recvbuf."""
        send, recv = device_buffer(sendbuf, "sendbuf"), device_buffer(recvbuf, "recvbuf")
        self._call(functions.allreduce_stream, _arguments.allreduce(self, send, recv, op))

    def Reduce(self, sendbuf, recvbuf=None, op=SUM, root=0) -> None:
        """recvbuf at the root = op over the ranks' sendbuf; recvbuf is ignored elsewhere."""
        send, recv = device_buffer(sendbuf, "sendbuf"), self._at(root, recvbuf, "recvbuf")
        self._call(functions.reduce_stream, _arguments.reduce(self, send, recv, op, root))

    def Reduce_scatter_block(self, sendbuf, recvbuf, op=SUM) -> None:
        """recvbuf = this rank's block of the op over the ranks' sendbuf, which holds n blocks."""
        send, recv = device_buffer(sendbuf, "sendbuf"), device_buffer(recvbuf, "recvbuf")
        self._call(functions.reduce_scatter_stream, _arguments.reduce_scatter(self, send, recv, op))

    def Bcast(self, buf, root=0) -> None:
        """buf of the root to every rank."""
        self._call(functions.bcast_stream, _arguments.bcast(self, device_buffer(buf, "buf"), root))

    def Allgather(self, sendbuf, recvbuf) -> None:
        """recvbuf on every rank = the ranks' sendbuf, one after the other: n blocks."""
        send, recv = device_buffer(sendbuf, "sendbuf"), device_buffer(recvbuf, "recvbuf")
        self._call(functions.allgather_stream, _arguments.allgather(self, send, recv))

    def Alltoall(self, sendbuf, recvbuf) -> None:
        """Block j of sendbuf goes to rank j; block i of recvbuf comes from rank i. Not in place."""
        send, recv = device_buffer(sendbuf, "sendbuf"), device_buffer(recvbuf, "recvbuf")
        self._call(functions.alltoall_stream, _arguments.alltoall(self, send, recv))

    def Gather(self, sendbuf, recvbuf=None, root=0) -> None:
        """recvbuf at the root = the ranks' sendbuf, n blocks; recvbuf is ignored elsewhere."""
        send, recv = device_buffer(sendbuf, "sendbuf"), self._at(root, recvbuf, "recvbuf")
        self._call(functions.gather_stream, _arguments.gather(self, send, recv, root))

    def Scatter(self, sendbuf, recvbuf, root=0) -> None:
        """Block i of the root's sendbuf, n blocks, to recvbuf of rank i; sendbuf is ignored elsewhere."""
        send, recv = self._at(root, sendbuf, "sendbuf"), device_buffer(recvbuf, "recvbuf")
        self._call(functions.scatter_stream, _arguments.scatter(self, send, recv, root))

    def Barrier(self) -> None:
        """What is on the stream after it starts when every rank's stream has come to it."""
        self._call(functions.barrier_stream, (self._comm,))

    def Send(self, buf, dest) -> None:
        """Send buf. Two ranks that send to each other need Sendrecv, or a group()."""
        array, pointer, element = _arguments.readable(device_buffer(buf, "buf"), "buf")
        self._call(functions.send_stream, (pointer, array.size, element, _arguments.integer(dest, "dest"), self._comm))

    def Recv(self, buf, source) -> None:
        """Receive into buf, which must have the size of the message."""
        array, pointer, element = _arguments.writable(device_buffer(buf, "buf"), "buf")
        self._call(functions.recv_stream, (pointer, array.size, element, _arguments.integer(source, "source"), self._comm))

    def Sendrecv(self, sendbuf, dest, recvbuf, source) -> None:
        """Send sendbuf and receive into recvbuf, of the same dtype, without deadlock. They must not overlap."""
        send, recv = device_buffer(sendbuf, "sendbuf"), device_buffer(recvbuf, "recvbuf")
        checked = _arguments.sendrecv(self, send, dest, 0, recv, source, 0)
        pointer, size, dest, _, target, room, source, _, element, comm = checked
        self._call(functions.sendrecv_stream, (pointer, size, dest, target, room, source, element, comm))

    def Permute(self, sendbuf, recvbuf, source, dests) -> None:
        """sendbuf goes to each of `dests`, recvbuf comes from `source`, and is zeros if that is PROC_NULL: XLA's permute."""
        send, recv = device_buffer(sendbuf, "sendbuf"), device_buffer(recvbuf, "recvbuf")
        self._call(functions.permute_stream, _arguments.permute(self, send, recv, source, dests))

    def _at(self, root, buffer, what: str):
        """The buffer that counts at the root alone."""
        return device_buffer(buffer, what) if self._rank == root else None

    def _call(self, function, arguments) -> None:
        code = function(*arguments, self._pointer)
        if code:
            self._parent._fail(code)

    def __repr__(self) -> str:
        return f"<reactant_mpi.OnStream, stream {self.stream:#x} of {self._parent!r}>"

    def __reduce__(self):
        raise TypeError("calls on a stream belong to their process: they cannot be pickled or copied")


@contextmanager
def group():
    """with group(): the calls on streams in the block are handed to NCCL together, at its end. Of this thread; nests.

    Needed where one rank sends and receives by more than one call. Errors: 61 no GPU communicator in the process, 69 NCCL.
    """
    _library.load()
    check(functions.group_start())
    try:
        yield
    except BaseException:
        # The thread must leave the group; what the block raised says more than what NCCL makes of half a group.
        functions.group_end()
        raise
    check(functions.group_end())
