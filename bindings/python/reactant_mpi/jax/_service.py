"""JAX's coordination service: it runs in rank 0, and every rank is a client of it."""

import contextlib
import inspect
import os

from ._coordinator import coordinator

# By TF_CPP_MIN_LOG_LEVEL; JAX sets 1 by default.
_LEVELS = ("INFO", "WARNING", "ERROR", "CRITICAL")


def start(jax, control, comm, wish) -> None:
    """jax.distributed.initialize. Collective over control, a duplicate of comm."""
    named = wish.coordinator_address or os.environ.get("JAX_COORDINATOR_ADDRESS")
    # A process that ends or fails is not to take the others with it, nor to wait for them: MPI tells them, by an exception.
    with contextlib.suppress(AttributeError):  # a JAX before that
        jax.config.update("jax_enable_recoverability", True)
    wishes = {
        "num_processes": comm.size,
        "process_id": comm.rank,
        "local_device_ids": None if comm.device is None else [comm.device],
        "cluster_detection_method": "deactivate",
        "initialization_timeout": wish.initialization_timeout,
        "heartbeat_timeout_seconds": max(wish.heartbeat_timeout_seconds, 2 * _call_timeout_s(comm)),
        "shutdown_timeout_seconds": wish.shutdown_timeout_seconds,
    }
    known = inspect.signature(jax.distributed.initialize).parameters
    with contextlib.nullcontext((named, None)) if named else coordinator(control) as (address, bind):
        _not_by_proxy(address)
        with _errors_alone(jax):
            jax.distributed.initialize(
                address, coordinator_bind_address=bind, **{name: value for name, value in wishes.items() if name in known}
            )


def _not_by_proxy(address: str) -> None:
    """gRPC would go through the proxy of the environment, which seldom knows the hosts of a cluster."""
    hosts = os.environ.get("no_grpc_proxy") or os.environ.get("no_proxy")
    os.environ["no_grpc_proxy"] = ",".join(filter(None, (hosts, address.rpartition(":")[0].strip("[]"))))


@contextlib.contextmanager
def _errors_alone(jax):
    """No warnings: the service calls what was set above experimental, and JAX speaks of proxies, which are not used."""
    before = jax.config.jax_logging_level
    level = os.environ.get("TF_CPP_MIN_LOG_LEVEL", "1")
    jax.config.update("jax_logging_level", "ERROR")
    try:
        yield
    finally:
        jax.config.update("jax_logging_level", _LEVELS[int(level)] if level in "0123" else "WARNING")
        jax.config.update("jax_logging_level", before)


def _call_timeout_s(comm) -> int:
    return -(-comm.describe()["communicator"]["options"]["call_timeout_ms"] // 1000)
