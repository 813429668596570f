"""Blocks of different sizes: mpi4py's ways to say where they lie, and the arguments of the C functions made of them."""

import ctypes
import sys

import numpy as np

from . import _abi
from ._arguments import IN_PLACE, integer, only_at_root, operation, types_differ
from ._buffers import element_type, readable, writable
from .errors import ReactantMPIError


def allgatherv(comm, send, recv):
    return *_gathered(comm, send, recv), comm._comm


def gatherv(comm, send, recv, root):
    root = integer(root, "root")
    if comm._rank == root:
        return *_gathered(comm, send, recv), root, comm._comm
    if send is IN_PLACE:
        raise only_at_root("sendbuf", root)
    array, source, element = readable(send, "sendbuf")
    return source, array.size, None, None, None, element, root, comm._comm


def scatterv(comm, send, recv, root):
    root = integer(root, "root")
    if comm._rank != root:
        if recv is IN_PLACE:
            raise only_at_root("recvbuf", root)
        array, target, element = writable(recv, "recvbuf")
        return None, None, None, target, array.size, element, root, comm._comm
    source_array, source, counts, displs, element = _vector(send, "sendbuf", readable, comm._size)
    if recv is IN_PLACE:
        return source, counts, displs, _abi.IN_PLACE, 0, element, root, comm._comm
    target_array, target, target_element = writable(recv, "recvbuf")
    if element != target_element:
        raise types_differ(source_array, target_array)
    _check_own("recvbuf", target_array.size, "sendbuf", counts[root], root)
    return source, counts, displs, target, target_array.size, element, root, comm._comm


def alltoallv(comm, send, recv):
    target_array, target, recv_counts, recv_displs, element = _vector(recv, "recvbuf", writable, comm._size)
    if send is IN_PLACE:
        return _abi.IN_PLACE, None, None, target, recv_counts, recv_displs, element, comm._comm
    source_array, source, counts, displs, source_element = _vector(send, "sendbuf", readable, comm._size)
    if element != source_element:
        raise types_differ(source_array, target_array)
    return source, counts, displs, target, recv_counts, recv_displs, element, comm._comm


def reduce_scatterv(comm, send, recv, recvcounts, op):
    target_array, target, element = writable(recv, "recvbuf")
    source_array, source = target_array, _abi.IN_PLACE
    if send is not IN_PLACE:
        source_array, source, source_element = readable(send, "sendbuf")
        if element != source_element:
            raise types_differ(source_array, target_array)
    what = "recvbuf" if send is IN_PLACE else "sendbuf"
    counts = _counts(recvcounts, what, "recvcounts", source_array.size, comm._size)
    total = sum(counts.tolist())
    if source_array.size != total:
        raise ReactantMPIError(
            _abi.ERR_ARGUMENT, f"{what} has {source_array.size} elements, and the counts of all ranks add up to {total}"
        )
    if send is not IN_PLACE:
        _check_own("recvbuf", target_array.size, "recvcounts", counts[comm._rank], comm._rank)
    return source, target, _list(counts), element, operation(op), comm._comm


def _gathered(comm, send, recv):
    """(send, count, recv, counts, displs, element type)"""
    target_array, target, counts, displs, element = _vector(recv, "recvbuf", writable, comm._size)
    if send is IN_PLACE:
        return _abi.IN_PLACE, 0, target, counts, displs, element
    source_array, source, source_element = readable(send, "sendbuf")
    if element != source_element:
        raise types_differ(source_array, target_array)
    _check_own("sendbuf", source_array.size, "recvbuf", counts[comm._rank], comm._rank)
    return source, source_array.size, target, counts, displs, element


def _check_own(buffer: str, size: int, where: str, count: int, rank: int) -> None:
    if size != count:
        raise ReactantMPIError(
            _abi.ERR_ARGUMENT, f"{buffer} has {size} elements, and the block of this rank ({rank}) in {where} has {count}"
        )


def _vector(spec, what: str, access, ranks: int):
    """(array, address, counts, displs, element type) of a buffer with a block for each rank, all of it inside the buffer."""
    buffer, counts, displs, dtype = _parts(spec, what)
    array, pointer, element = access(buffer, what)
    if dtype is not None and _type_of(dtype, what) != element:
        raise ReactantMPIError(_abi.ERR_TYPE, f"{what} has dtype {array.dtype}, and is said to be of {dtype!r:.60}")
    counts = _counts(counts, what, f"the counts of {what}", array.size, ranks)
    displs = _displs(displs, what, counts, ranks)
    outside = np.flatnonzero((displs > array.size) | (counts > array.size - np.minimum(displs, array.size)))
    if outside.size:
        r = outside[0]
        raise ReactantMPIError(
            _abi.ERR_ARGUMENT, f"block {r} of {what}, {counts[r]} elements at {displs[r]}, does not fit: {what} has {array.size}"
        )
    return array, pointer, _list(counts), _list(displs), element


def _parts(spec, what: str):
    """(buffer, counts, displs, type) as mpi4py reads them; what is not given is None."""
    if not isinstance(spec, (list, tuple)):
        return spec, None, None, None
    displs = dtype = None
    if len(spec) == 2:
        buffer, counts = spec
        if _is_type(counts):
            counts, dtype = None, counts
    elif len(spec) == 3:
        buffer, counts, last = spec
        if _is_type(last) or isinstance(counts, tuple):
            dtype = last
        else:
            displs = last
    elif len(spec) == 4:
        buffer, counts, displs, dtype = spec
    else:
        raise ReactantMPIError(
            _abi.ERR_ARGUMENT,
            f"{what} must be an array or a list: [array, counts], [array, (counts, displs)] or [array, counts, displs], with or "
            f"without a type at the end; not {len(spec)} things",
        )
    if isinstance(counts, tuple) and displs is None and len(spec) < 4:
        if len(counts) != 2:
            raise ReactantMPIError(
                _abi.ERR_ARGUMENT, f"a tuple after the array of {what} is (counts, displs), as in mpi4py; give counts alone as a list"
            )
        counts, displs = counts
    return buffer, counts, displs, dtype


def _is_type(value) -> bool:
    return isinstance(value, (str, type, np.dtype)) or hasattr(value, "typestr")


def _type_of(dtype, what: str) -> int:
    """The element type of a dtype, or of a datatype of mpi4py."""
    mpi4py = sys.modules.get("mpi4py.MPI")
    if mpi4py is not None and isinstance(dtype, mpi4py.Datatype):
        dtype = dtype.typestr
    return element_type(dtype, what)


def _counts(counts, what: str, name: str, size: int, ranks: int) -> np.ndarray:
    """One count a rank: as listed, all the same, or equal parts of the buffer."""
    if counts is None:
        count, rest = divmod(size, ranks)
        if rest:
            raise ReactantMPIError(_abi.ERR_ARGUMENT, f"{what} has {size} elements, no multiple of the {ranks} ranks: give counts")
        counts = count
    return _per_rank(counts, name, ranks, lambda count: np.full(ranks, count))


def _displs(displs, what: str, counts: np.ndarray, ranks: int) -> np.ndarray:
    """One displacement a rank: as listed, at equal distances, or block after block."""
    if displs is None:
        displs = np.zeros(ranks, np.uintp)
        np.cumsum(counts[:-1], out=displs[1:])
        return displs
    return _per_rank(displs, f"the displacements of {what}", ranks, lambda stride: stride * np.arange(ranks))


def _per_rank(values, name: str, ranks: int, spread) -> np.ndarray:
    try:
        values = np.asarray(values)
    except ValueError:
        values = np.empty(0)
    if values.ndim == 0 and values.dtype.kind in "iu":
        values = spread(values)
    if values.shape != (ranks,) or values.dtype.kind not in "iu" or values.min() < 0:
        raise ReactantMPIError(
            _abi.ERR_ARGUMENT, f"{name} must be {ranks} numbers that are not negative, one for each rank, not {values!r:.80}"
        )
    return values.astype(np.uintp)


def _list(values: np.ndarray):
    """As C takes it; keeps the memory alive."""
    return (ctypes.c_size_t * len(values)).from_buffer(values)
