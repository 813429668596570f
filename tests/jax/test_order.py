"""The order of operations, in every form, under every transformation, in programs in which XLA would start them in another one."""

import pytest
from launching import BOTH, EACH, FULL, NEWEST, PYTHONS, launch_ok


@pytest.mark.parametrize(
    ("form", "jax", "mpi"), [(form, *pair) for form in ("token", "ref", "hidden") for pair in (BOTH if form == "token" else EACH)]
)
@pytest.mark.parametrize("n", [2, 4] if FULL else [2])
def test_order(form, jax, mpi, n):
    launch_ok(jax, mpi, n, "order", form, seconds=300)


def test_one_thread():
    """Where XLA has one thread, an operation that waits in it holds up everything else."""
    launch_ok(NEWEST, "mpich", 2, "order", "token", seconds=300, NPROC=1)


@pytest.mark.parametrize("jax", PYTHONS)
def test_without_order(jax):
    """What the programs of these tests provoke."""
    launch_ok(jax, "mpich", 2, "order", "none", seconds=300)
