"""Frames of a byte stream, without the stream: bytes in, frames out; frames in, bytes out.

Pure: the owner of a socket asks where the next bytes go, and says how many came; asks what is to be sent, and says how many
were taken. Nothing here waits, and no byte is copied between the socket and the frame but those at an edge of a buffer.

    in     socket.recv_into(room()) -> received(count) -> next_frame() or next_response(), until None
    out    put(frame) ... gather() -> socket.sendmsg(parts) -> sent(count)

    FrameBuffer      the bytes of frames that arrive; its owner finds the frames (a network worker's connection)
    FrameReader      finds them, and refuses an invalid size
    ResponseReader   a client's end: knows what was asked, and whose answer each frame is
    SendQueue        what is to be sent, by whatever part of it the socket takes

A client's end, theory and table. A broker answers the requests of a connection in their order, so a response belongs to the
request that was sent first of those that have none. Nothing is ever skipped: an invalid response ends the connection.

    next bytes \\ requests without a response    none                     some, the first has id n
    fewer than 8                                wait                     wait
    TLS, HTTP, SSH; a size out of bounds        BadFrame                 BadFrame
    a head with id n                            BadFrame, not asked      the response of n, when it is whole
    a head with another id                      BadFrame, not asked      BadFrame, n is due

TLS fits beside it (`Transform`): the socket's bytes are fed to it and come out into `room()`, what `gather` gives goes into it,
and what it has for the socket is a SendQueue of its own.

Model: h11, `asyncio.BufferedProtocol`. Source: Kafka `NetworkReceive`, `NetworkSend`, `InFlightRequests`, `NetworkClient.parseResponse`.
"""

from __future__ import annotations

from collections import deque
from struct import Struct
from typing import Any, Final, NamedTuple, Protocol

from headrace.errors import BadFrame
from headrace.limits import (
    FRAME_BYTES_AT_ONCE_MAX,
    IOV_MAX,
    RECEIVE_BYTES_BUSY,
    RECEIVE_BYTES_FIRST,
    RECEIVE_BYTES_HEAD,
    RECEIVE_BYTES_KEPT,
    RESPONSE_BYTES_MAX,
)
from headrace.protocol.frames import describe_foreign, parse_response_header, unpack_size

SIZE_BYTES: Final = 4  # before each frame
REQUEST_HEAD_BYTES: Final = 8  # the shortest request: api key, version, correlation id
RESPONSE_HEAD_BYTES: Final = 4  # the shortest response: its correlation id
_FOREIGN_BYTES: Final = 16  # enough to know another protocol by
_CORRELATION_IDS: Final = 1 << 31  # an int32 from 0 on, then again

_HEAD: Final = Struct(">ii")
_new: Final = tuple.__new__  # a third of the time of a NamedTuple's own constructor

Part = bytes | bytearray | memoryview


def unpack_head(buffer: memoryview, position: int) -> tuple[int, int]:
    """Size and correlation id: what a response begins with. raises struct.error"""
    return _HEAD.unpack_from(buffer, position)


def next_correlation_id(last: int) -> int:
    """The one of the next request of a connection; after 2^31 they begin again."""
    return (last + 1) % _CORRELATION_IDS


class FrameBuffer:
    """The bytes that were received and not taken yet.

        buffer   | consumed | frame | frame | half a fra |   free   |
                 0          start                        end        len(buffer)

    It grows with what arrives, not with what a frame announces. Up to RECEIVE_BYTES_BUSY it grows where the socket had more than
    fitted, so that one `recv` takes several frames.
    """

    __slots__ = ("_buffer", "_end", "_start", "_was_filled")

    def __init__(self, first_bytes: int = RECEIVE_BYTES_FIRST) -> None:
        self._buffer = memoryview(bytearray(first_bytes))
        self._start = 0
        self._end = 0
        self._was_filled = False  # by the last receive: there may be more in the socket

    def _is_kept(self, capacity: int) -> bool:
        """Whether an empty buffer above RECEIVE_BYTES_BUSY is used again; False lets go of it."""
        return capacity <= RECEIVE_BYTES_KEPT

    def _make_room(self) -> None:
        """Free space after `end`: move what is left to the front, and grow the buffer where it is full."""
        start, end = self._start, self._end
        capacity = len(self._buffer)
        wanted = (
            min(2 * capacity, RECEIVE_BYTES_BUSY) if self._was_filled and capacity < RECEIVE_BYTES_BUSY else capacity
        )
        if start == end:
            if capacity > RECEIVE_BYTES_BUSY and not self._is_kept(capacity):
                self._buffer = memoryview(bytearray(RECEIVE_BYTES_BUSY))
            elif wanted > capacity:
                self._buffer = memoryview(bytearray(wanted))
            self._start = self._end = 0
            return
        if start == 0 and end < capacity:
            return
        left = end - start
        needed = SIZE_BYTES
        if left >= SIZE_BYTES:
            size = unpack_size(self._buffer, start)
            needed = min(SIZE_BYTES + size, max(capacity, 2 * left))
        if start == 0 or needed > capacity or wanted > capacity:
            grown = bytearray(max(needed, wanted))
            grown[:left] = self._buffer[start:end]
            self._buffer = memoryview(grown)
        elif capacity - start >= needed and end < capacity:
            return  # the rest of the frame fits where it is
        else:
            self._buffer[:left] = self._buffer[start:end]
        self._start, self._end = 0, left


class FrameReader(FrameBuffer):
    """Whole frames out of what a socket receives.

    One that the buffer does not hold gets memory of its own, on the word of its size up to `at_once_bytes`; beyond, the
    buffer grows with what arrives.

    head_bytes        of the shortest frame
    frame_bytes_max   a larger one is refused before memory is taken for it
    """

    __slots__ = ("_at_once_bytes", "_frame_bytes_max", "_head_bytes", "_target", "_target_bytes")

    def __init__(
        self,
        head_bytes: int = REQUEST_HEAD_BYTES,
        frame_bytes_max: int = RESPONSE_BYTES_MAX,
        at_once_bytes: int = FRAME_BYTES_AT_ONCE_MAX,
    ) -> None:
        super().__init__(RECEIVE_BYTES_HEAD)
        self._head_bytes = head_bytes
        self._frame_bytes_max = frame_bytes_max
        self._at_once_bytes = at_once_bytes
        self._target: memoryview | None = None  # all of the frame that arrives, where it does not come into the buffer
        self._target_bytes = 0  # of it that are there

    def room(self) -> memoryview:
        """Where the next bytes go, never empty; asked when there is no whole frame any more.

        What was handed out of the buffer is gone then, unless it is `own`.
        """
        if self._target is not None:
            return self._target[self._target_bytes :]
        self._make_room()
        return self._buffer[self._end :]

    def received(self, count: int) -> bool:
        """`count` bytes were put into the last `room`; returns whether there may be a whole frame now."""
        if self._target is not None:
            self._target_bytes += count
            assert self._target_bytes <= len(self._target), "more than there was room for"
            return self._target_bytes == len(self._target)
        self._end = end = self._end + count
        assert end <= len(self._buffer), "more than there was room for"
        self._was_filled = end == len(self._buffer)
        return True

    def next_frame(self) -> memoryview | None:
        """The next whole frame without its size, None where it is not all here yet.

        raises   BadFrame, for an invalid size
        """
        if self._target is not None:
            if self._target_bytes < len(self._target):
                return None
            frame, self._target = self._target, None
            return frame
        start = self._start
        available = self._end - start
        if available < SIZE_BYTES:
            return None
        size = unpack_size(self._buffer, start)
        if not self._head_bytes <= size <= self._frame_bytes_max:
            self._refuse(size)
        if available - SIZE_BYTES < size:
            if len(self._buffer) - SIZE_BYTES < size <= self._at_once_bytes:
                self._divert(memoryview(bytearray(size)), available)
            return None
        self._start = end = start + SIZE_BYTES + size
        return self._buffer[start + SIZE_BYTES : end]

    def _divert(self, target: memoryview, available: int) -> None:
        """Receive the frame that has begun to arrive into `target`, which has its size; `available` bytes of it are here."""
        here = available - SIZE_BYTES
        target[:here] = self._buffer[self._start + SIZE_BYTES : self._end]
        self._target = target
        self._target_bytes = here
        self._start = self._end = 0
        if len(target) > 2 * RECEIVE_BYTES_FIRST:
            self._was_filled = (
                False  # by a large frame, which is better off on its own: the buffer need not grow for it
            )

    def own(self, frame: memoryview) -> memoryview:
        """What was handed out of a frame, to be kept: copied, where it lies in the buffer."""
        return memoryview(bytearray(frame)) if frame.obj is self._buffer.obj else frame

    def _refuse(self, size: int) -> None:
        """raises   BadFrame, for an invalid size"""
        foreign = describe_foreign(bytes(self._buffer[self._start : min(self._end, self._start + _FOREIGN_BYTES)]))
        if foreign:
            raise BadFrame(f"{foreign} instead of a frame")
        raise BadFrame(f"frame size {size} is not in {self._head_bytes}..{self._frame_bytes_max}")


class Asked(NamedTuple):
    """A request that a response is due for.

    what   the asker's own; comes back with the response
    into   where a response that fits is received, its size or its header first; it stays there
    """

    correlation_id: int
    api_key: int
    version: int
    what: Any
    into: memoryview | None


class Response(NamedTuple):
    """A response without its header; valid until the next `room`, unless it was received `into` its asker's memory."""

    asked: Asked
    body: Any  # a memoryview: of those mypyc makes no field of a NamedTuple


class ResponseReader(FrameReader):
    """A client's end of one connection: which request's response comes next.

    A response that its asker gave memory for is received there from its first byte on, where it is the only one that is due:
    that memory is the buffer until the frame is whole, or turns out to be too large for it.

    address   of the broker, for what is said of it
    """

    __slots__ = ("_address", "_asked", "_is_head_checked", "_own")

    def __init__(self, address: str, frame_bytes_max: int = RESPONSE_BYTES_MAX) -> None:
        super().__init__(RESPONSE_HEAD_BYTES, frame_bytes_max)
        self._address = address
        self._asked: deque[Asked] = deque()  # those without a response, the first one first
        self._is_head_checked = False  # of the frame that comes next
        self._own: memoryview | None = None  # the buffer, while the asker's memory is in its place

    def room(self) -> memoryview:
        if self._own is None and self._target is None and self._start == self._end and len(self._asked) == 1:
            into = self._asked[0].into
            if into is not None and len(into) >= len(self._buffer):
                self._own, self._buffer = self._buffer, into
                self._start = self._end = 0
        if self._own is not None:
            return self._buffer[self._end :]
        return super().room()

    def __len__(self) -> int:
        """Requests without a response."""
        return len(self._asked)

    def expect(
        self, correlation_id: int, api_key: int, version: int, what: object = None, into: memoryview | None = None
    ) -> None:
        """A request was queued that will have a response. In the order in which they are sent."""
        self._asked.append(_new(Asked, (correlation_id, api_key, version, what, into)))

    @property
    def buffered_bytes(self) -> int:
        """Received and not taken: of the next response, and of what comes after it."""
        return self._target_bytes if self._target is not None else self._end - self._start

    @property
    def missing_bytes(self) -> int:
        """Of the response that has begun to arrive, what the socket still has to bring; 0 where that is not known."""
        if self._target is not None:
            return len(self._target) - self._target_bytes
        if not self._is_head_checked:
            return 0
        size = unpack_size(self._buffer, self._start)
        return max(SIZE_BYTES + size - (self._end - self._start), 0)

    def give_up(self) -> list[Asked]:
        """The connection is gone: what no response comes for any more."""
        asked = list(self._asked)
        self._asked.clear()
        return asked

    def next_response(self) -> Response | None:
        """The next whole response, None where it is not all here yet.

        raises   BadFrame, for an invalid one, as soon as its head is here
        """
        if not self._is_head_checked and not self._check_head():
            return None
        frame = self.next_frame()
        if frame is None:
            return None
        self._is_head_checked = False
        asked = self._asked.popleft()
        into = asked.into
        if self._own is not None:
            self._take_back(self._own)
        elif into is not None and len(frame) <= len(into) and frame.obj is self._buffer.obj:
            into[: len(frame)] = frame
            frame = into[: len(frame)]
        _id, position = parse_response_header(frame, asked.api_key, asked.version)
        return _new(Response, (asked, frame[position:]))

    def _check_head(self) -> bool:
        """Whether the head of the next frame is here, and is right."""
        available = self._end - self._start
        if available < SIZE_BYTES + RESPONSE_HEAD_BYTES:
            if available >= SIZE_BYTES:
                size = unpack_size(self._buffer, self._start)
                if not RESPONSE_HEAD_BYTES <= size <= self._frame_bytes_max:
                    self._refuse(size)
            return False
        size, correlation_id = unpack_head(self._buffer, self._start)
        if not RESPONSE_HEAD_BYTES <= size <= self._frame_bytes_max:
            self._refuse(size)
        if not self._asked:
            raise BadFrame(f"correlation id {correlation_id} from {self._address}, no request is in flight")
        asked = self._asked[0]
        if correlation_id != asked.correlation_id:
            raise BadFrame(f"correlation id {correlation_id} from {self._address}, expected {asked.correlation_id}")
        self._is_head_checked = True
        if available - SIZE_BYTES < size:
            into = asked.into
            if self._own is not None:
                if SIZE_BYTES + size <= len(self._buffer):
                    return False
                self._take_back(self._own)
            if into is not None and size <= len(into):
                self._divert(into[:size], available)
                return False
            if len(self._buffer) - SIZE_BYTES < size <= self._at_once_bytes:
                self._divert(memoryview(bytearray(size)), available)
                return False
        return True

    def _take_back(self, own: memoryview) -> None:
        """The buffer is our own again, with what was received and not taken."""
        left = self._end - self._start
        if left > len(own):
            own = memoryview(bytearray(left))
        own[:left] = self._buffer[self._start : self._end]
        self._own, self._buffer = None, own
        self._start, self._end = 0, left

    def _refuse(self, size: int) -> None:
        foreign = describe_foreign(bytes(self._buffer[self._start : min(self._end, self._start + _FOREIGN_BYTES)]))
        if foreign:
            raise BadFrame(f"{self._address} answered with {foreign}: it is not a plaintext Kafka listener")
        raise BadFrame(f"invalid response size {size} bytes from {self._address}")


class SendQueue:
    """Bytes to send, in order.

    unsent_bytes   that the socket has not taken
    taken_bytes    that it has, ever. What was put when `taken_bytes + unsent_bytes` was n is all out when `taken_bytes` is n
    """

    __slots__ = ("_parts", "taken_bytes", "unsent_bytes")

    def __init__(self) -> None:
        self._parts: deque[Part] = deque()
        self.unsent_bytes = 0
        self.taken_bytes = 0

    def put(self, part: Part) -> int:
        """Queue bytes, which stay as they are until they are sent; returns what `taken_bytes` will be then."""
        if len(part):
            self._parts.append(part)
            self.unsent_bytes += len(part)
        return self.taken_bytes + self.unsent_bytes

    def gather(self) -> list[Part]:
        """What to send next, for `sendmsg`; empty where nothing is left."""
        parts = self._parts
        return list(parts) if len(parts) <= IOV_MAX else [parts[index] for index in range(IOV_MAX)]

    def sent(self, count: int) -> None:
        """`count` bytes of what was gathered were taken."""
        assert count <= self.unsent_bytes, "more than there was"
        self.unsent_bytes -= count
        self.taken_bytes += count
        parts = self._parts
        while count:
            first = parts.popleft()
            if len(first) > count:
                parts.appendleft(memoryview(first)[count:])
                return
            count -= len(first)


class Transform(Protocol):
    """What stands between the bytes of a socket and those of the stream, as TLS does.

    outgoing   what it has for the socket: what was written, and what is its own (a handshake)
    """

    outgoing: SendQueue

    def feed(self, received: memoryview) -> None:
        """Bytes of the socket; all of them are taken. raises   BadFrame, where they are invalid"""

    def read_into(self, room: memoryview) -> int:
        """Bytes of the stream; 0 where there are none until more is fed."""

    def write(self, part: Part) -> int:
        """How many bytes of the stream it takes; 0 where it takes none until more is fed."""
