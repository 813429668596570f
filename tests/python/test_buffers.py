"""Arrays and operations as the C library wants them. Nothing here loads it."""

import array
import ctypes
from types import SimpleNamespace

import numpy as np
import pytest
import reactant_mpi
from reactant_mpi import ReactantMPIError, _abi, _arguments, _buffers, _device, _library


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
        ("float16", 0x2F0),
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


@pytest.mark.parametrize("dtype", "longdouble clongdouble S3 U1 M8[s] m8[s] O f4,f4 >f8 >i4 V2".split())
def test_other_types(dtype):
    with pytest.raises(ReactantMPIError) as caught:
        _buffers.readable(np.zeros(3, dtype), "x")
    assert caught.value.code == _abi.ERR_TYPE
    assert str(caught.value).startswith("x ")


class MLType:
    """What a dtype of ml_dtypes looks like from here."""

    def __init__(self, name, itemsize, isnative=True):
        self.name, self.itemsize, self.isnative, self.str = name, itemsize, isnative, "V"

    def newbyteorder(self, _order):
        return MLType(self.name, self.itemsize)


@pytest.mark.parametrize(
    ("name", "size", "value"), [("bfloat16", 2, 0x2F1), ("float8_e4m3fn", 1, 0x2F2), ("float8_e5m2", 1, 0x2F3)]
)
def test_types_of_ml_dtypes_by_name(name, size, value, monkeypatch):
    monkeypatch.setattr(_buffers, "TYPES", dict(_buffers.TYPES))
    dtype = MLType(name, size)
    assert _buffers._element_of(dtype, "x") == value
    assert _buffers.TYPES[dtype] == value, "looked up once"
    for wrong in (MLType(name, size + 1), MLType(name, size, isnative=False), MLType(name + "fnuz", size)):
        with pytest.raises(ReactantMPIError) as caught:
            _buffers._element_of(wrong, "x")
        assert caught.value.code == _abi.ERR_TYPE


class TorchType:
    def __init__(self, name):
        self.name = name

    def __str__(self):
        return f"torch.{self.name}"


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("float32", 0x210),
        (np.float32, 0x210),
        (float, 0x214),
        (np.dtype("int8"), 0x240),
        ("float16", 0x2F0),
        ("bfloat16", 0x2F1),
        (TorchType("bfloat16"), 0x2F1),
        (TorchType("float8_e5m2"), 0x2F3),
        (TorchType("complex64"), 0x212),
        (TorchType("bool"), 0x238),
    ],
)
def test_types_by_name(dtype, value):
    assert _buffers.element_type(dtype, "x") == value
    buffer = reactant_mpi.DeviceBuffer(0x1000, 3, dtype)
    assert (buffer.pointer, buffer.size, buffer.element, buffer.readonly) == (0x1000, 3, value, False)
    assert _buffers.writable(buffer, "x") == (buffer, 0x1000, value)


@pytest.mark.parametrize("dtype", [None, "longdouble", "float8_e4m3", "nonsense", object(), ">f4", TorchType("qint8"), 3])
def test_no_types(dtype):
    with pytest.raises(ReactantMPIError) as caught:
        reactant_mpi.DeviceBuffer(0x1000, 3, dtype)
    assert caught.value.code == _abi.ERR_TYPE


@pytest.mark.parametrize(("pointer", "count"), [(-1, 3), (2**64, 3), (None, 3), (1.0, 3), (0x1000, -1), (0x1000, "3")])
def test_no_device_memory(pointer, count):
    with pytest.raises(ReactantMPIError) as caught:
        reactant_mpi.DeviceBuffer(pointer, count, "int8")
    assert caught.value.code == _abi.ERR_ARGUMENT


class OnDevice:
    """An array in device memory, as far as it can be seen from here."""

    def __init__(self, shape=(2, 3), typestr="<f4", data=(0x1000, False), **more):
        self.__cuda_array_interface__ = {"shape": shape, "typestr": typestr, "data": data, "version": 3} | more


@pytest.mark.parametrize(
    ("array", "wanted"),
    [
        (OnDevice(), (0x1000, 6, _abi.FLOAT32)),
        (OnDevice(strides=None), (0x1000, 6, _abi.FLOAT32)),
        (OnDevice(strides=(12, 4)), (0x1000, 6, _abi.FLOAT32)),
        (OnDevice((2, 1, 3), strides=(12, 99, 4)), (0x1000, 6, _abi.FLOAT32)),
        (OnDevice((), "|b1"), (0x1000, 1, _abi.BOOL)),
        (OnDevice((0, 3), data=(0, False), strides=(5, 7)), (0, 0, _abi.FLOAT32)),
        (OnDevice((4,), data=(None, False)), (0, 4, _abi.FLOAT32)),
    ],
)
def test_device_arrays(array, wanted):
    buffer = _device.device_buffer(array, "x")
    assert (buffer.pointer, buffer.size, buffer.element) == wanted
    assert _buffers.readable(buffer, "x") == (buffer, buffer.pointer, buffer.element)


def test_the_type_of_the_array_says_more_than_the_interface():
    array = OnDevice(typestr="<V2")
    with pytest.raises(ReactantMPIError):
        _device.device_buffer(array, "x")
    array.dtype = TorchType("bfloat16")
    assert _device.device_buffer(array, "x").element == _abi.BFLOAT16


@pytest.mark.parametrize(
    ("array", "code", "text"),
    [
        (OnDevice(strides=(4, 8)), _abi.ERR_ARGUMENT, "x is not C-contiguous"),
        (OnDevice(strides=(24, 4)), _abi.ERR_ARGUMENT, "x is not C-contiguous"),
        (OnDevice(typestr="<f2x"), _abi.ERR_TYPE, "f2x"),
        (OnDevice(typestr=">f4"), _abi.ERR_TYPE, "byte order"),
        (OnDevice(mask=object()), _abi.ERR_ARGUMENT, "x has a mask"),
        (np.zeros(3), _abi.ERR_ARGUMENT, "x must be in device memory"),
        (None, _abi.ERR_ARGUMENT, "x must be in device memory"),
        (0x1000, _abi.ERR_ARGUMENT, "x must be in device memory"),
    ],
)
def test_no_device_arrays(array, code, text):
    with pytest.raises(ReactantMPIError, match=text) as caught:
        _device.device_buffer(array, "x")
    assert caught.value.code == code


def test_device_arrays_that_are_read_only():
    buffer = _device.device_buffer(OnDevice(data=(0x1000, True)), "x")
    assert _buffers.readable(buffer, "x")[1] == 0x1000
    with pytest.raises(ReactantMPIError, match="x is read-only"):
        _buffers.writable(buffer, "x")


def test_a_device_array_in_a_host_call():
    with pytest.raises(ReactantMPIError, match=r"x is in device memory: use the calls of comm\.on_stream"):
        _buffers.readable(OnDevice(), "x")


@pytest.mark.parametrize(
    ("stream", "wanted"),
    [
        (None, None),
        (0, 0),
        (2**63, 2**63),
        (np.uint64(5), 5),
        (SimpleNamespace(ptr=6), 6),
        (SimpleNamespace(cuda_stream=7), 7),
        (SimpleNamespace(__cuda_stream__=(0, 8)), 8),
        (SimpleNamespace(__cuda_stream__=lambda: (0, 9), ptr=1), 9),
    ],
)
def test_streams(stream, wanted):
    assert _device.stream_pointer(stream) == wanted


@pytest.mark.parametrize("stream", ["5", 1.0, object(), -1, 2**64, SimpleNamespace(ptr=None)])
def test_no_streams(stream):
    with pytest.raises(ReactantMPIError, match="stream") as caught:
        _device.stream_pointer(stream)
    assert caught.value.code == _abi.ERR_ARGUMENT


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
    for name in "sum min max prod band bor bxor land lor lxor avg".split():
        value = getattr(_abi, name.upper())
        assert _arguments.operation(name) == _arguments.operation(value) == _arguments.operation(np.int64(value)) == value
        assert getattr(reactant_mpi, name.upper()) == value
    for wrong in ("Sum", "mean", "", None, 0, -1, 2**40, [], sum, max):
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
