"""Programs that are linked to an MPI: how they were compiled decides where Open MPI's variables are."""

import os
import subprocess

import pytest
from harness import BUILD, ROOT, checked, library, prefix

SOURCE = os.path.join(os.path.dirname(__file__), "linked.c")


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
@pytest.mark.parametrize("flags", ["-fPIE -pie", "-fno-pic -no-pie", "-fPIC"])
def test_linked(mpi, flags, tmp_path):
    program = tmp_path / "linked"
    # The distribution's linker cannot follow what the wheel's library needs.
    line = f"gcc {flags} -I{ROOT}/include -I{prefix(mpi)}/include {SOURCE} -o {program} -L{BUILD} -lreactant_mpi {library(mpi)}"
    line += f" -Wl,-rpath,{BUILD}:{os.path.dirname(library(mpi))} -Wl,--allow-shlib-undefined"
    subprocess.run(line.split(), check=True)
    checked(mpi, 2, [str(program)])
