"""Options of initialize, from Python values to the C struct."""

import os
import sys
from numbers import Real

from . import _abi
from .errors import ReactantMPIError

_GPU = {"auto": _abi.GPU_AUTO, "off": _abi.GPU_OFF, "required": _abi.GPU_REQUIRED}
_THREAD_LEVEL = {
    "single": _abi.THREAD_SINGLE,
    "funneled": _abi.THREAD_FUNNELED,
    "serialized": _abi.THREAD_SERIALIZED,
    "multiple": _abi.THREAD_MULTIPLE,
}
_CLIENT = {
    "none": _abi.CLIENT_NONE,
    "external": _abi.CLIENT_EXTERNAL,
    "reactant": _abi.CLIENT_REACTANT,
    "pjrt": _abi.CLIENT_PJRT,
}
_HALF = {"pairwise": _abi.HALF_PAIRWISE, "f32": _abi.HALF_F32}
_ON_OFF = {"off": 0, "on": 1}

# C keeps the address of a log function for the life of the process, so these live as long. One per Python function.
_log_functions = {}


def options(
    *,
    gpu=None,
    thread_level=None,
    launcher_check=None,
    timeout_ms=None,
    max_count=None,
    libmpi=None,
    mpi_dirs=None,
    log=None,
    device=None,
    client=None,
    preallocate=None,
    memory_fraction=None,
    nccl_nonblocking=None,
    libnccl=None,
    libxla=None,
    call_timeout_ms=None,
    check=None,
    half=None,
    trace=None,
) -> _abi.Options:
    """The struct; None leaves an option unset."""
    struct = _abi.Options(*_abi.OPTIONS_INIT)
    if gpu is not None:
        struct.gpu = _choice("gpu", gpu, _GPU)
    if thread_level is not None:
        struct.thread_level = _choice("thread_level", thread_level, _THREAD_LEVEL)
    if launcher_check is not None:
        struct.launcher_check = _choice("launcher_check", launcher_check, _ON_OFF)
    if timeout_ms is not None:
        struct.timeout_ms = _number("timeout_ms", timeout_ms, 0, 2**31 - 1)
    if max_count is not None:
        struct.max_count = _number("max_count", max_count, 1, 2**30)
    if libmpi is not None:
        struct.libmpi = _path("libmpi", libmpi)
    if mpi_dirs is not None:
        folders = [mpi_dirs] if isinstance(mpi_dirs, (str, os.PathLike)) else mpi_dirs
        struct.mpi_dirs = b":".join(_path("mpi_dirs", folder) for folder in folders)
    if log is not None:
        struct.log_fn = _log_function(log)
    if device is not None:
        struct.device = _number("device", device, 0, 2**15)
    if client is not None:
        struct.client = _choice("client", client, _CLIENT)
    if preallocate is not None:
        struct.preallocate = _choice("preallocate", preallocate, _ON_OFF)
    if memory_fraction is not None:
        struct.memory_fraction = _fraction("memory_fraction", memory_fraction)
    if nccl_nonblocking is not None:
        struct.nccl_nonblocking = _choice("nccl_nonblocking", nccl_nonblocking, _ON_OFF)
    if libnccl is not None:
        struct.libnccl = _path("libnccl", libnccl)
    if libxla is not None:
        struct.libxla = _path("libxla", libxla)
    if call_timeout_ms is not None:
        struct.call_timeout_ms = _number("call_timeout_ms", call_timeout_ms, 0, 2**31 - 1)
    if check is not None:
        struct.check = _choice("check", check, _ON_OFF)
    if half is not None:
        struct.half = _choice("half", half, _HALF)
    if trace is not None:
        struct.trace = _path("trace", trace)
    return struct


def default_mpi_dirs() -> list[str]:
    """Where an MPI from a wheel or a conda package lies: the prefixes of this Python. After those that the user has named."""
    folders = [
        os.environ.get("REACTANT_MPI_MPI_DIRS"),
        sys.prefix,
        os.environ.get("VIRTUAL_ENV"),
        sys.exec_prefix,
        sys.base_prefix,
    ]
    return list(dict.fromkeys(folder for folder in folders if folder))


def _choice(name: str, value, choices: dict) -> int:
    if isinstance(value, str) and value in choices:
        return choices[value]
    if not isinstance(value, str) and value in choices.values():
        return int(value)
    raise ReactantMPIError(_abi.ERR_OPTION, f"{name} = {value!r:.60}: possible are {', '.join(map(repr, choices))}")


def _number(name: str, value, low: int, high: int) -> int:
    if isinstance(value, int) and low <= value <= high:
        return value
    raise ReactantMPIError(_abi.ERR_OPTION, f"{name} = {value!r:.60}: must be an integer from {low} to {high}")


def _fraction(name: str, value) -> float:
    if isinstance(value, Real) and not isinstance(value, bool) and 0 < value <= 1:
        return float(value)
    raise ReactantMPIError(_abi.ERR_OPTION, f"{name} = {value!r:.60}: must be a number above 0, up to 1")


def _path(name: str, value) -> bytes:
    try:
        path = os.fsencode(value)
    except TypeError:
        raise ReactantMPIError(_abi.ERR_OPTION, f"{name} = {value!r:.60}: must be a path") from None
    if b"\0" in path:
        raise ReactantMPIError(_abi.ERR_OPTION, f"{name} = {value!r:.60}: contains a zero byte")
    return path


def _log_function(log):
    if not callable(log):
        raise ReactantMPIError(_abi.ERR_OPTION, f"log = {log!r:.60}: must be a function log(level, text)")
    if log not in _log_functions:
        _log_functions[log] = _abi.LOG_FN(lambda _arg, level, text: log(level, text.decode(errors="replace")))
    return _log_functions[log]
