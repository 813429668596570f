"""NumPy arrays as the C library wants them: an address and an element type, with every doubt an error."""

import ctypes
from operator import index

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
        "float16": _abi.FLOAT16,
        "V1": _abi.BYTE,
    }.items()
}

# Of ml_dtypes, which registers them with NumPy when it is imported: known here by their names alone.
ML_TYPES = {"bfloat16": (_abi.BFLOAT16, 2), "float8_e4m3fn": (_abi.FLOAT8_E4M3FN, 1), "float8_e5m2": (_abi.FLOAT8_E5M2, 1)}

# The cheapest way to an address (0.3 µs; array.ctypes.data takes 1.6): it refuses what is not contiguous or not writable,
# works at any size, and its result is taken by ctypes as a pointer and keeps the memory in place.
address = (ctypes.c_char * 0).from_buffer


class DeviceBuffer:
    """Device memory by its address, for what has no __cuda_array_interface__: `count` elements of `dtype` from `pointer` on.

    dtype is what NumPy takes, or the name of a type: "bfloat16", "float8_e4m3fn", "float8_e5m2". Owns nothing.
    .element is the number of that type in reactant_mpi.h.
    """

    __slots__ = ("dtype", "element", "pointer", "readonly", "size")

    def __init__(self, pointer: int, count: int, dtype, *, readonly: bool = False):
        self.pointer = word(pointer, "pointer")
        self.size = word(count, "count")
        self.dtype = dtype
        self.element = element_type(dtype, "the device buffer")
        self.readonly = readonly

    def __repr__(self) -> str:
        return f"DeviceBuffer({self.pointer:#x}, {self.size}, {self.dtype!r})"


def word(value, what: str) -> int:
    """An address or a size."""
    try:
        result = index(value)
    except TypeError:
        raise ReactantMPIError(_abi.ERR_ARGUMENT, f"{what} must be an integer, not {value!r:.60}") from None
    if not 0 <= result < 2**64:
        raise ReactantMPIError(_abi.ERR_ARGUMENT, f"{what} = {result}: must be from 0 to 2**64 - 1")
    return result


def readable(value, what: str):
    """(array, address, element type) of a buffer to read from; `what` is its name in messages."""
    if type(value) is DeviceBuffer:
        return value, value.pointer, value.element
    array = value if type(value) is np.ndarray else _as_array(value, what)
    try:
        return array, address(array), TYPES[array.dtype]
    except (TypeError, ValueError, BufferError, KeyError):
        element = _element(array, what)
        _check_contiguous(array, what, f"pass np.ascontiguousarray({what})")
        return array, array.__array_interface__["data"][0], element


def writable(value, what: str):
    """(array, address, element type) of a buffer to write to; `what` is its name in messages."""
    if type(value) is DeviceBuffer:
        if value.readonly:
            raise ReactantMPIError(_abi.ERR_ARGUMENT, f"{what} is read-only: pass an array that can be written")
        return value, value.pointer, value.element
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
        if hasattr(value, "__cuda_array_interface__"):
            raise ReactantMPIError(
                _abi.ERR_ARGUMENT, f"{what} is in device memory: use the calls of comm.on_stream(stream)"
            ) from None
        raise ReactantMPIError(
            _abi.ERR_ARGUMENT, f"{what} must be a NumPy array or another object with a buffer, not {value!r:.60}"
        ) from None


def element_type(dtype, what: str) -> int:
    """The element type of a dtype of NumPy or a look-alike, or the name of one; `what` is the buffer's name in messages."""
    if isinstance(dtype, np.dtype):
        return _element_of(dtype, what)
    name = str(dtype).removeprefix("torch.")
    if name in ML_TYPES:
        return ML_TYPES[name][0]
    if dtype is None:  # NumPy's float64
        raise _no_type(what, dtype)
    try:
        dtype = np.dtype(dtype)
    except TypeError:
        try:
            dtype = np.dtype(name)  # PyTorch's dtypes are unknown to NumPy; their names are not
        except TypeError:
            raise _no_type(what, dtype) from None
    return _element_of(dtype, what)


def _element(array: np.ndarray, what: str) -> int:
    return _element_of(array.dtype, what)


def _element_of(dtype: np.dtype, what: str) -> int:
    element = TYPES.get(dtype)
    if element is not None:
        return element
    element, size = ML_TYPES.get(dtype.name, (None, 0))
    if element is not None and dtype.isnative and dtype.itemsize == size:
        TYPES[dtype] = element
        return element
    if not dtype.isnative and dtype.newbyteorder("=") in TYPES:
        native = dtype.newbyteorder("=").name
        raise ReactantMPIError(
            _abi.ERR_TYPE, f"{what} is in foreign byte order ({dtype.str}): pass {what}.astype({native!r})"
        ) from None
    raise _no_type(what, dtype) from None


def _no_type(what: str, dtype) -> ReactantMPIError:
    names = ", ".join(dict.fromkeys([*(known.name for known in TYPES), *ML_TYPES]))
    return ReactantMPIError(_abi.ERR_TYPE, f"{what} has dtype {dtype}; possible are {names}")


def _check_contiguous(array: np.ndarray, what: str, advice: str) -> None:
    if not array.flags.c_contiguous:
        raise ReactantMPIError(
            _abi.ERR_ARGUMENT, f"{what} is not C-contiguous (shape {array.shape}, strides {array.strides}): {advice}"
        ) from None
