"""The listening sockets: one for each network worker, all on one port.

The supervisor binds and listens, so that the port stays taken and connections queue while a worker is being
restarted.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass

from headrace.errors import NotAvailable
from headrace.settings import Settings, parse_listener


@dataclass(frozen=True, slots=True)
class Listeners:
    """What is listened on, and what clients are sent.

    host, port     advertised
    bound          `HOST:PORT` of the sockets themselves
    """

    sockets: list[socket.socket]
    host: str
    port: int
    bound: str

    @property
    def bootstrap(self) -> str:
        return address(self.host, self.port)

    def close(self) -> None:
        for sock in self.sockets:
            sock.close()


def open_listeners(settings: Settings) -> Listeners:
    """Bind and listen; port 0 picks a free one.

    raises   NotAvailable, if the address is in use: it may be free in a moment
    """
    text = settings["listeners"][0]
    _protocol, host, port = parse_listener(text)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sockets: list[socket.socket] = []
    for _ in range(settings["headrace.network.workers"]):
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            _refuse_taken(sock, host, port, is_first=not sockets)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            sock.bind((host, port))
            sock.listen(settings["socket.listen.backlog.size"])
        except OSError as failure:
            for open_socket in (*sockets, sock):
                open_socket.close()
            raise NotAvailable(f"listeners: can't listen on {text}: {failure.strerror or failure}") from None
        port = sock.getsockname()[1]
        sockets.append(sock)
    _protocol, told_host, told_port = parse_listener(settings["advertised.listeners"][0])
    bound_host, bound_port = sockets[0].getsockname()[:2]
    return Listeners(sockets, told_host or socket.gethostname(), told_port or port, address(bound_host, bound_port))


def address(host: str, port: int) -> str:
    """`HOST:PORT`, an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _refuse_taken(sock: socket.socket, host: str, port: int, is_first: bool) -> None:
    """SO_REUSEPORT would silently share a port with another node of the same user: check first."""
    if not is_first or not port:
        return
    with socket.socket(sock.family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, port))
