"""The example that users copy from."""

import sys

import pytest
from running import LAUNCH, ROOT, run


@pytest.mark.parametrize("n", [1, 3])
def test_allreduce(mpi, n):
    done = run([sys.executable, LAUNCH, "-n", n, "--mpi", mpi, "--", sys.executable, ROOT / "examples" / "allreduce.py"])
    assert done.returncode == 0, done.stdout
    assert done.stdout.count(f"of {n}: dot product 249999750000.0, mean 499999.5") == n
    assert "libreactant_mpi.so" in done.stdout
