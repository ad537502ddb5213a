"""The followers of one partition worker: which partitions follow whom, and a fetcher for each leader broker.

Runs in: a partition worker, in its cycle:

    follow(view)     brokers that came, went, or are elsewhere       before the roles of the view are taken
    follow_role      told of each replica whose role is another      it leads now: it is fetched no more, from here on
    do_work          fetchers apply what came and ask again, within FETCHED_CYCLE_MS_MAX for all of them

A role of another epoch, or another replica in the slot, makes a new `Followed`; what was asked for the old one is applied to
nobody. One fetcher for each leader, in each worker: P workers fetch with P connections from each leader, so that
`num.replica.fetchers` has nothing to add.

Costs nothing for partitions in which nothing happens.

Source: Kafka `ReplicaFetcherManager`, `AbstractFetcherManager`, `ReplicaManager.makeFollowers`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Final

from headrace.clock import Clock
from headrace.ids import NO_LEADER
from headrace.limits import FETCHED_CYCLE_MS_MAX
from headrace.protocol.messages import ZERO_UUID
from headrace.runtime.deadlines import NEVER, Deadlines
from headrace.runtime.peers import Peers
from headrace.shm.cluster_view import BrokerView, ClusterView, TopicView
from headrace.shm.partition_table import RowState
from headrace.workers.partition.replicas.replica import Replica
from headrace.workers.partition.replication.fetch_options import FetchOptions
from headrace.workers.partition.replication.fetcher import Fetcher
from headrace.workers.partition.replication.followed import Followed
from headrace.workers.partition.replication.follower_states import first_state
from headrace.workers.partition.replication.throttle import Throttle

_CYCLE_NS: Final = FETCHED_CYCLE_MS_MAX * 1_000_000
_NEWS_INTERVAL_NS: Final = 1_000_000_000  # between two lines of who follows whom

_log: Final = logging.getLogger(__name__)


class Fetchers:
    """One worker's.

    by_slot   what follows; to be read
    on_cut    called with a replica whose log was cut, or restarted
    throttle  of this worker's followers
    """

    def __init__(
        self,
        options: FetchOptions,
        peers: Peers,
        clock: Clock,
        on_cut: Callable[[Replica], None],
        partitions_max: int,
        throttle: Throttle,
    ) -> None:
        self.by_slot: dict[int, Followed] = {}
        self._options = options
        self._peers = peers
        self._clock = clock
        self._on_cut = on_cut
        self._brokers: Mapping[int, BrokerView] = {}
        self._topics: Mapping[str, TopicView] = {}
        self._fetchers: dict[int, Fetcher] = {}  # by leader
        self._delays: Deadlines[Followed] = Deadlines(partitions_max)
        self._has_news = False
        self._news_due_ns = 0  # before which it is not notified: thousands of logs open one after the other
        self._is_closing = False
        self._throttle = throttle

    def __contains__(self, replica: object) -> bool:
        """Whether a replica follows here: an observer of moves waits for such."""
        return isinstance(replica, Replica) and replica.slot in self.by_slot

    def __bool__(self) -> bool:
        return bool(self.by_slot)

    def follow(self, view: ClusterView) -> None:
        """Where the brokers are now, and what topics are called."""
        self._topics = view.topics
        self._throttle.follow(view)
        if view.brokers == self._brokers:
            return
        self._brokers = view.brokers
        for fetcher in self._fetchers.values():
            self._connect(fetcher)

    def follow_role(self, replica: Replica) -> None:
        """The role of a replica is another, or it is retired, or new; told again, nothing changes."""
        held = self.by_slot.get(replica.slot)
        is_led = replica.leader_id not in (NO_LEADER, self._options.node_id)
        follows = replica.state is RowState.FOLLOWER and is_led and not replica.is_halted
        if held is not None:
            if held.replica is not replica and not follows:
                return  # another replica has the slot now
            if held.replica is replica and held.is_current and follows:
                return
            self._drop(held)
        if follows and not self._is_closing:
            self._add(replica)

    def note_moved(self, replica: Replica) -> None:
        """A row says something new: the log start, which retention here has moved, is told to the leader."""
        followed = self.by_slot.get(replica.slot)
        if followed is not None and followed.replica is replica:
            self._fetchers[followed.leader].touch(followed)

    def do_work(self, now_ms: int) -> int:
        """Continue with what came, and ask again. Returns the work done."""
        if not self._fetchers:
            return 0
        done = 0
        now_ns = self._clock.monotonic_ns()
        while (due := self._delays.pop_due(now_ns // 1_000_000)) is not None:
            followed = due[2]
            self._fetchers[followed.leader].resume(followed)
            done += 1
        if self._has_news and now_ns >= self._news_due_ns:
            self._news_due_ns = now_ns + _NEWS_INTERVAL_NS
            self._tell_news()
        until_ns = now_ns + _CYCLE_NS
        fetchers = self._fetchers
        for leader, fetcher in list(fetchers.items()):
            if len(fetchers) > 1:  # who came last is the first the next time
                del fetchers[leader]
                fetchers[leader] = fetcher
            done += fetcher.do_work(now_ms, until_ns)
            if self._clock.monotonic_ns() >= until_ns:
                break
        return done

    def sleep_bound_ms(self, most_ms: int) -> int:
        """How long the worker may sleep before something is due here."""
        next_ms = self._delays.next_ms
        for fetcher in self._fetchers.values():
            if fetcher.pause_until_ms:
                next_ms = min(next_ms, fetcher.pause_until_ms)
        if next_ms == NEVER:
            return most_ms
        return max(0, min(most_ms, next_ms - self._clock.monotonic_ns() // 1_000_000))

    def close(self) -> None:
        """Follow nobody any more: the worker stops."""
        self._is_closing = True
        for followed in list(self.by_slot.values()):
            self._drop(followed)
        self._has_news = False

    def _add(self, replica: Replica) -> None:
        topic = self._topics.get(replica.partition.topic)
        topic_id = bytes.fromhex(topic.topic_id) if topic is not None and topic.topic_id else ZERO_UUID
        state = first_state(self._options.versions.truncates_on_fetch, replica.log.epochs.latest)
        followed = self.by_slot[replica.slot] = Followed(replica, topic_id, state)
        leader = followed.leader
        fetcher = self._fetchers.get(leader)
        if fetcher is None:
            fetcher = self._fetchers[leader] = Fetcher(
                leader,
                self._options,
                self._peers,
                self._clock,
                self._delay,
                self._delays.cancel,
                self._on_cut,
                self._throttle,
            )
            self._connect(fetcher)
        fetcher.add(followed)
        self._has_news = True

    def _drop(self, followed: Followed) -> None:
        del self.by_slot[followed.replica.slot]
        fetcher = self._fetchers[followed.leader]
        fetcher.remove(followed)
        if not fetcher:
            del self._fetchers[followed.leader]
            fetcher.close()
        self._has_news = True

    def _connect(self, fetcher: Fetcher) -> None:
        own = self._brokers.get(self._options.node_id)
        fetcher.broker_epoch = -1 if own is None else own.epoch
        broker = self._brokers.get(fetcher.leader)
        if broker is None:
            fetcher.disconnect()
        else:
            fetcher.connect(broker.host, broker.port)

    def _delay(self, followed: Followed, pause_ms: int) -> int:
        serial = self._delays.schedule(self._clock.monotonic_ns() // 1_000_000 + pause_ms, followed)
        assert serial, "one a partition"
        return serial

    def _tell_news(self) -> None:
        self._has_news = False
        for fetcher in self._fetchers.values():
            _log.info("fetching from a leader leader=%d partitions=%d", fetcher.leader, len(fetcher))
