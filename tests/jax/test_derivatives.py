"""Derivatives, both ways and twice, and batches of every operation."""

import pytest
from launching import EACH, FULL, launch_ok


@pytest.mark.parametrize(("jax", "mpi"), EACH)
@pytest.mark.parametrize("n", [2, 4] if FULL else [2])
def test_derivatives(jax, mpi, n):
    launch_ok(jax, mpi, n, "derivatives", seconds=600)
