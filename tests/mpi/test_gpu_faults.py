"""One rank fails while a GPU communicator is made: every rank gets the same code and the name of that rank, and none hangs."""

import pytest
from harness import FULL, checked, program
from test_gpu import MAIN, doubles

# What needs a new process: the devices are found once, and a wrong library stays in it.
CASES = [
    "before",
    "pci option-client option-device mode-differs same-device retain unique-id init-system comm-count first-allreduce first-async "
    "alloc stream-query set-context plugin-create extra-throws missing init-hangs",
    "library",
]


def faults():
    for mpi in MAIN:
        for n in (2, 3, 4) if FULL else (2,):
            for i, cases in enumerate(CASES):
                for rank in (0, -1) if FULL else (-1,):
                    if FULL or (i == 2) == (mpi == "openmpi"):
                        yield pytest.param(mpi, n, rank, cases.split(), id=f"{mpi}-n{n}-rank{rank}-{cases.split()[0]}")


@pytest.mark.parametrize("mpi, n, rank, cases", list(faults()))
def test_fault(mpi, n, rank, cases):
    checked(mpi, n, [program("gpu_fault"), str(rank), *cases], env=doubles("nccl228"), timeout=180)


@pytest.mark.skipif(not FULL, reason="minutes: only with REACTANT_MPI_TEST_FULL=1")
@pytest.mark.parametrize("mpi", MAIN)
@pytest.mark.parametrize("n", (1, 2, 4))
def test_every_fault(mpi, n):
    checked(mpi, n, [program("gpu_fault"), "-1", "before", "after"], env=doubles("nccl232"), timeout=600)


@pytest.mark.skipif(not FULL, reason="minutes: only with REACTANT_MPI_TEST_FULL=1")
@pytest.mark.parametrize("seed", range(8))
def test_random_faults(seed):
    """Rank, step and fault are drawn; 25 a run, 200 in all."""
    mpi, n = MAIN[seed % 2], (2, 4)[seed // 2 % 2]
    nccl = ("nccl218", "nccl222", "nccl228", "nccl232")[seed // 2]
    checked(mpi, n, [program("gpu_fault"), "random", str(seed), "25"], env=doubles(nccl), timeout=600)
