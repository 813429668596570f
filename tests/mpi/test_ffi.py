"""The XLA FFI handlers, called with frames built by hand: on real ranks, and on streams of the GPU doubles."""

import pytest
from harness import ANY, FULL, MAIN, SYSTEM, WHEELS, checked, launch, program, told
from test_deadlines import AROUND, KILLED
from test_gpu import doubles

EVERY = WHEELS + (SYSTEM if FULL else [])


@pytest.mark.parametrize("mpi", EVERY if FULL else MAIN)
@pytest.mark.parametrize("n", (1, 2, 3, 4) if FULL else (1, 2))
def test_data(mpi, n):
    checked(mpi, n, [program("ffi"), "data", "1" if FULL else "8"], timeout=300)


@pytest.mark.parametrize("mpi", EVERY)
@pytest.mark.parametrize("n", (1, 2, 3) if FULL else (2,))
def test_rest(mpi, n):
    """Messages, what is refused, threads, many in flight, continuations that wait."""
    checked(mpi, n, [program("ffi"), "rest"])


@pytest.mark.parametrize("mpi", MAIN)
def test_one_at_a_time(mpi):
    checked(mpi, 2, [program("ffi"), "rest"], env={"REACTANT_MPI_THREAD_LEVEL": "serialized"})


@pytest.mark.parametrize("mpi", ANY)
@pytest.mark.parametrize("case, env", [("forked", {}), ("funneled", {"REACTANT_MPI_THREAD_LEVEL": "funneled"})])
def test_who_may_call(mpi, case, env):
    checked(mpi, 2, [program("ffi"), case], env=env)


@pytest.mark.parametrize("mpi", MAIN)
@pytest.mark.parametrize("case", ["late", "killed", "pending"])
def test_a_rank_is_missing(mpi, case):
    result = launch(mpi, 2, [*AROUND, program("ffi"), case], options=["--no-cleanup"], timeout=60)
    ended = sorted(line.split()[-1] for line in result.stdout.splitlines() if line.startswith("ended with "))
    assert ended == sorted(["0", str(KILLED) if case == "killed" else "0"]), told(result)
    assert "checks" in result.stdout, told(result)


MORE_DOUBLES = [("nccl228", 3), ("nccl218", 1), ("rccl_new", 4)]


@pytest.mark.parametrize("nccl, n", [("nccl232", 2), ("rccl", 2)] + (MORE_DOUBLES if FULL else []))
def test_streams(nccl, n):
    checked("mpich", n, [program("gpu_ffi")], env=doubles(nccl, 8))
