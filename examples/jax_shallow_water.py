"""Waves in a square basin: every process has some rows of it, and trades the rows at its edges with its neighbours inside jit.

    mpiexec -n 2 python examples/jax_shallow_water.py [PICTURE.png]

The linear shallow-water equations, a drop off the centre at the start, walls around. The result is compared with the same steps
in NumPy on the whole basin.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import reactant_mpi
import reactant_mpi.jax as rmpi
from picture import colours, write_png

N, STEPS, PICTURES = 192, 600, 4  # cells in each direction; steps; pictures of them
COURANT = 0.5  # sqrt(gravity * depth) * time step / cell


def drop():
    """The height of the water at the start; row 0 is the south wall."""
    y, x = np.meshgrid(np.arange(N), np.arange(N), indexing="ij")
    return np.exp(-((x - 0.35 * N) ** 2 + (y - 0.4 * N) ** 2) / (0.04 * N) ** 2).astype(np.float32)


def solver(rank, size):
    """(height, east, north, token) -> the same after STEPS // PICTURES steps, for the rows of this rank.

    east and north are the speeds at the eastern and the northern edge of each cell.
    """
    south, north_of = rank - 1 if rank else rmpi.PROC_NULL, rank + 1 if rank < size - 1 else rmpi.PROC_NULL

    def step(_, state):
        height, east, north, token = state
        # The row above mine: the first of the rank in the north. At the wall there is none, and nothing flows.
        above, token = rmpi.sendrecv(height[0], height[0], source=north_of, dest=south, token=token)
        above = above if rank < size - 1 else height[-1]
        east = east.at[:, :-1].add(-COURANT * (height[:, 1:] - height[:, :-1]))
        north = north + -COURANT * (jnp.concatenate([height[1:], above[None]]) - height)
        # What flows over my southern edge: the last row of the rank in the south.
        below, token = rmpi.sendrecv(north[-1], north[-1], source=south, dest=north_of, token=token)
        below = below if rank else jnp.zeros_like(below)
        from_west = jnp.pad(east[:, :-1], ((0, 0), (1, 0)))
        from_south = jnp.concatenate([below[None], north[:-1]])
        height = height + -COURANT * (east - from_west + north - from_south)
        return height, east, north, token

    return jax.jit(lambda *state: jax.lax.fori_loop(0, STEPS // PICTURES, step, state))


def solved_in_numpy():
    """The heights of the whole basin in double precision, at the times of the pictures."""
    height, east, north = drop().astype(np.float64), np.zeros((N, N + 1)), np.zeros((N + 1, N))
    for step in range(STEPS):
        if step % (STEPS // PICTURES) == 0 and step:
            yield height.copy()
        east[:, 1:-1] -= COURANT * (height[:, 1:] - height[:, :-1])
        north[1:-1] -= COURANT * (height[1:] - height[:-1])
        height -= COURANT * (east[:, 1:] - east[:, :-1] + north[1:] - north[:-1])
    yield height


def main():
    comm = reactant_mpi.initialize()
    rank, size = comm.rank, comm.size
    if N % size:
        sys.exit(f"{N} rows cannot be shared among {size} ranks")
    height = jnp.asarray(drop()[N * rank // size : N * (rank + 1) // size])
    advance, token = solver(rank, size), rmpi.token()
    state, heights = (height, jnp.zeros_like(height), jnp.zeros_like(height)), []
    for _ in range(PICTURES):
        *state, token = advance(*state, token)
        parts, token = rmpi.gather(state[0], root=0, token=token)  # (size, rows, N) at rank 0
        heights.append(np.asarray(parts).reshape(-1, N))
    right = True
    if rank == 0:
        worst = max(np.abs(got - want).max() for got, want in zip(heights, solved_in_numpy(), strict=True))
        right = worst < 1e-4 and abs(heights[-1]).max() > 0.05
        print(f"{size} ranks, {STEPS} steps: heights differ from those of NumPy on the whole basin by {worst:.1e}", flush=True)
        if len(sys.argv) > 1:
            write_png(sys.argv[1], np.concatenate([colours(h[::-1], 0.3) for h in heights], axis=1))
    return 0 if right else "the result is wrong"


if __name__ == "__main__":
    sys.exit(main())
