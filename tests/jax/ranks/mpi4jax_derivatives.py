"""Derivatives, vmap and solvers with the operations of mpi4jax. Its convention: a sum is used alike on all ranks."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.sparse.linalg import cg
from with_mpi4jax import MPI, RANK, SIZE, check, data, done, mpi4jax, raises, same

BEFORE, AFTER = (RANK - 1) % SIZE, (RANK + 1) % SIZE
x = data()
mine, total = jnp.asarray(x[RANK]), x.sum(0)


def summed(x):
    return mpi4jax.allreduce(x, op=MPI.SUM)


def back(y):
    return jax.linear_transpose(summed, mine)(y)[0]


def along(x):
    return mpi4jax.sendrecv(x, x, BEFORE, AFTER)


for wrapped in (lambda f: f, jax.jit):
    # The value, the forward derivative (every rank's tangent counts), the backward one (the cotangent as it is), and back again.
    value, tangent = wrapped(lambda x, t: jax.jvp(summed, (x,), (t,)))(mine, 2 * mine)
    same(value, total, "value of jvp")
    same(tangent, 2 * total, "jvp")
    same(wrapped(lambda x: jax.vjp(summed, x)[1](3 * x)[0])(mine), 3 * x[RANK], "vjp")
    same(wrapped(lambda x: jax.linear_transpose(summed, x)(x)[0])(mine), x[RANK], "linear_transpose")
    same(wrapped(lambda x: jax.linear_transpose(back, x)(x)[0])(mine), total, "linear_transpose of linear_transpose")
    same(wrapped(jax.grad(lambda x: (summed(x) ** 2).sum() / 2))(mine), total, "grad of a square")
    same(wrapped(jax.grad(lambda x: (summed(x) + summed(2 * x) * 3).sum()))(mine), np.full((3, 2), 7, "float32"), "two sums")
    loop = lambda x: jax.lax.fori_loop(0, 3, lambda _, x: summed(x) / SIZE, x).sum()  # noqa: E731
    same(wrapped(jax.grad(loop))(mine), np.ones((3, 2), "float32") / np.float32(SIZE) ** 3, "grad through a loop")

    # vmap over an axis is one sum of all.
    same(wrapped(jax.vmap(summed, in_axes=1, out_axes=1))(mine), total, "vmap of allreduce")
    same(wrapped(jax.vmap(along))(mine), x[BEFORE], "vmap of sendrecv")

    # What a rank sends is used by the next: its cotangent comes back from there.
    weighted = lambda x: (along(x) * (RANK + 1)).sum()  # noqa: E731
    same(wrapped(jax.grad(weighted))(mine), np.full((3, 2), AFTER + 1, "float32"), "grad of sendrecv")
    same(wrapped(jax.jacrev(lambda x: along(x).sum(1)))(mine).sum((1, 2)), np.full(3, 2, "float32"), "jacrev of sendrecv")
    two = lambda x: (along(along(x) * (RANK + 1)) * (RANK + 1)).sum()  # noqa: E731
    same(wrapped(jax.grad(two))(mine), np.full((3, 2), (AFTER + 1) * ((RANK + 2) % SIZE + 1), "float32"), "grad of two sendrecv")

# Sums inside of solvers of JAX: each rank has a part of the matrix.
matrix = np.eye(6) * 8 + np.random.default_rng(2).random((6, 6))
matrix = matrix @ matrix.T
part, right = jnp.asarray(matrix / SIZE, "float32"), jnp.arange(1.0, 7.0)
for wrapped in (lambda f: f, jax.jit):
    solution = wrapped(lambda b: cg(lambda v: summed(part @ v), b, tol=1e-6)[0])(right)
    check(np.allclose(solution, np.linalg.solve(matrix, np.arange(1, 7)), rtol=1e-3), f"cg: {solution}")

raises(NotImplementedError, "SUM", lambda: jax.grad(lambda x: mpi4jax.allreduce(x, op=MPI.MAX).sum())(mine), "grad of a maximum")
done()
