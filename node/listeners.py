"""The listening sockets: one for each network worker, all on one port.

The supervisor binds and listens, so that the port stays taken and connections queue while a worker is being
restarted.
"""

from __future__ import annotations

import socket

from headrace.errors import ConfigError
from headrace.settings import Settings, parse_listener


def open_listeners(settings: Settings) -> tuple[list[socket.socket], str, int]:
    """Sockets, and what clients are told: (sockets, host, port). Port 0 picks a free one.

    raises   ConfigError, where the address can't be had
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
            raise ConfigError("listeners", text, failure.strerror or str(failure)) from None
        port = sock.getsockname()[1]
        sockets.append(sock)
    _protocol, told_host, told_port = parse_listener(settings["advertised.listeners"][0])
    return sockets, told_host or socket.gethostname(), told_port or port


def _refuse_taken(sock: socket.socket, host: str, port: int, is_first: bool) -> None:
    """SO_REUSEPORT would share a port with another node of the same user without a word: look first."""
    if not is_first or not port:
        return
    with socket.socket(sock.family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, port))
