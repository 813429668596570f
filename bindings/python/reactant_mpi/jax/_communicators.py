"""The communicators of compiled operations: small integers in the program, kept alive here.

The derivative of an operation runs on a communicator of its own, so that its order among the operations of the program never
matters: XLA may start both at once. Each level of differentiation doubles them, each made once, where the first derivative of that
kind is traced.
"""

import contextlib
from typing import NamedTuple

import jax

import reactant_mpi
from reactant_mpi import _abi
from reactant_mpi.errors import ReactantMPIError

_made = {}  # (id, chain, reverse, started) -> Communicator
_places = {}  # id of a Communicator -> its Place
_by_handle = {}  # handle of an MPI communicator -> the Communicator made of it
_default = None


class Place(NamedTuple):
    """Where an operation runs: the communicator that the program named, and which of those derived from it."""

    comm: int
    rank: int
    size: int
    default: bool
    # One bit a level of differentiation, the nearest first: is this the derivative of that level, or what is differentiated?
    chain: int = 0
    # Ranks counted from the other end, for the transpose of a scan.
    reverse: bool = False
    # Without a place in the order of operations.
    free: bool = False
    # Waited for later: these have an order of their own.
    started: bool = False

    def primal(self) -> "Place":
        """Of what is differentiated, one level further in."""
        return self._replace(chain=self.chain << 1)

    def tangent(self) -> "Place":
        """Of its derivative."""
        return self._replace(chain=self.chain << 1 | 1)

    def reversed(self) -> "Place":
        """Of the same ranks counted from the other end."""
        return self._replace(reverse=not self.reverse)

    @property
    def may_block(self) -> bool:
        """Whether an operation may wait in XLA's thread: those of one chain only, else two block each other where there is one."""
        return self.default and not (self.chain or self.reverse or self.started)


def set_default(comm) -> None:
    """From now on operations without comm= run on this Communicator. Collective over it."""
    global _default
    _default = comm
    place = _place(comm).tangent()
    # Now, when all are here: the first derivative need not be taken by all.
    if _key(place) not in _made:
        _made[_key(place)] = comm.dup()


def default():
    """The Communicator of operations without comm=; all ranks where none was set."""
    if _default is None:
        set_default(reactant_mpi.initialize())
    return _default


def place_of(comm) -> Place:
    """Where an operation with this comm= runs."""
    if comm is None:
        return _place(_default or default())
    if isinstance(comm, reactant_mpi.Communicator):
        return _place(comm)
    return _place(_of_mpi4py(comm))


def communicator(place: Place):
    """The Communicator of a place, made now where it is not there. Then collective over its ranks."""
    made = _made.get(_key(place))
    if made is None:
        base = _made[_base(place.comm)]
        _quiet()
        made = _made[_key(place)] = base.split(0, base.size - 1 - base.rank) if place.reverse else base.dup()
    return made


def number(place: Place) -> int:
    """What stands for its communicator in compiled code."""
    return communicator(place).id


def _key(place: Place):
    return place.comm, place.chain, place.reverse, place.started


def _base(comm: int):
    return comm, 0, False, False


def _place(comm) -> Place:
    place = _places.get(comm.handle)
    # An address is used again after the end of what was there.
    if place is None or _made[_base(place.comm)] is not comm or place.default != (comm is _default):
        number = comm.id
        if _made.get(_base(number), comm) is not comm:
            for key in [key for key in _made if key[0] == number]:
                del _made[key]
        place = _places[comm.handle] = Place(number, comm.rank, comm.size, comm is _default)
        _made[_base(number)] = comm
    return place


def _of_mpi4py(comm):
    try:
        handle = comm.py2f()
    except (AttributeError, TypeError):
        raise ReactantMPIError(
            _abi.ERR_COMM, f"comm must be None, a reactant_mpi.Communicator or a communicator of mpi4py, not {comm!r:.60}"
        ) from None
    made = _by_handle.get(handle)
    if made is None:
        made = _by_handle[handle] = reactant_mpi.initialize(comm)
    return made


def _quiet() -> None:
    """Wait for the programs under way: making a communicator must not meet one of their operations."""
    for array in jax.live_arrays():
        with contextlib.suppress(Exception):  # given away, or failed: what uses it will see
            array.block_until_ready()
