"""Real libraries that are installed for tests, as shell assignments: tests/real.py, in the virtual environment."""

import pathlib
import shlex
import sysconfig

SITE = pathlib.Path(sysconfig.get_path("purelib"))
FOUND = {
    "REACTANT_MPI_TEST_PJRT_PLUGINS": [
        "lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so",
        "fastatomstruct_xla_cpu/libpjrt_cpu.so",
        "jax_plugins/xla_cuda13/xla_cuda_plugin.so",
        "jax_plugins/xla_rocm7/xla_rocm_plugin.so",
    ],
    "REACTANT_MPI_TEST_NCCL": ["nvidia/nccl/lib/libnccl.so.2"],
}

for variable, files in FOUND.items():
    there = [str(SITE / name) for name in files if (SITE / name).exists()]
    if there:
        print(f"export {variable}={shlex.quote(':'.join(there))}")
