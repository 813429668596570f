"""Derivatives of the operations: each is linear in its array and in its token, or has none.

The derivative of an operation runs on another communicator (Place.tangent), its tokens are the derivatives of the tokens, so a
chain of their own, and it comes after the operation itself. What is differentiated never depends on a derivative, else JAX could
not take them apart.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend.core import Literal
from jax.interpreters import ad
from jax.interpreters import partial_eval as pe

from .. import _abi
from ._primitives import PRIMITIVES, bind, stays_here
from ._table import LINEAR, OPERATION_NAMES, ROWS


def check_linear(row, parameters) -> None:
    """Refuse what has no derivative."""
    op = parameters.get("op")
    if op is not None and op not in LINEAR:
        raise NotImplementedError(
            f"reactant_mpi.jax.{row.name} with op {OPERATION_NAMES[op]} has no derivative, only SUM and AVG have one: "
            "pass jax.lax.stop_gradient(x) where none is wanted"
        )
    if _abi.ANY_SOURCE in (parameters.get("source"), parameters.get("dest")) or _abi.ANY_TAG in (
        parameters.get("tag"),
        parameters.get("recvtag"),
    ):
        raise NotImplementedError(f"reactant_mpi.jax.{row.name} from any source or with any tag has no derivative: name both")


def transposed(row, x, cotangent, place, parameters):
    """(row, operands without token, place, parameters, factor) of the transpose; x has the shape of the array that was taken."""
    name, place, parameters, factor = row.transpose(place, parameters)
    target = ROWS[name]
    operands = [cotangent] if target.takes else []
    if target.like:
        operands.append(jnp.zeros(x.shape, x.dtype))
    return target, operands, place, parameters, factor


def scaled(x, factor):
    return x if factor == 1 else x * jnp.asarray(factor, x.dtype)


def _jvp(row):
    def rule(primals, tangents, *, place, **parameters):
        results = bind(row, *primals, place=place.primal(), **parameters)
        dtoken = tangents[row.operands - 1]
        without = [*(ad.Zero(jax.typeof(y).to_tangent_aval()) for y in results[:-1]), dtoken]
        if all(type(d) is ad.Zero for d in tangents[: row.operands]):
            return results, without
        if not row.arrays or not jnp.issubdtype(primals[0].dtype, jnp.inexact):
            return results, without
        if type(tangents[0]) is ad.Zero and parameters.get("op", _abi.SUM) not in LINEAR:
            return results, without
        check_linear(row, parameters)
        operands = [ad.instantiate_zeros(tangents[0])] if row.takes else []
        if row.like:
            operands.append(primals[row.arrays - 1])
        operands += [ad.instantiate_zeros(dtoken), results[-1]]
        if parameters.get("donate"):
            parameters = parameters | {"donate": False}
        return results, bind(row, *operands, place=place.tangent(), **parameters)

    return rule


def _transpose(row):
    def rule(cotangents, *operands, place, **parameters):
        token, after = operands[row.operands - 1], operands[row.operands :]
        x = operands[0] if row.takes else None
        none = [None] * len(operands)
        dtoken = cotangents[-1]
        if stays_here(parameters) or parameters.get("replicated"):
            return _of_replicated(row, cotangents, operands, place, parameters)
        # Zeros take part, too: other ranks may have others.
        dy = ad.instantiate_zeros(cotangents[0]) if row.gives else None
        dtoken = ad.instantiate_zeros(dtoken)
        if not ad.is_undefined_primal(token):
            dtoken = lax.add(dtoken, token)
        shaped = x.aval if x is not None and ad.is_undefined_primal(x) else x
        target, taken, place, parameters, factor = transposed(row, shaped, dy, place, parameters)
        results = bind(target, *taken, dtoken, *after, place=place, **parameters)
        if x is not None and ad.is_undefined_primal(x):
            none[0] = scaled(results[0], factor)
        if ad.is_undefined_primal(token):
            none[row.operands - 1] = results[-1]
        return none

    return rule


def _of_replicated(row, cotangents, operands, place, parameters):
    """mpi4jax's convention: what is the same everywhere has its cotangent once, so that of a sum of it goes back as it is."""
    x, token, *after = operands
    dx, dtoken = map(ad.instantiate_zeros, cotangents)
    there = "sum" if stays_here(parameters) else "back"
    results = bind(row, dx, dtoken, *after, place=place, **parameters | {"replicated": there})
    given = [y if ad.is_undefined_primal(z) else None for y, z in zip(results, (x, token), strict=True)]
    return [*given, *[None] * len(after)]


def _never_again(_saveable, unknown, instantiated, equation):
    """jax.checkpoint: an operation is never done a second time, its results are kept."""
    n = len(equation.outvars)
    if any(unknown):
        missing = [v for v, there in zip(equation.invars, instantiated, strict=True) if not there and not isinstance(v, Literal)]
        return None, equation, [True] * n, [True] * n, missing
    return equation, None, [False] * n, [False] * n, []


for _name, _primitive in PRIMITIVES.items():
    ad.primitive_jvps[_primitive] = _jvp(ROWS[_name])
    if ROWS[_name].transpose is not None:
        ad.primitive_transposes[_primitive] = _transpose(ROWS[_name])
    pe.partial_eval_jaxpr_custom_rules[_primitive] = _never_again
