"""Device memory and streams from Python, over the doubles of libcuda and NCCL: real data, on worker threads, with faults found.

Expected values are computed here, from integers.
"""

import contextlib
import ctypes

import numpy as np
import reactant_mpi
from checks import check, done, fails, same
from reactant_mpi import IN_PLACE, DeviceBuffer

cuda = ctypes.CDLL("libcuda.so.1")


def cu(function, *arguments):
    code = getattr(cuda, function)(*arguments)
    check(code == 0, f"{function}: CUDA error {code}")


class Array:
    """Device memory as CuPy, PyTorch and JAX show it."""

    def __init__(self, like, dtype=None, **interface):
        self.host = np.asarray(like)
        pointer = ctypes.c_uint64()
        cu("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(max(self.host.nbytes, 1)))
        self.pointer = pointer.value
        cu("cuMemcpyHtoD_v2", pointer, self.host.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(self.host.nbytes))
        self.dtype = self.host.dtype if dtype is None else dtype
        self.__cuda_array_interface__ = {
            "shape": self.host.shape, "typestr": self.host.dtype.str, "data": (self.pointer, False), "version": 3, "strides": None,
        } | interface  # fmt: skip

    def get(self, stream):
        """What is there when the stream has passed."""
        cu("cuStreamSynchronize", ctypes.c_void_p(stream))
        out = np.empty_like(self.host)
        cu("cuMemcpyDtoH_v2", out.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint64(self.pointer), ctypes.c_size_t(out.nbytes))
        return out

    def free(self):
        cu("cuMemFree_v2", ctypes.c_uint64(self.pointer))


@contextlib.contextmanager
def on_device(*arrays, **more):
    made = [Array(a, **more) for a in arrays]
    yield made if len(made) > 1 else made[0]
    for array in made:
        array.free()


class CupyStream:
    def __init__(self, ptr):
        self.ptr = ptr


class TorchStream:
    def __init__(self, cuda_stream):
        self.cuda_stream = cuda_stream


class ProtocolStream:
    def __init__(self, pointer):
        self.pointer = pointer

    def __cuda_stream__(self):
        return 0, self.pointer


def new_stream():
    stream = ctypes.c_void_p()
    cu("cuStreamCreate", ctypes.byref(stream), ctypes.c_uint(1))
    return stream.value


def streams(comm, stream):
    """A stream by any of its names."""
    x = np.arange(5, dtype=np.int32) + comm.rank
    for given in (stream, CupyStream(stream), TorchStream(stream), ProtocolStream(stream), np.uint64(stream)):
        on = comm.on_stream(given)
        check(on.stream == stream, f"the stream of {given!r}")
        with on_device(x, np.zeros_like(x)) as (send, recv):
            on.Allreduce(send, recv)
            same(recv.get(stream), sum(np.arange(5, dtype=np.int32) + r for r in range(comm.size)).astype(np.int32), "allreduce")
    check(comm.on_stream().stream == 0, "the default stream")
    with on_device(x) as both:
        comm.on_stream().Allreduce(IN_PLACE, both, "max")
        same(both.get(0), np.arange(5, dtype=np.int32) + comm.size - 1, "on the default stream")
    for wrong in ("0", 1.5, object(), -1, 2**64):
        fails(1, "stream", comm.on_stream, wrong)


def collectives(comm, stream, dtype):
    on, rank, n = comm.on_stream(stream), comm.rank, comm.size
    each = [(np.arange(6 * n) % 5 + r).astype(dtype) for r in range(n)]
    mine, total = each[rank], np.sum(each, axis=0).astype(dtype)
    blocks = np.concatenate(each)
    with on_device(mine, np.zeros_like(mine), blocks * 0, np.zeros(6, dtype)) as (x, y, big, small):
        on.Allreduce(x, y)
        same(y.get(stream), total, f"Allreduce {dtype}")
        on.Allreduce(x, y, "min")
        same(y.get(stream), np.min(each, axis=0), f"Allreduce min {dtype}")
        on.Allgather(x, big)
        same(big.get(stream), blocks, f"Allgather {dtype}")
        on.Reduce_scatter_block(x, small)
        same(small.get(stream), total.reshape(n, 6)[rank], f"Reduce_scatter_block {dtype}")
        on.Alltoall(x, y)
        same(y.get(stream), np.concatenate([each[r].reshape(n, 6)[rank] for r in range(n)]), f"Alltoall {dtype}")
        on.Barrier()
        for root in range(n):
            on.Reduce(x, y if rank == root else None, reactant_mpi.MAX, root)
            on.Gather(x, big if rank == root else None, root)
            on.Scatter(x if rank == root else None, small, root)
            same(small.get(stream), each[root].reshape(n, 6)[rank], f"Scatter {dtype}")
            if rank == root:
                same(y.get(stream), np.max(each, axis=0), f"Reduce {dtype}")
                same(big.get(stream), blocks, f"Gather {dtype}")
            with on_device(mine) as from_root:
                on.Bcast(from_root, root)
                same(from_root.get(stream), each[root], f"Bcast {dtype}")
        messages(comm, stream, x, y, each)


def messages(comm, stream, x, y, each):
    on, rank, n = comm.on_stream(stream), comm.rank, comm.size
    right, left = (rank + 1) % n, (rank - 1) % n
    on.Sendrecv(x, right, y, left)
    same(y.get(stream), each[left], "Sendrecv")
    with reactant_mpi.group():
        on.Send(x, left)
        on.Recv(y, right)
    same(y.get(stream), each[right], "Send and Recv in a group")
    on.Permute(x, y, left, [right])
    same(y.get(stream), each[left], "Permute round the ring")
    on.Permute(x, y, reactant_mpi.PROC_NULL if rank == 0 else 0, list(range(1, n)) if rank == 0 else [])
    same(y.get(stream), np.zeros_like(each[0]) if rank == 0 else each[0], "Permute from the first to the others")


def types(comm, stream):
    """What NumPy has no name for, and what has no interface."""
    on, n = comm.on_stream(stream), comm.size
    # bfloat16 is the upper half of float32.
    ours = ((np.arange(4, dtype=np.float32) + comm.rank).view(np.uint32) >> 16).astype(np.uint16)
    wanted = ((np.arange(4, dtype=np.float32) * n + n * (n - 1) // 2).view(np.uint32) >> 16).astype(np.uint16)

    class TorchType:
        def __str__(self):
            return "torch.bfloat16"

    for dtype in ("bfloat16", TorchType()):
        with on_device(ours, dtype=dtype) as x:
            on.Allreduce(x, x)
            same(x.get(stream), wanted, f"bfloat16 as {dtype}")
    with on_device(ours) as x:
        buffer = DeviceBuffer(x.pointer, 4, "bfloat16")
        on.Allreduce(IN_PLACE, buffer)
        same(x.get(stream), wanted, f"{buffer!r}")
    half = np.arange(3, dtype=np.float16) + comm.rank
    with on_device(half) as x:
        on.Allreduce(x, x, "avg")
        same(x.get(stream), (np.arange(3) + (n - 1) / 2).astype(np.float16), "avg of float16")
    z = np.array([1 + 2j, 3 - 1j], np.complex64) * (comm.rank + 1)
    with on_device(z) as x:
        on.Allreduce(x, x)
        same(x.get(stream), np.array([1 + 2j, 3 - 1j], np.complex64) * (n * (n + 1) // 2), "sum of complex64")
        fails(4, "complex", on.Allreduce, x, x, "prod")
    with on_device(np.array([comm.rank == 0, True])) as x:
        on.Allreduce(x, x, "land")
        same(x.get(stream), np.array([n == 1, True]), "land of bool")
    with on_device(np.arange(3, dtype=np.int16)) as x:
        fails(4, "16-bit", on.Allreduce, x, x)
        on.Bcast(x)


def refused(comm, stream):
    on, n = comm.on_stream(stream), comm.size
    with on_device(np.zeros((2, 3)), np.zeros(6), np.zeros(6, np.float32)) as (x, y, other):
        host = np.zeros(6)
        fails(1, ["recvbuf", "device memory"], on.Allreduce, x, host)
        fails(1, ["sendbuf", "device memory"], on.Allreduce, None, y)
        fails(1, ["sendbuf", "on_stream"], comm.Allreduce, y, host)
        fails(3, "float32", on.Allreduce, y, other)
        fails(4, "no reduction", on.Allreduce, x, y, "median")
        fails(6, "root", on.Bcast, y, n)
        fails(6, "", on.Send, y, n)
        fails(6, "", on.Recv, y, reactant_mpi.ANY_SOURCE)
        fails(1, "", on.Alltoall, DeviceBuffer(y.pointer, n, "float64"), DeviceBuffer(y.pointer, n, "float64"))
        for bad, text in (
            ({"strides": (8, 16)}, "not C-contiguous"),
            ({"data": (x.pointer, True)}, "read-only"),
            ({"mask": x}, "mask"),
        ):
            view = Array(np.zeros((2, 3)), **bad)
            fails(1, text, on.Bcast if "data" not in bad else on.Recv, view, 0)
            view.free()
        fine = Array(np.zeros((1, 3)), strides=(999, 8))
        on.Bcast(fine)
        on.Bcast(DeviceBuffer(0, 0, "float32"))
        same(fine.get(stream), np.zeros((1, 3)), "an axis of one element has any stride")
        fine.free()
        try:
            with reactant_mpi.group():
                raise KeyError("mine")
        except KeyError:
            pass
        on.Allreduce(x, x)
        same(x.get(stream), np.zeros((2, 3)), "after an exception in a group the thread is out of it")


def other_ways(comm, stream):
    """The C functions by ctypes: what compiled code does with nccl_comm, and what has no method."""
    c, rank, n = reactant_mpi.library(), comm.rank, comm.size
    with on_device(np.full(4, rank + 1, np.float32)) as x:
        for word in (comm.nccl_comm, comm.handle, comm.id):
            check(c.ncclAllReduce(x.pointer, x.pointer, 4, 7, 0, word, stream) == 0, "ncclAllReduce")
        same(x.get(stream), np.full(4, n * (n + 1) // 2 * n * n, np.float32), "three of them")
    count = rank + 1
    counts = (ctypes.c_size_t * n)(*range(1, n + 1))
    starts = (ctypes.c_size_t * n)(*(r * (r + 1) // 2 for r in range(n)))
    total = n * (n + 1) // 2
    with on_device(np.full(count, rank, np.int64), np.zeros(total, np.int64)) as (send, recv):
        element = DeviceBuffer(send.pointer, count, "int64").element
        code = c.allgatherv_stream(send.pointer, count, recv.pointer, counts, starts, element, comm.handle, stream)
        check(code == 0, "allgatherv_stream")
        same(recv.get(stream), np.concatenate([np.full(r + 1, r) for r in range(n)]), "blocks of different sizes")


def parts(comm, stream):
    """Communicators from communicators are on the same devices."""
    for part in (comm.split(0, -comm.rank), comm.create(range(comm.size))):
        check(part.device == comm.device, "the same device")
        check(part.nccl_comm not in (None, comm.nccl_comm), "an ncclComm_t of its own")
        check(part.client == comm.client, "the same client")
        collectives(part, stream, np.dtype("int32"))
        part.finalize()
        fails(2, "finalize()", part.on_stream(stream).Barrier)


def main():
    comm = reactant_mpi.initialize(gpu="required", client="external", preallocate=False, memory_fraction=0.5)
    check(comm.device == comm.local_rank, f"device {comm.device} of local rank {comm.local_rank}")
    check(isinstance(comm.nccl_comm, int) and comm.nccl_comm > 0, f"ncclComm_t {comm.nccl_comm}")
    check(comm.client is None, "the client is the host's")
    device, context = ctypes.c_int(), ctypes.c_void_p()
    cu("cuDeviceGet", ctypes.byref(device), comm.device)
    cu("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    cu("cuCtxSetCurrent", context)
    stream = new_stream()
    streams(comm, stream)
    for dtype in ("float32", "int64", "uint8"):
        collectives(comm, stream, np.dtype(dtype))
    types(comm, stream)
    refused(comm, stream)
    other_ways(comm, stream)
    parts(comm, stream)
    # The same ranks on the host as well: MPI, not NCCL.
    same(comm.allreduce(np.arange(3)), np.arange(3) * comm.size, "allreduce on the host")
    cu("cuStreamDestroy_v2", ctypes.c_void_p(stream))
    comm.finalize()
    done()


main()
