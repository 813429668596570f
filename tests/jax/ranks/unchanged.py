"""A program of JAX that knows nothing of MPI: JAX's collectives between all devices of all processes, against NumPy."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

jax.distributed.initialize()
jax.config.update("jax_enable_x64", True)

processes, local = int(sys.argv[1]), int(sys.argv[2])
assert (jax.process_count(), jax.local_device_count(), jax.device_count()) == (processes, local, processes * local)
N = jax.device_count()
LINE = Mesh(np.array(jax.devices()), "i")
RING = [(k, (k + 1) % N) for k in range(N)]
checked = 0


def there(mesh, array, spec=None):
    """array over the devices of a mesh."""
    sharding = NamedSharding(mesh, P(mesh.axis_names) if spec is None else spec)
    return jax.make_array_from_callback(array.shape, sharding, lambda index: array[index])


def check(name, result, expected, tolerance=0.0):
    """Every part of result that is in this process."""
    global checked
    expected = np.asarray(expected)
    assert result.shape == expected.shape, (name, result.shape, expected.shape)
    for shard in result.addressable_shards:
        got, wanted = np.asarray(shard.data), expected[shard.index]
        if tolerance:
            np.testing.assert_allclose(got.astype(np.complex128), wanted.astype(np.complex128), rtol=tolerance, err_msg=name)
        else:
            np.testing.assert_array_equal(got, wanted.astype(got.dtype), err_msg=name)
        checked += 1


def each(mesh, function, *arrays):
    """function on each device's block of the arrays, whose first axis is that of the devices."""
    spec = P(mesh.axis_names)
    mapped = jax.shard_map(function, mesh=mesh, in_specs=(spec,) * len(arrays), out_specs=spec, check_vma=False)
    return jax.jit(mapped)(*(there(mesh, array) for array in arrays))


def refused(name, function, array):
    """XLA itself has no such call of MPI: an exception, before anybody waits."""
    global checked
    try:
        jax.block_until_ready(each(LINE, function, array))
    except jax.errors.JaxRuntimeError as error:
        assert "Unsupported primitive type" in str(error), (name, error)
        checked += 1
    else:
        raise SystemExit(f"{name} is served now: tell so in the documentation")


def everywhere(row):
    return np.broadcast_to(row, (N, *np.shape(row)))


def some(dtype, width):
    """Small whole numbers: every order of summing them gives the same."""
    values = np.arange(N * width).reshape(N, width) * 7 % 5 + 1
    if np.issubdtype(dtype, np.complexfloating):
        values = values + 1j * (values % 3)
    return values.astype(dtype)


# ---- reductions: of explicit collectives, and of sharded axes ----

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
for dtype in (*INTEGERS, "float32", "float64", "complex64", "complex128"):
    x = some(dtype, 6)
    check(f"psum {dtype}", each(LINE, lambda x: lax.psum(x, "i"), x), everywhere(x.sum(0, dtype=x.dtype)))
    if not dtype.startswith("complex"):
        check(f"pmax {dtype}", each(LINE, lambda x: lax.pmax(x, "i"), x), everywhere(x.max(0)))
        check(f"pmin {dtype}", each(LINE, lambda x: lax.pmin(x, "i"), x), everywhere(x.min(0)))
x = some(np.float64, 6)
half = x.astype(jnp.bfloat16)
check("psum bf16", each(LINE, lambda x: lax.psum(x, "i"), half), everywhere(x.sum(0)))
check("pmax bf16", each(LINE, lambda x: lax.pmax(x, "i"), half), everywhere(x.max(0)))
refused("psum f16", lambda x: lax.psum(x, "i"), x.astype(np.float16))
refused("all_gather f16", lambda x: lax.all_gather(x[0], "i")[None], x.astype(np.float16))
x = some(np.float64, 5)
check("pmean", each(LINE, lambda x: lax.pmean(x, "i"), x), everywhere(x.mean(0)), 1e-14)
for name in ("sum", "prod", "min", "max", "mean"):
    over_devices = jax.jit(lambda x, name=name: getattr(jnp, name)(x, axis=0))
    check(f"jnp.{name}", over_devices(there(LINE, x)), getattr(np, name)(x, axis=0), 1e-13)
odd = np.arange(N * 3).reshape(N, 3) % 2 == 1
for name in ("any", "all"):
    over_devices = jax.jit(lambda x, name=name: getattr(jnp, name)(x, axis=0))
    check(f"jnp.{name}", over_devices(there(LINE, odd)), getattr(np, name)(odd, axis=0))
check("jnp.argmax", jax.jit(jnp.argmax)(there(LINE, x.ravel())), np.argmax(x))
check("norm", jax.jit(jnp.linalg.norm)(there(LINE, x)), np.linalg.norm(x), 1e-13)
large = (np.arange(N << 18, dtype=np.float32) % 97).reshape(N, -1)
check("psum 1 MiB", each(LINE, lambda x: lax.psum(x, "i"), large), everywhere(large.sum(0)))
check("psum of nothing", each(LINE, lambda x: lax.psum(x, "i"), np.zeros((N, 0), np.float32)), np.zeros((N, 0)))
check("psum of several", each(LINE, lambda x: sum(lax.psum((x, 2 * x, x * x), "i")), x), everywhere((3 * x + x * x).sum(0)), 1e-14)

# ---- what moves ----

for dtype in ("int8", "uint16", "int32", "int64", jnp.bfloat16, "float32", "float64", "complex64", "complex128", "bool"):
    x = some(np.int64, 2 * N).astype(dtype)
    check(f"all_gather {dtype}", each(LINE, lambda x: lax.all_gather(x[0], "i")[None], x), everywhere(x))
    turned = x.reshape(N, N, 2).transpose(1, 0, 2).reshape(N, 2 * N)
    check(f"all_to_all {dtype}", each(LINE, lambda x: lax.all_to_all(x, "i", 1, 1, tiled=True), x), turned)
    check(f"ppermute {dtype}", each(LINE, lambda x: lax.ppermute(x, "i", RING), x), np.roll(x, 1, 0))
x = some(np.float32, 2 * N)
scattered = x.sum(0).reshape(N, 2)
check("psum_scatter", each(LINE, lambda x: lax.psum_scatter(x, "i", scatter_dimension=1, tiled=True), x), scattered)
half = x.astype(jnp.bfloat16)
check("psum_scatter bf16", each(LINE, lambda x: lax.psum_scatter(x, "i", scatter_dimension=1, tiled=True), half), scattered)
turned = x.reshape(N, N, 2).transpose(1, 0, 2).reshape(N, -1)
check("all_to_all bf16", each(LINE, lambda x: lax.all_to_all(x, "i", 1, 1, tiled=True), half), turned)
to_one = np.zeros_like(x)
to_one[N - 1] = x[0]
check("ppermute of one", each(LINE, lambda x: lax.ppermute(x, "i", [(0, N - 1)]), x), to_one)
from_last = each(LINE, lambda x: lax.psum(jnp.where(lax.axis_index("i") == N - 1, x, 0), "i"), x)
check("broadcast by psum", from_last, everywhere(x[N - 1]))

# ---- other meshes ----

backwards = Mesh(np.array(jax.devices())[::-1], "i")
check("ppermute, devices backwards", each(backwards, lambda x: lax.ppermute(x, "i", RING), x), np.roll(x, 1, 0))
check("all_gather, devices backwards", each(backwards, lambda x: lax.all_gather(x[0], "i")[None], x), everywhere(x))
if N >= 4:
    for name, grid in (("rows", np.array(jax.devices()).reshape(2, -1)), ("columns", np.array(jax.devices()).reshape(-1, 2).T)):
        plane, cube = Mesh(grid, ("a", "b")), x.reshape(*grid.shape, -1)
        for axis, number in (("a", 0), ("b", 1)):
            total = np.broadcast_to(cube.sum(number, keepdims=True), cube.shape).reshape(x.shape)
            check(f"{name}: psum over {axis}", each(plane, lambda x, axis=axis: lax.psum(x, axis), x), total)
            ring = [(k, (k + 1) % grid.shape[number]) for k in range(grid.shape[number])]
            rolled = np.roll(cube, 1, number).reshape(x.shape)
            moved = each(plane, lambda x, axis=axis, ring=ring: lax.ppermute(x, axis, ring), x)
            check(f"{name}: ppermute over {axis}", moved, rolled)
        check(f"{name}: psum over both", each(plane, lambda x: lax.psum(x, ("a", "b")), x), everywhere(x.sum(0)))
        one_by_one = each(plane, lambda x: lax.psum(2 * lax.psum(x, "a"), "b"), x)
        check(f"{name}: psum over one, then the other", one_by_one, everywhere(2 * x.sum(0)))
    groups = [list(range(0, N, 2)), list(range(1, N, 2))]
    expected = np.stack([x[k % 2 :: 2].sum(0) for k in range(N)])
    check("psum in groups", each(LINE, lambda x: lax.psum(x, "i", axis_index_groups=groups), x), expected)

# ---- the compiler's own collectives ----

a, b = some(np.float32, 4 * N).reshape(N, -1), some(np.float32, N).T.copy()
for left, right in ((P("i", None), P(None, "i")), (P(None, "i"), P("i", None)), (P("i", None), P())):
    a2, b2 = np.resize(a, (2 * N, 2 * N)), np.resize(b, (2 * N, 2 * N))
    result = jax.jit(jnp.matmul, out_shardings=NamedSharding(LINE, P("i", None)))(there(LINE, a2, left), there(LINE, b2, right))
    check(f"matmul {left} {right}", result, a2 @ b2, 1e-6)
resharded = jax.jit(lambda x: x, out_shardings=NamedSharding(LINE, P(None, "i")))(there(LINE, a2))
check("rows to columns", resharded, a2)
check("to everywhere", jax.jit(lambda x: x, out_shardings=NamedSharding(LINE, P()))(there(LINE, a2)), a2)
check("sort", jax.jit(jnp.sort)(there(LINE, x.ravel())), np.sort(x.ravel()))
check("cumsum", jax.jit(jnp.cumsum)(there(LINE, x.ravel())), np.cumsum(x.ravel()))

# ---- control flow, derivatives, many at once ----


def five_times(x):
    return lax.scan(lambda x, _: (lax.psum(x, "i") / N + 1, None), x, length=5)[0]


check("psum in scan", each(LINE, five_times, x), everywhere(x.mean(0) + 5), 1e-6)
until = each(LINE, lambda x: lax.while_loop(lambda x: x.sum() < 1000, lambda x: lax.psum(x, "i"), x), everywhere(np.full(4, 2.0)))
total = 2.0
while 4 * total < 1000:
    total *= N
check("psum in while", until, np.full((N, 4), total))
chosen = each(LINE, lambda x: lax.cond(x.sum() > -1, lambda x: lax.psum(x, "i"), lambda x: x, x), x)
check("psum in cond", chosen, everywhere(x.sum(0)))
exact = x.astype(np.float64)
slope = each(LINE, jax.grad(lambda x: lax.psum((x**3).sum(), "i") / N), exact)
check("gradient of psum", slope, 3 * exact**2)
step = jax.jit(jax.shard_map(lambda x: lax.psum(x, "i") / N, mesh=LINE, in_specs=P("i"), out_specs=P("i"), check_vma=False))
moving = there(LINE, x)
# With several devices in a process JAX itself may wait for ever where more programs run at once than it has threads.
results = [step(moving * k) if local == 1 else jax.block_until_ready(step(moving * k)) for k in range(40)]
for k, result in enumerate(results):
    check("many in flight", result, everywhere(k * x.mean(0)), 1e-6)

# ---- multihost_utils ----

from jax.experimental import multihost_utils  # noqa: E402

me = jax.process_index()
tree = {"a": np.arange(3.0) + me, "b": np.int32(me)}
same = multihost_utils.broadcast_one_to_all(tree)
assert same["a"].tolist() == [0, 1, 2] and same["b"] == 0
last = multihost_utils.broadcast_one_to_all(tree, is_source=me == processes - 1)
assert last["a"].tolist() == (np.arange(3.0) + processes - 1).tolist() and last["b"] == processes - 1
stacked = multihost_utils.process_allgather(tree)
assert np.array_equal(stacked["a"], np.arange(3.0) + np.arange(processes)[:, None]), stacked
assert np.array_equal(multihost_utils.process_allgather(tree["a"], tiled=True), stacked["a"].ravel())
assert np.array_equal(multihost_utils.process_allgather(moving, tiled=True), x)
multihost_utils.sync_global_devices("all here")
multihost_utils.assert_equal(np.arange(4), "the same")
try:
    multihost_utils.assert_equal(np.int32(me), "not the same")
    raise SystemExit("assert_equal does not see a difference")
except AssertionError as error:
    assert "not the same" in str(error)
mine = x[me * local : (me + 1) * local]
whole = multihost_utils.host_local_array_to_global_array(mine, LINE, P("i"))
check("host_local_array_to_global_array", whole, x)
assert np.array_equal(multihost_utils.global_array_to_host_local_array(whole, LINE, P("i")), mine)
assert not multihost_utils.reached_preemption_sync_point(0)
checked += 10

jax.distributed.shutdown()
print(f"ok {checked} checks")
