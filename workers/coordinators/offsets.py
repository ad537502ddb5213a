"""Committed offsets of groups: commit, fetch, delete, expiry; and those of transactions until their marker.

Pure: events in, effects out. A commit is visible once its record is committed, in the order of the log. A
transaction's offsets are kept beside the others; its commit marker moves them over, unless a plain commit of the
same partition came behind them in the log; its abort marker drops them.

Source: Kafka `GroupMetadataManager.storeOffsets`, `GroupMetadata.removeExpiredOffsets`; KIP-211, KIP-447, KIP-496.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.workers.coordinators.commit_request import CommitRequest
from headrace.workers.coordinators.config import GroupConfig
from headrace.workers.coordinators.effects import Answer, Append, Effect, KeyValue
from headrace.workers.coordinators.group import CONSUMER_PROTOCOL, Group, GroupState
from headrace.workers.coordinators.group_records import (
    NO_EXPIRY_MS,
    commit_ms_of,
    encode_offset,
    group_key,
    offset_key_prefix,
    offset_value,
    read_suffix,
    shared_suffix,
    suffix_of,
)
from headrace.workers.coordinators.membership import validate_member

NO_GENERATION = -1
NO_TIMESTAMP_MS = -1
LONG_MAX = 2**63 - 1
TOMBSTONES_BYTES_MAX = 64 * 1024  # of one append
TOMBSTONE_OVERHEAD_BYTES = 24
COMMIT_PREFIX_BYTES_MAX = 4 * 1024 * 1024  # that a group's id takes in the records of one commit
METADATA_BYTES_MAX = 2**15 - 1  # its length is an int16

_E = ErrorCode
_new = tuple.__new__  # a third of the time of a NamedTuple's own constructor
_TxnTopic = messages.TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic
_TxnPartition = messages.TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition

# What a client is told when its offsets could not be stored (Kafka `storeOffsets`); others as they are.
_COMMIT_ERRORS = {
    _E.UNKNOWN_TOPIC_OR_PARTITION: _E.COORDINATOR_NOT_AVAILABLE,
    _E.NOT_ENOUGH_REPLICAS: _E.COORDINATOR_NOT_AVAILABLE,
    _E.NOT_ENOUGH_REPLICAS_AFTER_APPEND: _E.COORDINATOR_NOT_AVAILABLE,
    _E.NOT_LEADER_OR_FOLLOWER: _E.NOT_COORDINATOR,
    _E.KAFKA_STORAGE_ERROR: _E.NOT_COORDINATOR,
    _E.MESSAGE_TOO_LARGE: _E.INVALID_COMMIT_OFFSET_SIZE,
    _E.RECORD_LIST_TOO_LARGE: _E.INVALID_COMMIT_OFFSET_SIZE,
}

# (partition, why its offset can't be stored) of each topic, in the order of the request.
Faults = list[tuple[str, list[tuple[int, ErrorCode]]]]

# Whether a partition exists.
IsKnown = Callable[[str, int], bool]


def validate_commit(
    group: Group, generation: int, member_id: str, instance_id: str | None, *, is_transactional: bool = False
) -> ErrorCode:
    """Whether this client may commit for this group now.

    generation   -1 from clients that assign partitions themselves, and from tools: only while nobody is in the group;
                 in transactions of old versions, which name no member, always
    source       Kafka `GroupCoordinator.validateOffsetCommit`
    """
    if group.state is GroupState.DEAD:
        return _E.COORDINATOR_NOT_AVAILABLE
    if generation < 0 and group.state is GroupState.EMPTY:
        return _E.NONE
    if generation >= 0 or member_id or instance_id is not None:
        error = validate_member(group, member_id, instance_id)
        if error:
            return error
        if generation != group.generation:
            return _E.ILLEGAL_GENERATION
    elif not is_transactional:
        return _E.UNKNOWN_MEMBER_ID
    if group.state is GroupState.COMPLETING and not is_transactional:
        return _E.REBALANCE_IN_PROGRESS
    return _E.NONE


class Offsets:
    """Events of offsets, for all groups of a worker. Effects go to `emit`."""

    def __init__(self, config: GroupConfig, emit: Callable[[Effect], None], is_known: IsKnown) -> None:
        self.config = config
        self.emit = emit
        self.is_known = is_known
        self._short_bytes = min(config.metadata_bytes_max, METADATA_BYTES_MAX)  # metadata that is not too long for sure

    # Commit

    def commit(self, group: Group, request: CommitRequest, ticket: Any, now_ms: int) -> None:
        """Store what may be stored; answered when that is committed, at once where nothing is left of it."""
        expire_ms = min(now_ms + request.retention_ms, LONG_MAX) if request.retention_ms >= 0 else NO_EXPIRY_MS
        prefix, in_flight = request.key_prefix, group.in_flight
        if len(prefix) * len(request.rows) > COMMIT_PREFIX_BYTES_MAX:
            self.emit(Answer(ticket, request.response(_E.INVALID_COMMIT_OFFSET_SIZE)))
            return
        stored: list[tuple[bytes, bytes]] = []
        records: list[KeyValue] = []
        faults: dict[int, ErrorCode] = {}  # by ordinal
        for topic, partition, suffix, place, metadata, stamp_ms in request.rows:
            fault = self._fault_of(topic, partition, metadata)
            if fault:
                faults[len(records) + len(faults)] = fault
                continue
            value = offset_value(place, metadata, now_ms if stamp_ms == NO_TIMESTAMP_MS else stamp_ms, expire_ms)
            in_flight[suffix] = in_flight.get(suffix, 0) + 1
            stored.append((suffix, value))
            records.append((prefix + suffix, value))

        def settle(error: ErrorCode, offset: int, _then_ms: int) -> None:
            self._settle(group, stored, error, offset)
            answer = _COMMIT_ERRORS.get(error, error) if error else error
            if faults:
                response = request.response_of([faults.get(row, answer) for row in range(len(request.rows))])
            else:
                response = request.response(answer)
            self.emit(_new(Answer, (ticket, response)))

        if records:
            self.emit(_new(Append, (records, settle, None)))
        else:
            settle(_E.NONE, -1, now_ms)

    def _fault_of(self, topic: str, partition: int, metadata: bytes) -> ErrorCode:
        if not self.is_known(topic, partition):
            return _E.UNKNOWN_TOPIC_OR_PARTITION
        return (
            _E.OFFSET_METADATA_TOO_LARGE if len(metadata) > self._short_bytes and self._is_long(metadata) else _E.NONE
        )

    def _is_long(self, metadata: bytes) -> bool:
        """Kafka counts Java's characters, whatever the setting is called."""
        characters = len(metadata.decode().encode("utf-16-le")) // 2
        return characters > self.config.metadata_bytes_max or len(metadata) > METADATA_BYTES_MAX

    @staticmethod
    def _settle(group: Group, stored: list[tuple[bytes, bytes]], error: ErrorCode, offset: int) -> None:
        """The records of a commit are committed, or lost."""
        in_flight, offsets = group.in_flight, group.offsets
        is_kept = not error and group.state is not GroupState.DEAD
        for suffix, value in stored:
            left = in_flight.pop(suffix) - 1
            if left:
                in_flight[suffix] = left
            if not is_kept:
                continue
            offsets[suffix if suffix in offsets else shared_suffix(suffix)] = value
            if group.transactions:
                group.overwritten[suffix] = offset

    # Transactions

    def commit_transactional(self, group: Group, request: Any, ticket: Any, now_ms: int) -> None:
        """TxnOffsetCommit: stored at once, visible when the transaction's commit marker comes."""
        producer_id = request.producer_id
        suffixes: list[tuple[bytes, bytes]] = []
        faults: Faults = []
        for topic in request.topics:
            rows = []
            for row in topic.partitions:
                metadata = (row.committed_metadata or "").encode()
                fault = self._fault_of(topic.name, row.partition_index, metadata)
                rows.append((row.partition_index, fault))
                if not fault:
                    value = encode_offset(row.committed_offset, row.committed_leader_epoch, metadata, now_ms)
                    suffixes.append((suffix_of(topic.name, row.partition_index), value))
            faults.append((topic.name, rows))

        def stored(error: ErrorCode, offset: int, _then_ms: int) -> None:
            for suffix, _value in suffixes:
                _landed(group.in_flight, suffix)
            if not error and group.state is not GroupState.DEAD:
                self.hold(group, producer_id, suffixes, offset)
            self.emit(Answer(ticket, _transactional_response(faults, error)))

        if not suffixes:
            stored(_E.NONE, -1, now_ms)
            return
        for suffix, _value in suffixes:
            group.in_flight[suffix] = group.in_flight.get(suffix, 0) + 1
        prefix = offset_key_prefix(group.group_id)
        records: list[KeyValue] = [(prefix + suffix, value) for suffix, value in suffixes]
        self.emit(Append(records, stored, (producer_id, request.producer_epoch)))

    @staticmethod
    def hold(group: Group, producer_id: int, suffixes: Iterable[tuple[bytes, bytes]], offset: int) -> None:
        """Keep a transaction's offsets until its marker; `offset` is that of their record."""
        held = group.transactions.setdefault(producer_id, {})
        for suffix, value in suffixes:
            held[suffix] = (value, offset)

    @staticmethod
    def end_transaction(group: Group, producer_id: int, is_commit: bool) -> None:
        """A marker came: what the transaction committed stands, unless a later plain commit does."""
        held = group.transactions.pop(producer_id, {})
        if is_commit:
            for suffix, (value, offset) in held.items():
                if group.overwritten.get(suffix, -1) < offset:
                    group.offsets[suffix] = value
                    if group.transactions:
                        group.overwritten[suffix] = offset
        if not group.transactions:
            group.overwritten.clear()

    @staticmethod
    def is_unstable(group: Group, suffix: bytes) -> bool:
        """Whether a commit of this partition is on its way into the log, or in a transaction that is not over."""
        return suffix in group.in_flight or any(suffix in held for held in group.transactions.values())

    # Deletion

    def delete(self, group: Group, suffixes: list[bytes], then: Callable[[ErrorCode], None]) -> None:
        """Forget offsets, tombstones into the log."""
        prefix = offset_key_prefix(group.group_id)
        gone = [suffix for suffix in suffixes if suffix in group.offsets or self.is_unstable(group, suffix)]

        def stored(records: list[KeyValue]) -> None:
            for key, _value in records:
                suffix = key[len(prefix) :]
                group.offsets.pop(suffix, None)
                for held in group.transactions.values():
                    held.pop(suffix, None)  # a marker does not bring it back

        self._append_tombstones([(prefix + suffix, None) for suffix in gone], stored, then)

    def bury(self, group: Group, then: Callable[[ErrorCode], None], now_ms: int) -> None:
        """The end of a group: tombstones for its offsets and for itself."""
        prefix = offset_key_prefix(group.group_id)
        records: list[KeyValue] = [(prefix + suffix, None) for suffix in {**group.offsets, **group.in_flight}]
        if group.generation > 0 or group.protocol_type is not None:
            records.append((group_key(group.group_id), None))
        group.offsets.clear()
        group.enter(GroupState.DEAD, now_ms)
        self._append_tombstones(records, lambda _records: None, then)

    def _append_tombstones(
        self, records: list[KeyValue], stored: Callable[[list[KeyValue]], None], then: Callable[[ErrorCode], None]
    ) -> None:
        """Tombstones in parts that fit a batch: they need not go together. `then` gets the first error, once all are done."""
        parts = _parts_of(records)
        outcomes: list[ErrorCode] = []

        def settle(part: list[KeyValue], error: ErrorCode) -> None:
            outcomes.append(error)
            if not error:
                stored(part)
            if len(outcomes) == len(parts):
                worst = next((each for each in outcomes if each), _E.NONE)
                then(_COMMIT_ERRORS.get(worst, worst))

        if not parts:
            then(_E.NONE)
        for part in parts:
            self.emit(Append(part, lambda error, _offset, _now_ms, part=part: settle(part, error)))  # type: ignore[misc]

    # Expiry

    def expired(self, group: Group, now_ms: int) -> list[bytes]:
        """Offsets whose time is over: nobody is in the group, or nobody in it reads their topic any more."""
        since_ms, topics = 0, None
        if group.protocol_type is None:
            pass  # a store of offsets, nothing more: each by its own commit
        elif group.state is GroupState.EMPTY:
            since_ms = group.since_ms
        elif group.state is GroupState.STABLE and group.protocol_type == CONSUMER_PROTOCOL and group.topics is not None:
            topics = group.topics
        else:
            return []
        found = []
        for suffix, value in group.offsets.items():
            if self.is_unstable(group, suffix):
                continue
            if topics is not None and read_suffix(suffix)[0] in topics:
                continue
            commit_ms, expire_ms = commit_ms_of(value)
            if expire_ms != NO_EXPIRY_MS:
                is_over = now_ms >= expire_ms
            else:
                is_over = now_ms - (since_ms if since_ms > 0 else commit_ms) >= self.config.retention_ms
            if is_over:
                found.append(suffix)
        return found


def _landed(in_flight: dict[bytes, int], suffix: bytes) -> None:
    """One commit of a partition less is on its way."""
    left = in_flight.pop(suffix) - 1
    if left:
        in_flight[suffix] = left


def _transactional_response(faults: Faults, error: ErrorCode) -> Any:
    """A partition has its own fault, or what became of the append."""
    answer = _COMMIT_ERRORS.get(error, error)
    topics = [
        _TxnTopic(
            name=name,
            partitions=[_TxnPartition(partition_index=index, error_code=int(fault or answer)) for index, fault in rows],
        )
        for name, rows in faults
    ]
    return messages.TxnOffsetCommitResponse(topics=topics)


def _parts_of(records: list[KeyValue]) -> list[list[KeyValue]]:
    parts: list[list[KeyValue]] = []
    room = 0
    for record in records:
        size = len(record[0]) + TOMBSTONE_OVERHEAD_BYTES
        if not parts or size > room:
            parts.append([])
            room = TOMBSTONES_BYTES_MAX
        parts[-1].append(record)
        room -= size
    return parts
