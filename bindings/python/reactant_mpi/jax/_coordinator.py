"""Where JAX's coordination service listens: agreed over MPI, so that nobody types an address.

Rank 0 offers addresses of its host and a free port, the others try which of them reach it, and the first that all have reached is taken.
"""

import contextlib
import fcntl
import json
import secrets
import socket
import struct
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from .. import MIN

LOOPBACK = "127.0.0.1"
_SIOCGIFADDR = 0x8915


@contextlib.contextmanager
def coordinator(comm, *, patience_s: float = 5.0, known=None):
    """(address of the service, address that it binds): what ranks of comm have agreed on. Collective.

    In the block rank 0 holds the port against every other program of its host; gRPC, which shares ports, can bind it.
    """
    tried = []
    # Where all ranks are on one host, the service need not be seen from outside. But containers of a host may have a loopback each.
    for only_here in [True, False] if comm.local_size == comm.size else [False]:
        port = _Port(only_here, known or addresses) if comm.rank == 0 else None
        try:
            offer = _from_rank_0(comm, port and port.offer)
            if "error" in offer:
                raise RuntimeError(f"rank 0 cannot open a port for JAX's coordination service: {offer['error']}")
            reached = [True] * len(offer["hosts"]) if port else _reached(offer, patience_s)
            everywhere = comm.allreduce(np.array(reached, np.int32), MIN)
            if port:
                port.stop_answering()
            if everywhere.any():
                host = offer["hosts"][int(everywhere.argmax())]
                yield _join(host, offer["port"]), _join(offer["bind"], offer["port"])
                return
            tried += offer["hosts"]
        finally:
            if port:
                port.close()
    raise RuntimeError(
        f"JAX's coordination service runs in rank 0, and none of the addresses of its host is reached by every other rank; tried: {', '.join(tried)}. "
        "Name one by coordinator_address='HOST:PORT' or the environment variable JAX_COORDINATOR_ADDRESS"
    )


def addresses() -> list[str]:
    """Addresses of this host that others may reach: those of its name, of the default route, and of every network interface."""
    found = []
    with contextlib.suppress(OSError):
        found += [info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, type=socket.SOCK_STREAM)]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _index, name in socket.if_nameindex():
            with contextlib.suppress(OSError):  # an interface without an address
                answer = fcntl.ioctl(probe, _SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
                found.append(socket.inet_ntoa(answer[20:24]))
        with contextlib.suppress(OSError):
            probe.connect(("192.0.2.1", 9))  # sends nothing: the kernel chooses the interface of the default route
            found.insert(0, probe.getsockname()[0])
    own = ("127.", "::1", "fe80:", "0.0.0.0")
    return sorted(dict.fromkeys(address for address in found if not address.startswith(own)), key=lambda address: ":" in address)


class _Port:
    """A free port of this host; `offer` is what the other ranks are told. It answers every connection with a secret word."""

    def __init__(self, only_here: bool, known):
        self._sockets = []
        try:
            bind = LOOPBACK if only_here else "::" if socket.has_dualstack_ipv6() else "0.0.0.0"
            # Bound without sharing, so that nobody else has it; shared from then on, with the socket that answers and with gRPC.
            hold = self._socket(bind)
            hold.bind((bind, 0))
            hold.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            port = hold.getsockname()[1]
            self._answering = self._socket(bind)
            self._answering.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            self._answering.bind((bind, port))
            self._answering.listen(1024)
            hosts = [LOOPBACK] if only_here else known()
        except OSError as error:
            self.offer = {"error": str(error)}
            return
        self.offer = {"hosts": hosts, "port": port, "bind": bind, "word": secrets.token_hex(16)}
        threading.Thread(target=self._answer, daemon=True).start()

    def _socket(self, bind: str) -> socket.socket:
        made = socket.socket(socket.AF_INET6 if bind == "::" else socket.AF_INET)
        self._sockets.append(made)
        if bind == "::":
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        return made

    def _answer(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _from = self._answering.accept()
                with contextlib.suppress(OSError), connection:
                    connection.sendall(self.offer["word"].encode())

    def stop_answering(self) -> None:
        with contextlib.suppress(OSError):
            self._answering.shutdown(socket.SHUT_RDWR)  # close() alone leaves the thread in accept()
        self._answering.close()

    def close(self) -> None:
        for each in self._sockets:
            each.close()


def _from_rank_0(comm, offer: dict | None) -> dict:
    text = np.frombuffer(json.dumps(offer).encode(), np.uint8)
    length = int(comm.bcast(np.int64(text.size)))
    return json.loads(comm.bcast(text if comm.rank == 0 else np.empty(length, np.uint8)).tobytes())


def _reached(offer: dict, patience_s: float) -> list[bool]:
    def reaches(host: str) -> bool:
        try:
            with socket.create_connection((host, offer["port"]), patience_s) as connection:
                # Another host, or this one, may have an equal address: the word tells.
                return connection.recv(64, socket.MSG_WAITALL) == offer["word"].encode()
        except OSError:
            return False

    with ThreadPoolExecutor(max(len(offer["hosts"]), 1)) as pool:
        return list(pool.map(reaches, offer["hosts"]))


def _join(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
