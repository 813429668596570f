"""Prepared calls: one collective, checked once, done again and again."""

import ctypes

from ._library import check, functions, last_error, state
from .errors import ReactantMPIError


class Prepared:
    """A collective with its arguments fixed, made by Communicator.prepare_*: calling it does the collective.

    The buffers given are read and written at each call, and kept alive. Collective, blocking; by one thread at a time.
    Give it back with free() or by leaving a with block; a forgotten one goes with the object.
    """

    __slots__ = ("_buffers", "_request")

    def __init__(self, comm, name: str, arguments: tuple, *buffers):
        self._request = None
        request = ctypes.c_void_p()
        code = getattr(functions, f"prepare_{name}")(*arguments, ctypes.byref(request))
        if code:
            comm._fail(code)
        self._request = request
        # The addresses hold the memory, the buffers what the memory belongs to.
        self._buffers = arguments, buffers

    def __call__(self) -> None:
        """Do the collective. Errors: 2 the communicator has ended, 7 freed, 20, 44."""
        code = functions.run(self._request)
        if code:
            raise ReactantMPIError(code, last_error())

    def free(self) -> None:
        """Give the request back and let go of the buffers. Local; a second time does nothing."""
        request, self._request = self._request, None
        if request is not None and state.usable:
            self._buffers = None
            check(functions.request_free(request))

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        self.free()

    def __del__(self):
        # Not in a forked child and not after the end: there the library must not be called.
        if self._request is not None and state.usable:
            functions.request_free(self._request)

    def __reduce__(self):
        raise TypeError("a prepared call belongs to its process: it cannot be pickled or copied")
