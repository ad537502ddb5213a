"""Ends somebody else's ZooKeeper session, as if it had expired.

Connect and close travel together, so that the owner has little time to take its session back in between. Where it did,
the server has hung up on us and let the close be: that is tried again, until the server knows the session no more.

Source: ZooKeeper `zookeeper.jute` (ConnectRequest, ConnectResponse, RequestHeader).
"""

from __future__ import annotations

import json
import socket
import struct
import time
from pathlib import Path

from tests.support.waiting import DEADLINE_S

CLOSE_SESSION = -11
TIMEOUT_POSITION = 8  # in the response to a connect, behind its length and the protocol's version; 0: no such session


def end_session(connect: str, session_file: Path) -> None:
    """The session of a `.headrace-session` file is over when this returns."""
    stored = json.loads(session_file.read_text())
    host, _, port = connect.partition("/")[0].rpartition(":")
    request = struct.pack(">iiqiqi16s?", 45, 0, 0, 4000, stored["id"], 16, bytes.fromhex(stored["password"]), False)
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        received = b""
        with socket.create_connection((host, int(port)), timeout=DEADLINE_S) as connection:
            connection.sendall(request + struct.pack(">iii", 8, 1, CLOSE_SESSION))
            try:
                while data := connection.recv(4096):
                    received += data
            except ConnectionResetError:
                pass
        if len(received) >= TIMEOUT_POSITION + 4 and struct.unpack_from(">i", received, TIMEOUT_POSITION) == (0,):
            return
    raise AssertionError("the session is still there")
