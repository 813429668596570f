"""Calls under way."""

import ctypes
from operator import index

from . import _abi
from ._forgotten import forget, look_after_forgotten
from ._library import functions, last_error
from ._status import Status, checked
from .errors import ReactantMPIError

# What a wait may say and leave the request as it was. After any other failure it is gone, as after success.
_STAYS = {
    _abi.ERR_ARGUMENT,
    _abi.ERR_COMM,
    _abi.ERR_REQUEST,
    _abi.ERR_STATE,
    _abi.ERR_THREAD,
    _abi.ERR_FORKED,
    _abi.ERR_TIMEOUT,
    _abi.ERR_PEER,
}


class Request:
    """A call under way, made by Communicator.I<name>. Buffers must be left alone until Wait, Test or wait_for says it is done.

    It keeps the buffers alive; one that is dropped or freed while under way goes on, and so do its buffers until it is done.
    Progress is made inside calls, of this library or of MPI: no thread works on it. A request that is done is used up: code 7.
    """

    __slots__ = ("_buffers", "_request", "_under_way")

    def __init__(self, comm, function, arguments: tuple, *buffers):
        # All that must not be lost is there before the call: an exception of a signal handler may come right after it.
        self._under_way = False
        self._request = request = ctypes.c_void_p()
        # The addresses hold the memory, the buffers what the memory belongs to.
        self._buffers = arguments, buffers
        look_after_forgotten()
        self._under_way = True
        code = function(*arguments, ctypes.byref(request))
        if code:
            self._under_way = False
            self._request = None
            comm._fail(code)

    def Wait(self, status: Status | None = None) -> bool:
        """Wait until the call is done. True. Blocking, the GIL is released.

        Errors: 2 the communicator has ended, 7 done before, or freed, 8 prepared and not started, 9, 20, and those of the call.
        """
        code = functions.wait(self._request, None if status is None else checked(status))
        if code:
            self._failed(code)
        self._done()
        return True

    def wait_for(self, timeout_ms: int, status: Status | None = None) -> bool:
        """Wait for at most so many milliseconds (0 = one look): True, or else code 31, and the call is still under way."""
        code = functions.wait_for(self._request, _milliseconds(timeout_ms), checked(status))
        if code:
            self._failed(code)
        self._done()
        return True

    def Test(self, status: Status | None = None) -> bool:
        """Whether the call is done; if so, that is its end. Not blocking. Errors as Wait."""
        done = ctypes.c_int()
        code = functions.test(self._request, ctypes.byref(done), checked(status))
        if code:
            self._failed(code)
        if done.value:
            self._done()
            return True
        return False

    @staticmethod
    def Waitall(requests, statuses: list | None = None) -> bool:
        """Wait until all are done; those that were done before count as that. True. Blocking, the GIL is released.

        statuses  a list that gets a Status for each request; those that are in it already are filled
        Errors as Wait: 7 and 8 before anything is waited for; others after all are done, the first one is raised.
        """
        every = _Requests(requests, statuses)
        every.end(functions.waitall(every.n, every.words, every.got))
        return True

    @staticmethod
    def Testall(requests, statuses: list | None = None) -> bool:
        """Whether all are done; if so, that is their end, else nothing has changed. Not blocking. Arguments as Waitall."""
        every, done = _Requests(requests, statuses), ctypes.c_int()
        code = functions.testall(every.n, every.words, ctypes.byref(done), every.got)
        if code or done.value:
            every.end(code)
        return bool(done.value)

    def Free(self) -> None:
        """Let go of the request; a call under way goes on to its end. Local; a second time does nothing."""
        if self._under_way:
            forget(self._request, self._buffers)
            self._under_way = False
        self._done()

    def _done(self) -> None:
        self._under_way = False
        self._request = self._buffers = None

    def _failed(self, code: int):
        error = ReactantMPIError(code, last_error())
        if code not in _STAYS:
            self._done()
        raise error

    # As a default: the names of this module may be gone at the end of the interpreter.
    def __del__(self, forget=forget):
        if self._under_way:
            forget(self._request, self._buffers)

    def __reduce__(self):
        raise TypeError("a request belongs to its process: it cannot be pickled or copied")


class _Requests:
    """Requests and statuses as C takes them, and back."""

    def __init__(self, requests, statuses):
        self.requests = list(requests)
        self.n = len(self.requests)
        for request in self.requests:
            if not isinstance(request, Request):
                raise ReactantMPIError(_abi.ERR_ARGUMENT, f"requests must be reactant_mpi.Request, not {request!r:.60}")
        for status in statuses or ():
            if not isinstance(status, Status):
                raise ReactantMPIError(_abi.ERR_ARGUMENT, f"statuses must be reactant_mpi.Status, not {status!r:.60}")
        self.words = (ctypes.c_void_p * self.n)(*[request._request and request._request.value for request in self.requests])
        self.statuses = statuses
        self.got = None if statuses is None else (_abi.Status * self.n)()

    def end(self, code: int) -> None:
        for i, request in enumerate(self.requests):
            # C strikes out what is done, but for prepared calls, which live on.
            if self.words[i] is None or code == 0:
                request._done()
        if code:
            raise ReactantMPIError(code, last_error())
        for i, got in enumerate(self.got or ()):
            if i == len(self.statuses):
                self.statuses.append(Status())
            self.statuses[i].source, self.statuses[i].tag, self.statuses[i].bytes = got.source, got.tag, got.bytes


def _milliseconds(timeout_ms) -> int:
    try:
        number = index(timeout_ms)
    except TypeError:
        number = -1
    if not 0 <= number < 2**31:
        raise ReactantMPIError(_abi.ERR_ARGUMENT, f"timeout_ms = {timeout_ms!r:.60}: must be an integer from 0 to {2**31 - 1}")
    return number
