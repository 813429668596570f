"""docs/benchmarks.md from the lines of `make bench`.

    make bench | tee lines.tsv && .venv/bin/python tests/bench/report.py lines.tsv > docs/benchmarks.md
"""

import datetime
import os
import platform
import sys

GROUPS = {
    "load.": "Loading and initialising",
    "c.": "C: 8-byte allreduce, what the library adds to the bare MPI call",
    "mode.": "C: 8-byte allreduce in check mode and in trace mode, against the bare MPI call",
    "py.": "Python: 8-byte allreduce",
    "jl.": "Julia: 8-byte allreduce against C's function by a bare ccall, and in a child Task against the root task",
    "init.": "Making a further communicator, against the least that MPI needs for the like",
    "form.": "Other forms: started calls, messages against bare MPI, 16-bit floats against 32-bit, timeout or check against none",
    "jax.gloo.": "JAX: psum of float32 at two ranks over gloo, µs (py: one jit call each, fori: many calls in one jit)",
    "jax.a.": "JAX: the same program over MPI; with 2 devices in each of 2 processes; against the operations and the prepared call",
    "jax.b.": "JAX: allreduce inside jit, with a token (cheap), a Ref (ref), neither (none)",
    "jax.c.": "The prepared call that the same process makes in turn",
    "jax.mpi4jax.": "mpi4jax in the same process",
    "gpu.": "Device calls (against the doubles: what the host pays)",
}

HEAD = """# Benchmarks

Made by `tests/bench/report.py` from the lines of `make bench`, on {when}: {machine}.

Figures with a target are differences or ratios of two things measured in turn in one run, so that whatever else the machine does
meets both alike; times that stand alone have none. One machine's figures: repeat them on yours with

    make bench              # everything, one figure a line
    make bench ONLY=c.      # a part
"""

TAIL = """
## Messages of initialize

Every wait of initialize is one MPI collective, and their number does not depend on the number of ranks; each costs a
rank ceil(log2 n) messages in the usual algorithms. Counted in the code: 4 for a host communicator (two duplicates, the
records, the id), 11 with devices (the device records, four agreements, the id's broadcast and a barrier more), NCCL's own
messages not counted.

| ranks | host communicator | with devices |
|---|---|---|
{messages}
"""


def machine():
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "unknown CPU")
    return f"{os.cpu_count()} × {model}, Linux {platform.release().split('-')[0]}"


def main():
    lines = [line.rstrip("\n").split("\t") for line in open(sys.argv[1]) if line.count("\t") == 4]
    out = [HEAD.format(when=datetime.date.today(), machine=machine())]
    for prefix, title in GROUPS.items():
        rows = [row for row in lines if row[0].startswith(prefix)]
        if rows:
            out += [f"\n## {title}\n", "| figure | value | target | |", "|---|---|---|---|"]
            out += [f"| `{name}` | {value} {unit} | {target} | {verdict} |" for name, value, unit, target, verdict in rows]
    steps = {n: (n - 1).bit_length() for n in (2, 4, 16, 64, 256, 1024, 4096)}
    out.append(TAIL.format(messages="\n".join(f"| {n} | {4 * s} | {11 * s} |" for n, s in steps.items())))
    print("\n".join(out), end="")


main()
