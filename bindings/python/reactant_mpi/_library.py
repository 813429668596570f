"""Finding and loading libreactant_mpi.so, once, at first use."""

import ctypes
import os
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

from . import _abi
from .errors import ReactantMPIError

SONAME = f"libreactant_mpi.so.{_abi.VERSION_MAJOR}"
VARIABLE = "REACTANT_MPI_LIBRARY"

# The functions of the library by their short name: functions.allreduce(...). Filled by load().
functions = SimpleNamespace()

# loaded: the CDLL. usable: calls may enter the library; False before loading, after its end, and in a forked child.
state = SimpleNamespace(loaded=None, usable=False)

_lock = threading.Lock()


def load() -> None:
    """Load the library unless it is loaded. Raises ImportError, listing what was tried, if there is none."""
    with _lock:
        if state.loaded is not None:
            return
        library = _open()
        vars(functions).update(_functions(library))
        state.loaded, state.usable = library, True
        os.register_at_fork(after_in_child=_refuse_everything)


def library_path() -> str:
    """Path of libreactant_mpi.so as it was opened. Loads it; local; raises ImportError if there is none."""
    load()
    return state.loaded._name


def library() -> SimpleNamespace:
    """Every function of the C library by its name without reactant_mpi_, with the prototype of reactant_mpi.h, by ctypes.

    For what has no method here, as library().alltoallv_stream(...): integers are taken as pointers, comm.handle or
    comm.id as the communicator, DeviceBuffer.element as a type, and the result is the code. Loads the library; raises ImportError if there is none.
    """
    load()
    return functions


def candidates() -> list[str]:
    """Where the library may be, in the order tried. REACTANT_MPI_LIBRARY alone counts when it is set."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return [chosen]
    here = Path(__file__).resolve().parent
    packaged = here / "_lib"
    found = sorted(packaged.glob(SONAME + "*")) or [packaged / SONAME]
    checkout = here.parents[2]
    if (checkout / "include" / "reactant_mpi.h").is_file():
        found.append(checkout / "build" / SONAME)
    prefixes = dict.fromkeys((sys.prefix, sys.base_prefix))
    found += [Path(prefix, "lib", SONAME) for prefix in prefixes]
    return [str(path) for path in found] + [SONAME]


def _open() -> ctypes.CDLL:
    tried = []
    for path in candidates():
        if os.sep in path and not os.path.exists(path):
            tried.append(f"{path}: no such file")
            continue
        try:
            # CDLL and not PyDLL: the GIL is released during every call.
            return _checked(ctypes.CDLL(path), path)
        except OSError as error:
            tried.append(f"{path}: {error}")
    raise ImportError(
        f"{SONAME} cannot be loaded. Tried:\n  "
        + "\n  ".join(tried)
        + f"\nSet {VARIABLE} to its path, or run `make build` in the checkout."
    )


def _checked(library: ctypes.CDLL, path: str) -> ctypes.CDLL:
    missing = [name for name in _abi.FUNCTIONS if not hasattr(library, f"reactant_mpi_{name}")]
    if missing:
        raise OSError(f"not a libreactant_mpi of version {_abi.VERSION_MAJOR}.{_abi.VERSION_MINOR}: no reactant_mpi_{missing[0]}")
    library.reactant_mpi_version.restype = ctypes.c_uint32
    version = library.reactant_mpi_version()
    if version >> 8 != _abi.VERSION >> 8:
        raise OSError(f"is version {version >> 16}.{version >> 8 & 255}, wanted {_abi.VERSION_MAJOR}.{_abi.VERSION_MINOR}")
    return library


def _functions(library: ctypes.CDLL) -> dict:
    found = {}
    for name, (result, arguments) in _abi.FUNCTIONS.items():
        function = library[f"reactant_mpi_{name}"]
        function.restype, function.argtypes = result, arguments
        found[name] = function
    return found


def _refuse_everything() -> None:
    """In a forked child: MPI does not survive a fork, so no call may enter the library."""
    state.usable = False
    vars(functions).update(dict.fromkeys(_abi.FUNCTIONS, _refuse))


def _refuse(*_arguments):
    raise ReactantMPIError(
        _abi.ERR_FORKED,
        f"process {os.getpid()} was forked from one that had loaded Reactant MPI, and MPI does not survive a fork: "
        "start processes with multiprocessing's 'spawn' or 'forkserver', or subprocess",
    )


def check(code: int) -> None:
    """Raise the failure that a function has just returned on this thread; nothing for 0."""
    if code:
        raise ReactantMPIError(code, last_error())


def last_error() -> str:
    return functions.last_error().decode(errors="replace")
