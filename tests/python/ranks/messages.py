"""Point to point: values, status, wildcards, PROC_NULL, too short and too long."""

import numpy as np
import reactant_mpi
from checks import check, done, fails, same
from reactant_mpi import ANY_SOURCE, ANY_TAG, PROC_NULL, Request, Status

TYPES = "float32 float64 complex64 complex128 bool int8 uint8 int16 uint16 int32 uint32 int64 uint64".split()


def ring(comm):
    """Everyone sends to the right and receives from the left."""
    rank, n = comm.rank, comm.size
    right, left = (rank + 1) % n, (rank - 1) % n
    for tag, dtype in enumerate(TYPES):
        values = (np.arange(7) + rank).astype(dtype)
        wanted = (np.arange(7) + left).astype(dtype)
        out, status = np.zeros(7, dtype), Status()
        comm.Sendrecv(values, right, tag, out, left, tag, status)
        same(out, wanted, f"Sendrecv {dtype}")
        check(
            (status.source, status.tag, status.bytes) == (left, tag, wanted.nbytes), f"status of Sendrecv: {status}"
        )
        check((status.Get_source(), status.Get_tag(), status.Get_count(dtype)) == (left, tag, 7), f"mpi4py's names: {status}")
        same(comm.sendrecv(values, right, source=left), wanted, f"sendrecv {dtype}")
        if rank == 0:
            comm.Send(values, right, tag)
            comm.Recv(out, left, tag)
        else:
            comm.Recv(out, left, tag)
            comm.Send(values, right, tag)
        same(out, wanted, f"Send and Recv {dtype}")


def started(comm):
    """The same ring, all messages under way at once; what came is told by Waitall."""
    rank, n = comm.rank, comm.size
    right, left = (rank + 1) % n, (rank - 1) % n
    outs = [np.zeros(9, dtype) for dtype in TYPES]
    requests = [comm.Irecv(out, left, tag) for tag, out in enumerate(outs)]
    requests += [comm.Isend((np.arange(7) + rank).astype(dtype), right, tag) for tag, dtype in reversed(list(enumerate(TYPES)))]
    statuses = [Status()]
    check(Request.Waitall(requests, statuses) is True, "Waitall")
    check(len(statuses) == len(requests), f"{len(statuses)} statuses of {len(requests)} requests")
    for tag, (dtype, out, status) in enumerate(zip(TYPES, outs, statuses, strict=False)):
        same(out[:7], (np.arange(7) + left).astype(dtype), f"Irecv {dtype}")
        same(out[7:], np.zeros(2, dtype), f"the end of Irecv {dtype}")
        check((status.source, status.tag, status.Get_count(dtype)) == (left, tag, 7), f"status of Irecv {dtype}: {status}")
    check(all(status.source == PROC_NULL and status.bytes == 0 for status in statuses[len(TYPES) :]), "statuses of Isend")

    status, out = Status(), np.zeros(2)
    request = comm.Irecv(out)
    comm.barrier()
    if rank == 0:
        comm.send([1.0, 2.0], 1, tag=8)
    if rank == 1:
        check(request.Wait(status) is True, "Wait")
        check((status.source, status.tag, status.bytes) == (0, 8, 16), f"status with wildcards: {status}")
        same(out, np.array([1.0, 2.0]), "Irecv with wildcards")
        comm.send([3.0], 0, tag=9)
    if rank == 0:
        while not request.Test(status):
            pass
        check((status.source, status.tag, status.bytes) == (1, 9, 8), f"status of Test: {status}")
    if rank > 1:
        comm.send([4.0], rank)
        check(request.wait_for(30_000, status) and status.source == rank, f"status of wait_for: {status}")
    check(comm.Irecv(out, PROC_NULL).Wait(status) and status.source == PROC_NULL, f"status of PROC_NULL: {status}")


def probe(comm):
    """The length of a message before it is received."""
    if comm.rank == 0:
        comm.send(np.arange(5, dtype="int32"), 1, tag=3)
        comm.send(np.arange(2.0), 1, tag=4)
    if comm.rank == 1:
        status = Status()
        check(comm.Probe(0, 4, status) is True and status.Get_count("float64") == 2, f"Probe: {status}")
        check(comm.Probe(status=status) and (status.source, status.tag, status.bytes) == (0, 3, 20), f"Probe: {status}")
        same(comm.recv(shape=5, dtype="int32"), np.arange(5, dtype="int32"), "the first message")
        check(comm.Probe(PROC_NULL, status=status) and status.source == PROC_NULL, f"Probe of PROC_NULL: {status}")
        same(comm.recv(shape=2), np.arange(2.0), "the second message")


def pair(comm):
    rank = comm.rank
    if rank == 0:
        comm.send([1.0, 2.0], 1)
        comm.send(np.arange(6).reshape(2, 3), 1, tag=5)
        comm.send(np.arange(3, dtype="int32"), 1, tag=6)
        comm.send(np.zeros(0), 1, tag=7)
        comm.send(np.zeros(5), 1, tag=8)
        comm.send(np.zeros(5), 1, tag=10)
        comm.send(np.zeros(2), 1, tag=9)
        same(comm.recv(shape=(), dtype=int, source=1), np.array(42), "recv of a number")
    elif rank == 1:
        same(comm.recv(shape=2), np.array([1.0, 2.0]), "recv by shape")
        status = Status()
        same(comm.recv(shape=(2, 3), dtype=int, source=ANY_SOURCE, tag=ANY_TAG, status=status), np.arange(6).reshape(2, 3), "recv")
        check((status.source, status.tag, status.bytes) == (0, 5, 48), f"status with wildcards: {status}")
        room = np.full(9, 7, "int32")
        check(comm.recv(room, status=status) is room, "recv returns the array given")
        same(room, np.array([0, 1, 2, 7, 7, 7, 7, 7, 7], "int32"), "a short message leaves the end as it was")
        check(status.Get_count("int32") == 3, f"count of a short message: {status}")
        fails(3, "whole number", status.Get_count, "int64")
        comm.Recv(np.zeros(0), 0, 7, status)
        check(status.bytes == 0, f"status of an empty message: {status}")
        fails(44, "MPI_Recv", comm.Recv, np.zeros(3), 0, 8)
        request = comm.Irecv(np.zeros(3), 0, 10)
        fails(44, "recv", request.Wait)
        fails(7, "not a live request", request.Wait)
        fails(30, ["16 bytes", "needs 24"], comm.recv, shape=3, source=0, tag=9)
        comm.send(42, 0)
    if rank < 2:
        out, status = np.full(2, 3.0), Status()
        comm.Send(out, PROC_NULL)
        comm.Recv(out, PROC_NULL, status=status)
        comm.Sendrecv(np.zeros(2), PROC_NULL, 0, out, PROC_NULL, 0)
        same(out, np.full(2, 3.0), "PROC_NULL writes nothing")
        check(status.source == PROC_NULL and status.bytes == 0, f"status of PROC_NULL: {status}")


def main():
    comm = reactant_mpi.initialize()
    ring(comm)
    started(comm)
    probe(comm)
    pair(comm)
    same(comm.allreduce(1), np.int64(comm.size), "the communicator works afterwards")
    done()


main()
