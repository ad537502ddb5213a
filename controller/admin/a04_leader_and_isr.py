"""LeaderAndIsr (key 4), v0 to v7: this node's replicas lead or follow as the active controller says.

Runs in: the controller process of the node that gets the request. Answered when the rows of the partition table say
role and epoch, or that a
log is out of service, or held back (decision 013); REQUEST_TIMED_OUT says that an owner has not come so far, and will. So is one that was
told before: a controller that is new asks for what it may rely on, and an owner that is opening logs may find this one gone. From v5
on answers go by topic id.

Source: Kafka `ReplicaManager.becomeLeaderOrFollower`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from headrace.controller.admin.context import AdminContext
from headrace.controller.admin.controller_request import gathered, judged, slices
from headrace.controller.agent.judgement import judge_role
from headrace.controller.agent.new_replicas import Replica
from headrace.controller.agent.pending_response import PendingResponse
from headrace.controller.cluster.events import LeadersTold, ToldPartition, ToldTopic
from headrace.controller.cluster.known_cluster import Topic, is_another
from headrace.controller.zookeeper.znodes import PartitionState
from headrace.errors import ErrorCode
from headrace.ids import partition_key
from headrace.limits import ROLES_WAIT_MS_MAX
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.protocol.messages import ZERO_UUID

VERSION_OF_IDS = 5

_Request = messages.LeaderAndIsrRequest
_Response = messages.LeaderAndIsrResponse
_Role = tuple[str, Topic, int, int]  # name, topic, partition, leader epoch


async def handle(context: AdminContext, version: int, body: memoryview) -> PendingResponse:
    """Judge each partition, have those that count take their roles."""
    request = decode_request(ApiKey.LEADER_AND_ISR, version, body)
    told = gathered(_states_of(request))
    error = await judged(context, request, request.type)
    errors: dict[tuple[str, int], ErrorCode] = {}
    if error is not ErrorCode.NONE:
        errors = {(name, index): error for name, topic in told.items() for index in topic.partitions}
        return PendingResponse.done(_response(version, error, told, errors))
    agent = context.agent
    await agent.orders.learn(told)
    await context.tell_new(_new_here(context, told))
    agent.orders.note_brokers(state.state.leader for topic in told.values() for state in topic.partitions.values())
    roles: list[_Role] = []
    for part in slices(told):
        error = await judged(context, request, request.type)  # a later controller may have been heard meanwhile
        if error is ErrorCode.NONE:
            roles += _take(context, request, part, errors)
        else:
            errors.update(((name, index), error) for name, topic in part.items() for index in topic.partitions)
        await context.tasks.pause()
    agent.hurry()

    def is_there(role: _Role) -> bool:
        return agent.rows.outcome(*role[1:]) is not None

    def respond(_is_done: bool) -> bytes:
        for name, topic, index, leader_epoch in roles:
            outcome = agent.rows.outcome(topic, index, leader_epoch)
            if outcome is None:
                outcome = ErrorCode.REQUEST_TIMED_OUT
            elif errors[name, index] and outcome is not ErrorCode.KAFKA_STORAGE_ERROR:
                continue  # told before
            errors[name, index] = outcome
        for place, code in errors.items():
            if code is ErrorCode.KAFKA_STORAGE_ERROR:
                agent.rows.note_refused(*place)
        return _response(version, ErrorCode.NONE, told, errors)

    return PendingResponse(roles, agent.monotonic_ms() + ROLES_WAIT_MS_MAX, is_there, respond)


def _new_here(context: AdminContext, told: Mapping[str, ToldTopic]) -> Iterator[Replica]:
    """Replicas of this node that are made now, as the request says.

    A controller says so again of a replica that is being added, which may be in sync by then: that one has a log, and where it is not
    found, it is in a directory that failed.
    """
    known = context.known
    for name, told_topic in told.items():
        topic = known.topics.get(name)
        if topic is None or is_another(topic.topic_id, told_topic.topic_id):
            continue
        for index, partition in told_topic.partitions.items():
            states = partition.state, topic.states[index] if index < len(topic.states) else None
            may_be_new = not any(state and state.leader_epoch and known.node_id in state.isr for state in states)
            if partition.is_new and may_be_new and known.node_id in partition.replicas:
                yield name, index, partition_key(name, index, topic.topic_id)


def _take(
    context: AdminContext,
    request: _Request,
    part: dict[str, ToldTopic],
    errors: dict[tuple[str, int], ErrorCode],
) -> list[_Role]:
    """Have some topics' partitions take their roles; returns those that count, or were told before; the others get their errors."""
    known, rows = context.known, context.agent.rows
    roles: list[_Role] = []
    accepted: dict[str, ToldTopic] = {}
    for name, told in part.items():
        topic = known.topics.get(name)
        counted = {}
        for index, partition in told.partitions.items():
            is_in_sync = known.node_id in partition.state.isr  # one that is not follows, held until now or not
            cannot_serve = rows.cannot_serve if is_in_sync else rows.is_offline
            is_offline = topic is not None and cannot_serve(topic, index)
            epoch = partition.state.leader_epoch
            is_replica = known.node_id in partition.replicas
            error = errors[name, index] = judge_role(topic, index, told.topic_id, epoch, is_replica, is_offline)
            if error is ErrorCode.NONE:
                assert topic is not None
                counted[index] = partition
                roles.append((name, topic, index, epoch))
            elif error is ErrorCode.STALE_CONTROLLER_EPOCH and topic is not None and _is_told(topic, index, is_replica):
                roles.append((name, topic, index, epoch))
        if counted:
            accepted[name] = told._replace(partitions=counted)
    context.agent.apply(LeadersTold(request.controller_id, request.controller_epoch, accepted))
    return roles


def _is_told(topic: Topic, index: int, is_replica: bool) -> bool:
    """Whether a role of a replica here was told before, and its owner takes it, or has."""
    return is_replica and index in topic.told and index not in topic.halted


def _states_of(request: _Request) -> Iterator[tuple[str, bytes, int, ToldPartition]]:
    for state in request.ungrouped_partition_states or ():
        yield state.topic_name, ZERO_UUID, state.partition_index, _told(state)
    for topic in request.topic_states or ():
        for state in topic.partition_states:
            yield topic.topic_name, topic.topic_id, state.partition_index, _told(state)


def _told(state: messages.LeaderAndIsrRequest.LeaderAndIsrPartitionState) -> ToldPartition:
    return ToldPartition(
        PartitionState(
            state.leader,
            state.leader_epoch,
            tuple(state.isr),
            state.controller_epoch,
            state.partition_epoch,
            state.leader_recovery_state,
        ),
        tuple(state.replicas),
        tuple(state.adding_replicas),
        tuple(state.removing_replicas),
        is_new=state.is_new,
    )


def _response(
    version: int, error: ErrorCode, told: dict[str, ToldTopic], errors: dict[tuple[str, int], ErrorCode]
) -> bytes:
    row = _Response.LeaderAndIsrPartitionError
    if version < VERSION_OF_IDS:
        rows = [row(name, index, int(code)) for (name, index), code in errors.items()]
        return encode_response(ApiKey.LEADER_AND_ISR, version, _Response(int(error), partition_errors=rows))
    by_id: dict[bytes, list[messages.LeaderAndIsrResponse.LeaderAndIsrPartitionError]] = {}
    for (name, index), code in errors.items():
        topic_id = bytes.fromhex(told[name].topic_id) or ZERO_UUID
        by_id.setdefault(topic_id, []).append(row(partition_index=index, error_code=int(code)))
    topics = [_Response.LeaderAndIsrTopicError(topic_id, rows) for topic_id, rows in by_id.items()]
    return encode_response(ApiKey.LEADER_AND_ISR, version, _Response(int(error), topics=topics))
