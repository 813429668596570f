"""Prepared calls: one collective, checked once, done again and again."""

from ._forgotten import forget
from ._library import check, functions, last_error, state
from ._request import Request
from .errors import ReactantMPIError


class Prepared(Request):
    """A collective with its arguments fixed, made by Communicator.prepare_*: calling it does the collective.

    The buffers given are read and written at each call, and kept alive. Collective, blocking; by one thread at a time.
    Start begins it instead, and Wait, Test or wait_for end it; then it can be called or started again.
    Give it back with free() or by leaving a with block; a forgotten one goes with the object.
    """

    __slots__ = ()

    def __init__(self, comm, function, arguments: tuple, *buffers):
        super().__init__(comm, function, arguments, *buffers)
        self._under_way = False

    def __call__(self) -> None:
        """Do the collective. Errors: 2 the communicator has ended, 7 freed, 8 started, 20, 44."""
        code = functions.run(self._request)
        if code:
            raise ReactantMPIError(code, last_error())

    run = __call__

    def Start(self) -> None:
        """Begin the collective. Not blocking. It matches Start and the I... calls of other ranks. Errors: 2, 7, 8 started, 20, 44."""
        # Before the call, as in Request; where it fails, being taken for under way does no harm.
        self._under_way = True
        code = functions.start(self._request)
        if code:
            raise ReactantMPIError(code, last_error())

    def Free(self) -> None:
        """Give the request back and let go of the buffers; a call under way goes on. Local; a second time does nothing."""
        request, under_way, buffers = self._request, self._under_way, self._buffers
        if request is None or not state.usable:
            return
        self._under_way = False
        self._request = self._buffers = None
        if under_way:
            forget(request, buffers)
        else:
            check(functions.request_free(request))

    # The names of the C functions.
    start = Start
    wait = Request.Wait
    test = Request.Test
    free = Free

    def _done(self) -> None:
        self._under_way = False

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        self.free()

    def __del__(self, forget=forget):
        if self._under_way:
            forget(self._request, self._buffers)
        # Not in a forked child and not after the end: there the library must not be called.
        elif self._request is not None and state.usable:
            functions.request_free(self._request)

    def __reduce__(self):
        raise TypeError("a prepared call belongs to its process: it cannot be pickled or copied")
