"""Running programs of JAX at several ranks."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))
from running import FULL, LAUNCH, ROOT, WIDE, run  # noqa: E402, F401

MPIS = ["mpich", "openmpi"] + ["impi"] * FULL


def _version(python: Path) -> str | None:
    """Of JAX; None if it is not there."""
    found = sorted(python.parents[1].glob("lib/python3.*/site-packages/jax-*.dist-info"))
    return found[0].name.removeprefix("jax-").removesuffix(".dist-info") if found else None


# One Python for each version of JAX: the tests' own; in CI also the others, 3.13 with a newer JAX or 3.11 with an older one.
_HERE = {_version(ROOT / ".venv" / name / "bin" / "python"): name for name in ("enzyme", "py313", "jax")[0 if WIDE else 2 :]}
PYTHONS = {f"jax-{version}": ROOT / ".venv" / name / "bin" / "python" for version, name in _HERE.items() if version}
assert PYTHONS, "no JAX in .venv: make test-programs"

NEWEST = list(PYTHONS)[-1]
# What is about both runs with each JAX on each MPI, what is about JAX with one MPI each.
BOTH = [(jax, mpi) for jax in PYTHONS for mpi in MPIS]
EACH = BOTH if FULL else list(zip(PYTHONS, MPIS, strict=False))


def launch(jax, mpi, n, program, *arguments, seconds=120, options=(), around=(), **variables):
    """python PROGRAM... at n ranks; the finished process. A program is the name of a script in ranks/, or options of Python."""
    words = [HERE / "ranks" / f"{program}.py"] if isinstance(program, str) else program
    program = [*around, PYTHONS[jax], *words, *arguments]
    command = [sys.executable, LAUNCH, "-n", n, "--mpi", mpi, "--timeout", seconds, *options, "--", *program]
    variables = {"JAX_PLATFORMS": "cpu", "PYTHONUNBUFFERED": "1"} | variables
    return run(command, seconds, **variables)


def launch_ok(jax, mpi, n, program, *arguments, **more):
    """The same; every rank must end well and say how much it checked, and nobody must say anything else."""
    done = launch(jax, mpi, n, program, *arguments, **more)
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}"
    # JAX takes a variable of Intel's launcher for that of a proxy; Gloo tells of its connections.
    words = "\n".join(line for line in done.stdout.splitlines() if "HYDRA_BSTRAP_PROXY_ID" not in line).split()
    assert words.count("ok") == n and (len(words) == 3 * n or "[Gloo]" in words), done.stdout
    return done
