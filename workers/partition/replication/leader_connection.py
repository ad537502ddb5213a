"""The connection of a fetcher to its leader: one question in flight, its answer, and the pauses between questions.

Runs in: a partition worker, made by `fetcher.py`. An answer counts only while nobody has given up on its question. When the connection
is another one, or none, whoever follows is notified: what the last one proved is in doubt.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

from headrace.clock import Clock
from headrace.errors import BadFrame
from headrace.limits import FETCH_RECONNECT_FIRST_MS
from headrace.protocol.codec import decode_response
from headrace.runtime.peer import Peer
from headrace.runtime.peer_options import PeerOptions
from headrace.runtime.peer_request import Outcome
from headrace.runtime.peers import Peers
from headrace.workers.partition.replication.answer_backoff import AnswerBackoff
from headrace.workers.partition.replication.fetch_options import FetchOptions

_log: Final = logging.getLogger(__name__)


class LeaderConnection:
    """To one leader.

    on_other   called where the connection is another one, or none
    """

    __slots__ = (
        "_address",
        "_asked",
        "_backoff",
        "_clock",
        "_connection",
        "_leader",
        "_on_other",
        "_options",
        "_peer",
        "_peers",
    )

    def __init__(
        self, leader: int, options: FetchOptions, peers: Peers, clock: Clock, on_other: Callable[[], None]
    ) -> None:
        self._leader = leader
        self._options = options
        self._peers = peers
        self._clock = clock
        self._on_other = on_other
        self._peer: Peer | None = None
        self._connection = 0  # of the last answer; 0: none since it was lost
        self._address = ("", 0)
        self._asked: object | None = None  # a token of what is in flight
        self._backoff = AnswerBackoff(options.backoff_ms)

    @property
    def is_open(self) -> bool:
        """Whether the leader may be connected to."""
        return self._peer is not None

    @property
    def is_asking(self) -> bool:
        return self._asked is not None

    @property
    def pause_until_ms(self) -> int:
        """Until when nothing is asked; over: 0."""
        return self._backoff.until_ms

    def is_at(self, host: str, port: int) -> bool:
        """Whether that is where the leader is connected to."""
        return self._peer is not None and (host, port) == self._address

    def connect(self, host: str, port: int) -> None:
        """The broker is there. Only after `disconnect`."""
        options = self._options
        self._address = (host, port)
        self._peer = self._peers.open(
            host,
            port,
            PeerOptions(
                client_id=options.client_id,
                receive_buffer_bytes=options.receive_buffer_bytes,
                backoff_first_ms=FETCH_RECONNECT_FIRST_MS,
            ),
        )

    def disconnect(self) -> None:
        """Nothing is asked of it until it is there again."""
        peer, self._peer = self._peer, None
        self._asked = None
        if peer is not None:
            self._note(0)
            self._peers.close(peer)

    def may_be_asked(self) -> bool:
        """Whether the next question may be asked now. Notices a connection that is another one."""
        peer = self._peer
        if self._asked is not None or peer is None:
            return False
        if self._backoff.until_ms and not self._backoff.is_over(self._clock.monotonic_ns() // 1_000_000):
            return False
        if peer.connection != self._connection:
            self._note(peer.connection)
        return True

    def ask(
        self,
        api_key: int,
        version: int,
        request: Any,
        on_reply: Callable[..., None],
        read: Callable[[int, memoryview], Any] | None = None,
        into: memoryview | None = None,
    ) -> bool:
        """Send a request; its answer counts only while nobody has given up on it.

        read   what the answer is read by; None: the codec
        into   memory for it
        """
        peer = self._peer
        assert peer is not None
        token = self._asked or object()

        def hear(outcome: Outcome, body: memoryview) -> None:
            if self._asked is not token:
                return
            try:
                if outcome is not Outcome.ANSWERED:
                    answer = None
                    self._note(0)
                else:
                    self._connection = peer.connection
                    answer = decode_response(api_key, version, body) if read is None else read(version, body)
            except BadFrame as failure:
                _log.error("leader's response can't be read leader=%d reason=%s", self._leader, failure)
                answer = None
            on_reply(answer, outcome)

        if not peer.ask(api_key, version, request, hear, self._options.timeout_ms, into=into):
            return False
        self._asked = token
        return True

    def settle(self) -> None:
        """What was asked is answered, or given up."""
        self._asked = None

    def pause(self, least_ms: int = 0) -> None:
        """A whole answer was of no use: ask again, but not at once each time."""
        self._backoff.note_failure(self._clock.monotonic_ns() // 1_000_000, least_ms)

    def note_success(self) -> None:
        """An answer was of use."""
        self._backoff.note_success()

    def _note(self, connection: int) -> None:
        self._connection = connection
        self._on_other()
