"""send, recv and sendrecv of mpi4jax: order in every kind of program, wildcards, statuses, nobody, communicators of one's own."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from with_mpi4jax import COMM, MPI, RANK, SIZE, check, data, done, mpi4jax, same

AFTER, BEFORE = (RANK + 1) % SIZE, (RANK - 1) % SIZE
PARTNER = RANK ^ 1  # of an even number of ranks


def busy(x, n):
    """Work that takes the longer the larger n is, and gives 0."""
    matrix = jnp.full((64, 64), x[0] * 1e-3)
    for _ in range(n):
        matrix = jnp.tanh(matrix @ matrix)
    return 0 * matrix[0, 0]


@jax.jit
def first_one_then_the_other(x):
    """Ends only in the order of the program: the first rank sends first, its partner receives first."""
    if RANK % 2 == 0:
        mpi4jax.send(x + busy(x, 12), PARTNER)
        return mpi4jax.recv(x, PARTNER)
    got = mpi4jax.recv(x, PARTNER)
    mpi4jax.send(x, PARTNER)
    return got


# Far more than any MPI sends before it is received.
x = data((300_000,))
same(first_one_then_the_other(jnp.asarray(x[RANK])), x[PARTNER], "first one, then the other")


@jax.jit
def many(x):
    """Messages with one tag and work of different length between them: their order is their only name."""
    got = []
    for k in range(8):
        send = x + k + busy(x, (8 - k) * 3)
        if RANK % 2 == 0:
            mpi4jax.send(send, PARTNER, tag=1)
        else:
            got.append(mpi4jax.recv(x, PARTNER, tag=1))
    return jnp.stack(got) if got else x


x = data((2,), salt=1)
wanted = np.stack([x[PARTNER] + k for k in range(8)]) if RANK % 2 else x[RANK]
for _ in range(3):
    same(many(jnp.asarray(x[RANK])), wanted.astype("float32"), "one tag")


def ring(k, x):
    return mpi4jax.sendrecv(x + k, x, BEFORE, AFTER) if SIZE > 1 else x + k


def shifted(steps):
    """What `ring` makes of x in so many steps, in NumPy."""
    now = x.copy()
    for k in range(steps):
        now = np.roll(now + np.float32(k), 1, axis=0)
    return now[RANK]


mine = jnp.asarray(x[RANK])
same(jax.jit(lambda x: lax.fori_loop(0, 5, ring, x))(mine), shifted(5), "fori_loop")
same(jax.jit(lambda x: lax.scan(lambda x, k: (ring(k, x), k), x, jnp.arange(5.0))[0])(mine), shifted(5), "scan")
looped = jax.jit(lambda x: lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, ring(s[0], s[1])), (0.0, x))[1])
same(looped(mine), shifted(5), "while")
same(jax.jit(lambda go, x: lax.cond(go, lambda x: ring(0, x), lambda x: x, x))(True, mine), shifted(1), "cond")


@jax.jit
def step(x, k):
    return ring(k, x) + busy(x, 5)


now = mine
for k in range(20):  # one after another without waiting
    now = step(now, float(k))
same(now, shifted(20), "jit after jit")

# Wildcards, and what came from where.
for wrapped in (lambda f: f, jax.jit):
    for _ in range(2):
        if RANK == 0:
            seen = {}
            for _ in range(1, SIZE):
                status = MPI.Status()
                got = wrapped(lambda x, s=status: mpi4jax.recv(x, status=s))(jnp.zeros(2))
                got.block_until_ready()
                seen[status.Get_source()] = np.asarray(got), status.Get_tag(), status.Get_count(MPI.FLOAT)
            for source in range(1, SIZE):
                got, tag, count = seen[source]
                same(got, np.full(2, 7 * source, "float32"), f"from {source}")
                check((tag, count) == (40 + source, 2), f"status of the message from {source}: {tag}, {count}")
        else:
            wrapped(lambda x: mpi4jax.send(x, 0, tag=40 + RANK))(jnp.full(2, 7.0 * RANK))
        mpi4jax.barrier()

    status = MPI.Status()
    got = wrapped(lambda x, s=status: mpi4jax.sendrecv(x, x, BEFORE, AFTER, sendtag=RANK, status=s))(mine)
    same(got, x[BEFORE], "sendrecv with a status")
    check((status.Get_source(), status.Get_tag()) == (BEFORE, BEFORE), "the status of sendrecv")
    same(wrapped(lambda x: mpi4jax.sendrecv(x, x, BEFORE, AFTER, sendtag=5, recvtag=5, comm=COMM))(mine), x[BEFORE], "tags of both")
    wrapped(lambda x: mpi4jax.send(x, MPI.PROC_NULL) or x)(mine)
    nothing = wrapped(lambda x: mpi4jax.sendrecv(x, jnp.zeros((3, 4)), MPI.PROC_NULL, MPI.PROC_NULL))(mine)
    check(nothing.shape == (3, 4), "from nobody, to nobody")

# A message to oneself, and of another shape than what is sent.
same(jax.jit(lambda x: mpi4jax.sendrecv(x, jnp.zeros((2, 1)), RANK, RANK))(mine), x[RANK].reshape(2, 1), "to oneself")

# Each communicator has its own messages: what goes by the one is not received by the other.
if SIZE > 1 and RANK < 2:
    duplicate = COMM.Create_group(COMM.group.Incl([0, 1]))
    if RANK == 0:
        for k, comm in enumerate((None, COMM, duplicate)):
            mpi4jax.send(jnp.full(2, float(k)), 1, comm=comm)
    else:
        for k, comm in reversed(list(enumerate((None, COMM, duplicate)))):
            same(mpi4jax.recv(jnp.zeros(2), 0, comm=comm), np.full(2, k, "float32"), f"communicator {k}")
    duplicate.Free()

# A communicator after another, whose handle may be the same.
for colour in (RANK % 2, RANK // 2):
    part = COMM.Split(colour, -RANK)
    same(mpi4jax.allgather(RANK, comm=part), np.array(part.allgather(RANK), "int32"), "a part")
    part.Free()
done()
