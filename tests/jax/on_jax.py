"""Running a script of ranks/ at n ranks, on the JAX of each Python that has one."""

import functools
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))
from running import FULL, LAUNCH, ROOT, WIDE, run  # noqa: E402

# mpi, number of ranks: what `make test` runs, and what `make test-full` runs.
JOBS = [("mpich", 2), ("openmpi", 2)]
if FULL:
    JOBS += [("impi", 2), ("mpich", 4), ("openmpi", 4), ("impi", 4)]


@functools.cache
def _version(python):
    if not python.exists():
        return None
    command = [python, "-c", "import jax; print(jax.__version__)"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip() or None


def pythons():
    """One Python for each version of JAX, by that version: the tests' own first; the others in CI only."""
    found = {}
    for name in ("", "py313", "enzyme")[: 3 if WIDE else 1]:
        python = ROOT / ".venv" / name / "bin" / "python"
        version = _version(python)
        if version:
            found.setdefault(version, python)
    assert found, "no JAX: make test-programs"
    return found


PYTHONS = pythons()


def launch(python, mpi, n, script, *arguments, seconds=120, options=(), **variables):
    """Run ranks/SCRIPT.py at n ranks, on CPUs; the finished process."""
    program = [python, HERE / "ranks" / f"{script}.py", *arguments]
    command = [sys.executable, LAUNCH, "-n", n, "--mpi", mpi, "--timeout", seconds, *options, "--", *program]
    return run(command, seconds, **{"JAX_PLATFORMS": "cpu", "REACTANT_MPI_GPU": "off"} | variables)


def launch_ok(python, mpi, n, script, *arguments, **more):
    """The same; every rank must end well and say how much it checked."""
    done = launch(python, mpi, n, script, *arguments, **more)
    assert done.returncode == 0 and "Traceback" not in done.stdout, f"exit code {done.returncode}\n{done.stdout}"
    assert done.stdout.count("ok ") == n, done.stdout
    return done
