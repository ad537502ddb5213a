"""Every cell of the tables in judgement.py: one answer each."""

from itertools import product

import pytest

from headrace.controller.agent.judgement import judge_request, judge_role, judge_stop
from headrace.controller.cluster.events import StoppedReplica
from headrace.controller.cluster.known_cluster import Topic
from headrace.controller.zookeeper.znodes import PartitionState
from headrace.errors import ErrorCode

ID, OTHER_ID = "0" * 31 + "1", "0" * 31 + "2"
NONE, FENCED = ErrorCode.NONE, ErrorCode.FENCED_LEADER_EPOCH
STALE, UNKNOWN = ErrorCode.STALE_CONTROLLER_EPOCH, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
OFFLINE, OTHER = ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.INCONSISTENT_TOPIC_ID


def topic_of(topic_id=ID, leader_epoch=5, told=None):
    topic = Topic("t", topic_id, ((1, 2),), {}, [PartitionState(1, leader_epoch, (1, 2), 3, 7)])
    if told is not None:
        topic.told[0] = told
    return topic


@pytest.mark.parametrize(
    ("controller_epoch", "broker_epoch", "error"),
    [
        (8, -1, STALE),
        (8, 39, STALE),
        (8, 40, STALE),
        (9, 39, ErrorCode.STALE_BROKER_EPOCH),
        (10, 39, ErrorCode.STALE_BROKER_EPOCH),
        *product((9, 10), (-1, 40, 41), (NONE,)),
    ],
)
def test_a_request_by_its_controller_epoch_then_its_broker_epoch(controller_epoch, broker_epoch, error):
    """Controllers up to epoch 9 were seen, this node's broker epoch is 40."""
    assert judge_request(controller_epoch, 9, broker_epoch, 40) is error


def test_a_broker_epoch_that_is_not_known_yet_refuses_nothing():
    assert judge_request(9, 9, 3, -1) is NONE


# leader epoch that was told, the epoch of the last role, whether this node is a replica -> answer; known is epoch 5
ROLES = {
    (4, None, True): STALE,
    (4, None, False): STALE,
    (4, 3, True): STALE,
    (4, 5, True): STALE,
    (5, None, True): NONE,  # read in ZooKeeper before it was told
    (5, None, False): UNKNOWN,
    (5, 4, True): NONE,
    (5, 4, False): UNKNOWN,
    (5, 5, True): STALE,
    (5, 5, False): STALE,
    (6, None, True): NONE,
    (6, None, False): UNKNOWN,
    (6, 5, True): NONE,
    (6, 5, False): UNKNOWN,
    (6, 6, True): STALE,
}


@pytest.mark.parametrize(("cell", "error"), ROLES.items())
@pytest.mark.parametrize(("known_id", "told_id"), [(ID, ID), (ID, ""), ("", ID), ("", "")])
def test_a_role_by_its_leader_epoch_then_its_replicas(cell, error, known_id, told_id):
    told, last, is_replica = cell
    assert judge_role(topic_of(known_id, told=last), 0, told_id, told, is_replica, is_offline=False) is error


@pytest.mark.parametrize("cell", ROLES)
def test_another_topic_of_the_name_is_refused_whatever_the_epoch(cell):
    told, last, is_replica = cell
    assert judge_role(topic_of(told=last), 0, OTHER_ID, told, is_replica, is_offline=False) is OTHER


@pytest.mark.parametrize("cell", ROLES)
@pytest.mark.parametrize("told_id", [ID, OTHER_ID, ""])
def test_a_log_out_of_service_is_said_whatever_was_told(cell, told_id):
    """A controller that was just elected tells what was told before, and learns of failed directories so."""
    told, last, is_replica = cell
    assert judge_role(topic_of(told=last), 0, told_id, told, is_replica, is_offline=True) is OFFLINE


def test_a_partition_that_zookeeper_does_not_have_is_unknown():
    assert judge_role(None, 0, ID, 5, True, False) is UNKNOWN
    assert judge_role(topic_of(), 1, ID, 5, True, False) is UNKNOWN


def test_a_partition_without_a_state_takes_any_role():
    topic = topic_of()
    topic.states[0] = None
    assert judge_role(topic, 0, ID, 0, True, False) is NONE


# leader epoch of the request -> answer; known is epoch 5
STOPS = {-2: NONE, -1: NONE, 0: FENCED, 4: FENCED, 5: NONE, 6: NONE}


@pytest.mark.parametrize("is_deleted", [False, True])
@pytest.mark.parametrize(("leader_epoch", "error"), STOPS.items())
def test_a_stop_by_its_leader_epoch(leader_epoch, error, is_deleted):
    stopped = StoppedReplica(leader_epoch, is_deleted)
    assert judge_stop(topic_of(), 0, stopped, True, is_offline=False) is error
    assert judge_stop(topic_of(), 0, stopped, True, is_offline=True) is OFFLINE
    assert judge_stop(topic_of(), 0, stopped, False, is_offline=False) is NONE, "it has moved"
    assert judge_stop(topic_of(), 1, stopped, True, is_offline=False) is NONE
    assert judge_stop(None, 0, stopped, True, is_offline=False) is NONE


@pytest.mark.parametrize(("leader_epoch", "error"), STOPS.items())
def test_a_stop_that_keeps_the_replica_is_judged_by_the_role_and_a_deletion_by_the_state_too(leader_epoch, error):
    """A replica that was to go, and is wanted again, follows by the state that was told first, and is in sync: it keeps its log."""
    topic = topic_of(leader_epoch=9, told=5)
    assert judge_stop(topic, 0, StoppedReplica(leader_epoch, False), True, is_offline=False) is error
    late = NONE if leader_epoch < 0 else FENCED
    assert judge_stop(topic, 0, StoppedReplica(leader_epoch, True), True, is_offline=False) is late
    assert judge_stop(topic, 0, StoppedReplica(9, True), True, is_offline=False) is NONE
