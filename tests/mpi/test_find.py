"""Which library is found, by what, and what is said of one that cannot be used."""

import json
import os
import shutil

import pytest
from harness import FULL, MAIN, SYSTEM, alone, fake, here, launch, library, need, prefix, probe, program, told

NO_MPI, MPI_ABI, OPTION = 40, 41, 11


def refused(found, code, *words):
    assert int(found["code"]) == code, found
    for word in words:
        assert word.lower() in found["text"].lower(), f"{word!r} is not in: {found['text']}"


# ---- what cannot be used ----------------------------------------------------------------------------------------------------


def test_file_that_is_not_there():
    path = "/nonexistent/libmpi.so.12"
    refused(alone(env={"REACTANT_MPI_LIBMPI": path}), NO_MPI, path)


def test_text_file(tmp_path):
    path = tmp_path / "libmpi.so.12"
    path.write_text("This is no shared library.\n")
    refused(alone(env={"REACTANT_MPI_LIBMPI": str(path)}), NO_MPI, str(path))


def test_cut_off_file(tmp_path):
    path = tmp_path / "libmpi.so.12"
    with open(library("mpich"), "rb") as f:
        path.write_bytes(f.read(20000))
    refused(alone(env={"REACTANT_MPI_LIBMPI": str(path)}), NO_MPI, str(path))


def test_empty_file_and_folder(tmp_path):
    path = tmp_path / "libmpi.so.12"
    path.write_bytes(b"")
    refused(alone(env={"REACTANT_MPI_LIBMPI": str(path)}), NO_MPI, str(path))
    refused(alone(env={"REACTANT_MPI_LIBMPI": str(tmp_path)}), NO_MPI, str(tmp_path))


def test_library_that_needs_another(tmp_path):
    """A broken installation: the loader's own words are passed on."""
    shutil.copy(library("openmpi"), tmp_path / "libmpi.so.40")  # its libopen-pal is not beside it
    refused(alone(env={"REACTANT_MPI_LIBMPI": str(tmp_path / "libmpi.so.40")}), NO_MPI, "libopen-pal")


FAKES = {
    # name: (file name in the test, words of the text)
    "unknown_mpi": ("libmpi.so", ["unknown", "Example MPI 1.0", "REACTANT_MPI_LIBMPI"]),
    "mpi_abi_minus_one": ("libmpi.so", ["unknown", "Example MPI 2.0", "REACTANT_MPI_LIBMPI"]),
    "mpi_abi_prestandard": ("libmpi_abi.so.0", ["MPI_Abi_get_version"]),
    "hpe_mpt": ("libmpi.so", ["HPE MPT"]),
    "mpich_incomplete": ("libmpi.so.12", ["has no MPI_", "REACTANT_MPI_LIBMPI"]),
    "empty": ("libmpi.so.12", ["MPI_Init"]),
}


@pytest.mark.parametrize("name", FAKES)
def test_refused_by_name(name, tmp_path):
    """Named by the option."""
    file_name, words = FAKES[name]
    path = tmp_path / file_name
    shutil.copy(fake(name), path)
    refused(alone(env={"REACTANT_MPI_LIBMPI": str(path)}), MPI_ABI, str(path), *words)


@pytest.mark.parametrize("name", ["hpe_mpt"])
def test_refused_under_another_name(name, tmp_path):
    """What it is shows in its symbols, whatever it is called."""
    path = tmp_path / "libmpi.so.12"
    shutil.copy(fake(name), path)
    refused(alone(env={"REACTANT_MPI_LIBMPI": str(path)}), MPI_ABI, *FAKES[name][1])


@pytest.mark.parametrize("scope", ["local", "global"])
@pytest.mark.parametrize("name", ["unknown_mpi", "hpe_mpt", "mpich_incomplete"])
def test_refused_in_the_process(name, scope, tmp_path):
    """The host has loaded it, so its handles are of that kind: nothing else may be taken quietly, nor may it be called."""
    path = tmp_path / FAKES[name][0]
    shutil.copy(fake(name), path)
    refused(alone("--preload", str(path), scope), MPI_ABI, *FAKES[name][1])


@pytest.mark.parametrize("n", (1, 2))
@pytest.mark.parametrize("mpi", MAIN)
def test_refused_on_every_rank(mpi, n):
    for found in probe(mpi, n, "--setenv", "REACTANT_MPI_LIBMPI=/nonexistent/libmpi.so.12"):
        refused(found, NO_MPI, "/nonexistent/libmpi.so.12")
    for found in probe(mpi, n, "--setenv", "REACTANT_MPI_LIBMPI=" + fake("unknown_mpi")):
        refused(found, MPI_ABI, "unknown")


def test_nothing_anywhere(tmp_path):
    """No MPI at all: the text says what was tried and what to do."""
    if set(SYSTEM) & set(here()):
        pytest.skip("this machine has an MPI of its own in the loader's folders, so one is found")
    refused(alone(), NO_MPI, "REACTANT_MPI_LIBMPI", "libmpi.so.12", "libmpi.so.40", "libmpi_abi.so.1")


def test_a_refusal_is_not_for_ever(tmp_path):
    """After a wrong path a right one works, in the same process: nothing has been decided by a failure."""
    found = launch(
        "mpich", 1, [program("retry"), "/nonexistent/libmpi.so.12", fake("unknown_mpi"), library("mpich")], options=["--singleton"]
    )
    assert found.returncode == 0 and "checks" in found.stdout, told(found)


# ---- what is found, and in which order ----------------------------------------------------------------------------------------


def same_file(a, b):
    return os.path.realpath(a) == os.path.realpath(b)


def loaded(found):
    """The path of the library that `describe` tells of: somewhere in it stands a string that is a libmpi."""
    assert found["code"] == "0", found

    def strings(x):
        if isinstance(x, str):
            yield x
        elif isinstance(x, dict | list):
            for y in x.values() if isinstance(x, dict) else x:
                yield from strings(y)

    described = json.loads(found["describe"])
    paths = [s for s in strings(described) if s.startswith("/") and "/libmpi" in s and os.path.isfile(s)]
    assert paths, described
    return paths[0]


@pytest.mark.parametrize("mpi", ["mpich", "openmpi", "impi", "system-mpich", "system-openmpi"])
@pytest.mark.parametrize("n", (1, 2))
def test_launchers_own(mpi, n):
    """Nothing said: the launcher's own prefix has the library."""
    for found in probe(mpi, n, "--describe", options=["--find"]):
        assert int(found["size"]) == n
        assert prefix(mpi) == os.path.dirname(os.path.dirname(loaded(found))) or same_file(loaded(found), library(mpi)), found


@pytest.mark.parametrize("mpi", MAIN)
def test_mpi4py_libmpi(mpi):
    found = alone("--describe", env={"MPI4PY_LIBMPI": library(mpi)})
    assert same_file(loaded(found), library(mpi))


@pytest.mark.parametrize("variable", ["MPI_HOME", "MPI_ROOT", "VIRTUAL_ENV", "REACTANT_MPI_MPI_DIRS"])
@pytest.mark.parametrize("mpi", MAIN)
def test_prefix_variables(mpi, variable):
    found = alone("--describe", env={variable: prefix(mpi)})
    assert os.path.dirname(loaded(found)) == os.path.join(prefix(mpi), "lib"), found


def test_mpi_dirs_is_a_list_of_folders_or_prefixes(tmp_path):
    lib = os.path.dirname(library("openmpi"))
    found = alone("--describe", env={"REACTANT_MPI_MPI_DIRS": f"/nonexistent:{tmp_path}:{lib}:{prefix('mpich')}"})
    assert same_file(loaded(found), library("openmpi")), found


def test_the_option_beats_every_hint():
    found = alone(
        "--describe",
        env={
            "REACTANT_MPI_LIBMPI": library("mpich"),
            "MPI4PY_LIBMPI": library("openmpi"),
            "MPI_HOME": prefix("openmpi"),
            "REACTANT_MPI_MPI_DIRS": prefix("openmpi"),
        },
    )
    assert same_file(loaded(found), library("mpich"))


def test_mpi4py_libmpi_beats_prefixes():
    found = alone(
        "--describe",
        env={"MPI4PY_LIBMPI": library("openmpi"), "MPI_HOME": prefix("mpich"), "REACTANT_MPI_MPI_DIRS": prefix("mpich")},
    )
    assert same_file(loaded(found), library("openmpi"))


def test_a_hint_that_fails_is_passed_over():
    found = alone("--describe", env={"MPI4PY_LIBMPI": "/nonexistent/libmpi.so.12", "MPI_HOME": prefix("openmpi")})
    assert same_file(loaded(found), library("openmpi"))


def test_the_launchers_family_first():
    """A hint to another MPI than the launcher's does not win over the launcher's own."""
    for found in probe("openmpi", 2, "--describe", options=["--find"], env={"MPI_HOME": prefix("mpich")}):
        assert int(found["size"]) == 2 and same_file(loaded(found), library("openmpi")), found


# ---- what the host has loaded -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scope", ["local", "global"])
@pytest.mark.parametrize("mpi", [*MAIN, "mpich-abi", "impi"] if not FULL else [*MAIN, "mpich-abi", "impi", "impi-abi", *SYSTEM])
def test_already_loaded(mpi, scope):
    """The host's MPI is in the process, whether or not its names are global: it is taken, before any hint."""
    found = alone(
        "--preload", library(mpi), scope, "--describe", env={"MPI_HOME": prefix("openmpi" if "mpich" in mpi else "mpich")}
    )
    assert same_file(loaded(found), library(mpi)), found


@pytest.mark.parametrize("mpi", MAIN)
def test_already_loaded_at_two_ranks(mpi):
    for found in probe(mpi, 2, "--preload", library(mpi), "local", "--describe", options=["--find"]):
        assert found["size"] == "2" and found["sum"] == "3" and same_file(loaded(found), library(mpi)), found


# Two of different families, and libmpi and libmpi_abi of one vendor: with MPICH and Intel MPI these are independent copies.
PAIRS = [("mpich", "openmpi"), ("openmpi", "mpich"), ("mpich", "mpich-abi"), ("mpich-abi", "mpich"), ("impi-abi", "impi")]


@pytest.mark.parametrize("mpi, other", PAIRS)
def test_two_in_the_process_one_initialised(mpi, other):
    """The initialised one is the host's."""
    found = alone(
        "--preload",
        library(other),
        "local",
        "--preload",
        library(mpi),
        "local",
        "--host-init",
        "--setenv",
        "REACTANT_MPI_LIBMPI",
        "--describe",
        env={"REACTANT_MPI_LIBMPI": library(mpi)},
    )
    assert same_file(loaded(found), library(mpi)), found


def test_initialised_one_beats_the_option():
    """The host's handles belong to the MPI it has initialised; another library named by the option cannot take them."""
    found = alone(
        "--host-init",
        "--setenv",
        "REACTANT_MPI_LIBMPI=" + library("openmpi"),
        "--describe",
        env={"REACTANT_MPI_LIBMPI": library("mpich")},
    )
    assert found["code"] in ("0", "8"), found


@pytest.mark.parametrize("wanted, other", PAIRS)
def test_two_in_the_process_none_initialised(wanted, other):
    """Nobody can tell which is meant: refused with both named, unless the option says."""
    both = ["--preload", library(wanted), "local", "--preload", library(other), "local", "--describe"]
    found = alone(*both)
    refused(found, NO_MPI, library(wanted), library(other), "REACTANT_MPI_LIBMPI")
    found = alone(*both, env={"REACTANT_MPI_LIBMPI": library(wanted)})
    assert same_file(loaded(found), library(wanted)), found


# ---- describe -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mpi", ["mpich", "openmpi", "impi", "mpich-abi", "impi-abi", *SYSTEM])
def test_describe(mpi):
    """Both descriptions are JSON, and tell the library by path and version, its ABI, and how it was found."""
    need(mpi)
    words = {"mpich": "mpich", "openmpi": "open mpi", "impi": "intel", "system-mpich": "mpich", "system-openmpi": "open mpi"}
    abi = {
        "mpich": "mpich abi",
        "impi": "mpich abi",
        "system-mpich": "mpich abi",
        "openmpi": "open mpi abi",
        "system-openmpi": "open mpi abi",
    }
    for found in probe(mpi, 1, "--describe"):  # the long lines of two ranks may mingle on their way through a launcher
        for text in found["describe"], found["process"]:
            assert isinstance(json.loads(text), dict), text
            assert words.get(mpi.removesuffix("-abi"), "") in text.lower(), text
            assert abi.get(mpi, "mpi-5") in text.lower(), text
        assert same_file(loaded(found), library(mpi)), found


def test_describe_after_a_failure():
    found = alone("--describe", env={"REACTANT_MPI_LIBMPI": '/nonexistent/quote"back\\slash\nline/libmpi.so'})
    assert found["code"] == str(NO_MPI)
    for key in "describe", "process":
        assert isinstance(json.loads(found[key]), dict), found[key]
