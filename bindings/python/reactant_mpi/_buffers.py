"""NumPy arrays as the C library wants them: an address and an element type, with every doubt an error."""

import ctypes

import numpy as np

from . import _abi
from .errors import ReactantMPIError

# By dtype in native byte order. V1 is one byte without a meaning, on which BAND, BOR and BXOR work.
TYPES = {
    np.dtype(name): value
    for name, value in {
        "float32": _abi.FLOAT32,
        "float64": _abi.FLOAT64,
        "complex64": _abi.COMPLEX64,
        "complex128": _abi.COMPLEX128,
        "bool": _abi.BOOL,
        "int8": _abi.INT8,
        "uint8": _abi.UINT8,
        "int16": _abi.INT16,
        "uint16": _abi.UINT16,
        "int32": _abi.INT32,
        "uint32": _abi.UINT32,
        "int64": _abi.INT64,
        "uint64": _abi.UINT64,
        "V1": _abi.BYTE,
    }.items()
}

# The cheapest way to an address (0.3 µs; array.ctypes.data takes 1.6): it refuses what is not contiguous or not writable,
# works at any size, and its result is taken by ctypes as a pointer and keeps the memory in place.
address = (ctypes.c_char * 0).from_buffer


def readable(value, what: str):
    """(array, address, element type) of a buffer to read from; `what` is its name in messages."""
    array = value if type(value) is np.ndarray else _as_array(value, what)
    try:
        return array, address(array), TYPES[array.dtype]
    except (TypeError, ValueError, BufferError, KeyError):
        element = _element(array, what)
        _check_contiguous(array, what, f"pass np.ascontiguousarray({what})")
        return array, array.__array_interface__["data"][0], element


def writable(value, what: str):
    """(array, address, element type) of a buffer to write to; `what` is its name in messages."""
    array = value if type(value) is np.ndarray else _as_array(value, what)
    try:
        return array, address(array), TYPES[array.dtype]
    except (TypeError, ValueError, BufferError, KeyError):
        element = _element(array, what)
        _check_contiguous(array, what, f"use fresh = np.ascontiguousarray({what}), then {what}[...] = fresh")
        if not array.flags.writeable:
            raise ReactantMPIError(_abi.ERR_ARGUMENT, f"{what} is read-only: pass an array that can be written") from None
        return array, array.__array_interface__["data"][0], element


def _as_array(value, what: str) -> np.ndarray:
    if isinstance(value, np.ndarray):
        return value
    try:
        return np.asarray(memoryview(value))
    except (TypeError, ValueError, BufferError):
        raise ReactantMPIError(
            _abi.ERR_ARGUMENT, f"{what} must be a NumPy array or another object with a buffer, not {value!r:.60}"
        ) from None


def _element(array: np.ndarray, what: str) -> int:
    element = TYPES.get(array.dtype)
    if element is not None:
        return element
    if not array.dtype.isnative and array.dtype.newbyteorder("=") in TYPES:
        text = f"{what} is in foreign byte order ({array.dtype.str}): pass {what}.astype({array.dtype.newbyteorder('=').name!r})"
    else:
        text = f"{what} has dtype {array.dtype}; possible are {', '.join(dtype.name for dtype in TYPES)}"
    raise ReactantMPIError(_abi.ERR_TYPE, text) from None


def _check_contiguous(array: np.ndarray, what: str, advice: str) -> None:
    if not array.flags.c_contiguous:
        raise ReactantMPIError(
            _abi.ERR_ARGUMENT, f"{what} is not C-contiguous (shape {array.shape}, strides {array.strides}): {advice}"
        ) from None
