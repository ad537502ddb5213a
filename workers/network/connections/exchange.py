"""One request of a connection and the place of its response.

Runs in: a network worker. Responses leave in the order of the requests whatever order they become ready in:
an exchange is in its connection's queue from the moment its frame was read, and holds the queue until it
is answered.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import TYPE_CHECKING, Final

from headrace.workers.network.connections.outbox import FilePart

if TYPE_CHECKING:
    from headrace.workers.network.connections.connection import Connection

_HEADER_V0: Final = Struct(">ii")  # frame size, correlation id
_HEADER_V1: Final = Struct(">iix")  # the same and an empty tag section

Part = bytes | bytearray | memoryview | FilePart


class Exchange:
    """A request, and its response."""

    __slots__ = ("api_key", "api_version", "connection", "correlation_id", "header", "memory_bytes", "parts")

    def __init__(
        self, connection: Connection, api_key: int, api_version: int, correlation_id: int, is_flexible: bool
    ) -> None:
        self.connection = connection
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id
        self.header = _HEADER_V1 if is_flexible else _HEADER_V0
        self.parts: Sequence[Part] | None = None
        self.memory_bytes = 0  # of the parts that are no ranges of files

    @property
    def is_flexible(self) -> bool:
        """Whether the response is of a version with tags; of all APIs but ApiVersions, the request too."""
        return self.header is _HEADER_V1

    def answer(self, body: Sequence[Part]) -> None:
        """Give the response body; the connection sends it when its turn comes."""
        size = self.header.size - 4
        memory_bytes = self.header.size
        for part in body:
            size += len(part)
            if type(part) is not FilePart:
                memory_bytes += len(part)
        self._settle((self.header.pack(size, self.correlation_id), *body), memory_bytes)

    def answer_bytes(self, body: bytes) -> None:
        """`answer` for a body in one piece: header and body as one buffer."""
        header = self.header
        buffer = header.pack(header.size - 4 + len(body), self.correlation_id) + body
        self._settle((buffer,), len(buffer))

    def answer_frame(self, frame: bytearray) -> None:
        """`answer` for a whole frame, with its size and header."""
        self._settle((frame,), len(frame))

    def answer_parts(self, parts: Sequence[Part], memory_bytes: int) -> None:
        """`answer_frame` for a frame in parts.

        memory_bytes   of the parts that are no ranges of files
        """
        self._settle(parts, memory_bytes)

    def answer_nothing(self) -> None:
        """The request wants no response (acks=0): give up its place."""
        self._settle((), 0)

    def close_connection(self, reason: str) -> None:
        """No answer is right: the connection closes, as Kafka does for what it does not know."""
        self.connection.condemn(reason)

    def _settle(self, parts: Sequence[Part], memory_bytes: int) -> None:
        self.parts = parts
        self.memory_bytes = memory_bytes
        self.connection.hold(memory_bytes)
