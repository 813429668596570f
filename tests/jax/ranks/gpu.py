"""On doubles of the GPU libraries: each rank has one GPU, and JAX is told to see that one alone. JAX itself runs on CPUs."""

import reactant_mpi.jax
from reactant_mpi.jax import _devices

comm = reactant_mpi.jax.initialize(gpu="required")

import jax  # noqa: E402

devices = comm.allgather(comm.device)
assert sorted(devices) == list(range(comm.size)), devices
assert jax.config.values["jax_cuda_visible_devices"] == str(comm.device), jax.config.values["jax_cuda_visible_devices"]
assert jax.config.values["jax_rocm_visible_devices"] == str(comm.device)
assert jax.device_count() == comm.size

# Where initialize() looks for a GPU at all: platforms that JAX is to use, plug-ins that it has.
for platforms, plugins, wanted in (
    (None, [], False),
    ("", ["xla_cuda13"], True),
    ("cpu", ["xla_cuda13"], False),
    ("cuda,cpu", ["jax_plugins.xla_cuda12"], True),
    ("cuda", [], False),
    ("rocm", ["xla_cuda13"], False),
    ("gpu", ["xla_rocm7"], True),
    (None, ["reactant_mpi", "some_other_accelerator"], False),
):
    assert _devices._has_gpus(platforms, plugins) is wanted, (platforms, plugins)
print("ok 12 checks\n", end="", flush=True)
