"""For the scripts in this folder: the ranks, their data, and checks. Import it first."""

import faulthandler
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python" / "ranks"))

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import reactant_mpi
import reactant_mpi.jax as mpi
from checks import check, done, same

# A hang shows where it is.
faulthandler.dump_traceback_later(int(os.environ.get("HANG", 550)), exit=True)
jax.config.update("jax_enable_x64", True)
comm = reactant_mpi.initialize()
rank, size = comm.rank, comm.size

__all__ = ["check", "close", "comm", "data", "done", "jax", "jnp", "ml_dtypes", "mpi", "np", "raises", "rank", "same", "size"]


def data(shape, dtype=np.float64, seed=0):
    """What each rank gives, known to all: small whole numbers, so that sums are exact in every type; [rank, *shape]."""
    dtype = np.dtype(dtype)
    numbers = np.random.default_rng([seed, *shape]).integers(0, 3, (size, *shape))
    if dtype.kind == "c":
        return (numbers + 1j * np.flip(numbers, 0)).astype(dtype)
    return numbers.astype(dtype)


def close(got, wanted, what, relative=1e-9):
    """Equal but for rounding."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    right = got.shape == wanted.shape and np.allclose(
        got, wanted, rtol=relative, atol=relative * (1 + np.abs(wanted).max(initial=0))
    )
    check(right, f"{what}: got {got!r}, wanted {wanted!r}")


def raises(kind, words, call, *arguments, **named):
    """The call must raise this, with these words in its text."""
    try:
        call(*arguments, **named)
    except kind as error:
        for word in [words] if isinstance(words, str) else words:
            check(word in str(error), f"{word!r} is not in: {error}")
        return
    check(False, f"no error with {words!r}")
