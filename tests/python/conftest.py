"""Fixtures: the MPIs that tests run under."""

import pytest
from running import FULL, MORE, MPIS


@pytest.fixture(params=MPIS + MORE * FULL)
def mpi(request):
    """Name of an MPI."""
    return request.param


@pytest.fixture(params=MPIS)
def mpi_of_mpi4py(request):
    """Name of an MPI that mpi4py's wheel can use: it has no variant for the MPI-5 ABI."""
    return request.param
