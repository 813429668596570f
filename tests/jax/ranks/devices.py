"""Several CPU devices in each process: JAX's collectives over cliques of meshes of every kind, against NumPy.

devices.py meshes COUNTS      the devices of each process ("2", or "1,3" by process), in meshes and orders of every kind
devices.py left-out COUNTS    a mesh without the last device: an exception on every rank, in time
"""

import os
import sys
import time

RANK = int(os.environ.get("PMI_RANK") or os.environ["OMPI_COMM_WORLD_RANK"])
SIZE = int(os.environ.get("PMI_SIZE") or os.environ["OMPI_COMM_WORLD_SIZE"])
CASE, COUNTS = sys.argv[1], [int(n) for n in sys.argv[2].split(",")]
COUNTS = [COUNTS[process % len(COUNTS)] for process in range(SIZE)]
os.environ["JAX_NUM_CPU_DEVICES"] = str(COUNTS[RANK])
# XLA's threads: it has as many as there are cores, and JAX 0.10 blocks more of them than one for each device (docs/jax-wrapper.md).
os.environ["PJRT_NPROC"] = str(max(len(os.sched_getaffinity(0)), 4 * COUNTS[RANK]))

import jax
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

jax.config.update("jax_cpu_collectives_implementation", "mpi")
jax.distributed.initialize(f"127.0.0.1:{os.environ['PORT']}", SIZE, RANK)
DEVICES = np.array(jax.devices())
N = DEVICES.size
assert N == sum(COUNTS), (N, COUNTS)
checked = 0


def there(mesh, array):
    sharding = NamedSharding(mesh, P(mesh.axis_names))
    return jax.make_array_from_callback(array.shape, sharding, lambda index: array[index])


def program(mesh, function):
    spec = P(mesh.axis_names)
    return jax.jit(jax.shard_map(function, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False))


def check(name, result, expected):
    global checked
    for shard in result.addressable_shards:
        np.testing.assert_array_equal(np.asarray(shard.data), expected[shard.index], err_msg=name)
        checked += 1


def ring(n):
    return [(k, (k + 1) % n) for k in range(n)]


def on_line(order, what):
    """Everything XLA asks of MPI, in one clique of all devices in this order."""
    mesh = Mesh(DEVICES[order], "i")
    x = (np.arange(N * N * 3).reshape(N, N * 3) * 7 % 11).astype(np.float32)
    z = np.zeros_like(x)
    z[N - 1], z[0] = x[0], x[1 % N]
    blocks = x.reshape(N, N, 3)
    cases = {
        "psum": (lambda x: lax.psum(x, "i"), np.broadcast_to(x.sum(0), x.shape)),
        "pmax": (lambda x: lax.pmax(x, "i"), np.broadcast_to(x.max(0), x.shape)),
        "all_gather": (lambda x: lax.all_gather(x, "i", tiled=True).reshape(1, -1), np.broadcast_to(x.reshape(1, -1), (N, x.size))),
        "psum_scatter": (lambda x: lax.psum_scatter(x, "i", scatter_dimension=1, tiled=True), x.sum(0).reshape(N, -1)),
        "all_to_all": (
            lambda x: lax.all_to_all(x, "i", split_axis=1, concat_axis=1, tiled=True),
            blocks.transpose(1, 0, 2).reshape(N, -1),
        ),
        "ppermute": (lambda x: lax.ppermute(x, "i", ring(N)), np.roll(x, 1, 0)),
        "ppermute of some": (lambda x: lax.ppermute(x, "i", [(0, N - 1), (1 % N, 0)]), z),
    }
    for name, (function, expected) in cases.items():
        run = program(mesh, function)
        for _ in range(3):
            check(f"{name}, {what}", run(there(mesh, x)), expected)
    long = (np.arange(N * 100003).reshape(N, -1) % 97).astype(np.float32)
    result = program(mesh, lambda x: lax.psum(x, "i"))(there(mesh, long))
    check(f"long psum, {what}", result, np.broadcast_to(long.sum(0), long.shape))


def on_grid(grid, what):
    """Cliques along each axis of a grid of devices, several at once."""
    mesh = Mesh(grid, ("a", "b"))
    a, b = grid.shape
    x = np.arange(1, 4 * N + 1, dtype=np.float32).reshape(N, 4)
    cube = x.reshape(a, b, 4)
    along_a, along_b, along_both = (cube.sum(axes, keepdims=True) for axes in (0, 1, (0, 1)))
    cases = {
        "psum a": (lambda x: lax.psum(x, "a"), along_a),
        "psum b": (lambda x: lax.psum(x, "b"), along_b),
        "psum a, then b": (lambda x: lax.psum(lax.psum(x, "a") * 2, "b"), 2 * along_both),
        "psums": (lambda x: lax.psum(x, ("a", "b")) + lax.psum(x, "a") * lax.psum(x, "b"), along_both + along_a * along_b),
        "ppermute a": (lambda x: lax.ppermute(x, "a", ring(a)), np.roll(cube, 1, 0)),
        "ppermute b": (lambda x: lax.ppermute(x, "b", ring(b)), np.roll(cube, 1, 1)),
    }
    for name, (function, expected) in cases.items():
        check(f"{name}, {what}", program(mesh, function)(there(mesh, x)), np.broadcast_to(expected, cube.shape).reshape(N, 4))


def many_in_flight(grid):
    """150 programs over three kinds of cliques, started one after the other without waiting."""
    mesh = Mesh(grid, ("a", "b"))
    x = np.arange(1, 4 * N + 1, dtype=np.float32).reshape(N, 4)
    cube = x.reshape(*grid.shape, 4)
    kinds = {
        axes: (program(mesh, lambda x, i=axes: lax.psum(x, i)), cube.sum(tuple("ab".index(axis) for axis in axes), keepdims=True))
        for axes in (("a",), ("b",), ("a", "b"))
    }
    placed = there(mesh, x)
    results = [(axes, run(placed)) for _ in range(50) for axes, (run, _) in kinds.items()]
    for axes, result in results:
        check(f"in flight {axes}", result, np.broadcast_to(kinds[axes][1], cube.shape).reshape(N, 4))


def meshes():
    order = np.arange(N)
    on_line(order, "in order")
    on_line(order[::-1], "reversed")
    on_line(order[np.argsort(order * 7 % 5 * N + order)], "stirred")
    if N % SIZE == 0 and len(set(COUNTS)) == 1:
        grid = DEVICES.reshape(SIZE, -1)
        on_grid(grid, "rows are processes")
        on_grid(grid.T, "columns are processes")
        on_grid(grid[:, ::-1], "rows are reversed processes")
        many_in_flight(grid)
    x = np.arange(N * 4.0, dtype=np.float32).reshape(N, 4)
    assert float(jax.jit(lambda x: x.sum())(there(Mesh(DEVICES, "i"), x))) == x.sum()
    jax.distributed.shutdown()


def left_out():
    global checked
    mesh = Mesh(DEVICES[:-1], "i")
    x = np.ones((N - 1, 8), np.float32)
    began = time.monotonic()
    try:
        jax.block_until_ready(program(mesh, lambda x: lax.psum(x, "i"))(there(mesh, x)))
    except jax.errors.JaxRuntimeError as error:
        assert "a mesh must take every device of every process" in str(error), error
        assert f"process {SIZE - 1}:" in str(error) and "1 of 2 devices has not called" in str(error), error
        checked += 1
    else:
        raise SystemExit("a mesh without some devices is served: tell so in the documentation")
    assert time.monotonic() - began < 60
    time.sleep(1)  # the others have it too: the first to go may end them
    print("ok", checked, "checks", flush=True)
    os._exit(0)


{"meshes": meshes, "left-out": left_out}[CASE]()
print("ok", checked, "checks", flush=True)
