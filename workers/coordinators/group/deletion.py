"""Deletion of committed offsets and of groups: on request, by age, and with their topics.

What is deleted gets tombstones in the log, in parts that fit a batch; offsets go from memory when theirs are committed. A
group without anything left is buried: it is Dead at once, whatever becomes of its tombstones.

Pure. Source: Kafka `GroupMetadata.removeExpiredOffsets`, `GroupMetadataManager.cleanupGroupMetadata`; KIP-211, KIP-496.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from headrace.errors import ErrorCode
from headrace.limits import TOMBSTONES_BYTES_MAX
from headrace.protocol import messages
from headrace.workers.coordinators.coordinator import Appended, AppendFailed
from headrace.workers.coordinators.effects import Append, KeyValue
from headrace.workers.coordinators.group.commits import commit_error
from headrace.workers.coordinators.group.events import (
    DeleteGroup,
    DeleteOffsets,
    Deletion,
    GroupAnswer,
    OffsetsAnswer,
    OffsetsChecked,
    OffsetsForgotten,
    Tombstones,
    TopicsCleared,
)
from headrace.workers.coordinators.group.group import CONSUMER_PROTOCOL, Group
from headrace.workers.coordinators.group.machine import GroupMachine
from headrace.workers.coordinators.group.membership import cancel_timers
from headrace.workers.coordinators.group.records import (
    NO_EXPIRY_MS,
    commit_ms_of,
    group_key,
    offset_key_prefix,
    read_suffix,
    suffix_of,
)
from headrace.workers.coordinators.group.state import GroupState

TOMBSTONE_OVERHEAD_BYTES: Final = 24

_E = ErrorCode
_Topic = messages.OffsetDeleteResponse.OffsetDeleteResponseTopic
_Partition = messages.OffsetDeleteResponse.OffsetDeleteResponsePartition

Aim = OffsetsAnswer | GroupAnswer | TopicsCleared | None


# OffsetDelete


class _Everything:
    """Topics of a group whose subscriptions are not known: any may be read."""

    def __contains__(self, _topic: object) -> bool:
        return True


def delete_offsets_unread(machine: GroupMachine, group: Group, event: DeleteOffsets) -> None:
    """The group is empty."""
    _delete_offsets(machine, group, event, ())


def delete_offsets_in_use(machine: GroupMachine, group: Group, event: DeleteOffsets) -> None:
    """Those that a member reads stay; what members of another kind than consumers read is not known."""
    if group.protocol_type != CONSUMER_PROTOCOL:
        machine.refuse(event, _E.NON_EMPTY_GROUP)
    else:
        _delete_offsets(machine, group, event, _Everything() if group.topics is None else group.topics)


def _delete_offsets(machine: GroupMachine, group: Group, event: DeleteOffsets, topics_read: Container[str]) -> None:
    errors: dict[str, dict[int, ErrorCode]] = {}
    for topic in event.request.topics:
        fault = _E.GROUP_SUBSCRIBED_TO_TOPIC if topic.name in topics_read else _E.NONE
        for partition in topic.partitions:
            index = partition.partition_index
            is_known = machine.is_known(topic.name, index)
            errors.setdefault(topic.name, {})[index] = fault if is_known else _E.UNKNOWN_TOPIC_OR_PARTITION
    suffixes = [suffix_of(name, index) for name, rows in errors.items() for index, bad in rows.items() if not bad]
    aim = OffsetsAnswer(event.ticket, errors)
    if suffixes and group.is_over(sum(suffix in group.offsets for suffix in suffixes)):
        _bury(machine, group, aim)
    else:
        _delete(machine, group, suffixes, aim)


def _answer_offsets(machine: GroupMachine, aim: OffsetsAnswer, failure: ErrorCode) -> None:
    topics = [
        _Topic(
            name=name,
            partitions=[
                _Partition(partition_index=index, error_code=int(error or failure)) for index, error in rows.items()
            ],
        )
        for name, rows in aim.errors.items()
    ]
    machine.answer(aim.ticket, messages.OffsetDeleteResponse(topics=topics))


# DeleteGroups


def delete_group(machine: GroupMachine, group: Group, event: DeleteGroup) -> None:
    """Forget an empty group, its offsets with it."""
    _bury(machine, group, GroupAnswer(event.ticket))


# Retention


def expire_offsets_of_empty(machine: GroupMachine, group: Group, event: OffsetsChecked) -> None:
    """No member reads: the retention counts since then. Those of a mere store of offsets go each by its own commit."""
    since_ms = 0 if group.protocol_type is None else group.since_ms
    gone = _expired(machine, group, event.expiry_ms, since_ms, ())
    machine.expired += len(gone)
    if group.is_over(len(gone)):
        _bury(machine, group, None)
    else:
        _delete(machine, group, gone, None)


def expire_offsets_of_stable(machine: GroupMachine, group: Group, event: OffsetsChecked) -> None:
    """Those of topics that no member reads any more."""
    if group.protocol_type == CONSUMER_PROTOCOL and group.topics is not None:
        gone = _expired(machine, group, event.expiry_ms, 0, group.topics)
        machine.expired += len(gone)
        _delete(machine, group, gone, None)


def _expired(
    machine: GroupMachine, group: Group, date_ms: int, since_ms: int, topics_read: Container[str]
) -> list[bytes]:
    """Offsets whose time is over at a date.

    since_ms   that their retention counts from, 0 or less: each from its own commit
    """
    retention_ms = machine.config.retention_ms
    found = []
    for suffix, value in group.offsets.items():
        if group.is_unstable(suffix) or (topics_read and read_suffix(suffix)[0] in topics_read):
            continue
        commit_ms, expire_ms = commit_ms_of(value)
        if expire_ms != NO_EXPIRY_MS:
            is_over = date_ms >= expire_ms
        else:
            is_over = date_ms - (since_ms if since_ms > 0 else commit_ms) >= retention_ms
        if is_over:
            found.append(suffix)
    return found


# Topics that are no more


def forget_offsets(machine: GroupMachine, group: Group, event: OffsetsForgotten) -> None:
    _delete(machine, group, event.suffixes, TopicsCleared())


# Tombstones


def _delete(machine: GroupMachine, group: Group, suffixes: list[bytes], aim: Aim) -> None:
    """Forget offsets, tombstones into the log."""
    prefix = offset_key_prefix(group.group_id)
    gone = [suffix for suffix in suffixes if suffix in group.offsets or group.is_unstable(suffix)]
    _append(machine, group, [(prefix + suffix, None) for suffix in gone], aim, len(prefix))


def _bury(machine: GroupMachine, group: Group, aim: Aim) -> None:
    """The end of a group: tombstones for its offsets and for itself.

    Those that a transaction holds get some as well: a commit marker that comes later would bring them back at the next load.
    """
    del machine.groups[group.group_id]
    cancel_timers(machine, group)
    prefix = offset_key_prefix(group.group_id)
    suffixes = dict.fromkeys([*group.offsets, *group.in_flight])
    for held in group.transactions.values():
        suffixes.update(dict.fromkeys(held))
    records: list[KeyValue] = [(prefix + suffix, None) for suffix in suffixes]
    if group.generation > 0 or group.protocol_type is not None:
        records.append((group_key(group.group_id), None))
    group.offsets.clear()
    group.enter(GroupState.DEAD, machine.date_ms)
    _append(machine, group, records, aim, None)


def _append(machine: GroupMachine, group: Group, records: list[KeyValue], aim: Aim, prefix_bytes: int | None) -> None:
    """Tombstones in parts.

    prefix_bytes   of their keys, after which comes the suffix of an offset that goes with it; None: none goes
    """
    parts = _parts_of(records)
    deletion = Deletion(len(parts), aim)
    if not parts:
        _finish(machine, group, deletion)
    for part in parts:
        suffixes = [] if prefix_bytes is None else [key[prefix_bytes:] for key, _value in part]
        machine.effects.append(Append(part, Tombstones(group, deletion, suffixes)))


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


def remove_offsets(machine: GroupMachine, group: Group, event: Appended) -> None:
    """A part of a deletion is committed."""
    what: Tombstones = event.what
    for suffix in what.suffixes:
        group.offsets.pop(suffix, None)
        for held in group.transactions.values():
            held.pop(suffix, None)  # a marker does not bring it back
    _settle(machine, group, what.deletion, _E.NONE)


def keep_deleted(machine: GroupMachine, group: Group, event: AppendFailed) -> None:
    """A part of a deletion is not in the log: its offsets stay."""
    _settle(machine, group, event.what.deletion, event.error)


def _settle(machine: GroupMachine, group: Group, deletion: Deletion, error: ErrorCode) -> None:
    deletion.left -= 1
    deletion.error = deletion.error or error
    if not deletion.left:
        _finish(machine, group, deletion)


def _finish(machine: GroupMachine, group: Group, deletion: Deletion) -> None:
    aim, error = deletion.aim, commit_error(deletion.error)
    if isinstance(aim, OffsetsAnswer):
        _answer_offsets(machine, aim, error)
    elif isinstance(aim, GroupAnswer):
        machine.answer(aim.ticket, error)
    elif isinstance(aim, TopicsCleared):
        if not error and machine.groups.get(group.group_id) is group and group.is_over(0):
            _bury(machine, group, None)
        machine.cleared.append(error)
