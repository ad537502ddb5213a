"""What a cluster's metadata says of its health: every kind of partition, loads of brokers, requests in chunks."""

from types import SimpleNamespace

import pytest

from headrace.client import cluster_health
from headrace.client.cluster import Broker, Partition
from headrace.client.cluster_health import kinds_of
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import TopicPartition
from headrace.limits import TOPICS_PER_REQUEST_MAX
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey

BROKERS = {1: Broker(1, "a", 1), 2: Broker(2, "b", 2, "r1")}
_Result = messages.DescribeConfigsResponse.DescribeConfigsResult
_Config = messages.DescribeConfigsResponse.DescribeConfigsResourceResult


class FakeCluster:
    """A cluster of two live brokers; broker 3 is gone. Counts the topics of each DescribeConfigs."""

    def __init__(self, partitions, minimums, gone=(), error=0):
        self.cluster_id, self.controller_id, self.brokers = "id", 2, BROKERS
        self.partitions = partitions
        self._minimums, self._gone, self._error = minimums, gone, error
        self.asked = []

    def refresh(self, topics):
        assert topics is None
        return sorted({name.topic for name in self.partitions})

    def run(self, procedure_of, _what):
        """A procedure that asks once, of any broker."""
        requests = SimpleNamespace(brokers={}, bootstrap={-1: ("a", 1)})
        procedure = procedure_of(SimpleNamespace(requests=requests, metadata=None))
        wish = next(procedure)
        assert wish.api_key == ApiKey.DESCRIBE_CONFIGS
        assert all(resource.configuration_keys == ["min.insync.replicas"] for resource in wish.message.resources)
        self.asked.append([resource.resource_name for resource in wish.message.resources])
        with pytest.raises(StopIteration) as end:
            procedure.send(messages.DescribeConfigsResponse(results=[self._result(name) for name in self.asked[-1]]))
        return end.value.value

    def _result(self, name):
        if name in self._gone:
            return _Result(int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), None, 2, name, [])
        value = str(self._minimums.get(name, 1))
        return _Result(self._error, None, 2, name, [_Config(name="min.insync.replicas", value=value, config_source=5)])


@pytest.mark.parametrize(
    ("leader", "isr", "min_isr", "kinds"),
    [
        (1, (1, 2, 3), 2, ()),
        (1, (1, 2), 2, ("under-replicated", "at-min-isr")),
        (1, (1,), 2, ("under-replicated", "under-min-isr")),
        (1, (1, 2, 3), 3, ("at-min-isr",)),
        (-1, (3,), 1, ("offline", "under-replicated", "at-min-isr")),
        (3, (1, 2, 3), 1, ("offline",)),  # its leader has just gone
    ],
)
def test_what_a_partition_lacks(leader, isr, min_isr, kinds):
    assert kinds_of(Partition(leader, isr, (1, 2, 3)), min_isr, BROKERS) == kinds


def test_brokers_with_what_they_lead_and_hold_those_that_are_gone_as_well():
    partitions = {
        TopicPartition("t", 0): Partition(1, (1, 2), (1, 2)),
        TopicPartition("t", 1): Partition(2, (2,), (3, 2)),
        TopicPartition("u", 0): Partition(-1, (3,), (3,)),
    }
    health = cluster_health.cluster_health(FakeCluster(partitions, {}))
    assert [
        (load.node_id, load.broker, load.is_controller, load.leaders, load.replicas) for load in health.brokers
    ] == [
        (1, BROKERS[1], False, 1, 1),
        (2, BROKERS[2], True, 1, 2),
        (3, None, False, 0, 2),
    ]
    assert (health.cluster_id, health.controller_id, health.topics, health.partition_count) == ("id", 2, 2, 3)
    assert [health.count(kind) for kind in cluster_health.KINDS] == [1, 1, 0, 2]


def test_the_minimum_of_a_topic_counts_up_to_its_replicas():
    one, three = Partition(1, (1,), (1,)), Partition(1, (1, 2), (1, 2, 3))
    partitions = {TopicPartition("one", 0): one, TopicPartition("three", 0): three}
    health = cluster_health.cluster_health(FakeCluster(partitions, {"one": 2, "three": 3}))
    assert [(found.name.topic, found.min_isr, found.kinds) for found in health.partitions] == [
        ("one", 1, ("at-min-isr",)),
        ("three", 3, ("under-replicated", "under-min-isr")),
    ]


def test_settings_are_asked_for_in_chunks_and_each_topic_once():
    names = [f"t{number:04}" for number in range(2 * TOPICS_PER_REQUEST_MAX + 1)]
    cluster = FakeCluster({TopicPartition(name, 0): Partition(1, (1,), (1,)) for name in names}, {})
    cluster_health.cluster_health(cluster)
    assert [len(asked) for asked in cluster.asked] == [TOPICS_PER_REQUEST_MAX, TOPICS_PER_REQUEST_MAX, 1]
    assert [name for asked in cluster.asked for name in asked] == names


def test_a_topic_deleted_meanwhile_is_no_error_and_any_other_is():
    partitions = {TopicPartition("t", 0): Partition(1, (1, 2), (1, 2))}
    assert cluster_health.cluster_health(FakeCluster(partitions, {}, gone=("t",))).partitions == ()
    with pytest.raises(KafkaError, match="TOPIC_AUTHORIZATION_FAILED"):
        cluster_health.cluster_health(FakeCluster(partitions, {}, error=int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)))
