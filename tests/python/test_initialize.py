"""What initialize makes of its arguments, the exception, and the documentation. Nothing here starts MPI."""

import ctypes
import pickle
import sys
from types import SimpleNamespace

import pytest
import reactant_mpi
from reactant_mpi import ReactantMPIError, _comm, _options


def unset():
    return dict.fromkeys(("gpu", "thread_level", "launcher_check", "timeout_ms", "max_count", "libmpi", "mpi_dirs", "log"))


def test_options_unset():
    struct = _options.options(**unset())
    assert struct.size == ctypes.sizeof(struct)
    assert (struct.gpu, struct.thread_level, struct.launcher_check, struct.timeout_ms) == (-1, -1, -1, -1)
    assert (struct.max_count, struct.libmpi, struct.mpi_dirs, bool(struct.log_fn)) == (0, None, None, False)


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
