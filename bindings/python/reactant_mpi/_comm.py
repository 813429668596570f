"""The communicator, and the functions that make and end them."""

import ctypes
import json
import sys
from operator import index

from . import _abi, _end, _library
from ._buffer_calls import BufferCalls
from ._derived import Derived, c_int
from ._library import check, functions, last_error
from ._options import default_mpi_dirs, options
from ._point_to_point import PointToPoint
from ._prepared_calls import PreparedCalls
from ._started_calls import StartedCalls
from ._stream import OnStream
from ._value_calls import ValueCalls
from .errors import ReactantMPIError

_initialized_before = False


def initialize(
    comm=None,
    *,
    gpu: str | None = None,
    thread_level: str | None = None,
    launcher_check: str | bool | None = None,
    timeout_ms: int | None = None,
    max_count: int | None = None,
    libmpi=None,
    mpi_dirs=None,
    log=None,
    device: int | None = None,
    client: str | None = None,
    preallocate: str | bool | None = None,
    memory_fraction: float | None = None,
    nccl_nonblocking: str | bool | None = None,
    libnccl=None,
    libxla=None,
    call_timeout_ms: int | None = None,
    check: str | bool | None = None,
    half: str | None = None,
    trace=None,
) -> "Communicator":
    """Make a communicator over the ranks of a communicator of MPI. Collective over those ranks, blocking.

    comm  None for all ranks (MPI_COMM_WORLD), an mpi4py communicator, or the handle of one in the host's MPI as an integer

    Finds MPI and initialises it, unless that has been done (as by mpi4py). Works on a duplicate of `comm`. The same communicator
    again gives one with the same id, which has its own end.

    Options; each is by default taken from the environment variable REACTANT_MPI_<NAME>. Those marked (process) count at the
    first call of the process only; a later different value gives code 8.
      gpu               "auto", "off" or "required"
      thread_level      "single", "funneled", "serialized" or "multiple", where MPI is initialised here (process)
      launcher_check    "on" or "off": refuse to run as n worlds of one rank
      timeout_ms        longest wait for the other ranks; 0 = for ever
      max_count         elements handed to MPI in one call, 1 to 2**30
      libmpi            path or name of the MPI library (process)
      mpi_dirs          folders or prefixes searched for an MPI; by default those of this Python (process)
      log               function log(level, text) that receives log lines instead of standard error; level 1 is an error, 4 a
                        detail (process)
      call_timeout_ms   longest wait of a call on host buffers, as Communicator.set_timeout; 0 = for ever, the default
      check             "on" or "off": before each collective on host buffers the ranks compare what they are about to do, and a
                        difference is code 30 with every rank's view
      half              "pairwise" or "f32": float16 and bfloat16 are reduced pair by pair, or in float32 and rounded once
      trace             folder for a trace of every call, one file a rank; `python -m reactant_mpi trace DIR` joins them (process)
    Where there are GPUs, each rank gets exactly one, and a communicator of NCCL or RCCL over the same ranks:
      device            ordinal of this rank's GPU, after CUDA_VISIBLE_DEVICES and the like; by default it is chosen
      client            who makes the XLA client: "none", "external" (you, with comm.device), "reactant" or "pjrt"
      preallocate       "on" or "off": XLA takes its share of the memory at once
      memory_fraction   XLA's share of the device memory, above 0, up to 1
      nccl_nonblocking  "on" or "off": start NCCL non-blocking, so that a start that hangs can be aborted
      libnccl           path or name of NCCL or RCCL (process)
      libxla            path of libReactantExtra or of a PJRT plugin

    Errors: 1 comm is nothing of the kind, 8, 9, 11 option, 20 forked, 30 ranks disagree, 31 timeout, 32 another rank failed,
    40 no MPI, 41 unknown MPI, 42 launcher of another MPI, 43 MPI has been finalized, 44 MPI failed, 60 to 69 GPUs and
    NCCL, 80 and 81 the XLA client.
    ImportError where libreactant_mpi.so is not found.
    """
    global _initialized_before
    _library.load()
    if mpi_dirs is None and not _initialized_before:
        mpi_dirs = default_mpi_dirs()
    wishes = options(
        gpu=gpu,
        thread_level=thread_level,
        launcher_check=launcher_check,
        timeout_ms=timeout_ms,
        max_count=max_count,
        libmpi=libmpi,
        mpi_dirs=mpi_dirs,
        log=log,
        device=device,
        client=client,
        preallocate=preallocate,
        memory_fraction=memory_fraction,
        nccl_nonblocking=nccl_nonblocking,
        libnccl=libnccl,
        libxla=libxla,
        call_timeout_ms=call_timeout_ms,
        check=check,
        half=half,
        trace=trace,
    )
    function, handle = _host_handle(comm)
    _end.finalize_at_exit()
    made = ctypes.c_void_p()
    _library.check(getattr(functions, function)(handle, ctypes.byref(wishes), ctypes.byref(made)))
    _initialized_before = True
    return Communicator(made.value)


def finalize(comm: "Communicator | None" = None) -> None:
    """End one communicator (comm.finalize()); without one, end every communicator, and MPI if it was initialised here.

    Collective, blocking. Done without a call when the program ends without an uncaught exception.
    Errors: 9 thread, 20 forked, 21, 44 MPI failed.
    """
    if comm is not None:
        comm.finalize()
    elif _library.state.loaded is not None:
        _end.end_everything()


def describe() -> dict:
    """What is known of the process: version, MPI library by path, version and ABI, how it was found. Local."""
    _library.load()
    return _describe(None)


class Communicator(BufferCalls, ValueCalls, PointToPoint, StartedCalls, PreparedCalls, Derived):
    """Ranks that work together; made by initialize().

    Calls that start in upper case work on arrays that are given, as mpi4py's; those in lower case return fresh arrays; those that start
    with I return a Request, and prepare_ gives a Prepared.
    A with block ends it; not after an exception, when the other ranks may be elsewhere.
    """

    __slots__ = ("__weakref__", "_comm", "_rank", "_size")

    def __init__(self, comm: int):
        self._comm = comm
        self._rank = self._known(functions.rank(comm))
        self._size = self._known(functions.size(comm))

    @property
    def rank(self) -> int:
        """This rank, from 0."""
        return self._rank

    @property
    def size(self) -> int:
        """Number of ranks."""
        return self._size

    def Get_rank(self) -> int:
        """This rank, from 0."""
        return self._rank

    def Get_size(self) -> int:
        """Number of ranks."""
        return self._size

    @property
    def local_rank(self) -> int:
        """This rank among those on the same host. Errors: 2, 20, as all that follow."""
        return self._known(functions.local_rank(self._comm))

    @property
    def local_size(self) -> int:
        """Number of ranks on the same host."""
        return self._known(functions.local_size(self._comm))

    @property
    def device(self) -> int | None:
        """Ordinal of this rank's GPU, as CUDA or HIP counts; None on a host communicator."""
        device = functions.device(self._comm)
        return None if device == -1 else self._known(device)

    @property
    def nccl_comm(self) -> int | None:
        """The ncclComm_t as an integer, for compiled code and for CuPy; None on a host communicator. Owned by the library."""
        return self._pointer(functions.nccl_comm)

    @property
    def client(self) -> int | None:
        """The XLA client that the library made (PjRtClient or PJRT_Client *) as an integer; None where you make it."""
        return self._pointer(functions.client)

    @property
    def id(self) -> int:
        """Small positive integer, equal on every rank; stands for the communicator in compiled code."""
        return self._known(functions.comm_id(self._comm))

    @property
    def handle(self) -> int:
        """Address of the C communicator (reactant_mpi_comm *), for calls from other languages; 0 after finalize()."""
        return self._comm or 0

    @property
    def mpi_handle(self) -> int:
        """The duplicate that this communicator works on, as the handle of the host's MPI. Owned by the library."""
        handle = functions.mpi_comm(self._comm)
        if not handle:
            self._fail(functions.last_error_code())
        return handle

    @property
    def error(self) -> int:
        """Code of the first failure on this communicator; 0 if there was none."""
        return self._known(functions.comm_error(self._comm))

    def set_timeout(self, timeout_ms: int) -> None:
        """Longest wait, in milliseconds, of every call on host buffers of this communicator; 0 = for ever. Collective, blocking.

        A call that takes longer raises code 31, with a text that says which ranks have come, which have not, and where they are; a rank
        whose process has ended gives code 32. From then on this communicator refuses calls; others go on.
        Errors: 1, 2, 8, 9, 20, 22, 30 the ranks give different values, 31, 44.
        """
        code = functions.comm_set_timeout(self._comm, c_int(timeout_ms, "timeout_ms"))
        if code:
            self._fail(code)

    def on_stream(self, stream=None) -> OnStream:
        """The collectives and messages on device memory, put on this stream of the rank's GPU. Local.

        stream  None for the default stream, its address as an integer, or a stream of CuPy, PyTorch, or with __cuda_stream__
        """
        return OnStream(self, stream)

    def describe(self) -> dict:
        """Everything known of it and of the process: ranks, hosts, options, times, first error. Local; takes a lock."""
        self._check_alive()
        return _describe(self._comm)

    def finalize(self) -> None:
        """End this communicator, never MPI. Collective over its ranks, blocking. A second time does nothing.

        Two that were made of the same communicator are ended one by one.
        """
        if self._comm is not None:
            check(functions.finalize(self._comm))
            self._comm = None

    Free = finalize

    def abort(self, code: int = 1) -> None:
        """End the whole job at once, with every rank of it. For the rank that wants it; does not return."""
        self._check_alive()
        sys.stdout.flush()
        sys.stderr.flush()
        check(functions.abort(self._comm, code))

    def __enter__(self):
        return self

    def __exit__(self, exception_type, _exception, _traceback):
        if exception_type is None:
            self.finalize()

    def __repr__(self) -> str:
        if self._comm is None:
            return "<reactant_mpi.Communicator, finalized>"
        return f"<reactant_mpi.Communicator, rank {self._rank} of {self._size}>"

    def __reduce__(self):
        raise TypeError("a Communicator belongs to its process: no pickling, no copy; call initialize() where it is needed")

    def _known(self, value: int) -> int:
        """value, or the failure that a negative one stands for."""
        if value < 0:
            self._fail(-value)
        return value

    def _pointer(self, function) -> int | None:
        """What a function says of this communicator; None for NULL, which is no failure unless the communicator has ended."""
        pointer = function(self._comm)
        if not pointer:
            self._known(functions.comm_error(self._comm))
        return pointer or None

    def _fail(self, code: int):
        if code == _abi.ERR_COMM:
            self._check_alive()
        raise ReactantMPIError(code, last_error())

    def _check_alive(self) -> None:
        if self._comm is None:
            raise ReactantMPIError(_abi.ERR_COMM, "this communicator has been ended by finalize()")


def _host_handle(comm) -> tuple[str, int]:
    """(C function to call, its first argument) for what initialize() was given."""
    if comm is None:
        return "initialize_with", _abi.COMM_WORLD
    mpi4py = sys.modules.get("mpi4py.MPI")
    if mpi4py is not None and isinstance(comm, mpi4py.Comm):
        if not hasattr(mpi4py, "_handleof"):
            return "initialize_fint", comm.py2f()
        comm = mpi4py._handleof(comm)
    try:
        handle = index(comm)
    except TypeError:
        text = f"comm must be None, an mpi4py communicator, or the integer handle of an MPI communicator, not {comm!r:.60}"
        raise ReactantMPIError(_abi.ERR_ARGUMENT, text) from None
    if not -(2**63) <= handle < 2**64:
        raise ReactantMPIError(_abi.ERR_ARGUMENT, f"comm = {handle} is no handle: it does not fit 64 bits")
    return "initialize_with", handle % 2**64


def _describe(comm) -> dict:
    size = 0
    while True:
        buffer = ctypes.create_string_buffer(size)
        length = functions.describe(comm, buffer, size)
        if not length:
            raise ReactantMPIError(functions.last_error_code(), last_error())
        if length < size:
            return json.loads(buffer.value)
        size = length + 1
