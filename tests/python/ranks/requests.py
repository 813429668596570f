"""The life of a request: done once, kept when forgotten, ended with its communicator; Ctrl-C while it is waited for."""

import gc
import os
import signal
import threading
import time
import weakref

import numpy as np
from checks import check, done, fails, same
from reactant_mpi import Request, Status, initialize

GONE = "not a live request"


def once(comm):
    """A request that is done is used up; in a list it counts as done."""
    out = np.zeros(1)
    for end in (lambda request: request.Wait(), lambda request: request.wait_for(30_000), ended_by_test):
        request = comm.Iallreduce(np.ones(1), out)
        check(end(request) is True, "the end of a request")
        same(out, np.full(1, float(comm.size)), "Iallreduce")
        fails(7, GONE, request.Wait)
        fails(7, GONE, request.Test)
        fails(7, GONE, request.wait_for, 0)
        request.Free()
        open_ = comm.Ibarrier()
        check(Request.Waitall([request, open_, request]) is True, "Waitall, where some are done")
        fails(7, GONE, open_.Wait)
        check(Request.Testall([request, open_]) is True, "Testall, where all are done")
    check(Request.Waitall([]) is True and Request.Testall(()) is True, "no request at all")
    fails(1, "Request", Request.Waitall, [None])
    fails(1, "Request", Request.Testall, [comm])
    request = comm.Ibarrier()
    fails(1, "Status", request.Wait, "status")
    fails(1, "Status", Request.Waitall, [request], [None])
    for wrong in (-1, 2**31, 0.5, None):
        fails(1, "timeout_ms", request.wait_for, wrong)
    statuses = [Status() for _ in range(3)]
    check(Request.Waitall([request], statuses) and len(statuses) == 3, "a longer list of statuses")


def ended_by_test(request):
    while not request.Test():
        pass
    return True


def in_time(comm):
    """wait_for that is over too early leaves the request as it was."""
    other, out = comm.size - 1 - comm.rank, np.zeros(2)
    request = comm.Irecv(out, other, 1)
    for ms in (0, 30):
        fails(31, [f"{ms} ms", "recv"], request.wait_for, ms)
    check(request.Test() is False and Request.Testall([request, comm.Irecv(np.zeros(0), other, 2)]) is False, "nothing has come")
    comm.barrier()
    sends = [comm.Isend(np.full(2, 5.0), other, 1), comm.Isend(np.zeros(0), other, 2)]
    check(request.wait_for(30_000) and Request.Waitall(sends), "it has come")
    same(out, np.full(2, 5.0), "the message after two waits that were too short")


def prepared(comm):
    values, out = np.zeros(3), np.zeros(3)
    with comm.prepare_allreduce(values, out) as call:
        ends = [
            call.Wait,
            call.wait,
            lambda: call.wait_for(30_000),
            lambda: ended_by_test(call),
            lambda: Request.Waitall([call]),
        ]
        for step in range(5):
            values[:] = step + comm.rank
            wanted = np.full(3, comm.size * step + comm.size * (comm.size - 1) / 2)
            for end in ends:
                out[:] = 0
                call.Start()
                fails(8, "started", call)
                fails(8, "started", call.start)
                check(end() is True, "the end of a prepared call")
                same(out, wanted, "a prepared call that was started")
                fails(8, "not been started", call.Wait)
                fails(8, "not been started", Request.Waitall, [call])
            out[:] = 0
            call.run()
            same(out, wanted, "a prepared call that was run")
        call.Start()
    fails(7, GONE, call.Wait)
    fails(7, GONE, call.start)
    call.free()


def settled(comm, references):
    """Wait until the memory has gone; each new request looks after those that were forgotten."""
    for _ in range(10_000):
        comm.Ibarrier().Wait()
        gc.collect(0)
        if comm.allreduce(any(reference() is not None for reference in references), "lor") == 0:
            return True
    return False


def forgotten(comm):
    """Dropped while under way: the memory lives until the call is done, and no longer."""
    other = comm.size - 1 - comm.rank
    big = 1 << 17  # bytes that are not sent before they are wanted
    for drop in (lambda request: None, Request.Free):
        references = []
        for tag in range(3):
            message, room = np.full(big, tag, "uint8"), np.empty(big, "uint8")
            references += [weakref.ref(message), weakref.ref(room)]
            drop(comm.Irecv(room, other, tag))
            del message, room
        with_list = np.zeros(comm.size)
        references.append(weakref.ref(with_list))
        drop(comm.Iallgatherv(np.ones(1), [with_list, 1]) if comm.rank else comm.Iallgatherv(np.ones(1), with_list))
        del with_list
        call = comm.prepare_bcast(np.zeros(2))
        call.Start()
        drop(call)
        del call
        check(all(reference() is not None for reference in references[1:6:2]), "the room of messages that nobody has sent")
        comm.barrier()
        for tag in range(3):
            comm.Isend(np.full(big, tag, "uint8"), other, tag)
        check(settled(comm, references), "what is done lets its memory go")


def ended(comm):
    """The end of a communicator with calls under way: none of them can be waited for, and their memory stays."""
    part = comm.dup()
    check((part.rank, part.size) == (comm.rank, comm.size) and part.id != comm.id, "dup")
    room = np.empty(4)
    request, call, reference = part.Irecv(room, part.rank, 5), part.prepare_barrier(), weakref.ref(room)
    part.Free()
    fails(2, "", request.Wait)
    fails(2, "", request.Test)
    fails(2, "", Request.Waitall, [request])
    fails(2, "", call.start)
    fails(2, "finalize", part.Ibarrier)
    fails(2, "finalize", part.dup)
    del request, room, call
    for _ in range(3):
        comm.Ibarrier().Wait()
    check(reference() is not None, "the memory of a call that nobody can ask about")


def interrupted(comm):
    """Ctrl-C comes up when the call returns; what it has done is done."""
    if comm.rank == 0:
        main = threading.main_thread().ident
        for tag, wait in enumerate((lambda out: comm.Recv(out, 1, 0), lambda out: comm.Irecv(out, 1, 1).Wait())):
            out, begin = np.zeros(1), time.monotonic()
            comm.send([0.0], 1, tag)
            timer = threading.Timer(0.05, lambda: signal.pthread_kill(main, signal.SIGINT))
            timer.start()
            try:
                wait(out)
                for _ in range(1000):
                    time.sleep(0.001)
            except KeyboardInterrupt:
                check(time.monotonic() - begin > 0.25, "a wait that a signal has ended")
            else:
                check(False, "Ctrl-C was lost")
            timer.join()
            same(out, np.ones(1), "the message that was waited for")
    elif comm.rank == 1:
        for tag in range(2):
            comm.recv(shape=1, source=0, tag=tag)
            time.sleep(0.3)
            comm.send([1.0], 0, tag)
    comm.barrier()


def main():
    comm = initialize()
    assert comm.size == 2, os.getpid()
    once(comm)
    in_time(comm)
    prepared(comm)
    forgotten(comm)
    interrupted(comm)
    check(comm.error in (0, 31), f"an error {comm.error} was kept")
    ended(comm)
    same(comm.allreduce(1), np.int64(comm.size), "the communicator works afterwards")
    done()


main()
