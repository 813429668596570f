"""How JAX starts over MPI: order of imports, what is refused, several jobs at once, and where the service listens."""

import os
import shutil
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest
from launching import BOTH, FULL, NEWEST, PYTHONS, ROOT, launch, launch_ok, run

WRAPPER = ROOT / "build" / "libreactant_mpi_wrapper.so"


@pytest.mark.parametrize(("jax", "mpi"), BOTH)
def test_one_line(jax, mpi):
    launch_ok(jax, mpi, 2, "start", "auto", 2)


@pytest.mark.parametrize("jax", PYTHONS)
@pytest.mark.parametrize("how", ["import is passive", "twice", "jax first", "jax first on one rank", "used before"])
def test_order(jax, how):
    launch_ok(jax, "mpich", 2, "start", how)


def test_environment_set_by_hand():
    launch_ok(NEWEST, "mpich", 2, "start", "jax first, MPITRAMPOLINE_LIB set", MPITRAMPOLINE_LIB=WRAPPER)


def test_another_wrapper(tmp_path):
    other = shutil.copy(WRAPPER, tmp_path / "libmpiwrapper.so")
    launch_ok(NEWEST, "openmpi", 2, "start", "another wrapper", MPITRAMPOLINE_LIB=other)


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
@pytest.mark.parametrize("how", ["mpi4py first", "mpi4py communicator", "a communicator that is busy"])
def test_communicators(mpi, how):
    launch_ok(NEWEST, mpi, 2, "start", how)


def test_two_halves():
    launch_ok(NEWEST, "mpich", 4 if FULL else 2, "start", "two halves")


def test_number_of_devices_after_initialize():
    launch_ok(NEWEST, "mpich", 2, "start", "devices later")


@pytest.mark.parametrize("jax", PYTHONS)
def test_alone(jax):
    launch_ok(jax, "mpich", 1, "start", "alone", options=["--singleton"])


def test_without_a_launcher_nothing_happens():
    launch_ok(NEWEST, "mpich", 1, "start", "auto", 1, options=["--singleton"], REACTANT_MPI_LIBRARY="/none.so")


def test_distributed_before():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    launch_ok(NEWEST, "mpich", 1, "start", "distributed before", port, options=["--singleton"])


def test_several_jobs_at_once():
    """Each has a coordination service of its own."""
    with ThreadPoolExecutor() as pool:
        jobs = [pool.submit(launch_ok, NEWEST, mpi, 2, "start", "auto", 2) for mpi in ("mpich", "openmpi", "mpich")]
    for job in jobs:
        job.result()


def test_coordinator():
    launch_ok(NEWEST, "mpich", 3, "coordinator")


@pytest.mark.parametrize("nccl", ["nccl228"])
def test_one_gpu_each(nccl, tmp_path):
    """What JAX is told to see, on doubles of the libraries of a machine with GPUs: no JAX runs on them."""
    from running import gpu_doubles

    launch_ok(NEWEST, "mpich", 2, "gpu", **gpu_doubles(nccl, tmp_path))


# ---- python -m reactant_mpi run ----


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "program.py"
    (tmp_path / "beside.py").write_text("")
    path.write_text(
        "import os, sys\n"
        "import beside\n"
        "import jax\n"
        "assert __name__ == '__main__' and sys.modules['__main__'].__dict__ is globals()\n"
        "assert sys.argv[0].endswith('program.py') or sys.argv[0] == __file__, sys.argv\n"
        "assert sys.argv[1:] == ['--devices', 'x y'], sys.argv\n"
        "assert os.path.isabs(sys.path[0]) and os.path.exists(os.path.join(sys.path[0], 'beside.py'))\n"
        "assert jax.process_count() == 2 and jax.config.jax_cpu_collectives_implementation == 'mpi'\n"
        "print('ok 1 checks\\n', end='', flush=True)\n"
        "sys.exit(int(os.environ.get('CODE', 0)))\n"
    )
    return path


def test_run(script):
    launch_ok(NEWEST, "mpich", 2, ["-m", "reactant_mpi", "run", script], "--devices", "x y")


def test_run_a_module(script, tmp_path):
    variables = {"PYTHONPATH": f"{ROOT / 'bindings' / 'python'}{os.pathsep}{tmp_path}"}
    run_in = ["-c", f"import os, runpy, sys; os.chdir({str(tmp_path)!r}); runpy.run_module('reactant_mpi', run_name='__main__')"]
    launch_ok(NEWEST, "mpich", 2, [*run_in, "run", "-m", "program"], "--devices", "x y", **variables)


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_exit_code_of_run(mpi, script):
    done = launch(NEWEST, mpi, 2, ["-m", "reactant_mpi", "run", script], "--devices", "x y", CODE=3)
    assert done.returncode == 3 and "Traceback" not in done.stdout, done.stdout
    assert done.stdout.count("ok 1 checks") == 2


def test_run_without_a_launcher(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import jax; assert jax.process_count() == 1; print('alone')")
    done = run([PYTHONS[NEWEST], "-m", "reactant_mpi", "run", program], JAX_PLATFORMS="cpu")
    assert done.returncode == 0 and done.stdout == "alone\n", done.stdout
