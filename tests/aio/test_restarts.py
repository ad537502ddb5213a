"""A node that is killed and started again under clients of both APIs: nothing is lost, nothing is doubled, the order is kept."""

import asyncio
import contextlib

import pytest

from headrace.errors import HeadraceError
from headrace.node.embedded_zookeeper import EmbeddedZooKeeper
from tests.aio.conftest import create_topic
from tests.aio.test_producer import read
from tests.chaos.running_node import Node
from tests.support.waiting import DEADLINE_S

KILLS = 2
PARTITIONS = 2
WAVE = 300  # records between two kills, and after the last


@pytest.fixture(scope="module")
def mortal_node(tmp_path_factory):
    """One for both APIs, with a ZooKeeper that stays."""
    directory = tmp_path_factory.mktemp("mortal")
    zookeeper = EmbeddedZooKeeper(directory / "zookeeper")
    zookeeper.start()
    settings = {"group.initial.rebalance.delay.ms": "100", "offsets.topic.num.partitions": "2"}
    node = Node(directory, zookeeper.connect, 1, settings)
    try:
        node.start()
        yield node
    finally:
        node.stop()
        zookeeper.stop()


@pytest.mark.timeout(600)  # each wait of it has a limit of its own
def test_a_node_is_killed_and_nothing_is_lost_or_doubled(api, mortal_node):
    node = mortal_node
    topic = create_topic(node.bootstrap, PARTITIONS)
    group = f"group-{topic}"

    async def send_wave(producer, wave):
        return [
            await producer.send(topic, b"%d" % (wave * WAVE + index), partition=index % PARTITIONS)
            for index in range(WAVE)
        ]

    async def scenario():
        kafka = api.Kafka(node.bootstrap)
        producer = kafka.producer(linger_ms=1, batch_size=2_000)
        consumer = kafka.consumer(topic, group=group, start="earliest", auto_commit_interval_ms=100)
        found, deliveries = [], []
        for wave in range(KILLS + 1):
            deliveries += await send_wave(producer, wave)
            if wave < KILLS:
                found += await consumer.poll(1.0)
                node.kill_tree()
                with contextlib.suppress(HeadraceError):  # a commit that found no node
                    found += await consumer.poll(0.2)
                node.launch()  # of this thread: what another starts ends with it
                if api.is_async:
                    assert await asyncio.to_thread(node.wait_ready, DEADLINE_S) == "ready"
                else:
                    assert node.wait_ready(DEADLINE_S) == "ready"
        metas = [await one for one in deliveries]
        wanted = {b"%d" % index for index in range((KILLS + 1) * WAVE)}
        async with asyncio.timeout(DEADLINE_S):
            while {record.value for record in found} != wanted:
                found += await consumer.poll(1.0)
        await consumer.close()
        await producer.close()
        return metas, await read(api, node.bootstrap, topic, len(wanted))

    metas, records = asyncio.run(scenario())
    assert len(records) == (KILLS + 1) * WAVE, "a record was doubled"
    by_place = {(record.partition, record.offset): int(record.value) for record in records}
    assert [by_place[meta.partition, meta.offset] for meta in metas if meta.offset >= 0] == [
        index for index, meta in enumerate(metas) if meta.offset >= 0
    ]
    for partition in range(PARTITIONS):
        values = [int(record.value) for record in records if record.partition == partition]
        assert values == list(range(partition, (KILLS + 1) * WAVE, PARTITIONS))
