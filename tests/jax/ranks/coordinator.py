"""The address of the coordination service, as if the ranks were on several hosts: only what all reach is taken."""

import socket
import threading

import reactant_mpi
from reactant_mpi.jax import _coordinator

comm = reactant_mpi.initialize()
checked = 0


def check(right, what="") -> None:
    global checked
    checked += 1
    if not right:
        raise AssertionError(what)


class Apart:
    """The communicator, of ranks that are each on a host of its own."""

    local_size = 1
    rank, size = comm.rank, comm.size
    bcast, allreduce = comm.bcast, comm.allreduce


def foreign(port_of):
    """A program of 127.0.0.9 that answers on the same port, but does not know the word."""
    there = socket.socket()
    there.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    there.bind(("127.0.0.9", port_of))
    there.listen()

    def answer():
        while True:
            try:
                there.accept()[0].sendall(b"another word")
            except OSError:
                return

    threading.Thread(target=answer, daemon=True).start()
    return there


# On one host: the loopback, on a port that is rank 0's alone as long as it is held, and that gRPC can bind.
with _coordinator.coordinator(comm) as (address, bind):
    check(address == bind and address.startswith("127.0.0.1:"), address)
    port = int(address.rpartition(":")[2])
    comm.barrier()
    for reuse, refused in ((0, True), (1, False)):
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, reuse)
            try:
                other.bind(("127.0.0.1", port))
                check(not refused, "somebody else got the port")
            except OSError:
                check(refused, "gRPC cannot have the port")
    comm.barrier()

# On several: an address that nobody reaches, and two right ones. 198.51.100.0/24 is for documentation, on no network.
with _coordinator.coordinator(Apart, patience_s=1, known=lambda: ["198.51.100.1", "127.0.0.3", "127.0.0.4"]) as (address, bind):
    check(address.startswith("127.0.0.3:"), address)
    check(bind.startswith(("[::]:", "0.0.0.0:")), bind)
    check(address.rpartition(":")[2] == bind.rpartition(":")[2])

# The word, and not the connection, tells rank 0's host.
port = _coordinator._Port(True, None) if comm.rank == 0 else None
offer = _coordinator._from_rank_0(comm, port and port.offer)
if comm.rank == 0:
    there = foreign(offer["port"])
comm.barrier()
check(_coordinator._reached({**offer, "hosts": ["127.0.0.9", "127.0.0.1"]}, 1) == [False, True])
comm.barrier()
if comm.rank == 0:
    there.close()
    port.stop_answering()
    port.close()

# None: every rank gets the error, and what was tried.
try:
    with _coordinator.coordinator(Apart, patience_s=0.5, known=lambda: ["198.51.100.1", "198.51.100.2"]):
        check(False, "an address that nobody reaches")
except RuntimeError as error:
    for word in ("198.51.100.1, 198.51.100.2", "JAX_COORDINATOR_ADDRESS", "coordinator_address="):
        check(word in str(error), str(error))

# This host's own addresses: none of the loopback, and each can be bound here.
for address in _coordinator.addresses():
    check(not address.startswith("127."))
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as own:
        own.bind((address, 0))

print(f"ok {checked} checks\n", end="", flush=True)
