"""Was this process started by a launcher of MPI?"""

import os
import sys

# Of Hydra (MPICH, Intel), PRRTE and ORTE (Open MPI), and anything else that speaks PMI or PMIx; of Cray's PALS; of Flux.
_RANKS = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "MPI_LOCALRANKID", "PALS_RANKID", "FLUX_TASK_RANK")


def started() -> bool:
    """By a launcher, or MPI is there already by mpi4py. Slurm sets SLURM_PROCID in a batch script too; a step has both."""
    by_slurm = "SLURM_STEP_NUM_TASKS" in os.environ and "SLURM_PROCID" in os.environ
    return by_slurm or any(name in os.environ for name in _RANKS) or "mpi4py.MPI" in sys.modules
