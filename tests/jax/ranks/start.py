"""Ways to start, by name; then one psum over all devices, and the end of the program."""

import os
import sys

import numpy as np

how = sys.argv[1]
checked = 0


def check(right, what="") -> None:
    global checked
    checked += 1
    if not right:
        raise AssertionError(what)


def refuses(words, call, *arguments, **named) -> None:
    try:
        call(*arguments, **named)
    except RuntimeError as error:
        for word in words:
            check(word in str(error), f"{word!r} is not in: {error}")
    else:
        check(False, f"no error that speaks of {words}")


def total() -> None:
    """psum of 1, 2, ... over the devices of all ranks."""
    import jax
    import jax.numpy as jnp
    from jax.sharding import Mesh, NamedSharding
    from jax.sharding import PartitionSpec as P

    mesh = Mesh(np.array(jax.devices()), "i")
    numbers = np.arange(1.0, jax.device_count() + 1, dtype=np.float32)
    x = jax.make_array_from_callback(numbers.shape, NamedSharding(mesh, P("i")), lambda index: numbers[index])
    psum = jax.jit(jax.shard_map(lambda x: jax.lax.psum(x, "i"), mesh=mesh, in_specs=P("i"), out_specs=P()))
    check(psum(x).tolist() == [numbers.sum()], psum(x))
    check(jnp.sum(x) == numbers.sum())


def main() -> None:
    if how == "auto":
        import reactant_mpi.jax.auto  # noqa: F401

        import jax

        check(jax.process_count() == int(sys.argv[2]), jax.process_count())
    elif how == "import is passive":
        import reactant_mpi.jax

        check("jax" not in sys.modules and "jaxlib" not in sys.modules)
        check(os.environ["MPITRAMPOLINE_LIB"].endswith("/libreactant_mpi_wrapper.so"))
        check({"initialize", "finalize", "SUM"} <= set(dir(reactant_mpi.jax)))
        refuses_name = False
        try:
            reactant_mpi.jax.nothing_of_the_kind  # noqa: B018
        except AttributeError as error:
            refuses_name = "nothing_of_the_kind" in str(error)
        check(refuses_name)
        reactant_mpi.jax.initialize()
    elif how == "twice":
        import reactant_mpi.jax

        comm = reactant_mpi.jax.initialize(call_timeout_ms=60000)
        check(reactant_mpi.jax.initialize() is comm)
        check(reactant_mpi.jax.initialize(call_timeout_ms=60000) is comm)
        refuses(["once a process", "call_timeout_ms"], reactant_mpi.jax.initialize, call_timeout_ms=50000)
        refuses(["once a process", "devices"], reactant_mpi.jax.initialize, devices=2, call_timeout_ms=60000)
        total()
        reactant_mpi.jax.finalize()
        reactant_mpi.jax.finalize()
        refuses(["finalize() has been called"], reactant_mpi.jax.initialize)
        return
    elif how == "jax first":  # MPITRAMPOLINE_LIB is not there in time
        import jax

        import reactant_mpi.jax

        words = ["import reactant_mpi.jax` before", "python -m reactant_mpi run", "cpu_collectives='gloo'"]
        refuses(words, reactant_mpi.jax.initialize)
        check(not jax.distributed.is_initialized())
        reactant_mpi.jax.initialize(cpu_collectives="gloo")
    elif how == "jax first on one rank":
        if "0" in (os.environ.get("PMI_RANK"), os.environ.get("OMPI_COMM_WORLD_RANK")):
            import jax

        import reactant_mpi.jax

        words = ["python -m reactant_mpi run"] if "jax" in sys.modules else ["rank 0, which says why"]
        refuses(words, reactant_mpi.jax.initialize)
        return
    elif how == "jax first, MPITRAMPOLINE_LIB set":
        import jax

        import reactant_mpi.jax

        reactant_mpi.jax.initialize()
    elif how == "another wrapper":
        import reactant_mpi.jax

        refuses([f"MPITRAMPOLINE_LIB={os.environ['MPITRAMPOLINE_LIB']}", "Unset it"], reactant_mpi.jax.initialize)
        reactant_mpi.jax.initialize(cpu_collectives="gloo")
    elif how == "used before":
        import jax

        import reactant_mpi.jax

        jax.devices()
        refuses(["before jax.devices()"], reactant_mpi.jax.initialize)
        return
    elif how == "distributed before":
        import reactant_mpi.jax

        import jax

        jax.distributed.initialize(f"127.0.0.1:{sys.argv[2]}", 1, 0)
        refuses(["leave that call out"], reactant_mpi.jax.initialize)
        return
    elif how == "mpi4py first":
        from mpi4py import MPI

        import reactant_mpi.jax

        comm = reactant_mpi.jax.initialize()
        check(comm.size == MPI.COMM_WORLD.size)
    elif how == "mpi4py communicator":  # reversed ranks
        from mpi4py import MPI

        import reactant_mpi.jax

        world = MPI.COMM_WORLD
        comm = reactant_mpi.jax.initialize(world.Split(0, -world.rank))
        check(comm.rank == world.size - 1 - world.rank)
        import jax

        check(jax.process_index() == comm.rank)
    elif how == "two halves":  # each with a JAX of its own
        import reactant_mpi
        import reactant_mpi.jax

        world = reactant_mpi.initialize()
        half = world.split(world.rank % 2)
        check(reactant_mpi.jax.initialize(half) is half)
        refuses_options = False
        try:
            reactant_mpi.jax.initialize(half, timeout_ms=10)
        except RuntimeError as error:
            refuses_options = "timeout_ms" in str(error)
        check(refuses_options)
        import jax

        check(jax.process_count() == half.size == world.size // 2)
    elif how == "devices later":
        import reactant_mpi.jax

        reactant_mpi.jax.initialize()
        import jax

        jax.config.update("jax_num_cpu_devices", 2)
        check(jax.device_count() == 2 * jax.process_count())
    elif how == "alone":
        import reactant_mpi.jax

        comm = reactant_mpi.jax.initialize()
        check(comm.size == 1)
        import jax

        jax.distributed.initialize()
        check(jax.process_count() == 1 and not jax.distributed.is_initialized())
    elif how == "a communicator that is busy":
        import reactant_mpi.jax

        comm = reactant_mpi.jax.initialize()
        for k in range(3):
            total()
            check(comm.allreduce(k) == k * comm.size)
    else:
        raise SystemExit(f"no way {how!r}")
    total()


main()
print(f"ok {checked} checks\n", end="", flush=True)
