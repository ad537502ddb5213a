"""LeaderAndIsr, UpdateMetadata and StopReplica, as the known cluster has what they name. Pure: names in, messages out.

Runs in: the controller process of the active node. Versions: `protocol/broker_versions.py`; from those that are sent on (IBP 2.6),
partitions are grouped by topic. Never `is_kraft_controller`, never a `type`: brokers that don't migrate refuse that, and
delete replicas.

Source: Kafka `AbstractControllerBrokerRequestBatch`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from headrace.controller.active.term import Term
from headrace.controller.cluster.known_cluster import Topic
from headrace.controller.cluster.partition_assignment import assignment_of, told_assignment
from headrace.controller.zookeeper.znodes import Endpoint, PartitionState, Registration
from headrace.ids import NO_EPOCH, NO_LEADER
from headrace.protocol import messages
from headrace.protocol.messages import ZERO_UUID

NOTHING_GONE: Mapping[str, Topic] = {}
NO_STATE = PartitionState(
    NO_LEADER, NO_EPOCH, (), 0
)  # of a topic that goes: the controller before us may have removed it already
LEADER_DURING_DELETE = -2  # of a partition whose topic goes: brokers forget it

_Leaders = messages.LeaderAndIsrRequest
_Metadata = messages.UpdateMetadataRequest
_Stop = messages.StopReplicaRequest


class StoppedReplica(NamedTuple):
    """How a replica is stopped."""

    leader_epoch: int
    is_deleted: bool


def leaders_request(term: Term, broker_epoch: int, wanted: Mapping[str, Mapping[int, bool]]) -> Any:
    """LeaderAndIsr; None where nothing of it is known any more.

    wanted   topic -> partition -> whether its replica there is new
    """
    topics, leaders = [], set()
    for name, indexes in wanted.items():
        topic = term.known.topics.get(name)
        if topic is None:
            continue
        rows = []
        for index, is_new in indexes.items():
            state = topic.state_of(index)
            if state is not None:
                rows.append(_leader_row(topic, index, state, is_new))
                leaders.add(state.leader)
        if rows:
            topics.append(
                _Leaders.LeaderAndIsrTopicState(topic_name=name, topic_id=_uuid(topic.topic_id), partition_states=rows)
            )
    if not topics:
        return None
    brokers = term.known.brokers
    live = [
        _Leaders.LeaderAndIsrLiveLeader(broker_id=one, host_name=brokers[one].host, port=brokers[one].port)
        for one in sorted(leaders)
        if one in brokers
    ]
    return _Leaders(
        controller_id=term.known.node_id,
        controller_epoch=term.epoch,
        broker_epoch=broker_epoch,
        topic_states=topics,
        live_leaders=live,
    )


def metadata_request(
    term: Term, broker_epoch: int, wanted: Mapping[str, Collection[int]], gone: Mapping[str, Topic] = NOTHING_GONE
) -> Any:
    """UpdateMetadata of partitions; with all live brokers, which the receiver takes for all there are.

    gone   topics that are deleted, whatever has their names now
    """
    topics = []
    for name, indexes in wanted.items():
        topic = gone.get(name) or term.find(name)
        if topic is None:
            continue
        is_leaving = name in gone or name not in term.known.topics
        rows = [
            _metadata_row(term, topic, index, state, is_leaving)
            for index in topic.known_of(indexes)
            if (state := topic.states[index] or (NO_STATE if is_leaving else None)) is not None
        ]
        if rows:
            topics.append(
                _Metadata.UpdateMetadataTopicState(
                    topic_name=name, topic_id=_uuid(topic.topic_id), partition_states=rows
                )
            )
    return _Metadata(
        controller_id=term.known.node_id,
        controller_epoch=term.epoch,
        broker_epoch=broker_epoch,
        topic_states=topics,
        live_brokers=[_live_broker(broker) for _id, broker in sorted(term.known.brokers.items())],
    )


def stop_request(term: Term, broker_epoch: int, stops: Mapping[tuple[str, int], StoppedReplica]) -> Any:
    """StopReplica."""
    topics: dict[str, list[Any]] = {}
    for (name, index), stop in stops.items():
        row = _Stop.StopReplicaPartitionState(
            partition_index=index, leader_epoch=stop.leader_epoch, delete_partition=stop.is_deleted
        )
        topics.setdefault(name, []).append(row)
    return _Stop(
        controller_id=term.known.node_id,
        controller_epoch=term.epoch,
        broker_epoch=broker_epoch,
        topic_states=[
            _Stop.StopReplicaTopicState(topic_name=name, partition_states=rows) for name, rows in topics.items()
        ],
    )


def _leader_row(topic: Topic, index: int, state: PartitionState, is_new: bool) -> Any:
    told = told_assignment(assignment_of(topic, index), state)
    return _Leaders.LeaderAndIsrPartitionState(
        partition_index=index,
        controller_epoch=state.controller_epoch,
        leader=state.leader,
        leader_epoch=state.leader_epoch,
        isr=state.isr,
        partition_epoch=state.version,
        replicas=told.replicas,
        adding_replicas=told.adding,
        removing_replicas=told.removing,
        is_new=is_new,
        leader_recovery_state=state.recovery,
    )


def _metadata_row(term: Term, topic: Topic, index: int, state: PartitionState, is_leaving: bool) -> Any:
    replicas = told_assignment(assignment_of(topic, index), state).replicas
    return _Metadata.UpdateMetadataPartitionState(
        partition_index=index,
        controller_epoch=state.controller_epoch,
        leader=LEADER_DURING_DELETE if is_leaving else state.leader,
        leader_epoch=state.leader_epoch,
        isr=state.isr,
        zk_version=state.version,
        replicas=replicas,
        offline_replicas=_offline(term, topic.name, index, replicas),
    )


def _offline(term: Term, name: str, index: int, replicas: Iterable[int]) -> list[int]:
    brokers, failed = term.known.brokers, term.failed
    return [one for one in replicas if one not in brokers or (name, index) in failed.get(one, ())]


def _live_broker(broker: Registration) -> Any:
    endpoints = broker.endpoints or (Endpoint("PLAINTEXT", 0, broker.host, broker.port),)
    return _Metadata.UpdateMetadataBroker(
        id=broker.node_id,
        endpoints=[
            _Metadata.UpdateMetadataEndpoint(
                port=port, host=host, listener=listener, security_protocol=security_protocol
            )
            for listener, security_protocol, host, port in endpoints
        ],
        rack=broker.rack,
    )


def _uuid(topic_id: str) -> bytes:
    return bytes.fromhex(topic_id) if topic_id else ZERO_UUID
