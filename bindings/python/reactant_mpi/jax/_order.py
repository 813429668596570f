"""What keeps operations in the order of the program: XLA starts what does not depend on one another in any order, or at once.

An operation takes a token and gives the next one, and so depends on the one before. A Ref keeps the token from one to the next.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ._derivatives import check_linear, scaled, transposed
from ._primitives import TOKEN, bind
from ._table import LINEAR, ROWS

_hidden = None


def token():
    """A token for the first operation of a chain: each gives the one for the next. A float32 array of one element, always zero."""
    return jnp.zeros(TOKEN.shape, TOKEN.dtype)


def new_ref():
    """A jax Ref that holds a token: operations with token=ref keep their order. Made outside of jit, given as an argument."""
    return jax.new_ref(token(), kind="no_grad_no_remat")


def join(token, *others):
    """A token after which comes what comes after all of these.

    For two chains that become one, as the cotangent of a token, by which the operations of a backward pass end, and the next pass.
    """
    for other in others:
        token = lax.add(token, other)
    return token


def hidden():
    """The Ref of operations without token=."""
    global _hidden
    if _hidden is None:
        with jax.ensure_compile_time_eval():
            _hidden = new_ref()
    return _hidden


def wait(ref) -> None:
    """Wait for the operations of compiled programs that keep their token in this Ref: reading it is all that JAX has for that."""
    if ref is None:
        ref = _hidden
    if ref is not None:
        ref[...].block_until_ready()


def nothing_before():
    """The token of an operation that comes after nothing."""
    return np.zeros(TOKEN.shape, TOKEN.dtype)


def is_ref(x) -> bool:
    return isinstance(x, jax.Ref) or (isinstance(x, jax.core.Tracer) and type(x.aval).__name__ == "AbstractRef")


def through(row, ref, operands, place, parameters):
    """y (None where there is none) of an operation that takes its token from the Ref and leaves the next one there."""
    if row.transpose is None or parameters.get("op") not in (None, *LINEAR):
        return _through(row, ref, operands, place, parameters)
    return _differentiable(row.name, place, tuple(sorted(parameters.items())))(ref, *operands)


def _through(row, ref, operands, place, parameters):
    *results, after = bind(row, *operands, ref[...], place=place, **parameters)
    if _keeps_under_vmap():
        _keep(ref, after)
    else:
        ref[...] = after
    return results[0] if results else None


@jax.custom_batching.custom_vmap
def _keep(ref, token):
    """Write a Ref, also under vmap, where JAX lets only a Ref be written that belongs to the batch."""
    ref[...] = token
    return token


@_keep.def_vmap
def _keep_one(size, batched, ref, token):
    return _keep(ref, jnp.sum(token, 0) if batched[1] else token), False


@jax.custom_batching.custom_vmap
def _not_batched(x):
    return x


@_not_batched.def_vmap
def _refuse(size, batched, x):
    raise NotImplementedError(
        f"vmap of an operation of reactant_mpi.jax whose token is kept in a Ref, as it is without token=, needs a newer JAX than "
        f"{jax.__version__}: pass a token (t = reactant_mpi.jax.token(); y, t = allreduce(x, token=t))"
    )


@functools.cache
def _keeps_under_vmap() -> bool:
    """Whether this JAX knows Refs in custom_vmap."""
    with jax.ensure_compile_time_eval():
        ref = new_ref()
    try:
        jax.make_jaxpr(lambda: _keep(ref, nothing_before()))()
    except ValueError:
        return False
    return True


@functools.cache
def _differentiable(name, place, parameters):
    """The operation with a backward pass that uses the same Ref. So forward mode is refused, by JAX."""
    row, parameters = ROWS[name], dict(parameters)

    @jax.custom_vjp
    def operation(ref, *operands):
        if not _keeps_under_vmap():
            operands = [_not_batched(x) for x in operands]
        return _through(row, ref, operands, place, parameters)

    def forward(ref, *operands):
        return operation(ref, *operands), (ref, operands[:1])

    def backward(kept, cotangent):
        ref, (x,) = kept
        if not jnp.issubdtype(x.dtype, jnp.inexact):
            return (None,) * (1 + row.arrays)
        check_linear(row, parameters)
        if parameters.get("replicated"):
            there = "sum" if parameters["replicated"] == "back" else "back"
            return None, through(row, ref, [cotangent], place, parameters | {"replicated": there})
        target, taken, at, its, factor = transposed(row, x, cotangent, place, parameters)
        y = through(target, ref, taken, at, its)
        return (None, *[scaled(y, factor)] * row.takes, *[None] * row.like)

    operation.defvjp(forward, backward)
    return operation
