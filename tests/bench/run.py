"""Figures of the library, one a line on standard output: name, value, unit, target, ok|MISS|- with tabs between.

    run.py [PREFIX]        only the figures whose name begins with PREFIX (also ONLY=PREFIX)

A figure with a target is a difference or ratio of two things measured in turn in one run (see overhead.c, python_calls.py and
julia_calls.jl); times that stand alone have no target. The exit code is 0 whatever the figures are: a machine may be busy.
"""

import functools
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.dirname(os.path.abspath(__file__))
LAUNCH = [sys.executable, os.path.join(ROOT, "tests", "launch")]
OVERHEAD = os.path.join(ROOT, "build", "tests", "bench", "overhead")
LIBRARY = os.path.join(ROOT, "build", "libreactant_mpi.so")
MPIS = ["mpich", "openmpi", "impi"]
ONLY = (sys.argv[1] if len(sys.argv) > 1 else os.environ.get("ONLY", "")).strip()


def wanted(*names):
    """Whether one of these figures, or figures that begin so, is asked for."""
    return any(name.startswith(ONLY) or ONLY.startswith(name) for name in names)


def figure(name, value, unit, target=None):
    if not name.startswith(ONLY):
        return
    digits = 3 if unit in ("x", "us") else 1
    said, verdict = "-", "-"
    if target is not None:
        said, verdict = f"<={target}", "ok" if round(value, digits) <= target else "MISS"
    print(f"{name}\t{value:.{digits}f}\t{unit}\t{said}\t{verdict}", flush=True)


def table(line, **environment):
    """First words of the lines a program prints -> its numbers; {} and a word on standard error if it fails."""
    result = subprocess.run(line, capture_output=True, text=True, env=os.environ | environment)
    if result.returncode != 0:
        print(f"bench: {' '.join(line)}: exit code {result.returncode}\n{result.stdout}{result.stderr}", file=sys.stderr)
        return {}
    # Gloo tells of its connections, in lines that ranks mix.
    rows = [row.split() for row in result.stdout.splitlines() if "Gloo" not in row and " is " not in row]
    return {f[0]: [float(x) for x in f[1:]] for f in rows if len(f) > 1}


def launch(mpi, n, *command, **environment):
    return table([*LAUNCH, "-n", str(n), "--mpi", mpi, "--timeout", "300", "--", *command], **environment)


@functools.cache
def overhead(mpi, n):
    """Windows are short at one rank; at two they are long enough to forget how the ranks came together, and there are many."""
    return launch(mpi, n, OVERHEAD, *(("200", "3000") if n == 1 else ("50", "4000")))


MINIMUM, TENTH, MEDIAN, RATIO = range(4)


def c_figures(mpi):
    for n, ranks in ((1, "1rank"), (2, "2ranks")):
        names = [f"c.{way}.8B.{ranks}.{mpi}" for way in ("allreduce", "prepared", "by_name", "coroutine")]
        if not wanted(*names):
            continue
        t = overhead(mpi, n)
        if not t:
            continue
        figure(f"c.bare.8B.{ranks}.{mpi}", t["bare"][MINIMUM], "ns")
        for way, ours, bare in (
            ("allreduce", "ours", "bare"),
            ("prepared", "prepared", "bare"),
            ("by_name", "by_name", "bare"),
            ("coroutine", "ours.coroutine", "bare.coroutine"),
        ):
            if n == 1:
                figure(f"c.{way}.8B.1rank.{mpi}.extra", t[ours][MINIMUM] - t[bare][MINIMUM], "ns", 10)
            else:
                # Each turn against its own neighbour: the fastest windows of two ranks are luck, turns share the machine's mood.
                figure(f"c.{way}.8B.2ranks.{mpi}.ratio", t[ours][RATIO], "x", 1.02)
                figure(f"c.{way}.8B.2ranks.{mpi}.ratio_min", t[ours][MINIMUM] / t[bare][MINIMUM], "x")
                figure(f"c.{way}.8B.2ranks.{mpi}.ratio_p10", t[ours][TENTH] / t[bare][TENTH], "x")


def mode_figures(mpi):
    """Off is the plain path, which c_figures have. A short run: a trace of it has 0.1 GB."""
    for mode, value in (("check", "on"), ("trace", None)):
        for n, ranks in ((1, "1rank"), (2, "2ranks")):
            if not wanted(f"mode.{mode}.8B.{ranks}.{mpi}"):
                continue
            with tempfile.TemporaryDirectory() as folder:
                variable = {f"REACTANT_MPI_{mode.upper()}": value or folder}
                t = launch(mpi, n, OVERHEAD, *(("200", "300") if n == 1 else ("50", "1000")), **variable)
            if t:
                if n == 1:
                    figure(f"mode.{mode}.8B.1rank.{mpi}.extra", t["ours"][MINIMUM] - t["bare"][MINIMUM], "ns")
                figure(f"mode.{mode}.8B.{ranks}.{mpi}.ratio", t["ours"][RATIO], "x")


def python_figures(mpi):
    names = [f"py.{way}.8B.1rank.{mpi}" for way in ("Allreduce", "allreduce", "prepared", "mpi4py", "Iallreduce", "start")]
    if not wanted(*names):
        return
    c, t = overhead(mpi, 1), launch(mpi, 1, sys.executable, os.path.join(HERE, "python_calls.py"))
    if not c or not t:
        return
    ours, bare = c["ours"][MINIMUM], c["bare"][MINIMUM]
    figure(f"py.Allreduce.8B.1rank.{mpi}.extra", (t["Allreduce"][0] - ours) / 1e3, "us", 4)
    figure(f"py.allreduce.8B.1rank.{mpi}.extra", (t["allreduce"][0] - ours) / 1e3, "us")
    figure(f"py.prepared.8B.1rank.{mpi}.extra", (t["prepared"][0] - ours) / 1e3, "us")
    figure(f"py.mpi4py.8B.1rank.{mpi}.extra", (t["mpi4py"][0] - bare) / 1e3, "us")
    figure(f"py.prepared.8B.1rank.{mpi}.vs_mpi4py", (t["prepared"][0] - ours) / (t["mpi4py"][0] - bare), "x", 1.0)
    figure(f"py.Iallreduce.8B.1rank.{mpi}.vs_mpi4py", t["started"][0] / t["mpi4py.started"][0], "x")
    if "mpi4py.persistent" in t:
        figure(f"py.start.8B.1rank.{mpi}.vs_mpi4py", t["prepared.started"][0] / t["mpi4py.persistent"][0], "x")
    figure(f"py.start.8B.1rank.{mpi}.vs_Iallreduce", t["prepared.started"][0] / t["mpi4py.started"][0], "x")


@functools.cache
def julia():
    """The julia that the tests use, or None and a word on standard error."""
    found = subprocess.run([os.path.join(ROOT, "tests", "julia", "find_julia")], capture_output=True, text=True).stdout.strip()
    if not found:
        print("bench: not run: figures of ReactantMPI.jl: no julia", file=sys.stderr)
    return found or None


def julia_figures(mpi):
    if not wanted(*(f"jl.{what}.8B.1rank.{mpi}" for what in ("allreduce", "prepared", "task", "allocated"))) or not julia():
        return
    script = [julia(), "--startup-file=no", f"--project={ROOT}/bindings/julia", os.path.join(HERE, "julia_calls.jl")]
    t = launch(mpi, 1, *script, JULIA_DEPOT_PATH=os.path.join(ROOT, "build", "julia"))
    if t:
        figure(f"jl.allreduce.8B.1rank.{mpi}.extra", t["ours"][0] - t["bare"][0], "ns", 100)
        figure(f"jl.prepared.8B.1rank.{mpi}.extra", t["prepared"][0] - t["bare"][0], "ns")
        figure(f"jl.task.8B.1rank.{mpi}.ratio", t["task.ratio"][0], "x", 1.2)
        figure(f"jl.allocated.8B.1rank.{mpi}", t["allocated"][0], "B", 0)


def load_figures():
    line = [sys.executable, "-S", "-E", os.path.join(HERE, "load.py"), LIBRARY]
    if wanted("load.dlopen", "load.rss", "load.virtual"):
        runs = [t for t in (table(line) for _ in range(9)) if t]
        for name, unit in (("dlopen", "ms"), ("rss", "MiB"), ("virtual", "MiB")):
            if runs:
                figure(f"load.{name}", statistics.median(t[name][0] for t in runs), unit)
    for mpi in MPIS:
        if not wanted(f"load.initialize.{mpi}", f"load.rss_initialized.{mpi}"):
            continue
        runs = [t for t in (launch(mpi, 1, *line, "initialize") for _ in range(3)) if t]
        if runs:
            figure(f"load.initialize.{mpi}", statistics.median(t["initialize"][0] for t in runs), "ms")
            figure(f"load.rss_initialized.{mpi}", statistics.median(t["rss_initialized"][0] for t in runs), "MiB")


def program(name):
    return os.path.join(ROOT, "build", "tests", "bench", name)


def init_figures(mpi):
    for n in (2, 4, 8, 16):
        if not wanted(f"init.{n}ranks.{mpi}"):
            continue
        t = launch(mpi, n, program("initialize"), "50" if n <= 4 else "10")
        if t:
            figure(f"init.{n}ranks.{mpi}.bare", t["bare"][0], "us")
            # At more ranks than cores who is scheduled when decides: the ratio of medians, and no target there.
            which = 0 if n == 2 else 1
            figure(f"init.{n}ranks.{mpi}.ratio", t["ours"][which] / t["bare"][which], "x", 2.0 if n == 2 else None)


def form_figures(mpi):
    """Pairs of calls in turn (forms.c): each against the bare MPI calls, or against the same call without the option."""
    for n, ranks in ((1, "1rank"), (2, "2ranks")):
        if not wanted(f"form.{ranks}.{mpi}"):
            continue
        t = launch(mpi, n, program("forms"))
        for pair, (first, second, ratio) in t.items():
            name = f"form.{ranks}.{mpi}.{pair}"
            half = n > 1 and pair.startswith(("bfloat16", "float16"))
            figure(f"{name}.ratio", ratio, "x", 0.6 if half else None)
            if pair.endswith(".8B"):
                figure(f"{name}.extra", second - first, "ns")


def gpu_figures():
    """Against the doubles: they do next to nothing for no elements, so the difference is ours."""
    fakes = os.path.join(ROOT, "build", "tests", "fake", "gpu")
    if not wanted("gpu.stream", "gpu.by_name"):
        return
    os.environ |= {"LD_LIBRARY_PATH": f"{fakes}/cuda:{fakes}/nccl228", "FAKE_GPUS": "1", "REACTANT_MPI_GPU": "auto"}
    t = launch("mpich", 1, program("gpu_calls"))
    for name in ("LD_LIBRARY_PATH", "FAKE_GPUS", "REACTANT_MPI_GPU"):
        del os.environ[name]
    if t:
        figure("gpu.bare", t["bare"][0], "ns")
        figure("gpu.stream.extra", t["stream"][0] - t["bare"][0], "ns", 40)
        figure("gpu.by_name.extra", t["by_name"][0] - t["bare"][0], "ns", 40)


JAX_CALLS = os.path.join(HERE, "jax_calls.py")
JAX = os.path.join(ROOT, ".venv", "jax", "bin", "python")
MPI4JAX = os.path.join(ROOT, ".venv", "mpi4jax", "bin", "python")
GLOO_TARGETS = {"4B": 0.3, "64KB": 0.6, "1MB": 0.8, "16MB": 0.8}
AGAINST_GLOO = {f"{size}.{form}": target for size, target in GLOO_TARGETS.items() for form in ("py", "fori")}
AGAINST_MPI4JAX = {
    "cheap": {"4B.py": 0.2, "64KB.py": 0.2, "4B.fori": 0.8, "64KB.fori": 0.95, "1MB.fori": 1.0, "16MB.fori": 1.0},
    "ref": {"4B.py": 0.7, "64KB.py": 0.7},
    "none": {"4B.py": 0.7, "64KB.py": 0.7},
    "compat": {},
}


def in_turn(mpi, ways, rounds, *sizes, **environment):
    """What jax_calls prints for ways that cannot live in one process, launched one after another `rounds` times: the medians."""
    found = {}
    for _ in range(rounds):
        for way in ways:
            for name, values in launch(mpi, 2, JAX, JAX_CALLS, way, *sizes, **environment).items():
                found.setdefault(name, []).append(values[0])
    return {name: statistics.median(values) for name, values in found.items()}


def psum_figures(mpi):
    """JAX's own collectives over MPI against the same program over gloo."""
    if wanted("jax.gloo.", *(f"jax.a.psum.{size}" for size in GLOO_TARGETS)):
        t = in_turn(mpi, ("gloo", "a"), 3)
        for case, target in AGAINST_GLOO.items():
            if f"a.{case}" in t and f"gloo.{case}" in t:
                figure(f"jax.gloo.psum.{case}", t[f"gloo.{case}"], "us")
                figure(f"jax.a.psum.{case}.{mpi}", t[f"a.{case}"], "us")
                figure(f"jax.a.psum.{case}.{mpi}.vs_gloo", t[f"a.{case}"] / t[f"gloo.{case}"], "x", target)
    if wanted("jax.a.psum.2x2.32B"):
        t = in_turn(mpi, ("gloo", "a"), 3, "32B", XLA_FLAGS="--xla_force_host_platform_device_count=2")
        for form, target in (("py", 60), ("fori", None)):
            if f"a.32B.{form}" in t and f"gloo.32B.{form}" in t:
                figure(f"jax.a.psum.2x2.32B.{form}.{mpi}", t[f"a.32B.{form}"], "us", target)
                figure(f"jax.a.psum.2x2.32B.{form}.{mpi}.vs_gloo", t[f"a.32B.{form}"] / t[f"gloo.32B.{form}"], "x")


def allreduce_figures(mpi):
    """Operations inside jit against mpi4jax's, JAX's own over MPI, and the prepared call, in one process."""
    if not wanted(*(f"jax.{way}." for way in ("b", "c", "mpi4jax", "a.vs"))):
        return
    python, ways = JAX, ["a", "cheap", "ref", "none", "compat", "bf16", "c"]
    if os.access(MPI4JAX, os.X_OK):
        python = MPI4JAX
        ways.append("mpi4jax")
    else:
        print("bench: not run: figures of mpi4jax: no .venv/mpi4jax (tests/bench/get_mpi4jax)", file=sys.stderr)
    t = launch(mpi, 2, python, JAX_CALLS, ",".join(ways))
    for case in (f"{size}.{form}" for size in GLOO_TARGETS for form in ("py", "fori") if t):
        figure(f"jax.c.allreduce.{case}.{mpi}", t[f"c.{case}"][0], "us")
        figure(f"jax.a.vs_b.{case}.{mpi}", t[f"a/cheap.{case}"][0], "x")
        figure(f"jax.a.vs_c.{case}.{mpi}", t[f"a/c.{case}"][0], "x")
        if "mpi4jax" in ways:
            figure(f"jax.mpi4jax.allreduce.{case}.{mpi}", t[f"mpi4jax.{case}"][0], "us")
        for way, targets in AGAINST_MPI4JAX.items():
            figure(f"jax.b.{way}.{case}.{mpi}", t[f"{way}.{case}"][0], "us")
            if "mpi4jax" in ways:
                figure(f"jax.b.{way}.{case}.{mpi}.vs_mpi4jax", t[f"{way}/mpi4jax.{case}"][0], "x", targets.get(case))
        figure(f"jax.b.bf16.{case}.{mpi}.vs_f32", t[f"bf16/cheap.{case}"][0], "x", None if case.startswith("4B") else 0.7)


def main():
    load_figures()
    for mpi in MPIS:
        c_figures(mpi)
        mode_figures(mpi)
        python_figures(mpi)
        julia_figures(mpi)
        init_figures(mpi)
        form_figures(mpi)
    gpu_figures()
    # On the MPI that mpi4jax is compiled against.
    psum_figures("mpich")
    allreduce_figures("mpich")


main()
