"""Messages between the driver and its task workers: a length of 8 bytes, then a pickle.

Both ends are processes of one program on one host, over pipes that no other process holds.
"""

from __future__ import annotations

import pickle
from typing import Any, BinaryIO

from headrace.limits import LOAD_MESSAGE_BYTES_MAX

LENGTH_BYTES = 8


def encoded(message: Any) -> bytes:
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    assert len(data) <= LOAD_MESSAGE_BYTES_MAX
    return len(data).to_bytes(LENGTH_BYTES, "little") + data


def read_message(stream: BinaryIO) -> Any:
    """The next message, waiting for it. raises EOFError"""
    length = int.from_bytes(_exactly(stream, LENGTH_BYTES), "little")
    return pickle.loads(_exactly(stream, length))


def _exactly(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


class FrameBuffer:
    """What was received, until a message is whole."""

    def __init__(self) -> None:
        self._data = bytearray()

    def add(self, data: bytes) -> list[Any]:
        """The messages that are whole now."""
        self._data += data
        found = []
        while len(self._data) >= LENGTH_BYTES:
            end = LENGTH_BYTES + int.from_bytes(self._data[:LENGTH_BYTES], "little")
            if len(self._data) < end:
                break
            found.append(pickle.loads(self._data[LENGTH_BYTES:end]))
            del self._data[:end]
        return found
