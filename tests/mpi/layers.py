"""Doubles of the layers over an MPI (tests/fake/layers), and how a program comes to run through one."""

import os
import shutil
import subprocess

from harness import BUILD, ROOT, library

LAYERS = os.path.join(BUILD, "tests", "fake", "layers")
WRAPPER = os.path.join(LAYERS, "libmpiwrapper.so")
TRAMPOLINE = os.path.join(LAYERS, "libmpitrampoline.so.5")
MUK = os.path.join(LAYERS, "muk", "libmuk.so")
INTERFACE = os.path.join(LAYERS, "wi4mpi", "libmpi.so")
BEHIND_INTERFACE = os.path.join(LAYERS, "wi4mpi", "libwi4mpi_ANY.so")

# (layer, MPI behind it)
CASES = [(layer, mpi) for layer in ("wrapper", "trampoline", "muk", "interface") for mpi in ("mpich", "openmpi")]
CASES += [("OMPI_MPICH", "mpich"), ("MPICH_OMPI", "openmpi")]


def through(layer, mpi):
    """The environment of a program under this layer, the library that it would be linked to, and what COMM_WORLD is there."""
    real = library(mpi)
    if layer == "wrapper":
        return {"REACTANT_MPI_LIBMPI": WRAPPER, "FAKE_WRAPPED_MPI": real}, WRAPPER, None
    if layer == "trampoline":
        return {"MPITRAMPOLINE_LIB": WRAPPER, "FAKE_WRAPPED_MPI": real, "LD_PRELOAD": TRAMPOLINE}, TRAMPOLINE, "*MPI_COMM_WORLD"
    if layer == "muk":
        return {"REACTANT_MPI_LIBMPI": MUK, "MPI_LIB": real}, MUK, "2"
    if layer == "interface":
        env = {"REACTANT_MPI_LIBMPI": INTERFACE, "WI4MPI_WRAPPER_LIB": BEHIND_INTERFACE, "WI4MPI_RUN_MPI_C_LIB": real}
        return env, INTERFACE, "1"
    wi4mpi = os.path.join(LAYERS, f"libwi4mpi_{layer}.so")
    start, to = layer.split("_")
    env = {"WI4MPI_FROM": start, "WI4MPI_TO": to, "WI4MPI_RUN_MPI_C_LIB": real, "LD_PRELOAD": f"{wi4mpi}:{real}"}
    return env, wi4mpi, {"OMPI": "&ompi_mpi_comm_world", "MPICH": "0x44000000"}[start]


def under(env, command):
    """A command line that sets variables for the ranks only: LD_PRELOAD is not for the launcher."""
    return ["env", *(f"{k}={v}" for k, v in env.items()), *command]


def vendor(folder, name, version, mpi):
    """A library of that file name and version string over the wheel of the same ABI."""
    real = library(mpi)
    path = os.path.join(folder, name)
    os.makedirs(folder, exist_ok=True)
    subprocess.run(
        ["cc", "-shared", "-fPIC", f'-DVERSION="{version}"', "-o", path, os.path.join(ROOT, "tests", "fake", "layers", "vendor.c")]
        + ["-Wl,--no-as-needed", real, "-Wl,-rpath," + os.path.dirname(real)],
        check=True,
    )
    return path


def copied(path, folder, name=None):
    return shutil.copy(path, os.path.join(folder, name or os.path.basename(path)))
