"""Ends somebody else's ZooKeeper session, as if it had expired.

Connect and close travel together, so that the owner has no chance to take its session back in between.

Source: ZooKeeper `zookeeper.jute` (ConnectRequest, RequestHeader).
"""

from __future__ import annotations

import json
import socket
import struct
from pathlib import Path

from waiting import DEADLINE_S

CLOSE_SESSION = -11


def end_session(connect: str, session_file: Path) -> None:
    """The session of a `.headrace-session` file is over when this returns."""
    stored = json.loads(session_file.read_text())
    host, _, port = connect.partition("/")[0].rpartition(":")
    request = struct.pack(">iiqiqi16s?", 45, 0, 0, 4000, stored["id"], 16, bytes.fromhex(stored["password"]), False)
    with socket.create_connection((host, int(port)), timeout=DEADLINE_S) as connection:
        connection.sendall(request + struct.pack(">iii", 8, 1, CLOSE_SESSION))
        while connection.recv(4096):
            pass
