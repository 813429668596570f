"""GPU communicators on test doubles of the driver, of NCCL in four versions and of RCCL: data, life, choice of device, clients."""

import ctypes
import os
import re

import pytest
from harness import ANY, BUILD, FULL, MAIN, WIDE, checked, launch, program, told

FAKES = os.path.join(BUILD, "tests", "fake")
PLUGIN = os.path.join(FAKES, "xla", "pjrt_plugin.so")
EXTRA = os.path.join(FAKES, "xla", "libReactantExtra.so")
# As each double of a library says it.
VERSIONS = {
    "nccl218": "NCCL 2.18.5",
    "nccl222": "NCCL 2.22.3",
    "nccl228": "NCCL 2.28.9",
    "nccl232": "NCCL 2.32.3",
    "rccl": "RCCL 2.21.6",
    "rccl_new": "RCCL 2.27.7",
}
# Runs a command on one rank only with other variables, as a launcher that gives each task its own does.
RANK = "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}"


def folder(name):
    return os.path.join(FAKES, "gpu", name)


def doubles(nccl, gpus=4, **more):
    """The environment in which a process finds these doubles and nothing else of a GPU."""
    driver = "hip" if nccl.startswith("rccl") else "cuda"
    path = os.pathsep.join(folder(name) for name in (driver, nccl) if name)
    return {"LD_LIBRARY_PATH": path, "FAKE_GPUS": str(gpus), "FAKE_DIR": FAKES, "REACTANT_MPI_GPU": "auto"} | more


def on_each_rank(assignments, command):
    """The command with variables that may depend on $RANK, of a shell."""
    return ["sh", "-c", f'RANK={RANK}; {assignments} exec "$0" "$@"', *command]


def is_here(library):
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


# ---- data: every device call ------------------------------------------------------------------------------------------------


def data_cases():
    if FULL:
        for mpi in MAIN:
            for nccl in VERSIONS:
                for n in (1, 2, 3, 4):
                    yield mpi, nccl, n
        yield from (("mpich", "nccl228", 8), ("openmpi", "nccl232", 8), ("mpich", "rccl", 8))
        return
    yield from (("mpich", "nccl232", 1), ("mpich", "nccl228", 2), ("mpich", "nccl218", 4), ("mpich", "rccl", 2))
    yield from (("openmpi", "rccl_new", 2), ("openmpi", "nccl222", 2))
    if WIDE:
        yield from (("openmpi", "nccl222", 1), ("openmpi", "nccl232", 4))


@pytest.mark.parametrize("mpi, nccl, n", list(data_cases()))
def test_collectives(mpi, nccl, n):
    checked(mpi, n, [program("gpu_collectives")], env=doubles(nccl, 8), timeout=600 if FULL else 120)


@pytest.mark.parametrize("mpi, nccl", [("mpich", "nccl228"), ("openmpi", "nccl222")][: len(ANY)])
@pytest.mark.parametrize("how", ["NCCL_COMM_BLOCKING=0", "REACTANT_MPI_NCCL_NONBLOCKING=on"])
def test_nonblocking(mpi, nccl, how):
    """A thread inside NCCL does each call; ours return when the work is on the stream all the same."""
    checked(mpi, 2, [program("gpu_collectives")], env=doubles(nccl, 4, **dict([how.split("=")])), timeout=90)


# ---- life -------------------------------------------------------------------------------------------------------------------

LIVES = ["loops 100", "forgotten", "after", "double", "exit", "many", "async 0", "async 1", "async-forgotten 1"]


def life_cases():
    for mpi in ANY:
        for i, life in enumerate(LIVES):
            for n in (1, 2, 4) if FULL else (2,):
                if n == 1 and "async" in life:
                    continue
                if FULL or mpi == "mpich" or i % 2 == 0:
                    yield pytest.param(mpi, life, n, id=f"{mpi}-{life.replace(' ', '-')}-n{n}")


@pytest.mark.parametrize("mpi, life, n", list(life_cases()))
def test_life(mpi, life, n):
    checked(mpi, n, [program("gpu_life"), *life.split()], env=doubles("nccl228" if mpi == "mpich" else "nccl232"))


@pytest.mark.parametrize("mpi", MAIN if FULL else ["mpich"])
def test_abort_that_hangs(mpi):
    checked(mpi, 2, [program("gpu_life"), "async-hang", "1"], env=doubles("nccl228"))


def test_peer_killed():
    """The launcher is told to let the others live; they say how they ended."""
    command = f'{program("gpu_life")} killed 1; echo "rank $PMI_RANK ended with $?"; sleep 1'
    result = launch("mpich", 3, ["-disable-auto-cleanup", "sh", "-c", command], env=doubles("nccl228"))
    for rank in (0, 2):
        assert f"rank {rank} ended with 0" in result.stdout, told(result)


# ---- clients ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mpi", ANY)
@pytest.mark.parametrize("mode, library", [("reactant", EXTRA), ("pjrt", PLUGIN), ("external", None), ("none", None)])
def test_client(mpi, mode, library, tmp_path):
    log = tmp_path / "log"
    env = {"REACTANT_MPI_CLIENT": mode, "FAKE_XLA_LOG": str(log)} | ({"REACTANT_MPI_LIBXLA": library} if library else {})
    options = {"REACTANT_MPI_MEMORY_FRACTION": "0.25", "REACTANT_MPI_PREALLOCATE": "off"}
    checked(mpi, 2, [program("gpu_life"), "client", mode], env=doubles("nccl228", **env, **options))
    lines = log.read_text().splitlines() if log.exists() else []
    for device in (0, 1):
        if mode == "reactant":  # the host adopts it: nobody frees it
            assert any(f"allowed=1:{device} fraction=0.25 preallocate=0" in line for line in lines), lines
            assert not any("FreeClient" in line for line in lines), lines
        elif mode == "pjrt":
            assert any(f"visible_devices=[{device}]" in line and "memory_fraction=0.25" in line for line in lines), lines
            assert lines.count("PJRT_Client_Destroy live_clients=0 live_errors=0") == 2, lines
        else:
            assert not lines


@pytest.mark.parametrize("library, mode", [(PLUGIN, "pjrt"), (EXTRA, "reactant")])
def test_client_by_the_library_named(library, mode):
    """The default: pjrt if libxla names a plugin, reactant if it is libReactantExtra."""
    checked("mpich", 2, [program("gpu_life"), "client", mode], env=doubles("nccl228", REACTANT_MPI_LIBXLA=library))


# ---- which device -----------------------------------------------------------------------------------------------------------


def where(mpi, n, *arguments, env, assignments=""):
    """initialize on n ranks, what each got; assignments: variables by $RANK, of a shell."""
    command = [program("gpu_life"), "where", *arguments]
    result = launch(mpi, n, on_each_rank(assignments, command) if assignments else command, env=env, timeout=60)
    # Launchers mingle the lines of the ranks: one may begin where another's end is still to come.
    lines = re.findall(r"code=\d+\ttext=.*?(?=code=\d+\ttext=|\Z)", result.stdout, re.DOTALL)
    found = [dict(pair.split("=", 1) for pair in line.strip().split("\t")) for line in lines]
    assert result.returncode == 0 and len(found) == n, told(result)
    return found


def good(found):
    for record in found:
        assert record["code"] == "0", record
    return {int(r["rank"]): (int(r["device"]), r["device_reason"]) for r in found}


def same_failure(found, code, *words):
    """Every rank has the code, and a text with all these words."""
    for record in found:
        assert record["code"] == str(code), record
        for word in words:
            assert word in record["text"], (word, record["text"])
    assert len({r["text"] for r in found}) == 1, found


@pytest.mark.parametrize("nccl", VERSIONS)
def test_library_found(nccl):
    found = where("mpich", 2, env=doubles(nccl))
    assert {r: d for r, (d, _) in good(found).items()} == {0: 0, 1: 1}
    assert found[0]["nccl"] == VERSIONS[nccl]
    assert found[0]["nccl_path"].startswith(folder(nccl))


@pytest.mark.parametrize("mpi", ANY)
def test_one_visible_device_each(mpi):
    """Slurm's --gpus-per-task: every rank sees device 0, and it is another one."""
    found = where(mpi, 4, env=doubles("nccl228"), assignments="export CUDA_VISIBLE_DEVICES=$RANK;")
    assert {d for d, _ in good(found).values()} == {0}
    assert {why for _, why in good(found).values()} == {"one visible device"}
    assert len({r["id"] for r in found}) == 4


def test_wish():
    found = where("mpich", 2, env=doubles("nccl228"), assignments="export REACTANT_MPI_DEVICE=$((3 - RANK));")
    assert good(found) == {0: (3, "asked for"), 1: (2, "asked for")}


def test_visible_devices_in_another_order():
    found = where("openmpi", 2, env=doubles("nccl228", CUDA_VISIBLE_DEVICES="3,1"))
    assert {r: d for r, (d, _) in good(found).items()} == {0: 0, 1: 1}
    assert {r["id"][:12] for r in found} == {"GPU-00000003", "GPU-00000001"}


@pytest.mark.parametrize("mpi", ANY)
def test_fewer_devices_than_ranks(mpi):
    same_failure(where(mpi, 2, env=doubles("nccl228", 1)), 62, "ranks 0-1", "1 device", "GPU-00000000")


def test_same_visible_device():
    same_failure(where("mpich", 2, env=doubles("nccl228", CUDA_VISIBLE_DEVICES="2")), 62, "ranks 0-1", "CUDA_VISIBLE_DEVICES=2")


def test_same_wish():
    same_failure(where("openmpi", 2, env=doubles("nccl228", REACTANT_MPI_DEVICE="1")), 63, "ranks 0-1", "device 1")


@pytest.mark.parametrize("mpi", ANY)
def test_a_device_on_some_ranks_only(mpi):
    same_failure(where(mpi, 2, env=doubles("nccl228", FAKE_GPUS_1="0")), 61, "rank 1", "see no device")


def test_wish_beyond_the_visible():
    found = where("mpich", 2, env=doubles("nccl228"), assignments="export CUDA_VISIBLE_DEVICES=$RANK REACTANT_MPI_DEVICE=$RANK;")
    same_failure(found, 11, "rank 1", "device 1", "CUDA_VISIBLE_DEVICES=1")


def test_devices_hidden_twice():
    """HIP's second list counts within the first."""
    found = where(
        "mpich", 2, env=doubles("rccl"), assignments='test "$RANK" = 1 && export ROCR_VISIBLE_DEVICES=1 HIP_VISIBLE_DEVICES=1;'
    )
    same_failure(found, 68, "rank 1", "ROCR_VISIBLE_DEVICES")


# Two instances of one GPU, and another GPU with one.
MIG = ";".join(
    f"uuid=GPU-0000000{gpu}-0000-4000-8000-000000000000,pci=0000:0{gpu}:00.0,mig=MIG-{gpu}{i}000000-0000-4000-8000-000000000000"
    for gpu, i in ((1, 0), (1, 1), (2, 0))
)


def test_instances_of_two_gpus():
    """A process sees one instance; on two GPUs they are two devices for NCCL too."""
    lists = "case $RANK in 0) V=MIG-10000000;; *) V=MIG-20000000;; esac; export CUDA_VISIBLE_DEVICES=$V;"
    found = where("mpich", 2, env=doubles("nccl228", MIG), assignments=lists)
    assert {d for d, _ in good(found).values()} == {0}
    assert len({r["id"] for r in found}) == 2


def test_instances_of_one_gpu():
    """NCCL before 2.30 takes them for one device: an error on every rank, that says so, and no hang."""
    lists = "case $RANK in 0) V=MIG-10000000;; *) V=MIG-11000000;; esac; export CUDA_VISIBLE_DEVICES=$V;"
    found = where("mpich", 2, env=doubles("nccl228", MIG), assignments=lists)
    assert {r["code"] for r in found} <= {"63", "69"} and len({r["code"] for r in found}) == 1, found
    for record in found:
        assert re.search(r"rank 0|ranks 0-1", record["text"]), record["text"]


def test_shared_device():
    env = doubles("nccl232", 1, NCCL_MULTI_RANK_GPU_ENABLE="1")
    found = where("mpich", 2, env=env)
    assert good(found) == {0: (0, "shared device"), 1: (0, "shared device")}
    checked("mpich", 2, [program("gpu_collectives"), "calls", "comms"], env=env)


# ---- which library ----------------------------------------------------------------------------------------------------------


def other_library(nccl):
    """Rank 1 finds another one."""
    return f'test "$RANK" = 1 && export LD_LIBRARY_PATH={folder("cuda")}:{folder(nccl)};'


@pytest.mark.parametrize("mpi", ANY)
def test_versions_differ(mpi):
    same_failure(where(mpi, 2, env=doubles("nccl228"), assignments=other_library("nccl222")), 64, "rank 1", "2.22.3", "2.28.9")


def test_no_nccl_on_one_rank():
    if is_here("libnccl.so.2"):
        pytest.skip("this machine has an NCCL that every rank finds")
    same_failure(where("mpich", 2, env=doubles("nccl228"), assignments=other_library("none")), 60, "rank 1", "libnccl.so.2")


def test_too_old():
    same_failure(where("mpich", 2, env=doubles("nccl218", FAKE_NCCL_VERSION="21703")), 65, "2.17.3")


def test_two_libraries():
    other = os.path.join(folder("nccl222"), "libnccl.so.2")
    mine = os.path.join(folder("nccl228"), "libnccl.so.2")
    env = doubles("nccl228", REACTANT_MPI_LIBNCCL=mine)
    found = where("mpich", 2, other, env=env)
    assert found[0]["nccl"] == VERSIONS["nccl228"] and good(found)
    assert "two NCCL libraries" in found[0]["nccl_warning"]
    found = where("mpich", 2, other, env=env | {"REACTANT_MPI_GPU": "required"})
    same_failure(found, 66, other, mine)


def test_the_one_in_the_process():
    other = os.path.join(folder("nccl218"), "libnccl.so.2")
    found = where("openmpi", 2, other, env=doubles("nccl228"))
    assert found[0]["nccl"] == VERSIONS["nccl218"] and good(found)


# ---- no GPU -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mpi", ANY)
@pytest.mark.parametrize("n", (1, 2))
def test_no_device(mpi, n):
    """auto: a host communicator in one go, and describe says why. required: an error that says why."""
    found = where(mpi, n, env=doubles("nccl228", 0))
    for record in found:
        assert record["code"] == "0" and record["sum"] == str(n * (n + 1) // 2), record
        assert record["device"] == "-1", record
        assert "no CUDA-capable device" in record["device_reason"], record
    same_failure(where(mpi, n, env=doubles("nccl228", 0, REACTANT_MPI_GPU="required")), 61, "no CUDA-capable device")


@pytest.mark.skipif(is_here("libcuda.so.1"), reason="this machine has a libcuda, so that its absence cannot be tested")
def test_no_driver():
    env = {"LD_LIBRARY_PATH": folder("nccl228"), "REACTANT_MPI_GPU": "auto"}
    found = where("mpich", 2, env=env)
    for record in found:
        assert record["code"] == "0" and "libcuda.so.1: cannot open" in record["device_reason"], record
    # what the dynamic loader said, of both runtimes
    same_failure(where("mpich", 2, env=env | {"REACTANT_MPI_GPU": "required"}), 61, "libcuda.so.1: cannot open", "libamdhip64.so")


@pytest.mark.skipif(is_here("libnccl.so.2"), reason="this machine has an NCCL, so that its absence cannot be tested")
def test_no_library():
    env = doubles("nccl228") | {"LD_LIBRARY_PATH": folder("cuda")}
    found = where("openmpi", 2, env=env)
    for record in found:
        assert record["code"] == "0" and "libnccl.so.2: cannot open" in record["device_reason"], record
    same_failure(where("openmpi", 2, env=env | {"REACTANT_MPI_GPU": "required"}), 60, "libnccl.so.2: cannot open")


# ---- a real NCCL ------------------------------------------------------------------------------------------------------------


def test_real_library():
    """The real library under the double of the driver: found, bound, its id shared, its own error told on every rank."""
    real = os.environ.get("REACTANT_MPI_TEST_NCCL")
    if not real:
        pytest.skip("not run: REACTANT_MPI_TEST_NCCL does not name a real libnccl.so.2 (wheel nvidia-nccl-cu12)")
    env = doubles("nccl228") | {"LD_LIBRARY_PATH": folder("cuda"), "REACTANT_MPI_LIBNCCL": real, "REACTANT_MPI_TIMEOUT_MS": "30000"}
    found = where("mpich", 2, env=env)
    same_failure(found, 69, "ncclCommInitRank", os.path.basename(real))
