"""Independent chains of sums in one program, whose ranks come to them in different orders.

pool.py first | all: the first chain blocks its thread, or both chains do. The orders are made by a handler that gives XLA a
future, and by one thread that completes the futures of the two chains in one order on rank 0 and in the other on rank 1: what
waits for a future runs on the thread that completes it. Prints "ok", or the error that XLA gave.
"""

import ctypes
import os
import sys
import threading
import time

os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
import numpy as np
import reactant_mpi as rmpi

CHAINS, ROUNDS = 2, 5
ALL = sys.argv[1] == "all"

# Where things lie in XLA's structs.
EXTENSION_AT, API_AT, STAGE_AT, ATTRS_AT, FUTURE_AT = 8, 16, 32, 160, 168
CREATE_AT, SET_AVAILABLE_AT, EXECUTE = 152, 160, 3


class FutureArgs(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("future", ctypes.c_void_p)]


def word(address, kind=ctypes.c_uint64):
    return kind.from_address(address)


def call(api, at, future=None):
    args = FutureArgs(ctypes.sizeof(FutureArgs), None, future)
    ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(FutureArgs))(word(api + at).value)(args)
    return args.future


begun = []


@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
def nap(frame):
    extension = word(frame + EXTENSION_AT).value
    if extension and word(extension + 8, ctypes.c_int32).value == 1:
        version = word(extension + 24).value + 24
        word(version, ctypes.c_int32).value, word(version + 4, ctypes.c_int32).value = 0, 1
    elif word(frame + STAGE_AT, ctypes.c_int32).value == EXECUTE:
        api, scalar = word(frame + API_AT).value, word(word(frame + ATTRS_AT).value).value
        future = word(frame + FUTURE_AT).value = call(api, CREATE_AT)
        begun.append((word(word(scalar + 8).value, ctypes.c_int32).value, api, future))
    return None


def complete():
    for _ in range(ROUNDS):
        while len(begun) < CHAINS:
            time.sleep(0.001)
        batch = sorted(begun, reverse=first.rank == 1)
        begun.clear()
        for _, api, future in batch:
            call(api, SET_AVAILABLE_AT, future)


first = rmpi.initialize()
comms = [first, first.dup()]
for c in comms:
    c.set_timeout(3000 if ALL else 30000)
library = ctypes.CDLL(os.environ["REACTANT_MPI_LIBRARY"])
jax.ffi.register_ffi_target("allreduce", jax.ffi.pycapsule(library.reactant_mpi_ffi_allreduce), platform="cpu")
jax.ffi.register_ffi_target("nap", jax.ffi.pycapsule(nap), platform="cpu")


def allreduce(x, token, i):
    like = [jax.ShapeDtypeStruct(x.shape, x.dtype), jax.ShapeDtypeStruct((1,), jnp.float32)]
    return jax.ffi.ffi_call("allreduce", like)(
        x,
        token,
        comm=np.int64(comms[i].id),
        size=np.int32(first.size),
        op=np.int32(rmpi.SUM),
        wait=np.bool_(ALL or i == 0),
    )


def program(x):
    values, tokens = [x * (i + 1) for i in range(CHAINS)], [jnp.zeros((1,), jnp.float32)] * CHAINS
    for _ in range(ROUNDS):
        for i in range(CHAINS):
            like = jax.ShapeDtypeStruct(x.shape, x.dtype)
            y = jax.ffi.ffi_call("nap", like, input_output_aliases={0: 0})(values[i], i=np.int32(i))
            values[i], tokens[i] = allreduce(y @ jnp.eye(len(x)), tokens[i], i)
    return values, tokens


x = jnp.eye(128, dtype=jnp.float32)
compiled = jax.jit(program).lower(x).compile()
threading.Thread(target=complete, daemon=True).start()
try:
    values, _ = jax.block_until_ready(compiled(x))
    wanted = [(i + 1) * first.size**ROUNDS for i in range(CHAINS)]
    print("ok" if [float(v[0, 0]) for v in values] == wanted else "wrong values", flush=True)
except Exception as e:
    print(str(e).splitlines()[0], flush=True)
os._exit(0)  # ranks that are out of step do not finalize
