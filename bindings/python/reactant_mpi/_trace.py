"""The files of option trace, one a rank, joined into one: clocks aligned, and for each collective what was waiting and what was work.

What a rank spends in a collective until the last rank has come is waiting (wait_us), the rest is work (work_us); last_rank is the one that
the others waited for. Of device calls there is what it took to enqueue them.
"""

import collections
import json
import pathlib
import sys


def add_command(commands) -> None:
    parser = commands.add_parser("trace", help="join the files of a trace, and tell waiting from work", description=__doc__)
    parser.add_argument("dir", metavar="DIR", type=pathlib.Path, help="the folder of REACTANT_MPI_TRACE")
    parser.add_argument("-o", "--output", metavar="FILE", type=pathlib.Path, help="default: DIR/merged.json")
    parser.set_defaults(command=_command)


def _command(options) -> int:
    try:
        ranks = read(options.dir)
        events = merge(ranks)
        output = options.output or options.dir / "merged.json"
        with open(output, "w") as file:
            file.write("[\n" + ",\n".join(json.dumps(event, separators=(",", ":")) for event in events) + "\n]\n")
    except (OSError, ValueError) as error:
        print(f"trace: {error}", file=sys.stderr)
        return 1
    print("\n".join(table(events)))
    print(f"\n{len(ranks)} ranks in {output}: open it in https://ui.perfetto.dev or chrome://tracing")
    return 0


# ---- reading ----


def read(folder: pathlib.Path) -> dict[int, list[dict]]:
    """World rank: its events. Files that an earlier job of another size has left are not taken."""
    found = sorted(folder.glob("rank-*.json"), key=lambda path: path.stat().st_mtime)
    if not found:
        raise ValueError(f"there is no rank-*.json in {folder}")
    jobs = collections.defaultdict(dict)
    for path in found:
        events = _events(path)
        name = next((event for event in events if event["name"] == "process_name"), None)
        if name is None:
            raise ValueError(f"{path} is not a trace of this library")
        size = name["args"]["size"]
        jobs[size][name["pid"]] = events
    for other in jobs.keys() - {size}:
        _note(f"{len(jobs[other])} files are of a job of {other} ranks, and left out; the newest is of one of {size}")
    missing = sorted(set(range(size)) - jobs[size].keys())
    if missing:
        _note(f"no file of rank {', '.join(map(str, missing[:20]))}{' ...' if len(missing) > 20 else ''}")
    return dict(sorted(jobs[size].items()))


def _events(path: pathlib.Path) -> list[dict]:
    """One event a line. The file of a process that was killed while writing may end anywhere."""
    events = []
    with open(path, errors="replace") as file:
        for line in file:
            try:
                event = json.loads(line.strip().rstrip(","))
            except ValueError:
                continue
            if isinstance(event, dict) and "name" in event:
                events.append(event)
    return events


def _note(text: str) -> None:
    print(f"trace: {text}", file=sys.stderr)


# ---- clocks ----


def _ahead(events: list[dict]):
    """A function of this rank's time: how far the reference's clock is ahead then, all in µs."""
    looks = [event for event in events if event["name"] == "clock"]
    references = {event["args"]["reference"] for event in looks}
    reference = min(references, default=None)
    points = [
        (event["ts"], event["args"]["offset_ns"] / 1e3, event["args"]["round_trip_ns"] / 1e3)
        for event in looks
        if event["args"]["reference"] == reference
    ]
    # Within the error of every look there is no difference: ranks of one host have one clock.
    if all(abs(offset) <= round_trip / 2 for _, offset, round_trip in points):
        return lambda _ts: 0.0
    (begin, first, _), (end, last, _) = points[0], points[-1]
    if end <= begin:
        return lambda _ts: first
    return lambda ts: first + (last - first) * min(max((ts - begin) / (end - begin), 0), 1)


# ---- joining ----


def merge(ranks: dict[int, list[dict]]) -> list[dict]:
    """All events by time, which begins at 0; collectives with wait_us, work_us and last_rank."""
    ranks = {rank: [dict(event) for event in events] for rank, events in ranks.items()}
    for events in ranks.values():
        ahead = _ahead(events)
        for event in events:
            if event["ph"] != "M":
                event["ts"] += ahead(event["ts"])
    for calls in _together(ranks).values():
        _split_time(calls)
    joined = [event for events in ranks.values() for event in events]
    zero = min((event["ts"] for event in joined if event["ph"] != "M"), default=0)
    for event in joined:
        if event["ph"] != "M":
            event["ts"] = round(event["ts"] - zero, 3)
    return sorted(joined, key=lambda event: (event["ph"] != "M", event["ts"]))


def _together(ranks: dict[int, list[dict]]) -> dict[tuple, list[dict]]:
    """The ranks' parts of each collective: same communicator (number and members), same place in its sequence."""
    found = collections.defaultdict(list)
    for events in ranks.values():
        members = {event["args"]["comm"]: event["args"]["members"] for event in events if event["name"] == "communicator"}
        for event in events:
            args = event.get("args", {})
            if "seq" in args:
                found[args["comm"], members.get(args["comm"]), args["seq"]].append(event)
    return found


def _split_time(calls: list[dict]) -> None:
    last = max(calls, key=lambda event: event["ts"])
    if len(calls) < 2:
        return
    for event in calls:
        event["args"]["last_rank"] = last["pid"]
        if event["ph"] == "X":
            wait = min(max(last["ts"] - event["ts"], 0), event["dur"])
            event["args"] |= {"wait_us": round(wait, 3), "work_us": round(event["dur"] - wait, 3)}


# ---- the table ----


def table(events: list[dict]) -> list[str]:
    """Lines of text, one an operation, the one that took longest first."""
    operations = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            operations[event["name"] + (" (device)" if event.get("cat") == "device" else "")].append(event)
    rows = [("operation", "calls", "bytes", "total ms", "waiting", "last most often")]
    for name, calls in sorted(operations.items(), key=lambda item: -sum(event["dur"] for event in item[1])):
        total = sum(event["dur"] for event in calls)
        waiting = [event["args"]["wait_us"] for event in calls if "wait_us" in event["args"]]
        last = collections.Counter(event["args"]["last_rank"] for event in calls if "last_rank" in event["args"])
        rank, times = last.most_common(1)[0] if last else (None, 0)
        rows.append(
            (
                name,
                str(len(calls)),
                str(sum(event["args"].get("bytes", 0) for event in calls)),
                f"{total / 1e3:.3f}",
                f"{100 * sum(waiting) / total:.0f} %" if waiting and total else "-",
                f"rank {rank} ({100 * times / last.total():.0f} %)" if last else "-",
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if column in (0, 5) else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
