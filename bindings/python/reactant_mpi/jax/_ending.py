"""The end of JAX's part: in order with all ranks, or, after a failure, alone and soon."""

import atexit
import contextlib
import faulthandler
import os
import sys
import time

from .. import ReactantMPIError
from .._end import crashed
from . import _devices

PATIENCE_S = 10
HEAD_START_S = 1
_original = {}


def prepare(jax, state) -> None:
    """From now on, end JAX's part when the interpreter ends, before JAX ends it. And take jax.distributed's calls upon us."""
    atexit.register(_at_exit, state)
    _original.update(shutdown=jax.distributed.shutdown)
    jax.distributed.initialize = _is_done
    jax.distributed.shutdown = lambda: end_in_order(state)


def _is_done(*_arguments, **_named) -> None:
    """jax.distributed.initialize() of a program: reactant_mpi.jax.initialize() has done it, for the ranks of MPI."""


def end_in_order(state) -> None:
    """Wait for JAX's computations, then for the other ranks; then the service's clients end, and after them the service."""
    import jax

    _wait_for_computations(jax)
    if jax.distributed.is_initialized():
        state.control.barrier()
        if state.comm.rank:
            _original["shutdown"]()
        state.control.barrier()
        _original["shutdown"]()


def _wait_for_computations(jax) -> None:
    if not _devices.used(jax):
        return
    from jax.extend.backend import backends

    for platform in backends():
        for array in jax.live_arrays(platform):
            with contextlib.suppress(Exception):  # given away, or failed, which was the program's to look at
                array.block_until_ready()


def _at_exit(state) -> None:
    if state.ended:
        return
    state.ended = True
    if crashed():
        if state.comm.rank == 0:
            # The service ends with this rank, and ends those of its clients that are still there. After a fault of all ranks they go now.
            time.sleep(HEAD_START_S)
        _leave_soon()
        return
    try:
        end_in_order(state)
    except ReactantMPIError as error:
        sys.stderr.write(f"reactant_mpi.jax: rank {state.comm.rank} ends without the others: {error}\n")
        _leave_soon()


def _leave_soon() -> None:
    """What still ends in this process, a client of JAX or another MPI, may wait for ranks that never come: not for long."""
    faulthandler.dump_traceback_later(PATIENCE_S, exit=True, file=open(os.devnull, "w"))
