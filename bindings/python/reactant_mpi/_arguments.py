"""From Python arguments to the arguments of the C functions, one function a collective.

The tuples are those of the C prototypes in reactant_mpi.h, and serve the call at once, the started and the prepared one.
Those with blocks of different sizes are in _blocks.
"""

import ctypes
from operator import index

from numpy import ndarray

from . import _abi
from ._buffers import TYPES, address, readable, writable
from .errors import ReactantMPIError


class _InPlace:
    """Type of IN_PLACE."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "reactant_mpi.IN_PLACE"

    def __reduce__(self):
        return "IN_PLACE"


IN_PLACE = _InPlace()
"""As a buffer: take the input from the other buffer, as MPI.IN_PLACE."""

_OPERATIONS = {}
for _name in ("SUM", "MIN", "MAX", "PROD", "BAND", "BOR", "BXOR", "LAND", "LOR", "LXOR", "AVG"):
    _OPERATIONS[getattr(_abi, _name)] = _OPERATIONS[_name.lower()] = getattr(_abi, _name)


def operation(op) -> int:
    """A reduction by its constant or its lower-case name."""
    try:
        return _OPERATIONS[op]
    except (KeyError, TypeError):
        names = ", ".join(name for name in _OPERATIONS if isinstance(name, str))
        raise ReactantMPIError(
            _abi.ERR_OP, f"op {op!r:.60} is no reduction: use a constant of reactant_mpi, as SUM, or one of the names {names}"
        ) from None


def integer(value, what: str) -> int:
    """A root, peer or tag. Those that no C int can hold are outside every communicator."""
    try:
        value = index(value)
    except TypeError:
        raise ReactantMPIError(_abi.ERR_ARGUMENT, f"{what} must be an integer, not {value!r:.60}") from None
    if not -(2**31) <= value < 2**31:
        raise ReactantMPIError(_abi.ERR_RANK, f"{what} {value} is out of range")
    return value


def _pair(send, recv, send_blocks: int, recv_blocks: int):
    """(send, recv, count of one block, element type) for two buffers of so many blocks."""
    if type(send) is type(recv) is ndarray and send.dtype is recv.dtype and send.size * recv_blocks == recv.size * send_blocks:
        # The usual case, at half the price. Where it does not do, what follows finds out why.
        count, rest = divmod(send.size, send_blocks)
        try:
            if not rest:
                return address(send), address(recv), count, TYPES[send.dtype]
        except (TypeError, ValueError, BufferError, KeyError):
            pass
    if send is IN_PLACE:
        array, target, element = writable(recv, "recvbuf")
        return _abi.IN_PLACE, target, _blocks(array, max(send_blocks, recv_blocks), "recvbuf"), element
    source_array, source, element = readable(send, "sendbuf")
    target_array, target, target_element = writable(recv, "recvbuf")
    if element != target_element:
        raise types_differ(source_array, target_array)
    count = source_array.size if send_blocks == 1 else _blocks(source_array, send_blocks, "sendbuf")
    if target_array.size != count * recv_blocks:
        raise ReactantMPIError(
            _abi.ERR_ARGUMENT,
            f"sendbuf has {source_array.size} elements, so recvbuf must have {count * recv_blocks}; it has {target_array.size}",
        )
    return source, target, count, element


def _blocks(array, blocks: int, what: str) -> int:
    count, rest = divmod(array.size, blocks)
    if rest:
        raise ReactantMPIError(_abi.ERR_ARGUMENT, f"{what} has {array.size} elements, no multiple of the {blocks} ranks")
    return count


def types_differ(source_array, target_array) -> ReactantMPIError:
    return ReactantMPIError(
        _abi.ERR_TYPE, f"sendbuf has dtype {source_array.dtype} and recvbuf {target_array.dtype}: both must be the same"
    )


def only_at_root(what: str, root: int) -> ReactantMPIError:
    return ReactantMPIError(_abi.ERR_ARGUMENT, f"{what} can be IN_PLACE at the root ({root}) only")


def allreduce(comm, send, recv, op):
    return *_pair(send, recv, 1, 1), operation(op), comm._comm


scan = exscan = allreduce


def reduce(comm, send, recv, op, root):
    root = integer(root, "root")
    if comm._rank == root:
        return *_pair(send, recv, 1, 1), operation(op), root, comm._comm
    if send is IN_PLACE:
        raise only_at_root("sendbuf", root)
    array, source, element = readable(send, "sendbuf")
    return source, None, array.size, element, operation(op), root, comm._comm


def reduce_scatter(comm, send, recv, op):
    return *_pair(send, recv, comm._size, 1), operation(op), comm._comm


def bcast(comm, buf, root):
    root = integer(root, "root")
    array, pointer, element = (readable if comm._rank == root else writable)(buf, "buf")
    return pointer, array.size, element, root, comm._comm


def allgather(comm, send, recv):
    return *_pair(send, recv, 1, comm._size), comm._comm


def alltoall(comm, send, recv):
    return *_pair(send, recv, comm._size, comm._size), comm._comm


def gather(comm, send, recv, root):
    root = integer(root, "root")
    if comm._rank == root:
        return *_pair(send, recv, 1, comm._size), root, comm._comm
    if send is IN_PLACE:
        raise only_at_root("sendbuf", root)
    array, source, element = readable(send, "sendbuf")
    return source, None, array.size, element, root, comm._comm


def scatter(comm, send, recv, root):
    root = integer(root, "root")
    if comm._rank != root:
        if recv is IN_PLACE:
            raise only_at_root("recvbuf", root)
        array, target, element = writable(recv, "recvbuf")
        return None, target, array.size, element, root, comm._comm
    if recv is IN_PLACE:
        array, source, element = readable(send, "sendbuf")
        return source, _abi.IN_PLACE, _blocks(array, comm._size, "sendbuf"), element, root, comm._comm
    return *_pair(send, recv, comm._size, 1), root, comm._comm


def barrier(comm):
    return (comm._comm,)


def permute(comm, send, recv, source, dests):
    try:
        dests = [integer(dest, "dests") for dest in dests]
    except TypeError:
        raise ReactantMPIError(_abi.ERR_ARGUMENT, f"dests must be a list of ranks, not {dests!r:.60}") from None
    ranks = (ctypes.c_int * len(dests))(*dests)
    return *_pair(send, recv, 1, 1), integer(source, "source"), len(dests), ranks, comm._comm


def send(comm, buf, dest, tag):
    array, source, element = readable(buf, "buf")
    return source, array.size, element, integer(dest, "dest"), integer(tag, "tag"), comm._comm


def recv(comm, buf, source, tag):
    array, target, element = writable(buf, "buf")
    return target, array.size, element, integer(source, "source"), integer(tag, "tag"), comm._comm


def sendrecv(comm, send, dest, sendtag, recv, source, recvtag):
    source_array, pointer, element = readable(send, "sendbuf")
    target_array, target, target_element = writable(recv, "recvbuf")
    if element != target_element:
        raise types_differ(source_array, target_array)
    outward = pointer, source_array.size, integer(dest, "dest"), integer(sendtag, "sendtag")
    inward = target, target_array.size, integer(source, "source"), integer(recvtag, "recvtag")
    return *outward, *inward, element, comm._comm


def probe(comm, source, tag):
    return integer(source, "source"), integer(tag, "tag"), comm._comm
