"""Operations that keep their order by an ordered effect of JAX, as those of mpi4jax do, so that they work wherever those do.

Inside vmap, linear_transpose and custom_linear_solve (jax.scipy.sparse.linalg.cg) no other form of order works. The price: some hundred
microseconds for each call of a jitted function, one device a process, and names of JAX that are not public. The operations of
reactant_mpi.jax have none of that.
"""

import hashlib

import jax
import jax.extend.core
import jax.numpy as jnp
import numpy as np
from jax.interpreters import ad, batching, mlir

from .. import SUM, _communicators, _eager
from .._batching import _moved
from .._primitives import TOKEN, _target
from .._table import ROWS

try:
    from jax._src import effects
    from jax._src.core import abstract_token
except ImportError as error:
    raise ImportError(f"reactant_mpi.jax.compat.mpi4jax does not know this version of JAX, {jax.__version__}: {error}") from error


class OrderedEffect(effects.Effect):
    """That an operation of MPI happens."""

    # Equal in every process: compiled programs are looked up by it.
    def __hash__(self):
        return int.from_bytes(hashlib.md5(b"reactant_mpi.jax.compat").digest()[:7], "little")


EFFECT = OrderedEffect()
for _kind in ("lowerable", "ordered", "control_flow_allowed", "custom_derivatives_allowed"):
    getattr(effects, f"{_kind}_effects").add_type(OrderedEffect)

_NO_TOKEN = np.zeros(TOKEN.shape, TOKEN.dtype)


def bind(name, *operands, place, **parameters):
    """y of an operation of the table; None where there is none."""
    results = PRIMITIVES[name].bind(*operands, place=place, **parameters)
    return results[0] if results else None


def _primitive(name, row):
    primitive = jax.extend.core.Primitive(name)
    primitive.multiple_results = True

    @primitive.def_impl
    def now(*operands, place, **parameters):
        jax.effects_barrier()
        return _eager.call(row, [*operands, _NO_TOKEN], place, parameters)[:-1]

    @primitive.def_effectful_abstract_eval
    def shapes(*operands, place, **parameters):
        if not row.gives:
            return [], {EFFECT}
        shape = row.shape(operands[-1].shape, place, parameters)
        return [operands[-1].update(shape=tuple(shape))], {EFFECT}

    def lower(context, *operands, place, **parameters):
        shape = context.avals_in[-1].shape if operands else ()
        attributes = row.attributes(shape, place, parameters) | {
            "comm": np.int64(_communicators.number(place)),
            "size": np.int32(place.size),
            "wait": np.bool_(True),
        }
        # Of the operands only what is sent, then our own token, which orders nothing here, then JAX's.
        token = jax.core.ShapedArray(TOKEN.shape, TOKEN.dtype)
        inner = context.replace(
            avals_in=[*context.avals_in[: row.takes], token, abstract_token], avals_out=[*context.avals_out, token, abstract_token]
        )
        given = [*operands[: row.takes], mlir.ir_constant(_NO_TOKEN), context.tokens_in.get(EFFECT)]
        *results, _, after = jax.ffi.ffi_lowering(_target(row.name), has_side_effect=True)(inner, *given, **attributes)
        context.set_tokens_out(mlir.TokenSet({EFFECT: after}))
        return results

    def batch(operands, axes, **parameters):
        into, out = row.batch
        size = next(x.shape[axis] for x, axis in zip(operands, axes, strict=True) if axis is not None)
        moved = [_moved(x, axis, into, size) for x, axis in zip(operands, axes, strict=True)]
        results = primitive.bind(*moved, **parameters)
        return results, [out] * len(results)

    mlir.register_lowering(primitive, lower)
    batching.primitive_batchers[primitive] = batch
    return primitive


NAMES = ("allgather", "allreduce", "alltoall", "barrier", "bcast", "gather", "recv", "reduce", "scan", "scatter", "send", "sendrecv")
PRIMITIVES = {name: _primitive(f"mpi4jax_{name}", ROWS[name]) for name in NAMES}


# ---- derivatives, of the two operations that have them in mpi4jax --------------------------------------------------------------

# What the transpose of a sum is: the cotangent, which is the same on all ranks, as it is. Its own transpose is the sum again.
_back_p = jax.extend.core.Primitive("mpi4jax_allreduce_back")
_back_p.def_impl(lambda x, **parameters: x)
_back_p.def_abstract_eval(lambda x, **parameters: x)
mlir.register_lowering(_back_p, lambda context, x, **parameters: [x])
batching.primitive_batchers[_back_p] = lambda operands, axes, **parameters: (_back_p.bind(*operands, **parameters), axes[0])
ad.deflinear2(_back_p, lambda cotangent, x, **parameters: PRIMITIVES["allreduce"].bind(ad.instantiate_zeros(cotangent), **parameters))


def _allreduce_jvp(primals, tangents, **parameters):
    (dx,) = tangents
    result = PRIMITIVES["allreduce"].bind(*primals, **parameters)
    if type(dx) is ad.Zero:
        return result, [ad.Zero.from_primal_value(result[0])]
    _check_sum(parameters)
    return result, PRIMITIVES["allreduce"].bind(ad.instantiate_zeros(dx), **parameters)


def _allreduce_transpose(cotangents, x, **parameters):
    _check_sum(parameters)
    return [_back_p.bind(ad.instantiate_zeros(cotangents[0]), **parameters)]


def _check_sum(parameters) -> None:
    if parameters["op"] != SUM:
        raise NotImplementedError("allreduce: the derivative is there for MPI.SUM only")


def _sendrecv_jvp(primals, tangents, **parameters):
    sent, like = primals
    result = PRIMITIVES["sendrecv"].bind(sent, like, **parameters)
    return result, PRIMITIVES["sendrecv"].bind(ad.instantiate_zeros(tangents[0]), like, **parameters)


def _sendrecv_transpose(cotangents, sent, like, *, source, dest, **parameters):
    """What came goes back to where it came from, with the tags of the way there."""
    back = {"source": dest, "dest": source} | parameters
    (cotangent,) = PRIMITIVES["sendrecv"].bind(ad.instantiate_zeros(cotangents[0]), jnp.zeros(sent.aval.shape, sent.aval.dtype), **back)
    return [cotangent, None]


for _name, _jvp, _transpose in (("allreduce", _allreduce_jvp, _allreduce_transpose), ("sendrecv", _sendrecv_jvp, _sendrecv_transpose)):
    ad.primitive_jvps[PRIMITIVES[_name]] = _jvp
    ad.primitive_transposes[PRIMITIVES[_name]] = _transpose
