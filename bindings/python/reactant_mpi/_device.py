"""Device memory and streams, as the libraries of Python show them to one another."""

from math import prod

import numpy as np

from . import _abi
from ._arguments import IN_PLACE
from ._buffers import DeviceBuffer, element_type, word
from .errors import ReactantMPIError


def device_buffer(value, what: str):
    """value as a DeviceBuffer; IN_PLACE as it is. `what` is its name in messages."""
    if value is IN_PLACE or type(value) is DeviceBuffer:
        return value
    try:
        interface = value.__cuda_array_interface__
        shape, (pointer, readonly), typestr = interface["shape"], interface["data"], interface["typestr"]
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ReactantMPIError(
            _abi.ERR_ARGUMENT,
            f"{what} must be in device memory: an array with __cuda_array_interface__ (CuPy, PyTorch, JAX, Numba) or "
            f"DeviceBuffer(pointer, count, dtype), not {value!r:.60}",
        ) from None
    # The array's own type first: the interface has no name for bfloat16 and float8.
    dtype = getattr(value, "dtype", typestr)
    element_type(dtype, what)
    size = prod(shape)
    strides = interface.get("strides")
    if size and strides is not None and not _contiguous(shape, strides, np.dtype(typestr).itemsize):
        raise ReactantMPIError(
            _abi.ERR_ARGUMENT, f"{what} is not C-contiguous (shape {shape}, strides {strides}): pass a contiguous copy"
        )
    if interface.get("mask") is not None:
        raise ReactantMPIError(_abi.ERR_ARGUMENT, f"{what} has a mask: pass the array without")
    return DeviceBuffer(pointer or 0, size, dtype, readonly=bool(readonly))


def stream_pointer(stream) -> int | None:
    """The stream as the C library takes it: an integer, None for the default one, or an object that stands for one."""
    if stream is None:
        return None
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        _version, pointer = protocol() if callable(protocol) else protocol
        return word(pointer, "stream")
    for name in ("ptr", "cuda_stream"):  # CuPy, PyTorch
        if hasattr(stream, name):
            return word(getattr(stream, name), "stream")
    return word(stream, "stream")


def _contiguous(shape, strides, itemsize: int) -> bool:
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent != 1 and stride != itemsize:
            return False
        itemsize *= extent
    return True
