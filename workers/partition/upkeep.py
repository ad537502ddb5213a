"""Changes of a log's segment list that others ask for: the housekeeper's retention and compaction, clients' DeleteRecords.

Runs in: the partition worker that owns the log, through its mailbox. The asker has done the reading and the thinking;
here is decided what may be, and a few renames are made. Everything can be asked again: what is done already, or isn't
there any more, does not fail.

Segments go some in each cycle (`segment_deletions.py`). What another pass has written is taken only while the log's settings are
those by which it was written: a topic that is no longer compacted takes no compacted segments.

Source: Kafka `Partition.deleteRecordsOnLeader`, `UnifiedLog.maybeIncrementLogStartOffset`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from headrace.errors import ErrorCode, StorageFailed
from headrace.ids import PartitionKey, TopicPartition
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.runtime.mailbox import Handler, Reply
from headrace.shm.messages import (
    SWAP_SEGMENTS_HEADER,
    SWAPPED_SEGMENT,
    SYNCED_ENTRY,
    UPKEEP_RESULT,
    RequestKind,
)
from headrace.shm.partition_table import RowState
from headrace.workers.partition.replicas.replica import Replica
from headrace.workers.partition.replication.live_brokers import LiveBrokers
from headrace.workers.partition.replication.record_deletions import RecordDeletion, RecordDeletions
from headrace.workers.partition.segment_deletions import SegmentDeletions, move_log_start

TO_HIGH_WATERMARK: Final = -1

_PartitionResult = messages.DeleteRecordsResponse.DeleteRecordsPartitionResult
_TopicResult = messages.DeleteRecordsResponse.DeleteRecordsTopicResult


class Upkeep:
    """The handlers, over the replicas of this worker by slot."""

    def __init__(
        self,
        replicas: dict[int, Replica],
        is_moving: Callable[[int], bool],
        deletions: RecordDeletions,
        live: LiveBrokers,
    ) -> None:
        self._replicas = replicas
        self._is_moving = is_moving
        self._deletions = deletions
        self._live = live
        self._segments = SegmentDeletions(self._change)

    def do_work(self) -> int:
        """Some of the segments that are to be deleted; 0 where none wait."""
        return self._segments.do_work()

    def handlers(self) -> dict[int, Handler]:
        """By api key."""
        return {
            RequestKind.DELETE_SEGMENTS: self._segments.ask,
            RequestKind.SWAP_SEGMENTS: self._swap_segments,
            RequestKind.NOTE_SYNCED: self._note_synced,
            ApiKey.DELETE_RECORDS: self._delete_records,
        }

    def _swap_segments(self, _version: int, body: memoryview, reply: Reply) -> None:
        slot, key, as_of_version = SWAP_SEGMENTS_HEADER.unpack_from(body)
        segments = list(SWAPPED_SEGMENT.iter_unpack(body[SWAP_SEGMENTS_HEADER.size :]))
        error = ErrorCode.INVALID_REQUEST  # the log has changed since the housekeeper looked

        def swap(replica: Replica) -> None:
            nonlocal error
            if self._is_moving(slot):
                error = ErrorCode.REASSIGNMENT_IN_PROGRESS
            elif replica.log.config.is_compacted and replica.swap_segments(segments, as_of_version):
                error = ErrorCode.NONE

        reply(UPKEEP_RESULT.pack(self._change(slot, key, swap) or error))

    def _note_synced(self, _version: int, body: memoryview, reply: Reply) -> None:
        slot, key, since_version, offset = SYNCED_ENTRY.unpack(body)
        error = ErrorCode.NONE

        def note(replica: Replica) -> None:
            nonlocal error
            if since_version < replica.log.segments.cut_version:
                error = ErrorCode.INVALID_REQUEST  # it was another log that was synced
            elif replica.log.note_synced(offset, since_version):
                replica.publish()

        reply(UPKEEP_RESULT.pack(self._change(slot, key, note) or error))

    def _change(self, slot: int, key: PartitionKey, change: Callable[[Replica], None]) -> ErrorCode:
        """Do something to a replica in service, which may fail it."""
        replica = self._replicas.get(slot)
        if replica is None or replica.key != key:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if replica.state is RowState.OFFLINE:
            return ErrorCode.KAFKA_STORAGE_ERROR
        try:
            change(replica)
        except StorageFailed as failure:
            replica.fail(failure)
            return ErrorCode.KAFKA_STORAGE_ERROR
        return ErrorCode.NONE

    def _delete_records(self, version: int, body: memoryview, reply: Reply) -> None:
        request = decode_request(ApiKey.DELETE_RECORDS, version, body)
        by_name = {replica.partition: replica for replica in self._replicas.values()}
        places = [(topic.name, wanted) for topic in request.topics for wanted in topic.partitions]

        def answer(results: list[tuple[ErrorCode, int]]) -> None:
            topics: dict[str, list[_PartitionResult]] = {topic.name: [] for topic in request.topics}
            for (name, wanted), (error, low_watermark) in zip(places, results, strict=True):
                row = _PartitionResult(
                    partition_index=wanted.partition_index, low_watermark=low_watermark, error_code=int(error)
                )
                topics[name].append(row)
            rows = [_TopicResult(name=name, partitions=partitions) for name, partitions in topics.items()]
            reply(encode_response(ApiKey.DELETE_RECORDS, version, messages.DeleteRecordsResponse(topics=rows)))

        if not places:
            answer([])
            return
        deletion = RecordDeletion(len(places), answer)
        for number, (name, wanted) in enumerate(places):
            replica = by_name.get(TopicPartition(name, wanted.partition_index))
            self._delete_before(replica, wanted, deletion, number)
        self._deletions.limit(deletion, self._live.now_ms + request.timeout_ms)

    def _delete_before(
        self,
        replica: Replica | None,
        wanted: messages.DeleteRecordsRequest.DeleteRecordsPartition,
        deletion: RecordDeletion,
        number: int,
    ) -> None:
        """One partition's part of DeleteRecords."""
        if replica is None or not replica.is_leader:
            error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        elif not replica.log.config.deletes_segments:
            error = ErrorCode.POLICY_VIOLATION
        else:
            offset = replica.high_watermark if wanted.offset == TO_HIGH_WATERMARK else wanted.offset
            if not 0 <= offset <= replica.high_watermark:
                error = ErrorCode.OFFSET_OUT_OF_RANGE
            else:
                error = self._change(replica.slot, replica.key, lambda one: move_log_start(one, offset))
            if error == ErrorCode.NONE:
                self._deletions.wait(deletion, number, replica, offset)
                return
        deletion.settle(number, error)
