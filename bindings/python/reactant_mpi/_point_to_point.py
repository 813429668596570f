"""Messages between two ranks."""

import numpy as np

from . import _abi, _arguments
from ._abi import ANY_SOURCE, ANY_TAG
from ._library import functions
from ._status import Status, checked
from .errors import ReactantMPIError


class PointToPoint:
    """Send, receive, both at once, and a look at what has come. They block, and are not collective.

    dest and source are ranks or PROC_NULL (nothing happens); source may be ANY_SOURCE. Tags are 0 to at least 32767; ANY_TAG
    for a receive. A buffer to receive into may be larger than the message, not smaller (code 44); `status` then tells how much
    came. Errors: 1 buffer, 2 the communicator has ended, 3 dtype, 6 peer or tag, 9 thread, 20 forked, 44 MPI failed.
    """

    __slots__ = ()

    def Send(self, buf, dest, tag=0) -> None:
        """Send the array `buf`."""
        code = functions.send(*_arguments.send(self, buf, dest, tag))
        if code:
            self._fail(code)

    def Recv(self, buf, source=ANY_SOURCE, tag=ANY_TAG, status: Status | None = None) -> None:
        """Receive into the array `buf`."""
        code = functions.recv(*_arguments.recv(self, buf, source, tag), checked(status))
        if code:
            self._fail(code)

    def Sendrecv(
        self, sendbuf, dest, sendtag=0, recvbuf=None, source=ANY_SOURCE, recvtag=ANY_TAG, status: Status | None = None
    ) -> None:
        """Send `sendbuf` and receive into `recvbuf`, of the same dtype, without deadlock. They must not overlap."""
        arguments = _arguments.sendrecv(self, sendbuf, dest, sendtag, recvbuf, source, recvtag)
        code = functions.sendrecv(*arguments, checked(status))
        if code:
            self._fail(code)

    def Probe(self, source=ANY_SOURCE, tag=ANY_TAG, status: Status | None = None) -> bool:
        """Wait until there is a message that Recv would get; `status` tells its source, tag and length. True."""
        code = functions.probe(*_arguments.probe(self, source, tag), checked(status))
        if code:
            self._fail(code)
        return True

    def send(self, x, dest, tag=0) -> None:
        """Send x: an array, or what NumPy makes one of."""
        self.Send(np.asarray(x, order="C"), dest, tag)

    def recv(self, into=None, source=ANY_SOURCE, tag=ANY_TAG, *, shape=None, dtype=np.float64, status: Status | None = None):
        """Receive, and return the array.

        into   the array to receive into, which is returned; a shorter message leaves its end as it was
        shape  in its place: make an array of this shape and `dtype`, which the message must fill (else code 30)
        """
        if (into is None) == (shape is None):
            raise ReactantMPIError(_abi.ERR_ARGUMENT, "recv needs either an array to receive into or shape=")
        if into is not None:
            self.Recv(into, source, tag, status)
            return into
        result = np.empty(shape, dtype)
        status = Status() if status is None else status
        self.Recv(result, source, tag, status)
        if status.bytes != result.nbytes and status.source != _abi.PROC_NULL:
            raise ReactantMPIError(
                _abi.ERR_MISMATCH,
                f"the message from rank {status.source} has {status.bytes} bytes, shape {result.shape} of {result.dtype} "
                f"needs {result.nbytes}: where the length is not known, give an array and a status",
            )
        return result

    def sendrecv(
        self, x, dest, sendtag=0, into=None, source=ANY_SOURCE, recvtag=ANY_TAG, status: Status | None = None
    ) -> np.ndarray:
        """Send x, receive into the array `into` (a fresh one like x by default), and return that."""
        x = np.asarray(x, order="C")
        result = np.zeros(x.shape, x.dtype) if into is None else into
        self.Sendrecv(x, dest, sendtag, result, source, recvtag, status)
        return result
