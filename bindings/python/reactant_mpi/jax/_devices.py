"""The devices that JAX has in this process."""

import importlib
import importlib.metadata
import os
import pkgutil
import re

_GPUS = ("cuda", "rocm")
_FLAG = r"--xla_force_host_platform_device_count=(\d+)"


def wishes(jax) -> dict:
    """Options of reactant_mpi.initialize that follow from what JAX is to run on: no GPU where it has none."""
    if os.environ.get("REACTANT_MPI_GPU") or _has_gpus(jax.config.jax_platforms, _plugins()):
        return {}
    return {"gpu": "off"}


def _has_gpus(platforms: str | None, plugins: list[str]) -> bool:
    wanted = (platforms or "gpu").split(",")
    found = {gpu for gpu in _GPUS for name in plugins if gpu in name}
    return any(word == "gpu" or word in found for word in wanted) and bool(found)


def _plugins() -> list[str]:
    """Names of the plug-ins of JAX, as it finds them: modules in the namespace jax_plugins, and entry points."""
    names = [entry.value for entry in importlib.metadata.entry_points(group="jax_plugins")]
    try:
        names += [module.name for module in pkgutil.iter_modules(importlib.import_module("jax_plugins").__path__)]
    except ImportError:
        pass
    return names


def show_only(jax, device: int | None) -> None:
    """Of the GPUs, JAX is to see this one."""
    if device is not None:
        for gpu in _GPUS:
            jax.config.update(f"jax_{gpu}_visible_devices", str(device))


def cpu_devices(jax) -> int:
    """How many CPU devices JAX makes in this process."""
    if jax.config.jax_num_cpu_devices >= 0:
        return max(jax.config.jax_num_cpu_devices, 1)
    found = re.findall(_FLAG, os.environ.get("XLA_FLAGS", ""))
    return max(int(found[-1]), 1) if found else 1


def give_threads(jax) -> None:
    """XLA makes as many threads as there are cores, or devices, and hangs when collectives of several devices block them all."""
    n = cpu_devices(jax)
    if n > 1 and "NPROC" not in os.environ:
        os.environ.setdefault("PJRT_NPROC", str(max(len(os.sched_getaffinity(0)), 4 * n)))


def used(jax) -> bool:
    """Has JAX made its clients? Then it refuses another number of CPU devices."""
    devices = jax.config.jax_num_cpu_devices
    try:
        jax.config.update("jax_num_cpu_devices", devices + 1)
    except RuntimeError:
        return True
    jax.config.update("jax_num_cpu_devices", devices)
    return False
