"""One client connection: bytes in, frames out; responses in order, bytes out.

Runs in: a network worker. What it receives lies in a `FrameBuffer` (`protocol/stream.py`), which grows with what arrives, not
with what a frame announces. A frame is handed on as a memoryview of the buffer. While a request is stalled on a full ring its view is
still needed: nothing is received and nothing moved until it went through. One that brings large batches receives into the worker's
arena (`placed_frames.py`), and what a partition worker was notified of there stays where it is.

A frame above RECEIVE_BYTES_BUSY that the arena does not hold has its size set aside first (`frame_memory.py`).

Bounds: PIPELINED_REQUESTS_MAX open exchanges, OUTBOX_BYTES_MAX of unsent memory, in the outbox or after an exchange
that waits; beyond either the connection is not read. Nor is it after a request of LARGE_ANSWERS until that is answered,
so that the bound is passed by one such answer at most, not by one for each request in flight.
"""

from __future__ import annotations

import logging
import socket
from collections import deque
from collections.abc import Callable
from typing import Final

from headrace.errors import BadFrame, CorruptRing, Fenced
from headrace.limits import (
    FRAME_PATIENCE_MS,
    OUTBOX_BYTES_MAX,
    PARKED_PARTITIONS_MAX,
    PIPELINED_REQUESTS_MAX,
    RECEIVE_BYTES_BUSY,
    RECEIVE_BYTES_FIRST,
    RECEIVE_BYTES_KEPT,
    TRICKLE_DEADLINE_MS,
)
from headrace.memory import is_at, view
from headrace.protocol.apis import ApiKey
from headrace.protocol.frames import CLIENT_ID_POSITION, NO_CLIENT_ID, describe_foreign, unpack_size
from headrace.protocol.stream import REQUEST_HEAD_BYTES
from headrace.shm.cluster_view import ViewError
from headrace.shm.region import RegionError
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.connections.frame_memory import FRAMES_BY_DEFAULT, FrameMemory
from headrace.workers.network.connections.outbox import Outbox
from headrace.workers.network.connections.placed_frames import PlacedFrames
from headrace.workers.network.connections.receive_arena import ReceiveArena
from headrace.workers.network.produce.produce_request import LastName
from headrace.workers.network.produce.produce_template import ProduceTemplate
from headrace.workers.network.produce.refused_batches import Missing, Refused

LARGE_ANSWERS: Final = frozenset(
    {
        ApiKey.OFFSET_FETCH,
        ApiKey.JOIN_GROUP,
        ApiKey.SYNC_GROUP,
        ApiKey.DESCRIBE_GROUPS,
        ApiKey.LIST_GROUPS,
        ApiKey.DESCRIBE_PRODUCERS,
        ApiKey.LIST_OFFSETS,
        ApiKey.OFFSET_FOR_LEADER_EPOCH,
    }
)  # whatever the request's size, or the time that it takes (`look_ups.py`)

SHARED_FAILURES: Final = (
    CorruptRing,
    Fenced,
    RegionError,
    ViewError,
)  # of what processes share, whichever request met them

_NO_BUFFER: Final = memoryview(b"")
_log: Final = logging.getLogger(__name__)

# (process_id, kind, header, payload): ring messages that found no room yet
Stalled = deque[tuple[int, int, bytes, memoryview | bytes | bytearray | None]]


class Connection(PlacedFrames):
    """State of one socket; the loop calls in, nothing here waits.

    Who writes what: everything is written by the methods here, but

    a00_produce.py        template, missing
    produce_ledger.py     produces, missing
    broker_addresses.py   addresses_version, may_be_broker
    loop.py               cycle, cycle_requests, registered_events, last_active_ms, sending_since_ms, is_closed: its own notes
    ring_sender.py        stalled: its queue for this connection
    """

    __slots__ = (
        "_client_id_bytes",
        "_client_id_end",
        "_dirty",
        "_large",
        "_memory",
        "_set_aside",
        "addresses_version",
        "client_id",
        "condemned",
        "cycle",
        "cycle_requests",
        "exchanges",
        "fd",
        "frame_bytes_max",
        "frame_since_ms",
        "held_bytes",
        "is_closed",
        "is_short",
        "last_active_ms",
        "last_topic",
        "may_be_broker",
        "missing",
        "order",
        "outbox",
        "parked_partitions",
        "peer",
        "postponed",
        "produces",
        "refused",
        "registered_events",
        "sending_since_ms",
        "serial",
        "sock",
        "stalled",
        "template",
    )

    def __init__(
        self,
        sock: socket.socket,
        peer: str,
        serial: int,
        frame_bytes_max: int,
        dirty: set[Connection],
        now_ms: int,
        memory: FrameMemory | None = None,
        arena: ReceiveArena | None = None,
    ) -> None:
        super().__init__(arena)
        self.sock = sock
        self.fd = sock.fileno()
        self.peer = peer
        self.client_id: str | None = None  # of the last request
        self._client_id_bytes = b""
        self._client_id_end = NO_CLIENT_ID
        self.serial = serial
        self.frame_bytes_max = frame_bytes_max
        self.order = 0  # CLOCK_MONOTONIC in ns when its first answer was written; 0: none was
        self.outbox = Outbox()
        self.exchanges: deque[Exchange] = deque()  # add by `expect`
        self._large: Exchange | None = None  # the last one whose answer may be large
        self.held_bytes = 0  # of answers that wait for their turn, file ranges not counted
        self.refused: Refused = {}
        self.missing: Missing = {}
        self.produces = 0  # that have no result yet
        self.postponed: Callable[[], None] | None = None  # the request that waits for these
        self.last_topic = LastName()
        self.template: ProduceTemplate | None = None  # of its last produce
        self.addresses_version = 0  # of brokers, as of which:
        self.may_be_broker = False
        self.parked_partitions = 0  # that its fetches wait for, each as often as it is waited for
        self.stalled: Stalled = deque()
        self.condemned: str | None = None
        self.cycle = 0  # of the loop, in which it was served last
        self.cycle_requests = 0  # that were taken in it
        self.is_closed = False  # answers may still come; the descriptor may be another connection's by then
        self.registered_events = 0
        self.last_active_ms = now_ms
        self.frame_since_ms = 0  # when the frame that is not whole yet began; 0: none
        self.sending_since_ms = 0  # since when the socket takes nothing; 0: it does
        self._dirty = dirty
        self._memory = FrameMemory(FRAMES_BY_DEFAULT * frame_bytes_max) if memory is None else memory
        self._set_aside = 0  # bytes of it, for a frame or buffer above RECEIVE_BYTES_BUSY
        self.is_short = False  # waits for memory for the frame that comes next, and is not read until then

    @property
    def can_take_requests(self) -> bool:
        return (
            not self.is_closed
            and not self.stalled
            and self.postponed is None
            and self.condemned is None
            and len(self.exchanges) < PIPELINED_REQUESTS_MAX
            and self.outbox.memory_bytes + self.held_bytes < OUTBOX_BYTES_MAX
            and (self._large is None or self._large.parts is not None)
            and self.parked_partitions < PARKED_PARTITIONS_MAX
        )

    @property
    def is_only_waiting(self) -> bool:
        """Whether nothing is received until something is answered, nor anything waits for a ring."""
        return self.is_short or (not self.can_take_requests and not self.stalled)

    @property
    def unsent_bytes(self) -> int:
        """Memory that answers take."""
        return self.outbox.memory_bytes + self.held_bytes

    @property
    def set_aside_bytes(self) -> int:
        """Of the memory for large frames, what this one has."""
        return self._set_aside

    @property
    def has_bytes(self) -> bool:
        """Whether received bytes wait that are not part of a handled frame."""
        return self._end > self._start

    def note_client(self, frame: memoryview, end: int) -> None:
        """The client id of a request ends here in its frame; clients say the same one in each.

        end   NO_CLIENT_ID: it is null. One that is not UTF-8 is accepted, as in Kafka: it is only a name for people
        """
        if end == self._client_id_end and (end < 0 or is_at(frame, CLIENT_ID_POSITION, self._client_id_bytes)):
            return
        self._client_id_end = end
        self._client_id_bytes = b"" if end < 0 else bytes(frame[CLIENT_ID_POSITION:end])
        self.client_id = None if end < 0 else self._client_id_bytes.decode("utf-8", "replace")

    def expect(self, exchange: Exchange) -> None:
        """A request was read: its response takes its place after those of the others."""
        self.exchanges.append(exchange)
        if exchange.api_key in LARGE_ANSWERS:
            self._large = exchange

    def hold(self, memory_bytes: int) -> None:
        """An exchange was answered: so much memory waits until its turn comes."""
        self.held_bytes += memory_bytes
        if not self.is_closed:
            self._dirty.add(self)

    def park(self, partitions: int) -> None:
        """A fetch waits for this number of partitions, or (negative) no longer waits."""
        self.parked_partitions += partitions

    def postpone(self, serve: Callable[[], None]) -> None:
        """Serve a request once the produces before it have their results, and take no other one until then.

        Clients see one order on a connection: what they have produced, they read, and find in the log's end.
        """
        assert self.postponed is None
        self.postponed = serve

    def settle_produce(self) -> None:
        """A produce has its results. raises what `contain` raises"""
        self.produces -= 1
        if self.produces or self.postponed is None:
            return
        serve, self.postponed = self.postponed, None
        if self.is_closed or self.condemned is not None:
            return
        try:
            serve()
        except BadFrame as failure:
            self.condemn(f"bad frame: {failure}")
        except Exception as failure:
            self.contain(failure)
        self.mark_dirty()

    def restart_frame_clock(self, now_ms: int) -> None:
        """We paused reading: that time is not the peer's, who owes the rest of a frame."""
        self.frame_since_ms = now_ms

    def mark_dirty(self) -> None:
        """Have the loop settle this connection at the end of its cycle."""
        if not self.is_closed:
            self._dirty.add(self)

    def has_left(self) -> bool:
        """Whether the peer has closed and left no more requests; asked where nothing is received that would tell."""
        try:
            return not self.sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except OSError:
            return False  # nothing there; what is broken is told as an event

    def condemn(self, reason: str) -> None:
        """Close at the end of the cycle; the first reason is the one that is logged."""
        if self.condemned is None:
            self.condemned = reason
        self.mark_dirty()

    def contain(self, failure: Exception) -> None:
        """A request of this connection failed in a way that is ours to mend: that ends this connection and no other.

        raises   the failure, where memory that processes share is not as it has to be: the successor gets it as new
        """
        if isinstance(failure, SHARED_FAILURES):
            raise failure
        _log.error("handler failed, closing the connection peer=%s", self.peer, exc_info=failure)
        self.condemn("a handler failed")

    def receive(self) -> int:
        """One `recv_into`; 0 means the peer closed. Only while the connection can take requests.

        raises   BlockingIOError, where nothing was there; OSError, where the connection broke
        """
        assert not self.stalled
        if self.is_placing:
            stop = self._make_place()
        else:
            self._make_room()
            stop = len(self._buffer)
        end = self._end
        assert end < stop
        count = self.sock.recv_into(view(self._buffer, end, stop))
        self._end = end = end + count
        self._was_filled = end == len(self._buffer)
        return count

    def next_frame(self, now_ms: int) -> memoryview | None:
        """The next whole frame without its size, None where it is not all here yet.

        raises   BadFrame, for a size below REQUEST_HEAD_BYTES or above socket.request.max.bytes
        """
        start = self._start
        available = self._end - start
        if available < 4:
            if available and not self.frame_since_ms:
                self.frame_since_ms = now_ms
            return None
        size = unpack_size(self._buffer, start)
        if not REQUEST_HEAD_BYTES <= size <= self.frame_bytes_max:
            head = bytes(self._buffer[start : min(self._end, start + 16)])
            foreign = describe_foreign(head)
            if foreign:
                raise BadFrame(f"{foreign} on a PLAINTEXT listener")
            raise BadFrame(f"frame size {size} is not in {REQUEST_HEAD_BYTES}..{self.frame_bytes_max}")
        if available - 4 < size:
            if not self.frame_since_ms:
                self.frame_since_ms = now_ms
            if 4 + size > RECEIVE_BYTES_BUSY and not self.is_short:
                lacking = 4 + size - self._set_aside
                if self._is_placed(4 + size):
                    self._give_memory_back()
                elif lacking > 0:
                    self._set_memory_aside(lacking)
            return None
        self.frame_since_ms = 0
        self._large_bytes = 4 + size if 4 + size > RECEIVE_BYTES_BUSY else 0
        self._start = end = start + 4 + size
        return view(self._buffer, start + 4, end)

    def queue_ready_responses(self) -> None:
        """Move the answered exchanges at the head of the queue into the outbox."""
        exchanges = self.exchanges
        outbox = self.outbox
        while exchanges:
            first = exchanges[0]
            parts = first.parts
            if parts is None:
                return
            exchanges.popleft()
            if first is self._large:
                self._large = None  # it holds its answer
            self.held_bytes -= first.memory_bytes
            for part in parts:
                outbox.put(part)

    def close(self) -> None:
        """Hang up. Open exchanges refer to the connection: without them it is freed at once, not by the collector.

        An exchange that another process is to answer stays until it is, which may take minutes (JoinGroup), and the
        connection with it, so what that received and has not sent goes now.
        """
        self.exchanges.clear()
        self._large = None
        self.order = 0  # CLOCK_MONOTONIC in ns when its first answer was written; 0: none was
        self.outbox = Outbox()
        self._let_block_go()
        self._buffer = _NO_BUFFER
        self._start = self._end = 0
        self._give_memory_back()
        self.sock.close()

    def let_in(self, size_bytes: int) -> None:
        """The memory that was waited for is set aside: resume reading."""
        self._set_aside += size_bytes
        self.is_short = False
        self.mark_dirty()

    def is_behind(self, now_ms: int) -> bool:
        """Whether a frame that has memory set aside comes too slowly to be whole at its deadline."""
        paced_ms = now_ms - self.frame_since_ms - FRAME_PATIENCE_MS
        available = self._end - self._start
        if not (self.frame_since_ms and self._set_aside) or paced_ms <= 0 or available < 4:
            return False
        size = unpack_size(self._buffer, self._start)
        return available * TRICKLE_DEADLINE_MS < (4 + size) * paced_ms

    def shrink(self) -> None:
        """Give a large buffer back; called while the connection idles."""
        if len(self._buffer) > RECEIVE_BYTES_FIRST and self._start == self._end and not self.stalled:
            self._let_block_go()
            self.is_placing = False
            self._buffer = memoryview(bytearray(RECEIVE_BYTES_FIRST))
            self._start = self._end = 0
            self._give_memory_back()

    def _drop_own(self) -> None:
        self._give_memory_back()

    def _set_memory_aside(self, size_bytes: int) -> None:
        """Memory for a large frame; where there is none, the connection is not read until there is."""
        if self._memory.take(self, size_bytes):
            self._set_aside += size_bytes
        else:
            self.is_short = True
            self.mark_dirty()

    def _is_kept(self, capacity: int) -> bool:
        if capacity <= RECEIVE_BYTES_KEPT and not self._memory.waiting:
            return True
        self._give_memory_back()
        return False

    def _give_memory_back(self) -> None:
        if self._set_aside:
            self._memory.give(self._set_aside)
            self._set_aside = 0
