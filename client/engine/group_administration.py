"""Groups and their offsets, as procedures: each request goes to the group's coordinator, listings to every broker.

Source: Kafka `KafkaAdminClient`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from headrace.client.assignors import decode_assignment
from headrace.client.engine.controller_requests import TRIES, Errors
from headrace.client.engine.coordinator import Committed, Coordinator, Position, fetch_committed, store_committed
from headrace.client.engine.engine import Engine
from headrace.client.engine.tasks import Ask, Pause, Procedure, retry_pause_s
from headrace.client.failures import error_of, is_retriable
from headrace.errors import BadFrame, ErrorCode, HeadraceError
from headrace.ids import TopicPartition
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey

VERSION_OF_STATES: Final = 4  # of ListGroups
DEAD: Final = "Dead"
COORDINATOR_TRIES: Final = 11  # with pauses up to a second each; a loader that commits for lag tools can do without


class GroupListing(NamedTuple):
    """A group as ListGroups returns it."""

    group_id: str
    protocol_type: str
    state: str  # '' where the broker does not say
    group_type: str = ""  # classic or consumer, since Kafka 3.8


class GroupMember(NamedTuple):
    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    partitions: tuple[TopicPartition, ...]


class Group(NamedTuple):
    """A group. `protocol` is the name of its assignor."""

    group_id: str
    state: str
    protocol: str
    members: tuple[GroupMember, ...]


class GroupAdministration:
    """What an admin asks of one cluster about groups.

    tries_max   of a request to a coordinator
    """

    def __init__(self, engine: Engine, tries_max: int = COORDINATOR_TRIES) -> None:
        self._engine = engine
        self._tries_max = tries_max

    def list_groups(self, states: Iterable[str] = ()) -> Procedure[list[GroupListing]]:
        """Groups of all brokers, by name; asked for again while a broker is loading some.

        states   only those in one of these; none: all of them
        raises   KafkaError (UNSUPPORTED_VERSION, if a broker before Kafka 2.6 is asked for states), ConnectionFailed
        """
        wanted = list(states)
        for tries in range(1, TRIES + 1):
            try:
                found = yield from self._listed(wanted)
                return [found[name] for name in sorted(found)]
            except HeadraceError as failure:
                if not is_retriable(failure) or tries == TRIES:
                    raise
            yield Pause(retry_pause_s(tries))
        raise AssertionError("unreachable")

    def _listed(self, states: list[str]) -> Procedure[dict[str, GroupListing]]:
        yield self._engine.metadata.refresh()
        versions = (VERSION_OF_STATES if states else 0, 5)
        request = messages.ListGroupsRequest(states_filter=states, types_filter=[])
        found = {}
        for node in sorted(self._engine.metadata.brokers):
            answer = yield Ask(node, ApiKey.LIST_GROUPS, versions, request)
            if answer.error_code:
                raise error_of(answer.error_code, f"groups of broker {node}")
            for row in answer.groups:
                found[row.group_id] = GroupListing(row.group_id, row.protocol_type, row.group_state, row.group_type)
        return found

    def describe_group(self, group_id: str) -> Procedure[Group]:
        """State and members; an unknown group is described as dead, as its coordinator does. raises KafkaError"""
        request = messages.DescribeGroupsRequest(groups=[group_id])
        answer = yield from self._coordinator(group_id).ask(
            ApiKey.DESCRIBE_GROUPS, (0, 5), request, lambda found: int(found.groups[0].error_code)
        )
        row = answer.groups[0]
        if row.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
            return Group(group_id, DEAD, "", ())
        if row.error_code:
            raise error_of(row.error_code, f"group {group_id}")
        members = tuple(
            GroupMember(
                one.member_id,
                one.group_instance_id,
                one.client_id,
                one.client_host,
                _partitions(bytes(one.member_assignment)) if row.protocol_type == "consumer" else (),
            )
            for one in row.members
        )
        return Group(row.group_id, row.group_state, row.protocol_data, members)

    def delete_groups(self, group_ids: Sequence[str]) -> Procedure[Errors]:
        """Delete groups without members, with all their offsets; an error (or None) for each."""
        found: Errors = {}
        for group_id in group_ids:
            request = messages.DeleteGroupsRequest(groups_names=[group_id])
            answer = yield from self._coordinator(group_id).ask(
                ApiKey.DELETE_GROUPS, (0, 2), request, lambda body: int(body.results[0].error_code)
            )
            code = answer.results[0].error_code
            found[group_id] = error_of(code, f"group {group_id}") if code else None
        return found

    def committed(
        self, group_id: str, names: Sequence[TopicPartition] | None = None
    ) -> Procedure[dict[TopicPartition, Committed]]:
        """What a group has committed of these partitions; None: of all."""
        return fetch_committed(self._coordinator(group_id), names, is_stable=False)

    def commit(self, group_id: str, offsets: Mapping[TopicPartition, Position]) -> Procedure[None]:
        """Set the offsets of a group without members. raises KafkaError, where it has some, or which names a partition"""
        code = yield from store_committed(self._coordinator(group_id), offsets)
        if code:
            raise error_of(code, f"group {group_id}")

    def _coordinator(self, group_id: str) -> Coordinator:
        return Coordinator(self._engine.requests, group_id, self._tries_max)


def _partitions(assignment: bytes) -> tuple[TopicPartition, ...]:
    """Of a member; none if its bytes are malformed: other clients wrote them."""
    try:
        return tuple(decode_assignment(assignment))
    except BadFrame:
        return ()
