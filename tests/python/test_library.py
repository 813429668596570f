"""Finding and loading the C library."""

import re
import shutil
import subprocess
import sys

from reactant_mpi import _abi, _library
from running import BINDINGS, ROOT, python, run

LIBRARY = ROOT / "build" / _library.SONAME
IS_LOADED = "any('libreactant_mpi' in line for line in open('/proc/self/maps'))"


def test_import_loads_nothing():
    python(f"import reactant_mpi; assert not {IS_LOADED}; reactant_mpi.describe(); assert {IS_LOADED}")


def test_finalize_without_use_loads_nothing():
    python(f"import reactant_mpi; reactant_mpi.finalize(); assert not {IS_LOADED}")


def test_describe_starts_no_mpi():
    python("import reactant_mpi; reactant_mpi.describe(); assert not any('libmpi' in line for line in open('/proc/self/maps'))")


def test_library_of_the_checkout():
    assert python("import reactant_mpi; print(reactant_mpi.library_path())").strip() == str(LIBRARY)


def test_library_named_by_variable(tmp_path):
    chosen = tmp_path / "mine.so"
    shutil.copy(LIBRARY, chosen)
    assert python("import reactant_mpi; print(reactant_mpi.library_path())", REACTANT_MPI_LIBRARY=chosen).strip() == str(chosen)


def test_variable_is_not_passed_over(tmp_path):
    """A wrong REACTANT_MPI_LIBRARY is an error, although there is a library elsewhere."""
    text = import_error(REACTANT_MPI_LIBRARY=tmp_path / "missing.so")
    assert f"{tmp_path}/missing.so: no such file" in text
    assert "build/" not in text


def test_broken_library(tmp_path):
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"this is no library")
    assert f"{broken}: " in import_error(REACTANT_MPI_LIBRARY=broken)


def test_something_else_than_our_library(mpi_of_mpi4py):
    libmpi = subprocess.run(
        [sys.executable, ROOT / "tests" / "launch", "--lib", mpi_of_mpi4py], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert f"not a libreactant_mpi of version {_abi.VERSION_MAJOR}." in import_error(REACTANT_MPI_LIBRARY=libmpi)


def test_other_version(tmp_path):
    """A library with every function, of a version to come."""
    source, other = tmp_path / "other.c", tmp_path / "other.so"
    functions = "\n".join(f"unsigned reactant_mpi_{name}(void) {{ return 7 * 65536 + 5 * 256; }}" for name in _abi.FUNCTIONS)
    source.write_text(functions)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", other, source], check=True)
    assert "is version 7.5, wanted" in import_error(REACTANT_MPI_LIBRARY=other)


def test_installed_package(tmp_path):
    """Away from the checkout: the library is in the package, and without it everything tried is listed."""
    shutil.copytree(BINDINGS / "reactant_mpi", tmp_path / "reactant_mpi")
    text = import_error(PYTHONPATH=tmp_path)
    assert re.search(r"_lib/libreactant_mpi\.so\.0: no such file\n.*/lib/libreactant_mpi\.so\.0: no such", text), text
    packaged = tmp_path / "reactant_mpi" / "_lib" / _library.SONAME
    packaged.parent.mkdir()
    shutil.copy(LIBRARY, packaged)
    assert python("import reactant_mpi; print(reactant_mpi.library_path())", PYTHONPATH=tmp_path).strip() == str(packaged)


def test_loaded_after_a_fork():
    """A child of a process that had not loaded the library may use it."""
    python(
        "import os, reactant_mpi\n"
        "pid = os.fork()\n"
        "reactant_mpi.describe()\n"
        "if pid: assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0\n"
    )


def test_table_has_every_public_function():
    symbols = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True).stdout
    public = set(re.findall(r" T (reactant_mpi_\w+)", symbols))
    assert public == {f"reactant_mpi_{name}" for name in _abi.FUNCTIONS}


def test_version_is_written_the_same_everywhere():
    import tomllib

    import reactant_mpi

    with open(BINDINGS / "pyproject.toml", "rb") as f:
        assert tomllib.load(f)["project"]["version"] == reactant_mpi.__version__


def import_error(**variables):
    """What the ImportError says."""
    done = run([sys.executable, "-c", "import reactant_mpi; reactant_mpi.initialize()"], **variables)
    assert done.returncode == 1
    assert "ImportError" in done.stdout
    return done.stdout
