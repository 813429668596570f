"""Operations are done in the order of the program, on every rank: programs in which XLA would start them in another one.

Each exchange sends a number to the next rank and gets that of the one before; all have one tag, so whatever is done out of order,
on either side, gets another number. Before them come chains of products of matrices: on one rank the longest before the first, on
the next one before the last.

order.py FORM: "token", "ref", "hidden" or "none", which shows that XLA does start them in another order.
"""

import sys

from program import check, done, jax, jnp, mpi, np, raises, rank, same, size

FORM = sys.argv[1]
NEXT, BEFORE = (rank + 1) % size, (rank - 1) % size
N = 6
M = jnp.asarray(np.random.default_rng(0).standard_normal((100, 100)) / 100, jnp.float32)
OLD = jax.__version_info__ < (0, 11)


def late(x, m, length):
    """x, after a while."""
    y = m + jnp.ravel(x)[0]
    for _ in range(length):
        y = jnp.tanh(y @ m)
    return jnp.where(y[0, 0] < 2, x, y[0, 0])


def turns(k, n=N):
    """How long the k-th of n takes: the first is the last to be ready on one rank, and the last on the next one."""
    return k + 1 if rank % 2 else n - k


def exchange(x, order):
    """(what the rank before has sent, order)"""
    if FORM == "token":
        return mpi.sendrecv(x, x, BEFORE, NEXT, token=order)
    return mpi.sendrecv(x, x, BEFORE, NEXT, token={"ref": order, "hidden": None, "none": False}[FORM]), order


def first():
    return {"token": mpi.token, "ref": mpi.new_ref}.get(FORM, lambda: 0)()


# What a program gives beside its results, for the next one.
def after(order):
    return order if FORM == "token" else 0


def going_on(given, kept):
    return given if FORM == "token" else kept


def number(rank, k):
    return 100.0 * rank + k


def several(m, order, n=N, start=0, by=number):
    results = []
    for k in range(n):
        x = late(jnp.float32(by(rank, start + k)), m, 3 * turns(k, n))
        y, order = exchange(x, order)
        results.append(y)
    return jnp.stack(results), order


def wanted(n=N, by=number):
    return np.array([by(BEFORE, k) for k in range(n)], np.float32)


def run(function, *arguments):
    """function(*arguments, order) in one program; its results, and what comes after it."""

    def program(order, *arguments):
        results, order = function(*arguments, order)
        return results, after(order)

    kept = first()
    results, given = jax.jit(program)(kept, *arguments)
    return results, going_on(given, kept)


def straight():
    results, _ = run(several, M)
    same(results, wanted(), "straight")


def scan():
    def body(order, k):
        ys, order = several(M, order, 4, 4 * k)
        return order, ys

    def outer(order):
        if FORM == "token":
            order, ys = jax.lax.scan(body, order, jnp.arange(5.0, dtype=jnp.float32))
            return ys, order
        return jax.lax.scan(lambda c, k: (c, body(order, k)[1]), 0, jnp.arange(5.0, dtype=jnp.float32))[1], order

    same(run(outer)[0].ravel(), wanted(20), "scan")


def loop(order, carry, times, body):
    """So many times (carry, order) = body(i, carry, order), as a while loop."""

    def turn(state):
        i, carry, token = state
        carry, token = body(i, carry, going_on(token, order))
        return i + 1, carry, after(token)

    _, carry, token = jax.lax.while_loop(lambda state: state[0] < times, turn, (0, carry, after(order)))
    return carry, going_on(token, order)


def while_loop():
    def body(i, ys, order):
        new, order = several(M, order, 4, 4.0 * i.astype(jnp.float32))
        return jax.lax.dynamic_update_slice(ys, new, (4 * i,)), order

    results, _ = run(lambda times, order: loop(order, jnp.zeros(20, jnp.float32), times, body), 5)
    same(results, wanted(20), "while")


def fori():
    def body(i, ys, order):
        y, order = exchange(i.astype(jnp.float32) + 100 * rank, order)
        return ys.at[i].set(y), order

    results, _ = run(lambda order: loop(order, jnp.zeros(100, jnp.float32), 100, body))
    same(results, wanted(100), "fori")


def switch():
    """Another sequence in each turn, as the number of the turn says."""

    def one(m, order):
        y, order = exchange(late(jnp.float32(number(rank, 1)), m, 9), order)
        return jnp.stack([y, y]), order

    def two(m, order):
        return several(m, order, 2, 2)

    def none(m, order):
        return late(jnp.zeros(2, jnp.float32), m, 5), order

    def turn(which, m, order):
        branches = [lambda m, token, f=f: (lambda ys, o: (ys, after(o)))(*f(m, going_on(token, order))) for f in (one, two, none)]
        ys, token = jax.lax.switch(which, branches, m, after(order))
        return ys, going_on(token, order)

    def program(which, order):
        results = []
        for i in range(4):
            ys, order = turn(which[i], M, order)
            results.append(ys)
            y, order = exchange(late(jnp.float32(number(rank, 50 + i)), M, 1), order)
            results.append(jnp.stack([y, y]))
        return jnp.concatenate(results), order

    results, _ = run(program, jnp.array([1, 0, 2, 1]))
    b = 100 * BEFORE
    turns = [[b + 2, b + 3], [b + 50] * 2, [b + 1] * 2, [b + 51] * 2, [0, 0], [b + 52] * 2, [b + 2, b + 3], [b + 53] * 2]
    same(results, np.ravel(turns).astype(np.float32), "switch")


def vmap():
    def program(xs, order):
        def each(x):
            results, token = [], order
            for k in range(N):
                y, token = exchange(late(x + k, M, 3 * turns(k)), token)
                results.append(y)
            return jnp.stack(results), after(token)

        ys, token = jax.vmap(each, out_axes=(0, None))(xs)
        return ys, going_on(token, order)

    xs = jnp.arange(3, dtype=jnp.float32) * 10 + 100 * rank
    if OLD and FORM in ("ref", "hidden"):
        raises(NotImplementedError, ["vmap", "newer JAX", "token()"], run, program, xs)
        return
    same(run(program, xs)[0], wanted()[None] + 10 * np.arange(3, dtype=np.float32)[:, None], "vmap")


def weights(m, rank):
    return [late(jnp.float32(number(rank, k) + 1), m, 2 * turns(k)) for k in range(N)]


def exchanged_and_weighted(x, order):
    """Its cotangents go back, each weighted otherwise, and are ready in another order."""
    total = 0
    for k, w in enumerate(weights(M, rank)):
        y, order = exchange(late(x[k], M, 3 * turns(k)), order)
        total += w * y
    return total, order


def grad():
    def program(x, order):
        (_, token), g = jax.value_and_grad(
            lambda x: (lambda total, o: (total, after(o)))(*exchanged_and_weighted(x, order)), has_aux=True
        )(x)
        return g, going_on(token, order)

    x = jnp.arange(N, dtype=jnp.float32)
    same(run(program, x)[0], np.array([number(NEXT, k) + 1 for k in range(N)], np.float32), "grad")


def grad_of_scan():
    def loss(x, order):
        def body(carry, x):
            total, token = carry
            value, token = exchanged_and_weighted(x, going_on(token, order))
            return (total + value, after(token)), None

        (total, token), _ = jax.lax.scan(body, (jnp.float32(0), after(order)), x)
        return total, going_on(token, order)

    def program(x, order):
        (_, token), g = jax.value_and_grad(lambda x: (lambda total, o: (total, after(o)))(*loss(x, order)), has_aux=True)(x)
        return g, going_on(token, order)

    x = jnp.ones((3, N), jnp.float32)
    same(run(program, x)[0], np.array([[number(NEXT, k) + 1 for k in range(N)]] * 3, np.float32), "grad of scan")


def two_gradients():
    """The backward pass of one comes before that of the next, though nothing goes from one to the other."""

    def program(x, order):
        results = []
        for _ in range(3):

            def f(x, order=order):
                total, after_all = exchanged_and_weighted(x, order)
                return total, after(after_all)

            g, token = jax.grad(f, has_aux=True)(x)
            results.append(g)
            order = going_on(token, order)
        return jnp.stack(results), order

    x = jnp.ones(N, jnp.float32)
    same(run(program, x)[0], np.array([[number(NEXT, k) + 1 for k in range(N)]] * 3, np.float32), "two gradients")


def forward():
    def program(x, order):
        dx = jnp.stack([late(x[k] + 100 * rank, M, 3 * turns(k)) for k in range(N)])

        def f(x):
            ys, token = [], order
            for k in range(N):
                y, token = exchange(late(x[k], M, 2 * turns(k)), token)
                ys.append(y)
            return jnp.stack(ys), after(token)

        ys, dys, token = jax.jvp(f, (x + 200 * rank,), (dx,), has_aux=True)
        return (ys, dys), going_on(token, order)

    x = jnp.arange(N, dtype=jnp.float32)
    if FORM != "token":
        # JAX has no words of ours for this.
        raises((TypeError, NotImplementedError), "custom_", run, program, x)
        return
    ys, dys = run(program, x)[0]
    same(ys, np.arange(N, dtype=np.float32) + 200 * BEFORE, "jvp, values")
    same(dys, wanted(), "jvp, derivatives")


def checkpoint():
    def program(x, order):
        @jax.checkpoint
        def loss(x, token):
            return (lambda total, o: (jnp.sin(total) * 0 + total, after(o)))(
                *exchanged_and_weighted(jnp.sin(x) * 0 + x, going_on(token, order))
            )

        (_, token), g = jax.value_and_grad(loss, has_aux=True)(x, after(order))
        y, order = exchange(late(jnp.float32(number(rank, 77)), M, 1), going_on(token, order))
        return (g, y), order

    x = jnp.arange(N, dtype=jnp.float32)
    g, y = run(program, x)[0]
    same(g, np.array([number(NEXT, k) + 1 for k in range(N)], np.float32), "checkpoint")
    same(y, np.float32(number(BEFORE, 77)), "after checkpoint")


def across_calls():
    """Programs that do not wait for each other, and one inside of another."""

    def one(k, order):
        y, order = exchange(late(k, M, 3 * N), order)
        return y, after(order)

    programs = [jax.jit(one), jax.jit(lambda k, order: jax.jit(one)(k, order)), jax.jit(lambda k, order: exchange_plain(k, order))]
    order, results = first(), []
    for k in range(30):
        y, given = programs[k % 3](jnp.float32(number(rank, k)), order)
        order = going_on(given, order)
        results.append(y)
    same(np.array([float(y) for y in results], np.float32), wanted(30), "across calls")
    # Outside of jit comes after what has been started.
    results = []
    for k in range(10):
        y, given = programs[k % 3](jnp.float32(number(rank, k)), order)
        order = going_on(given, order)
        z, order = exchange(np.float32(number(rank, 40 + k)), order)
        results.append((float(y), float(z)))
    same(np.array(results), np.array([(number(BEFORE, k), number(BEFORE, 40 + k)) for k in range(10)]), "outside of jit")


def exchange_plain(k, order):
    y, order = exchange(k, order)
    return y, after(order)


def shard_map():
    mesh = jax.make_mesh((1,), ("i",))
    spec = jax.sharding.PartitionSpec()

    def program(x, order):
        if FORM == "token":
            return jax.shard_map(
                lambda x, t: several(x, t), mesh=mesh, in_specs=(spec, spec), out_specs=(spec, spec), check_vma=False
            )(x, order)
        return jax.shard_map(lambda x: several(x, order)[0], mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)(x), order

    if FORM in ("ref", "hidden"):
        raises(Exception, "", run, program, M)
        return
    same(run(program, M)[0], wanted(), "shard_map")


def out_of_order():
    """Without a token all of this is provoked."""
    seen = 0
    for _ in range(10):
        seen += not np.array_equal(run(several, M)[0], wanted())
    check(seen > 0, "nothing was done out of order: this test does not provoke it")


if FORM == "none":
    out_of_order()
else:
    for test in (
        straight,
        scan,
        while_loop,
        fori,
        switch,
        vmap,
        grad,
        grad_of_scan,
        two_gradients,
        forward,
        checkpoint,
        across_calls,
        shard_map,
    ):
        if len(sys.argv) > 2 and test.__name__ not in sys.argv[2:]:
            continue
        test()
done()
