"""Dot product and mean of two vectors of which each rank holds a slice.

    tests/launch -n 2 --mpi mpich -- python examples/allreduce.py
"""

import sys

import numpy as np
import reactant_mpi

N = 1_000_000  # length of the whole vectors x = 0, 1, 2, ... and y = 1, 1/2, 1/2, 1/2, ...


def main():
    with reactant_mpi.initialize() as comm:
        # This rank's slice: nobody ever holds the whole.
        begin, end = N * comm.rank // comm.size, N * (comm.rank + 1) // comm.size
        x = np.arange(begin, end, dtype=np.float64)
        y = np.where(x == 0, 1.0, 0.5)

        dot, total = comm.allreduce([x @ y, x.sum()])
        mean = total / N
        longest = comm.allreduce(end - begin, "max")

        mpi = comm.describe()["mpi"]
        print(
            f"rank {comm.rank} of {comm.size}: dot product {dot:.1f}, mean {mean:.1f}, longest slice {longest}\n"
            f"  {reactant_mpi.library_path()} on {mpi['path']} ({mpi['abi']})\n",
            end="",
            flush=True,
        )
        # 0 + 1 + ... + N-1 = N (N-1) / 2, every sum a whole or half number that a float64 holds exactly.
        right = dot == N * (N - 1) / 4 and mean == (N - 1) / 2 and longest == -(-N // comm.size)
    return 0 if right else "the result is wrong"


if __name__ == "__main__":
    sys.exit(main())
