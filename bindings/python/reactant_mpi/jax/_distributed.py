"""initialize() and finalize(): JAX over the ranks of a communicator."""

import inspect
import os
import threading
from types import SimpleNamespace

import numpy as np

from .. import Communicator
from .. import finalize as finalize_mpi
from .. import initialize as initialize_mpi
from . import _devices, _ending, _service, _start

# comm: the ranks that are JAX's processes. control: a duplicate for what is agreed at the start and at the end, where a rank waits
# patience_s for the others. wish: what the first call of initialize() asked for. ended: finalize() was called.
state = SimpleNamespace(comm=None, control=None, patience_s=0, wish=None, ended=False)

_lock = threading.Lock()


def initialize(
    comm=None,
    *,
    devices: int | None = None,
    cpu_collectives: str | None = None,
    coordinator_address: str | None = None,
    initialization_timeout: int = 300,
    heartbeat_timeout_seconds: int = 100,
    shutdown_timeout_seconds: int = 300,
    **options,
) -> Communicator:
    """Make the ranks of a communicator the processes of JAX: jax.devices() then has the devices of all. Collective, blocking.

    comm     None for all ranks, a Communicator, an mpi4py communicator, or the handle of one in the host's MPI as an integer
    devices  CPU devices of this process, as JAX's configuration jax_num_cpu_devices
    cpu_collectives      "mpi": JAX's collectives between CPUs run on this library; "gloo": on what JAX brings. By default what
                         JAX_CPU_COLLECTIVES_IMPLEMENTATION says, else "mpi"
    coordinator_address  HOST:PORT where JAX's coordination service is to listen, in rank 0. By default JAX_COORDINATOR_ADDRESS, else a
                         free port and an address that every rank reaches
    initialization_timeout, heartbeat_timeout_seconds  in seconds, as those of jax.distributed.initialize; the second is at least
                         twice call_timeout_ms, so that a call ends before JAX ends the process
    shutdown_timeout_seconds  how long a rank that has come to its end waits for the others
    options  those of reactant_mpi.initialize: call_timeout_ms, gpu, timeout_ms, ...; not together with a Communicator. gpu is by default
             "off" where JAX has no GPU: no plug-in for one, or JAX_PLATFORMS without one

    Initialises MPI unless that has been done, chooses the GPU of each rank and shows it alone to JAX, and calls jax.distributed.initialize;
    a program that calls that as well, or jax.distributed.shutdown, may go on doing so. Call it before anything that needs a device.
    Returns the communicator, also when called again, with the same arguments or none. At the end of the program, or by finalize(),
    everything ends in order.

    Errors: ReactantMPIError as from reactant_mpi.initialize; RuntimeError where a device has been used before, where collectives between
    CPUs are wanted and jaxlib was imported before reactant_mpi.jax, where the service does not start. One rank's failure fails all.
    """
    given = {name: value for name, value in locals().items() if name != "options"} | options
    wish = {name: value for name, value in given.items() if value != _DEFAULTS.get(name)}
    with _lock:
        if state.comm is None:
            _initialize(SimpleNamespace(**given), options)
            state.wish = wish
        elif state.ended:
            raise RuntimeError("reactant_mpi.jax.finalize() has been called, and JAX cannot be initialised again in this process")
        elif wish and wish != state.wish:
            different = [name for name in {**state.wish, **wish} if wish.get(name) != state.wish.get(name)]
            raise RuntimeError(f"reactant_mpi.jax.initialize() counts once a process, and was called with another {', '.join(different)} before")
        return state.comm


_DEFAULTS = {name: parameter.default for name, parameter in inspect.signature(initialize).parameters.items()}


def finalize() -> None:
    """End what initialize() began, in order: JAX's computations, its coordination service, all communicators, MPI. Collective, blocking.

    Done without a call when the program ends. JAX cannot communicate afterwards. A second time does nothing.
    """
    with _lock:
        if state.comm is not None and not state.ended:
            _ending.end_in_order(state)
            finalize_mpi()
            state.ended = True


def before_clients() -> None:
    """JAX is about to make its clients: from now on the number of CPU devices of this process is fixed."""
    if state.comm is not None:
        import jax

        _devices.give_threads(jax)
        _use(state.comm)


def _initialize(wish: SimpleNamespace, options: dict) -> None:
    import jax

    comm, made = wish.comm, not isinstance(wish.comm, Communicator)
    if made:
        comm = initialize_mpi(comm, **_devices.wishes(jax) | options)
    elif options:
        raise ValueError(f"{', '.join(options)}: options of a communicator, which count where it is made")
    collectives = wish.cpu_collectives or os.environ.get("JAX_CPU_COLLECTIVES_IMPLEMENTATION") or "mpi"
    try:
        _agree(comm, _why_not(jax, comm, wish, collectives))
        control = comm.dup()
    except BaseException:
        if made and comm.error == 0:
            comm.finalize()
        raise
    control.set_timeout(1000 * wish.initialization_timeout)
    if wish.devices is not None:
        jax.config.update("jax_num_cpu_devices", wish.devices)
    _devices.show_only(jax, comm.device)
    if collectives != "mpi" or _use(comm):
        jax.config.update("jax_cpu_collectives_implementation", collectives)
    if comm.size > 1:
        _service.start(jax, control, comm, wish)
    control.set_timeout(1000 * wish.shutdown_timeout_seconds)
    _ending.prepare(jax, state)
    state.comm, state.control, state.patience_s = comm, control, wish.shutdown_timeout_seconds
    from . import _communicators

    _communicators.set_default(comm)


def _use(comm) -> bool:
    """Tell the library under XLA's collectives `mpi` what the world is; False if it is not there."""
    library = _start.wrapper()
    if library is None:
        return False
    import jax

    code = library.reactant_mpi_wrapper_use(comm.id, _devices.cpu_devices(jax))
    if code:
        raise RuntimeError(f"{_start.FILE} cannot use the communicator (code {code})")
    return True


def _why_not(jax, comm, wish: SimpleNamespace, collectives: str) -> str | None:
    """Why JAX cannot be initialised in this process; None if it can."""
    if jax.distributed.is_initialized():
        return "jax.distributed.initialize() was called before reactant_mpi.jax.initialize(), which does it: leave that call out"
    if _devices.used(jax):
        return "JAX has made its devices before reactant_mpi.jax.initialize(): call it before jax.devices(), arrays and computations"
    between_cpus = comm.size > 1 and (comm.device is None or wish.cpu_collectives == "mpi")
    if collectives == "mpi" and between_cpus and (why := _start.why_not()):
        return f"JAX's collectives between CPUs cannot run on MPI: {why}. Or pass cpu_collectives='gloo', for JAX's own"
    return None


def _agree(comm, trouble: str | None) -> None:
    """All ranks go on, or none does. Collective."""
    ranks = np.flatnonzero(comm.allgather(np.int32(trouble is not None)))
    if trouble:
        raise RuntimeError(trouble)
    if ranks.size:
        raise RuntimeError(f"JAX cannot be initialised on rank {', '.join(map(str, ranks[:8]))}, which says why")
