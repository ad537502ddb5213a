"""Committed offsets: OffsetCommit and TxnOffsetCommit, and the outcome of their appends.

A commit is visible once its record is committed, in the order of the log. A transaction's offsets are kept beside the others;
its commit marker moves them over, unless a plain commit of the same partition came after them in the log; its abort marker
drops them.

Pure. Source: Kafka `GroupCoordinator.validateOffsetCommit`, `GroupMetadataManager.storeOffsets`; KIP-447.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from headrace.errors import ErrorCode
from headrace.ids import NO_TIMESTAMP_MS
from headrace.limits import COMMIT_PREFIX_BYTES_MAX
from headrace.protocol import messages
from headrace.workers.coordinators.coordinator import Appended, AppendFailed
from headrace.workers.coordinators.effects import Answer, Append, KeyValue
from headrace.workers.coordinators.group.commit_request import CommitRequest
from headrace.workers.coordinators.group.events import (
    Commit,
    CommitRecords,
    CommitTransactional,
    TransactionEnded,
    TransactionRecords,
)
from headrace.workers.coordinators.group.group import Group
from headrace.workers.coordinators.group.machine import GroupMachine
from headrace.workers.coordinators.group.membership import validate_member
from headrace.workers.coordinators.group.records import (
    METADATA_BYTES_MAX,
    NO_EXPIRY_MS,
    encode_offset,
    offset_key_prefix,
    offset_value,
    shared_suffix,
    suffix_of,
)
from headrace.workers.coordinators.group.sessions import beat

LONG_MAX: Final = 2**63 - 1

Faults = list[tuple[str, list[tuple[int, ErrorCode]]]]  # of a TxnOffsetCommit: by topic, by partition

_E = ErrorCode
_new: Final = tuple.__new__  # a third of the time of a NamedTuple's own constructor
_TxnTopic = messages.TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic
_TxnPartition = messages.TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition

# What a client is told when its offsets could not be stored (Kafka `storeOffsets`); others as they are.
_COMMIT_ERRORS: Final = {
    _E.UNKNOWN_TOPIC_OR_PARTITION: _E.COORDINATOR_NOT_AVAILABLE,
    _E.NOT_ENOUGH_REPLICAS: _E.COORDINATOR_NOT_AVAILABLE,
    _E.NOT_ENOUGH_REPLICAS_AFTER_APPEND: _E.COORDINATOR_NOT_AVAILABLE,
    _E.NOT_LEADER_OR_FOLLOWER: _E.NOT_COORDINATOR,
    _E.KAFKA_STORAGE_ERROR: _E.NOT_COORDINATOR,
    _E.MESSAGE_TOO_LARGE: _E.INVALID_COMMIT_OFFSET_SIZE,
    _E.RECORD_LIST_TOO_LARGE: _E.INVALID_COMMIT_OFFSET_SIZE,
}


def commit_error(error: ErrorCode) -> ErrorCode:
    """What an append's error means to those who commit."""
    return _COMMIT_ERRORS.get(error, error)


# OffsetCommit, by the state that it meets


def commit_unknown_group(machine: GroupMachine, _group: None, event: Commit) -> None:
    """Clients that assign partitions themselves make a group by their first commit."""
    if event.request.generation >= 0:
        machine.refuse(event, _E.ILLEGAL_GENERATION)
    elif not machine.has_room:
        machine.refuse(event, _E.COORDINATOR_NOT_AVAILABLE)
    else:
        machine.do(machine.new_group(event.group_id), event)


def commit_empty(machine: GroupMachine, group: Group, event: Commit) -> None:
    """Without members: from clients that assign partitions themselves, and from tools."""
    if event.request.generation < 0:
        _commit(machine, group, event)
    else:
        machine.refuse(event, _E.UNKNOWN_MEMBER_ID)


def commit_member(machine: GroupMachine, group: Group, event: Commit) -> None:
    """A member's, which is a sign of life of it."""
    request = event.request
    member = group.members.get(request.member_id)
    if member is None or request.generation != group.generation or request.instance_id is not None:
        error = _fault_of_member(group, request.generation, request.member_id, request.instance_id)
        if error or member is None:
            machine.refuse(event, error)
            return
    beat(machine, member)
    _commit(machine, group, event)


def commit_completing(machine: GroupMachine, group: Group, event: Commit) -> None:
    """The partitions are being handed to others: a sign of life all the same."""
    request = event.request
    error = _fault_of_member(group, request.generation, request.member_id, request.instance_id)
    if not error:
        beat(machine, group.members[request.member_id])
    machine.refuse(event, error or _E.REBALANCE_IN_PROGRESS)


def _fault_of_member(group: Group, generation: int, member_id: str, instance_id: str | None) -> ErrorCode:
    """generation   -1 from clients that name none: only while the group has no members"""
    if generation < 0 and not member_id and instance_id is None:
        return _E.UNKNOWN_MEMBER_ID
    error = validate_member(group, member_id, instance_id)
    if error:
        return error
    return _E.NONE if generation == group.generation else _E.ILLEGAL_GENERATION


def _commit(machine: GroupMachine, group: Group, event: Commit) -> None:
    """Store what may be stored; answered when that is committed, at once where nothing is left of it."""
    request, date_ms = event.request, machine.date_ms
    expire_ms = min(date_ms + request.retention_ms, LONG_MAX) if request.retention_ms >= 0 else NO_EXPIRY_MS
    prefix, in_flight = request.key_prefix, group.in_flight
    is_known, short_bytes = machine.is_known, machine.short_bytes
    if len(prefix) * len(request.rows) > COMMIT_PREFIX_BYTES_MAX:
        machine.refuse(event, _E.INVALID_COMMIT_OFFSET_SIZE)
        return
    stored: list[tuple[bytes, bytes]] = []
    records: list[KeyValue] = []
    faults: dict[int, ErrorCode] = {}  # by ordinal
    for topic, partition, suffix, place, metadata, stamp_ms in request.rows:
        if not is_known(topic, partition) or len(metadata) > short_bytes:
            fault = _fault_of(machine, topic, partition, metadata)
            if fault:
                faults[len(records) + len(faults)] = fault
                continue
        value = offset_value(place, metadata, date_ms if stamp_ms == NO_TIMESTAMP_MS else stamp_ms, expire_ms)
        in_flight[suffix] = in_flight.get(suffix, 0) + 1
        stored.append((suffix, value))
        records.append((prefix + suffix, value))
    if records:
        what = _new(CommitRecords, (group, request, stored, faults, event.ticket))
        machine.effects.append(_new(Append, (records, what, None)))
    else:
        machine.answer(event.ticket, _commit_response(request, faults, _E.NONE))


def _fault_of(machine: GroupMachine, topic: str, partition: int, metadata: bytes) -> ErrorCode:
    """Why one offset can't be stored."""
    if not machine.is_known(topic, partition):
        return _E.UNKNOWN_TOPIC_OR_PARTITION
    if len(metadata) > machine.short_bytes and _is_long(machine, metadata):
        return _E.OFFSET_METADATA_TOO_LARGE
    return _E.NONE


def _is_long(machine: GroupMachine, metadata: bytes) -> bool:
    """Kafka counts Java's characters, whatever the setting is called."""
    characters = len(metadata.decode().encode("utf-16-le")) // 2
    return characters > machine.config.metadata_bytes_max or len(metadata) > METADATA_BYTES_MAX


def _commit_response(request: CommitRequest, faults: dict[int, ErrorCode], error: ErrorCode) -> bytes:
    if faults:
        return request.response_of([faults.get(row, error) for row in range(len(request.rows))])
    return request.response(error)


# The outcome of a commit's append


def keep_offsets(machine: GroupMachine, group: Group, event: Appended) -> None:
    """The records of a commit are committed."""
    what, offset = event
    _group, request, stored, faults, ticket = what
    in_flight, offsets = group.in_flight, group.offsets
    for suffix, value in stored:
        left = in_flight.pop(suffix) - 1
        if left:
            in_flight[suffix] = left
        offsets[suffix if suffix in offsets else shared_suffix(suffix)] = value
        if group.transactions:
            group.overwritten[suffix] = offset
    response = _commit_response(request, faults, _E.NONE) if faults else request.response(0)
    machine.effects.append(_new(Answer, (ticket, response)))


def keep_nothing(machine: GroupMachine, group: Group, event: Appended) -> None:
    """The same of a group that went meanwhile: what its successor reads in the log is for it to say."""
    _settle_commit(machine, group, event.what, _E.NONE)


def refuse_commit(machine: GroupMachine, group: Group, event: AppendFailed) -> None:
    _settle_commit(machine, group, event.what, commit_error(event.error))


def _settle_commit(machine: GroupMachine, group: Group, what: CommitRecords, error: ErrorCode) -> None:
    _land(group.in_flight, what.stored)
    machine.answer(what.ticket, _commit_response(what.request, what.faults, error))


def _land(in_flight: dict[bytes, int], stored: Iterable[tuple[bytes, bytes]]) -> None:
    """One commit of these partitions less is in flight."""
    for suffix, _value in stored:
        left = in_flight.pop(suffix) - 1
        if left:
            in_flight[suffix] = left


# TxnOffsetCommit


def fault_of_transactional(_machine: GroupMachine, event: CommitTransactional) -> ErrorCode:
    """A producer that no marker names could never end its transaction: the group's offsets would be unstable for ever."""
    if event.request.producer_id < 0:
        return _E.INVALID_PRODUCER_ID_MAPPING
    return _E.INVALID_PRODUCER_EPOCH if event.request.producer_epoch < 0 else _E.NONE


def commit_transaction_unknown_group(machine: GroupMachine, _group: None, event: CommitTransactional) -> None:
    """As a plain commit makes a group, where it has something to store."""
    if event.request.generation_id >= 0:
        machine.refuse(event, _E.ILLEGAL_GENERATION)
        return
    stored, faults = _judged(machine, event.request)
    if not stored:
        machine.answer(event.ticket, _transactional_response(faults, _E.NONE))
    elif not machine.has_room:
        machine.refuse(event, _E.COORDINATOR_NOT_AVAILABLE)
    else:
        machine.do(machine.new_group(event.group_id), event)


def commit_transaction_empty(machine: GroupMachine, group: Group, event: CommitTransactional) -> None:
    if event.request.generation_id < 0:
        _commit_transaction(machine, group, event)
    else:
        machine.refuse(event, _E.UNKNOWN_MEMBER_ID)


def commit_transaction_member(machine: GroupMachine, group: Group, event: CommitTransactional) -> None:
    """A member's, or an old producer's, which names none: always allowed."""
    request = event.request
    names_member = request.generation_id >= 0 or request.member_id or request.group_instance_id is not None
    error = _E.NONE
    if names_member:
        error = _fault_of_member(group, request.generation_id, request.member_id, request.group_instance_id)
    if error:
        machine.refuse(event, error)
    else:
        _commit_transaction(machine, group, event)


def _commit_transaction(machine: GroupMachine, group: Group, event: CommitTransactional) -> None:
    """Stored at once, visible when the transaction's commit marker comes."""
    request = event.request
    stored, faults = _judged(machine, request)
    if not stored:
        machine.answer(event.ticket, _transactional_response(faults, _E.NONE))
        return
    for suffix, _value in stored:
        group.in_flight[suffix] = group.in_flight.get(suffix, 0) + 1
    prefix = offset_key_prefix(group.group_id)
    records: list[KeyValue] = [(prefix + suffix, value) for suffix, value in stored]
    what = TransactionRecords(group, request.producer_id, stored, faults, event.ticket)
    machine.effects.append(Append(records, what, (request.producer_id, request.producer_epoch)))


def _judged(
    machine: GroupMachine, request: messages.TxnOffsetCommitRequest
) -> tuple[list[tuple[bytes, bytes]], Faults]:
    """(what can be stored, by key suffix; what is wrong with each partition)"""
    stored: list[tuple[bytes, bytes]] = []
    faults: Faults = []
    for topic in request.topics:
        rows = []
        for row in topic.partitions:
            metadata = (row.committed_metadata or "").encode()
            fault = _fault_of(machine, topic.name, row.partition_index, metadata)
            rows.append((row.partition_index, fault))
            if not fault:
                value = encode_offset(row.committed_offset, row.committed_leader_epoch, metadata, machine.date_ms)
                stored.append((suffix_of(topic.name, row.partition_index), value))
        faults.append((topic.name, rows))
    return stored, faults


def hold_offsets(machine: GroupMachine, group: Group, event: Appended) -> None:
    """A transaction's records are committed: kept until its marker."""
    what: TransactionRecords = event.what
    machine.hold(group, what.producer_id, what.stored, event.offset)
    _settle_transaction(machine, group, what, _E.NONE)


def hold_nothing(machine: GroupMachine, group: Group, event: Appended) -> None:
    _settle_transaction(machine, group, event.what, _E.NONE)


def refuse_transaction(machine: GroupMachine, group: Group, event: AppendFailed) -> None:
    _settle_transaction(machine, group, event.what, commit_error(event.error))


def _settle_transaction(machine: GroupMachine, group: Group, what: TransactionRecords, error: ErrorCode) -> None:
    _land(group.in_flight, what.stored)
    machine.answer(what.ticket, _transactional_response(what.faults, error))


def _transactional_response(faults: Faults, error: ErrorCode) -> Any:
    """A partition has its own fault, or what became of the append."""
    topics = [
        _TxnTopic(
            name=name,
            partitions=[_TxnPartition(partition_index=index, error_code=int(fault or error)) for index, fault in rows],
        )
        for name, rows in faults
    ]
    return messages.TxnOffsetCommitResponse(topics=topics)


def end_transaction(_machine: GroupMachine, group: Group, event: TransactionEnded) -> None:
    """A marker came."""
    group.end_transaction(event.producer_id, event.is_commit)
