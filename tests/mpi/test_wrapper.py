"""libreactant_mpi_wrapper.so as JAX's own collectives call it, without JAX: threads are the devices (tests/c/wrapper.c)."""

import pytest
from harness import FULL, MAIN, SYSTEM, WHEELS, WIDE, checked, launch, program, told

EVERY = WHEELS + SYSTEM

# What each process ends with is told by the shell around it; MPICH's launcher sends SIGUSR1 when one has ended badly.
AROUND = ["sh", "-c", 'trap "" USR1; "$@"; echo "ended with $?"', "sh"]
KILLED = 128 + 9


def groups():
    """(MPI, processes, devices of each)"""
    for mpi in EVERY if WIDE else MAIN:
        yield from ((mpi, 2, "1"), (mpi, 2, "2"))
    yield from (("mpich", 1, "3"), ("mpich", 3, "1"), ("mpich", 2, "told 1,2"), ("openmpi", 2, "told 3,1"))
    if FULL:
        wide = ((1, "4"), (2, "4"), (3, "2"), (4, "2"), (4, "told 1,3"), (3, "told 2,1,3"), (2, "told 8"))
        yield from ((mpi, n, devices) for mpi in MAIN + ["impi"] for n, devices in wide)


@pytest.mark.parametrize("mpi, n, devices", list(groups()))
def test_groups(mpi, n, devices):
    checked(mpi, n, [program("wrapper"), "groups", *devices.split()], timeout=300 if FULL else 100)


MODES = [
    ("mpich", "CALL_TIMEOUT_MS=60000"),
    ("openmpi", "CHECK=1"),
    ("mpich", "THREAD_LEVEL=serialized CALL_TIMEOUT_MS=60000"),
]


@pytest.mark.parametrize("mpi, options", MODES)
def test_groups_in_other_modes(mpi, options, n=2, devices="2"):
    env = dict(("REACTANT_MPI_" + option).split("=") for option in options.split())
    checked(mpi, n, [program("wrapper"), "groups", *devices.split()], env=env, timeout=100)


@pytest.mark.parametrize("mpi", EVERY if WIDE else MAIN)
def test_life(mpi):
    result = checked(mpi, 2, [program("wrapper"), "life"])
    # A failed split is told once: XLA does not look at its result.
    assert result.stderr.count("JAX gets no communicator: MPI_Comm_split: MPI_Init has not been called") == 2, told(result)


def test_thread_level():
    checked("mpich", 2, [program("wrapper"), "level"], env={"REACTANT_MPI_THREAD_LEVEL": "serialized"})


@pytest.mark.parametrize("mpi", MAIN)
def test_the_program_has_initialised_mpi(mpi):
    checked(mpi, 2, [program("wrapper"), "host"])


def late():
    full = [("openmpi", 3, "2"), ("mpich", 3, "1"), ("impi", 2, "2")] if FULL else []
    for mpi, n, devices in [("mpich", 2, "2"), ("openmpi", 2, "1"), *full]:
        yield from ((mpi, n, what, devices) for what in ("partial", "missing", "missing message", "killed"))


@pytest.mark.parametrize("mpi, n, what, devices", list(late()))
def test_a_device_is_missing(mpi, n, what, devices):
    """The launcher must leave alone who has not failed."""
    result = launch(mpi, n, [*AROUND, program("wrapper"), *what.split(), devices], options=["--no-cleanup"], timeout=60)
    ended = [line.split()[-1] for line in result.stdout.splitlines() if line.startswith("ended with ")]
    killed = what == "killed"
    assert sorted(ended) == sorted(["0"] * (n - killed) + [str(KILLED)] * killed), told(result)
    assert "checks" in result.stdout, told(result)


@pytest.mark.parametrize("mpi", MAIN)
def test_more_threads_than_devices(mpi):
    result = launch(mpi, 2, [*AROUND, program("wrapper"), "crowd"], options=["--no-cleanup"], timeout=60)
    assert result.stdout.count("ended with 0\n") == 2 and "checks" in result.stdout, told(result)
