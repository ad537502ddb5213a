"""Leader epochs of what was read, and whether the log still has it (KIP-320).

An offset alone does not identify a record: a log that lost its tail (an unclean election, a restored disk) has other records at the same
offsets once it has grown again. They were written by a later leader, under a later epoch. So a reader keeps, beside the offset where
it continues, the epoch of the last record before it, and asks the leader where that epoch ended:

    at or after the offset              the log has what was read
    before the offset, or not known     it was truncated: what was read from there on is no longer in it

Epochs come from the leader alone: the present one is asked for, then the one below it, until the one that begins before the record.
What was found is remembered as long as the leader's epoch stays, so that a reader that keeps up asks once.

Source: Kafka `OffsetsForLeaderEpochClient`, `SubscriptionState.maybeCompleteValidation`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from headrace.client.cluster import Cluster, error_of
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import NO_EPOCH, TopicPartition
from headrace.limits import EPOCH_STEPS_MAX
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey

CONSUMER = -1  # replica id
VERSIONS = (3, 4)  # consumers may ask from v3 on

Epochs = dict[TopicPartition, int]


class Position(NamedTuple):
    """Where a reader continues, and the leader epoch of the last record before that."""

    offset: int
    epoch: int


class EpochEnd(NamedTuple):
    """The largest epoch of a log at or below the one asked for, and where it ends; both -1: all epochs are lower, or none is known."""

    epoch: int
    end: int


class _Span(NamedTuple):
    """Records `begin` <= offset < `end` have an epoch, as long as the leader's epoch is `leader_epoch`."""

    leader_epoch: int
    epoch: int
    begin: int
    end: float


def epoch_ends(cluster: Cluster, wanted: Mapping[TopicPartition, int]) -> dict[TopicPartition, EpochEnd]:
    """Where leader epochs end in the logs of the present leaders; a leader that does not support the question is left out.

    raises   KafkaError, ConnectionFailed
    """
    if not wanted:
        return {}
    return cluster.retried(lambda: _asked(cluster, wanted), {name.topic for name in wanted})


def truncations(cluster: Cluster, positions: Mapping[TopicPartition, Position]) -> Epochs:
    """The partitions whose logs no longer have what was read, each with the offset from which on they differ; -1: not known.

    positions   those without an epoch are not compared. `Cluster.offsets` was asked for their ends before: where the leader's epoch is
                still that of the last record, nothing was truncated unless the log is shorter
    raises      KafkaError, ConnectionFailed
    """
    wanted = {
        name: at.epoch
        for name, at in positions.items()
        if at.epoch != NO_EPOCH and at.offset > 0 and cluster.leader_epochs.get(name) != at.epoch
    }
    found = epoch_ends(cluster, wanted)
    return {
        name: ends.end for name, ends in found.items() if ends.epoch == NO_EPOCH or ends.end < positions[name].offset
    }


class RecordEpochs:
    """Finds the leader epochs of records, and remembers where epochs begin."""

    def __init__(self) -> None:
        self._spans: dict[TopicPartition, _Span] = {}

    def remembered(
        self, offsets: Mapping[TopicPartition, int], leader_epochs: Mapping[TopicPartition, int]
    ) -> tuple[Epochs, Epochs]:
        """(the epochs of the last records before these offsets that are known already, the offsets to ask for).

        leader_epochs   of the present leaders; a partition without one is in neither
        """
        found: Epochs = {}
        left: Epochs = {}
        for name, offset in offsets.items():
            present = leader_epochs.get(name, NO_EPOCH)
            span = self._spans.get(name)
            if offset <= 0 or present == NO_EPOCH:
                continue
            if span is not None and span.leader_epoch == present and span.begin < offset <= span.end:
                found[name] = span.epoch
            else:
                left[name] = offset
        return found, left

    def before(self, cluster: Cluster, offsets: Mapping[TopicPartition, int]) -> Epochs:
        """The epoch of the last record before each offset, of those where the leader knows it.

        offsets   at most the ends that the log has
        raises    KafkaError, ConnectionFailed
        """
        found, left = self.remembered(offsets, cluster.leader_epochs)
        asked = {name: cluster.leader_epochs[name] for name in left}
        above: dict[TopicPartition, EpochEnd] = {}
        for _step in range(EPOCH_STEPS_MAX):
            answers = epoch_ends(cluster, asked)
            due = {
                name: self._step(cluster, name, offsets[name], asked[name], answer, above, found)
                for name, answer in answers.items()
            }
            asked = {name: epoch for name, epoch in due.items() if epoch != NO_EPOCH}
            if not asked:
                break
        return found

    def _step(
        self,
        cluster: Cluster,
        name: TopicPartition,
        offset: int,
        asked: int,
        answer: EpochEnd,
        above: dict[TopicPartition, EpochEnd],
        found: Epochs,
    ) -> int:
        """The epoch to ask for next, or NO_EPOCH. `above` has the answer before this one: its epoch begins where this one ends."""
        higher = above.get(name)
        if answer.epoch == NO_EPOCH:  # the present leader has written nothing yet
            return asked - 1 if higher is None else NO_EPOCH
        if higher is not None and offset > answer.end:
            self._found(cluster, name, higher, answer.end, found)
            return NO_EPOCH
        if offset > answer.end or (higher is not None and answer.end == higher.end):
            return NO_EPOCH  # the log is shorter by now, or begins after that record
        if answer.epoch == 0:
            self._found(cluster, name, answer, 0, found)
            return NO_EPOCH
        above[name] = answer
        return answer.epoch - 1

    def _found(self, cluster: Cluster, name: TopicPartition, ends: EpochEnd, begin: int, found: Epochs) -> None:
        present = cluster.leader_epochs.get(name, NO_EPOCH)
        end = float("inf") if ends.epoch == present else ends.end  # the present leader writes on
        self._spans[name] = _Span(present, ends.epoch, begin, end)
        found[name] = ends.epoch


def _asked(cluster: Cluster, wanted: Mapping[TopicPartition, int]) -> dict[TopicPartition, EpochEnd]:
    """raises   KafkaError, ConnectionFailed"""
    kind = messages.OffsetForLeaderEpochRequest
    found: dict[TopicPartition, EpochEnd] = {}
    for leader, names in cluster.by_leader(wanted).items():
        connection = cluster.connection(leader)
        try:
            version = connection.version(ApiKey.OFFSET_FOR_LEADER_EPOCH, *VERSIONS)
        except KafkaError as failure:
            if failure.code != ErrorCode.UNSUPPORTED_VERSION:
                raise
            continue
        topics: dict[str, list[messages.OffsetForLeaderEpochRequest.OffsetForLeaderPartition]] = {}
        for name in names:
            present = cluster.leader_epochs.get(name, NO_EPOCH)
            row = kind.OffsetForLeaderPartition(name.partition, present, wanted[name])
            topics.setdefault(name.topic, []).append(row)
        request = kind(
            replica_id=CONSUMER, topics=[kind.OffsetForLeaderTopic(topic, rows) for topic, rows in topics.items()]
        )
        answer = connection.request(ApiKey.OFFSET_FOR_LEADER_EPOCH, version, request)
        for topic in answer.topics:
            for one in topic.partitions:
                name = TopicPartition(topic.topic, one.partition)
                if one.error_code:
                    raise error_of(one.error_code, str(name))
                found[name] = EpochEnd(one.leader_epoch, one.end_offset)
    return found
