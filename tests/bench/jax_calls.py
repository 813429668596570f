"""Time of an allreduce in JAX at two ranks, several ways in turn. Run by run.py under tests/launch.

    jax_calls.py WAY,... [SIZE,...]

    gloo, a            psum over JAX's own collectives: gloo's, or MPI's through reactant_mpi.jax.initialize
    cheap, ref, none   reactant_mpi.jax.allreduce with a token, with a Ref, and with neither
    bf16               as cheap, on as many elements of 16 bits
    mpi4jax, compat    mpi4jax.allreduce, and that of reactant_mpi.jax.compat.mpi4jax
    c                  the prepared call of reactant_mpi, without JAX

Prints lines `way.size.form median minimum` in microseconds per call, and `way/other.size.form ratio`: the median of the ratios turn
by turn. Forms: py is one jit call a call, waited for; fori is many calls in one jit.
"""

import gc
import statistics
import sys
import time

import mpi4py.MPI
import reactant_mpi.jax

WAYS = sys.argv[1].split(",")
WORLD = mpi4py.MPI.COMM_WORLD
SIZES = {  # elements, calls in a turn, turns
    "4B": (1, 100, 25),
    "32B": (8, 100, 25),
    "64KB": (1 << 14, 50, 15),
    "1MB": (1 << 18, 10, 9),
    "16MB": (1 << 22, 2, 5),
}
AGAINST = {"a": ("c", "cheap"), "cheap": ("mpi4jax", "c"), "bf16": ("cheap",)}
AGAINST |= dict.fromkeys(("ref", "none", "compat"), ("mpi4jax",))


reactant_mpi.jax.initialize(cpu_collectives="gloo" if "gloo" in WAYS else "mpi")
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402


def looped(body, n):
    """`body` n times in one jit; what it is given and what it returns have the same structure."""
    return jax.jit(lambda *state: jax.lax.fori_loop(0, n, lambda _, s: body(*s), state))


def psum(elements, n):
    mesh = Mesh(np.array(jax.devices()), ("i",))
    spec = PartitionSpec("i")
    mapped = lambda f: jax.jit(jax.shard_map(f, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False))  # noqa: E731
    local = np.ones((jax.local_device_count(), elements), np.float32)
    x = jax.make_array_from_process_local_data(NamedSharding(mesh, spec), local)
    one = mapped(lambda x: jax.lax.psum(x, "i"))
    many = mapped(lambda x: jax.lax.fori_loop(0, n, lambda _, x: jax.lax.psum(x, "i") / mesh.size, x))
    return one, many, (x,)


def with_token(elements, n, dtype=jnp.float32):
    rmpi = reactant_mpi.jax

    def halved(x, token):
        x, token = rmpi.allreduce(x, token=token)
        return x / WORLD.size, token

    one = jax.jit(lambda x, token: rmpi.allreduce(x, token=token))
    return one, looped(halved, n), (jnp.ones(elements, dtype), rmpi.token())


def with_ref(elements, n):
    rmpi = reactant_mpi.jax

    def many(x, ref):
        return jax.lax.fori_loop(0, n, lambda _, x: rmpi.allreduce(x, token=ref) / WORLD.size, x)

    return jax.jit(lambda x, ref: rmpi.allreduce(x, token=ref)), jax.jit(many), (jnp.ones(elements), rmpi.new_ref())


def plain(allreduce):
    def ways(elements, n):
        many = looped(lambda x: (allreduce(x) / WORLD.size,), n)
        return jax.jit(allreduce), many, (jnp.ones(elements),)

    return ways


def without_token(elements, n):
    rmpi = reactant_mpi.jax

    return plain(rmpi.allreduce)(elements, n)


def mpi4jax(elements, n):
    import mpi4jax

    return plain(lambda x: mpi4jax.allreduce(x, op=mpi4py.MPI.SUM))(elements, n)


def compat(elements, n):
    import reactant_mpi.jax.compat.mpi4jax as mpi4jax

    return plain(lambda x: mpi4jax.allreduce(x, op=mpi4py.MPI.SUM))(elements, n)


def prepared(elements, n):
    send, recv = np.ones(elements, np.float32), np.zeros(elements, np.float32)
    call = reactant_mpi.initialize().prepare_allreduce(send, recv)

    def one():
        call()
        return recv

    def many():
        for _ in range(n):
            call()
        return recv / WORLD.size

    return one, many, ()


def bfloat16(elements, n):
    return with_token(elements, n, jnp.bfloat16)


MAKE = {
    "gloo": psum, "a": psum, "cheap": with_token, "ref": with_ref, "none": without_token, "bf16": bfloat16, "compat": compat,
    "mpi4jax": mpi4jax, "c": prepared,
}  # fmt: skip


def first_number(result):
    """The first element of the result, which is whole only when this returns."""
    array = jax.block_until_ready(result)[0] if isinstance(result, tuple) else jax.block_until_ready(result)
    return float(np.asarray(array.addressable_shards[0].data if isinstance(array, jax.Array) else array).flat[0])


def microseconds(call, arguments, calls, per_call):
    begin = time.perf_counter_ns()
    for _ in range(calls):
        jax.block_until_ready(call(*arguments))
    return (time.perf_counter_ns() - begin) / calls / per_call / 1e3


def measure(size):
    elements, calls, turns = SIZES[size]
    in_loop = 100 if elements < 1 << 20 else 10
    forms = {}
    for way in WAYS:
        one, many, arguments = MAKE[way](elements, in_loop)
        ranks = WORLD.size * (jax.local_device_count() if way in ("gloo", "a") else 1)
        if first_number(one(*arguments)) != ranks or first_number(many(*arguments)) != 1:
            sys.exit(f"{way}: the sum of {ranks} ones is {first_number(one(*arguments))}")
        forms[way, "py"] = (one, arguments, calls, 1)
        forms[way, "fori"] = (many, arguments, 1, in_loop)
    times = {key: [] for key in forms}
    for turn in range(-1, turns):
        for key, form in forms.items():
            WORLD.Barrier()
            us = microseconds(*form)
            if turn >= 0:
                times[key].append(us)
    for (way, form), us in times.items():
        said(f"{way}.{size}.{form} {statistics.median(us):.3f} {min(us):.3f}")
        for other in AGAINST.get(way, ()):
            if other in WAYS:
                ratio = statistics.median(a / b for a, b in zip(us, times[other, form], strict=True))
                said(f"{way}/{other}.{size}.{form} {ratio:.4f}")


def said(line):
    if WORLD.rank == 0:
        print(line, flush=True)


def main():
    gc.disable()
    for size in sys.argv[2].split(",") if len(sys.argv) > 2 else ("4B", "64KB", "1MB", "16MB"):
        measure(size)


main()
