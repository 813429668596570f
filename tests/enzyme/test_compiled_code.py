"""What the real Enzyme-JAX pass makes of enzymexla.mpi operations, run by XLA at several ranks. One launch carries many checks."""

import sys
import warnings
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))
from running import FULL, LAUNCH, ROOT, WIDE, gpu_doubles, run  # noqa: E402

PYTHON = ROOT / ".venv" / "enzyme" / "bin" / "python"
TARGETS = ROOT / "build" / "tests" / "fake" / "xla" / "enzymexla_targets.so"

# ANY_SOURCE and PROC_NULL, as mpi.h has them.
NUMBERS = {"mpich": (-2, -1), "openmpi": (-1, -2), "mpich-abi": (-1, -3), "impi": (-2, -1), "impi-abi": (-1, -3)}

# How names are mapped: through the wheel's own EnzymeJaXMapSymbol, or by the pass map-symbol.
OPERATIONS = [("mpich", 2, "registry"), ("openmpi", 2, "pass"), ("mpich-abi", 2, "registry"), ("mpich-abi", 4, "pass")]
if WIDE:
    OPERATIONS += [("mpich", 4, "pass"), ("openmpi", 4, "registry"), ("impi", 2, "pass"), ("impi-abi", 4, "registry")]
if FULL:
    OPERATIONS = [(mpi, n, how) for mpi in NUMBERS for n in (2, 4) for how in ("registry", "pass")]


def launch_ok(mpi, n, script, *arguments, seconds=120, **variables):
    """Every rank must end well and say how much it checked. What Enzyme-JAX has mended is a warning."""
    paths = {"PYTHONPATH": HERE.parent / "python" / "ranks", "ENZYMEXLA_TARGETS": TARGETS}
    program = [PYTHON, HERE / "ranks" / f"{script}.py", *arguments]
    command = [sys.executable, LAUNCH, "-n", n, "--mpi", mpi, "--timeout", seconds, "--", *program]
    done = run(command, seconds, **paths, **variables)
    assert done.returncode == 0 and "Traceback" not in done.stdout, f"exit code {done.returncode}\n{done.stdout}"
    assert done.stdout.count("ok ") == n, done.stdout
    for line in {line for line in done.stdout.splitlines() if "has mended" in line}:
        warnings.warn(line, stacklevel=1)


@pytest.mark.parametrize(("mpi", "n", "how"), OPERATIONS)
def test_every_operation(mpi, n, how):
    launch_ok(mpi, n, "operations", how)


@pytest.mark.parametrize("mpi", NUMBERS if FULL else ["mpich", "openmpi", "mpich-abi"])
@pytest.mark.parametrize("n", [2, 4] if FULL else [2])
def test_edges_and_errors(mpi, n):
    """Once in check mode, for which a barrier of compiled code must not be the next collective."""
    launch_ok(mpi, n, "edges", *NUMBERS[mpi], REACTANT_MPI_CHECK=int(mpi == "mpich"))


@pytest.mark.parametrize(("mpi", "nccl", "check"), [("mpich", "nccl228", 0), ("openmpi", "nccl232", 1)])
@pytest.mark.parametrize("n", [2, 4] if FULL else [2])
def test_on_devices(mpi, n, nccl, check, tmp_path):
    trace = tmp_path / "trace"
    launch_ok(mpi, n, "device", trace, **gpu_doubles(nccl, tmp_path), FAKE_NCCL_TRACE=trace, REACTANT_MPI_CHECK=check)
