"""Operations inside jit and outside of it: every one with every type."""

import pytest
from launching import BOTH, FULL, launch_ok


@pytest.mark.parametrize(("jax", "mpi"), BOTH)
@pytest.mark.parametrize("n", [2, 4] if FULL else [2])
def test_operations(jax, mpi, n):
    launch_ok(jax, mpi, n, "operations", seconds=300)
