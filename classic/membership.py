"""A member's side of its group in ZooKeeper: it registers, takes snapshots, claims and releases partitions. `rebalance.py` decides.

Every read that a decision depends on sets a watch: members, brokers, topics where a filter needs them, the partitions of each topic.

Source: Kafka 0.8.2 `ZookeeperConsumerConnector`; the documentation's "Consumer registration algorithm".
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterable, Mapping

from headrace.classic import registry
from headrace.classic.discovery import Address
from headrace.classic.rebalance import Snapshot, member_of
from headrace.classic.registry import STATIC, BadRegistration, Registration
from headrace.classic.topic_filter import streams_of
from headrace.classic.zookeeper import EPHEMERAL, PERSISTENT, ZooKeeper
from headrace.errors import ConfigError, NotAvailable
from headrace.ids import NO_LEADER, TopicPartition

ID_PAUSE_S = 0.2

_log = logging.getLogger(__name__)


class Membership:
    """One member; one thread at a time, but for `leader` and `brokers`."""

    def __init__(
        self, zookeeper: ZooKeeper, group: str, consumer_id: str, exclude_internal: bool, id_wait_s: float
    ) -> None:
        """
        id_wait_s   for the node of a member with this id whose session has not expired yet
        """
        self.group = group
        self.consumer_id = consumer_id
        self._zookeeper = zookeeper
        self._exclude_internal = exclude_internal
        self._id_wait_s = id_wait_s

    def register(self, registration: Registration) -> None:
        """Make the member's node. One that an earlier session of this member left is waited for.

        raises   NotAvailable, if another member has the id; ZooKeeperUnavailable
        """
        path = registry.id_path(self.group, self.consumer_id)
        data = registry.encode_registration(registration, int(time.time() * 1000))
        deadline_s = time.monotonic() + self._id_wait_s
        while not self._zookeeper.create(path, data, EPHEMERAL):
            if self._zookeeper.owner_session(path) == self._zookeeper.session_id:
                return  # a create whose reply was lost
            if time.monotonic() > deadline_s:
                raise NotAvailable(f"{path}: another member has this id")
            time.sleep(ID_PAUSE_S)
        self._zookeeper.create(f"{registry.CONSUMERS}/{self.group}/owners", b"", PERSISTENT)

    def leave(self) -> None:
        """raises   ZooKeeperUnavailable: the end of the session does the same"""
        self._zookeeper.delete(registry.id_path(self.group, self.consumer_id))

    def is_registered(self) -> bool:
        """Whether the member's node is there, and this session's."""
        owner = self._zookeeper.owner_session(registry.id_path(self.group, self.consumer_id))
        return owner != 0 and owner == self._zookeeper.session_id

    def snapshot(self, registration: Registration) -> Snapshot:
        """The group, and the topics of this member. raises ZooKeeperUnavailable, BadRegistration"""
        group = registry.ids_path(self.group)
        registrations = {}
        for name in self._zookeeper.children(group, is_watched=True) or ():
            data = self._zookeeper.get(registry.id_path(self.group, name))
            if data is not None:
                registrations[name] = registry.decode_registration(data, registry.id_path(self.group, name))
        self._zookeeper.children(registry.BROKER_IDS, is_watched=True)
        has_filter = any(one.pattern != STATIC for one in (registration, *registrations.values()))
        topics = self._zookeeper.children(registry.TOPICS, is_watched=True) or [] if has_filter else []
        mine = streams_of(registration, topics, self._exclude_internal)
        members: dict[str, Mapping[str, int]] = {}
        for name, one in registrations.items():
            try:
                streams = streams_of(one, topics, self._exclude_internal)
            except ConfigError as failure:
                raise BadRegistration(f"{registry.id_path(self.group, name)}: {failure}") from None
            members[name] = {topic: count for topic, count in streams.items() if topic in mine}
        return Snapshot(members, {topic: self._partitions(topic) for topic in mine})

    def claim(self, name: TopicPartition, stream: str) -> bool:
        """Make this member's stream the owner of a partition; False if another owns it, whose release is then a change.

        raises   ZooKeeperUnavailable
        """
        path = registry.owner_path(self.group, *name)
        if self._zookeeper.create(path, stream.encode(), EPHEMERAL):
            return True
        owner = self._zookeeper.get(path, is_watched=True)
        if owner is None:  # released in between
            return self._zookeeper.create(path, stream.encode(), EPHEMERAL)
        return owner == stream.encode() and self._zookeeper.owner_session(path) == self._zookeeper.session_id

    def release(self, names: Iterable[TopicPartition]) -> None:
        """Delete owner nodes, as far as they are this member's. raises ZooKeeperUnavailable"""
        for name in names:
            path = registry.owner_path(self.group, *name)
            owner = self._zookeeper.get(path)
            if owner is not None and member_of(owner.decode(errors="replace")) == self.consumer_id:
                self._zookeeper.delete(path)

    def owners(self, names: Iterable[TopicPartition]) -> dict[TopicPartition, str | None]:
        """The owner of each partition, None for none; that of another session of this member is none. raises ZooKeeperUnavailable"""
        found: dict[TopicPartition, str | None] = {}
        for name in names:
            path = registry.owner_path(self.group, *name)
            data = self._zookeeper.get(path)
            is_own = self._zookeeper.owner_session(path) == self._zookeeper.session_id
            owner = None if data is None else data.decode(errors="replace")
            found[name] = None if owner is not None and member_of(owner) == self.consumer_id and not is_own else owner
        return found

    def stray_claims(self, topics: Collection[str], owned: Collection[TopicPartition]) -> list[TopicPartition]:
        """Owner nodes of this member for partitions that it does not read. raises ZooKeeperUnavailable"""
        found = []
        for topic in topics:
            for number in self._zookeeper.children(registry.owners_path(self.group, topic)) or ():
                if not number.isdecimal() or (name := TopicPartition(topic, int(number))) in owned:
                    continue
                owner = self._zookeeper.get(registry.owner_path(self.group, *name))
                if owner is not None and member_of(owner.decode(errors="replace")) == self.consumer_id:
                    found.append(name)
        return found

    def brokers(self) -> list[Address]:
        """Addresses of live brokers. raises ZooKeeperUnavailable"""
        found = []
        for number in self._zookeeper.children(registry.BROKER_IDS) or ():
            address = self._address(int(number))
            if address is not None:
                found.append(address)
        return found

    def leader(self, name: TopicPartition) -> Address | None:
        """Where a partition's leader listens; None if it has none now. raises ZooKeeperUnavailable, BadRegistration"""
        path = registry.state_path(*name)
        data = self._zookeeper.get(path)
        leader = NO_LEADER if data is None else registry.decode_leader(data, path)
        return None if leader == NO_LEADER else self._address(leader)

    def _address(self, broker_id: int) -> Address | None:
        path = registry.broker_path(broker_id)
        data = self._zookeeper.get(path)
        try:
            return None if data is None else Address(*registry.decode_broker(data, path))
        except BadRegistration as failure:
            _log.warning("broker skipped reason=%s", failure)
            return None

    def _partitions(self, topic: str) -> tuple[int, ...]:
        path = registry.topic_path(topic)
        data = self._zookeeper.get(path, is_watched=True)
        if data is None:  # its creation is a change of the topics
            self._zookeeper.children(registry.TOPICS, is_watched=True)
            return ()
        return tuple(sorted(registry.decode_topic(data, path)))
