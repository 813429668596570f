"""The JAX primitives, one for each row of the table, and what they become in compiled code."""

import ctypes
import threading

import jax
import jax.extend.core
import numpy as np
from jax import lax
from jax.extend.mlir.dialects import stablehlo
from jax.interpreters import mlir

from .. import _library
from . import _communicators, _eager
from ._table import ROWS

_lowered = threading.local()

# What stands for the token: 4 bytes, a value like others, so that it keeps its order under every transformation.
TOKEN = jax.ShapeDtypeStruct((1,), np.float32)

# Parameters that are no attributes: place and these.
_ONLY_HERE = ("donate", "replicated")


def bind(row, *operands, place, **parameters):
    """[y, token] of an operation: traced where anything is traced, else done now."""
    _communicators.communicator(place)
    return PRIMITIVES[row.name].bind(*operands, place=place, **parameters)


def stays_here(parameters) -> bool:
    """Whether this is the transpose of a sum of what is the same everywhere: nothing is sent."""
    return parameters.get("replicated") == "back"


def _primitive(row):
    primitive = jax.extend.core.Primitive(f"mpi_{row.name}")
    primitive.multiple_results = True

    @primitive.def_impl
    def now(*operands, place, **parameters):
        return _eager.call(row, operands, place, parameters)

    @primitive.def_abstract_eval
    def shapes(*operands, place, **parameters):
        token = operands[row.operands - 1].update(shape=TOKEN.shape, dtype=TOKEN.dtype)
        if not row.gives:
            return [token]
        x = operands[0]
        return [x.update(shape=tuple(row.shape(x.shape, place, parameters)), dtype=x.dtype), token]

    # Not once for all equal ones: each has its place in the order.
    mlir.register_lowering(primitive, _lowering(row, primitive), cacheable=False)
    return primitive


def _lowering(row, primitive):
    def lower(context, *operands, place, **parameters):
        if stays_here(parameters):
            return operands[:2]
        if len(operands) > row.operands:
            return mlir.lower_fun(_after_both(row, primitive, place, parameters), multiple_results=True)(context, *operands)
        shape = context.avals_in[0].shape if row.takes or row.like else ()
        attributes = row.attributes(shape, place, parameters) | {
            "comm": np.int64(_communicators.number(place)),
            "size": np.int32(place.size),
            "wait": np.bool_(place.may_block),
        }
        if row.like:
            # What gives the shape is not sent along.
            kept = [*range(row.takes), row.operands - 1]
            context = context.replace(avals_in=[context.avals_in[i] for i in kept])
            operands = [operands[i] for i in kept]
        aliases = {0: 0} if parameters.get("donate") else None
        handler = jax.ffi.ffi_lowering(_target(row.name), operand_output_aliases=aliases)
        if place.free:
            return handler(context, *operands, **attributes)
        last = _last_tokens(context.module_context.module)
        here = mlir.ir.InsertionPoint.current.block, place.started
        *rest, token = operands
        if here in last:
            token = stablehlo.add(token, last[here])
        results = handler(context, *rest, token, **attributes)
        last[here] = results[-1]
        return results

    return lower


def _last_tokens(module) -> dict:
    """The token of the last operation in each block of the module that is being made.

    The next one comes after it, whatever its own chain. The program of a derivative has one chain for what is differentiated and
    one for the derivative: XLA may bring one forward on this rank and the other on that one, and then each waits for the other.
    """
    if getattr(_lowered, "module", None) is not module:
        _lowered.module, _lowered.last = module, {}
    return _lowered.last


def _after_both(row, primitive, place, parameters):
    """The operation with its token and that of `after` as one."""

    def function(*operands):
        *rest, token, after = operands
        return primitive.bind(*rest, lax.add(token, after), place=place, **parameters)

    return function


def _target(name: str) -> str:
    return f"reactant_mpi_{name}"


def _register() -> None:
    """Tell XLA of the handlers: for hosts all of them, for GPUs those that have a form for a stream."""
    _library.load()
    library = _library.state.loaded
    for name in ROWS:
        host = getattr(library, f"reactant_mpi_ffi_{name}")
        jax.ffi.register_ffi_target(_target(name), jax.ffi.pycapsule(host), platform="cpu")
        stream = getattr(library, f"reactant_mpi_ffi_{name}_stream", None)
        if isinstance(stream, ctypes._CFuncPtr):
            for platform in ("CUDA", "ROCM"):
                jax.ffi.register_ffi_target(_target(name), jax.ffi.pycapsule(stream), platform=platform)


PRIMITIVES = {row.name: _primitive(row) for row in ROWS.values()}

# Whether anything is traced: a primitive that is done at once only where nothing is.
_probe = jax.extend.core.Primitive("mpi_traced")
_probe.def_impl(lambda: None)
_probe.def_abstract_eval(lambda: jax.core.ShapedArray((), np.bool_))
mlir.register_lowering(_probe, mlir.lower_fun(lambda: np.bool_(True), multiple_results=False))


def traced(*operands) -> bool:
    """Whether this call is part of a program that is being traced; else its arguments are there, and it can be done now."""
    return any(isinstance(x, jax.core.Tracer) for x in operands) or _probe.bind() is not None


_register()
