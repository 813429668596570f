"""How programs of JAX over MPI end: well, with an exit code, and where a rank fails, is late, or dies."""

import pytest
from launching import BOTH, NEWEST, PYTHONS, launch

TIMED_OUT = 124
# What JAX's coordination service makes a process say that it ends.
BY_JAX = "Terminating process because the JAX distributed service detected fatal errors"


# MPICH's launcher must not see that a rank was killed: it would send signals to the others, and lose what they say.
AROUND = ["sh", "-c", 'trap "" USR1; "$@"; echo "left with $?"', "sh"]


def ends(jax, mpi, how, who=0, **more):
    """The job ends, before a hang is assumed; the finished process."""
    done = launch(jax, mpi, 2, "fail", how, who, seconds=60, **more)
    assert done.returncode != TIMED_OUT, done.stdout
    return done


@pytest.mark.parametrize(("jax", "mpi"), BOTH)
@pytest.mark.parametrize("how", ["in flight", "shutdown", "MPI finalized"])
def test_good_end(jax, mpi, how):
    done = ends(jax, mpi, how)
    assert (done.returncode, done.stdout) == (0, "end\n" * 2), done.stdout


@pytest.mark.parametrize("jax", PYTHONS)
def test_finalize(jax):
    """What was computed before is still there; what would communicate is an error."""
    done = ends(jax, "mpich", "finalize")
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and lines.count("end") == 2 and len(lines) == 4, done.stdout
    assert sum("raised: " in line and "has been finalized" in line for line in lines) == 2, done.stdout


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_exit_code(mpi):
    done = ends(NEWEST, mpi, "all exit 3")
    assert done.returncode == 3, done.stdout
    assert "Traceback" not in done.stdout and BY_JAX not in done.stdout, done.stdout


@pytest.mark.parametrize(("jax", "mpi"), BOTH)
def test_all_fail(jax, mpi):
    done = ends(jax, mpi, "all raise")
    # Intel's launcher has its own code for it.
    assert (done.returncode == 1 or mpi == "impi" and done.returncode) and BY_JAX not in done.stdout, done.stdout
    assert "ValueError: a fault of all ranks" in done.stdout


@pytest.mark.parametrize(("jax", "mpi"), BOTH)
@pytest.mark.parametrize("who", [0, 1])
def test_one_fails(jax, mpi, who):
    """The other waits for it, without a deadline; the launcher ends it. Where it is rank 0, JAX may be faster."""
    done = ends(jax, mpi, "raises", who)
    assert done.returncode != 0, done.stdout
    assert "ValueError: a fault of one rank" in done.stdout and "psum without" not in done.stdout, done.stdout
    assert who == 0 or BY_JAX not in done.stdout, done.stdout


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_interrupted(mpi):
    done = ends(NEWEST, mpi, "interrupted", 1)
    assert done.returncode != 0 and "KeyboardInterrupt" in done.stdout and BY_JAX not in done.stdout, done.stdout


def test_one_exits():
    """With a code, but without an exception: it waits for the others as long as was asked for."""
    done = ends(NEWEST, "mpich", "exits 3", 1)
    assert done.returncode != 0 and "rank 1 ends without the others" in done.stdout, done.stdout
    assert "not arrived: rank 0" in done.stdout, done.stdout


@pytest.mark.parametrize("jax", PYTHONS)
@pytest.mark.parametrize("who", [0, 1])
def test_late(jax, who):
    """An exception at the deadline on the rank that waits, later on the late one too, and the job ends."""
    done = ends(jax, "mpich", "late", who)
    lines = done.stdout.splitlines()
    assert done.stdout.count("raised: ") == 3 and lines.count("end") == 2, done.stdout
    assert f"did not end within 3000 ms. Arrived: rank {1 - who}" in done.stdout and BY_JAX not in done.stdout, done.stdout


@pytest.mark.parametrize(("jax", "mpi"), BOTH)
def test_peer_killed(jax, mpi):
    """An exception that names the dead rank; JAX's service lets the process live."""
    done = ends(jax, mpi, "killed", 1, options=["--no-cleanup"], around=AROUND)
    assert "raised: " in done.stdout and "a process has ended: rank 1" in done.stdout, done.stdout
    assert done.stdout.splitlines().count("end") == 1 and BY_JAX not in done.stdout, done.stdout


@pytest.mark.parametrize("jax", PYTHONS)
def test_coordinator_killed(jax):
    """Of rank 0 the others may not even get an exception: JAX ends them. But they end."""
    done = ends(jax, "mpich", "killed", 0, options=["--no-cleanup"], around=AROUND)
    assert "left with 137" in done.stdout and "left with 0" not in done.stdout, done.stdout
    assert any(words in done.stdout for words in (BY_JAX, "coordination service", "a process has ended: rank 0")), done.stdout
