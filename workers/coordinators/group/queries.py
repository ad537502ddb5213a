"""What is asked of groups and changes nothing: OffsetFetch, DescribeGroups, ListGroups. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from headrace.errors import ErrorCode
from headrace.limits import TOPIC_NAME_LENGTH_MAX
from headrace.protocol import messages
from headrace.workers.coordinators.group.group import Group
from headrace.workers.coordinators.group.records import CommittedOffset, decode_offset, read_suffix, suffix_of
from headrace.workers.coordinators.group.state import GroupState

NO_OFFSET: Final = CommittedOffset(-1, -1, "", -1)
CLASSIC_TYPE: Final = "classic"
OPERATIONS_ALL: Final = 1 << 3 | 1 << 6 | 1 << 8  # READ, DELETE, DESCRIBE: what a group has
OPERATIONS_NOT_ASKED: Final = -(2**31)

_E = ErrorCode
_Described = messages.DescribeGroupsResponse.DescribedGroup
_DescribedMember = messages.DescribeGroupsResponse.DescribedGroupMember
_Listed = messages.ListGroupsResponse.ListedGroup

# topic -> partitions, each with its committed offset and an error
Fetched = dict[str, list[tuple[int, CommittedOffset, ErrorCode]]]


def fetch_offsets(
    group: Group | None, topics: Iterable[tuple[str, Sequence[int]]] | None, require_stable: bool
) -> Fetched:
    """Committed offsets of partitions, or of all that the group has; -1 where nothing is committed."""
    known = {} if group is None or group.state is GroupState.DEAD else group.offsets
    found: Fetched = {}
    if topics is None:
        pairs = {suffix: read_suffix(suffix) for suffix in known}
        if group is not None and require_stable:
            pairs.update({suffix: read_suffix(suffix) for held in group.transactions.values() for suffix in held})
    else:
        pairs = {}
        for name, rows in topics:
            if len(name) <= TOPIC_NAME_LENGTH_MAX:
                pairs.update({suffix_of(name, index): (name, index) for index in rows})
            else:  # it can't exist, and would be copied for each partition
                found.setdefault(name, []).extend((index, NO_OFFSET, _E.NONE) for index in rows)
    may_wait = require_stable and group is not None and bool(group.transactions or group.in_flight)
    for suffix, (name, index) in pairs.items():
        if may_wait and group is not None and group.is_unstable(suffix):
            row = (index, NO_OFFSET, _E.UNSTABLE_OFFSET_COMMIT)
        else:
            value = known.get(suffix)
            row = (index, NO_OFFSET if value is None else decode_offset(value), _E.NONE)
        found.setdefault(name, []).append(row)
    return found


def describe_group(
    group: Group | None, group_id: str, with_operations: bool, is_loading: bool
) -> messages.DescribeGroupsResponse.DescribedGroup:
    """A `DescribedGroup`; a group that is not there is described as Dead."""
    operations = OPERATIONS_ALL if with_operations else OPERATIONS_NOT_ASKED
    if is_loading:
        return _Described(
            error_code=int(_E.COORDINATOR_LOAD_IN_PROGRESS), group_id=group_id, authorized_operations=operations
        )
    if group is None:
        return _Described(group_id=group_id, group_state=GroupState.DEAD.value, authorized_operations=operations)
    is_stable = group.state is GroupState.STABLE
    return _Described(
        group_id=group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=(group.protocol or "") if is_stable else "",
        members=[
            _DescribedMember(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=member.metadata(group.protocol) if is_stable else b"",
                member_assignment=member.assignment if is_stable else b"",
            )
            for member in group.members.values()
        ],
        authorized_operations=operations,
    )


def list_groups(
    groups: Iterable[Group], states: set[str], types: set[str]
) -> list[messages.ListGroupsResponse.ListedGroup]:
    """`ListedGroup` rows; states and types in small letters, none for all."""
    if types and CLASSIC_TYPE not in types:
        return []
    return [
        _Listed(
            group_id=group.group_id,
            protocol_type=group.protocol_type or "",
            group_state=group.state.value,
            group_type=CLASSIC_TYPE,
        )
        for group in groups
        if not states or group.state.value.lower() in states
    ]
