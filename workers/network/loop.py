"""The network worker's duty cycle: sockets in, rings in, rings out, sockets out.

Runs in: a network worker. One cycle:

    poller -> accept, recv, frames -> handlers -> rings written         (requests)
    answer rings polled -> exchanges answered, parked fetches woken     (results)
    rings committed, doorbells rung -> dirty connections sent           (once each)

Everything is level-triggered. A connection is registered for reading only while it may take requests, and for
writing only while its outbox holds something.

A cycle takes NETWORK_REQUESTS_PER_CYCLE_MAX requests at most, CONNECTION_REQUESTS_PER_CYCLE_MAX of one connection, and none
after NETWORK_CYCLE_MS_MAX. Look-ups that read files have a share of a cycle, and are resumed in later ones (`look_ups.py`). Connections
with more to say wait in line: those that got nothing in a cycle come first in the next. What one request does wrong closes its connection
and no other (`Connection.contain`).
"""

from __future__ import annotations

import errno
import logging
import socket
import struct
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from headrace.errors import BadFrame
from headrace.limits import (
    ACCEPTS_PER_CYCLE_MAX,
    CONNECTION_REQUESTS_PER_CYCLE_MAX,
    IDLE_WAIT_MAX_MS,
    NETWORK_CYCLE_MS_MAX,
    NETWORK_REQUESTS_PER_CYCLE_MAX,
    REQUESTS_PER_CYCLE_MAX,
    SEND_BUFFER_BYTES_MIN,
    SEND_BUFFERS_BYTES,
    TRICKLE_DEADLINE_MS,
)
from headrace.runtime.duty_cycle import Process
from headrace.runtime.peers import Peers
from headrace.runtime.poller import BROKEN, READ, WRITE, Poller
from headrace.shm.counters import (
    BYTES_IN,
    CONNECTIONS_ACCEPTED,
    CONNECTIONS_CLOSED_BAD,
    CONNECTIONS_OPEN,
    REQUESTS,
)
from headrace.shm.messages import (
    ADVANCED,
    GROWN,
    PRODUCE,
    PRODUCE_AT,
    PRODUCE_TRANSACTIONAL,
    REPLY,
    REQUEST,
    RESULT,
    RESULT_TEXT,
    SLOT_ENTRY,
)
from headrace.shm.seat import Seat
from headrace.workers.network.connections.connection import Connection
from headrace.workers.network.connections.frame_memory import FrameMemory, frame_memory_max
from headrace.workers.network.connections.receive_arena import ReceiveArena
from headrace.workers.network.context import Context
from headrace.workers.network.heap import trim_heap
from headrace.workers.network.router import route

CLOCK_MASK: Final = 3  # the time is read before each fourth request of a connection
CONNECTIONS_CHECK_INTERVAL_MS: Final = 1_000
SLOW_READER_DEADLINE_MS: Final = 60_000  # a socket that takes nothing for this long is closed
SHRINK_AFTER_IDLE_MS: Final = 10_000
CLOSED_BEFORE_TRIM: Final = 100  # connections: 2 MB, the most of a crowd that is kept once it has left
STALLED_WAIT_MAX_MS: Final = 2  # the doorbell rings when a crowded ring gets room; this is for a ring that was missed

_NO_DESCRIPTORS: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

_log: Final = logging.getLogger(__name__)


class NetworkLoop(Process):
    """Connections of one listener, and the rings of their requests."""

    def __init__(self, seat: Seat, context: Context, listener: socket.socket, poller: Poller) -> None:
        settings = context.settings
        self._seat = seat
        self._context = context
        self._listener: socket.socket | None = listener
        self._poller = poller
        peers = Peers(poller, context.clock, lambda: seat.doorbell.force())
        context.creations.use(peers)
        context.addresses.use(peers.resolver)
        self._connections: dict[int, Connection] = {}  # by serial
        self._dirty: set[Connection] = set()
        self._serial = 0
        self._next_check_ms = 0
        self._frame_bytes_max = settings["socket.request.max.bytes"]
        self._frame_memory = FrameMemory(
            frame_memory_max(settings["queued.max.request.bytes"], self._frame_bytes_max, len(seat.wiring.network_ids))
        )
        arena = seat.arenas.get(seat.process_id)
        self._arena = None if arena is None else ReceiveArena(arena.memory)
        self._connections_max = settings["max.connections"]
        self._open_counts = [seat.processes.counters(each) for each in seat.wiring.network_ids]
        self._requests = 0  # of this cycle
        self._bytes_in = 0  # of this cycle
        self._refused = 0  # connections, since the last look
        self._closed = 0  # connections, since the heap was trimmed
        self._idle_max_ms = settings["connections.max.idle.ms"]
        self._send_buffer_bytes = settings["socket.send.buffer.bytes"]
        self._shares_send_buffers = "socket.send.buffer.bytes" not in settings.explicit
        self._receive_buffer_bytes = settings["socket.receive.buffer.bytes"]
        self._is_accepting = False  # a worker without a view would say that no topic is known
        self._is_ready = False  # a view was there
        self._deferred: dict[Connection, None] = {}  # who got nothing in this cycle, in order
        self._served: dict[Connection, None] = {}  # connections with more to do, after those
        self._cycle = 0
        self._requests_left = 0  # of this cycle
        self._ends_ns = 0  # when it takes no more of them
        self._is_full = False  # it took all that it may
        self.is_draining = False
        listener.setblocking(False)
        seat.counters.add(CONNECTIONS_OPEN, -seat.counters.get(CONNECTIONS_OPEN))  # those of a predecessor
        poller.register(listener.fileno(), 0, self._accept)

    def do_work(self) -> int:
        """One cycle over what the poller found ready; 0 lets the process sleep."""
        context = self._context
        now_ns = context.clock.monotonic_ns()
        context.now_ms = now_ns // 1_000_000
        context.follow_view()
        if not self._is_ready and context.view_version > 0:
            self._begin_serving()
        if context.throttle.is_limited:
            context.throttle.tick(context.now_ms)
        context.heavy_requests = 0
        context.look_ups.begin_cycle()
        self._cycle += 1
        self._is_full = False
        self._requests_left = NETWORK_REQUESTS_PER_CYCLE_MAX
        self._ends_ns = now_ns + NETWORK_CYCLE_MS_MAX * 1_000_000
        done = self._resume() if self._deferred or self._served else 0
        done += self._poller.dispatch()
        self._seat.beat(context.clock.monotonic_ns())
        done += self.take_answers()
        for connection in context.sender.retry():
            self._take_frames(connection)
            self._dirty.add(connection)
        done += context.fetches.expire(context.now_ms, self._is_spent)
        done += context.sender.commit()
        context.mailbox.flush()
        done += context.creations.turn()
        if context.addresses.is_waiting:
            done += context.addresses.turn(context.now_ms)
        if context.broker_requests.is_waiting:
            done += context.broker_requests.turn()
        if self._frame_memory.waiting:
            self._frame_memory.admit()
        if len(context.look_ups):
            done += context.look_ups.turn(context.now_ms)
        while self._dirty:
            self._settle(self._dirty.pop())
        context.sender.commit()  # settling may have taken more frames
        self._count()
        if context.now_ms >= self._next_check_ms:
            self._next_check_ms = context.now_ms + CONNECTIONS_CHECK_INTERVAL_MS
            self._check_connections()
        return done + len(self._deferred) + len(self._served) + context.fetches.moved_count

    def _is_spent(self) -> bool:
        """Whether this cycle has done its share: what is left waits for the next one, which begins at once."""
        return (
            self._requests_left <= 0
            or self._context.heavy_requests > 0
            or self._context.clock.monotonic_ns() >= self._ends_ns
        )

    def _count(self) -> None:
        """What came in this cycle, for everyone to see."""
        if self._requests or self._bytes_in:
            self._seat.counters.add(REQUESTS, self._requests)
            self._seat.counters.add(BYTES_IN, self._bytes_in)
            self._requests = self._bytes_in = 0

    def peers_changed(self, process_ids: frozenset[int]) -> None:
        """Fail what was in flight to processes that died."""
        wiring = self._seat.wiring
        for process_id in process_ids:
            self._context.sender.forget(process_id)
            self._context.mailbox.forget(process_id)
            if process_id != wiring.controller_id:
                self._context.produce.fail_owner(process_id)
                self._context.fetches.retry_all()
                self._context.fetches.wake(self._context.sessions.retry_all())

    def look_again(self) -> int:
        """The answer rings, and whether the view moved: all that peers ring for. Sockets are found by the sleep itself."""
        return self.take_answers() + (self._seat.view.version() != self._context.view_version)

    def take_answers(self) -> int:
        """Drain the answer rings."""
        done = 0
        for process_id, reader in self._seat.readers.items():
            answers = reader.poll(REQUESTS_PER_CYCLE_MAX)
            if not answers:
                continue
            done += len(answers)
            left = iter(answers)
            while not self._take_messages(process_id, left):
                pass
            if reader.release():
                self._seat.ring(process_id)  # it may sleep on answers that found no room
        return done

    def _take_messages(self, process_id: int, messages: Iterator[tuple[int, memoryview]]) -> bool:
        """Settle what a ring brought; False, where a message was refused and more may follow."""
        context = self._context
        try:
            for kind, body in messages:
                if kind == RESULT:
                    context.produce.take_results(body)
                elif kind == ADVANCED:
                    slots = [slot for (slot,) in SLOT_ENTRY.iter_unpack(body)]
                    context.fetches.advance(slots, self._is_spent)
                    context.sessions.note_marks(slots)
                elif kind == GROWN:
                    slots = [slot for (slot,) in SLOT_ENTRY.iter_unpack(body)]
                    context.fetches.wake(context.sessions.advance(slots), self._is_spent)
                elif kind == RESULT_TEXT:
                    context.produce.take_text(body)
                else:
                    if kind == REPLY:
                        context.follow_view()
                    context.mailbox.take(process_id, kind, body)
        except struct.error as failure:
            _log.warning("message refused process=%d kind=%d reason=%s", process_id, kind, failure)
            return False
        return True

    def sleep_bound_ms(self) -> int:
        """Until a fetch is due, or a crowded ring may have room."""
        if self._context.sender.stalled:
            return STALLED_WAIT_MAX_MS
        bound_ms = max(0, min(IDLE_WAIT_MAX_MS, self._context.fetches.next_deadline_ms() - self._context.now_ms))
        bound_ms = self._context.broker_requests.sleep_bound_ms(bound_ms)
        return self._context.creations.sleep_bound_ms(bound_ms)

    def is_ready(self) -> bool:
        """Whether it takes connections: since the first view of the cluster."""
        return self._is_ready

    def _begin_serving(self) -> None:
        self._is_ready = True
        if self._listener is not None:
            self._begin_accepting(self._listener)

    def _begin_accepting(self, listener: socket.socket) -> None:
        """Let connections in, those that wait in the backlog first."""
        self._poller.modify(listener.fileno(), READ)
        self._is_accepting = True

    def drain(self) -> bool:
        """No new connections, no new frames."""
        if self._listener is not None:
            self._poller.unregister(self._listener.fileno())
            self._listener.close()
            self._listener = None
        self.is_draining = True
        self._dirty.update(self._connections.values())
        return True

    def is_drained(self) -> bool:
        """Whether no connection waits for a produce result or has bytes to send. Parked fetches don't count."""
        return not len(self._context.produce) and not any(
            len(connection.outbox) for connection in self._connections.values()
        )

    def close(self) -> bool:
        self._context.creations.close()
        for connection in list(self._connections.values()):
            self._close(connection, None)
        self._context.files.close()
        return True

    def _accept(self, _events: int) -> int:
        assert self._listener is not None
        for count in range(ACCEPTS_PER_CYCLE_MAX):
            try:
                sock, address = self._listener.accept()
            except OSError as failure:  # nothing left, or the peer is gone already
                if failure.errno in _NO_DESCRIPTORS:
                    hint = "raise LimitNOFILE or lower max.connections"
                    _log.error("connection not accepted reason=%s hint=%s", failure.strerror, hint)
                    self._pause_accepting()
                return count
            peer = f"{address[0]}:{address[1]}"
            if sum(each.get(CONNECTIONS_OPEN) for each in self._open_counts) >= self._connections_max:
                if not self._refused:
                    _log.warning("connection refused peer=%s reason=max.connections=%d", peer, self._connections_max)
                self._refused += 1
                sock.close()
                continue
            try:
                self._take(sock, peer)
            except OSError as failure:  # the system watches no more descriptors: ENOSPC, ENOMEM
                sock.close()
                hint = "raise fs.epoll.max_user_watches or lower max.connections"
                _log.error("connection refused peer=%s reason=%s hint=%s", peer, failure, hint)
                self._pause_accepting()  # the next one would be refused as well
                return count
        return ACCEPTS_PER_CYCLE_MAX

    def _take(self, sock: socket.socket, peer: str) -> None:
        """A connection that was accepted. raises OSError; nothing of it is kept then"""
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)  # a peer that vanished while we owe it an answer
        if self._send_buffer_bytes > 0:
            size = self._send_buffer_bytes
            if self._shares_send_buffers:
                share = SEND_BUFFERS_BYTES // (len(self._connections) + 1)
                size = min(size, max(share, SEND_BUFFER_BYTES_MIN))
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, size)
        if self._receive_buffer_bytes > 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._receive_buffer_bytes)
        self._serial += 1
        connection = Connection(
            sock, peer, self._serial, self._frame_bytes_max, self._dirty, self._context.now_ms, self._frame_memory, self._arena,
        )  # fmt: skip
        self._poller.register(connection.fd, READ, partial(self._serve, connection))
        self._connections[connection.serial] = connection
        connection.registered_events = READ
        self._seat.counters.add(CONNECTIONS_ACCEPTED, 1)
        self._seat.counters.add(CONNECTIONS_OPEN, 1)

    def _pause_accepting(self) -> None:
        """Leave new connections in the backlog until the next check: the listener would keep the loop awake."""
        assert self._listener is not None
        self._poller.modify(self._listener.fileno(), 0)
        self._is_accepting = False

    def _serve(self, connection: Connection, events: int) -> int:
        """What the poller found of a connection."""
        if events & READ and self._is_full:
            self._deferred[connection] = None
        elif events & READ and (connection.is_short or not connection.can_take_requests):
            self._dirty.add(connection)  # its frames are still needed where they lie: stop listening for more
        elif events & READ and (connection in self._deferred or connection in self._served):
            pass  # whole frames may lie there, in all the room there is: their turn comes first
        elif events & READ:
            self._receive(connection)
        elif events & BROKEN:
            self._close(connection, None)
            return 1
        if events & WRITE:
            self._dirty.add(connection)
        return 1

    def _receive(self, connection: Connection) -> None:
        """Take what the socket has, and the frames in it."""
        try:
            count = connection.receive()
        except BlockingIOError:
            return
        except OSError as failure:
            self._close(connection, f"receive failed: {failure.strerror}")
            return
        if count == 0:
            self._close(connection, None)
            return
        self._bytes_in += count
        connection.last_active_ms = self._context.now_ms
        self._take_frames(connection)

    def _resume(self) -> int:
        """Resume the connections that wait in line, those first that waited while others were served."""
        waiting = {**self._deferred, **self._served}
        self._deferred, self._served = {}, {}
        for connection in list(waiting):
            if self._is_spent():
                break
            del waiting[connection]
            if not connection.is_closed:
                taken = self._take_frames(connection)
                has_frames = self.is_draining or connection in self._deferred or connection in self._served
                if not taken and not has_frames and connection.can_take_requests and not connection.is_short:
                    self._receive(connection)
                self._dirty.add(connection)
        self._deferred = {**waiting, **self._deferred}
        return len(waiting) + 1

    def _take_frames(self, connection: Connection) -> int:
        """Handle the whole frames that are here, as far as the connection may take requests in this cycle.

        returns   how many
        """
        context = self._context
        now_ns, ends_ns = context.clock.monotonic_ns, self._ends_ns
        if connection.cycle != self._cycle:
            connection.cycle, connection.cycle_requests = self._cycle, 0
        most = min(CONNECTION_REQUESTS_PER_CYCLE_MAX - connection.cycle_requests, self._requests_left)
        count = 0
        try:
            while connection.has_bytes and connection.can_take_requests and not self.is_draining:
                is_due = context.is_clock_due or not count & CLOCK_MASK
                context.is_clock_due = False
                if count >= most or context.heavy_requests or (is_due and now_ns() >= ends_ns):
                    self._is_full = self._is_full or count < most or self._requests_left <= count
                    (self._served if connection.cycle_requests + count else self._deferred)[connection] = None
                    break
                frame = connection.next_frame(context.now_ms)
                if frame is None:
                    break
                route(context, connection, frame)
                count += 1
        except BadFrame as failure:
            connection.condemn(f"bad frame: {failure}")
            self._seat.counters.add(CONNECTIONS_CLOSED_BAD, 1)
        except Exception as failure:
            connection.contain(failure)
            self._seat.counters.add(CONNECTIONS_CLOSED_BAD, 1)
        connection.cycle_requests += count
        self._requests_left -= count
        self._requests += count
        return count

    def _settle(self, connection: Connection) -> None:
        """End a connection's cycle: send what is ready, take frames that had to wait, set what to be notified of."""
        if connection.is_closed:
            return
        if connection.condemned is not None:
            self._close(connection, connection.condemned)
            return
        connection.queue_ready_responses()
        if len(connection.outbox):
            sent_before = connection.outbox.bytes_sent
            try:
                connection.order = connection.order or self._context.clock.monotonic_ns()
                is_all_sent = connection.outbox.send(connection.sock)
            except OSError as failure:
                if failure.filename is not None:
                    self._context.note_unreadable(Path(failure.filename), failure)
                is_goodbye = failure.errno in (errno.EPIPE, errno.ECONNRESET)
                self._close(connection, None if is_goodbye else f"send failed: {failure}")
                return
            if connection.outbox.bytes_sent != sent_before:  # a slow reader reads
                connection.sending_since_ms = 0
                connection.last_active_ms = self._context.now_ms
            if not is_all_sent and not connection.sending_since_ms:
                connection.sending_since_ms = self._context.now_ms
        if connection.has_bytes:
            self._take_frames(connection)
        elif self._frame_memory.waiting:
            connection.shrink()
        is_read = connection.can_take_requests and not connection.is_short and not self.is_draining
        wanted = READ if is_read else 0
        if len(connection.outbox):
            wanted |= WRITE
        if wanted != connection.registered_events:
            self._poller.modify(connection.fd, wanted)
            connection.registered_events = wanted

    def _check_connections(self) -> None:
        """Once a second: trickled frames, readers that don't read, idle connections, a listener that paused or refused."""
        self._context.addresses.look_up_unfound(self._context.now_ms)
        if self._refused > 1:
            _log.warning("connections refused count=%d reason=max.connections", self._refused)
        self._refused = 0
        if self._closed >= CLOSED_BEFORE_TRIM:
            self._closed = 0
            trim_heap()
        if self._listener is not None and not self._is_accepting and self._is_ready:
            self._begin_accepting(self._listener)
        now_ms = self._context.now_ms
        for connection in list(self._connections.values()):
            idle_ms = now_ms - connection.last_active_ms
            if connection.frame_since_ms and (connection.is_short or not connection.can_take_requests):
                connection.restart_frame_clock(now_ms)
            if connection.frame_since_ms and now_ms - connection.frame_since_ms > TRICKLE_DEADLINE_MS:
                self._seat.counters.add(CONNECTIONS_CLOSED_BAD, 1)
                self._close(connection, f"a frame was incomplete after {TRICKLE_DEADLINE_MS} ms")
            elif self._frame_memory.waiting and connection.is_behind(now_ms):
                self._seat.counters.add(CONNECTIONS_CLOSED_BAD, 1)
                self._close(connection, "a large frame arrives too slowly while others wait for its memory")
            elif connection.sending_since_ms and now_ms - connection.sending_since_ms > SLOW_READER_DEADLINE_MS:
                self._close(connection, f"the peer read nothing for {SLOW_READER_DEADLINE_MS} ms")
            elif 0 <= self._idle_max_ms < idle_ms and not connection.exchanges:
                self._close(connection, f"idle for {idle_ms} ms")
            elif idle_ms > CONNECTIONS_CHECK_INTERVAL_MS and connection.is_only_waiting and connection.has_left():
                self._close(connection, None)
            elif idle_ms > SHRINK_AFTER_IDLE_MS or self._frame_memory.waiting:
                connection.shrink()

    def _close(self, connection: Connection, reason: str | None) -> None:
        """Forget a connection; `reason` is logged where it is not the peer's ordinary goodbye."""
        if connection.is_closed:
            return
        connection.is_closed = True
        if reason is not None:
            _log.info("connection closed peer=%s reason=%s", connection.peer, reason)
        del self._connections[connection.serial]
        self._poller.forget(connection.fd)
        self._seat.counters.add(CONNECTIONS_OPEN, -1)
        self._closed += 1
        self._dirty.discard(connection)
        self._deferred.pop(connection, None)
        self._served.pop(connection, None)
        context = self._context
        for process_id, kind, header in context.sender.drop(connection):
            if kind in (PRODUCE, PRODUCE_AT, PRODUCE_TRANSACTIONAL):
                context.produce.forget_unsent(header)
            elif kind == REQUEST:  # of parts, the owner releases what was begun
                context.mailbox.withdraw(process_id, header)
        if connection.exchanges:
            context.fetches.drop(connection)
        context.sessions.drop(connection)
        context.look_ups.drop(connection)
        connection.close()
