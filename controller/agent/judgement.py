"""Whether a node does what a controller tells it. Pure: the request, what is known, the answer.

Runs in: the controller process of every node. The order is Kafka's; what comes first decides:

    a request         its controller epoch is below the highest seen       STALE_CONTROLLER_EPOCH
                      its broker epoch is below ours; -1 says nothing      STALE_BROKER_EPOCH
    a role            the log is out of service                            KAFKA_STORAGE_ERROR
                      another topic of that name is known                  INCONSISTENT_TOPIC_ID
                      its leader epoch is below what is known              STALE_CONTROLLER_EPOCH
                      it was told before, the id too; no stop since        STALE_CONTROLLER_EPOCH
                      this node is not among the replicas                  UNKNOWN_TOPIC_OR_PARTITION
    a stop            the log is out of service                            KAFKA_STORAGE_ERROR
                      the assignment gave it to others, or its topic goes  done
                      its leader epoch is below that of the role           FENCED_LEADER_EPOCH
                      equal or above; -1: not said                         done

A node reads ZooKeeper as well, so a leader epoch may be known before a request names it: it is stale only if a
request named it before. A stop
counts with an equal epoch: a cancelled reassignment left strays otherwise (KAFKA-13972). A log that is out of service is said
first: a controller that has just been elected learns of it by telling what was told before.

Source: Kafka `KafkaApis.isBrokerEpochStale`, `ReplicaManager.becomeLeaderOrFollower`, `ReplicaManager.stopReplicas`; KIP-380, KIP-570.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.controller.cluster.events import StoppedReplica
from headrace.controller.cluster.known_cluster import Topic, is_another
from headrace.errors import ErrorCode
from headrace.ids import NO_EPOCH

EPOCH_DURING_DELETE = -2  # the leader epoch of a StopReplica, while the topic is being deleted
LEADER_DURING_DELETE = -2  # the leader in an UpdateMetadata, the same


def deleted_topics(stops: Mapping[tuple[str, int], StoppedReplica]) -> set[str]:
    """Topics that go whole by these stops, by topic and partition."""
    return {name for (name, _), one in stops.items() if one.is_deleted and one.leader_epoch == EPOCH_DURING_DELETE}


def judge_request(controller_epoch: int, highest_epoch: int, broker_epoch: int, own_epoch: int) -> ErrorCode:
    """Of any of the three requests.

    highest_epoch   of controllers, seen so far
    own_epoch       this node's registration's, NO_EPOCH: not known
    """
    if controller_epoch < highest_epoch:
        return ErrorCode.STALE_CONTROLLER_EPOCH
    if broker_epoch != NO_EPOCH and broker_epoch < own_epoch:
        return ErrorCode.STALE_BROKER_EPOCH
    return ErrorCode.NONE


def judge_role(
    topic: Topic | None, index: int, topic_id: str, leader_epoch: int, is_replica: bool, is_offline: bool
) -> ErrorCode:
    """Of one partition of a LeaderAndIsr.

    topic         as it is known, None: ZooKeeper does not have it
    topic_id      that the request names, '': none
    is_replica    whether this node is among the replicas in the request
    is_offline    whether its log is out of service here
    """
    if topic is None or index >= len(topic.states):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if is_offline:
        return ErrorCode.KAFKA_STORAGE_ERROR
    if is_another(topic.topic_id, topic_id):
        return ErrorCode.INCONSISTENT_TOPIC_ID
    state = topic.states[index]
    if state is not None and leader_epoch < state.leader_epoch:
        return ErrorCode.STALE_CONTROLLER_EPOCH
    told_epoch = topic.told.get(index, NO_EPOCH)
    if leader_epoch < told_epoch or (leader_epoch == told_epoch and index not in topic.halted):
        return ErrorCode.STALE_CONTROLLER_EPOCH
    if not is_replica:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE


def judge_stop(
    topic: Topic | None, index: int, stopped: StoppedReplica, is_replica: bool, is_offline: bool
) -> ErrorCode:
    """Of one replica of a StopReplica; of one that is not here it is done.

    A stop is older than a later role. A deletion is also older than a later state that has this node among the replicas, whoever
    told it: the replica follows by that, and may be in sync, before it is told its role.

    is_replica   whether the assignment, as it is known, has this node
    """
    if topic is None or index >= len(topic.states):
        return ErrorCode.NONE
    if is_offline:
        return ErrorCode.KAFKA_STORAGE_ERROR
    state, leader_epoch = topic.states[index], stopped.leader_epoch
    if leader_epoch in (EPOCH_DURING_DELETE, NO_EPOCH) or state is None or not is_replica:
        return ErrorCode.NONE
    known_epoch = topic.told.get(index, state.leader_epoch)
    if stopped.is_deleted:
        known_epoch = max(known_epoch, state.leader_epoch)
    return ErrorCode.NONE if leader_epoch >= known_epoch else ErrorCode.FENCED_LEADER_EPOCH
