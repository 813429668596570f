"""The order of operations, in every form, under every transformation, in programs in which XLA would start them in another one."""

import pytest
from launching import BOTH, FULL, NEWEST, PYTHONS, launch_ok


@pytest.mark.parametrize("jax", PYTHONS)
@pytest.mark.parametrize("form", ["token", "ref", "hidden"])
@pytest.mark.parametrize("n", [2, 4] if FULL else [2])
def test_order(jax, form, n):
    launch_ok(jax, "mpich", n, "order", form, seconds=300)


@pytest.mark.parametrize("mpi", [mpi for jax, mpi in BOTH if jax == NEWEST and mpi != "mpich"])
def test_order_on_other_mpis(mpi):
    launch_ok(NEWEST, mpi, 2, "order", "token", seconds=300)


def test_one_thread():
    """Where XLA has one thread, an operation that waits in it holds up everything else."""
    launch_ok(NEWEST, "mpich", 2, "order", "token", seconds=300, NPROC=1)


@pytest.mark.parametrize("jax", PYTHONS)
def test_without_order(jax):
    """What the programs of these tests provoke."""
    launch_ok(jax, "mpich", 2, "order", "none", seconds=300)
