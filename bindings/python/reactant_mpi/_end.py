"""The end of MPI: finalize at exit of a program that went well."""

import atexit
import gc
import sys
import time

from ._forgotten import look_after_forgotten
from ._library import check, functions, state
from ._prepared import Prepared
from ._request import Request
from .errors import ReactantMPIError

PATIENCE_S = 2
_registered = False


def finalize_at_exit() -> None:
    """From now on, end everything when the interpreter ends. Called before MPI may be initialised."""
    global _registered
    if not _registered:
        _registered = True
        atexit.register(_at_exit)


def end_everything() -> None:
    """reactant_mpi_finalize(NULL)."""
    _settle()
    check(functions.finalize(None))


def _settle() -> None:
    """Let calls under way come to their end: MPIs may crash in MPI_Finalize where one ends there."""
    # By what they are, and not isinstance: that asks some objects, which may not be ready for it now.
    still = [request for request in gc.get_objects() if type(request) in (Request, Prepared) and request._under_way]
    end = time.monotonic() + PATIENCE_S
    while True:
        still = [request for request in still if _under_way(request)]
        left = len(still) + look_after_forgotten()
        if not left:
            return
        if time.monotonic() > end:
            break
        time.sleep(0.0005)
    text = f"reactant_mpi: {left} started calls are not done when everything ends: other ranks have not joined them\n"
    sys.stderr.write(text)  # one write: the ranks share the terminal


def _under_way(request) -> bool:
    try:
        return not request.Test()
    except ReactantMPIError:
        return False


def _at_exit() -> None:
    if not state.usable:
        return
    # After an uncaught exception the other ranks wait in some call, and would not meet this one in MPI_Finalize: leaving
    # without it lets the launcher see the failure and end the job.
    if not crashed():
        end_everything()
    state.usable = False


def crashed() -> bool:
    interactive = sys.flags.interactive or hasattr(sys, "ps1")
    return not interactive and (hasattr(sys, "last_value") or hasattr(sys, "last_exc"))
