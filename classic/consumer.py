"""`Consumer.create(config)` -> `ConsumerConnector`: the high-level consumer, whose group is in ZooKeeper.

    connector = Consumer.create({"zk.connect": "zk:2181", "groupid": "billing"})
    for stream in connector.create_message_streams({"clicks": 2})["clicks"]:
        Thread(target=work, args=(stream,)).start()      # for message in stream: ...
    ...
    connector.shutdown()

One thread of the connector follows the group; watches only wake it:

    wake -> session lost?   forget what is owned, register again
         -> snapshot, plan (`rebalance.py`): stop, commit and release what is lost; claim what is new
            a claim failed: release what the attempt claimed; a jittered wait; `rebalance.max.retries`, then it is reported, and tried on
         -> offsets of what was claimed -> fetchers
    each auto.commit.interval.ms: commit        each AUDIT_S: compare the owner nodes with what is read, and take a new snapshot

What a partition keeps across a rebalance is not released: it is read on without a gap.

Source: Kafka 0.8.2 `ZookeeperConsumerConnector`; KAFKA-4228, kafka-node PR 981, pykafka 565 for what goes wrong in such clients.
"""

from __future__ import annotations

import logging
import random
import socket
import threading
import time
import uuid
from collections.abc import Mapping
from typing import Any

from headrace.classic.config import ConsumerConfig
from headrace.classic.errors import ConsumerRebalanceFailed
from headrace.classic.fetchers import Fetchers
from headrace.classic.kafka_stream import KafkaStream, OwnedPartition
from headrace.classic.membership import Membership
from headrace.classic.offsets import KafkaOffsets, OffsetStore, ZooKeeperOffsets, offset_store
from headrace.classic.rebalance import after_failure, assigned_to, audit, plan
from headrace.classic.registry import BadRegistration, Registration
from headrace.classic.serializer import Decoder, DefaultDecoder
from headrace.classic.simple_consumer import RESETS, SimpleConsumer
from headrace.classic.topic_filter import TopicFilter
from headrace.classic.zookeeper import ZooKeeper, ZooKeeperUnavailable
from headrace.client.cluster import EARLIEST
from headrace.client.connection import ConnectionFailed
from headrace.errors import BadFrame, ConfigError, HeadraceError, KafkaError, NotAvailable
from headrace.ids import TopicPartition

AUDIT_S = 60.0
JOIN_S = 30.0  # for the connector's thread at shutdown
_PASSING = (ZooKeeperUnavailable, BadRegistration, ConnectionFailed, BadFrame, KafkaError, NotAvailable)

_log = logging.getLogger(__name__)


class Consumer:
    """Where connectors come from, as in Kafka."""

    @staticmethod
    def create(config: ConsumerConfig | Mapping[str, Any]) -> ConsumerConnector:
        """raises   ConfigError, ZooKeeperUnavailable"""
        return ConsumerConnector(config if isinstance(config, ConsumerConfig) else ConsumerConfig.of(config))


class ConsumerConnector:
    """One member of a group.

    failure   why the last rebalance has not succeeded so far; None: it has
    """

    def __init__(self, config: ConsumerConfig, chance: random.Random | None = None) -> None:
        """raises   ZooKeeperUnavailable, ConfigError"""
        self.config = config
        self.consumer_id = f"{config.group_id}_{config.consumer_id or _unique_id()}"
        self.failure: HeadraceError | None = None
        self._chance = chance or random.Random()
        self._wake = threading.Event()
        self._zookeeper = ZooKeeper(
            config.zookeeper_connect,
            config.zookeeper_session_timeout_ms,
            config.zookeeper_connection_timeout_ms,
            self._wake.set,
        )
        id_wait_s = 2 * config.zookeeper_session_timeout_ms / 1000
        self._membership = Membership(
            self._zookeeper, config.group_id, self.consumer_id, config.exclude_internal_topics, id_wait_s
        )
        self._store = self._offset_store()
        self._fetchers = Fetchers(config, self._membership.leader)
        self._registration: Registration | None = None
        self._streams: dict[str, dict[str, KafkaStream[Any, Any]]] = {}  # by topic, "" for all of a filter; by C-S
        self._lock = threading.Lock()  # of what is owned and committed
        self._owned: dict[TopicPartition, tuple[str, OwnedPartition]] = {}
        self._committed: dict[TopicPartition, int] = {}
        self._leftover: set[TopicPartition] = set()  # claims whose release failed
        self._losses = 0
        self._tries = 0
        self._attempted = threading.Event()  # the first rebalance is over, or reported
        self._is_stopping = False
        self._thread = threading.Thread(target=self._run, name=f"connector-{self.consumer_id}", daemon=True)

    def __enter__(self) -> ConsumerConnector:
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()

    @property
    def owned(self) -> dict[TopicPartition, str]:
        """The partitions that are read now, each with its stream."""
        with self._lock:
            return {name: stream for name, (stream, _) in self._owned.items()}

    def create_message_streams(
        self,
        topic_count: Mapping[str, int],
        key_decoder: Decoder[Any] | None = None,
        decoder: Decoder[Any] | None = None,
    ) -> dict[str, list[KafkaStream[Any, Any]]]:
        """Streams by topic, as many as `topic_count` says. Once for each connector; returns when the first rebalance is over.

        raises   ConfigError; RuntimeError, for a second call; NotAvailable, if another member has the id; ZooKeeperUnavailable
        """
        for topic, count in topic_count.items():
            if not isinstance(count, int) or count < 1:
                raise ConfigError(f"streams of {topic}", count, "expected 1 or more")
        self._join(Registration(dict(topic_count)), dict(topic_count), key_decoder, decoder)
        return {topic: list(self._streams[topic].values()) for topic in topic_count}

    def create_message_streams_by_filter(
        self,
        topic_filter: TopicFilter,
        num_streams: int = 1,
        key_decoder: Decoder[Any] | None = None,
        decoder: Decoder[Any] | None = None,
    ) -> list[KafkaStream[Any, Any]]:
        """Streams of all topics that a filter allows, also of those that are created later. Else as `create_message_streams`."""
        if num_streams < 1:
            raise ConfigError("num_streams", num_streams, "expected 1 or more")
        registration = Registration({topic_filter.regex: num_streams}, topic_filter.pattern)
        self._join(registration, {"": num_streams}, key_decoder, decoder)
        return list(self._streams[""].values())

    def commit_offsets(self) -> None:
        """Commit what was consumed so far; what the calling thread's streams returned last counts.

        raises   ZooKeeperUnavailable, ConnectionFailed, KafkaError
        """
        self._settle_own()
        self._commit()

    def shutdown(self) -> None:
        """End the streams, commit if `auto.commit.enable`, leave the group. Idempotent.

        What can't be committed is logged: it is read again.
        """
        self._settle_own()
        is_first = not self._is_stopping
        self._is_stopping = True
        self._wake.set()
        if self._thread.ident is not None and threading.current_thread() is not self._thread:
            self._thread.join(JOIN_S)
        if not is_first:
            return
        for stream in self._all_streams():
            stream.close()
        self._fetchers.stop()
        try:
            self._give_up(list(self._owned), is_committed=self.config.auto_commit_enable)
            if self._registration is not None:
                self._membership.leave()
        except _PASSING as failure:
            _log.warning("member left without committing member=%s reason=%s", self.consumer_id, failure)
        self._store.close()
        self._zookeeper.close()

    # Joining

    def _join(
        self,
        registration: Registration,
        counts: Mapping[str, int],
        key_decoder: Decoder[Any] | None,
        decoder: Decoder[Any] | None,
    ) -> None:
        if self._registration is not None:
            raise RuntimeError("message streams were already created: one call per connector is allowed")
        self._registration = registration
        config = self.config
        for topic, count in counts.items():
            for number in range(count):
                name = f"{self.consumer_id}-{number}"
                stream = KafkaStream(
                    name,
                    key_decoder or DefaultDecoder(),
                    decoder or DefaultDecoder(),
                    config.consumer_timeout_ms,
                    config.queued_max_message_chunks,
                )
                stream.on_room = self._fetchers.wake
                self._streams.setdefault(topic, {})[name] = stream
        self._losses = self._zookeeper.losses
        self._membership.register(registration)
        self._wake.set()
        self._thread.start()
        self._attempted.wait()

    def _all_streams(self) -> list[KafkaStream[Any, Any]]:
        return [stream for streams in self._streams.values() for stream in streams.values()]

    def _settle_own(self) -> None:
        for stream in self._all_streams():
            stream.settle_own()

    def _offset_store(self) -> OffsetStore:
        config = self.config
        kafka = KafkaOffsets(
            config.group_id,
            self._membership.brokers,
            config.offsets_channel_socket_timeout_ms,
            config.offsets_commit_max_retries,
            config.offsets_channel_backoff_ms,
            config.client_id,
        )
        zookeeper = ZooKeeperOffsets(self._zookeeper, config.group_id)
        return offset_store(config.offsets_storage, config.dual_commit_enabled, zookeeper, kafka)

    # The connector's thread

    def _run(self) -> None:
        try:
            self._follow_group()
        except Exception as failure:  # ours: nothing would follow the group, and no iterator would ever return
            _log.exception("connector failed member=%s", self.consumer_id)
            self.failure = ConsumerRebalanceFailed(f"{self.consumer_id}: {failure!r}")
            for stream in self._all_streams():
                stream.close()
        finally:
            self._attempted.set()

    def _follow_group(self) -> None:
        interval_s = self.config.auto_commit_interval_ms / 1000
        commit_s = time.monotonic() + interval_s if self.config.auto_commit_enable else float("inf")
        audit_s = time.monotonic() + AUDIT_S
        retry_s = float("inf")
        while not self._is_stopping:
            due_s = min(commit_s, audit_s, retry_s) - time.monotonic()
            self._wake.wait(max(0.0, due_s))
            if self._is_stopping:
                break
            is_changed = self._wake.is_set()
            if is_changed:  # a change that comes after a wait has timed out is not cleared unseen
                self._wake.clear()
            now_s = time.monotonic()
            if now_s >= commit_s:
                self._auto_commit()
                commit_s = time.monotonic() + interval_s
            if now_s >= audit_s:
                self._audit()
                is_changed = True  # a snapshot that is no longer true is replaced, whatever became of its watches
                audit_s = time.monotonic() + AUDIT_S
            if is_changed or now_s >= retry_s:
                wait_ms = self._rebalance()
                retry_s = float("inf") if wait_ms is None else time.monotonic() + wait_ms / 1000

    def _auto_commit(self) -> None:
        try:
            self._commit()
        except _PASSING as failure:
            _log.warning("offsets not committed member=%s reason=%s", self.consumer_id, failure)

    def _audit(self) -> None:
        """Stop reading what ZooKeeper says that this member doesn't own, and release what it owns and doesn't read."""
        try:
            owned = self.owned
            wrong = audit(owned, self._membership.owners(owned))
            topics = {name.topic for name in owned} | {topic for topic in self._streams if topic}
            stray = self._membership.stray_claims(topics, owned)
            self._membership.release(stray)
            if stray or wrong:
                _log.warning("audit found member=%s stray=%s lost=%s", self.consumer_id, stray, wrong)
            self._give_up(wrong, is_committed=False)
        except _PASSING as failure:
            _log.warning("audit failed member=%s reason=%s", self.consumer_id, failure)

    # Rebalancing

    def _rebalance(self) -> float | None:
        """One attempt; None: it succeeded, else the milliseconds to wait for the next."""
        claimed: dict[TopicPartition, str] = {}
        try:
            self._attempt(claimed)
        except _PASSING as failure:
            self._tries += 1
            retry = after_failure(
                claimed,
                self._tries,
                self.config.rebalance_max_retries,
                self.config.rebalance_backoff_ms,
                self._chance.random(),
            )
            self._leftover.update(retry.releases)
            self._release_leftover()
            self.failure = failure
            if retry.is_reported:
                self.failure = ConsumerRebalanceFailed(f"{self.consumer_id}: {self._tries} attempts: {failure}")
                _log.warning("rebalance failed member=%s tries=%d reason=%s", self.consumer_id, self._tries, failure)
                self._attempted.set()
            return retry.wait_ms
        self._tries = 0
        self.failure = None
        self._attempted.set()
        return None

    def _attempt(self, claimed: dict[TopicPartition, str]) -> None:
        """`claimed` gets the claims as they are made. raises one of _PASSING"""
        assert self._registration is not None
        self._register_again()
        self._membership.release(self._leftover)
        self._leftover.clear()
        snapshot = self._membership.snapshot(self._registration)
        if self.consumer_id not in snapshot.members:
            raise NotAvailable(f"{self.consumer_id} is not registered")
        wanted = assigned_to(self.consumer_id, snapshot)
        todo = plan(self.owned, wanted)
        self._give_up(todo.releases, is_committed=self.config.auto_commit_enable)
        for name, stream in todo.claims:
            claimed[name] = stream  # before it is made: one without a reply may have happened
            if not self._membership.claim(name, stream):
                del claimed[name]
                raise NotAvailable(f"{name} is owned by another member")
        offsets = self._first_offsets(list(claimed))
        started = []
        with self._lock:
            for name, stream in claimed.items():
                owned = OwnedPartition(name, self._stream_of(name.topic, stream), offsets[name])
                self._owned[name] = (stream, owned)
                self._committed.pop(name, None)
                started.append((owned, offsets[name]))
        if todo.claims or todo.releases:
            _log.info("rebalanced member=%s owned=%d", self.consumer_id, len(self._owned))
        claimed.clear()
        self._fetchers.add(started)

    def _register_again(self) -> None:
        """After a lost session nothing is owned: another member may read all of it by now."""
        assert self._registration is not None
        losses = self._zookeeper.losses
        if losses == self._losses and self._membership.is_registered():
            return
        _log.warning("session lost member=%s", self.consumer_id)
        names = list(self._owned)
        self._give_up(names, is_committed=False, is_released=False)
        self._membership.register(self._registration)
        self._losses = losses
        self._membership.release(names)

    def _give_up(
        self, names: list[TopicPartition] | tuple[TopicPartition, ...], is_committed: bool, is_released: bool = True
    ) -> None:
        """Stop reading partitions, commit what was consumed of them, release them: in this order, so that the next owner misses nothing.

        raises   one of _PASSING; nothing is read of them even so, and their claims are released later
        """
        if not names:
            return
        self._fetchers.remove(names)
        consumed: dict[TopicPartition, int] = {}
        with self._lock:
            for name in names:
                found = self._owned.pop(name, None)
                if found is not None:
                    consumed[name] = found[1].stream.revoke(found[1])
            done = {name: offset for name, offset in consumed.items() if self._committed.pop(name, None) != offset}
        self._leftover.update(names if is_released else ())
        if is_committed:
            self._store.commit(done)
        if is_released:
            self._release_leftover()

    def _release_leftover(self) -> None:
        """Claims that can't be released now are released first in the next attempt."""
        try:
            self._membership.release(self._leftover)
            self._leftover.clear()
        except ZooKeeperUnavailable as failure:
            _log.info("claims not released yet member=%s reason=%s", self.consumer_id, failure)

    def _stream_of(self, topic: str, stream: str) -> KafkaStream[Any, Any]:
        return self._streams.get(topic, self._streams.get("", {}))[stream]

    def _first_offsets(self, names: list[TopicPartition]) -> dict[TopicPartition, int]:
        """Where to begin: what is committed, else as `auto.offset.reset` says. raises one of _PASSING"""
        if not names:
            return {}
        found = self._store.fetch(names)
        reset = {name: self._reset_offset(name) for name in names if name not in found}
        if self.config.auto_commit_enable:  # else the next owner resets to a later end, and skips what came in between
            self._store.commit(reset)
        return found | reset

    def _reset_offset(self, name: TopicPartition) -> int:
        address = self._membership.leader(name)
        if address is None:
            raise ConnectionFailed(f"{name} has no leader")
        with SimpleConsumer(
            *address, so_timeout=self.config.socket_timeout_ms, client_id=self.config.client_id
        ) as asked:
            time_ms = RESETS.get(self.config.auto_offset_reset, EARLIEST)
            (offset,) = asked.get_offsets_before(*name, time_ms, 1)
            return offset

    def _commit(self) -> None:
        with self._lock:
            done = {
                name: owned.consumed_offset
                for name, (_stream, owned) in self._owned.items()
                if self._committed.get(name) != owned.consumed_offset
            }
            self._store.commit(done)
            self._committed.update(done)


def _unique_id() -> str:
    return f"{socket.gethostname()}-{int(time.time() * 1000)}-{uuid.uuid4().hex[:8]}"
