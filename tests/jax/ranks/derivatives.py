"""Derivatives and batches of every operation: against finite differences, and against the same computed from all ranks' data."""

# ruff: noqa: B023, E731 - functions of one line, used in the turn of the loop in which they are made

import sys

from program import check, close, comm, done, jax, jnp, mpi, np, raises, rank, size

SUM, AVG = mpi.SUM, mpi.AVG
LAST = size - 1
NEXT, BEFORE = (rank + 1) % size, (rank - 1) % size
RING = [(r, (r + 1) % size) for r in range(size)]
COUNTS = [(r + 1) % 3 for r in range(size)]
STARTS = np.cumsum([0, *COUNTS])
MINE = slice(STARTS[rank], STARTS[rank + 1])


def padded(x, rows):
    return jnp.concatenate([x, jnp.zeros((rows - len(x), *x.shape[1:]), x.dtype)])


# name: (function of x and token=, shape of x, the results of all ranks from the x of all ranks, by JAX alone)
OPERATIONS = {
    "allreduce": (mpi.allreduce, (3,), lambda xs: [sum(xs)] * size),
    "average": (lambda x, **k: mpi.allreduce(x, AVG, **k), (3,), lambda xs: [sum(xs) / size] * size),
    "reduce": (lambda x, **k: mpi.reduce(x, SUM, LAST, **k), (3,), lambda xs: [jnp.zeros(3)] * LAST + [sum(xs)]),
    "reduce average": (lambda x, **k: mpi.reduce(x, AVG, 0, **k), (3,), lambda xs: [sum(xs) / size] + [jnp.zeros(3)] * LAST),
    "bcast": (lambda x, **k: mpi.bcast(x, LAST, **k), (3,), lambda xs: [xs[LAST]] * size),
    "allgather": (mpi.allgather, (2,), lambda xs: [jnp.stack(xs)] * size),
    "gather": (lambda x, **k: mpi.gather(x, 0, **k), (2,), lambda xs: [jnp.stack(xs)] + [jnp.zeros((size, 2))] * LAST),
    "scatter": (lambda x, **k: mpi.scatter(x, LAST, **k), (size, 2), lambda xs: list(xs[LAST])),
    "reduce_scatter": (mpi.reduce_scatter, (size, 2), lambda xs: list(sum(xs))),
    "reduce_scatter average": (lambda x, **k: mpi.reduce_scatter(x, AVG, **k), (size, 2), lambda xs: list(sum(xs) / size)),
    "alltoall": (mpi.alltoall, (size, 2), lambda xs: [jnp.stack([x[r] for x in xs]) for r in range(size)]),
    "scan": (mpi.scan, (3,), lambda xs: list(jnp.cumsum(jnp.stack(xs), 0))),
    "exscan": (mpi.exscan, (3,), lambda xs: [jnp.zeros(3), *jnp.cumsum(jnp.stack(xs), 0)[:-1]]),
    "permute": (lambda x, **k: mpi.permute(x, RING, **k), (3,), lambda xs: [xs[r - 1] for r in range(size)]),
    "permute to one": (lambda x, **k: mpi.permute(x, [(0, LAST)], **k), (3,), lambda xs: [jnp.zeros(3)] * LAST + [xs[0]]),
    "sendrecv": (lambda x, **k: mpi.sendrecv(x, x, BEFORE, NEXT, 1, **k), (3,), lambda xs: [xs[r - 1] for r in range(size)]),
    "allgatherv": (
        lambda x, **k: mpi.allgatherv(x[: COUNTS[rank]], COUNTS, **k),
        (2, 2),
        lambda xs: [jnp.concatenate([x[:c] for x, c in zip(xs, COUNTS, strict=True)])] * size,
    ),
    "gatherv": (
        lambda x, **k: mpi.gatherv(x[: COUNTS[rank]], COUNTS, 0, **k),
        (2, 2),
        lambda xs: [jnp.concatenate([x[:c] for x, c in zip(xs, COUNTS, strict=True)])] + [jnp.zeros((sum(COUNTS), 2))] * LAST,
    ),
    "scatterv": (
        lambda x, **k: padded_first(mpi.scatterv(x, COUNTS, LAST, **k)),
        (sum(COUNTS), 2),
        lambda xs: [padded(xs[LAST][STARTS[r] : STARTS[r + 1]], 2) for r in range(size)],
    ),
    "reduce_scatterv": (
        lambda x, **k: padded_first(mpi.reduce_scatterv(x, COUNTS, **k)),
        (sum(COUNTS), 2),
        lambda xs: [padded(sum(xs)[STARTS[r] : STARTS[r + 1]], 2) for r in range(size)],
    ),
    "alltoallv": (
        lambda x, **k: mpi.alltoallv(x, [1] * size, [1] * size, **k),
        (size, 2),
        lambda xs: [jnp.stack([x[r] for x in xs]) for r in range(size)],
    ),
}


def padded_first(result):
    """(y, token) or y, with y of the same shape on every rank."""
    return (padded(result[0], 2), result[1]) if isinstance(result, tuple) else padded(result, 2)


def world(name):
    """The function of the x of all ranks whose derivatives are those of all ranks together."""
    return OPERATIONS[name][2]


def given(name, seed=0):
    shape = OPERATIONS[name][1]
    return jnp.asarray(np.random.default_rng([seed, *shape]).standard_normal((size, *shape)))


def loss_here(name, token, x, w):
    """What this rank adds to the loss of all: not linear before, nor after."""
    y, token = OPERATIONS[name][0](jnp.sin(x), token=token)
    z, token = OPERATIONS[name][0](jnp.cos(x) * x, token=token)
    return jnp.sum(w * y**2 * z), token


def loss_of_all(name, xs, ws):
    ys = world(name)([jnp.sin(x) for x in xs])
    zs = world(name)([jnp.cos(x) * x for x in xs])
    return sum(jnp.sum(w * y**2 * z) for w, y, z in zip(ws, ys, zs, strict=True))


def every_operation():
    """First and second derivatives, both ways, in one program for each operation."""
    for name in OPERATIONS:
        xs, vs = given(name), given(name, 7)
        ws = [r + 1.0 for r in range(size)]
        w, t = ws[rank], mpi.token()
        here = lambda x, t, name=name: loss_here(name, t, x, w)

        @jax.jit
        def program(x, v, t, here=here):
            (value, after), (dx, dt) = jax.value_and_grad(here, argnums=(0, 1), has_aux=True)(x, t)
            t = mpi.join(after, dt)
            _, (dvalue, _) = jax.jvp(lambda x: here(x, t), (x,), (v,))
            gradient = lambda x, t: jax.grad(lambda x, t: sum(here(x, t)[:1]), argnums=(0,))(x, t)[0]
            _, forward_over_reverse = jax.jvp(lambda x: gradient(x, t), (x,), (v,))
            directional = lambda x: jax.jvp(lambda x: here(x, t)[0], (x,), (v,))[1]
            reverse_over_forward = jax.grad(directional)(x)
            reverse_over_reverse = jax.grad(lambda x: jnp.vdot(gradient(x, t), v))(x)
            return value, dx, dvalue, forward_over_reverse, reverse_over_forward, reverse_over_reverse

        got = program(xs[rank], vs[rank], t)
        of_all = lambda xs, name=name: loss_of_all(name, xs, ws)
        close(comm.allreduce(np.asarray(got[0])), of_all(list(xs)), f"{name}, value")
        gradient = jnp.stack(jax.grad(of_all)(list(xs)))
        close(got[1], gradient[rank], f"{name}, gradient")
        directional = jax.jvp(of_all, (list(xs),), (list(vs),))[1]
        close(comm.allreduce(np.asarray(got[2])), directional, f"{name}, jvp")
        hessian = jnp.stack(jax.jvp(jax.grad(of_all), (list(xs),), (list(vs),))[1])
        for which, second in zip(("forward over reverse", "reverse over forward", "reverse over reverse"), got[3:], strict=True):
            close(second, hessian[rank], f"{name}, {which}")
        # Not of JAX: differences.
        h = 1e-6
        eager = lambda x: np.asarray(OPERATIONS[name][0](np.sin(x)) ** 2 * OPERATIONS[name][0](np.cos(x) * x) * w)
        ahead, behind = (eager(np.asarray(xs[rank] + s * h * vs[rank])).sum() for s in (1, -1))
        close(comm.allreduce(np.asarray(ahead - behind)) / (2 * h), directional, f"{name}, differences", 1e-6)


def forms():
    """The same gradients in every form, and outside of jit."""
    x = given("scan")[rank]
    wanted = jnp.stack(jax.grad(lambda xs: loss_of_all("scan", xs, [1.0] * size))(list(given("scan"))))[rank]
    ref = mpi.new_ref()

    def loss(x, token):
        function = OPERATIONS["scan"][0]
        y = function(jnp.sin(x), token=token)
        return jnp.sum(y**2 * function(jnp.cos(x) * x, token=token))

    for what, transform in {"jit": jax.jit, "no jit": lambda f, **_: f}.items():
        close(transform(jax.grad(lambda x: loss(x, None)))(x), wanted, f"hidden, {what}")
        close(transform(lambda x, ref: jax.grad(lambda x: loss(x, ref))(x))(x, ref), wanted, f"ref, {what}")
        close(transform(jax.grad(lambda x: loss(x, False)))(x), wanted, f"no order, {what}")
        close(transform(jax.grad(lambda x, t: loss_here("scan", t, x, 1.0)[0]))(x, mpi.token()), wanted, f"token, {what}")
    jacobian = jax.jit(jax.jacrev(lambda x: mpi.scan(x**2)))
    if jax.__version_info__ < (0, 11):
        raises(NotImplementedError, ["vmap", "newer JAX", "token()"], jacobian, x)
    else:
        close(jacobian(x), np.diag((size - rank) * 2 * x), "jacrev with the hidden Ref")


def jacobians():
    """Of y = scan(x**3), its square, and so on, by both modes; linearize."""
    x, t = given("scan")[rank], mpi.token()
    f = lambda x: mpi.scan(x**3, token=t)[0]
    # dy[i] on this rank to x[j] on all ranks that are moved alike: below and here.
    xs = given("scan")
    close(jax.jit(jax.jacfwd(f))(x), np.diag((3 * xs[: rank + 1] ** 2).sum(0)), "jacfwd")
    close(jax.jit(jax.jacrev(f))(x), np.diag((size - rank) * 3 * xs[rank] ** 2), "jacrev")
    y, linear = jax.linearize(f, x)
    close(y, (xs[: rank + 1] ** 3).sum(0), "linearize, value")
    close(linear(jnp.ones(3)), (3 * xs[: rank + 1] ** 2).sum(0), "linearize")
    close(linear(2 * jnp.ones(3)), (6 * xs[: rank + 1] ** 2).sum(0), "linearize, again")
    g = jax.linear_transpose(lambda x: mpi.scan(x, token=t)[0], x)(jnp.ones(3))[0]
    close(g, np.full(3, size - rank), "linear_transpose")
    sums = lambda x: jnp.sum(mpi.allreduce(x**3, token=t)[0])
    for which, hessian in {
        "hessian": jax.hessian(sums),
        "reverse over forward": jax.jacrev(jax.jacfwd(sums)),
        "forward twice": jax.jacfwd(jax.jacfwd(sums)),
        "reverse twice": jax.jacrev(jax.jacrev(sums)),
    }.items():
        # In forward mode every rank's x is moved, in reverse mode every rank's result counts.
        wanted = {"hessian": size * 6 * xs[rank], "reverse twice": size * 6 * xs[rank]}.get(which)
        if which == "reverse over forward":
            wanted = size * 6 * xs[rank]
        if which == "forward twice":
            wanted = (6 * xs).sum(0)
        close(jax.jit(hessian)(x), np.diag(wanted), which)
    third = jax.jit(jax.grad(jax.grad(jax.grad(lambda x: mpi.allreduce(x**4, token=t)[0]))))(jnp.float64(2 + rank))
    close(third, size * 24 * (2 + rank), "third derivative")


def replicated():
    """As mpi4jax: what is the same on every rank has one cotangent."""
    x, t = given("allreduce")[rank], mpi.token()
    f = lambda x: jnp.sum(mpi.allreduce(x**2, token=t, replicated=True)[0])
    close(jax.jit(jax.grad(f))(x), 2 * x, "replicated")
    close(jax.jit(jax.grad(lambda x: jnp.sum(mpi.allreduce(x**2, replicated=True))))(x), 2 * x, "replicated, hidden")
    close(jax.jit(jax.jvp, static_argnums=0)(f, (x,), (x,))[1], 2 * (given("allreduce") ** 2).sum(), "replicated, forward")
    g = lambda x: mpi.allreduce(x, token=t, replicated=True)[0]
    there = jax.linear_transpose(g, x)
    back = jax.linear_transpose(lambda y: there(y)[0], x)
    close(jax.jit(back)(x)[0], given("allreduce").sum(0), "replicated, there and back")


def messages():
    """Send and recv: the token goes in and out, and is differentiated, too."""
    x = given("allreduce")

    def f(x, token):
        if rank == 0:
            return x, mpi.send(x**2, LAST, token=token)
        if rank == LAST:
            y, token = mpi.recv(x, 0, token=token)
            return 3 * y + x, token
        return x, token

    (y, t), back = jax.vjp(jax.jit(f), x[rank], mpi.token())
    g, _ = back((jnp.ones(3), jnp.zeros(1, jnp.float32)))
    close(y, x[LAST] + 3 * x[0] ** 2 if rank == LAST else x[rank], "send and recv")
    close(g, 6 * x[0] + 1 if rank == 0 else np.ones(3), "send and recv, backwards")
    _, (dy, _) = jax.jvp(f, (x[rank], t), (jnp.ones(3), t))
    close(dy, 6 * x[0] + 1 if rank == LAST else np.ones(3), "send and recv, forwards")


def checkpoints():
    """jax.checkpoint keeps the results of operations: they are counted."""
    x, t = given("allreduce")[rank], mpi.token()

    def f(x, t):
        y, t = mpi.allreduce(jnp.sin(x), token=t)
        return jnp.sum(jnp.sin(y) ** 2), t

    plain = jax.grad(f, has_aux=True)
    for policy in (None, jax.checkpoint_policies.everything_saveable, jax.checkpoint_policies.dots_saveable):
        kept = jax.grad(jax.checkpoint(f, policy=policy), has_aux=True)
        close(jax.jit(kept)(x, t)[0], jax.jit(plain)(x, t)[0], "checkpoint")
        text = jax.jit(kept).lower(x, t).as_text()
        check(text.count("reactant_mpi_allreduce") == 2, f"one there and one back, not {text.count('reactant_mpi_allreduce')}")
    scanned = lambda x: jnp.sum(
        jax.lax.scan(jax.checkpoint(lambda c, _: (mpi.allreduce(jnp.sin(c[0]), token=c[1]), None)), (x, t), None, 3)[0][0]
    )
    close(jax.jit(jax.grad(scanned))(x), jax.jit(jax.grad(lambda x: jnp.sum(three(x, t))))(x), "checkpoint in scan")


def three(x, t):
    for _ in range(3):
        x, t = mpi.allreduce(jnp.sin(x), token=t)
    return x


def batches():
    """vmap of each, with the batch at each place, of its gradient, and its gradient of vmap."""
    for name, (function, shape, of_all) in OPERATIONS.items():
        xs = np.random.default_rng([3, *shape]).standard_normal((size, 4, *shape))
        wanted = np.stack([np.asarray(of_all([jnp.asarray(x[b]) for x in xs])[rank]) for b in range(4)])
        for axis in range(len(shape) + 1):
            x = jnp.moveaxis(xs[rank], 0, axis)
            y, t = jax.jit(jax.vmap(lambda x, t: function(x, token=t), in_axes=(axis, None), out_axes=(0, None)))(x, mpi.token())
            close(y, wanted, f"vmap of {name}, axis {axis}")
        loss = lambda x, t: jnp.sum(jnp.sin(function(x**2, token=t)[0]))
        t = mpi.token()
        one = jax.jit(jax.vmap(jax.grad(loss), in_axes=(0, None)))(xs[rank], t)
        other = jax.jit(jax.grad(lambda x, t: jnp.sum(jax.vmap(loss, (0, None))(x, t))))(xs[rank], t)
        sums = lambda xs: sum(jnp.sum(jnp.sin(y)) for y in of_all([x**2 for x in xs]))
        gradient = jnp.stack([jnp.stack(jax.grad(sums)([jnp.asarray(x[b]) for x in xs]))[rank] for b in range(4)])
        close(one, gradient, f"vmap of grad of {name}")
        close(other, gradient, f"grad of vmap of {name}")
    # A token for each of the batch is one; none of the batch is one operation.
    x = given("allreduce")[rank]
    y, t = jax.jit(jax.vmap(lambda x, t: mpi.allreduce(x, token=t)))(jnp.stack([x, 2 * x]), jnp.zeros((2, 1), jnp.float32))
    close(y, np.outer([1, 2], given("allreduce").sum(0)), "batched token")
    check(t.shape == (2, 1), "and as many tokens after it")
    y, _ = jax.vmap(lambda x, t: mpi.allreduce(x, token=t), (None, 0))(x, jnp.zeros((2, 1), jnp.float32))
    close(y, np.stack([given("allreduce").sum(0)] * 2), "only the token is batched")
    y, _ = jax.vmap(jax.vmap(lambda x, t: mpi.allgather(x, token=t), (0, None)), (0, None), (1, None))(
        jnp.ones((2, 3, 4)), mpi.token()
    )
    close(y[0].shape, (2, size, 4) if y.shape[0] == 3 else y[0].shape, "vmap twice")


def refused():
    x, t = jnp.ones(3), mpi.token()
    for op, name in ((mpi.MAX, "MAX"), (mpi.MIN, "MIN"), (mpi.PROD, "PROD")):
        for token in (None, t):
            f = lambda x: jnp.sum(first(mpi.allreduce(x, op, token=token)))
            raises(NotImplementedError, [name, "no derivative", "stop_gradient"], jax.grad(f), x)
            raises(NotImplementedError, [name], jax.jvp, f, (x,), (x,))
            close(jax.grad(lambda x: jnp.sum(x) * f(jax.lax.stop_gradient(x)))(x), np.full(3, f(x)), "stop_gradient")
    # Whole numbers have no derivative, and do not stand in the way of one.
    g = jax.jit(jax.grad(lambda x: jnp.sum(x * mpi.allreduce(jnp.arange(3), token=t)[0])))(x)
    close(g, size * np.arange(3.0), "beside whole numbers")
    g = jax.jit(jax.grad(lambda x: jnp.sum(x * mpi.allreduce(jnp.arange(3)))))(x)
    close(g, size * np.arange(3.0), "beside whole numbers, hidden")
    raises(NotImplementedError, "any source", jax.grad(lambda x: jnp.sum(mpi.sendrecv(x, x, -101, NEXT, token=t)[0])), x)


def first(result):
    return result[0] if isinstance(result, tuple) else result


mpi.barrier()
for test in (every_operation, forms, jacobians, replicated, messages, checkpoints, batches, refused):
    if len(sys.argv) == 1 or test.__name__ in sys.argv[1:]:
        test()
done()
