"""What compiled code (Enzyme-JAX) needs: the names that it calls, and its failures, at whose results it does not look."""

import ctypes
from collections.abc import Callable

from . import _abi
from ._library import check, library
from .errors import ReactantMPIError

_GENERATIONS = {"g1": _abi.SYMBOLS_G1, "g2": _abi.SYMBOLS_G2, "g3": _abi.SYMBOLS_G3}
_POLICIES = {None: 0, "return": _abi.ERRORS_RETURN, "log": _abi.ERRORS_LOG, "abort": _abi.ERRORS_ABORT}
_SET_CONSTANT = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int)
_TEXT_BYTES = 8192


def register_symbols(map: int | Callable, generation: str = "g1", on_error: str | None = None) -> None:
    """Tell the names that compiled code calls and what they stand for. Local; once and early.

    map         EnzymeJaXMapSymbol (enzymexla_set_mpi_constant with "g3") as its address or a function of ctypes; or a
                Python function (name, value) that is called during this call only, with "g3" (name, value, is_pointer)
    generation  "g1": enzymexla.mpi operations, "g2": comm.mpi and comm.nccl operations and FFI handlers, "g3": constants of
                FFI handlers
    on_error    what a failure in compiled code does: "return" (nothing: ask check_compiled), "log" (one line for each communicator),
                "abort" (the job ends); None: by REACTANT_MPI_COMPILED_ERRORS, else "log"

    Raises ReactantMPIError, ValueError.   reactant_mpi_register_symbols in reactant_mpi.h.
    """
    if generation not in _GENERATIONS:
        raise ValueError(f"generation is one of {', '.join(_GENERATIONS)}, not {generation!r}")
    if on_error not in _POLICIES:
        raise ValueError(f"on_error is one of None, 'return', 'log', 'abort', not {on_error!r}")
    callback = map
    failures = []
    if callable(map) and not isinstance(map, ctypes._CFuncPtr):  # a function of a library goes as it is

        def forward(name, value, *rest):
            try:
                map(name.decode(), value or 0, *rest)
            except Exception as error:  # noqa: BLE001 - nothing may be raised through C
                failures.append(error)

        callback = (_SET_CONSTANT if generation == "g3" else _abi.MAP_FN)(forward)
    address = ctypes.cast(callback, ctypes.c_void_p)
    check(library().register_symbols(ctypes.cast(address, _abi.MAP_FN), _GENERATIONS[generation] | _POLICIES[on_error]))
    if failures:
        raise failures[0]


def check_compiled() -> None:
    """Raise the first failure in compiled code since the last call of this, as ReactantMPIError; nothing if there was none. Local.

    Call it after compiled code has run: block until its results are there first.
    """
    text = ctypes.create_string_buffer(_TEXT_BYTES)
    code = library().compiled_error(text, _TEXT_BYTES)
    if code:
        raise ReactantMPIError(code, text.value.decode(errors="replace"))
