"""What must be in the environment when jaxlib is loaded.

The collectives of jaxlib that are called `mpi` do not call an MPI, but a library named by MPITRAMPOLINE_LIB, which jaxlib opens when it
is loaded, and never again. Ours, libreactant_mpi_wrapper.so, brings them to libreactant_mpi.so.
"""

import ctypes
import os
import sys
from pathlib import Path

from .. import _abi
from .._library import candidates

VARIABLE = "MPITRAMPOLINE_LIB"
FILE = "libreactant_mpi_wrapper.so"

HOW = (
    "Put `import reactant_mpi.jax` before the first import of jax in the program, or start it by `python -m reactant_mpi run script.py`"
)


def prepare() -> None:
    """Name our library to a jaxlib that is loaded later. What the user has set stays; never fails."""
    if not os.environ.get(VARIABLE) and not _is_late():
        path = wrapper_path()
        # jaxlib ends the process where the file is missing.
        if path:
            os.environ[VARIABLE] = path


def wrapper_path() -> str | None:
    """The library, which lies beside libreactant_mpi.so; None if there is none."""
    for library in candidates():
        path = Path(library).parent / FILE
        if os.sep in library and path.is_file():
            return str(path.resolve())
    return None


def wrapper() -> ctypes.CDLL | None:
    """The library as jaxlib has loaded it; None if it has not."""
    path = wrapper_path()
    if path is None:
        return None
    try:
        library = ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return None
    library.reactant_mpi_wrapper_use.argtypes = [ctypes.c_int64, ctypes.c_int]
    library.reactant_mpi_wrapper_error.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    library.reactant_mpi_wrapper_version.restype = ctypes.c_uint32
    return library


def failure() -> int:
    """Code of the first collective of JAX that has failed on MPI; 0 if none has."""
    library = wrapper()
    return library.reactant_mpi_wrapper_error(None, 0) if library is not None else 0


def why_not() -> str | None:
    """Why the collectives `mpi` of jaxlib, which is loaded, are not ours; None if they are."""
    path, chosen, loaded = wrapper_path(), os.environ.get(VARIABLE), wrapper()
    if loaded is not None:
        version = loaded.reactant_mpi_wrapper_version()
        if version >> 8 == _abi.VERSION >> 8:
            return None
        return f"{path} is version {version >> 16}.{version >> 8 & 255}, wanted {_abi.VERSION_MAJOR}.{_abi.VERSION_MINOR}"
    if path is None:
        return f"there is no {FILE} beside libreactant_mpi.so, in {', '.join(sorted({str(Path(c).parent) for c in candidates() if os.sep in c}))}"
    if chosen and not _same(chosen, path):
        return f"{VARIABLE}={chosen} has been set, which is another library than {path}. Unset it"
    return f"jaxlib was imported before {VARIABLE} could be set to {path}, and reads it only then. {HOW}"


def _same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _is_late() -> bool:
    # jaxlib itself is a package of Python files; what opens the library is below it.
    return any(name.startswith("jaxlib._") for name in sys.modules)
