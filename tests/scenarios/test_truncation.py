"""Kafka's `truncation_test`: an unclean leader lacks records that a consumer was given; the consumer finds where to go on (KIP-320).

Two replicas; the first stops, the other takes more records and stops, the first is elected though it lacks them.
"""

import time

import pytest

from tests.interop.acked_load import JavaLoad
from tests.scenarios.topics import create, set_config
from tests.scenarios.verifiable_consumer import NativeConsumer, VerifiableConsumer

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(300)]

TOPIC = "truncated"
RATE = 20
QUIET_S = 3
OF_AN_UNCLEAN_LEADER = {
    r"acknowledged records may be lost .* reason=truncated here because the leader lacks them": "what was lost is said"
}


@pytest.mark.parametrize("kind", ["java", "native"])
def test_a_consumer_goes_on_after_records_were_cut(make_cluster, allowed, kind):
    allowed.update(OF_AN_UNCLEAN_LEADER)
    cluster = make_cluster(settings={"min.insync.replicas": "1"})
    third = cluster.controller()
    first, second = (one for one in cluster.members if one != third)
    create(cluster, TOPIC, assignment=[[first, second]])
    producer = JavaLoad(cluster.bootstrap, TOPIC, cluster.directory, RATE, is_idempotent=False).start()
    consumer = consume(cluster, kind, "first")
    try:
        cluster.wait_until(lambda: len(consumer.records) > 10, "no records")
        cluster.stop_one(first)
        cluster.wait_until(lambda: cluster.state(TOPIC, 0)["isr"] == [second], "the ISR did not shrink")
        count = len(consumer.records)
        cluster.wait_until(lambda: len(consumer.records) > count + 2 * RATE, "it does not come on")
        cluster.stop_one(second)
        cluster.wait_until(lambda: cluster.state(TOPIC, 0)["leader"] == -1, "there is a leader")
        assert cluster.state(TOPIC, 0)["isr"] == [second]
        wait_quiet(consumer)
        before = consumer.positions[0]
        cluster.start_one(first)
        time.sleep(QUIET_S)
        assert cluster.state(TOPIC, 0)["leader"] == -1, "not elected: it is not in sync"
        set_config(cluster, TOPIC, "unclean.leader.election.enable", "true")
        cluster.wait_until(lambda: cluster.state(TOPIC, 0)["leader"] == first, "not elected")
        cluster.start_one(second)
        cluster.wait_until(lambda: set(cluster.state(TOPIC, 0)["isr"]) == {first, second}, "not whole")
        cluster.wait_until(lambda: consumer.positions[0] >= before + RATE, "it does not come on")
        producer.end()
        wait_quiet(consumer)
        values = [value for _index, _offset, value in consumer.records]
        assert len(values) == len(set(values)), "it began anew"
    finally:
        producer.end()
        consumer.stop()
    other = consume(cluster, kind, "second")
    try:
        cluster.wait_until(lambda: other.passed(consumer.positions), "not everything is there")
        wait_quiet(other)
    finally:
        other.stop()
    assert len(other.records) < len(values), "nothing was cut"
    offsets = [offset for _index, offset, _value in other.records]
    assert offsets == list(range(len(offsets)))


def consume(cluster, kind, group):
    if kind == "java":
        return VerifiableConsumer(cluster.bootstrap, TOPIC, cluster.directory, group, group)
    return NativeConsumer(cluster.bootstrap, TOPIC, group)


def wait_quiet(consumer):
    """Until nothing has come for a while."""
    while True:
        count = len(consumer.records)
        time.sleep(QUIET_S)
        if len(consumer.records) == count:
            return
