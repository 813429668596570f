"""Several CPU devices in each process, which XLA's own path over MPI cannot do. One launch carries many checks."""

import socket

import pytest
from launching import BOTH, FULL, NEWEST, ROOT, launch, launch_ok

WRAPPER = ROOT / "build" / "libreactant_mpi_wrapper.so"
# (processes, devices of each)
SHAPES = [(2, "2")] + [(2, "3"), (2, "4"), (1, "4"), (4, "2"), (2, "1,3")] * FULL


def variables(**more):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return {"PORT": free.getsockname()[1], "MPITRAMPOLINE_LIB": WRAPPER} | more


@pytest.mark.parametrize(("jax", "mpi"), BOTH)
@pytest.mark.parametrize(("n", "devices"), SHAPES)
def test_meshes(jax, mpi, n, devices):
    launch_ok(jax, mpi, n, "devices", "meshes", devices, seconds=240, **variables())


def test_a_mesh_that_leaves_out_a_device():
    limit = variables(REACTANT_MPI_CALL_TIMEOUT_MS=3000)
    done = launch(NEWEST, "mpich", 2, "devices", "left-out", "2", options=["--no-cleanup"], **limit)
    assert done.stdout.count("ok 1 checks") == 2, done.stdout
    # XLA does not look at the result of MPI_Comm_split, so that is told on standard error.
    assert done.stdout.count("reactant_mpi: JAX gets no communicator") == 2, done.stdout
