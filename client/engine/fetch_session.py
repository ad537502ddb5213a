"""A fetch session with one broker (KIP-227): after the first request, only what changed is said, both ways.

    epoch 0       a new session: all partitions
    epoch n       the session's n-th request: partitions that are new or have moved on, and those that are forgotten
    epoch -1      no session: the broker is older than Fetch v7

A response without an error takes the session on. Any error of the session begins a new one. What a request costs grows with
what changed, not with the number of partitions.

Source: Kafka `FetchSessionHandler`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from headrace.ids import TopicPartition
from headrace.protocol.messages import ZERO_UUID

SESSION_EPOCH_NONE: Final = -1  # of a request to a broker without sessions
SESSION_EPOCH_FIRST: Final = 0
NO_SESSION: Final = 0


class Wish(NamedTuple):
    """What is asked of a partition.

    topic_id   16 bytes; zeros: not known
    serial     the asker's own: which of its positions this is
    """

    offset: int
    leader_epoch: int
    last_epoch: int
    bytes_max: int
    topic_id: bytes
    serial: int = 0


class Said(NamedTuple):
    """What a request says.

    wishes      of partitions, in order
    forgotten   partitions that the session has and that are not wanted now
    """

    session_id: int
    epoch: int
    wishes: dict[TopicPartition, Wish]
    forgotten: dict[TopicPartition, Wish]


class FetchSession:
    """What is wanted of one broker, and what it knows of that.

    wanted    by partition
    known     what the broker was asked last, by partition: what its next response is about
    without   those of `wanted` without a topic id
    """

    __slots__ = ("_changed", "epoch", "known", "session_id", "wanted", "without")

    def __init__(self) -> None:
        self.session_id = NO_SESSION
        self.epoch = SESSION_EPOCH_FIRST
        self.wanted: dict[TopicPartition, Wish] = {}
        self.known: dict[TopicPartition, Wish] = {}
        self.without: set[TopicPartition] = set()
        self._changed: dict[TopicPartition, None] = {}  # those whose wish is not what the broker knows

    def want(self, name: TopicPartition, wish: Wish) -> None:
        """Read on here; last in the order, so that none starves after a large one."""
        self.wanted.pop(name, None)
        self.wanted[name] = wish
        self._changed[name] = None
        if wish.topic_id == ZERO_UUID:
            self.without.add(name)
        else:
            self.without.discard(name)

    def forget(self, name: TopicPartition) -> None:
        self.without.discard(name)
        if self.wanted.pop(name, None) is not None:
            self._changed[name] = None

    def next_request(self) -> Said:
        """What to say; it is taken as known from then on."""
        if self.epoch == SESSION_EPOCH_FIRST:
            self.known = dict(self.wanted)
            self._changed.clear()
            return Said(NO_SESSION, SESSION_EPOCH_FIRST, self.known, {})
        wishes: dict[TopicPartition, Wish] = {}
        forgotten: dict[TopicPartition, Wish] = {}
        for name in self._changed:
            wish, known = self.wanted.get(name), self.known.get(name)
            if known is not None and (wish is None or wish.topic_id != known.topic_id):
                forgotten[name] = known
                del self.known[name]
            if wish is not None and wish != known:
                wishes[name] = self.known[name] = wish
        self._changed.clear()
        return Said(self.session_id, self.epoch, wishes, forgotten)

    def answered(self, session_id: int) -> None:
        """A response without an error came."""
        if session_id == NO_SESSION or (self.session_id != NO_SESSION and session_id != self.session_id):
            self.reset()
            return
        self.session_id = session_id
        self.epoch = self.epoch % 0x7FFFFFFF + 1

    def reset(self) -> None:
        """The next request begins a new session."""
        self.session_id, self.epoch = NO_SESSION, SESSION_EPOCH_FIRST
        self.known = {}
        self._changed = dict.fromkeys(self.wanted)
