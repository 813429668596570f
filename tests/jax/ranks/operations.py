"""Every operation with every type, inside jit and outside, against NumPy; shapes, roots, memory and errors."""

from functools import reduce

from program import check, comm, data, done, jax, jnp, ml_dtypes, mpi, np, raises, rank, same, size
from reactant_mpi import ReactantMPIError
from reactant_mpi.jax import AVG, BAND, BOR, BXOR, LAND, LOR, LXOR, MAX, MIN, PROD, SUM

NUMPY = {
    SUM: np.add, PROD: np.multiply, MIN: np.minimum, MAX: np.maximum,
    BAND: np.bitwise_and, BOR: np.bitwise_or, BXOR: np.bitwise_xor, LAND: np.logical_and, LOR: np.logical_or, LXOR: np.logical_xor,
}  # fmt: skip
INTEGERS = (SUM, PROD, MIN, MAX, BAND, BOR, BXOR, LAND, LOR, LXOR)
REDUCED = {
    **dict.fromkeys(("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"), INTEGERS),
    **dict.fromkeys(("float16", "bfloat16", "float32", "float64"), (SUM, PROD, MIN, MAX)),
    **dict.fromkeys(("complex64", "complex128"), (SUM, PROD)),
    "bool": (LAND, LOR, LXOR, MIN, MAX),
}
MOVED = [name for name in dir(ml_dtypes) if name.startswith("float8")] + ["int4", "uint4"]
LAST = size - 1
NEXT, BEFORE = (rank + 1) % size, (rank - 1) % size


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, name))


def reduced(op, arrays):
    if arrays[0].dtype == bool:
        op = {MIN: LAND, MAX: LOR}.get(op, op)
    return reduce(NUMPY[op], arrays).astype(arrays[0].dtype)


def moving(shape, dtype):
    """(name, function of x and token, x of every rank, what this rank gets)"""
    one, many = data(shape, dtype), data((size, *shape), dtype, 1)
    zeros = np.zeros_like
    ring = [(r, (r + 1) % size) for r in range(size)]
    yield "bcast", lambda x, **k: mpi.bcast(x, LAST, **k), one, one[LAST]
    yield "allgather", mpi.allgather, one, one
    yield "gather", lambda x, **k: mpi.gather(x, LAST, **k), one, one if rank == LAST else zeros(one)
    yield "scatter", lambda x, **k: mpi.scatter(x, LAST, **k), many, many[LAST, rank]
    yield "alltoall", mpi.alltoall, many, many[:, rank]
    yield "permute", lambda x, **k: mpi.permute(x, ring, **k), one, one[BEFORE]
    yield "permute to one", lambda x, **k: mpi.permute(x, [(0, LAST)], **k), one, one[0] if rank == LAST else zeros(one[0])
    yield "sendrecv", lambda x, **k: mpi.sendrecv(x, x, BEFORE, NEXT, 3, **k), one, one[BEFORE]
    yield "nobody", lambda x, **k: mpi.sendrecv(x, x, -103, -103, **k), one, zeros(one[0])


def with_counts(shape, dtype):
    counts = [(r + 2) % 3 for r in range(size)]
    starts = np.cumsum([0, *counts])
    own, every = data((3, *shape), dtype), data((sum(counts), *shape), dtype, 1)
    own = [own[r, : counts[r]] for r in range(size)]
    stacked = np.concatenate(own)
    mine = slice(starts[rank], starts[rank + 1])
    yield "allgatherv", lambda x, **k: mpi.allgatherv(x, counts, **k), own, stacked
    there = rank == LAST
    yield "gatherv", lambda x, **k: mpi.gatherv(x, counts, LAST, **k), own, stacked if there else np.zeros_like(stacked)
    yield "scatterv", lambda x, **k: mpi.scatterv(x, counts, LAST, **k), every, every[LAST, mine]
    # Rank r sends (r + j) % 3 rows to rank j.
    rows = lambda s, r: (s + r) % 3  # noqa: E731
    to = [rows(rank, j) for j in range(size)]
    widest = data((3 * size, *shape), dtype, 2)
    total = [sum(rows(s, j) for j in range(size)) for s in range(size)]
    given = [widest[s, : total[s]] for s in range(size)]
    parts = []
    for s in range(size):
        start = sum(rows(s, j) for j in range(rank))
        parts.append(given[s][start : start + rows(s, rank)])
    yield "alltoallv", lambda x, **k: mpi.alltoallv(x, to, to, **k), given, np.concatenate(parts)


def reducing(shape, dtype, op):
    one, many = data(shape, dtype), data((size, *shape), dtype, 1)
    total = reduced(op, one)
    yield "allreduce", lambda x, **k: mpi.allreduce(x, op, **k), one, total
    yield "reduce", lambda x, **k: mpi.reduce(x, op, LAST, **k), one, total if rank == LAST else np.zeros_like(total)
    yield "reduce_scatter", lambda x, **k: mpi.reduce_scatter(x, op, **k), many, reduced(op, many)[rank]
    yield "scan", lambda x, **k: mpi.scan(x, op, **k), one, reduced(op, one[: rank + 1])
    yield "exscan", lambda x, **k: mpi.exscan(x, op, **k), one, reduced(op, one[:rank]) if rank else np.zeros_like(total)
    counts = [(r + 1) % 3 for r in range(size)]
    start, rows = sum(counts[:rank]), counts[rank]
    every = data((sum(counts), *shape), dtype, 3)
    wanted = reduced(op, every)[start : start + rows]
    yield "reduce_scatterv", lambda x, **k: mpi.reduce_scatterv(x, counts, op, **k), every, wanted


def bits(x):
    """To be compared, whatever the type: no NumPy function is needed for it."""
    x = np.asarray(x)
    return x.astype(np.int8) if x.dtype.name in ("int4", "uint4") else np.ascontiguousarray(x).view(f"V{x.dtype.itemsize}")


def compare(got, wanted, what):
    check(
        got.dtype == wanted.dtype and got.shape == wanted.shape, f"{what}: {got.dtype}{got.shape}, not {wanted.dtype}{wanted.shape}"
    )
    check(np.array_equal(bits(got), bits(wanted)), f"{what}: got {got!r}, wanted {wanted!r}")


def all_of(cases, dtype, what):
    """The cases in one program, and each of them outside of jit."""
    cases = list(cases)

    @jax.jit
    def program(xs, token):
        results = []
        for (_, function, _, _), x in zip(cases, xs, strict=True):
            y, token = function(x, token=token)
            results.append(y)
        return results, token

    xs = [every[rank] for _, _, every, _ in cases]
    results, _ = program(xs, mpi.token())
    for (name, function, _, wanted), x, y in zip(cases, xs, results, strict=True):
        compare(np.asarray(y), wanted, f"{what} {name} in jit")
        y = function(x)
        check(isinstance(y, np.ndarray), f"{name} gives {type(y)} for an array of NumPy")
        compare(y, wanted, f"{what} {name} on NumPy")
        y = function(jnp.asarray(x, x.dtype))
        check(isinstance(y, jax.Array), f"{name} gives {type(y)} for an array of JAX")
        compare(np.asarray(y), wanted, f"{what} {name} on JAX")


def types():
    for name, ops in REDUCED.items():
        dtype = dtype_of(name)
        cases = [*moving((3,), dtype), *with_counts((2,), dtype)]
        for op in ops:
            cases += reducing((3,), dtype, op)
        all_of(cases, dtype, name)
    for name in MOVED:
        all_of([*moving((3, 2), dtype_of(name)), *with_counts((2,), dtype_of(name))], dtype_of(name), name)
        if name.startswith("float"):
            raises(ReactantMPIError, ["SUM", name, "moved"], mpi.allreduce, jnp.zeros(2, dtype_of(name)))
    x = np.array([7, 2, -3])
    y = jax.jit(mpi.allreduce)(jnp.asarray(x, "int4"))
    compare(np.asarray(y), ((size * x + 8) % 16 - 8).astype("int4"), "sum of int4")


def averages():
    for dtype in (np.float64, np.complex128):
        x = data((4,), dtype)
        same(jax.jit(lambda x: mpi.allreduce(x, AVG))(x[rank]), np.sum(x, 0) / size, "AVG")


def shapes():
    for shape in ((), (0,), (2, 0), (2, 3, 1)):
        cases = [*moving(shape, np.float32), *reducing(shape, np.float32, SUM), *with_counts(shape, np.float32)]
        all_of(cases, np.float32, f"shape {shape}")
    big = data((1 << 18,), np.float32)
    all_of([*reducing((1 << 18,), np.float32, SUM), *moving((1 << 16,), np.float32)], np.float32, "big")
    same(jax.jit(lambda x: mpi.allreduce(x, token=False))(big[rank]), big.sum(0), "no order")


def messages():
    """Between 0 and 1, one way and then the other."""
    x = data((5,))

    @jax.jit
    def program(x, token):
        y = x
        if rank == 0:
            token = mpi.send(x, 1, 7, token=token)
            y, token = mpi.recv(x, 1, 8, token=token)
        elif rank == 1:
            y, token = mpi.recv(x, 0, 7, token=token)
            token = mpi.send(y + 1, 0, 8, token=token)
        token = mpi.barrier(token=token)
        return y, token

    y, token = program(x[rank], mpi.token())
    check(token[0] == 0, "the token is zero")
    same(y, {0: x[0] + 1, 1: x[0]}.get(rank, x[rank]), "messages")
    # Outside of jit, and without tokens.
    if rank == 0:
        check(mpi.send(x[0], 1) is None, "send gives nothing")
    elif rank == 1:
        same(mpi.recv(np.empty_like(x[0]), 0), x[0], "recv outside")
        same(mpi.sendrecv(x[1], np.empty(2), -103, -103), np.zeros(2), "other shape")
    check(mpi.barrier() is None, "barrier gives nothing")


def started():
    """Two are under way while the program goes on, one is in its own communicator; their derivatives, too."""
    x = data((3,))

    def f(x, t):
        a, t = mpi.iallreduce(x, token=t)
        y, t = mpi.bcast(x, LAST, token=t)
        b, t = mpi.iallreduce(2 * x * x, SUM, token=t)
        z, t = mpi.scan(x, token=t)
        a, t = mpi.wait(a, token=t)
        b, t = mpi.wait(b, token=t)
        return jnp.stack([a, b, y, z]), t

    wanted = np.stack([x.sum(0), 2 * (x * x).sum(0), x[LAST], x[: rank + 1].sum(0)])
    same(jax.jit(f)(x[rank], mpi.token())[0], wanted, "started")
    same(f(x[rank], mpi.token())[0], wanted, "started outside of jit")
    g = jax.jit(jax.grad(lambda x: jnp.sum(mpi.wait(mpi.iallreduce(x * x)))))(x[rank])
    same(g, 2.0 * size * x[rank], "gradient of what was started")


def without_copies():
    """Outside of jit arrays are read where they are; in jit what is given away is used again."""
    x = jnp.arange(1 << 16, dtype=jnp.float32)
    seen = []
    original = type(comm).Allreduce
    type(comm).Allreduce = lambda self, a, b, op: (seen.append((a.ctypes.data, b.ctypes.data)), original(self, a, b, op))[1]
    try:
        y = mpi.allreduce(x)
    finally:
        type(comm).Allreduce = original
    check(seen == [(x.unsafe_buffer_pointer(), y.unsafe_buffer_pointer())], "the library reads and writes the memory of JAX")
    same(y, size * np.arange(1 << 16, dtype=np.float32), "without copies")
    given = jnp.ones(1 << 16, jnp.float32)
    pointer = given.unsafe_buffer_pointer()
    y, _ = jax.jit(lambda x, t: mpi.allreduce(x, token=t, donate=True), donate_argnums=0)(given, mpi.token())
    check(y.unsafe_buffer_pointer() == pointer and given.is_deleted(), "given away: in place")
    same(y, np.full(1 << 16, size, np.float32), "in place")


def communicators():
    other = comm.split(0, -rank)
    x = data((3,))
    same(jax.jit(lambda x: mpi.bcast(x, 0, comm=other))(x[rank]), x[LAST], "another communicator")
    t = mpi.token()
    y, t = jax.jit(lambda x, t: mpi.scan(x, comm=other, token=t))(x[rank], t)
    same(y, x[rank:].sum(0), "scan on another communicator")


def errors():
    x = jnp.arange(3.0)
    traced = lambda call: jax.eval_shape(call, x)  # noqa: E731
    for outside in (False, True):
        run = (lambda call: call(x)) if outside else traced
        raises(ReactantMPIError, ["no reduction", "'mean'"], run, lambda x: mpi.allreduce(x, "mean"))
        raises(ReactantMPIError, ["AVG", "int32", "SUM"], run, lambda x: mpi.allreduce(x.astype(jnp.int32), AVG))
        raises(ReactantMPIError, ["AVG", "scan"], run, lambda x: mpi.scan(x, AVG))
        raises(ReactantMPIError, ["BAND", "float64"], run, lambda x: mpi.allreduce(x, BAND))
        raises(ReactantMPIError, ["SUM", "bool"], run, lambda x: mpi.allreduce(x > 0))
        raises(ReactantMPIError, ["root", str(size)], run, lambda x: mpi.bcast(x, size))
        raises(ReactantMPIError, ["root", "integer"], run, lambda x: mpi.bcast(x, x))
        raises(ReactantMPIError, ["dest", "none of the"], run, lambda x: mpi.send(x, -1, token=mpi.token()))
        raises(ReactantMPIError, ["tag", "range"], run, lambda x: mpi.recv(x, 0, -5, token=mpi.token()))
        raises(ReactantMPIError, [f"the {size} ranks", "one block each"], run, lambda x: mpi.alltoall(x[: size - 1]))
        raises(ReactantMPIError, ["counts", "numbers"], run, lambda x: mpi.allgatherv(x, [1]))
        raises(ReactantMPIError, ["first axis", "count of this rank"], run, lambda x: mpi.allgatherv(x, [7] * size))
        raises(ReactantMPIError, ["twice", "destination"], run, lambda x: mpi.permute(x, [(0, 0), (1, 0)]))
        raises(ReactantMPIError, "pairs", run, lambda x: mpi.permute(x, [0, 1]))
        raises(ReactantMPIError, ["dtype", "float32"], run, lambda x: mpi.sendrecv(x, x.astype(jnp.float32), 0, 0))
        raises(ReactantMPIError, ["comm must be", "mpi4py"], run, lambda x: mpi.allreduce(x, comm=3))
        raises(ReactantMPIError, ["token must be", "token()"], run, lambda x: mpi.allreduce(x, token=x))
        raises(ReactantMPIError, "never be done", run, lambda x: mpi.send(x, 0, token=False))
        raises(ReactantMPIError, "SUM only", run, lambda x: mpi.allreduce(x, MAX, replicated=True))
    # What only the handler sees.
    ended = comm.dup()
    program = jax.jit(lambda x: mpi.allreduce(x, comm=ended, token=False))
    same(program(x), size * np.arange(3.0), "before its end")
    ended.finalize()
    raises((ValueError, jax.errors.JaxRuntimeError), ["allreduce", "ERR_COMM"], lambda: program(x).block_until_ready())


mpi.barrier()
types()
averages()
shapes()
messages()
started()
without_copies()
communicators()
errors()
done()
