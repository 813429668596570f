"""Every C test at 1, 2, 3 (4) ranks on every MPI that is here."""

import os
import re
import sys

import pytest
from harness import ANY, BUILD, FULL, MAIN, SYSTEM, WHEELS, WIDE, checked, launch, program, told

EVERY = WHEELS + SYSTEM
SPLIT = {"REACTANT_MPI_MAX_COUNT": "7"}

# (program and arguments, environment, ranks on the main two, ranks on the others). collectives N does one of N jobs.
CASES = [
    ("collectives 9", {}, (1, 2, 3), (2,)),
    ("collectives 12", SPLIT, (1, 2, 3), (2,)),
    ("requests", {}, (1, 2, 3), (2,)),
    ("far", {}, (3,), (2,)),
    ("halves", {}, (1, 2), (2,)),
    ("halves", {"REACTANT_MPI_HALF": "f32"}, (3,), ()),
    ("badinput", {}, (1, 2), (1, 2)),
    ("lifecycle plain", {}, (1, 2, 3), (2,)),
    ("lifecycle host single", {}, (2,), ()),
    ("lifecycle host funneled", {}, (1, 2), ()),
    ("lifecycle host serialized", {}, (2,), ()),
    ("lifecycle host multiple", {}, (1, 3), (2,)),
    ("lifecycle host-first-options", {}, (2,), ()),
    ("lifecycle ended-before", {}, (1, 2), (2,)),
    ("lifecycle ended-while", {}, (1, 2), (2,)),
    ("lifecycle finalize-null", {}, (1, 2), (2,)),
    ("lifecycle late-rank", {}, (2, 3), (2,)),
    ("lifecycle never", {}, (1,), ()),
    ("threads many", {}, (1, 2), (2,)),
    ("threads funneled", {}, (1, 2), (2,)),
    ("threads serialized", {}, (1, 2), (2,)),
    ("threads crossed", {}, (2,), (2,)),
    ("threads coroutine", {}, (1, 2), (2,)),
    ("fork", {}, (1, 2), (2,)),
    ("comms children", {}, (1, 2, 3), (2,)),
    ("comms at-once", {}, (2, 3), (2,)),
    ("comms again", {}, (2,), ()),
    ("comms leaks 1000", {}, (2,), ()),
    ("comms contexts", {}, (2,), (2,)),
]
AT_LEAST = {"lifecycle late-rank": 2}
# Of these every MPI has its own way; what else the less usual ones run is for those with more time (WIDE).
EVERYWHERE = ["collectives 9", "requests", "halves", "badinput", "lifecycle plain", "threads many"]


def cases():
    for mpi in EVERY:
        for command, env, main, others in CASES:
            ranks = main if mpi in ANY else main[-1:] if mpi in MAIN else others if WIDE or command in EVERYWHERE else ()
            if FULL:
                ranks = range(AT_LEAST.get(command, 1), 5)
                command = "collectives 0" if command.startswith("collectives") else command  # every job, in every way
            for n in ranks:
                label = command.replace(" ", "-") + "".join("-" + value for value in env.values())
                yield pytest.param(mpi, command.split(), env, n, id=f"{mpi}-{label}-n{n}")


@pytest.mark.parametrize("mpi, command, env, n", list(cases()))
def test_c(mpi, command, env, n):
    checked(mpi, n, [program(command[0]), *command[1:]], env=env, timeout=900 if FULL else 120)


@pytest.mark.skipif(not WIDE, reason="eight ranks: only with REACTANT_MPI_TEST_WIDE=1")
@pytest.mark.parametrize("mpi", MAIN)
def test_eight_ranks(mpi):
    checked(mpi, 8, [program("collectives"), "9"], timeout=300)


@pytest.mark.parametrize("mpi", MAIN)
def test_no_more_numbers(mpi):
    checked(mpi, 1, [program("comms"), "numbers"])


@pytest.mark.parametrize("mpi", MAIN)
def test_numbers_are_the_same_in_every_run(mpi):
    runs = [re.findall(r"rank \d of 3:[ \d]+", checked(mpi, 3, [program("comms"), "stable"]).stdout) for _ in range(2)]
    assert len(runs[0]) == 3 and runs[0] == runs[1], runs


@pytest.mark.parametrize("mpi", EVERY if WIDE else MAIN)
def test_numbers_do_for_handles(mpi):
    checked(mpi, 1, [sys.executable, os.path.join(os.path.dirname(__file__), "every_function_by_id.py")])


@pytest.mark.parametrize("mpi", EVERY if FULL else MAIN)
def test_the_same_job_gives_the_same_bits(mpi):
    first, second = (checked(mpi, 3, [program("halves")]).stdout for _ in range(2))
    assert "hash" in first
    assert first == second


@pytest.mark.parametrize("mpi", EVERY if WIDE else MAIN)
@pytest.mark.parametrize("n", (1, 2) if WIDE else (2,))
def test_panic(mpi, n):
    library = os.path.join(BUILD, "test", "libreactant_mpi_panic.so")
    checked(mpi, n, ["env", f"LD_PRELOAD={library}", program("poison")])


@pytest.mark.parametrize("mpi", MAIN + SYSTEM)
@pytest.mark.parametrize("n", (2, 3))
def test_example(mpi, n):
    result = launch(mpi, n, [program("example-allreduce")])
    assert result.returncode == 0, told(result)
    for rank in range(n):
        assert f"rank {rank} of {n}" in result.stdout, told(result)
    assert result.stdout.count("right") == n, told(result)


@pytest.mark.skipif(not FULL, reason="6 GiB of memory and a minute each: only with REACTANT_MPI_TEST_FULL=1")
@pytest.mark.parametrize("mpi", EVERY)
def test_more_than_two_to_the_31(mpi):
    checked(mpi, 2, [program("big")], timeout=900)
