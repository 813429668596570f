"""Compiled code at its edges: the host's numbers, no elements, narrow requests and statuses, barriers, errors.

edges.py ANY_SOURCE PROC_NULL: those of the host's MPI.
"""

import ctypes
import sys
import threading
import time

import numpy as np
import reactant_mpi
from checks import check, done, fails
from drop_ins import collect, mended, no_error, register
from lowering import lower
from program import Program

ANY_SOURCE, PROC_NULL = map(int, sys.argv[1:])
ERR_COMM, ERR_TYPE, ERR_COUNT, ERR_RANK, ERR_REQUEST = 2, 3, 5, 6, 7
FLOATS, NUMBER = "FLOAT", "tensor<i32>"


def compiles_before_and_after(register):
    """A name that is not mapped is a clean error, and what did not compile then does not afterwards."""
    p = Program()
    p.mpi("send", p.argument(np.zeros(1, np.int8)), p.constant(1), p.constant(0), p.constant(0), datatype="CHAR")

    def compiles():
        try:
            lower(p.text())
        except ValueError as error:
            check("failed" in str(error).lower(), f"a name that is not mapped: {error}")
            return False
        return True

    check(not compiles(), "a name that is not mapped is no error")
    register()
    if compiles():
        mended("what it remembers of a name that was not mapped")


def hosts_numbers(comm):
    """ANY_SOURCE and PROC_NULL as the host's MPI has them."""
    partner = comm.rank ^ 1
    p = Program()
    n, tag = p.number(3), p.number(7)
    nobody, anybody = p.constant(PROC_NULL), p.constant(ANY_SOURCE)
    mine, untouched = np.full(3, comm.rank, np.float32), np.full(3, -1, np.float32)
    x, y, z, w = p.argument(mine), p.argument(untouched), p.argument(untouched), p.argument(untouched)
    p.mpi("send", x, n, nobody, tag, datatype=FLOATS)
    (sending,) = p.mpi("isend", x, n, nobody, tag, gives=[NUMBER], datatype=FLOATS)
    p.mpi("wait", sending)
    (got,) = p.mpi("recv", y, n, nobody, tag, gives=[y.type], datatype=FLOATS)
    p.wants(got, untouched, "recv from PROC_NULL")
    got, receiving = p.mpi("irecv", z, n, nobody, tag, gives=[z.type, NUMBER], datatype=FLOATS)
    p.mpi("wait", receiving)
    p.wants(got, untouched, "irecv from PROC_NULL")
    (sending,) = p.mpi("isend", x, n, p.number(partner), tag, gives=[NUMBER], datatype=FLOATS)
    p.after(sending)
    (got,) = p.mpi("recv", w, p.number(3), anybody, tag, gives=[w.type], datatype=FLOATS)
    p.after(got)
    p.mpi("wait", p.then(sending))
    p.wants(got, np.full(3, partner, np.float32), "recv from ANY_SOURCE")
    p.run(times=2)
    no_error("the host's numbers")


def no_elements(comm):
    partner = comm.rank ^ 1
    p = Program()
    n, tag, none = p.number(0), p.number(8), p.argument(np.zeros(0, np.int64))
    (out,) = p.mpi("bcast", none, n, p.constant(comm.size - 1), gives=[none.type], datatype="INT64_T")
    p.wants(out, np.zeros(0, np.int64), "bcast of nothing")
    _, receiving = p.mpi("irecv", none, n, p.constant(partner), tag, gives=[none.type, NUMBER], datatype="INT64_T")
    p.after(receiving)
    (sending,) = p.mpi("isend", none, p.number(0), p.number(partner), tag, gives=[NUMBER], datatype="INT64_T")
    p.after(sending)
    p.mpi("wait", p.then(receiving))
    p.mpi("wait", p.then(sending))
    p.run(times=2)
    no_error("messages of nothing")


def narrow(comm):
    """What compiled code has for a request is 4 bytes, for a status 24: not a byte more is written, however wide the MPI's are."""
    functions, partner = collect(), comm.rank ^ 1
    word = ctypes.c_size_t

    def call(name, *arguments):
        code = ctypes.CFUNCTYPE(ctypes.c_int)(functions[name])(*arguments)
        check(code == 0, f"{name}: {code}")

    def memory():
        return (ctypes.c_ubyte * 128)(*[0xA5] * 128)

    def beyond(place, n, what):
        check(bytes(place[n:]) == b"\xa5" * (128 - n), f"{what}: {bytes(place)!r}")

    world, ints = word(functions["MPI_COMM_WORLD"]), word(functions["MPI_INT32_T"])
    for several in (False, True):
        got, requests, statuses = (ctypes.c_int * 2)(), memory(), memory()
        mine = (ctypes.c_int * 2)(comm.rank, comm.rank + 10)
        for i in range(2):
            place = ctypes.byref(requests, 4 * i)
            call("MPI_Irecv", ctypes.byref(got, 4 * i), 1, ints, partner, i, world, place)
            beyond(requests, 4 * (i + 1), "MPI_Irecv")
        for i in range(2):
            call("MPI_Send", ctypes.byref(mine, 4 * i), 1, ints, partner, i, world)
        if several:
            call("MPI_Waitall", 2, requests, statuses)
            beyond(statuses, 48, "MPI_Waitall")
        for i in range(2):
            if not several:
                status = memory()
                call("MPI_Wait", ctypes.byref(requests, 4 * i), status)
                beyond(status, 24, "MPI_Wait")
        beyond(requests, 8, "requests that are done")
        check(list(got) == [partner, partner + 10], f"received {list(got)}")
    no_error("requests and statuses")


def barriers(comm):
    """XLA puts a barrier where it likes, as it has no operands."""
    p = Program()
    for i in range(4):
        x, y = p.argument(np.full(5, comm.rank + i, np.int32)), p.argument(np.zeros(5, np.int32))
        (out,) = p.mpi("allreduce", x, y, p.number(5), gives=[y.type], op="SUM", datatype="INT32_T")
        p.after(out)
        p.mpi("barrier")
        p.wants(out, np.full(5, sum(range(comm.size)) + i * comm.size, np.int32), "allreduce between barriers")
    p.run(times=5)
    no_error("barriers where XLA puts them")


def barrier_beside_a_reduction(comm):
    """Even ranks are in the reduction first, odd ones in the barrier: MPI's own barrier would meet the reduction."""
    p = Program()
    x, y = p.argument(np.full(5, comm.rank, np.int32)), p.argument(np.zeros(5, np.int32))
    (out,) = p.mpi("allreduce", x, y, p.number(5), gives=[y.type], op="SUM", datatype="INT32_T")
    p.wants(out, np.full(5, sum(range(comm.size)), np.int32), "allreduce beside a barrier")
    only_barrier = Program()
    only_barrier.mpi("barrier")
    reduction, barrier = p.compile(), only_barrier.compile()
    for first in (0, 1):
        if comm.rank % 2 == first:
            results = []
            beside = threading.Thread(target=lambda results=results: results.extend(reduction()))
            beside.start()
            time.sleep(0.3)
            barrier()
            beside.join()
        else:
            barrier()
            results = reduction()
        p.compare(results)
    no_error("a barrier beside a reduction")


def no_crash(code, words, build):
    """The operation that build(program) adds fails on every rank: it changes nothing, and is told afterwards."""
    p = Program()
    build(p)
    p.run()
    fails(code, ["compiled code", *words], reactant_mpi.check_compiled)
    no_error("it is told once")


def errors(comm):
    floats = np.arange(4, dtype=np.float32)

    def bcast(p, root=0, count=4, datatype=FLOATS):
        x = p.argument(floats)
        (out,) = p.mpi("bcast", x, p.constant(count), p.constant(root), gives=[x.type], datatype=datatype)
        p.wants(out, floats, "bcast that fails")

    def never_started(p):
        p.mpi("wait", p.constant(-1))

    def send(p):
        p.mpi("send", p.argument(floats), p.constant(4), p.constant(comm.size), p.constant(0), datatype=FLOATS)

    no_crash(ERR_RANK, ["MPI_Bcast", "root"], lambda p: bcast(p, root=comm.size))
    no_crash(ERR_TYPE, ["MPI_Bcast"], lambda p: bcast(p, datatype="DATATYPE_NULL"))
    no_crash(ERR_COUNT, ["MPI_Bcast"], lambda p: bcast(p, count=-4))
    no_crash(ERR_RANK, ["MPI_Send"], send)
    no_crash(ERR_REQUEST, ["MPI_Wait"], never_started)


def after_the_end(comm):
    """The same compiled code, when there is no communicator any more."""
    p = Program()
    x, y = p.argument(np.ones(3, np.float32)), p.argument(np.zeros(3, np.float32))
    (out,) = p.mpi("allreduce", x, y, p.number(3), gives=[y.type], op="SUM", datatype=FLOATS)
    p.wants(out, np.full(3, comm.size, np.float32), "allreduce before the end")
    run = p.compile()
    p.compare(run())
    no_error("before the end")
    comm.finalize()
    p.results[0] = (out, np.zeros(3, np.float32), "allreduce after the end")
    p.compare(run())
    fails(ERR_COMM, "MPI_Allreduce", reactant_mpi.check_compiled)


def main():
    comm = reactant_mpi.initialize()
    compiles_before_and_after(lambda: register("registry"))
    hosts_numbers(comm)
    no_elements(comm)
    narrow(comm)
    barriers(comm)
    barrier_beside_a_reduction(comm)
    errors(comm)
    after_the_end(comm)
    done()


main()
