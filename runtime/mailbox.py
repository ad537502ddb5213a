"""Requests of one process of the node to another, and the replies: the plumbing between any two roles.

Runs in: network workers, partition workers, the controller, the housekeeper. Either side may die at any instruction:

    asker                                     process that is asked
    ask -> REQUEST_PART ... REQUEST  ------>  take -> handler(version, body, reply)
    take -> on_reply(status, body)   <------  reply(body) -> REPLY_PART ... REPLY, now or in a later cycle

    the asked one died     on_reply(PEER_DIED): done or not, only the asker can tell what is right then
    the asker died         its requests are forgotten; a reply that was kept for one does nothing
    no handler for a kind  on_reply(UNKNOWN_KIND), a log line here, and the process continues
    what can't be done     on_reply(REFUSED), the same: the handler raised, parts do not fit together, too many at once,
                           replies are not taken

`on_reply` is called once, and never from within `ask`. A process calls `forget` for each peer that `seat.changed()` names,
before it polls. Messages of other kinds (PRODUCE, RESULT) are their owners' business, and come here only where these don't
know them. What a peer has written is checked as if it came from outside: it costs its message, never the process.

Bounds: MAIL_REQUESTS_MAX between two processes, either way; MAIL_REQUEST_BYTES_MAX, MAIL_REPLY_BYTES_MAX; what is begun in
parts (`parts.py`); what waits for room (`outbox.py`).
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from headrace.errors import BadFrame, HeadraceError, KafkaError
from headrace.limits import (
    MAIL_BEGUN_REPLIES_BYTES_MAX,
    MAIL_BEGUN_REQUESTS_BYTES_MAX,
    MAIL_REPLY_BYTES_MAX,
    MAIL_REQUEST_BYTES_MAX,
    MAIL_REQUESTS_MAX,
    REQUESTS_PER_CYCLE_MAX,
)
from headrace.protocol.compression import CompressionError
from headrace.protocol.record_batch import CorruptRecord
from headrace.runtime.outbox import MailOutbox, Payload
from headrace.runtime.parts import Parts, cut
from headrace.shm.messages import (
    PART_HEADER,
    REPLY,
    REPLY_HEADER,
    REPLY_PART,
    REQUEST,
    REQUEST_HEADER,
    REQUEST_PART,
    ReplyStatus,
    pack_reply,
    pack_request,
    unpack_reply,
    unpack_request,
)
from headrace.shm.seat import Seat

HEADER_BYTES: Final = REQUEST_HEADER.size  # of all four messages
NO_REPLY: Final = 0  # the request id of a message that needs no reply

# A request that its handler refuses, by what it says; anything else that a handler raises is a defect, and logged as one.
REFUSALS: Final = (BadFrame, CompressionError, CorruptRecord, KafkaError, struct.error)

_EMPTY: Final = memoryview(b"")
_ANSWERED: Final = int(ReplyStatus.ANSWERED)  # an enum's member costs a look-up

_log: Final = logging.getLogger(__name__)

# Called once with what became of a request, and the body of its reply, which is gone after the call; empty unless ANSWERED.
OnReply = Callable[[ReplyStatus, memoryview], None]
# Writes a message, or keeps a copy of its header until there is room: (process id, kind, header, payload).
Post = Callable[[int, int, bytes | memoryview, Payload], None]


class Reply:
    """The way back to an asker; called with the body, once. After the asker died, or a second time, it does nothing."""

    __slots__ = ("_mailbox", "_open_ids", "_process_id", "_request_id")

    def __init__(self, mailbox: Mailbox, process_id: int, request_id: int, open_ids: set[int]) -> None:
        self._mailbox = mailbox
        self._process_id = process_id
        self._request_id = request_id
        self._open_ids = open_ids

    def __call__(self, body: bytes) -> None:
        if self._request_id in self._open_ids:
            self._open_ids.discard(self._request_id)
            self._mailbox.answer(self._process_id, self._request_id, body)

    def refuse(self, status: ReplyStatus = ReplyStatus.REFUSED) -> None:
        """No answer is right."""
        if self._request_id in self._open_ids:
            self._open_ids.discard(self._request_id)
            self._mailbox.refuse(self._process_id, self._request_id, status)

    @property
    def is_wanted(self) -> bool:
        """Whether its asker waits for it still."""
        return self._request_id in self._open_ids


# Called with (version, request body, reply); the body is gone after the call, the reply may be kept. It never blocks.
Handler = Callable[[int, memoryview, Reply], None]


class Mailbox:
    """One process's requests, those that it has asked and those that it is asked.

    handlers        by kind; may be added to by `serve`
    in_flight_max   requests to one process that wait for their replies
    written         processes whose rings `flush` commits, and whom it rings; their other writers add to it
    congested       processes for which much waits: network workers among them are not read until they have taken it,
                    others are refused what they ask beyond twice that; the set stays the same object
    """

    def __init__(
        self, seat: Seat, handlers: Mapping[int, Handler] | None = None, in_flight_max: int = MAIL_REQUESTS_MAX
    ) -> None:
        self._seat = seat
        self._handlers: dict[int, Handler] = dict(handlers or {})
        self._in_flight_max = in_flight_max
        self._outbox = MailOutbox(seat)
        self.congested = self._outbox.congested
        self.written = self._outbox.written
        self._asked: dict[int, dict[int, OnReply]] = {}  # process id -> request id -> the waiting asker
        self._open: dict[int, set[int]] = {}  # process id -> request ids that are to be answered
        self._requests = Parts(MAIL_REQUEST_BYTES_MAX, MAIL_BEGUN_REQUESTS_BYTES_MAX)
        self._replies = Parts(MAIL_REPLY_BYTES_MAX, MAIL_BEGUN_REPLIES_BYTES_MAX)
        self._strange: set[tuple[int, int]] = set()  # (process id, kind) of messages that were complained of
        self._last_id = NO_REPLY
        self._header = memoryview(bytearray(HEADER_BYTES))  # of the message that is sent next

    def __len__(self) -> int:
        """Requests that were asked and wait for their replies."""
        return sum(map(len, self._asked.values()))

    def serve(self, kind: int, handler: Handler) -> None:
        """Answer requests of a kind, an api key or a RequestKind."""
        assert kind not in self._handlers, kind
        self._handlers[kind] = handler

    def ask(
        self,
        process_id: int,
        kind: int,
        body: Payload,
        on_reply: OnReply,
        *,
        version: int = 0,
        post: Post | None = None,
    ) -> bool:
        """Send a request.

        version   of the body, as the handler gets it
        post      the way into the ring, where it is not this mailbox's own; it keeps the order of what it is given
        returns   False, where too many wait for that process, or the body is too large: nothing was sent, nothing will come
        """
        waiting = self._asked.get(process_id)
        if waiting is None:
            waiting = self._asked[process_id] = {}
        if len(waiting) >= self._in_flight_max or len(body) > MAIL_REQUEST_BYTES_MAX:
            return False
        self._last_id = request_id = self._last_id + 1
        waiting[request_id] = on_reply
        self._send_request(process_id, request_id, kind, version, body, post or self._outbox.send)
        return True

    def tell(self, process_id: int, kind: int, body: Payload) -> bool:
        """Send what needs no reply; False, where earlier messages still wait for room: tell it later."""
        if self._outbox.is_waiting(process_id):
            return False
        self._send_request(process_id, NO_REPLY, kind, 0, body, self._outbox.send)
        return True

    def withdraw(self, process_id: int, header: bytes) -> None:
        """A REQUEST that `post` was given is no longer sent: no reply will come for it, and nothing waits for one."""
        request_id, _kind, _version, begun = REQUEST_HEADER.unpack(header)
        self._asked.get(process_id, {}).pop(request_id, None)
        if begun:
            self._outbox.send(process_id, REQUEST_PART, PART_HEADER.pack(request_id, 0), b"")

    def poll(self, process_ids: Iterable[int], limit: int = REQUESTS_PER_CYCLE_MAX) -> int:
        """Take messages from the rings of some peers, at most `limit` from each; returns how many.

        A congested peer is polled too: two that both asked too much would wait for each other for ever. The caller may leave
        it out only if the peer reads its rings in any case, as a network worker does.
        """
        done = 0
        readers = self._seat.readers
        for process_id in process_ids:
            reader = readers[process_id]
            messages = reader.poll(limit)
            if not messages:
                continue
            for message, body in messages:
                self.take(process_id, message, body)
            if reader.release():
                self._seat.ring(process_id)  # it may sleep on what found no room
            done += len(messages)
        return done

    def take(self, process_id: int, message: int, body: memoryview) -> None:
        """Handle one message of a ring, of any kind that its owner does not take itself."""
        taker = _TAKERS.get(message)
        if taker is None:
            self._complain(process_id, message)
        elif len(body) < HEADER_BYTES:
            _log.warning("message refused process=%d kind=%d reason=%d bytes", process_id, message, len(body))
        else:
            taker(self, process_id, body)

    def forget(self, process_id: int) -> None:
        """A process died or was replaced: it answers nothing that it was asked, and is answered nothing."""
        self._open.pop(process_id, set()).clear()
        self._requests.forget(process_id)
        self._replies.forget(process_id)
        self._outbox.forget(process_id)
        self._strange = {one for one in self._strange if one[0] != process_id}
        for on_reply in self._asked.pop(process_id, {}).values():
            _settle(on_reply, ReplyStatus.PEER_DIED, _EMPTY)

    def flush(self) -> int:
        """Publish what was sent in this cycle and ring the doorbells; returns the number of rings committed."""
        return self._outbox.flush()

    # The asker's side

    def _send_request(
        self, process_id: int, request_id: int, kind: int, version: int, body: Payload, post: Post
    ) -> None:
        room = self._outbox.message_bytes_max(process_id) - HEADER_BYTES
        if len(body) <= room:
            pack_request(self._header, 0, request_id, kind, version, 0)
            post(process_id, REQUEST, self._header, body)
            return
        for begun, part in cut(body, room):
            if begun + len(part) < len(body):
                post(process_id, REQUEST_PART, PART_HEADER.pack(request_id, begun), part)
            else:
                post(process_id, REQUEST, REQUEST_HEADER.pack(request_id, kind, version, begun), part)

    def _take_reply_part(self, process_id: int, message: memoryview) -> None:
        request_id, begun = PART_HEADER.unpack_from(message)
        if request_id in self._asked.get(process_id, ()):
            self._replies.take(process_id, request_id, begun, message[HEADER_BYTES:])

    def _take_reply(self, process_id: int, message: memoryview) -> None:
        request_id, status, begun = unpack_reply(message, 0)
        waiting = self._asked.get(process_id)
        on_reply = waiting.pop(request_id, None) if waiting else None
        if on_reply is None:
            return  # withdrawn meanwhile
        body: memoryview | None = message[HEADER_BYTES:]
        if begun or self._replies.bytes_of(process_id):
            body = self._replies.finish(process_id, request_id, begun, message[HEADER_BYTES:])
        if status == _ANSWERED and body is not None:
            _settle(on_reply, ReplyStatus.ANSWERED, body)
            return
        if body is None or status not in (ReplyStatus.REFUSED, ReplyStatus.UNKNOWN_KIND, ReplyStatus.STALE):
            _log.warning("reply refused process=%d status=%d bytes_before=%d", process_id, status, begun)
            status = ReplyStatus.REFUSED
        _settle(on_reply, ReplyStatus(status), _EMPTY)

    # The other side

    def _take_request_part(self, process_id: int, message: memoryview) -> None:
        request_id, begun = PART_HEADER.unpack_from(message)
        self._requests.take(process_id, request_id, begun, message[HEADER_BYTES:])

    def _take_request(self, process_id: int, message: memoryview) -> None:
        request_id, kind, version, begun = unpack_request(message, 0)
        open_ids = self._open.get(process_id)
        if open_ids is None:
            open_ids = self._open[process_id] = set()
        if request_id in open_ids:
            _log.warning("request dropped process=%d kind=%d reason=id %d is in use", process_id, kind, request_id)
            return
        body: memoryview | None = message[HEADER_BYTES:]
        if begun:
            body = self._requests.finish(process_id, request_id, begun, message[HEADER_BYTES:])
        is_over = process_id in self.congested and self._outbox.exceeds(process_id, 2)
        if body is None or is_over or len(open_ids) >= MAIL_REQUESTS_MAX:
            reason = "incomplete parts" if body is None else f"{len(open_ids)} requests are already waiting"
            reason = "its replies are not being read" if is_over else reason
            _log.warning("request refused process=%d kind=%d reason=%s", process_id, kind, reason)
            self.refuse(process_id, request_id, ReplyStatus.REFUSED)
            return
        handler = self._handlers.get(kind)
        if handler is None:
            _log.warning("request refused process=%d kind=%d reason=unknown kind", process_id, kind)
            self.refuse(process_id, request_id, ReplyStatus.UNKNOWN_KIND)
            return
        if request_id != NO_REPLY:
            open_ids.add(request_id)
        self._handle(handler, kind, version, body, Reply(self, process_id, request_id, open_ids))

    def _handle(self, handler: Handler, kind: int, version: int, body: memoryview, reply: Reply) -> None:
        try:
            handler(version, body, reply)
        except REFUSALS as failure:
            _log.warning("request refused kind=%d reason=%s", kind, failure)
            reply.refuse()
        except HeadraceError:
            raise
        except Exception:  # a client that asks again must not kill the process again and again
            _log.exception("request refused, its handler failed kind=%d", kind)
            reply.refuse()

    def answer(self, process_id: int, request_id: int, body: bytes) -> None:
        """Send a reply (`Reply` does), in parts where no message holds it; one that is too large is refused."""
        room = self._outbox.message_bytes_max(process_id) - HEADER_BYTES
        if len(body) <= room:
            pack_reply(self._header, 0, request_id, _ANSWERED, 0)
            self._outbox.send(process_id, REPLY, self._header, body)
            return
        if len(body) > MAIL_REPLY_BYTES_MAX:
            _log.warning("reply refused process=%d reason=%d bytes", process_id, len(body))
            self.refuse(process_id, request_id, ReplyStatus.REFUSED)
            return
        for begun, part in cut(body, room):
            if begun + len(part) < len(body):
                self._outbox.send(process_id, REPLY_PART, PART_HEADER.pack(request_id, begun), part)
            else:
                header = REPLY_HEADER.pack(request_id, ReplyStatus.ANSWERED, begun)
                self._outbox.send(process_id, REPLY, header, part)

    def refuse(self, process_id: int, request_id: int, status: ReplyStatus) -> None:
        """Say that a request gets no answer (`Reply` does)."""
        if request_id != NO_REPLY:
            self._outbox.send(process_id, REPLY, REPLY_HEADER.pack(request_id, status, 0), b"")

    def _complain(self, process_id: int, message: int) -> None:
        """Log a message of an unknown kind: once for all that follow."""
        if (process_id, message) not in self._strange:
            self._strange.add((process_id, message))
            _log.warning("messages refused process=%d kind=%d reason=unknown kind", process_id, message)


def _settle(on_reply: OnReply, status: ReplyStatus, body: memoryview) -> None:
    try:
        on_reply(status, body)
    except HeadraceError:
        raise
    except Exception:  # what one reply says must not kill the process that asked
        _log.exception("reply handler failed status=%s", status.name)


_TAKERS: Final[dict[int, Callable[[Mailbox, int, memoryview], None]]] = {
    REQUEST: Mailbox._take_request,
    REPLY: Mailbox._take_reply,
    REQUEST_PART: Mailbox._take_request_part,
    REPLY_PART: Mailbox._take_reply_part,
}
