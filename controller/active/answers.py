"""What brokers have answered to LeaderAndIsr in this term: which of their replicas serve, and in which leader epoch.

Runs in: the controller process of the active node, one object a term. What a broker answered to the controller before, nobody knows:
its directory may have failed since, and it stays in the ISR until its leader sees a lag. So a broker that is alive counts for little
until it has answered for the partition in this term:

    an election or a shrink that leaves it alone in an ISR   waits: whoever leaves has all records as well (`state_changes.py`)
    the end of a reassignment to it                          waits (`reassignment.py`)
    a replica that it leads instead of is deleted            once it has answered in the leader epoch of that state (`replica_stops.py`)

What a broker answered is over when it goes or starts again, and when another answer says that its directory failed.

Source: Kafka `ReplicaManager.becomeLeaderOrFollower`: STALE_CONTROLLER_EPOCH, where it has this leader epoch or a later one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headrace.controller.cluster.known_cluster import KnownCluster, Topic
from headrace.errors import ErrorCode
from headrace.ids import NO_EPOCH
from headrace.protocol.messages import ZERO_UUID

WELL = (ErrorCode.NONE, ErrorCode.STALE_CONTROLLER_EPOCH)  # answers for replicas that can serve


class Answers:
    """Those of one term."""

    def __init__(self, known: KnownCluster) -> None:
        self._known = known
        self._epochs: dict[
            int, dict[str, dict[int, int]]
        ] = {}  # by broker, topic and partition: of the replicas that serve

    def note(self, broker: int, asked: Any, errors: Mapping[tuple[str, int], ErrorCode]) -> None:
        """A broker's answer to a LeaderAndIsr, by partition. What is no replica of the broker any more does not count."""
        of_broker = self._epochs.setdefault(broker, {})
        for told in asked.topic_states:
            name, topic = told.topic_name, self._known.topics.get(told.topic_name)
            if topic is None or (told.topic_id != ZERO_UUID and told.topic_id.hex() != topic.topic_id):
                continue
            epochs = of_broker.setdefault(_key(topic), {})
            for row in told.partition_states:
                index = row.partition_index
                error = errors.get((name, index))
                if error in WELL and index < len(topic.replicas) and broker in topic.replicas[index]:
                    epochs[index] = row.leader_epoch
                elif error is not None:
                    epochs.pop(index, None)

    def is_well(self, broker: int, topic: Topic, index: int, leader_epoch: int = NO_EPOCH) -> bool:
        """Whether a broker has answered that its replica serves, in this leader epoch or a later one."""
        told = self._epochs.get(broker, {}).get(_key(topic), {}).get(index)
        return told is not None and told >= leader_epoch

    def forget(self, brokers: Iterable[int]) -> None:
        """They are gone, or start again."""
        for broker in brokers:
            self._epochs.pop(broker, None)

    def forget_replicas(self, topic: Topic, places: Iterable[tuple[int, int]]) -> None:
        """Replicas (broker, partition) that are none any more."""
        for broker, index in places:
            self._epochs.get(broker, {}).get(_key(topic), {}).pop(index, None)

    def forget_topic(self, topic: Topic) -> None:
        """It is gone."""
        for of_broker in self._epochs.values():
            of_broker.pop(_key(topic), None)


def _key(topic: Topic) -> str:
    return topic.topic_id or topic.name
