"""N ranks that each believe to be alone: the launcher belongs to another MPI. Refused with both facts, or let pass when told so."""

import pytest
from harness import alone, library, need, probe

LAUNCHER = 42
OFF = {"REACTANT_MPI_LAUNCHER_CHECK": "off"}


def refused(found, *words):
    assert int(found["code"]) == LAUNCHER, found
    for word in (*words, "REACTANT_MPI_LAUNCHER_CHECK"):
        assert word in found["text"], f"{word!r} is not in: {found['text']}"


# (library of, launcher of, variable by which the launcher's number of ranks is known)
WRONG = [
    ("openmpi", "mpich", "=2"),
    ("openmpi", "impi", "=2"),
    ("mpich", "openmpi", "OMPI_COMM_WORLD_SIZE=2"),
    ("impi", "openmpi", "OMPI_COMM_WORLD_SIZE=2"),
    ("mpich-abi", "openmpi", "OMPI_COMM_WORLD_SIZE=2"),
    ("system-openmpi", "system-mpich", "=2"),
]


@pytest.mark.parametrize("mpi, launcher, fact", WRONG)
def test_wrong_launcher(mpi, launcher, fact):
    need(launcher)
    for found in probe(mpi, 2, options=["--launcher", launcher]):
        refused(found, fact, library(mpi))


@pytest.mark.parametrize("mpi, launcher", [("openmpi", "mpich"), ("impi", "openmpi")])
def test_wrong_launcher_let_pass(mpi, launcher):
    """N singletons, if that is what somebody wants."""
    for found in probe(mpi, 2, options=["--launcher", launcher], env=OFF):
        assert (found["code"], found["size"], found["sum"]) == ("0", "1", "1"), found


@pytest.mark.parametrize("mpi, launcher", [("openmpi", "mpich"), ("mpich", "openmpi")])
def test_one_rank_is_right_everywhere(mpi, launcher):
    """One rank under a foreign launcher is a world of one, as it says: nothing to refuse, if MPI itself can start."""
    options = ["--launcher", launcher]
    if mpi == "mpich":  # aborts inside MPI_Init under prterun, with one rank too
        (found,) = probe(mpi, 1, options=options)
        assert found["code"] in ("0", str(LAUNCHER)), found
    else:
        (found,) = probe(mpi, 1, options=options)
        assert (found["code"], found["size"]) == ("0", "1"), found


@pytest.mark.parametrize(
    "mpi, launcher",
    [
        ("mpich", "impi"),
        ("impi", "mpich"),
        ("mpich-abi", "impi"),
        ("impi-abi", "mpich"),
        ("system-mpich", "mpich"),
        ("mpich", "system-mpich"),
    ],
)
def test_mpich_family_launchers_are_one(mpi, launcher):
    need(launcher)
    for found in probe(mpi, 2, options=["--launcher", launcher]):
        assert (found["code"], found["size"], found["sum"]) == ("0", "2", "3"), found


# ---- batch systems, by their environment ----------------------------------------------------------------------------------------

STEP = {"SLURM_JOB_ID": "77", "SLURM_NTASKS": "4", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "0"}
FLUX = {"FLUX_JOB_ID": "f1", "FLUX_JOB_SIZE": "4", "FLUX_TASK_RANK": "0"}


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
@pytest.mark.parametrize(
    "env, fact",
    [
        (STEP, "SLURM_STEP_NUM_TASKS=4"),
        (STEP | {"SLURM_PROCID": "3"}, "SLURM_STEP_NUM_TASKS=4"),
        (FLUX, "FLUX_JOB_SIZE=4"),
        ({"PALS_RANKID": "3"}, "PALS_RANKID=3"),
    ],
    ids=["slurm", "slurm-rank3", "flux", "pals"],
)
def test_batch_system_says_more(mpi, env, fact):
    say = [x for name, value in env.items() for x in ("--setenv", f"{name}={value}")]
    (found,) = probe(mpi, 1, *say, options=["--singleton"])
    refused(found, fact, library(mpi))
    (found,) = probe(mpi, 1, *say, options=["--singleton"], env=OFF)
    assert (found["code"], found["size"]) == ("0", "1"), found


@pytest.mark.parametrize(
    "env",
    [
        {"SLURM_JOB_ID": "77", "SLURM_NTASKS": "4"},  # sbatch or salloc: a plain ./prog is rightly one process
        {"SLURM_JOB_ID": "77", "SLURM_NTASKS": "4", "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"},
        {"PALS_RANKID": "0"},
        {"FLUX_JOB_SIZE": "1", "FLUX_TASK_RANK": "0"},
        {"PMI_RANK": "0"},
        {"SLURM_STEP_NUM_TASKS": "many", "SLURM_PROCID": "0"},
    ],
    ids=["sbatch", "step-of-one", "pals-rank0", "flux-one", "pmi-rank", "nonsense"],
)
def test_not_a_proof(env):
    found = alone(env=env | {"REACTANT_MPI_LIBMPI": library("mpich")})
    assert (found["code"], found["size"]) == ("0", "1"), found


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_right_launcher_inside_slurm(mpi):
    """mpiexec inside an allocation of another size: its own number of ranks counts."""
    say = [x for name, value in STEP.items() for x in ("--setenv", f"{name}={value}")]
    for found in probe(mpi, 2, *say):
        assert (found["code"], found["size"], found["sum"]) == ("0", "2", "3"), found
