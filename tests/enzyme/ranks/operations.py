"""Every operation of enzymexla.mpi, with every type and every legal reduction, in compiled code: operations.py registry|pass"""

import sys

import numpy as np
import reactant_mpi
from checks import check, done, fails
from drop_ins import no_error, register
from program import Program
from types_and_operations import CHARACTERS, INTEGERS_OF_C, NO_REDUCTIONS, OPERATIONS, TYPES, data, legal, reduced

EVERY_TYPE = TYPES | INTEGERS_OF_C | CHARACTERS
ERR_OP = 4


def allreduce(p, comm, name, dtype, op, count):
    x = p.argument(data(comm.rank, dtype, count, op))
    y = p.argument(np.zeros(count, dtype))
    (out,) = p.mpi("allreduce", x, y, p.number(count), gives=[y.type], op=op, datatype=name)
    p.wants(out, reduced(comm.size, dtype, count, op), f"allreduce {name} {op} of {count}")
    p.after(out)


def reductions(comm):
    """Each twice, with other counts: they share a wrapper."""
    p = Program()
    for i, (name, dtype) in enumerate((TYPES | INTEGERS_OF_C).items()):
        for j, op in enumerate(legal(dtype) if name in TYPES else ["SUM", "MAX"]):
            allreduce(p, comm, name, dtype, op, 5 + (i + j) % 4)
            allreduce(p, comm, name, dtype, op, 1 + (i + j) % 3)
    allreduce(p, comm, "DOUBLE", np.float64, "SUM", 100_000)
    # Last: nothing can wait for a result without elements.
    allreduce(p, comm, "FLOAT", np.float32, "SUM", 0)
    p.run()
    no_error("reductions")


def refused(comm):
    """What MPI has not: no crash, nothing is written, and the error is told afterwards."""
    p = Program()
    for name, dtype in TYPES.items():
        for op in [op for op in (*OPERATIONS, *NO_REDUCTIONS) if op not in legal(dtype)]:
            x, y = p.argument(np.ones(5, dtype)), p.argument(np.zeros(5, dtype))
            (out,) = p.mpi("allreduce", x, y, p.number(5), gives=[y.type], op=op, datatype=name)
            p.wants(out, np.zeros(5, dtype), f"refused allreduce {name} {op}")
            p.after(out)
    p.run()
    check(reactant_mpi.library().comm_error(comm.handle) == ERR_OP, "the error is kept on the communicator")
    fails(ERR_OP, ["compiled code", "MPI_Allreduce"], reactant_mpi.check_compiled)
    no_error("it is told once")


def rank_and_size(comm):
    p = Program()
    for operation, wanted in (("comm_rank", comm.rank), ("comm_size", comm.size)):
        (out,) = p.mpi(operation, gives=["tensor<i32>"])
        p.wants(out, np.int32(wanted), operation)
    for _ in range(3):
        p.mpi("barrier")
    p.run(times=3)
    no_error("comm_rank, comm_size, barrier")


def broadcasts(comm):
    p = Program()
    for name, dtype in EVERY_TYPE.items():
        for root in range(comm.size):
            x = p.argument(data(comm.rank, dtype, 3 + root))
            (out,) = p.mpi("bcast", x, p.number(3 + root), p.number(root), gives=[x.type], datatype=name)
            p.wants(out, data(root, dtype, 3 + root), f"bcast {name} from {root}")
            p.after(out)
    p.run()
    no_error("bcast")


def started(p, comm, name, dtype, right, left, tag):
    """irecv from the left, isend to the right; what is received, and two requests. Each comes after the one before."""
    count = 2 + tag % 5
    y = p.argument(np.zeros(count, dtype))
    x = p.argument(data(comm.rank, dtype, count))
    got, receiving = p.mpi("irecv", y, p.number(count), p.number(left), p.number(tag), gives=[y.type, "tensor<i32>"], datatype=name)
    p.after(receiving)
    (sending,) = p.mpi("isend", x, p.number(count), p.number(right), p.number(tag), gives=["tensor<i32>"], datatype=name)
    p.after(sending)
    p.wants(got, data(left, dtype, count), f"isend, irecv {name}")
    return receiving, sending


def wait_for_each(comm):
    p = Program()
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for tag, (name, dtype) in enumerate(EVERY_TYPE.items()):
        for request in started(p, comm, name, dtype, right, left, tag):
            # XLA would wait for the message from the left before it sends to the right.
            p.mpi("wait", p.then(request))
    p.run(times=2)
    no_error("isend, irecv, wait")


def wait_for_all(comm):
    """Requests of all types in one waitall, packed as 4-byte integers."""
    p = Program()
    right, left = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    requests = []
    for tag, (name, dtype) in enumerate(EVERY_TYPE.items()):
        requests += started(p, comm, name, dtype, right, left, tag)
    p.mpi("waitall", p.constant(len(requests)), p.packed(requests))
    p.run(times=2)
    no_error("isend, irecv, waitall")


def send_and_receive(comm):
    """As in Reactant's tests, each rank has a program of its own: even ones send to odd ones, then the other way round."""
    partner = comm.rank ^ 1
    for sender in (0, 1):
        p = Program()
        for tag, (name, dtype) in enumerate(EVERY_TYPE.items()):
            count = 1 + tag % 6
            if comm.rank % 2 == sender:
                x = p.argument(data(comm.rank, dtype, count))
                p.mpi("send", x, p.number(count), p.number(partner), p.number(tag), datatype=name)
            else:
                y = p.argument(np.zeros(count, dtype))
                (out,) = p.mpi("recv", y, p.number(count), p.number(partner), p.number(tag), gives=[y.type], datatype=name)
                p.wants(out, data(partner, dtype, count), f"send, recv {name}")
                p.after(out)
        p.run(times=2)
    no_error("send, recv")


def main():
    comm = reactant_mpi.initialize()
    register(sys.argv[1])
    rank_and_size(comm)
    reductions(comm)
    refused(comm)
    broadcasts(comm)
    wait_for_each(comm)
    wait_for_all(comm)
    send_and_receive(comm)
    comm.finalize()
    done()


main()
