"""Reassignments, elections and sizes against one node, whose replicas have nowhere to go. Three are in `e2e/test_reassignments.py`."""

import uuid

import pytest

from headrace.client.admin import PREFERRED, UNCLEAN, Admin, NewTopic, ReplicaAdmin
from headrace.client.cluster import Cluster
from headrace.errors import ErrorCode
from headrace.ids import TopicPartition

pytestmark = pytest.mark.process


@pytest.fixture
def cluster(node):
    with Cluster(node.bootstrap) as cluster:
        yield cluster


@pytest.fixture
def topic(cluster):
    name = f"replicas-{uuid.uuid4().hex[:8]}"
    assert Admin(cluster).create_topics([NewTopic(name, 2)]) == {name: None}
    cluster.refresh([name])
    return name


def test_each_partition_has_an_answer(cluster, topic):
    admin = ReplicaAdmin(cluster)
    names = [TopicPartition(topic, index) for index in (0, 1, 7)]
    errors = admin.reassign({names[0]: [0], names[1]: [5], names[2]: [0]})
    assert errors[names[0]] is None
    assert errors[names[1]].code is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert errors[names[2]].code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert topic in str(errors[names[2]])
    assert admin.reassignments() == {}
    assert admin.reassign({names[0]: None})[names[0]].code is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


@pytest.mark.parametrize("election_type", [PREFERRED, UNCLEAN])
def test_an_election_that_is_not_needed_is_no_error(cluster, topic, election_type):
    admin = ReplicaAdmin(cluster)
    name, absent = TopicPartition(topic, 0), TopicPartition("absent", 0)
    errors = admin.elect([name, absent], election_type)
    assert errors[name] is None
    assert errors[absent].code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert admin.elect(None, election_type) == {}


def test_sizes_are_by_broker(cluster, topic):
    sizes = ReplicaAdmin(cluster).sizes()
    assert sizes[0, TopicPartition(topic, 1)] == 0
