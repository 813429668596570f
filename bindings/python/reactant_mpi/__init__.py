"""Reactant MPI: collectives over whatever MPI is found at run time, on NumPy arrays.

    import numpy as np
    import reactant_mpi

    with reactant_mpi.initialize() as comm:
        total = comm.allreduce(np.arange(4.0) * comm.rank)

Importing loads nothing: the C library, and with it MPI, is opened at the first initialize() or describe().
Functions release the GIL, block unless their name begins with an I, and raise ReactantMPIError (.code, .name) on failure. Collective
ones must be called by every rank of the communicator, in the same order. Times are in milliseconds. Ctrl-C in a process that waits
in a call is KeyboardInterrupt when the call returns, not before; use wait_for, Test or a timeout where it must be noticed.
"""

from ._abi import (
    ANY_SOURCE,
    ANY_TAG,
    AVG,
    BAND,
    BOR,
    BXOR,
    LAND,
    LOR,
    LXOR,
    MAX,
    MIN,
    PROC_NULL,
    PROD,
    SUM,
)
from ._arguments import IN_PLACE
from ._buffers import DeviceBuffer
from ._comm import Communicator, describe, finalize, initialize
from ._compiled import check_compiled, register_symbols
from ._library import library, library_path
from ._prepared import Prepared
from ._request import Request
from ._status import Status
from ._stream import OnStream, group
from ._version import __version__
from .errors import ReactantMPIError

__all__ = [
    "ANY_SOURCE",
    "ANY_TAG",
    "AVG",
    "BAND",
    "BOR",
    "BXOR",
    "IN_PLACE",
    "LAND",
    "LOR",
    "LXOR",
    "MAX",
    "MIN",
    "PROC_NULL",
    "PROD",
    "SUM",
    "Communicator",
    "DeviceBuffer",
    "OnStream",
    "Prepared",
    "ReactantMPIError",
    "Request",
    "Status",
    "__version__",
    "check_compiled",
    "describe",
    "finalize",
    "group",
    "initialize",
    "library",
    "library_path",
    "register_symbols",
]
