"""Handlers that block and handlers that do not, on XLA's pool of one and of two threads."""

import os
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mpi"))
from harness import BUILD, MAIN, ROOT, launch, told

PYTHONS = [p for p in (sys.executable, os.path.join(ROOT, ".venv", "py313", "bin", "python")) if os.path.exists(p)]


def run(python, mpi, threads, blocking):
    env = {
        "NPROC": str(threads),  # XLA's pool has as many threads
        "PYTHONPATH": os.path.join(ROOT, "bindings", "python"),
        "REACTANT_MPI_LIBRARY": os.path.join(BUILD, "libreactant_mpi.so.0"),
    }
    program = os.path.join(ROOT, "tests", "jax", "ranks", "pool.py")
    return launch(mpi, 2, [python, program, blocking], env=env, options=["--no-cleanup"], timeout=100)


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("mpi, threads", [(MAIN[0], 1), (MAIN[0], 2), (MAIN[1], 1)])
def test_one_chain_may_block(python, mpi, threads):
    result = run(python, mpi, threads, "first")
    assert result.stdout.split() == ["ok", "ok"], told(result)


@pytest.mark.parametrize("python", PYTHONS)
def test_two_may_not(python):
    """So the program of the test above provokes what it is about."""
    result = run(python, MAIN[0], 1, "all")
    assert "DEADLINE_EXCEEDED" in result.stdout, told(result)
