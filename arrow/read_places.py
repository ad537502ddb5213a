"""How far a tail has read, and whether the log still has it.

An offset alone does not identify a record (`client/leader_epochs.py`): a topic that was created again, and a log that was truncated and has
grown again, have other records at the same offsets, and a tail that continues by the offset would pass over those before it.

    epochs of the records before the starts
    plan the next ranges -> epochs of the records at their ends -> compare the epochs of the ranges before with the leaders' -> read

In this order a log that is truncated before the comparison is noticed by it, and one that is truncated later by the next one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.arrow.errors import DataLoss, TopicRecreated
from headrace.arrow.ranges import OffsetRange
from headrace.client.cluster import LATEST, Cluster
from headrace.client.leader_epochs import Epochs, Position, RecordEpochs, truncations
from headrace.ids import NO_EPOCH, TopicPartition


class ReadPlaces:
    """Of one tail of one topic."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._topic_id = ""
        self._records = RecordEpochs()
        self._epochs: Epochs = {}  # of the last records that were read or passed over
        self._has_begun = False
        self._compared: dict[TopicPartition, tuple[Position, int]] = {}  # with which leader's epoch

    def check_id(self, found: str) -> None:
        """found    '' of a cluster without ids
        raises   TopicRecreated
        """
        self._topic_id = self._topic_id or found
        if found and found != self._topic_id:
            raise TopicRecreated(
                f"{self._topic} was deleted and created again while it was read (its id was {self._topic_id}, it is {found} now): open it "
                "again"
            )

    def begin(self, cluster: Cluster, starts: Mapping[TopicPartition, int]) -> None:
        """Before the first plan, and once: what stands before the starts is what later plans continue from.

        cluster   with metadata of the topic
        raises    TopicRecreated, KafkaError, ConnectionFailed
        """
        if self._has_begun:
            return
        self._has_begun = True
        self.check_id(cluster.topic_ids.get(self._topic, ""))
        known = {name: offset for name, offset in starts.items() if offset > 0 and name in cluster.partitions}
        if known:
            cluster.offsets(dict.fromkeys(known, LATEST))
            self._epochs |= self._records.before(cluster, known)

    def check_plan(self, cluster: Cluster, ranges: Sequence[OffsetRange], offsets: Mapping[int, int]) -> None:
        """That the ranges follow what was read; their ends are what is compared the next time.

        offsets   where they begin, by partition, of those that were read before or have a start of their own
        raises    TopicRecreated, DataLoss, KafkaError, ConnectionFailed
        """
        for one in ranges:
            self.check_id(one.topic_id)
        ends = {TopicPartition(one.topic, one.partition): one.end for one in ranges}
        names = {TopicPartition(self._topic, index): offset for index, offset in offsets.items()}
        if not ends and not names:
            return
        cluster.offsets(dict.fromkeys((*ends, *names), LATEST))
        epochs = self._records.before(cluster, ends)
        self._compare(cluster, names)
        self._epochs |= {name: epochs.get(name, NO_EPOCH) for name in ends}

    def _compare(self, cluster: Cluster, offsets: Mapping[TopicPartition, int]) -> None:
        """raises   DataLoss, KafkaError, ConnectionFailed"""
        due = {}
        for name, offset in offsets.items():
            at = Position(offset, self._epochs.get(name, NO_EPOCH))
            if self._compared.get(name) != (at, cluster.leader_epochs.get(name, NO_EPOCH)):
                due[name] = at
        for name, cut in sorted(truncations(cluster, due).items()):
            since = (
                f"it has other records from offset {cut} on"
                if cut >= 0
                else "its leader does not know the epoch in which they were written"
            )
            raise DataLoss(
                f"{name}: the log was truncated, and no longer has the records before offset {due[name].offset}"
                f" that were read or skipped: {since}"
            )
        self._compared |= {name: (at, cluster.leader_epochs.get(name, NO_EPOCH)) for name, at in due.items()}
