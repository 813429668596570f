"""Operations inside jit and outside of it: every one with every type, and what JAX keeps of compiled programs."""

import pytest
from launching import BOTH, FULL, PYTHONS, launch_ok


@pytest.mark.parametrize(("jax", "mpi"), BOTH)
@pytest.mark.parametrize("n", [2, 4] if FULL else [2])
def test_operations(jax, mpi, n):
    launch_ok(jax, mpi, n, "operations", seconds=300)


@pytest.mark.parametrize("jax", PYTHONS)
def test_compiled_once(jax, tmp_path):
    """Communicators have the same numbers in the next run, so that JAX finds its programs again."""
    found = []
    for mpi in ("mpich", "openmpi"):
        launch_ok(jax, mpi, 2, "cached", tmp_path)
        found.append([tuple(map(int, (tmp_path / f"found-{rank}").read_text().split())) for rank in range(2)])
    first, second = found
    assert all(hits == 0 and misses > 0 for hits, misses in first), found
    assert all(hits > 0 and misses == 0 for hits, misses in second), found
