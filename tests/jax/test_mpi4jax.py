"""Programs of mpi4jax with reactant_mpi.jax.compat.mpi4jax in its place, and, where it is there, the same with mpi4jax itself."""

import pytest
from launching import BOTH, EACH, FULL, NEWEST, PYTHONS, ROOT, launch_ok

PROGRAMS = ["operations", "messages", "derivatives", "refused"]
THEIRS = ROOT / ".venv" / "mpi4jax" / "bin" / "python"  # tests/bench/get_mpi4jax


@pytest.mark.parametrize(
    ("program", "jax", "mpi"),
    [(program, *pair) for program in PROGRAMS for pair in (BOTH if program == "messages" else EACH)],
)
def test_ours(program, jax, mpi):
    launch_ok(jax, mpi, 2, f"mpi4jax_{program}", "reactant_mpi.jax.compat.mpi4jax", seconds=300)


@pytest.mark.skipif(not FULL, reason="only by make test-full")
@pytest.mark.parametrize("program", PROGRAMS)
def test_ours_at_four_ranks(program):
    launch_ok(NEWEST, "mpich", 4, f"mpi4jax_{program}", "reactant_mpi.jax.compat.mpi4jax", seconds=600)


@pytest.mark.skipif(not FULL, reason="only by make test-full")
@pytest.mark.skipif(not THEIRS.exists(), reason="no .venv/mpi4jax: tests/bench/get_mpi4jax")
@pytest.mark.parametrize("program", PROGRAMS)
def test_theirs(program, monkeypatch):
    """The tests ask for what mpi4jax does."""
    monkeypatch.setitem(PYTHONS, "mpi4jax", THEIRS)
    launch_ok("mpi4jax", "mpich", 2, f"mpi4jax_{program}", "mpi4jax", seconds=300, MPI4JAX_NO_WARN_JAX_VERSION=1)
