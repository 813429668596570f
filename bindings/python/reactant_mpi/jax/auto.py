"""One line for a program that is to use all ranks of its launcher: `import reactant_mpi.jax.auto`, before the first import of jax.

It calls initialize() at once. Without a launcher, and if nobody has initialised MPI, it does nothing: the same program runs alone.
"""

from . import _launcher

if _launcher.started():
    from ._distributed import initialize

    initialize()
