"""MPI by name, as compiled code calls it (tests/c/compiled.c)."""

import pytest
from harness import FULL, MAIN, SYSTEM, WHEELS, WIDE, checked, launch, program, told

EVERY = WHEELS + SYSTEM


def runs():
    """(what, MPI, ranks, option): every MPI at 2 ranks; other numbers of ranks, and each mode, on one of the main two."""
    check, late, split = "CHECK=1", "CALL_TIMEOUT_MS=60000", "MAX_COUNT=7"
    for mpi in EVERY:
        for what in "all", "data":
            yield from ((what, mpi, n, "") for n in ((1, 2, 3, 4) if FULL else (2,)))
        if WIDE or mpi in MAIN:
            yield from (("ended", mpi, 2, ""), ("numbers", mpi, 2, ""))
    yield from (("level single", "mpich", 1, ""), ("level funneled", "openmpi", 2, ""))
    yield from (("level serialized", "mpich", 2, ""), ("level serialized", "openmpi", 2, ""))
    yield from (("all", "mpich", 3, check), ("data", "openmpi", 2, check))
    yield from (("all", "openmpi", 4, late), ("data", "mpich", 2, late))
    yield ("data", "openmpi", 3, split)
    yield from (("all", "mpich", 1, ""), ("data", "openmpi", 1, ""), ("all", "openmpi", 3, "")) if not FULL else ()


@pytest.mark.parametrize("what, mpi, n, option", list(runs()))
def test_by_name(what, mpi, n, option):
    env = dict([("REACTANT_MPI_" + option).split("=")]) if option else {}
    checked(mpi, n, [program("compiled"), *what.split()], env=env, timeout=300 if FULL else 90)


@pytest.mark.parametrize("mpi, n", [("mpich", 2), ("openmpi", 3)])
def test_a_rank_does_not_come(mpi, n):
    """MPI_Finalize is then called by none, which launchers take for a failure: each rank says itself how it ended."""
    around = ["sh", "-c", 'trap "" USR1; "$@"; echo "ended with $?"', "sh"]
    result = launch(mpi, n, [*around, program("compiled"), "late"], options=["--no-cleanup"], timeout=60)
    assert result.stdout.count("ended with 0\n") == n and "checks" in result.stdout, told(result)


@pytest.mark.parametrize("mpi, what", [("mpich", "all"), ("openmpi", "data")])
def test_traced(mpi, what, tmp_path):
    checked(mpi, 2, [program("compiled"), what], env={"REACTANT_MPI_TRACE": str(tmp_path)}, timeout=90)
    for rank in (0, 1):
        assert '"allreduce"' in (tmp_path / f"rank-{rank}.json").read_text()


# ---- failures that nobody looks at --------------------------------------------------------------------------------------------

TOLD = "error: in compiled code, MPI_Bcast: reactant_mpi_bcast: 0x220 is no element type"


def test_told_once_a_communicator():
    result = checked("mpich", 2, [program("compiled"), "log"])
    for rank in (0, 1):
        lines = [line for line in result.stderr.splitlines() if f"reactant_mpi[{rank}]: error: in compiled code" in line]
        functions = [line.split("code, ")[1].split(":")[0] for line in lines]
        assert functions == ["MPI_Barrier", "MPI_Bcast", "MPI_Scan"] + 9 * ["MPI_Barrier"], told(result)


# flag, environment, whether it is told
LIVES = [("return", None, 0), ("return", "abort", 0), ("log", "return", 1), ("environment", "return", 0), ("environment", None, 1)]


@pytest.mark.parametrize("policy, environment, lines", LIVES)
def test_a_job_that_lives(policy, environment, lines):
    env = {"REACTANT_MPI_COMPILED_ERRORS": environment} if environment else {}
    result = checked("mpich", 2, [program("compiled"), "fail", policy], env=env)
    assert result.stderr.count(TOLD) == lines, told(result)


def test_an_unknown_wish():
    env = {"REACTANT_MPI_COMPILED_ERRORS": "nonsense"}
    result = checked("mpich", 2, [program("compiled"), "fail", "environment"], env=env)
    assert TOLD in result.stderr and "COMPILED_ERRORS=nonsense" in result.stderr, told(result)


@pytest.mark.parametrize("mpi, policy, environment", [("mpich", "abort", "return"), ("openmpi", "environment", "abort")])
def test_a_job_that_ends(mpi, policy, environment):
    env = {"REACTANT_MPI_COMPILED_ERRORS": environment}
    result = launch(mpi, 2, [program("compiled"), "fail", policy], env=env, timeout=60)
    assert result.returncode not in (0, 124) and "checks" not in result.stdout, told(result)
    assert "MPI_ABORT" in result.stderr.upper(), told(result)


@pytest.mark.parametrize("policy", ["log", "abort"])
def test_before_there_is_an_mpi(policy):
    """It is told; there is nothing that MPI could abort."""
    result = checked("mpich", 2, [program("compiled"), "early", policy])
    assert result.stderr.count("in compiled code, MPI_Barrier: there is no communicator of MPI_COMM_WORLD yet") == 2, told(result)
