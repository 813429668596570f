"""A program that the next run finds in JAX's cache: cached.py FOLDER. Writes there how often it was found, and how often not."""

import sys

from program import close, comm, done, jax, jnp, mpi, rank, same, size

jax.config.update("jax_compilation_cache_dir", f"{sys.argv[1]}/{rank}")
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)

found = {"/jax/compilation_cache/cache_hits": 0, "/jax/compilation_cache/cache_misses": 0}


def count(event, **_):
    if event in found:
        found[event] += 1


other = comm.split(0, -rank)
x, token = jnp.arange(3.0) + rank, mpi.token()


def loss(x, token):
    y, token = mpi.allreduce(jnp.sin(x), token=token)
    y, token = mpi.scan(y * x, comm=other, token=token)
    return jnp.sum(y), token


program = jax.jit(jax.value_and_grad(lambda x, t: loss(x, t)[0]))
jax.monitoring.register_event_listener(count)
value, gradient = program(x, token)
hits, misses = found.values()
total = sum(jnp.sin(jnp.arange(3.0) + r) for r in range(size))
close(value, sum(jnp.sum(total * (jnp.arange(3.0) + r)) for r in range(rank, size)), "value")
same(gradient.shape, (3,), "gradient")
comm.barrier()
with open(f"{sys.argv[1]}/found-{rank}", "w") as file:
    file.write(f"{hits} {misses}")
done()
