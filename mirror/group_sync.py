"""Committed offsets of groups, carried over: each translated exactly, by the entries of the journal. By key they are translated to the last
place before, the least of all source partitions (`places.py`): nothing is skipped, and some records may be read again.

Never ahead of what is copied (a translation ends at the position), never backwards, and never into a group that has members at the target:
the coordinator refuses a commit from outside then, and such a group is left out before. Topics that are no longer copied are left out too.
A group that a cluster refuses hinders no other one; it is logged once for each reason, and tried again at the next comparison.

Source: Kafka `MirrorCheckpointTask` (KIP-382, KIP-545).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from headrace.client.admin import Admin
from headrace.client.cluster import Cluster
from headrace.client.offset_store import committed_offsets
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import TopicPartition
from headrace.mirror.identity import LaneName
from headrace.mirror.journal import LaneNotes
from headrace.mirror.journal_record import KeyedPosition
from headrace.mirror.settings import MirrorSettings

NO_MEMBERS = ("Empty", "Dead")
ALIVE = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.REBALANCE_IN_PROGRESS})

log = logging.getLogger("headrace.mirror")


class GroupSync:
    """Of one source."""

    def __init__(self, settings: MirrorSettings, source: Cluster, source_id: str, target: Cluster) -> None:
        self._settings = settings
        self._source = source
        self._source_id = source_id
        self._target = target
        self._written: dict[str, dict[TopicPartition, int]] = {}  # target offsets at the last comparison, by group
        self._refused: dict[str, str] = {}  # groups that could not be carried over, with the reason

    def run(self, lanes: Mapping[LaneName, LaneNotes]) -> int:
        """One comparison; returns how many offsets were carried over.

        raises   KafkaError, where groups can't be listed; ConnectionFailed
        """
        notes = {
            name.source_partition: one
            for name, one in lanes.items()
            if name.mirror == self._settings.name
            and name.source == self._source_id
            and one.position is not None
            and self._settings.is_wanted(name.topic)
        }
        moved = 0
        refused: dict[str, str] = {}
        for group in Admin(self._source).list_groups():
            if group.protocol_type not in ("", "consumer") or not self._settings.groups.fullmatch(group.group_id):
                continue
            try:
                moved += self._carry(group.group_id, notes)
            except KafkaError as failure:
                refused[group.group_id] = reason = str(failure)
                if self._refused.get(group.group_id) != reason:
                    log.warning("group offsets not copied group=%s reason=%s", group.group_id, reason)
        self._refused = refused
        return moved

    def _carry(self, group_id: str, notes: Mapping[TopicPartition, LaneNotes]) -> int:
        offsets = committed_offsets(self._source, group_id, sorted(notes))
        wanted = self._divided(offsets, notes)
        for name, offset in offsets.items():
            if isinstance(notes[name].position, KeyedPosition):
                continue
            translated = notes[name].translation.translate(offset)
            if translated is not None:
                wanted[TopicPartition(self._settings.target_topic(name.topic), name.partition)] = translated
        if not wanted or self._written.get(group_id) == wanted:
            return 0
        admin = Admin(self._target)
        if admin.describe_group(group_id).state not in NO_MEMBERS:
            return 0
        there = committed_offsets(self._target, group_id, sorted(wanted))
        due = {name: offset for name, offset in wanted.items() if offset > there.get(name, -1)}
        try:
            if due:
                admin.alter_group_offsets(group_id, due)
        except KafkaError as failure:
            if failure.code not in ALIVE:
                raise
            return 0
        self._written[group_id] = wanted
        if due:
            log.info("group offsets copied group=%s partitions=%d", group_id, len(due))
        return len(due)

    def _divided(
        self, offsets: Mapping[TopicPartition, int], notes: Mapping[TopicPartition, LaneNotes]
    ) -> dict[TopicPartition, int]:
        """The places of a group in topics that are copied by key.

        A partition for which the group has no offset counts as one of which it has read nothing. One that the journal does not know is not
        begun, so all of it will lie behind what is there now.
        """
        topics = {name.topic for name in offsets if isinstance(notes[name].position, KeyedPosition)}
        found: dict[TopicPartition, int] = {}
        for name, one in notes.items():
            position = one.position
            if name.topic not in topics or not isinstance(position, KeyedPosition):
                continue
            topic = self._settings.target_topic(name.topic)
            for number, place in enumerate(one.places.translate(position, offsets.get(name))):
                target = TopicPartition(topic, number)
                found[target] = min(place, found.get(target, place))
        return found
