"""Options check and trace: the ranks compare their calls; every call is in the trace, and the files of the ranks become one."""

import collections
import json
import os
import subprocess
import sys

import pytest
from harness import ANY, MAIN, ROOT, alone, checked, clean_environment, launch, program, records, told

# ---- options ----


def one_rank_with(mpi, n, variable, value):
    """initialize where the variable is set on rank 1 only."""
    script = f'test "${{PMI_RANK:-$PMIX_RANK}}" = 1 && export {variable}="{value}"; exec "$0" --describe'
    result = launch(mpi, n, ["sh", "-c", script, program("probe")], timeout=60)
    found = records(result)
    assert result.returncode == 0 and len(found) == n, told(result)
    return found


@pytest.mark.parametrize("mpi", MAIN)
@pytest.mark.parametrize("option, value, other", [("check", "1", "off"), ("half", "f32", "pairwise")])
def test_options_that_must_be_equal(mpi, option, value, other):
    for got in one_rank_with(mpi, 2, f"REACTANT_MPI_{option.upper()}", value):
        assert got["code"] == "30", got
        assert f"option {option}" in got["text"] and f": {other}" in got["text"] and "rank 1 on" in got["text"], got


def test_options_are_described(tmp_path):
    off = json.loads(alone("--describe")["describe"])["communicator"]["options"]
    assert (off["check"], off["half"], off["trace"]) == (False, "pairwise", "")
    env = {"REACTANT_MPI_CHECK": "on", "REACTANT_MPI_HALF": "f32", "REACTANT_MPI_TRACE": str(tmp_path / "t")}
    on = json.loads(alone("--describe", env=env)["describe"])["communicator"]["options"]
    assert (on["check"], on["half"], on["trace"]) == (True, "f32", str(tmp_path / "t"))


@pytest.mark.parametrize("words", ["REACTANT_MPI_CHECK=yes", "REACTANT_MPI_HALF=f16"])
def test_unusable_words(words):
    got = alone("--setenv", words)
    assert got["code"] == "11" and words in got["text"], got


@pytest.mark.parametrize("mpi", MAIN)
def test_a_folder_that_one_rank_cannot_write(mpi, tmp_path):
    (tmp_path / "file").touch()
    for got in one_rank_with(mpi, 2, "REACTANT_MPI_TRACE", f"{tmp_path}/file/x"):
        assert got["code"] == "11", got
        assert "rank 1 on" in got["text"] and "trace" in got["text"] and "rank-1.json" in got["text"], got


# ---- check ----


@pytest.mark.parametrize("n", (2, 3))
@pytest.mark.parametrize("mpi", MAIN)
def test_every_mismatch_is_told_on_every_rank(mpi, n):
    checked(mpi, n, [program("agreement")])


@pytest.mark.parametrize("mpi", MAIN)
def test_a_missing_rank_under_a_timeout(mpi):
    """The ranks end without MPI_Finalize, which launchers do not like."""
    result = launch(mpi, 3, [program("agreement"), "missing"], timeout=60)
    assert "checks" in result.stdout and "expected" not in result.stderr, told(result)


@pytest.mark.parametrize("env", ({}, {"REACTANT_MPI_MAX_COUNT": "7"}), ids=("", "split"))
@pytest.mark.parametrize("mpi", ANY)
def test_right_calls_pass_the_check(mpi, env):
    checked(mpi, 2, [program("collectives")], env=env | {"REACTANT_MPI_CHECK": "1"})


# ---- trace ----


def traced(mpi, n, folder, *arguments, status=0, **more):
    """The events of each rank, from files that are whole JSON."""
    env = {"REACTANT_MPI_TRACE": str(folder)}
    result = launch(mpi, n, [program("trace"), *arguments], env=env, timeout=60, **more)
    assert status is None or result.returncode == status and "checks" in result.stdout, told(result)
    assert sorted(os.listdir(folder)) == [f"rank-{rank}.json" for rank in range(n)]
    return [json.loads((folder / f"rank-{rank}.json").read_text()) for rank in range(n)]


def calls(events):
    return [event for event in events if event["ph"] == "X"]


def expected(rank, n):
    """What tests/c/trace.c calls: name, category, and those arguments that a call has besides comm and rank."""
    after, before = (rank + 1) % n, (rank - 1) % n
    allgather = ("allgather", "collective", {"type": "FLOAT32", "count": 2, "bytes": 8})
    messages = {"type": "FLOAT64", "count": 3, "bytes": 24, "dest": after, "tag": 11}
    return [
        ("allreduce", "collective", {"seq": 1, "type": "FLOAT64", "op": "SUM", "count": 5, "bytes": 40}),
        ("bcast", "collective", {"seq": 2, "type": "INT8", "count": 7, "bytes": 7, "root": n - 1}),
        ("sendrecv", "message", messages | {"source": before, "recv_tag": 11, "recv_bytes": 24}),
        (*allgather[:2], {"seq": 3} | allgather[2]),
        (*allgather[:2], {"seq": 4} | allgather[2]),
        ("send", "message", {"type": "FLOAT64", "count": 1, "bytes": 8, "dest": "none", "tag": 3}),
        ("iallreduce", "start", {}),
        ("wait allreduce", "wait", {}),
        ("permute", "collective", {"seq": 6, "type": "FLOAT64", "count": 2, "bytes": 16, "source": before, "dests": [after]}),
        ("barrier", "collective", {"seq": 1}),
    ]


def check_calls(events, rank, n):
    found = calls(events)
    for event, (name, category, arguments) in zip(found, expected(rank, n), strict=False):
        assert (event["name"], event["cat"], event["pid"]) == (name, category, rank)
        args = dict(event["args"])
        assert (args.pop("comm"), args.pop("rank")) == ((2, rank // 2) if event is found[9] else (1, rank))
        assert args == arguments
        assert event["dur"] > 0
    assert len(found) >= len(expected(rank, n))
    begin, end = (event for event in events if event["ph"] in "be")
    assert (begin["ph"], end["ph"], begin["name"], begin["args"]["seq"]) == ("b", "e", "allreduce", 5)
    assert begin["id2"] == end["id2"] and (begin["cat"], begin["name"]) == (end["cat"], end["name"])
    assert begin["ts"] == found[6]["ts"] and end["ts"] > begin["ts"]
    starts = [event["ts"] for event in found]
    assert starts == sorted(starts) and len({event["tid"] for event in found}) == 1
    members = {event["args"]["comm"]: event["args"]["members"] for event in events if event["name"] == "communicator"}
    whole = "0-1" if n == 2 else "0-2"
    parts = {2: ["0", "1"], 3: ["0,2", "1"]}[n]
    assert members == {1: whole, 2: parts[rank % 2]}


@pytest.mark.parametrize("n", (2, 3))
@pytest.mark.parametrize("mpi", MAIN)
def test_every_call_is_there(mpi, n, tmp_path):
    for rank, events in enumerate(traced(mpi, n, tmp_path, "calls")):
        check_calls(events, rank, n)
        name = next(event for event in events if event["name"] == "process_name")
        assert name["pid"] == rank and f"rank {rank} of {n}" in name["args"]["name"]
        clocks = [event["args"] for event in events if event["name"] == "clock"]
        assert len(clocks) == 2 and all(clock["reference"] == 0 for clock in clocks)
        # One host, one clock: no look can tell a difference.
        assert all(abs(clock["offset_ns"]) <= clock["round_trip_ns"] / 2 for clock in clocks), clocks


@pytest.mark.parametrize("mpi", MAIN)
def test_files_of_killed_and_left_ranks_are_whole(mpi, tmp_path):
    """What was called more than 0.1 s before the last call has reached the file when the process is killed."""
    for rank, events in enumerate(traced(mpi, 2, tmp_path / "killed", "killed", status=None)):
        check_calls(events, rank, 2)
    for rank, events in enumerate(traced(mpi, 2, tmp_path / "left", "left", status=None)):
        check_calls(events, rank, 2)
        assert len(calls(events)) == len(expected(rank, 2)) + 1


def test_a_forked_child_adds_nothing(tmp_path):
    for rank, events in enumerate(traced("mpich", 2, tmp_path, "forked")):
        check_calls(events, rank, 2)
        assert len(calls(events)) == len(expected(rank, 2))


def test_threads(tmp_path):
    for events in traced("mpich", 2, tmp_path, "threads"):
        by_thread = collections.Counter(event["tid"] for event in calls(events))
        assert sorted(by_thread.values()) == [1000, 1000]
        for comm in (1, 2):
            assert [event["args"]["seq"] for event in calls(events) if event["args"]["comm"] == comm] == list(range(1, 1001))


def test_later_initialize_keeps_the_folder(tmp_path):
    """Option (process): described once, in the files once."""
    checked("mpich", 2, [program("lifecycle"), "plain"], env={"REACTANT_MPI_TRACE": str(tmp_path)})
    for rank in range(2):
        events = json.loads((tmp_path / f"rank-{rank}.json").read_text())
        assert sum(event["name"] == "process_name" for event in events) == 1


# ---- merge ----


def merged(folder, *arguments):
    line = [sys.executable, "-m", "reactant_mpi", "trace", str(folder), *arguments]
    env = clean_environment(PYTHONPATH=os.path.join(ROOT, "bindings", "python"))
    return subprocess.run(line, capture_output=True, text=True, env=env, timeout=60)


@pytest.mark.parametrize("mpi", MAIN)
def test_merge_finds_the_late_rank(mpi, tmp_path):
    """Late by 50 ms; a busy machine may make another rank later still, but hardly ever."""
    traced(mpi, 2, tmp_path, "late", "1")
    result = merged(tmp_path, "-o", str(tmp_path / "all.json"))
    assert result.returncode == 0, result.stderr
    row = next(line for line in result.stdout.splitlines() if line.startswith("barrier"))
    assert row.split()[1] == "20" and "rank 1 (" in row, result.stdout
    events = json.loads((tmp_path / "all.json").read_text())
    barriers = [event for event in calls(events) if event["name"] == "barrier"]
    assert len(barriers) == 20 and {event["pid"] for event in barriers} == {0, 1}
    for event in barriers:
        args = event["args"]
        assert args["wait_us"] + args["work_us"] == pytest.approx(event["dur"], abs=0.01)
        assert args["wait_us"] == 0 if event["pid"] == args["last_rank"] else args["wait_us"] > 0, event
    assert sum(event["args"]["last_rank"] == 1 for event in barriers) >= 14


def test_merge_aligns_clocks(tmp_path):
    """Two ranks, the second one's clock 5 s behind at first and 5.001 s in the end; half way a barrier that both enter at once."""
    second = 1e6

    def rank(number, begin, looks, entered):
        name = {"ph": "M", "name": "process_name", "pid": number, "tid": 1, "ts": 0, "args": {"name": "x", "size": 2}}
        looks = [{"reference": 0, "offset_ns": offset, "round_trip_ns": 2000, "at": at} for at, offset in looks]
        clock = [{"ph": "i", "name": "clock", "pid": number, "tid": 1, "ts": look.pop("at"), "args": look} for look in looks]
        comm = {"ph": "i", "name": "communicator", "pid": number, "tid": 1, "ts": begin, "args": {"comm": 1, "members": "0-1"}}
        barrier = {"ph": "X", "name": "barrier", "pid": number, "tid": 1, "ts": entered, "dur": 100, "args": {"comm": 1, "seq": 1}}
        lines = [json.dumps(event) for event in (name, clock[0], comm, barrier, clock[1])]
        (tmp_path / f"rank-{number}.json").write_text("[\n" + ",\n".join(lines) + "\n")  # without an end, as other writers leave it

    rank(0, 100 * second, [(100 * second, 0), (102 * second, 0)], 101 * second)
    rank(1, 95 * second, [(95 * second, 5e9), (97 * second, 5.001e9)], 101 * second - 5.0005 * second - 30)
    assert merged(tmp_path).returncode == 0
    barriers = {event["pid"]: event for event in json.loads((tmp_path / "merged.json").read_text()) if event["name"] == "barrier"}
    # Rank 1 came 30 µs before rank 0.
    assert barriers[0]["ts"] - barriers[1]["ts"] == pytest.approx(30, abs=1)
    assert barriers[1]["args"]["last_rank"] == 0
    assert barriers[1]["args"]["wait_us"] == pytest.approx(30, abs=1)


def test_merge_of_a_file_cut_anywhere(tmp_path):
    traced("mpich", 2, tmp_path, "calls")
    whole = (tmp_path / "rank-1.json").read_bytes()
    (tmp_path / "rank-1.json").write_bytes(whole[:-100])
    assert merged(tmp_path).returncode == 0
    assert json.loads((tmp_path / "merged.json").read_text())


def test_merge_of_nothing(tmp_path):
    result = merged(tmp_path)
    assert result.returncode == 1 and "rank-*.json" in result.stderr


def test_merge_leaves_out_another_job(tmp_path):
    traced("mpich", 3, tmp_path / "three", "calls")
    (tmp_path / "three" / "rank-2.json").rename(tmp_path / "rank-2.json")
    traced_two = {"REACTANT_MPI_TRACE": str(tmp_path)}
    checked("mpich", 2, [program("trace"), "calls"], env=traced_two)
    result = merged(tmp_path)
    assert result.returncode == 0 and "left out" in result.stderr and "2 ranks" in result.stdout, told(result)
