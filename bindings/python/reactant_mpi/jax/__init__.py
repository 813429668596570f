"""JAX over whatever MPI is found at run time: its own collectives, unchanged, and operations inside jit.

    import reactant_mpi.jax              # before the first import of jax
    reactant_mpi.jax.initialize()

    import jax, jax.numpy as jnp
    from jax.sharding import Mesh, PartitionSpec as P
    mesh = Mesh(jax.devices(), "i")      # the devices of all ranks
    total = jax.jit(jax.shard_map(lambda x: jax.lax.psum(x, "i"), mesh=mesh, in_specs=P("i"), out_specs=P()))
    print(total(jnp.arange(float(len(jax.devices())))))

Start it with `mpiexec -n 2 python script.py`. `import reactant_mpi.jax.auto` is both lines in one, for scripts that also run without
a launcher; `python -m reactant_mpi run script.py` is none, for scripts that cannot be changed.

Importing this does not import jax: it only prepares the environment, since jaxlib takes its MPI once, when it is loaded. The other
names are loaded at first use, and work in any order of imports.
"""

import importlib

from .. import (
    ANY_SOURCE,
    ANY_TAG,
    AVG,
    BAND,
    BOR,
    BXOR,
    LAND,
    LOR,
    LXOR,
    MAX,
    MIN,
    PROC_NULL,
    PROD,
    SUM,
)
from . import _start
from ._names import NAMES

# Name: the module of this package that has it.
_PLACES = dict.fromkeys(("initialize", "finalize"), "_distributed") | NAMES

__all__ = [
    "ANY_SOURCE",
    "ANY_TAG",
    "AVG",
    "BAND",
    "BOR",
    "BXOR",
    "LAND",
    "LOR",
    "LXOR",
    "MAX",
    "MIN",
    "PROC_NULL",
    "PROD",
    "SUM",
]
__all__ += list(_PLACES)

_start.prepare()


def __getattr__(name: str):
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f".{_PLACES[name]}", __name__), name)
    return value


def __dir__():
    return sorted({*globals(), *__all__})
