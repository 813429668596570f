"""Random calls of every public function, and whether anything grows (tests/c/fuzz.c, leaks.c)."""

import os
import subprocess

import pytest
from harness import FULL, MAIN, ROOT, SYSTEM, WHEELS, checked, program

EVERY = WHEELS + SYSTEM


def test_every_function_is_called():
    names = subprocess.run([program("fuzz"), "names"], capture_output=True, text=True, check=True).stdout.split()
    with open(os.path.join(ROOT, "capi", "symbols.txt")) as f:
        assert sorted(set(names)) == f.read().split()


# The same seed each time; another one in the full run, which prints it (`fuzz CALLS SEED` makes the same calls again).
@pytest.mark.parametrize("mpi", EVERY if FULL else MAIN)
@pytest.mark.parametrize("n", (1, 2))
def test_fuzz(mpi, n):
    checked(mpi, n, [program("fuzz"), "20000", *([] if FULL else ["1"])], timeout=300 if FULL else 120)


@pytest.mark.parametrize("mpi", EVERY if FULL else MAIN)
@pytest.mark.parametrize("n", (1, 2))
@pytest.mark.parametrize("kind, times", [("lives", 100), ("communicators", 100), ("messages", 100000), ("prepared", 100000)])
def test_leaks(mpi, n, kind, times):
    checked(mpi, n, [program("leaks"), kind, str(times)])
