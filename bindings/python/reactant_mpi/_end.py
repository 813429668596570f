"""The end of MPI: finalize at exit of a program that went well."""

import atexit
import sys

from ._library import check, functions, state

_registered = False


def finalize_at_exit() -> None:
    """From now on, end everything when the interpreter ends. Called before MPI may be initialised."""
    global _registered
    if not _registered:
        _registered = True
        atexit.register(_at_exit)


def end_everything() -> None:
    """reactant_mpi_finalize(NULL)."""
    check(functions.finalize(None))


def _at_exit() -> None:
    if not state.usable:
        return
    # After an uncaught exception the other ranks wait in some call, and would not meet this one in MPI_Finalize: leaving
    # without it lets the launcher see the failure and end the job.
    if not _crashed():
        end_everything()
    state.usable = False


def _crashed() -> bool:
    interactive = sys.flags.interactive or hasattr(sys, "ps1")
    return not interactive and (hasattr(sys, "last_value") or hasattr(sys, "last_exc"))
