"""Programs of JAX that know nothing of MPI, over MPI. One launch carries many checks."""

import pytest
from launching import BOTH, FULL, HERE, NEWEST, launch_ok

UNCHANGED = ["-m", "reactant_mpi", "run"]
SCRIPT = HERE / "ranks" / "unchanged.py"


@pytest.mark.parametrize(("jax", "mpi"), BOTH)
@pytest.mark.parametrize("n", [2, 4] if FULL else [2])
def test_collectives(jax, mpi, n):
    launch_ok(jax, mpi, n, [*UNCHANGED, SCRIPT], n, 1)


@pytest.mark.parametrize(("jax", "mpi"), BOTH)
@pytest.mark.parametrize(("n", "devices"), [(2, 2), (2, 3), (4, 2)] if FULL else [(2, 2)])
def test_several_devices(jax, mpi, n, devices):
    launch_ok(jax, mpi, n, [*UNCHANGED, "--devices", devices, SCRIPT], n, devices, seconds=240)


def test_several_devices_by_the_flag_of_xla():
    launch_ok(NEWEST, "mpich", 2, [*UNCHANGED, SCRIPT], 2, 2, XLA_FLAGS="--xla_force_host_platform_device_count=2", seconds=240)
