"""Events of a group: what the rows of `table.py` are about.

    requests      come with the id of their group, which may not exist
    joins         what a JoinGroup turns out to be, once its member is known
    departures    of members, and of ids that were handed out
    timers        handed back by the host; stale where the group or member has another serial
    of the node   what the host's own events mean to one group
    appends       what an `Append` stands for: their rows are for `Appended` and for `AppendFailed`

An event names its group and its member as objects: a group of the same id may be another one by then. `Deletion` stands before the
tuples that name it: in the compiled core a tuple's fields are looked up when it is made.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.workers.coordinators.group.commit_request import CommitRequest
from headrace.workers.coordinators.group.group import Group, Member, Protocols
from headrace.workers.coordinators.group.rebalance_reason import RebalanceReason


class Client(NamedTuple):
    """The sender of a request, as far as a group cares."""

    client_id: str
    host: str


# Requests


class Join(NamedTuple):
    group_id: str
    request: messages.JoinGroupRequest
    version: int
    client: Client
    ticket: Any


class Sync(NamedTuple):
    group_id: str
    request: messages.SyncGroupRequest
    version: int
    ticket: Any


class Heartbeat(NamedTuple):
    group_id: str
    request: messages.HeartbeatRequest
    ticket: Any


class Leave(NamedTuple):
    group_id: str
    request: messages.LeaveGroupRequest
    version: int
    ticket: Any


class Commit(NamedTuple):
    """Its Answer has the response's bytes in place of a message."""

    group_id: str
    request: CommitRequest
    ticket: Any


class CommitTransactional(NamedTuple):
    group_id: str
    request: messages.TxnOffsetCommitRequest
    ticket: Any


class DeleteOffsets(NamedTuple):
    group_id: str
    request: messages.OffsetDeleteRequest
    ticket: Any


class DeleteGroup(NamedTuple):
    """Its Answer has an ErrorCode in place of a message: a request names many groups."""

    group_id: str
    ticket: Any


# Joins


class NewMember(NamedTuple):
    group: Group
    join: Join
    member_id: str
    protocols: Protocols


class MemberIdWanted(NamedTuple):
    """A client without an id; it is to come back with the one that it gets (KIP-394)."""

    group: Group
    join: Join
    member_id: str


class MemberRejoined(NamedTuple):
    """A known member with nothing new to say."""

    group: Group
    join: Join
    member: Member
    protocols: Protocols


class LeaderRejoined(NamedTuple):
    """The same of the leader, who wants a rebalance by it."""

    group: Group
    join: Join
    member: Member
    protocols: Protocols


class MetadataChanged(NamedTuple):
    """A known member with other protocols or other metadata."""

    group: Group
    join: Join
    member: Member
    protocols: Protocols


class StaticReturned(NamedTuple):
    """A static member restarted and came back without its id: `member_id` is its new one (KIP-345)."""

    group: Group
    join: Join
    member: Member
    member_id: str
    protocols: Protocols


# Departures


class MemberGone(NamedTuple):
    """detail   what the client said of it (KIP-800)"""

    group: Group
    member: Member
    reason: RebalanceReason
    detail: str | None = None


class IdDropped(NamedTuple):
    """An id that was handed out is no longer waited for: its client left, or it makes room for another."""

    group: Group
    member_id: str


# Timers


class JoinTime(NamedTuple):
    """The join phase is over."""

    group: Group
    serial: int


class SyncTime(NamedTuple):
    """Every member should have asked for its assignment."""

    group: Group
    serial: int


class SessionTime(NamedTuple):
    """A member may be silent for too long."""

    group: Group
    member: Member
    serial: int


class AssignmentRecord(NamedTuple):
    """The group with the leader's assignment.

    give_up_ms   until then it is retried where the disk has no room
    """

    group: Group
    generation: int
    assignments: dict[str, bytes]
    give_up_ms: int


class StoreTime(NamedTuple):
    """An assignment that the disk had no room for is to be retried."""

    group: Group
    what: AssignmentRecord
    serial: int


class IdTime(NamedTuple):
    """An id that was handed out was never used."""

    group: Group
    member_id: str
    serial: int


# Of the node


class MarkerAppended(NamedTuple):
    """The end of a transaction, which may have offsets in many groups."""

    producer_id: int
    is_commit: bool


class GroupLoaded(NamedTuple):
    group: Group


class GroupUnloaded(NamedTuple):
    group: Group


class OffsetsChecked(NamedTuple):
    """Offsets whose retention is over can go, and the group with the last of them.

    expiry_ms   the date by which it is over
    """

    group: Group
    expiry_ms: int


class OffsetsForgotten(NamedTuple):
    """suffixes   of offsets whose topics are no more"""

    group: Group
    suffixes: list[bytes]


class TransactionEnded(NamedTuple):
    """A transaction that this group has offsets of."""

    group: Group
    producer_id: int
    is_commit: bool


# Appends


class StaticMemberRecord(NamedTuple):
    """The group with a static member under its new id; `former` and the like are for the way back.

    former   (protocols, rebalance timeout, session timeout)
    """

    group: Group
    member: Member
    member_id: str
    former_id: str
    former: tuple[Protocols, int, int]
    former_leader: str | None
    generation: int
    version: int
    ticket: Any


class EmptyGroupRecord(NamedTuple):
    """The group without members."""

    group: Group


class CommitRecords(NamedTuple):
    """Offsets of a commit.

    stored   (key suffix, value)
    faults   why the others were not stored, by their place in the request
    """

    group: Group
    request: CommitRequest
    stored: list[tuple[bytes, bytes]]
    faults: dict[int, ErrorCode]
    ticket: Any


class TransactionRecords(NamedTuple):
    """Offsets of a transaction.

    faults   topic -> (partition, why it was not stored), in the order of the request
    """

    group: Group
    producer_id: int
    stored: list[tuple[bytes, bytes]]
    faults: list[tuple[str, list[tuple[int, ErrorCode]]]]
    ticket: Any


class Deletion:
    """Tombstones in parts that fit a batch: they need not go together.

    left    parts whose outcome is not known
    error   the first one
    aim     what is done at the end, None: nothing
    """

    __slots__ = ("aim", "error", "left")

    def __init__(self, left: int, aim: OffsetsAnswer | GroupAnswer | TopicsCleared | None) -> None:
        self.left = left
        self.error = ErrorCode.NONE
        self.aim = aim


class Tombstones(NamedTuple):
    """One part of a deletion; `suffixes` are of offsets that go when it is committed."""

    group: Group
    deletion: Deletion
    suffixes: list[bytes]


# What a deletion is for: done when its last part is


class OffsetsAnswer(NamedTuple):
    """An OffsetDelete: topic -> partition -> its own error."""

    ticket: Any
    errors: dict[str, dict[int, ErrorCode]]


class GroupAnswer(NamedTuple):
    """One group of a DeleteGroups."""

    ticket: Any


class TopicsCleared(NamedTuple):
    """One group's share of deleted topics."""
