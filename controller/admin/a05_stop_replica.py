"""StopReplica (key 5), v0 to v4: replicas of this node that go, as the active controller says.

Runs in: the controller process of the node that gets the request. A replica that is deleted is answered when its
owner has put the files away,
or can't: KAFKA_STORAGE_ERROR, as of one that was out of service before.
With the leader epoch -2 the topic is being deleted, else it stays, and other brokers have its replicas. Before v3 there is no
leader epoch. Files go only where ZooKeeper says the same (decision 009):

    the topic goes       /admin/delete_topics has its mark
    the replica goes     the assignment in the topic's node, which has the id that is known here, is to be without this node; and the
                         partition's state, which is not of the past, has others in sync

Source: Kafka `ReplicaManager.stopReplicas`; KIP-570.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence

from headrace.controller.admin.context import AdminContext
from headrace.controller.admin.controller_request import judged
from headrace.controller.agent.judgement import EPOCH_DURING_DELETE, judge_stop
from headrace.controller.agent.orders import LEARN_PAUSE_MS
from headrace.controller.agent.pending_response import PendingResponse
from headrace.controller.cluster.events import ReplicasStopped, StoppedReplica, ToldTopic
from headrace.controller.cluster.known_cluster import KnownCluster, is_another
from headrace.controller.cluster.partition_assignment import assignment_of
from headrace.controller.cluster.topic import is_older
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import Node
from headrace.controller.zookeeper.znodes import PartitionState, TopicAssignment
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
    agent, known = context.agent, context.known
    unproven, marked = (set[_Replica](), set[str]()) if error else await _unproven_of(context, stops)
    error = error or await judged(context, request)  # this node may have been elected while ZooKeeper was asked
    if error is not ErrorCode.NONE:
        return PendingResponse.done(_response(version, error, dict.fromkeys(stops, error)))
    errors: dict[_Replica, ErrorCode] = {}
    for (name, index), stopped in stops.items():
        topic = known.topics.get(name)
        is_offline = topic is not None and agent.rows.is_offline(topic, index)
        is_replica = topic is not None and index < len(topic.replicas) and known.node_id in topic.replicas[index]
        judged_so = judge_stop(topic, index, stopped, is_replica, is_offline)
        if (name, index) in unproven:
            judged_so = ErrorCode.FENCED_LEADER_EPOCH if known.has(name) else ErrorCode.UNKNOWN_SERVER_ERROR
        elif judged_so is ErrorCode.NONE and name not in marked and _is_kept(known, name, index, stopped):
            judged_so = ErrorCode.KAFKA_STORAGE_ERROR
        errors[name, index] = judged_so
    counted = {replica: stops[replica] for replica, code in errors.items() if code is ErrorCode.NONE}
    hosted = {replica for replica, stopped in counted.items() if stopped.is_deleted and _has_files(known, *replica)}
    agent.apply(ReplicasStopped(request.controller_id, request.controller_epoch, counted))
    leaving = agent.orders.leaving([replica for replica, stopped in counted.items() if stopped.is_deleted])
    for replica in hosted - {(one.topic, one.partition) for one in leaving}:
        errors[replica] = ErrorCode.UNKNOWN_SERVER_ERROR  # no row is left to have it deleted
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


def _has_files(known: KnownCluster, name: str, index: int) -> bool:
    """Whether the assignment gives this node a replica that was not deleted before: its owner has to be asked."""
    topic = known.topics.get(name) or known.released.get(name)
    if topic is None or index >= len(topic.replicas) or index in topic.stopped:
        return False
    return known.node_id in topic.replicas[index]


def _is_kept(known: KnownCluster, name: str, index: int, stopped: StoppedReplica) -> bool:
    """Whether a replica waits for an operator: its log may be all that is left of what was acknowledged (decision 015).

    Its topic may be deleted all the same, which is marked in ZooKeeper.
    """
    if not stopped.is_deleted or stopped.leader_epoch == EPOCH_DURING_DELETE:
        return False
    if name in known.unread_holds:
        _log.error("replica not deleted: its holds could not be read partition=%s-%d", name, index)
        return True
    held = known.held.get((name, index))
    if held is None or not held.is_ahead:
        return False
    _log.error(
        "replica not deleted, it is held: its log may contain acknowledged records partition=%s-%d log_end=%d parted_at=%d; see headrace"
        " cluster describe --held",
        name, index, held.end_offset, held.parted_at,
    )  # fmt: skip
    return True


async def _unproven_of(
    context: AdminContext, stops: Mapping[_Replica, StoppedReplica]
) -> tuple[set[_Replica], set[str]]:
    """Replicas whose files would go by these stops, and of which ZooKeeper does not say so, or has a topic that can't be read here; and
    topics that are marked for deletion.

    A stop has no topic id. One that was delayed on a connection that its sender has given up would delete the replica of a topic that was
    made under the name since, or of a later assignment. What proves it is there before the first stop, and goes after the last answer.

    raises   ZkError
    """
    known = context.known
    gone = {topic.name for topic in known.deleted}  # a stop that comes again: their replicas here go, or have gone
    left = {
        replica: one
        for replica, one in stops.items()
        if _needs_proof(one) and (known.has(replica[0]) or replica[0] not in gone)
    }  # of one that ZooKeeper lost too
    all_marked: set[str] = set()
    reasons: dict[str, str] = {}
    for tries_left in range(LEARN_TRIES_MAX - 1, -1, -1):
        names = sorted({name for name, _index in left})
        before = {name: known.topics.get(name) for name in names}
        marks = await context.zk.get_many([znodes.delete_topic_path(name) for name in names]) if names else []
        nodes = await context.zk.get_many([znodes.topic_path(name) for name in names]) if names else []
        states = await _read_states(context, left)
        marked = {name for name, mark in zip(names, marks, strict=True) if mark is not None}
        all_marked |= marked
        assigned = dict(_assignments(names, nodes))
        same = {name for name in names if known.topics.get(name) is before[name]}  # else it was read again meanwhile
        unproven = {}
        for (name, index), one in left.items():
            reason = "it was read again meanwhile"
            if name in same:
                node = assigned.get(name)
                topic = known.topics.get(name)
                served_in = context.agent.rows.leader_epoch(topic, index) if topic is not None else NO_EPOCH
                reason = _why_unproven(
                    known, name, index, one.leader_epoch, name in marked, node, states.get((name, index)), served_in
                )
            if reason:
                unproven[name, index] = one
                reasons[name] = reason
        left = unproven
        absent = {name for name, node in zip(names, nodes, strict=True) if node is None and not known.has(name)}
        left = {
            replica: one for replica, one in left.items() if replica[0] not in absent
        }  # there is no topic of that name
        if not left or not tries_left:
            break
        unread = {name: ToldTopic(one.topic_id, {}) for name, one in assigned.items() if not known.has(name)}
        if unread and tries_left == LEARN_TRIES_MAX - 1:  # once: it tries as often itself
            await context.agent.orders.learn(unread)
        await context.tasks.sleep(LEARN_PAUSE_MS)  # ours may be a server of ZooKeeper that is behind the controller's
    for name in sorted({name for name, _index in left}):
        reason = reasons[name] if known.has(name) else "the topic is in ZooKeeper, but could not be read"
        _log.warning("replicas not deleted, %s topic=%s", reason, name)
    return set(left), all_marked


def _needs_proof(stopped: StoppedReplica) -> bool:
    return stopped.is_deleted or stopped.leader_epoch == EPOCH_DURING_DELETE


def _assignments(names: Sequence[str], nodes: Sequence[Node | None]) -> Iterator[tuple[str, TopicAssignment]]:
    for name, node in zip(names, nodes, strict=True):
        if node is not None:
            try:
                yield name, znodes.decode_topic(name, node.data)
            except znodes.BadZnode as failure:
                _log.warning("assignment not read reason=%s", failure)


async def _read_states(
    context: AdminContext, stops: Mapping[_Replica, StoppedReplica]
) -> dict[_Replica, PartitionState]:
    """The states of partitions whose topic stays, those that are there and can be read. raises ZkError"""
    places = [place for place, one in stops.items() if one.leader_epoch != EPOCH_DURING_DELETE]
    paths = [znodes.state_path(name, index) for name, index in places]
    found = {}
    for place, path, node in zip(places, paths, await context.zk.get_many(paths) if paths else [], strict=True):
        if node is not None:
            try:
                found[place] = znodes.decode_state(path, node.data, node.version)
            except znodes.BadZnode as failure:
                _log.warning("state not read reason=%s", failure)
    return found


def _why_unproven(
    known: KnownCluster,
    name: str,
    index: int,
    leader_epoch: int,
    is_marked: bool,
    assigned: TopicAssignment | None,
    state: PartitionState | None,
    served_in: int,
) -> str:
    """Why ZooKeeper does not say that a replica's files go; empty: it does. Its topic goes, or the assignment is to be without this node.

    The assignment alone proves nothing: a controller may have died between two of its writes, and a backup of ZooKeeper may have been
    made before the replica came here again. So the replica stays that ZooKeeper has in sync, or whose state here is a later one. What is
    known here is the backup's as soon as that was read: the row says longer what the log has, until its owner has reported it.
    A request of before v3 does not say which of the two it is about.

    assigned   None: ZooKeeper does not have the topic
    state      None: ZooKeeper has none of the partition
    served_in  the leader epoch that the row has
    """
    late = "ZooKeeper has neither a mark nor another assignment: a late request"
    if not known.has(name):
        return late  # whether it has files here is not known yet
    if leader_epoch == EPOCH_DURING_DELETE:
        return "" if is_marked else late
    if is_marked and leader_epoch == NO_EPOCH:
        return ""
    topic = known.topics.get(name)
    if topic is None or assigned is None or is_another(topic.topic_id, assigned.topic_id):
        return late
    if index >= max(len(assigned.replicas), len(topic.states)):
        return ""  # there is none
    if index < len(assigned.replicas) and known.node_id in assignment_of(assigned, index).target:
        return late
    if state is None:
        return f"ZooKeeper has no state of partition {index}: it is not known who has its records"
    if known.node_id == state.leader or known.node_id in state.isr:
        return f"the state of partition {index} has this node in sync"
    latest = topic.state_of(index)
    if latest is not None and is_older(state, latest):
        return f"the state of partition {index} is older than what is known here"
    if served_in > state.leader_epoch:
        return (
            f"the state of partition {index} is older than its log here, which was served in leader epoch {served_in}"
        )
    return ""


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
