"""What cannot work gives the right code and words, at once and on this rank alone, and the job lives on."""

import copy
import ctypes
import pickle

import numpy as np
import reactant_mpi
from checks import check, done, fails, same
from reactant_mpi import ANY_SOURCE, IN_PLACE, PROC_NULL, Status
from reactant_mpi._library import functions

ILLEGAL = {
    "float32": "band bor bxor land lor lxor",
    "float64": "band bor bxor land lor lxor",
    "float16": "band bor bxor land lor lxor",
    "int32": "avg",
    "complex64": "min max band bor bxor land lor lxor",
    "complex128": "min max band bor bxor land lor lxor",
    "bool": "sum prod band bor bxor",
    "V1": "sum prod min max land lor lxor",
}


def arrays(comm):
    n, good, out = comm.size, np.ones(4), np.empty(4)
    locked = np.ones(4)
    locked.flags.writeable = False
    for call in (comm.Allreduce, comm.Iallreduce, comm.Scan, comm.prepare_allreduce):
        fails(1, ["sendbuf", "C-contiguous", "np.ascontiguousarray(sendbuf)"], call, np.ones(8)[::2], out)
        fails(1, ["recvbuf", "C-contiguous", "np.ascontiguousarray(recvbuf)"], call, good, np.empty(8)[::2])
        fails(1, "C-contiguous", call, np.ones((3, 4)).T, np.empty(12))
        fails(1, ["recvbuf", "read-only"], call, good, locked)
        fails(3, ["dtype", "possible are"], call, np.ones(4, "longdouble"), np.empty(4, "longdouble"))
        fails(3, "object", call, np.array([None]), np.array([None]))
        fails(3, "datetime", call, np.zeros(4, "M8[s]"), np.zeros(4, "M8[s]"))
        fails(3, "possible are", call, np.zeros(4, "f8,i4"), np.zeros(4, "f8,i4"))
        fails(3, ["byte order", "astype('float64')"], call, np.ones(4, ">f8"), out)
        fails(3, ["float32", "float64", "same"], call, np.ones(4, "float32"), out)
        fails(1, ["4 elements", "recvbuf must have 4", "has 5"], call, good, np.empty(5))
        fails(1, "recvbuf must have 4", call, good, np.empty(3))
        fails(1, ["buffer", "[1, 2]"], call, [1, 2], out)
        fails(1, "buffer", call, 3.0, out)
        fails(1, "buffer", call, None, out)
        fails(1, "buffer", call, good, IN_PLACE)
        fails(4, ["'plus'", "sum, min"], call, good, out, "plus")
        fails(4, "no reduction", call, good, out, 0x58000003)
        fails(4, "no reduction", call, good, out, np.add)
        fails(4, "no reduction", call, good, out, ["sum"])
    for dtype, ops in ILLEGAL.items():
        for op in ops.split():
            x = np.zeros(2, dtype)
            fails(4, "", comm.Allreduce, x, x.copy(), op)
            fails(4, "", comm.Reduce, x, x.copy(), op)
            fails(4, "", comm.Reduce_scatter_block, np.zeros(n, dtype), np.zeros(1, dtype), op)
            fails(4, "", comm.Scan, x, x.copy(), op)
            fails(4, "", comm.Iallreduce, x, x.copy(), op)
            fails(4, "", comm.prepare_allreduce, x, x.copy(), op)
    fails(1, f"recvbuf must have {4 * n}", comm.Allgather, good, np.empty(4 * n + 1))
    if n > 1:
        fails(1, f"multiple of the {n} ranks", comm.Allgather, IN_PLACE, np.empty(4 * n + 1))
        fails(1, f"multiple of the {n} ranks", comm.Alltoall, np.empty(4 * n + 1), np.empty(4 * n + 1))
        fails(1, "multiple", comm.Reduce_scatter_block, np.empty(4 * n + 1), out)
        fails(1, ["first axis", f"{n} ranks"], comm.alltoall, np.empty(n + 1))
        fails(1, "first axis", comm.scatter, np.empty((n + 1, 2)), comm.rank)
    fails(1, "first axis", comm.reduce_scatter, 1.0)
    same_memory = np.zeros(n)
    fails(1, "in_place", comm.Alltoall, same_memory, same_memory)
    fails(1, "", comm.Sendrecv, good, 0, 0, good, 0, 0)


def ranks(comm):
    n, x = comm.size, np.ones(2)
    for root in (-1, n, -101, 2**31 - 1, 2**40, -(2**40)):
        fails(6, "", comm.Bcast, x, root)
        fails(6, "", comm.Reduce, x, x, "sum", root)
        fails(6, "", comm.Gather, x, np.empty(2 * n), root)
        fails(6, "", comm.Scatter, np.empty(2 * n), np.empty(2), root)
        fails(6, "", comm.Ibcast, x, root)
        fails(6, "", comm.prepare_bcast, x, root)
        fails(6, "", comm.bcast, x, root)
    for peer in (-1, n, -2, 2**40, ANY_SOURCE):
        fails(6, "", comm.Send, x, peer)
        fails(6, "", comm.Isend, x, peer)
        if peer != ANY_SOURCE:
            fails(6, "", comm.Recv, x, peer)
            fails(6, "", comm.Irecv, x, peer)
            fails(6, "", comm.Probe, peer)
    for tag in (-1, -102, 2**31):
        fails(6, "", comm.Send, x, 0, tag)
    fails(6, "", comm.Recv, x, 0, -1)
    fails(1, ["root", "integer"], comm.Bcast, x, 0.0)
    fails(1, ["dest", "integer"], comm.Send, x, None)
    fails(1, "Status", comm.Recv, x, 0, 0, "status")
    fails(1, "shape=", comm.recv)
    fails(1, "shape=", comm.recv, x, shape=2)
    not_root = (comm.rank + 1) % n
    if n > 1:
        fails(1, ["IN_PLACE", "root"], comm.Reduce, IN_PLACE, x, "sum", not_root)
        fails(1, ["IN_PLACE", "root"], comm.Gather, IN_PLACE, x, not_root)
        fails(1, ["IN_PLACE", "root"], comm.Scatter, x, IN_PLACE, not_root)
    check(Status().bytes == 0, "a fresh status is empty")


def handles(comm):
    """Words that are no handle, straight to the C functions: nothing is touched before it is known."""
    x = np.zeros(1)
    words = [0, 1 << 12, 0xDEADBEEF, 1, 2**63, 2**64 - 1, x.ctypes.data, id(x), comm.handle + 1, comm.handle + 8, 60000]
    for word in words:
        if word == comm.id:
            continue
        check(functions.barrier(word) == 2, f"barrier({word:#x})")
        check(functions.rank(word) == -2, f"rank({word:#x})")
        check(functions.allreduce(x.ctypes.data, x.ctypes.data, 1, 0x214, 0x21, word) == 2, f"allreduce({word:#x})")
        check(functions.last_error_code() == 2 and functions.last_error(), "code and text of the last error")
    for word in words:
        check(functions.run(word) == 7, f"run({word:#x})")
        check(functions.request_free(word) == 7, f"request_free({word:#x})")
        check(functions.start(word) == 7, f"start({word:#x})")
        check(functions.wait(word, None) == 7, f"wait({word:#x})")
    check(functions.rank(comm.id) == comm.rank, "the id stands for the handle")
    out = ctypes.c_void_p(7)
    for word in (3, 0x1234, 2**63 + 1, 12345678):
        check(functions.initialize_with(word, None, ctypes.byref(out)) != 0 and not out.value, f"initialize({word:#x})")
    fails(1, "64 bits", reactant_mpi.initialize, 2**64)
    fails(1, "64 bits", reactant_mpi.initialize, -(2**63) - 1)
    for nonsense in ("world", 1.0, comm, object()):
        fails(1, "mpi4py communicator", reactant_mpi.initialize, nonsense)


def options():
    for name, value in [
        ("gpu", "maybe"),
        ("gpu", 7),
        ("thread_level", "many"),
        ("launcher_check", "perhaps"),
        ("timeout_ms", -5),
        ("timeout_ms", 2**31),
        ("timeout_ms", "long"),
        ("call_timeout_ms", -1),
        ("check", "maybe"),
        ("half", "double"),
        ("trace", 5),
        ("max_count", 0),
        ("max_count", 2**30 + 1),
        ("libmpi", 5),
        ("libmpi", "a\0b"),
        ("mpi_dirs", [5]),
        ("log", "stderr"),
    ]:
        fails(11, name, reactant_mpi.initialize, **{name: value})


def dead(comm):
    """Ended communicators and what was prepared on them."""
    x, n = np.ones(2), comm.size
    second = reactant_mpi.initialize()
    check(second.id == comm.id and second.handle == comm.handle, "the same communicator again")
    second.finalize()
    second.finalize()
    fails(2, "finalize", second.Allreduce, x, x.copy())
    fails(2, "finalize", second.allreduce, 1)
    fails(2, "finalize", second.barrier)
    fails(2, "finalize", second.prepare_barrier)
    for name in ("local_rank", "local_size", "device", "id", "mpi_handle", "error"):
        fails(2, "finalize", getattr, second, name)
    fails(2, "finalize", second.describe)
    fails(2, "finalize", second.abort)
    check(second.handle == 0 and "finalized" in repr(second), "an ended communicator says so")
    same(comm.allreduce(1), np.int64(n), "its twin works on")

    word = comm.handle
    prepared = comm.prepare_allreduce(x, np.empty(2))
    comm.finalize()
    fails(2, "", prepared)
    check(functions.barrier(word) == 2, "the handle is dead")
    check(functions.finalize(word) == 0, "ending it again is no error")
    prepared.free()
    fresh = reactant_mpi.initialize()
    check(fresh.handle != word, "a dead handle is not used again")
    same(fresh.allreduce(1), np.int64(n), "a fresh one works")
    return fresh


def main():
    options()
    comm = reactant_mpi.initialize()
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        for thing in (comm, comm.prepare_barrier(), comm.Irecv(np.empty(0), PROC_NULL)):
            try:
                attempt(thing)
            except TypeError as error:
                check("process" in str(error), str(error))
            else:
                check(False, f"{attempt} of {thing}")
    check(pickle.loads(pickle.dumps(IN_PLACE)) is IN_PLACE, "IN_PLACE is one")
    arrays(comm)
    ranks(comm)
    handles(comm)
    same(comm.allreduce([1.0, comm.rank]), np.array([comm.size, sum(range(comm.size))], float), "the communicator works afterwards")
    check(comm.error != 0, "the first failure is kept")
    comm = dead(comm)
    check(comm.error == 0, "a fresh communicator has no error")
    comm.barrier()
    reactant_mpi.finalize()
    reactant_mpi.finalize()
    fails(2, "", comm.barrier)
    fails(43, "finalized", reactant_mpi.initialize)
    done()


main()
