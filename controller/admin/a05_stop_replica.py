"""StopReplica (key 5), v0 to v4: replicas of this node that go, as the active controller says.

Runs in: the controller process of the node that is told. A replica that is deleted is answered when its owner has put the files away,
or can't: KAFKA_STORAGE_ERROR, as of one that was out of service before.
With the leader epoch -2 the topic is being deleted, else it stays, and other brokers have its replicas. Before v3 there is no
leader epoch.

Source: Kafka `ReplicaManager.stopReplicas`; KIP-570.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping

from headrace.controller.admin.context import AdminContext
from headrace.controller.admin.told_request import judged
from headrace.controller.agent.judgement import EPOCH_DURING_DELETE, judge_stop
from headrace.controller.agent.orders import LEARN_PAUSE_MS
from headrace.controller.agent.pending_response import PendingResponse
from headrace.controller.cluster.events import ReplicasStopped, StoppedReplica
from headrace.controller.zookeeper import znodes
from headrace.errors import ErrorCode
from headrace.ids import NO_EPOCH
from headrace.limits import LEARN_TRIES_MAX, ROLES_WAIT_MS_MAX
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response

_Request = messages.StopReplicaRequest
_Response = messages.StopReplicaResponse
_Replica = tuple[str, int]

_log = logging.getLogger(__name__)


async def handle(context: AdminContext, version: int, body: memoryview) -> PendingResponse:
    """Judge each replica, have those go that are to be deleted."""
    request = decode_request(ApiKey.STOP_REPLICA, version, body)
    stops = dict(_stops_of(request))
    error = await judged(context, request)
    if error is not ErrorCode.NONE:
        return PendingResponse.done(_response(version, error, dict.fromkeys(stops, error)))
    agent, known = context.agent, context.known
    errors: dict[_Replica, ErrorCode] = {}
    unmarked = await _unmarked_of(context, stops)
    for (name, index), stopped in stops.items():
        topic = known.topics.get(name)
        is_offline = topic is not None and agent.rows.is_offline(topic, index)
        is_replica = topic is not None and index < len(topic.replicas) and known.node_id in topic.replicas[index]
        is_late = name in unmarked and stopped.leader_epoch == EPOCH_DURING_DELETE
        judged_so = judge_stop(topic, index, stopped, is_replica, is_offline)
        errors[name, index] = ErrorCode.FENCED_LEADER_EPOCH if is_late else judged_so
    counted = {replica: stops[replica] for replica, code in errors.items() if code is ErrorCode.NONE}
    agent.apply(ReplicasStopped(request.controller_id, request.controller_epoch, counted))
    leaving = agent.orders.leaving([replica for replica, stopped in counted.items() if stopped.is_deleted])
    for (name, index), stopped in counted.items():
        topic = known.topics.get(name)
        is_left = topic is not None and index < len(topic.states) and index not in topic.stopped
        if is_left and stopped.is_deleted and stopped.leader_epoch != EPOCH_DURING_DELETE:
            errors[name, index] = ErrorCode.UNKNOWN_SERVER_ERROR  # no row is left to have it deleted
    agent.hurry()

    orders = agent.orders

    def respond(is_done: bool) -> bytes:
        for one in leaving:
            if not orders.is_gone(one):
                is_lost = orders.is_out_of_reach(one)
                error = ErrorCode.KAFKA_STORAGE_ERROR if is_lost else ErrorCode.REQUEST_TIMED_OUT
                errors[one.topic, one.partition] = error
        return _response(version, ErrorCode.NONE, errors)

    return PendingResponse(leaving, agent.monotonic_ms() + ROLES_WAIT_MS_MAX, orders.is_over, respond)


async def _unmarked_of(context: AdminContext, stops: Mapping[_Replica, StoppedReplica]) -> set[str]:
    """Topics that are to be deleted by these stops, and that nobody has marked.

    A stop has no topic id. One that was delayed on a connection that its sender has given up would delete the topic that was
    made under the name since. The mark is there before the first stop, and goes after the last answer.

    raises   ZkError
    """
    has = context.known.has  # one that ZooKeeper lost, and whose files stay, too
    names = {name for (name, _index), one in stops.items() if one.leader_epoch == EPOCH_DURING_DELETE and has(name)}
    for tries_left in range(LEARN_TRIES_MAX - 1, -1, -1):
        paths = {name: znodes.delete_topic_path(name) for name in sorted(names)}
        marks = await context.zk.get_many(list(paths.values())) if paths else []
        names = {name for name, mark in zip(paths, marks, strict=True) if mark is None}
        if not names or not tries_left:
            break
        await context.tasks.sleep(LEARN_PAUSE_MS)  # ours may be a server of ZooKeeper that is behind the controller's
    for name in sorted(names):
        _log.warning(
            "replicas not deleted, nobody has marked their topic: a late request for one of the name topic=%s", name
        )
    return names


def _stops_of(request: _Request) -> Iterator[tuple[_Replica, StoppedReplica]]:
    old = StoppedReplica(NO_EPOCH, bool(request.delete_partitions))
    for row in request.ungrouped_partitions or ():
        yield (row.topic_name, row.partition_index), old
    for topic in request.topics or ():
        for index in topic.partition_indexes:
            yield (topic.name, index), old
    for states in request.topic_states or ():
        for state in states.partition_states:
            stopped = StoppedReplica(state.leader_epoch, state.delete_partition)
            yield (states.topic_name, state.partition_index), stopped


def _response(version: int, error: ErrorCode, errors: dict[_Replica, ErrorCode]) -> bytes:
    row = _Response.StopReplicaPartitionError
    rows = [row(name, index, int(code)) for (name, index), code in errors.items()]
    return encode_response(ApiKey.STOP_REPLICA, version, _Response(int(error), rows))
