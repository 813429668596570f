"""The real pass of Enzyme-JAX and jaxlib's XLA: MLIR with enzymexla.mpi operations goes in, compiled code comes out."""

import ctypes
import functools
import mmap
import os
import re
import struct
from pathlib import Path

import jax
import numpy as np
from enzyme_ad.jax import enzyme_call
from jax._src import compiler
from jax._src.interpreters import mlir
from jax._src.lib.mlir import ir
from jaxlib import _jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_enable_x64", True)
# What has run is done, also where it gives no result to wait for.
jax.config.update("jax_cpu_enable_async_dispatch", False)

AFTER = "test_after"
_targets = ctypes.CDLL(os.environ["ENZYMEXLA_TARGETS"])
for name in ("enzymexla_compile_cpu", AFTER):
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(_targets[name]), platform="cpu", api_version=0)


@functools.cache
def map_symbol() -> int:
    """Address of EnzymeJaXMapSymbol in the wheel's library. It is hidden: found by its distance from an exported function."""
    exported = "PyInit_enzyme_call"
    here = ctypes.cast(ctypes.CDLL(enzyme_call.__file__)[exported], ctypes.c_void_p).value
    value = _symbols(enzyme_call.__file__, "EnzymeJaXMapSymbol", exported)
    return here - value[exported] + value["EnzymeJaXMapSymbol"]


def _symbols(path, *names):
    """Values of these names in the symbol table of a 64-bit ELF file."""
    with Path(path).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as elf:
        (start,) = struct.unpack_from("<Q", elf, 0x28)
        size, count = struct.unpack_from("<HH", elf, 0x3A)
        # name, type, flags, address, offset, size, link, info, alignment, size of an entry
        sections = [struct.unpack_from("<IIQQQQIIQQ", elf, start + size * i) for i in range(count)]
        table = next(s for s in sections if s[1] == 2)
        strings = sections[table[6]]
        entry = np.dtype([("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")])
        symbols = np.frombuffer(elf[table[4] : table[4] + table[5]], entry)
        found = {}
        for name in names:
            place = elf.find(b"\0" + name.encode() + b"\0", strings[4], strings[4] + strings[5]) + 1 - strings[4]
            found[name] = int(symbols["value"][symbols["name"] == place][0])
        return found


def map_by_pass(symbols) -> None:
    """Map name -> value by the pass that Enzyme-JAX has for it."""
    listed = ",".join(f"{name}=0x{value:x}" for name, value in symbols.items())
    enzyme_call.run_pass_pipeline(["main"], "module { func.func @main() { return } }", f"map-symbol{{symbols={listed}}}")


def lower(module, mpi="backend=cpu", jit="backend=cpu") -> str:
    """The module with calls of machine code in the place of its enzymexla operations; @main is still its entry."""
    passes = f"lower-enzymexla-mpi{{{mpi}}},lower-jit{{{jit}}},symbol-dce,strip-debuginfo"
    entry, text = enzyme_call.run_pass_pipeline(["main"], module, passes)
    # This LLVM prints places that jaxlib's does not take, and leaves declarations of what is in machine code now.
    text = re.sub(r" ?loc\((#loc|unknown)\)", "", text)
    lines = [line for line in text.splitlines() if not line.startswith("#loc") and not line.lstrip().startswith("llvm.")]
    text = re.sub(rf"@{entry}\b", "@main", "\n".join(lines))
    return text.replace("func.func private @main", "func.func public @main").replace("module {", "module @main {", 1)


def only_lowered(module, mpi) -> str:
    """The module after lower-enzymexla-mpi alone, to look at."""
    return enzyme_call.run_pass_pipeline(["main"], module, f"lower-enzymexla-mpi{{{mpi}}}")[1]


def compile(lowered):
    """What XLA makes of it for the CPU: a function of arrays that gives a list of arrays."""
    backend = jax.devices("cpu")[0].client
    options = compiler.get_compile_options(num_replicas=1, num_partitions=1)
    devices = _jax.DeviceList(tuple(backend.local_devices()[:1]))
    with mlir.make_ir_context():
        executable = compiler.backend_compile_and_load(backend, ir.Module.parse(lowered), devices, options, [])
    return lambda arrays: [np.asarray(out) for out in executable.execute([jax.device_put(array) for array in arrays])]
