"""What a connection still has to send: bytes from memory and ranges of segment files, in order.

Runs in: a network worker. Memory parts are joined and sent in one `send`; file parts go by `sendfile`, so
that record bytes never enter this process. MSG_MORE holds the head of a response back until its records follow in the same
segment; what follows them, the few bytes at a response's end, is kept in it by TCP_CORK, where the range is short
(OUTBOX_CORKED_BYTES_MAX): a segment of its own would wake the reader once more. A range that fills the socket is never corked: each
call would end with a segment cut short, and a socket that is paced (BBR) sets a timer for each (docs/decisions/016).

The owner of a connection asks `memory_bytes` before it takes more requests: that is the bound for a reader
that does not read (file parts cost nothing but their place in the queue).
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
from collections import deque
from typing import Final

from headrace.limits import OUTBOX_CORKED_BYTES_MAX, OUTBOX_JOIN_BYTES_MAX, SENDFILE_BYTES_MAX

_MORE: Final = socket.MSG_MORE | socket.MSG_DONTWAIT
_NO_MORE: Final = socket.MSG_DONTWAIT


class FilePart:
    """A range of a segment file. `len()` is its length, so that the codec can place it like any records buffer.

    `segment` is whatever keeps the descriptor open; the part holds it until it is sent.
    """

    __slots__ = ("fd", "length", "position", "segment")

    def __init__(self, fd: int, position: int, length: int, segment: object) -> None:
        self.fd = fd
        self.position = position
        self.length = length
        self.segment = segment

    def __len__(self) -> int:
        return self.length


class Outbox:
    """An ordered queue of parts for one socket."""

    __slots__ = ("_file_parts", "_parts", "bytes_sent", "memory_bytes")

    def __init__(self) -> None:
        self._parts: deque[bytes | bytearray | memoryview | FilePart] = deque()
        self._file_parts = 0  # among them
        self.memory_bytes = 0
        self.bytes_sent = 0  # ever

    def __len__(self) -> int:
        return len(self._parts)

    def put(self, part: bytes | bytearray | memoryview | FilePart) -> None:
        """Queue a part; empty ones are dropped."""
        if not len(part):
            return
        if isinstance(part, FilePart):
            self._file_parts += 1
        else:
            self.memory_bytes += len(part)
        self._parts.append(part)

    def send(self, sock: socket.socket) -> bool:
        """Send until the socket is full or nothing is left.

        returns   whether everything went out
        raises    OSError, where the peer is gone; with a partition's directory as its filename, where the disk can't read a segment
        """
        if not self._file_parts or not self._is_corked():
            return self._send_parts(sock)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        try:
            return self._send_parts(sock)
        finally:
            with contextlib.suppress(OSError):  # the peer is gone
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)  # what was held back leaves

    def _is_corked(self) -> bool:
        """Whether something follows the first range, and that is short."""
        left = len(self._parts)
        for part in self._parts:
            left -= 1
            if isinstance(part, FilePart):
                return left > 0 and part.length <= OUTBOX_CORKED_BYTES_MAX
        return False

    def _send_parts(self, sock: socket.socket) -> bool:
        parts = self._parts
        budget = SENDFILE_BYTES_MAX
        while parts:
            part = parts.popleft()
            if isinstance(part, FilePart):
                try:
                    sent = os.sendfile(sock.fileno(), part.fd, part.position, min(part.length, budget))
                except BlockingIOError:
                    parts.appendleft(part)
                    return False
                except OSError as failure:
                    if failure.errno == errno.EIO:  # of the file: no socket says so
                        failure.filename = str(getattr(part.segment, "directory", "")) or None
                    raise
                if sent == 0:
                    raise OSError(f"segment shorter than announced fd={part.fd} position={part.position}")
                budget -= sent
                self.bytes_sent += sent
                if sent < part.length:  # the socket is full, or it is others' turn: the loop comes back
                    parts.appendleft(FilePart(part.fd, part.position + sent, part.length - sent, part.segment))
                    return False
                self._file_parts -= 1
                if budget <= 0:
                    return not parts
            else:
                data = self._join(part) if parts else part
                try:
                    sent = sock.send(data, _MORE if parts else _NO_MORE)
                except BlockingIOError:
                    parts.appendleft(data)
                    return False
                self.memory_bytes -= sent
                self.bytes_sent += sent
                if sent < len(data):
                    parts.appendleft(memoryview(data)[sent:])
        return True

    def _join(self, first: bytes | bytearray | memoryview) -> bytes | bytearray | memoryview:
        """`first` and the memory parts after it as one buffer, up to OUTBOX_JOIN_BYTES_MAX."""
        parts = self._parts
        if type(parts[0]) is FilePart:
            return first
        joined = [first]
        size = len(first)
        while parts and type(parts[0]) is not FilePart and size < OUTBOX_JOIN_BYTES_MAX:
            following = parts.popleft()
            assert not isinstance(following, FilePart)
            joined.append(following)
            size += len(following)
        return b"".join(joined)
