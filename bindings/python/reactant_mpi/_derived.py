"""Communicators from communicators."""

import ctypes
from operator import index

from . import _abi
from ._arguments import integer
from ._library import functions
from .errors import ReactantMPIError


class Derived:
    """What makes communicators of a communicator. Each new one has its own end, and lives on when this one ends.

    Where this one has GPUs, the new ones have them too, the same devices. Dup, Split and Free are mpi4py's names.
    """

    __slots__ = ()

    def dup(self):
        """A second communicator of the same ranks, whose calls are independent. Collective, blocking. Errors: as split()."""
        return self._made(functions.comm_dup)

    def split(self, color: int = 0, key: int = 0):
        """One new communicator per color, its ranks ordered by key, then by rank here; None for a negative color.

        Collective, blocking: ranks of negative color call it too.
        Errors: 1, 2, 8, 9, 20, 22 no more communicators, 31 timeout, 44 MPI failed, 69 NCCL.
        """
        return self._made(functions.comm_split, c_int(color, "color"), c_int(key, "key"))

    def split_node(self, key: int = 0):
        """One new communicator per host, its ranks ordered by key, then by rank here: mpi4py's Split_type(COMM_TYPE_SHARED, key).

        Collective, blocking. Errors: as split().
        """
        return self._made(functions.comm_split_node, c_int(key, "key"))

    def create(self, ranks):
        """A communicator of the listed ranks of this one, in the order of the list. Called by those ranks only; blocking.

        All give the same list; it is mpi4py's Create_group. Errors: 1 this rank is not listed, 2, 6 no such rank, or twice, and as
        split().
        """
        ranks = [integer(rank, "rank") for rank in ranks]
        return self._made(functions.comm_create, len(ranks), (ctypes.c_int * len(ranks))(*ranks))

    def set_devices(self, ids) -> None:
        """Tell which device ids, of those that XLA counts over all processes, this one holds. Once; collective, blocking.

        Errors: 1 an id twice in the list, 2, 8 told before, 9, 20, 22, 30 an id that two processes hold, 31, 44.
        """
        ids = _ids(ids)
        code = functions.set_devices(self._comm, ids, len(ids))
        if code:
            self._fail(code)

    def from_devices(self, ids):
        """A communicator of the processes that hold these device ids, in the order of the list. Called by those only; blocking.

        A process that holds several has the place of its first. Several threads may make different ones at once.
        Errors: 1 an id that nobody holds, or twice, or none that is held here, 8 set_devices() comes first, and as create().
        """
        ids = _ids(ids)
        return self._made(functions.comm_from_devices, ids, len(ids))

    def shrink(self):
        """After the failure of a process: the communicator of the ranks that live, in their old order. Collective over those.

        Needs an MPI with fault tolerance (ULFM, as Open MPI with `mpiexec --with-ft ulfm`). Ends what other ranks still wait for in
        this one: they leave with code 32. Errors: 1, 2, 9, 10 this MPI cannot, 20, 22, 31, 44.
        """
        return self._made(functions.comm_shrink)

    Dup = dup
    Split = split

    def _made(self, function, *arguments):
        made = ctypes.c_void_p()
        code = function(self._comm, *arguments, ctypes.byref(made))
        if code:
            self._fail(code)
        return type(self)(made.value) if made.value else None


def c_int(value, what: str) -> int:
    """value, which must fit a C int; `what` is its name in messages."""
    try:
        number = index(value)
    except TypeError:
        number = None
    if number is None or not -(2**31) <= number < 2**31:
        raise ReactantMPIError(_abi.ERR_ARGUMENT, f"{what} must be a 32-bit integer, not {value!r:.60}")
    return number


def _ids(ids):
    """Device ids as C takes them."""
    try:
        ids = [index(i) for i in ids]
        if all(-(2**63) <= i < 2**63 for i in ids):
            return (ctypes.c_int64 * len(ids))(*ids)
    except TypeError:
        pass
    raise ReactantMPIError(_abi.ERR_ARGUMENT, f"ids must be a list of 64-bit integers, not {ids!r:.60}")
