"""Handlers that block and handlers that do not, on XLA's pool of one and of two threads."""

import pytest
from launching import BOTH, NEWEST, PYTHONS, ROOT, launch


def run(jax, mpi, threads, blocking):
    library = str(ROOT / "build" / "libreactant_mpi.so.0")
    # XLA's pool has NPROC threads.
    return launch(jax, mpi, 2, "pool", blocking, options=["--no-cleanup"], NPROC=str(threads), REACTANT_MPI_LIBRARY=library)


@pytest.mark.parametrize("jax, mpi", BOTH)
@pytest.mark.parametrize("threads", (1, 2))
def test_one_chain_may_block(jax, mpi, threads):
    done = run(jax, mpi, threads, "first")
    assert "".join(done.stdout.split()) == "okok", done.stdout  # lines of two ranks may run into each other


@pytest.mark.parametrize("jax", {list(PYTHONS)[0], NEWEST})
def test_two_may_not(jax):
    """So the program of the test above provokes what it is about."""
    done = run(jax, "mpich", 1, "all")
    assert "DEADLINE_EXCEEDED" in done.stdout, done.stdout
