"""Ways to fail and to end, by name. Rank `who` does it; the others are in a psum that it never joins."""

import os
import signal
import sys
import time

import reactant_mpi.jax

how, who = sys.argv[1], int(sys.argv[2])
options = {}
if how in ("late", "killed", "exits 3"):
    options = {"call_timeout_ms": 3000, "shutdown_timeout_seconds": 3 if how == "exits 3" else 10}
comm = reactant_mpi.jax.initialize(**options)

import jax  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

mesh = Mesh(np.array(jax.devices()), "i")
psum = jax.jit(jax.shard_map(lambda x: jax.lax.psum(x, "i"), mesh=mesh, in_specs=P("i"), out_specs=P("i")))
ones = np.ones(jax.device_count(), np.float32)
x = jax.make_array_from_callback(ones.shape, NamedSharding(mesh, P("i")), lambda index: ones[index])


def say(text):
    print(f"{text}\n", end="", flush=True)


def fails(words):
    """The next psum raises, with these words."""
    begin = time.monotonic()
    try:
        jax.block_until_ready(psum(x))
    except (jax.errors.JaxRuntimeError, ValueError) as error:  # the second where JAX runs it in the call
        missing = [word for word in words if word not in str(error)]
        assert not missing, f"{missing} not in: {error}"
        say(f"raised: {error}")
        assert time.monotonic() - begin < 60
    else:
        raise AssertionError("psum did not fail")


psum(x).block_until_ready()
comm.barrier()
if how == "in flight":  # results that nobody waits for
    for _ in range(20):
        psum(x)
    kept = [psum(x) for _ in range(20)]
    say("end")
elif how == "finalize":
    kept = psum(x)
    reactant_mpi.jax.finalize()
    assert np.asarray(kept.addressable_shards[0].data) == [comm.size]
    fails([])
    say("end")
elif how == "shutdown":
    jax.distributed.shutdown()
    jax.distributed.shutdown()
    psum(x).block_until_ready()
    say("end")
elif how == "MPI finalized":
    psum(x).block_until_ready()
    reactant_mpi.finalize()
    say("end")
elif how == "all exit 3":
    sys.exit(3)
elif how == "all raise":
    raise ValueError("a fault of all ranks")
elif comm.rank == who:
    if how == "raises":
        raise ValueError("a fault of one rank")
    if how == "interrupted":
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "late":
        time.sleep(6)
        psum(x).block_until_ready()  # the other's part has come in time
        fails(["rank"])
        say("end")
    if how == "exits 3":
        sys.exit(3)
else:
    if how == "late":
        fails([f"rank {who}", "3000 ms"])
        fails(["no more calls"])
        say("end")
    elif how == "killed":
        fails([f"rank {who}", "ended"])
        say("end")
    else:
        jax.block_until_ready(psum(x))
        say("psum without the other rank")
