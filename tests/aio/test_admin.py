"""The admin of both APIs, by one scenario."""

import pytest

from headrace.errors import ErrorCode, KafkaError
from tests.aio.test_producer import run


def test_a_topic_is_made_changed_emptied_and_deleted(api, node):
    name = f"aio-admin-{'async' if api.is_async else 'blocking'}"

    async def scenario():
        async with api.Kafka(node.bootstrap) as kafka, kafka.admin() as admin:
            assert len(await admin.brokers()) == 1
            await admin.create_topic(name, 2, 1, {"retention.ms": "1000000"})
            with pytest.raises(KafkaError) as refused:
                await admin.create_topic(name, 2, 1)
            await admin.alter_settings(name, {"retention.ms": "2000000"})
            await admin.create_partitions(name, 3)
            settings = await admin.settings(name)
            async with kafka.producer() as producer:
                for _ in range(5):
                    await (await producer.send(name, b"x", partition=1))
            starts = await admin.delete_records({(name, 1): 3})
            await admin.commit(f"group-of-{name}", {(name, 1): 4})
            committed = await admin.committed(f"group-of-{name}")
            assert f"group-of-{name}" in await admin.groups()
            topics = {topic.name: topic for topic in await admin.topics()}
            await admin.delete_group(f"group-of-{name}")
            await admin.delete_topic(name)
            return refused.value.code, settings["retention.ms"].value, starts, committed, topics[name]

    code, retention, starts, committed, topic = run(scenario())
    assert code is ErrorCode.TOPIC_ALREADY_EXISTS
    assert retention == "2000000"
    assert starts == {(name, 1): 3}
    assert committed[name, 1].offset == 4
    assert topic.partitions == 3
