"""Kafka's `replica_scale_test`, small: many replicas are made, written and read (Trogdor), each broker bounces, and all of them go."""

import time

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from tests.foreign.trogdor import consume_bench, execute, produce_bench
from tests.scenarios.topics import delete

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(1200)]

TOPICS, PARTITIONS = 60, 10  # 1,800 replicas
BUSY = "scale-[0-9]"
MESSAGES, A_SECOND = 60_000, 5_000
SETTINGS = {"log.segment.bytes": "1048576", "log.index.size.max.bytes": "4096"}


def test_many_replicas(make_cluster):
    cluster = make_cluster(settings=SETTINGS)
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 2})
    begun = time.monotonic()
    names = [f"scale-{number}" for number in range(TOPICS)]
    wanted = [NewTopic(name, PARTITIONS, 3, config={"min.insync.replicas": "1"}) for name in names]
    for future in admin.create_topics(wanted, operation_timeout=120, request_timeout=150).values():
        future.result(180)
    cluster.wait_until_whole()
    print(f"created_s={time.monotonic() - begun:.1f}")

    topics = {BUSY: {"numPartitions": PARTITIONS, "replicationFactor": 3}}
    for spec, key in (
        (produce_bench(cluster.bootstrap, topics, MESSAGES, A_SECOND), "totalSent"),
        (consume_bench(cluster.bootstrap, [BUSY], MESSAGES, A_SECOND), "totalMessagesReceived"),
    ):
        code, numbers, said = execute(spec, cluster.directory / f"{key}.out", 300)
        assert code == 0, said[-1500:]
        assert numbers.get(key, 0) >= MESSAGES, said[-1500:]

    for broker_id in cluster.members:
        begun = time.monotonic()
        cluster.stop_one(broker_id)
        cluster.start_one(broker_id)
        cluster.wait_until_whole()
        print(f"broker={broker_id} bounced_s={time.monotonic() - begun:.1f}")

    delete(cluster, names)
    cluster.wait_until(lambda: not left(cluster), lambda: f"directories are left: {left(cluster)[:5]}")


def left(cluster):
    return [str(path) for one in cluster.members.values() for path in one.log_dir.glob("scale-*")]
