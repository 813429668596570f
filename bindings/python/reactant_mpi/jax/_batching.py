"""vmap: one operation for the whole batch, which every rank must have, with one token."""

import jax.numpy as jnp
from jax.interpreters import batching

from ._primitives import PRIMITIVES, bind
from ._table import ROWS


def _batch(row):
    def rule(operands, axes, *, place, **parameters):
        arrays, tokens = row.arrays, slice(row.arrays, None)
        into, out = row.batch
        size = next(x.shape[axis] for x, axis in zip(operands, axes, strict=True) if axis is not None)
        moved = list(operands)
        if any(axis is not None for axis in axes[:arrays]):
            for i in range(arrays):
                moved[i] = _moved(operands[i], axes[i], into, size)
        else:
            out = None
        # The tokens of a batch are one.
        moved[tokens] = [t if axis is None else jnp.sum(t, axis) for t, axis in zip(operands[tokens], axes[tokens], strict=True)]
        results = bind(row, *moved, place=place, **parameters)
        return results, [out, None] if row.gives else [None]

    return rule


def _moved(x, axis, into, size):
    """x with its batch at this axis."""
    if axis is None:
        return jnp.broadcast_to(jnp.expand_dims(x, into), (*x.shape[:into], size, *x.shape[into:]))
    return jnp.moveaxis(x, axis, into)


for _name, _primitive in PRIMITIVES.items():
    batching.primitive_batchers[_primitive] = _batch(ROWS[_name])
