"""The lowering for CUDA without a GPU: its machine code is called as XLA would, over doubles of the driver and of NCCL.

device.py TRACE: the file in which the double of NCCL writes what arrives there.
"""

import ctypes
import os
import re
import struct
import sys
from pathlib import Path

import numpy as np
import reactant_mpi
from checks import check, done, fails, same
from drop_ins import mended, no_error, register
from lowering import lower
from program import Program
from types_and_operations import ARITHMETIC, INTEGERS_OF_C, ORDER, TYPES, data, reduced

ERR_COMM, ERR_COUNT = 2, 5
cuda = ctypes.CDLL("libcuda.so.1")
# NCCL's own numbers: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/api/types.html
NCCL_TYPES = {"INT32_T": 2, "UINT32_T": 3, "INT64_T": 4, "UINT64_T": 5, "FLOAT": 7, "DOUBLE": 8}
NCCL_TYPES_OF_C = {"INT": 2, "UNSIGNED": 3, "LONG_LONG_INT": 4, "UNSIGNED_LONG_LONG": 5}
NCCL_OPERATIONS = {"SUM": 0, "PROD": 1, "MAX": 2, "MIN": 3}
CALL = re.compile(r'@enzymexla_compile_gpu\(([^)]*)\).*?attr = "((?:[^"\\]|\\.)*)"')
ADDRESS = ctypes.c_void_p


def cu(function, *arguments):
    code = cuda[function](*arguments)
    check(code == 0, f"{function}: CUDA error {code}")


def on_device(array):
    """Its address there."""
    pointer = ctypes.c_uint64()
    cu("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(array.nbytes))
    cu("cuMemcpyHtoD_v2", pointer, ADDRESS(array.ctypes.data), ctypes.c_size_t(array.nbytes))
    return pointer.value


def from_device(pointer, like):
    out = np.empty_like(like)
    cu("cuMemcpyDtoH_v2", ADDRESS(out.ctypes.data), ctypes.c_uint64(pointer), ctypes.c_size_t(out.nbytes))
    return out


def bytes_of(attribute):
    """The bytes that MLIR writes as a string."""
    return re.sub(rb"\\(\\|[0-9A-Fa-f]{2})", lambda m: b"\\" if m[1] == b"\\" else bytes.fromhex(m[1].decode()), attribute.encode())


class Compiled:
    """The calls in a module, in their order, and device memory for the arguments of @main."""

    def __init__(self, program, word):
        text = lower(program.text(), f"backend=cuda ncclCommPtr={word}", "backend=cuda")
        self.calls = []
        for operands, attribute in CALL.findall(text):
            run, init = struct.unpack("<QQ", bytes_of(attribute))
            state = ctypes.CFUNCTYPE(ADDRESS)(init)()
            self.calls.append((ctypes.CFUNCTYPE(None, ADDRESS, ADDRESS, ADDRESS)(run), state, re.findall(r"%arg(\d+)", operands)))
        self.arrays = [array for _, array in program.arguments]
        self.memory = [on_device(array) for array in self.arrays]

    def run(self, stream):
        """As XLA's handler does: each operand is the address of a place with the device's address."""
        for run, state, operands in self.calls:
            places = (ADDRESS * len(operands))(*[self.memory[int(i)] for i in operands])
            addresses = (ADDRESS * len(operands))(*[ctypes.addressof(places) + 8 * i for i in range(len(operands))])
            run(ctypes.addressof(addresses), stream, state)
        cu("cuStreamSynchronize", ADDRESS(stream))

    def get(self, i):
        return from_device(self.memory[i], self.arrays[i])


def allreduce(p, comm, name, dtype, op, count):
    """The number of the argument that takes the result."""
    x = p.argument(data(comm.rank, dtype, count, op))
    y = p.argument(np.zeros(count, dtype))
    p.mpi("allreduce", x, y, p.constant(count), gives=[y.type], op=op, datatype=name)
    return len(p.arguments) - 1


class Trace:
    """What this rank's all-reduces brought to NCCL since the last look: count, type, operation, communicator, stream of each."""

    def __init__(self, path, rank):
        self.path, self.rank = Path(path), rank
        self.seen = 0

    def new(self):
        lines = [line.split("\t") for line in self.path.read_text().splitlines()]
        mine = [line[2:7] for line in lines if line[0] == str(self.rank) and line[1] == "ncclAllReduce"]
        fresh, self.seen = mine[self.seen :], len(mine)
        return [(int(count), int(type), int(op), int(comm, 0), int(stream, 0)) for count, type, op, comm, stream in fresh]


def every_type_and_operation(comm, word, stream, trace):
    """The word is our handle, our id, or the raw ncclComm_t: what arrives is the same."""
    p, wanted, arrives = Program(), [], []
    for i, (name, number) in enumerate((NCCL_TYPES | NCCL_TYPES_OF_C).items()):
        dtype, count = (TYPES | INTEGERS_OF_C)[name], 3 + i
        for op in ARITHMETIC | ORDER if name in NCCL_TYPES else ["SUM"]:
            place = allreduce(p, comm, name, dtype, op, count)
            wanted.append((place, reduced(comm.size, dtype, count, op), f"allreduce {name} {op} on a device"))
            arrives.append((count, number, NCCL_OPERATIONS[op], comm.nccl_comm, stream))
    compiled = Compiled(p, word)
    trace.new()
    compiled.run(stream)
    same(np.array(trace.new()), np.array(arrives), "what arrives in NCCL")
    for place, array, what in wanted:
        same(compiled.get(place), array, what)
    no_error("every type and operation on a device")
    return compiled


def shared_wrapper(comm, stream, trace, checked):
    """Enzyme-JAX makes one wrapper for an operation and a type, with one count in it. Check mode sees when it leaves an allocation.

    Both counts arrive where Enzyme-JAX has been mended.
    """
    p, counts = Program(), (5, 9)
    places = [allreduce(p, comm, "FLOAT", np.float32, "SUM", count) for count in counts]
    compiled = Compiled(p, comm.id)
    if not checked:  # room for 9 behind both, so that nothing breaks
        for place in (places[0] - 1, places[0]):
            compiled.arrays[place] = np.resize(compiled.arrays[place], 9)
            compiled.memory[place] = on_device(compiled.arrays[place])
    trace.new()
    compiled.run(stream)
    arrived = tuple(call[0] for call in trace.new())
    if arrived == counts:
        mended("its shared wrapper")
    elif checked:
        check(arrived == (9,), f"{arrived}: only what fits")
        fails(ERR_COUNT, ["9 elements", "20 bytes", "known-issues"], reactant_mpi.check_compiled)
    else:
        check(arrived == (9, 9), f"counts {arrived} of two all-reduces of 5 and 9")
    for place, count in zip(places, counts, strict=True):
        if count in arrived or not checked:
            same(compiled.get(place)[:count], reduced(comm.size, np.float32, count, "SUM"), f"all-reduce of {count}")
    no_error("two counts")


def refused_by_the_pass(comm):
    """What NCCL has not is refused when it is compiled."""
    for name, dtype, op in (("INT8_T", np.int8, "SUM"), ("C_FLOAT_COMPLEX", np.complex64, "SUM"), ("INT32_T", np.int32, "BAND")):
        p = Program()
        allreduce(p, comm, name, dtype, op, 4)
        try:
            Compiled(p, comm.id)
        except ValueError as error:
            check("not supported" in str(error), f"{name} {op}: {error}")
        else:
            check(False, f"the pass takes {name} {op}")


def main():
    comm = reactant_mpi.initialize(gpu="required", client="external")
    register("registry")
    trace = Trace(sys.argv[1], comm.rank)
    device, context, stream = ctypes.c_int(), ADDRESS(), ADDRESS()
    cu("cuDeviceGet", ctypes.byref(device), comm.device)
    cu("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    cu("cuCtxSetCurrent", context)
    cu("cuStreamCreate", ctypes.byref(stream), ctypes.c_uint(1))
    # Another communicator later: the address of the first must not be left in the code.
    part = comm.split(0, -comm.rank)
    compiled = [
        every_type_and_operation(which, word, stream.value, trace)
        for which in (comm, part)
        for word in (which.handle, which.nccl_comm, which.id)
    ]
    shared_wrapper(comm, stream.value, trace, os.environ.get("REACTANT_MPI_CHECK") == "1")
    refused_by_the_pass(comm)
    part.finalize()
    comm.finalize()
    for code in compiled:
        before = code.get(1)
        code.run(stream.value)
        fails(ERR_COMM, "ncclAllReduce", reactant_mpi.check_compiled)
        same(code.get(1), before, "after the end nothing is written")
    check(not trace.new(), "after the end nothing arrives in NCCL")
    done()


main()
