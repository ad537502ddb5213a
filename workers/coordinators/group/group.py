"""A consumer group: its members, its state, its committed offsets. Data and questions; events are elsewhere.

    Empty                no members; offsets may be there
    PreparingRebalance   members are to join (again)
    CompletingRebalance  all joined; the leader's assignment is awaited
    Stable               every member has its assignment
    Dead                 gone, or this node leads its partition no more

Source: Kafka `GroupMetadata`, `MemberMetadata`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from headrace.errors import BadFrame
from headrace.limits import GROUP_STRING_LENGTH_MAX, MEMBER_SUFFIX_BYTES
from headrace.protocol import messages
from headrace.protocol.codec import decode_struct
from headrace.workers.coordinators.group.state import GroupState

CONSUMER_PROTOCOL: Final = "consumer"
SUBSCRIPTION_VERSION_MAX: Final = 3
GENERATION_MAX: Final = 2**31 - 1

Protocols = tuple[tuple[str, bytes], ...]  # (name, metadata), preferred first


# target -> states it can be entered from. (`table.py` says by which events; one event may take several such steps.)
TRANSITIONS: dict[GroupState, frozenset[GroupState]] = {
    GroupState.EMPTY: frozenset({GroupState.PREPARING}),
    GroupState.PREPARING: frozenset({GroupState.EMPTY, GroupState.COMPLETING, GroupState.STABLE}),
    GroupState.COMPLETING: frozenset({GroupState.PREPARING}),
    GroupState.STABLE: frozenset({GroupState.COMPLETING}),
    GroupState.DEAD: frozenset(set(GroupState) - {GroupState.DEAD}),
}


class Member:
    """One member of a group.

    deadline_ms   when its session ends, unless it is heard of
    timer         serial of its entry among the timers; another one that comes up is stale; 0: none
    timer_ms      when that entry comes up
    is_new        joined, but its first JoinGroup is not answered yet
    """

    __slots__ = (
        "assignment",
        "client_host",
        "client_id",
        "deadline_ms",
        "group",
        "instance_id",
        "is_new",
        "join_ticket",
        "member_id",
        "protocols",
        "rebalance_timeout_ms",
        "session_timeout_ms",
        "sync_ticket",
        "timer",
        "timer_ms",
    )

    def __init__(
        self,
        group: Group,
        member_id: str,
        instance_id: str | None,
        client_id: str,
        client_host: str,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        protocols: Protocols,
        assignment: bytes = b"",
    ) -> None:
        self.group = group
        self.member_id = member_id
        self.instance_id = instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.session_timeout_ms = session_timeout_ms
        self.protocols = protocols
        self.assignment = assignment
        self.join_ticket: Any = None
        self.sync_ticket: Any = None
        self.deadline_ms = 0
        self.timer = 0
        self.timer_ms = 0
        self.is_new = False

    def metadata(self, protocol: str | None) -> bytes:
        """What the member said for a protocol."""
        for name, metadata in self.protocols:
            if name == protocol:
                return metadata
        return b""


class Group:
    """One group.

    pending       member ids that were handed out and have not joined with yet (KIP-394) -> serial of their timer
    timer         serial of the entry that ends the present phase (join or sync); 0: none
    initial_left  ms that the initial rebalance delay may still be extended by; -1: no initial delay runs
    awaiting_join how many members wait for the end of the join phase
    supporters    protocol -> how many members know it
    pending_sync  members of this generation that have not asked for their assignment yet
    offsets       key suffix -> value, as the log has them
    in_flight     key suffix -> how many commits of it are in flight
    transactions  producer id -> key suffix -> (value, offset of its record), until the marker comes
    overwritten   while there are transactions: key suffix -> offset of the record of its last plain commit
    topics        subscribed by the members; None: not known
    """

    __slots__ = (
        "awaiting_join",
        "generation",
        "group_id",
        "in_flight",
        "initial_left",
        "leader",
        "members",
        "newcomer",
        "offsets",
        "overwritten",
        "pending",
        "pending_sync",
        "protocol",
        "protocol_type",
        "since_ms",
        "state",
        "static",
        "supporters",
        "timer",
        "topics",
        "transactions",
    )

    def __init__(self, group_id: str, date_ms: int) -> None:
        self.group_id = group_id
        self.state = GroupState.EMPTY
        self.since_ms = date_ms  # of the present state; -1: not known
        self.protocol_type: str | None = None
        self.generation = 0
        self.protocol: str | None = None
        self.leader: str | None = None
        self.members: dict[str, Member] = {}
        self.static: dict[str, str] = {}  # instance id -> member id
        self.pending: dict[str, int] = {}
        self.pending_sync: set[str] = set()
        self.awaiting_join = 0
        self.supporters: Counter[str] = Counter()
        self.timer = 0
        self.initial_left = -1
        self.newcomer = False  # one came while the initial delay ran
        self.offsets: dict[bytes, bytes] = {}
        self.in_flight: dict[bytes, int] = {}
        self.transactions: dict[int, dict[bytes, tuple[bytes, int]]] = {}
        self.overwritten: dict[bytes, int] = {}
        self.topics: frozenset[str] | None = None

    def enter(self, state: GroupState, date_ms: int) -> None:
        """Change the state; only along TRANSITIONS."""
        assert self.state in TRANSITIONS[state], f"{self.group_id}: {self.state} -> {state}"
        self.state = state
        self.since_ms = date_ms

    @property
    def all_joined(self) -> bool:
        return not self.pending and self.awaiting_join == len(self.members)

    @property
    def rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def supports(self, protocol_type: str, protocols: Protocols) -> bool:
        """Whether a member with these protocols has one in common with all others."""
        if not protocol_type or not protocols:
            return False
        if self.state is GroupState.EMPTY or not self.members:
            return True
        everyone = len(self.members)
        return protocol_type == self.protocol_type and any(self.supporters[name] == everyone for name, _ in protocols)

    def select_protocol(self) -> str:
        """Every member votes for its first choice among what all know; ties go to the first that was voted for."""
        everyone = len(self.members)
        votes: Counter[str] = Counter()
        for member in self.members.values():
            for name, _metadata in member.protocols:
                if self.supporters[name] == everyone:
                    votes[name] += 1
                    break
        return max(votes, key=lambda name: votes[name])

    def subscribed(self) -> frozenset[str] | None:
        """Topics that the members of a consumer group subscribe to; None where that can't be determined."""
        if self.protocol_type != CONSUMER_PROTOCOL or (self.members and self.protocol is None):
            return None
        found: set[str] = set()
        for member in self.members.values():
            try:
                found.update(subscription_topics(member.metadata(self.protocol)))
            except BadFrame:
                return None
        return frozenset(found)

    def intern_protocols(self, protocols: Protocols) -> Protocols:
        """The same protocols as an object that is there already: members of a group mostly say the same."""
        for member in self.members.values():
            return member.protocols if member.protocols == protocols else protocols
        return protocols

    def add(self, member: Member, protocol_type: str) -> None:
        """Take a member in; the first one leads."""
        if not self.members:
            self.protocol_type = protocol_type
        self.members[member.member_id] = member
        self.supporters.update(name for name, _metadata in member.protocols)
        if member.instance_id is not None:
            self.static[member.instance_id] = member.member_id
        if self.leader is None:
            self.leader = member.member_id

    def remove(self, member_id: str) -> None:
        """Forget a member."""
        member = self.members.pop(member_id, None)
        self.pending_sync.discard(member_id)
        if member is not None:
            assert member.join_ticket is None, "a waiting member is answered before it is removed"
            self._unsupport(member.protocols)
            if member.instance_id is not None:
                self.static.pop(member.instance_id, None)
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)

    def _unsupport(self, protocols: Protocols) -> None:
        """One supporter less of each; names that no member knows any more are not kept."""
        for name, _metadata in protocols:
            self.supporters[name] -= 1
            if not self.supporters[name]:
                del self.supporters[name]

    def update(self, member: Member, protocols: Protocols, rebalance_timeout_ms: int, session_timeout_ms: int) -> None:
        """A member joined again, perhaps with something else to say."""
        self._unsupport(member.protocols)
        self.supporters.update(name for name, _metadata in protocols)
        member.protocols = protocols
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms

    def park_join(self, member: Member, ticket: Any) -> Any:
        """Keep a JoinGroup until the join phase ends; returns the ticket of an earlier one, None."""
        earlier, member.join_ticket = member.join_ticket, ticket
        self.awaiting_join += (ticket is not None) - (earlier is not None)
        return earlier

    def rename_static(self, member: Member, member_id: str) -> None:
        """A static member came back under another id."""
        assert member.instance_id is not None
        # The order of members stays: it decides who leads next, and what the leader's list looks like.
        self.members = {(member_id if known is member else key): known for key, known in self.members.items()}
        if member.member_id in self.pending_sync:
            self.pending_sync.discard(member.member_id)
            self.pending_sync.add(member_id)
        if self.leader == member.member_id:
            self.leader = member_id
        member.member_id = member_id
        self.static[member.instance_id] = member_id

    def is_over(self, gone: int) -> bool:
        """Whether nothing is left of it without this number of its offsets."""
        is_idle = self.state is GroupState.EMPTY and not self.pending and not self.in_flight
        return is_idle and not self.transactions and gone == len(self.offsets)

    # Offsets of transactions

    def hold(self, producer_id: int, suffixes: Iterable[tuple[bytes, bytes]], offset: int) -> None:
        """Keep a transaction's offsets until its marker; `offset` is that of their record."""
        held = self.transactions.setdefault(producer_id, {})
        for suffix, value in suffixes:
            held[suffix] = (value, offset)

    def end_transaction(self, producer_id: int, is_commit: bool) -> None:
        """A marker came: what the transaction committed stands, unless a later plain commit does."""
        held = self.transactions.pop(producer_id, {})
        if is_commit:
            for suffix, (value, offset) in held.items():
                if self.overwritten.get(suffix, -1) < offset:
                    self.offsets[suffix] = value
                    if self.transactions:
                        self.overwritten[suffix] = offset
        if not self.transactions:
            self.overwritten.clear()

    def is_unstable(self, suffix: bytes) -> bool:
        """Whether a commit of this partition is in flight, or in a transaction that is not over."""
        return suffix in self.in_flight or any(suffix in held for held in self.transactions.values())

    # The log's form

    def to_message(self, assignments: dict[str, bytes] | None = None) -> messages.GroupMetadataValue:
        """The group as `GroupMetadataValue`; `assignments` in place of those that the members have."""
        row = messages.GroupMetadataValue.MemberMetadata
        return messages.GroupMetadataValue(
            protocol_type=self.protocol_type or "",
            generation=self.generation,
            protocol=self.protocol,
            leader=self.leader,
            current_state_timestamp=self.since_ms,
            members=[
                row(
                    member_id=member.member_id,
                    group_instance_id=member.instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    rebalance_timeout=member.rebalance_timeout_ms,
                    session_timeout=member.session_timeout_ms,
                    subscription=member.metadata(self.protocol),
                    assignment=member.assignment if assignments is None else assignments.get(member.member_id, b""),
                )
                for member in self.members.values()
            ],
        )

    @classmethod
    def from_message(cls, group_id: str, value: messages.GroupMetadataValue) -> Group:
        """The group that a `GroupMetadataValue` describes: Stable, or Empty.

        raises   BadFrame, for what no coordinator writes: members or static members twice, names that no response carries
        """
        _check_stored(value)
        group = cls(group_id, value.current_state_timestamp)
        group.protocol_type = value.protocol_type or None
        group.generation = max(0, value.generation)
        group.protocol = value.protocol
        for row in value.members:
            timeout_ms = row.rebalance_timeout if row.rebalance_timeout >= 0 else row.session_timeout
            protocols = ((value.protocol or "", row.subscription),)
            member = Member(
                group,
                row.member_id,
                row.group_instance_id,
                row.client_id,
                row.client_host,
                timeout_ms,
                row.session_timeout,
                protocols,
                row.assignment,
            )
            group.add(member, value.protocol_type)
        if group.members:
            group.state = GroupState.STABLE
            if value.leader in group.members:
                group.leader = value.leader
        group.topics = group.subscribed()
        return group


def next_generation(generation: int) -> int:
    """The generation after another. After the largest comes 1: Kafka's turns negative, which means "no member"."""
    return generation + 1 if generation < GENERATION_MAX else 1


def _check_stored(value: messages.GroupMetadataValue) -> None:
    """Whether a `GroupMetadataValue` is one that a coordinator may have written. raises BadFrame"""
    names = [value.protocol_type, value.protocol or ""]
    ids = [value.leader or ""]
    for row in value.members:
        names += (row.group_instance_id or "", row.client_id, row.client_host)
        ids.append(row.member_id)
    longest = max(*(len(name) for name in names), *(len(name.encode()) - MEMBER_SUFFIX_BYTES for name in ids))
    if longest > GROUP_STRING_LENGTH_MAX:
        raise BadFrame(f"a name of {longest} characters")
    instances = [row.group_instance_id for row in value.members if row.group_instance_id is not None]
    if len({row.member_id for row in value.members}) < len(value.members) or len(set(instances)) < len(instances):
        raise BadFrame("a member is listed twice")


def subscription_topics(metadata: bytes) -> list[str]:
    """Topics of a consumer's subscription; raises BadFrame."""
    if len(metadata) < 2:
        raise BadFrame(f"subscription of {len(metadata)} bytes")
    version = min(int.from_bytes(metadata[:2], "big"), SUBSCRIPTION_VERSION_MAX)
    return list(decode_struct("ConsumerProtocolSubscription", version, metadata[2:]).topics)
