"""ZooKeeper's handshake over a bare socket: whether a server opens sessions, and for whom.

Runs in: the controller process while kazoo gets no connection; the embedded ZooKeeper's start. kazoo has threads and a
patience of its own, and does not say why a server hung up. Integers are big-endian:

    ->  length 4 | protocol 4 | last zxid 8 | timeout ms 4 | session id 8 | password length 4 | password 16 |
        read only 1
    <-  length 4 | protocol 4 | timeout ms 4 | session id 8 | password length 4 | password 16 | read only 1
    ->  length 4 | xid 4 | type 4 (closeSession)

A server hangs up on a client that has seen a later zxid than its own: its state is older than the client's.

Source: ZooKeeper `zookeeper.jute`, `ZooKeeperServer.processConnectRequest`.
"""

from __future__ import annotations

import socket
from struct import Struct

SESSION_TIMEOUT_MS = 2_000
_CONNECT = Struct(">iiqiqi16s?")
_CONNECTED = Struct(">iiiq")  # as far as we look
_CLOSE = Struct(">iii")
_CLOSE_SESSION = -11

assert _CONNECT.size == 4 + 45


def opens_sessions(host: str, port: int, timeout_s: float, last_zxid: int = 0) -> bool:
    """Open a session and close it again.

    timeout_s   for each step; short ones, asked again, beat one long one
    last_zxid   what the client claims to have seen
    """
    try:
        with socket.create_connection((host, port), timeout=timeout_s) as connection:
            request = _CONNECT.pack(_CONNECT.size - 4, 0, last_zxid, SESSION_TIMEOUT_MS, 0, 16, bytes(16), False)
            connection.sendall(request)
            answer = connection.recv(_CONNECTED.size, socket.MSG_WAITALL)
            if len(answer) < _CONNECTED.size:
                return False
            _length, _protocol, session_timeout_ms, _session_id = _CONNECTED.unpack(answer)
            connection.sendall(_CLOSE.pack(_CLOSE.size - 4, 1, _CLOSE_SESSION))
            return bool(session_timeout_ms > 0)
    except OSError:
        return False


def is_behind(host: str, port: int, timeout_s: float, last_zxid: int) -> bool:
    """Whether a server serves others, but none that has seen `last_zxid`."""
    return opens_sessions(host, port, timeout_s) and not opens_sessions(host, port, timeout_s, last_zxid)
