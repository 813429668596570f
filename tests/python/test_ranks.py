"""The scripts in ranks/, at several ranks under every MPI here. One launch carries many checks."""

import pytest
from running import gpu_doubles, launch, launch_ok


@pytest.mark.parametrize("n", [1, 2, 3])
def test_collectives(mpi, n):
    launch_ok(mpi, n, "collectives", seconds=120)


def test_collectives_in_small_pieces(mpi):
    launch_ok(mpi, 2, "collectives", seconds=120, MAX_COUNT=3)


@pytest.mark.parametrize("n", [2, 3])
def test_messages(mpi, n):
    launch_ok(mpi, n, "messages")


def test_requests(mpi):
    launch_ok(mpi, 2, "requests")


@pytest.mark.parametrize("n", [1, 2])
def test_bad_input(mpi, n):
    launch_ok(mpi, n, "bad_input")


@pytest.mark.parametrize("first", ["ours-first", "theirs-first"])
@pytest.mark.parametrize("n", [1, 3])
def test_beside_mpi4py(mpi_of_mpi4py, n, first):
    launch_ok(mpi_of_mpi4py, n, "beside_mpi4py", first)


@pytest.mark.parametrize("n", [1, 4])
def test_split(mpi_of_mpi4py, n):
    launch_ok(mpi_of_mpi4py, n, "split")


def test_on_stream(mpi_of_mpi4py, tmp_path):
    launch_ok(mpi_of_mpi4py, 2, "on_stream", **gpu_doubles("nccl228", tmp_path))


@pytest.mark.parametrize(("n", "nccl"), [(1, "nccl228"), (2, "nccl218"), (3, "nccl232")])
def test_on_stream_of_other_versions(n, nccl, tmp_path):
    launch_ok("mpich", n, "on_stream", **gpu_doubles(nccl, tmp_path))


def test_threads(mpi):
    launch_ok(mpi, 2, "threads")


def test_only_the_first_thread(mpi):
    launch_ok(mpi, 2, "threads", "funneled")


def test_threads_on_eight_communicators(mpi_of_mpi4py):
    launch_ok(mpi_of_mpi4py, 2, "threads", "mpi4py")


@pytest.mark.parametrize("n", [1, 2])
def test_fork(mpi, n):
    launch_ok(mpi, n, "fork")


def test_options(mpi):
    launch_ok(mpi, 2, "options")


def test_no_mpi(mpi):
    launch_ok(mpi, 1, "options", "no-mpi", options=["--singleton", "--find"])


@pytest.mark.parametrize("how", ["nothing", "sys.exit", "finalize", "with", "under way"])
def test_good_end(mpi, how):
    output = launch_ok(mpi, 2, "end", how).stdout
    # Launchers complain of ranks that leave without MPI_Finalize.
    assert output == "ok 0 checks\n" * 2


@pytest.mark.parametrize("how", ["nothing", "finalize"])
def test_good_end_without_launcher(mpi, how):
    launch_ok(mpi, 1, "end", how, options=["--singleton"])


def test_end_with_calls_that_nobody_joins(mpi):
    """They are given some time, and then up, and MPI with them, which launchers do not like."""
    done = launch(mpi, 2, "end", "never joined", seconds=30)
    assert done.returncode != 124 and "Traceback" not in done.stdout, done.stdout
    assert done.stdout.count("started calls are not done when everything ends") == 2, done.stdout


def test_end_after_a_timeout(mpi):
    """The ranks are out of step: MPI is not ended, which launchers do not like, and the processes end."""
    done = launch(mpi, 2, "end", "timeout", seconds=30)
    assert done.returncode != 124, done.stdout
    assert "Traceback" not in done.stdout, done.stdout
    assert "the end of this rank" in done.stdout
    assert "MPI_Finalize is not called" in done.stdout


@pytest.mark.parametrize(
    ("how", "word"),
    [
        ("raise", "ValueError: this rank fails"),
        ("raise in with", "ValueError: this rank fails"),
        ("our error", "ERR_RANK"),
        ("abort", "this rank aborts"),
    ],
)
def test_one_rank_fails(mpi, how, word):
    """The others wait for it, and the job ends all the same."""
    done = launch(mpi, 2, "end", how, seconds=30)
    assert done.returncode not in (0, 124), done.stdout
    assert word in done.stdout
    assert "has come" not in done.stdout
