"""UpdateMetadata (key 6), v0 to v8: what every broker tells clients of the cluster, as the active controller says.

Runs in: the controller process of the node that gets the request. Answered when the view has it. Leaders, in-sync,
assigned and offline replicas
are taken; a partition whose leader is -2 says that its topic is being deleted: it leaves the metadata where it is marked, and no file goes
by that (decision 009). The live brokers of the request are not taken: this node
follows /brokers/ids, which has their epochs too; where the request names others, that is read again.

Source: Kafka `ZkMetadataCache.updateMetadata`.
"""

from __future__ import annotations

from collections.abc import Iterator

from headrace.controller.admin.context import AdminContext
from headrace.controller.admin.controller_request import gathered, hex_of, judged, slices
from headrace.controller.agent.judgement import LEADER_DURING_DELETE
from headrace.controller.agent.pending_response import PendingResponse
from headrace.controller.cluster.events import LeadersTold, ToldPartition, ToldTopic
from headrace.controller.cluster.known_cluster import KnownCluster, is_another
from headrace.controller.zookeeper.znodes import PartitionState
from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.protocol.messages import ZERO_UUID

_Request = messages.UpdateMetadataRequest
_State = messages.UpdateMetadataRequest.UpdateMetadataPartitionState


async def handle(context: AdminContext, version: int, body: memoryview) -> PendingResponse:
    """Take what is newer than what is known."""
    request = decode_request(ApiKey.UPDATE_METADATA, version, body)
    error = await judged(context, request, request.type)
    if error is ErrorCode.NONE:
        error = await _take(context, request)
    response = messages.UpdateMetadataResponse(error_code=int(error))
    return PendingResponse.done(encode_response(ApiKey.UPDATE_METADATA, version, response))


async def _take(context: AdminContext, request: _Request) -> ErrorCode:
    """Why it no longer counts, where a later controller is heard meanwhile. raises   ZkError, where a topic can't be read"""
    agent, known = context.agent, context.known
    found = _deleted_in(known, request)
    told = gathered(_states_of(request))
    await agent.orders.learn(told)
    error = await judged(context, request, request.type)
    if error is not ErrorCode.NONE:
        return error
    deleted = tuple(name for name, topic_id in found.items() if _id_of(known, name) == topic_id)  # not one made since
    agent.orders.note_brokers(broker.id for broker in request.live_brokers)
    event = LeadersTold(request.controller_id, request.controller_epoch, {}, has_roles=False, deleted=deleted)
    agent.apply(event)
    for part in slices(told):
        error = await judged(context, request, request.type)
        if error is not ErrorCode.NONE:
            break
        topics = {name: _completed(known, name, topic) for name, topic in part.items()}
        agent.apply(event._replace(topics=topics, deleted=()))
        await context.tasks.pause()
    agent.hurry()
    return error


def _completed(known: KnownCluster, name: str, told: ToldTopic) -> ToldTopic:
    """With what this request does not say of partitions, and is known."""
    topic = known.topics.get(name)
    if topic is None:
        return told
    completed = {}
    for index, partition in told.partitions.items():
        state = topic.states[index] if index < len(topic.states) else None
        is_same = state is not None and state.leader_epoch == partition.state.leader_epoch
        recovery = state.recovery if state is not None and is_same else 0
        completed[index] = partition._replace(
            state=partition.state._replace(recovery=recovery),
            adding=topic.adding.get(index, ()),
            removing=topic.removing.get(index, ()),
        )
    return told._replace(partitions=completed)


def _rows_of(request: _Request) -> Iterator[tuple[str, bytes, _State]]:
    for state in request.ungrouped_partition_states or ():
        yield state.topic_name, ZERO_UUID, state
    for topic in request.topic_states or ():
        for state in topic.partition_states:
            yield topic.topic_name, topic.topic_id, state


def _deleted_in(known: KnownCluster, request: _Request) -> dict[str, str]:
    """Topics that are being deleted, with their ids as known, unless another one is known by the name."""
    found: dict[str, str] = {}
    for name, topic_id, state in _rows_of(request):
        if state.leader == LEADER_DURING_DELETE:
            known_id = _id_of(known, name)
            if known_id is not None and not is_another(known_id, hex_of(topic_id)):
                found[name] = known_id
    return found


def _id_of(known: KnownCluster, name: str) -> str | None:
    """None: no topic of this name is known."""
    topic = known.topics.get(name) or known.released.get(name)
    return None if topic is None else topic.topic_id


def _states_of(request: _Request) -> Iterator[tuple[str, bytes, int, ToldPartition]]:
    for name, topic_id, state in _rows_of(request):
        if state.leader != LEADER_DURING_DELETE:
            yield name, topic_id, state.partition_index, _told(state)


def _told(state: _State) -> ToldPartition:
    return ToldPartition(
        PartitionState(state.leader, state.leader_epoch, tuple(state.isr), state.controller_epoch, state.zk_version),
        tuple(state.replicas),
        offline=tuple(state.offline_replicas),
    )
