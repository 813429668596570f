"""What initialize makes of its arguments, the exception, and the documentation. Nothing here starts MPI."""

import ctypes
import inspect
import pickle
import sys
from types import SimpleNamespace

import pytest
import reactant_mpi
from reactant_mpi import ReactantMPIError, _abi, _comm, _options


def test_options_unset():
    """Byte for byte what REACTANT_MPI_OPTIONS_INIT is."""
    assert bytes(_options.options()) == bytes(_abi.Options(*_abi.OPTIONS_INIT))
    struct = _options.options()
    assert struct.size == ctypes.sizeof(struct)
    assert (struct.gpu, struct.thread_level, struct.launcher_check, struct.timeout_ms) == (-1, -1, -1, -1)
    assert (struct.device, struct.client, struct.preallocate, struct.nccl_nonblocking) == (-1, -1, -1, -1)
    assert (struct.max_count, struct.libmpi, struct.mpi_dirs, bool(struct.log_fn)) == (0, None, None, False)
    assert (struct.memory_fraction, struct.libnccl, struct.libxla) == (0, None, None)
    assert (struct.call_timeout_ms, struct.check, struct.half, struct.reserved, struct.trace) == (-1, -1, -1, 0, None)


def test_options_set(tmp_path):
    lines = []
    struct = _options.options(
        gpu="required",
        thread_level="funneled",
        launcher_check=False,
        timeout_ms=0,
        max_count=7,
        libmpi=tmp_path,
        mpi_dirs=["/a", "/b"],
        log=lambda *line: lines.append(line),
    )
    assert (struct.gpu, struct.thread_level, struct.launcher_check, struct.timeout_ms, struct.max_count) == (2, 1, 0, 0, 7)
    assert (struct.libmpi, struct.mpi_dirs) == (bytes(tmp_path), b"/a:/b")
    struct.log_fn(None, 2, "ü".encode())
    assert lines == [(2, "ü")]


def test_gpu_options_set(tmp_path):
    struct = _options.options(
        device=3, client="pjrt", preallocate="on", memory_fraction=0.25, nccl_nonblocking=True, libnccl=tmp_path, libxla="/x.so"
    )
    assert (struct.device, struct.client, struct.preallocate, struct.nccl_nonblocking) == (3, 3, 1, 1)
    assert (struct.memory_fraction, struct.libnccl, struct.libxla) == (0.25, bytes(tmp_path), b"/x.so")
    assert _options.options(preallocate=False, nccl_nonblocking="off", device=0, memory_fraction=1).preallocate == 0
    for name, value in {"none": 0, "external": 1, "reactant": 2}.items():
        assert _options.options(client=name).client == _options.options(client=value).client == value


def test_options_of_calls_set(tmp_path):
    struct = _options.options(call_timeout_ms=5, check="on", half="f32", trace=tmp_path)
    assert (struct.call_timeout_ms, struct.check, struct.half, struct.trace) == (5, 1, 1, bytes(tmp_path))
    struct = _options.options(call_timeout_ms=0, check=False, half="pairwise")
    assert (struct.call_timeout_ms, struct.check, struct.half) == (0, 0, 0)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("gpu", "yes"),
        ("gpu", 3),
        ("thread_level", "multi"),
        ("timeout_ms", -1),
        ("max_count", 0),
        ("libmpi", 3),
        ("device", -1),
        ("device", 2**15 + 1),
        ("device", "0"),
        ("device", 1.0),
        ("client", "jax"),
        ("client", 4),
        ("preallocate", "yes"),
        ("nccl_nonblocking", 2),
        ("memory_fraction", 0),
        ("memory_fraction", 1.5),
        ("memory_fraction", float("nan")),
        ("memory_fraction", "0.5"),
        ("memory_fraction", True),
        ("libnccl", 5),
        ("libnccl", "a\0b"),
        ("libxla", b"\0"),
        ("call_timeout_ms", -1),
        ("call_timeout_ms", 1.5),
        ("check", "yes"),
        ("half", "f16"),
        ("half", 2),
        ("trace", 5),
    ],
)
def test_options_refused(option, value):
    with pytest.raises(ReactantMPIError, match=f"^{option} = ") as caught:
        _options.options(**{option: value})
    assert caught.value.code == _abi.ERR_OPTION


def test_every_option_is_offered():
    """By initialize and by options(), under the names of the header; log stands for log_fn and log_arg."""
    fields = {name for name, _ in _abi.Options._fields_} - {"size", "log_fn", "log_arg", "reserved"} | {"log"}
    assert set(inspect.signature(_options.options).parameters) == fields
    assert set(inspect.signature(reactant_mpi.initialize).parameters) == fields | {"comm"}


def test_default_folders_come_after_the_users(monkeypatch):
    monkeypatch.setenv("REACTANT_MPI_MPI_DIRS", "/mine:/yours")
    monkeypatch.setenv("VIRTUAL_ENV", "/venv")
    folders = _options.default_mpi_dirs()
    assert folders[0] == "/mine:/yours"
    assert "/venv" in folders
    assert len(folders) == len(set(folders))


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (None, ("initialize_with", 0)),
        (0x44000000, ("initialize_with", 0x44000000)),
        (-2080374784, ("initialize_with", 0xFFFFFFFF84000000)),
        (2**64 - 1, ("initialize_with", 2**64 - 1)),
    ],
)
def test_handles(given, wanted):
    assert _comm._host_handle(given) == wanted


class TheirComm:
    def py2f(self):
        return 7


@pytest.mark.parametrize(
    ("handleof", "wanted"),
    [
        ({"_handleof": lambda comm: 2**64 - 3}, ("initialize_with", 2**64 - 3)),
        ({"_handleof": lambda comm: -3}, ("initialize_with", 2**64 - 3)),
        ({}, ("initialize_fint", 7)),  # mpi4py before 4
    ],
)
def test_communicators_of_mpi4py(monkeypatch, handleof, wanted):
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", SimpleNamespace(Comm=TheirComm, **handleof))
    assert _comm._host_handle(TheirComm()) == wanted
    assert _comm._host_handle(type("Sub", (TheirComm,), {})()) == wanted


def test_error():
    error = ReactantMPIError(2, "not a communicator")
    assert (error.code, error.name, error.text) == (2, "ERR_COMM", "not a communicator")
    assert str(error) == "not a communicator (ERR_COMM, code 2)"
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.code, again.text) == (ReactantMPIError, 2, "not a communicator")
    assert ReactantMPIError(99, "").name == "unknown code"
    assert isinstance(error, RuntimeError)


def test_every_public_thing_is_documented():
    for name in reactant_mpi.__all__:
        thing = getattr(reactant_mpi, name)
        if isinstance(thing, type):
            for member, value in vars(thing).items():
                if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                    assert value.__doc__, f"{name}.{member}"
        assert isinstance(thing, (int, str)) or thing.__doc__, name
    for base in reactant_mpi.Communicator.__mro__[1:-1]:
        for member, value in vars(base).items():
            assert member.startswith("_") or value.__doc__, f"{base.__name__}.{member}"
