"""What mpi4jax refuses, with the same kinds of errors."""

import jax
import jax.numpy as jnp
import numpy as np
from with_mpi4jax import COMM, MPI, OURS, RANK, SIZE, check, done, mpi4jax, raises, same

x = jnp.ones(3)
raises(TypeError, ["allreduce", "op"], lambda: mpi4jax.allreduce(x, "sum"), "op is a string")
raises(TypeError, ["bcast", "root"], lambda: mpi4jax.bcast(x, 1.0), "root is a float")
raises(TypeError, ["bcast", "root"], lambda: mpi4jax.bcast(x, True), "root is a bool")
raises(TypeError, ["send", "comm"], lambda: mpi4jax.send(x, 0, comm=3), "comm is a number")
raises(TypeError, ["recv", "status"], lambda: mpi4jax.recv(x, 0, status=3), "status is a number")
raises(TypeError, ["recv", "tag"], lambda: mpi4jax.recv(x, 0, tag="a"), "tag is a string")
raises(TypeError, "static_argnums", lambda: jax.jit(lambda x, r: mpi4jax.bcast(x, r))(x, 0), "root is traced")
raises(TypeError, "", lambda: mpi4jax.bcast(x), "no root")
raises(RuntimeError, "token", lambda: mpi4jax.allreduce(x, MPI.SUM, token=x), "a token")
raises(ValueError, "shape (nproc, ...)", lambda: mpi4jax.alltoall(jnp.ones((SIZE + 1, 2))), "too many rows")
if RANK == 0:
    raises(ValueError, "shape (nproc, ...)", lambda: mpi4jax.scatter(jnp.ones((SIZE + 1, 2)), 0), "too many rows")
same(mpi4jax.bcast(x, np.int64(0)), np.ones(3, "float32"), "root is an integer of NumPy")

if OURS:
    from reactant_mpi import ReactantMPIError

    # Where mpi4jax ends the job, there is an error, and the job goes on.
    raises(ReactantMPIError, ["dest 100", f"{SIZE} ranks"], lambda: mpi4jax.send(x, 100), "no such rank")
    raises(ReactantMPIError, "bool", lambda: mpi4jax.allreduce(x > 0, MPI.SUM), "a sum of truth")
    own = MPI.Op.Create(lambda a, b, t: None)
    raises(NotImplementedError, "SUM", lambda: mpi4jax.allreduce(x, own), "an operation of one's own")
    own.Free()
check(COMM.allreduce(1) == SIZE, "mpi4py goes on")
done()
