"""For the scripts mpi4jax_*.py: mpi4jax, or what stands for it, by its name on the command line; what was checked."""

import importlib
import sys

import jax
import numpy as np

mpi4jax = importlib.import_module(sys.argv[1])  # before MPI, which it initialises

from mpi4py import MPI  # noqa: E402

COMM = MPI.COMM_WORLD
RANK, SIZE = COMM.rank, COMM.size
OURS = sys.argv[1] != "mpi4jax"

_count = 0


def data(shape=(3, 2), dtype="float32", salt=0):
    """What every rank gives: (SIZE, *shape), small whole numbers, known to all."""
    return np.random.default_rng([SIZE, salt]).integers(0, 5, (SIZE, *shape)).astype(dtype)


def check(right, what) -> None:
    global _count
    _count += 1
    if not right:
        raise AssertionError(f"rank {RANK}: {what}")


def same(got, wanted, what) -> None:
    """Equal in value, shape and dtype."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    right = got.dtype == wanted.dtype and got.shape == wanted.shape and bool(np.all(got == wanted))
    check(right, f"{what}: got {got!r}, wanted {wanted!r}")


def twice(cases) -> None:
    """(function, x, what it must give, words) each: outside of jit, and all in one jit."""
    functions, inputs, wanted, words = zip(*cases, strict=True)
    for function, x, right, what in cases:
        same(function(x), right, what)
    results = jax.jit(lambda inputs: [f(x) for f, x in zip(functions, inputs, strict=True)])(inputs)
    for got, right, what in zip(results, wanted, words, strict=True):
        same(got, right, f"{what} in jit")


def raises(kinds, texts, function, what) -> None:
    try:
        function()
    except kinds as error:
        for text in [texts] if isinstance(texts, str) else texts:
            check(text in str(error), f"{what}: {text!r} is not in: {error}")
    else:
        check(False, f"{what}: no error")


def done() -> None:
    print(f"ok {_count} checks\n", end="", flush=True)
