"""The socket of a connection to another node, and the frames that pass through it.

Runs in: any process, for a `Peer` (`peer.py`), which makes one for each try. Nothing here waits.

    socket -> [transform] -> responses        queue -> [transform] -> socket

Bytes: `protocol/stream.py`, with a `Transform` (TLS) in between where the options name one. A send that fails breaks nothing
by itself: what the node said before it went is read first, and the read finds the failure.

While a large response arrives, the socket counts as readable once PEER_LOW_WATER_BYTES of it are there, or its rest
(SO_RCVLOWAT), so that a process wakes, and turns its whole cycle, for 256 KiB of a response and not for each burst of 64. The
system wakes it sooner where the window is full, and at once when the connection ends.

A node that is killed while the network to it is cut says no farewell, and what waits for its answer would wait for the request's timeout
when the network is back: the system asks by itself (SO_KEEPALIVE, TCP_USER_TIMEOUT). One that is stopped or slow still answers that.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable
from typing import Final

from headrace.errors import BadFrame, HeadraceError
from headrace.limits import (
    PEER_BYTES_PER_CYCLE_MAX,
    PEER_KEEPALIVE_IDLE_S,
    PEER_KEEPALIVE_INTERVAL_S,
    PEER_KEEPALIVE_PROBES,
    PEER_LOW_WATER_BYTES,
    PEER_LOW_WATER_BYTES_MIN,
    PEER_UNACKNOWLEDGED_MS,
    RECEIVE_BYTES_BUSY,
)
from headrace.protocol.stream import Response, ResponseReader, SendQueue, Transform
from headrace.runtime.peer_options import PeerOptions
from headrace.runtime.poller import READ, WRITE, Handler, Poller

CLOSED_BY_NODE: Final = "closed by the node"

_NONE: Final = memoryview(b"")
_SOL_SOCKET: Final = socket.SOL_SOCKET
_SO_RCVLOWAT: Final = socket.SO_RCVLOWAT
_PROBES: Final = (
    (socket.TCP_KEEPIDLE, PEER_KEEPALIVE_IDLE_S),
    (socket.TCP_KEEPINTVL, PEER_KEEPALIVE_INTERVAL_S),
    (socket.TCP_KEEPCNT, PEER_KEEPALIVE_PROBES),
    (socket.TCP_USER_TIMEOUT, PEER_UNACKNOWLEDGED_MS),
)


class WireBroken(HeadraceError):
    """The connection is of no use any more, and why."""


class Wire:
    """One socket; closed once, for good."""

    __slots__ = ("_events", "_low_water_bytes", "_poller", "_queue", "_responses", "_scratch", "_sock", "_transform")

    def __init__(
        self,
        poller: Poller,
        address: str,
        options: PeerOptions,
        target: tuple[int, tuple[object, ...]],
        on_events: Handler,
    ) -> None:
        """Have the system connect, and hear of it by the poller.

        target   family, and what `connect` takes
        raises   WireBroken, where that fails at once
        """
        self._poller = poller
        self._events = 0  # that the poller waits for
        self._low_water_bytes = 1  # with which the socket counts as readable
        self._transform: Transform | None = None if options.transform is None else options.transform()
        self._scratch = _NONE if self._transform is None else memoryview(bytearray(RECEIVE_BYTES_BUSY))
        self._queue = SendQueue()
        self._responses = ResponseReader(address, options.response_bytes_max)
        family, place = target
        try:
            self._sock = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        except OSError as failure:
            raise WireBroken(str(failure)) from None
        try:
            self._set_up(options)
            code = self._sock.connect_ex(place)
        except OSError as failure:
            self._sock.close()
            raise WireBroken(str(failure)) from None
        if code not in (0, errno.EINPROGRESS):
            self._sock.close()
            raise WireBroken(os.strerror(code))
        try:
            poller.register(self._sock.fileno(), WRITE, on_events)
        except OSError as failure:  # the system watches no more descriptors: ENOSPC, ENOMEM
            self._sock.close()
            raise WireBroken(f"can't be watched: {failure}") from None
        self._events = WRITE

    @property
    def taken_bytes(self) -> int:
        """Of what was put, that may have reached the node."""
        return self._queue.taken_bytes

    @property
    def unsent_bytes(self) -> int:
        """Of what was put, that is here still."""
        wrapped = 0 if self._transform is None else self._transform.outgoing.unsent_bytes
        return self._queue.unsent_bytes + wrapped

    @property
    def is_open(self) -> bool:
        return self._events != 0

    def is_connected(self) -> bool:
        """Whether the system says so. raises   WireBroken"""
        sock = self._sock
        code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise WireBroken(os.strerror(code))
        try:
            is_own = sock.getpeername() == sock.getsockname()
        except OSError:
            return False
        if is_own:  # a port of ours that nobody listens on, from which the connection went out
            raise WireBroken("no process is listening")
        self._watch(READ)
        return True

    def put(
        self,
        frame: bytes,
        correlation_id: int,
        api_key: int,
        version: int,
        what: object = None,
        into: memoryview | None = None,
    ) -> int:
        """Queue a request; returns what `taken_bytes` is when all of it is out."""
        self._responses.expect(correlation_id, api_key, version, what, into)
        return self._queue.put(frame)

    def send(self) -> None:
        """As much as the system takes; the rest when it takes more. raises   WireBroken"""
        sock, transform = self._sock, self._transform
        try:
            while True:
                queue = self._queue if transform is None else self._wrap(transform)
                if not (parts := queue.gather()):
                    break
                queue.sent(sock.sendmsg(parts))
        except BlockingIOError:
            self._watch(READ | WRITE)
            return
        except OSError as failure:
            if failure.errno not in (errno.EPIPE, errno.ECONNRESET):
                raise WireBroken(str(failure)) from None
        self._watch(READ)

    def receive(self, take: Callable[[Response], None]) -> int:
        """Take what came, up to this connection's share of a cycle; `take` may close it.

        returns   the responses that were taken: a part of one leaves nothing to do but wait for its rest
        raises    WireBroken, after all that came before it
        """
        sock, responses, transform = self._sock, self._responses, self._transform
        left_bytes = PEER_BYTES_PER_CYCLE_MAX
        done = 0
        try:
            while left_bytes > 0:
                room = responses.room() if transform is None else self._scratch
                if len(room) > left_bytes:
                    room = room[:left_bytes]
                count = sock.recv_into(room)
                if not count:
                    raise WireBroken(CLOSED_BY_NODE)
                left_bytes -= count
                if transform is not None:
                    done += self._unwrap(transform, room[:count], take)
                elif responses.received(count):
                    done += self._take_responses(take)
                if count < len(room) or not self.is_open:
                    break
        except BlockingIOError:
            pass
        except (BadFrame, OSError) as failure:
            raise WireBroken(str(failure)) from None
        if transform is None and self.is_open:
            self._await_bytes(responses.missing_bytes)
        return done

    def close(self) -> None:
        if self.is_open:
            self._events = 0
            self._poller.forget(self._sock.fileno())
            self._sock.close()

    def _set_up(self, options: PeerOptions) -> None:
        sizes = ((socket.SO_SNDBUF, options.send_buffer_bytes), (socket.SO_RCVBUF, options.receive_buffer_bytes))
        for option, size in sizes:
            if size > 0:
                self._sock.setsockopt(socket.SOL_SOCKET, option, size)
        self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in _PROBES:
            self._sock.setsockopt(socket.IPPROTO_TCP, option, value)

    def _await_bytes(self, missing_bytes: int) -> None:
        """Be woken for no less of a response that arrives than it lacks, or PEER_LOW_WATER_BYTES; for any byte of the next."""
        wanted = min(missing_bytes, PEER_LOW_WATER_BYTES) if missing_bytes >= PEER_LOW_WATER_BYTES_MIN else 1
        if wanted != self._low_water_bytes:
            self._low_water_bytes = wanted
            try:
                self._sock.setsockopt(_SOL_SOCKET, _SO_RCVLOWAT, wanted)
            except OSError:  # it is gone: the next read says so
                pass

    def _watch(self, events: int) -> None:
        if events != self._events:
            self._events = events
            self._poller.modify(self._sock.fileno(), events)

    def _wrap(self, transform: Transform) -> SendQueue:
        """Through the transform, as much as it takes now, and the system soon."""
        queue, outgoing = self._queue, transform.outgoing
        while outgoing.unsent_bytes < RECEIVE_BYTES_BUSY and (parts := queue.gather()):
            count = transform.write(parts[0])
            if not count:
                break
            queue.sent(count)
        return outgoing

    def _unwrap(self, transform: Transform, received: memoryview, take: Callable[[Response], None]) -> int:
        """Through the transform, into frames; it may have something to say itself, and take more then."""
        transform.feed(received)
        responses = self._responses
        done = 0
        while self.is_open and (count := transform.read_into(responses.room())):
            if responses.received(count):
                done += self._take_responses(take)
        if self.is_open:
            self.send()
        return done

    def _take_responses(self, take: Callable[[Response], None]) -> int:
        """Every response that is whole."""
        responses = self._responses
        done = 0
        while self.is_open and (response := responses.next_response()) is not None:
            done += 1
            take(response)
        return done
