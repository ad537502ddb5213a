"""The channels of a term: what is told to which broker.

Runs in: the controller process of the active node. One channel (`broker_channel.py`) for each broker that is alive, this node's own
among them, from its start to its end, or to the end of the term. A notice costs the partitions that it names, at each broker that
has to hear of them, and nothing for the others.

Source: Kafka `ControllerChannelManager`, `AbstractControllerBrokerRequestBatch`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from headrace.controller.active.broker_channel import BrokerChannel, Connection
from headrace.controller.active.broker_requests import StoppedReplica
from headrace.controller.active.notices import OnStopped
from headrace.controller.active.term import Term
from headrace.controller.zookeeper.znodes import Registration
from headrace.protocol.broker_versions import InterBroker

OpenConnection = Callable[[Registration], Connection]


class BrokerChannels:
    """`notices.Channels`, of one term."""

    def __init__(self, term: Term, versions: InterBroker, open_connection: OpenConnection) -> None:
        self._term = term
        self._versions = versions
        self._open_connection = open_connection
        self._channels: dict[int, BrokerChannel] = {}
        self._open(term.known.brokers)

    def tell_leaders(
        self, topic: str, indexes: Collection[int], brokers: Collection[int] | None = None, *, is_new: bool = False
    ) -> None:
        found = self._term.known.topics.get(topic)
        if found is None or not indexes:
            return
        for index in found.known_of(indexes):
            for broker in found.replicas[index] if brokers is None else brokers:
                channel = self._channels.get(broker)
                if channel is not None:
                    channel.tell_leader(topic, index, is_new)
        self.tell_metadata(topic, indexes)

    def tell_metadata(
        self, topic: str, indexes: Collection[int] | None = None, brokers: Collection[int] | None = None
    ) -> None:
        for channel in self._those(brokers):
            channel.tell_metadata(topic, indexes)

    def tell_brokers(self, brokers: Collection[int] | None = None) -> None:
        for channel in self._those(brokers):
            channel.tell_brokers()

    def stop_replica(
        self,
        broker: int,
        topic: str,
        index: int,
        leader_epoch: int,
        *,
        is_deleted: bool,
        on_stopped: OnStopped | None = None,
    ) -> bool:
        channel = self._channels.get(broker)
        if channel is None:
            return False
        channel.stop(topic, index, StoppedReplica(leader_epoch, is_deleted), on_stopped)
        return True

    def tell_all(self, broker: int) -> None:
        channel = self._channels.get(broker)
        if channel is None:
            return
        known = self._term.known
        channel.tell_brokers(known.topics)
        for name in known.topics_on((broker,)):
            topic = known.topics[name]
            for index, replicas in enumerate(topic.replicas):
                if broker in replicas and topic.states[index] is not None:
                    channel.tell_leader(name, index, False)

    def heard(self) -> dict[int, Callable[[], bool]]:
        return {broker: channel.heard() for broker, channel in self._channels.items() if not channel.is_done}

    def take_brokers(self, gone: Collection[int], come: Collection[int]) -> None:
        for broker in gone:
            channel = self._channels.pop(broker, None)
            if channel is not None:
                channel.close()
        self._open(come)
        self.tell_brokers()
        for broker in sorted(come):
            self.tell_all(broker)

    def move_brokers(self, brokers: Collection[int]) -> None:
        for broker in brokers:
            registration = self._term.known.brokers[broker]
            self._channels[broker].move(registration, self._open_connection(registration))
        self.tell_brokers()

    def close(self) -> None:
        channels, self._channels = self._channels, {}
        for channel in channels.values():
            channel.close()

    def _open(self, brokers: Iterable[int]) -> None:
        for broker in sorted(brokers):
            registration = self._term.known.brokers[broker]
            self._channels[broker] = BrokerChannel(
                self._term, registration, self._open_connection(registration), self._versions
            )

    def _those(self, brokers: Collection[int] | None) -> Iterable[BrokerChannel]:
        if brokers is None:
            return self._channels.values()
        return [self._channels[broker] for broker in brokers if broker in self._channels]
