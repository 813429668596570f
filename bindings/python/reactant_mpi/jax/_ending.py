"""The end of JAX's part: in order with all ranks, or, after a failure, alone and soon."""

import atexit
import contextlib
import logging
import os
import sys
import time

from .. import ReactantMPIError, _abi, _library
from .._end import crashed
from . import _devices, _start

# What rank 0, with the service, leaves to the others after a failure of its own, or of another.
HEAD_START_S = 1
RESPITE_S = 10
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
        _meet(state)
        if state.comm.rank:
            _original["shutdown"]()
        _meet(state)
        _original["shutdown"]()


def _meet(state) -> None:
    """All ranks have come. Where a collective of JAX has failed they may never, and are not waited for as long."""
    patience_s = RESPITE_S if _start.failure() else state.patience_s
    try:
        state.control.Ibarrier().wait_for(1000 * patience_s)
    except ReactantMPIError as error:
        if error.code not in (_abi.ERR_COMM, _abi.ERR_MPI_FINALIZED):
            raise
        # All ranks have met in reactant_mpi.finalize(), and have nothing left to meet by. The service ends last.
        if state.comm.rank == 0:
            time.sleep(HEAD_START_S)


def _wait_for_computations(jax) -> None:
    if not _devices.used(jax):
        return
    from jax.extend.backend import backends

    for platform in backends():
        for array in jax.live_arrays(platform):
            with contextlib.suppress(Exception):  # given away, or failed, which was the program's to look at
                array.block_until_ready()


def _at_exit(state) -> None:
    if state.ended or not _library.state.usable:  # a forked child
        return
    state.ended = True
    if crashed():
        _give_up(state.comm, _exit_code(sys.last_value))
    try:
        end_in_order(state)
    except ReactantMPIError as error:
        sys.stderr.write(f"reactant_mpi.jax: rank {state.comm.rank} ends without the others: {error}\n")
        if state.comm.rank == 0:
            time.sleep(RESPITE_S)
        _leave(1)  # what the program wanted as its exit code is not known here


def _give_up(comm, code: int):
    """After an uncaught exception, when the others may wait for this rank, in calls that never end. The launcher ends them."""
    if comm.rank == 0:
        # JAX's service ends with this rank, and ends its clients with many words. If they have failed as well, they leave now.
        time.sleep(HEAD_START_S)
        with contextlib.suppress(ReactantMPIError):
            comm.abort(code)
    _leave(code)


def _exit_code(error: BaseException) -> int:
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    return 130 if isinstance(error, KeyboardInterrupt) else 1


def _leave(code: int):
    """Not through what else ends here, clients of JAX or another MPI: they wait for ranks that never come, or end the process."""
    sys.stdout.flush()
    sys.stderr.flush()
    logging.shutdown()
    os._exit(code)
