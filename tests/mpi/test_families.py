"""Layers over an MPI, vendors' names for one, and installations that were moved. The layers are doubles over the real MPIs."""

import json
import os
import shutil
import subprocess

import layers
import pytest
from harness import FULL, alone, checked, clean_environment, fake, library, prefix, program, records, told
from layers import CASES, INTERFACE, MUK, TRAMPOLINE, WRAPPER, through, under

NO_MPI, MPI_ABI, OPTION = 40, 41, 11
# Who initialises MPI: this library (own), or a host that hands its communicator over. MPIwrapper is no library for hosts.
BY_DEFAULT = [
    ("wrapper", "mpich", "own"),
    ("wrapper", "openmpi", "own"),
    ("trampoline", "mpich", "host"),
    ("trampoline", "openmpi", "host"),
    ("muk", "openmpi", "own"),
    ("interface", "mpich", "own"),
    ("OMPI_MPICH", "mpich", "host"),
    ("MPICH_OMPI", "openmpi", "host"),
]
RUNS = [(layer, mpi, who) for layer, mpi in CASES for who in ("own", "host") if (layer, who) != ("wrapper", "host")]


def refused(found, code, *words):
    assert int(found["code"]) == code, found
    for word in words:
        assert word.lower() in found["text"].lower(), f"{word!r} is not in: {found['text']}"


def described(found):
    assert found["code"] == "0", found
    return json.loads(found["describe"])["mpi"]


# ---- layers that work ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layer, mpi, who", RUNS if FULL else BY_DEFAULT)
def test_every_kind_of_call(layer, mpi, who):
    env, linked, world = through(layer, mpi)
    if who == "host":
        env.pop("REACTANT_MPI_LIBMPI", None)
    checked(mpi, 2, under(env, [program("layers"), *([linked, world] if who == "host" else [])]), options=["--find"])


@pytest.mark.skipif(not FULL, reason="half a minute each: only with REACTANT_MPI_TEST_FULL=1")
@pytest.mark.parametrize("layer, mpi", CASES)
def test_collectives(layer, mpi):
    checked(mpi, 2, under(through(layer, mpi)[0], [program("collectives")]), options=["--find"], timeout=300)


@pytest.mark.parametrize(
    "layer, abi, version",
    [
        ("wrapper", "MPItrampoline ABI", "MPIwrapper 2.11.1, using MPIABI 2.10.0, wrapping: MPICH Version"),
        ("muk", "Mukautuva ABI", "Mukautuva over MPICH Version"),
        ("interface", "WI4MPI ABI", "MPICH Version"),
    ],
)
def test_describe(layer, abi, version):
    env, linked, _ = through(layer, "mpich")
    mpi = described(alone("--describe", env=env))
    assert (mpi["abi"], mpi["path"]) == (abi, linked) and mpi["version"].startswith(version), mpi


# ---- MPItrampoline and MPIwrapper ---------------------------------------------------------------------------------------------


def test_mpitrampoline_lib_is_a_hint():
    """The wrapper itself is loaded, before any folder is searched."""
    env = {"MPITRAMPOLINE_LIB": WRAPPER, "FAKE_WRAPPED_MPI": library("mpich"), "MPI_HOME": prefix("openmpi")}
    assert described(alone("--describe", env=env))["path"] == WRAPPER


@pytest.mark.parametrize("name", ["libmpitrampoline.so.5", "libmpi.so", "link"])
def test_mpitrampoline_by_name_is_its_wrapper(name, tmp_path):
    """Whatever it is called, it is not loaded: its constructor may end the process."""
    path = layers.copied(TRAMPOLINE, tmp_path, name if name != "link" else None)
    if name == "link":
        (tmp_path / "libmpi.so").symlink_to(path)
        path = str(tmp_path / "libmpi.so")
    for lib in None, "/nonexistent/libmpiwrapper.so":
        env = {"REACTANT_MPI_LIBMPI": path} | ({"MPITRAMPOLINE_LIB": lib} if lib else {})
        refused(alone(env=env), MPI_ABI, "MPItrampoline", "MPITRAMPOLINE_LIB", lib or "not set")
    env = {"REACTANT_MPI_LIBMPI": path, "MPITRAMPOLINE_LIB": WRAPPER, "FAKE_WRAPPED_MPI": library("mpich")}
    assert described(alone("--describe", env=env))["path"] == WRAPPER


@pytest.mark.parametrize("scope", ["local", "global"])
def test_mpitrampoline_without_a_wrapper_in_the_process(scope):
    """Somebody carries one and does not use it: passed over, and never called."""
    found = alone("--preload", TRAMPOLINE, scope, "--describe", env={"MPI_HOME": prefix("mpich")})
    assert os.path.realpath(described(found)["path"]) == os.path.realpath(library("mpich")), found


def test_our_own_stand_in_is_no_mpi(tmp_path):
    """JAX is given one by MPITRAMPOLINE_LIB; it must not be taken for the MPI that it stands on."""
    path = layers.copied(WRAPPER, tmp_path, "libreactant_mpi_wrapper.so")
    refused(alone(env={"REACTANT_MPI_LIBMPI": path}), MPI_ABI, path)
    found = alone("--describe", env={"MPITRAMPOLINE_LIB": path, "MPI_HOME": prefix("mpich")})
    assert os.path.realpath(described(found)["path"]) == os.path.realpath(library("mpich")), found


# ---- Mukautuva ----------------------------------------------------------------------------------------------------------------


def test_mukautuva_that_would_abort(tmp_path):
    refused(
        alone(env={"REACTANT_MPI_LIBMPI": MUK, "MPI_LIB": "/nonexistent/libmpi.so.12"}),
        MPI_ABI,
        "Mukautuva",
        "MPI_LIB",
        "/nonexistent",
    )
    refused(alone(env={"REACTANT_MPI_LIBMPI": MUK, "MPI_LIB": fake("unknown_mpi")}), MPI_ABI, "Mukautuva", "unknown")
    refused(alone(env={"REACTANT_MPI_LIBMPI": MUK, "MPI_LIB": library("mpich-abi")}), MPI_ABI, "does not know")
    alone_there = layers.copied(MUK, tmp_path)
    refused(alone(env={"REACTANT_MPI_LIBMPI": alone_there, "MPI_LIB": library("mpich")}), MPI_ABI, "mpich-wrap.so")


# ---- WI4MPI -------------------------------------------------------------------------------------------------------------------


def test_wi4mpi_that_would_end_the_process():
    real = library("mpich")
    refused(alone(env={"REACTANT_MPI_LIBMPI": INTERFACE}), MPI_ABI, "WI4MPI", "WI4MPI_WRAPPER_LIB")
    refused(alone(env={"REACTANT_MPI_LIBMPI": INTERFACE, "WI4MPI_WRAPPER_LIB": "/none.so"}), MPI_ABI, "/none.so")
    by_path = {"LD_LIBRARY_PATH": os.path.dirname(INTERFACE), "REACTANT_MPI_LIBMPI": "libmpi.so"}
    refused(alone(env=by_path), MPI_ABI, "WI4MPI_WRAPPER_LIB")
    preload = through("OMPI_MPICH", "mpich")[1]
    refused(alone(env={"REACTANT_MPI_LIBMPI": preload, "WI4MPI_RUN_MPI_C_LIB": real}), MPI_ABI, "LD_PRELOAD")


def test_wi4mpi_can_be_passed_by():
    """Who names the MPI gets it, whatever is preloaded."""
    env = through("OMPI_MPICH", "mpich")[0] | {"REACTANT_MPI_LIBMPI": library("mpich")}
    assert described(alone("--describe", env=env))["abi"] == "MPICH ABI"


# ---- names of vendors ---------------------------------------------------------------------------------------------------------


def first_word(value):
    return value.split()[0]


VENDORS = [
    ("libmpi.so.12", "MVAPICH Version: 4.1", "mpich", "MPICH ABI"),
    ("libmpi.so.12", "MVAPICH2 Version: 2.3.7", "mpich", "MPICH ABI"),
    ("libmpi.so.12", "ParaStation MPI 5.13 (MPICH 4.3)", "mpich", "MPICH ABI"),
    ("libmpi_cray.so.12", "CRAY MPICH version 8.1.27 (ANL base 3.4a2)", "mpich", "MPICH ABI"),
    ("libmpi_gnu_123.so.12", "CRAY MPICH version 8.1.32 (ANL base 3.4a2)", "mpich", "MPICH ABI"),
    ("libmpi_ibm.so", "IBM Spectrum MPI 10.4.0", "openmpi", "Open MPI ABI"),
]


@pytest.mark.parametrize("name, version, mpi, abi", VENDORS, ids=first_word)
def test_vendor(name, version, mpi, abi, tmp_path):
    """Found in a prefix by its name, served by its ABI, told by its version; at the launcher of its family."""
    path = layers.vendor(tmp_path / "lib", name, version, mpi)
    mpi_of = described(alone("--describe", env={"MPI_HOME": str(tmp_path)}))
    assert (mpi_of["path"], mpi_of["abi"], mpi_of["version"]) == (path, abi, version)


@pytest.mark.parametrize("name, version, mpi, abi", VENDORS if FULL else VENDORS[4:5], ids=first_word)
def test_vendor_under_a_launcher(name, version, mpi, abi, tmp_path):
    path = layers.vendor(tmp_path / "lib", name, version, mpi)
    checked(mpi, 2, under({"MPI_HOME": str(tmp_path), "REACTANT_MPI_LIBMPI": path}, [program("layers")]), options=["--find"])


def test_cray_without_its_gpu_library(tmp_path):
    cray = layers.vendor(tmp_path, "libmpi_cray.so.12", VENDORS[3][1], "mpich")
    env = {"REACTANT_MPI_LIBMPI": cray, "MPICH_GPU_SUPPORT_ENABLED": "1"}
    refused(alone(env=env), OPTION, "MPICH_GPU_SUPPORT_ENABLED", "libmpi_gtl_cuda.so", "libmpi_gtl_hsa.so")
    gtl = layers.copied(fake("empty"), tmp_path, "libmpi_gtl_cuda.so")
    described(alone("--preload", gtl, "local", "--describe", env=env))


# ---- installations that were moved --------------------------------------------------------------------------------------------


def moved(mpi, folder):
    """A copy of an MPI's wheel elsewhere, without what no program in C needs."""
    there = os.path.join(folder, mpi)
    left_out = shutil.ignore_patterns(
        "python3*", "include", "opt", "IMB*", "libmpcp*", "*fort*", "*cxx*", "*ilp64*", "*java*", "*.so.12.*"
    )
    shutil.copytree(prefix(mpi), there, symlinks=True, ignore=left_out)
    return there


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"] if FULL else ["openmpi"])
def test_moved(mpi, tmp_path):
    """Started by its own launcher, and alone; nothing says where it was, but for Open MPI without its launcher."""
    there = moved(mpi, tmp_path)
    path = os.path.join(there, "lib", os.path.basename(library(mpi)))
    alone_env = {"OPAL_PREFIX": there} if mpi == "openmpi" else {"MPI_HOME": there}
    assert described(alone("--describe", env=alone_env))["path"] == path
    result = subprocess.run(
        [os.path.join(there, "bin", "mpiexec"), "-n", "2", program("probe"), "--describe"],
        capture_output=True,
        text=True,
        timeout=60,
        env=clean_environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1"),
    )
    found = records(result)
    assert result.returncode == 0 and len(found) == 2, told(result)
    for rank in found:
        assert described(rank)["path"] == path and rank["sum"] == "3", rank


@pytest.mark.parametrize("abi", ["libmpi.so.12", "libmpi_abi.so.1"])
def test_intel_in_a_moved_wheel(abi, tmp_path):
    """Its network library and the providers of it are found beside it, unless the user says where they are."""
    lib = os.path.join(moved("impi", tmp_path), "lib")
    env = {"REACTANT_MPI_LIBMPI": os.path.join(lib, abi), "I_MPI_FABRICS": "ofi", "FI_PROVIDER": "tcp"}
    found = alone("--show", "FI_PROVIDER_PATH", env=env)
    assert (found["code"], found["FI_PROVIDER_PATH"]) == ("0", lib), found
    found = alone("--show", "FI_PROVIDER_PATH", env=env | {"FI_PROVIDER_PATH": lib + "/."})
    assert (found["code"], found["FI_PROVIDER_PATH"]) == ("0", lib + "/."), found
