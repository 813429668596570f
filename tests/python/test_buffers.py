"""Arrays and operations as the C library wants them. Nothing here loads it."""

import array
import ctypes

import numpy as np
import pytest
import reactant_mpi
from reactant_mpi import ReactantMPIError, _abi, _arguments, _buffers, _library


def address(pointer):
    return pointer if isinstance(pointer, int) else ctypes.addressof(pointer)


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("float32", 0x210),
        ("float64", 0x214),
        ("complex64", 0x212),
        ("complex128", 0x216),
        ("bool", 0x238),
        ("int8", 0x240),
        ("uint8", 0x241),
        ("int16", 0x248),
        ("uint16", 0x249),
        ("int32", 0x250),
        ("uint32", 0x251),
        ("int64", 0x258),
        ("uint64", 0x259),
        ("V1", 0x247),
        ("=f8", 0x214),
        ("longlong", 0x258),
        ("ulonglong", 0x259),
        ("long", 0x258),
        (np.dtype("f8", metadata={"unit": "m"}), 0x214),
    ],
)
def test_element_types(dtype, value):
    x = np.zeros(3, dtype)
    for check in (_buffers.readable, _buffers.writable):
        got, pointer, element = check(x, "x")
        assert (got is x, address(pointer), element) == (True, x.ctypes.data, value)


@pytest.mark.parametrize("dtype", "float16 longdouble clongdouble S3 U1 M8[s] m8[s] O f4,f4 >f8 >i4 V2".split())
def test_other_types(dtype):
    with pytest.raises(ReactantMPIError) as caught:
        _buffers.readable(np.zeros(3, dtype), "x")
    assert caught.value.code == _abi.ERR_TYPE
    assert str(caught.value).startswith("x ")


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 3), (2, 0, 3)])
def test_shapes(shape):
    x = np.zeros(shape)
    assert address(_buffers.writable(x, "x")[1]) == x.ctypes.data


def test_parts_that_are_contiguous():
    x = np.arange(12.0).reshape(3, 4)
    assert address(_buffers.writable(x[1], "x")[1]) == x.ctypes.data + 32
    assert address(_buffers.writable(x[1:], "x")[1]) == x.ctypes.data + 32
    assert address(_buffers.writable(x[:, 1:1], "x")[1]) is not None


@pytest.mark.parametrize("part", [np.s_[:, 0], np.s_[::2, :], np.s_[:, 1:], np.s_[::-1]])
def test_parts_that_are_not(part):
    x = np.arange(12.0).reshape(3, 4)
    for check in (_buffers.readable, _buffers.writable):
        with pytest.raises(ReactantMPIError, match=r"x is not C-contiguous.*np\.ascontiguousarray\(x\)") as caught:
            check(x[part], "x")
        assert caught.value.code == _abi.ERR_ARGUMENT


def test_fortran_order():
    with pytest.raises(ReactantMPIError, match="C-contiguous"):
        _buffers.readable(np.zeros((2, 3), order="F"), "x")


def test_read_only():
    x = np.zeros(3)
    x.flags.writeable = False
    assert _buffers.readable(x, "x")[1:] == (x.ctypes.data, _abi.FLOAT64)
    with pytest.raises(ReactantMPIError, match="x is read-only"):
        _buffers.writable(x, "x")
    with pytest.raises(ReactantMPIError, match="x is read-only"):
        _buffers.writable(b"abc", "x")


@pytest.mark.parametrize(
    ("value", "element", "size"),
    [
        (bytearray(3), _abi.UINT8, 3),
        (memoryview(bytearray(3)), _abi.UINT8, 3),
        (array.array("d", [1, 2]), _abi.FLOAT64, 2),
        (array.array("i", [1, 2]), _abi.INT32, 2),
        ((ctypes.c_float * 4)(), _abi.FLOAT32, 4),
        (np.zeros((2, 2)).view(np.matrix), _abi.FLOAT64, 4),
    ],
)
def test_other_buffers(value, element, size):
    got, _pointer, type_ = _buffers.writable(value, "x")
    assert (got.size, type_) == (size, element)


@pytest.mark.parametrize("value", [None, 3, 2.5, "text", [1, 2], (), {}, object(), reactant_mpi.IN_PLACE])
def test_no_buffers(value):
    with pytest.raises(ReactantMPIError, match="x must be a NumPy array") as caught:
        _buffers.readable(value, "x")
    assert caught.value.code == _abi.ERR_ARGUMENT


def test_memory_stays_in_place_during_a_call():
    memory = bytearray(8)
    held = _buffers.writable(memory, "x")
    with pytest.raises(BufferError):
        memory.extend(b"more")
    del held
    memory.extend(b"more")


def test_operations():
    for name in "sum min max prod band bor bxor land lor lxor".split():
        value = getattr(_abi, name.upper())
        assert _arguments.operation(name) == _arguments.operation(value) == _arguments.operation(np.int64(value)) == value
        assert getattr(reactant_mpi, name.upper()) == value
    for wrong in ("Sum", "avg", "", None, 0, -1, 2**40, [], sum, max):
        with pytest.raises(ReactantMPIError) as caught:
            _arguments.operation(wrong)
        assert caught.value.code == _abi.ERR_OP


def test_integers():
    assert _arguments.integer(np.int8(3), "root") == 3
    assert _arguments.integer(True, "root") == 1
    for wrong, code in ((2**31, 6), (-(2**31) - 1, 6), (2**70, 6), (1.0, 1), ("1", 1), (None, 1)):
        with pytest.raises(ReactantMPIError, match="root") as caught:
            _arguments.integer(wrong, "root")
        assert caught.value.code == code


def test_nothing_here_has_loaded_the_library():
    assert _library.state.loaded is None
