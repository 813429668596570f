"""Requests that were dropped while MPI works on their buffers: kept, with the buffers, until they are done."""

import ctypes
import threading

from . import _abi
from ._library import functions

# The word of a request: (request, its buffers). And those of which nobody can tell any more whether MPI has left the buffers.
_forgotten, _lost = {}, []
# Immortal: what is in them at the end of the interpreter stays in memory, since an MPI that ends later, as mpi4py's, may still write.
for _kept in (_forgotten, _lost):
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_kept))

_looking = threading.Lock()


# As a default: the names of this module may be gone at the end of the interpreter.
def forget(request, buffers, kept=_forgotten) -> None:
    """Keep them. Calls nothing: the garbage collector comes here from anywhere."""
    if request is not None and request.value:
        kept[request.value] = request, buffers


def look_after_forgotten() -> int:
    """Let go of those that are done; the number of the others."""
    if _forgotten and _looking.acquire(blocking=False):
        try:
            for word in list(_forgotten):
                _look_at(word)
        finally:
            _looking.release()
    return len(_forgotten)


def _look_at(word: int) -> None:
    done = ctypes.c_int()
    code = functions.test(word, ctypes.byref(done), None)
    if code == 0 and not done.value or code == _abi.ERR_THREAD:
        return
    # A prepared call is still there, and so is one that cannot be waited for.
    functions.request_free(word)
    entry = _forgotten.pop(word)
    if code == _abi.ERR_COMM:  # its communicator has ended
        _lost.append(entry)
