"""Producers of both APIs, by the same scenarios."""

import asyncio

import pytest

from headrace.client import DeliveryFailed, Json, Str, WaitTimedOut
from headrace.client.partitioner import partition_of
from headrace.errors import ErrorCode, KafkaError
from tests.support.waiting import DEADLINE_S


def run(scenario):
    async def within():
        async with asyncio.timeout(DEADLINE_S):
            return await scenario

    return asyncio.run(within())


async def read(api, bootstrap, topic, count):
    """So many records of a topic, from its start, and no more of them."""
    async with api.Kafka(bootstrap).consumer(topic, start="earliest") as consumer:
        found = []
        while len(found) < count:
            found += await consumer.poll(1.0)
        found += await consumer.poll(0.1)
    return found


def test_what_is_sent_is_read_with_key_headers_and_time(api, node, new_topic):
    topic = new_topic(3)

    async def scenario():
        async with api.Kafka(node.bootstrap).producer() as producer:
            done = await producer.send(topic, b"value", b"key", headers=[("h", b"1"), ("n", None)], timestamp_ms=1234)
            meta = await done
            assert done.is_done
            assert (meta.topic, meta.offset) == (topic, 0)
            by_hand = await (await producer.send(topic, b"there", partition=2))
            assert by_hand.partition == 2
            assert await (await producer.send(topic, None, b"gone")) is not None
        return meta, await read(api, node.bootstrap, topic, 3)

    meta, records = run(scenario())
    [first] = [record for record in records if record.value == b"value"]
    assert first.topic_partition == (topic, meta.partition)
    assert (first.key, first.headers, first.timestamp_ms) == (b"key", (("h", b"1"), ("n", None)), 1234)
    assert sorted(record.value or b"" for record in records) == [b"", b"there", b"value"]


def test_records_of_a_partition_keep_their_order(api, node, new_topic):
    topic = new_topic(2)

    async def scenario():
        async with api.Kafka(node.bootstrap).producer(batch_size=500, linger_ms=1) as producer:
            deliveries = [await producer.send(topic, b"%d" % index, b"%d" % (index % 7)) for index in range(2_000)]
            metas = [await one for one in deliveries]
        records = await read(api, node.bootstrap, topic, 2_000)
        return metas, records

    metas, records = run(scenario())
    assert len(records) == 2_000
    by_place = {(record.partition, record.offset): int(record.value) for record in records}
    assert [by_place[meta.partition, meta.offset] for meta in metas] == list(range(2_000))
    for key in range(7):
        values = [int(record.value) for record in records if record.key == b"%d" % key]
        assert values == sorted(values)


def test_many_at_once_from_lists_and_tables(api, node, new_topic):
    import pyarrow

    topic = new_topic(2)

    async def scenario():
        async with api.Kafka(node.bootstrap).producer(batch_size=2_000) as producer:
            assert await producer.send_many(topic, [b"a", None, b"c"]) == 3
            assert await producer.send_many(topic, (b"%d" % n for n in range(500)), keys=[b"k"] * 500) == 500
            assert await producer.send_many(topic, pyarrow.table({"value": [b"t"] * 400}), partition=1) == 400
            with pytest.raises(ValueError, match="keys: 1 keys for 2 values"):
                await producer.send_many(topic, [b"a", b"b"], keys=[b"a"])
            await producer.flush()
            assert producer.acknowledged == 903
        return await read(api, node.bootstrap, topic, 903)

    records = run(scenario())
    assert [int(record.value) for record in records if record.key == b"k"] == list(range(500))
    assert sum(record.value == b"t" for record in records) == 400


@pytest.mark.parametrize("kind", ["list", "table"])
def test_many_with_keys_go_where_single_ones_go_in_order(api, node, new_topic, kind):
    import pyarrow

    topic, count = new_topic(3), 3_000
    keys = [None if index % 11 == 0 else b"key %d" % (index % 17) for index in range(count)]
    values = [b"%d" % index for index in range(count)]

    async def scenario():
        # batches and memory for a small part of them
        async with api.Kafka(node.bootstrap).producer(batch_size=1_000, buffer_memory=9_000) as producer:
            if kind == "list":
                assert await producer.send_many(topic, values, keys) == count
            else:
                columns = {
                    "value": pyarrow.array(values, pyarrow.binary()),
                    "key": pyarrow.array(keys, pyarrow.large_binary()),
                }
                assert await producer.send_many(topic, pyarrow.table(columns)) == count
            assert producer.health()["buffered_bytes"] < 9_000 + 2_000
            await producer.flush()
            assert producer.acknowledged == count
        return await read(api, node.bootstrap, topic, count)

    records = run(scenario())
    assert len(records) == count
    assert all(record.partition == partition_of(record.key, 3) for record in records if record.key is not None)
    assert {record.value: record.key for record in records} == dict(zip(values, keys, strict=True))
    for key in set(keys) - {None}:
        own = [int(record.value) for record in records if record.key == key]
        assert own == sorted(own)


def test_many_wait_a_short_time_for_brokers_that_take_nothing_and_are_buffered(api, node, new_topic):
    topic, values = new_topic(), [bytes(100_000)] * 120

    async def scenario():
        async with api.Kafka(node.bootstrap).producer() as producer:
            await (await producer.send(topic, b"first"))
            producing = getattr(producer, "target", producer)._producing
            turn, turns = producing.turn, []
            producing.turn = lambda *arguments, **_named: turns.append(arguments)  # nothing leaves
            assert await producer.send_many(topic, values) == len(values)
            assert producing.is_ahead
            assert turns
            producing.turn = turn
            await producer.flush()
            assert not producing.is_ahead
            assert producer.acknowledged == 1 + len(values)

    run(scenario())


def test_what_is_no_bytes_among_many_with_keys_is_named_and_holds_up_no_other(api, node, new_topic):
    topic = new_topic(2)

    async def scenario():
        async with api.Kafka(node.bootstrap).producer(linger_ms=1) as producer:
            with pytest.raises(TypeError, match=r"values\[1\]: str"):
                await producer.send_many(topic, [b"0", "1", b"2"], [b"a", b"b", b"c"])
            with pytest.raises(TypeError, match=r"keys\[1\]: str"):
                await producer.send_many(topic, [b"0", b"1", b"2"], [b"a", "b", b"c"])
            assert await producer.send_many(topic, [b"right"], [b"a"]) == 1
            await producer.flush(DEADLINE_S / 2)
            assert producer.health()["batches"] == 0
        return await read(api, node.bootstrap, topic, 3)

    assert sorted(record.value for record in run(scenario())) == [b"0", b"0", b"right"]


def test_serializers_stand_between(api, node, new_topic):
    topic = new_topic()

    async def scenario():
        async with api.Kafka(node.bootstrap) as kafka:
            async with kafka.producer(key=Str(), value=Json()) as producer:
                await (await producer.send(topic, {"a": 1}, "k\N{LATIN SMALL LETTER E WITH ACUTE}"))
            async with kafka.consumer(topic, key=Str(), value=Json(dict[str, int]), start="earliest") as consumer:
                async for record in consumer:
                    return record

    record = run(scenario())
    assert (record.key, record.value) == ("k\N{LATIN SMALL LETTER E WITH ACUTE}", {"a": 1})


def test_a_buffer_that_is_full_is_the_back_pressure(api, node, new_topic):
    topic = new_topic()
    buffer = 20_000

    async def scenario():
        async with api.Kafka(node.bootstrap).producer(buffer_memory=buffer, batch_size=5_000) as producer:
            held = []
            for _ in range(500):
                await producer.send(topic, b"x" * 1_000)
                held.append(producer.health()["buffered_bytes"])
            await producer.flush()
            return held, producer.acknowledged

    held, acknowledged = run(scenario())
    assert acknowledged == 500
    assert max(held) < buffer + 2_000
    assert max(held) > buffer // 2, "it was never near full: the test tests nothing"


def test_a_full_buffer_that_stays_so_is_an_error_and_the_record_is_not_sent(api, node, new_topic):
    topic = new_topic()

    async def scenario():
        kafka = api.Kafka(node.bootstrap)
        producer = kafka.producer(buffer_memory=4_000, batch_size=4_000, linger_ms=60_000)
        # larger than a batch may be: it has one of its own, and the batch that is open is not full, and lingers
        for _ in range(3):
            await producer.send(topic, b"x" * 1_200)
        target = getattr(producer, "target", producer)
        target._max_block_s = 0.05  # only now: the metadata of the topic may take longer
        producing = target._producing
        producing.turn = lambda *_args, **_named: None  # nothing leaves
        await producer.send(topic, b"x" * 1_200)
        with pytest.raises(WaitTimedOut, match=r"room in buffer\.memory"):
            await producer.send(topic, b"y" * 1_200)
        del producing.turn
        await producer.close()
        return await read(api, node.bootstrap, topic, 4)

    assert {record.value[:1] for record in run(scenario())} == {b"x"}


def test_a_refused_record_holds_up_no_other(api, node, new_topic):
    topic = new_topic(2)

    async def scenario():
        async with api.Kafka(node.bootstrap).producer(linger_ms=1) as producer:
            with pytest.raises(TypeError, match="str"):
                await producer.send(topic, "text", partition=0)
            await producer.send(topic, b"right", partition=1)
            await producer.flush(DEADLINE_S / 2)
            assert producer.health()["batches"] == 0
        return await read(api, node.bootstrap, topic, 1)

    assert [record.value for record in run(scenario())] == [b"right"]


def test_without_acknowledgements_all_is_out_when_it_is_closed(api, node, new_topic):
    topic = new_topic()

    async def scenario():
        async with api.Kafka(node.bootstrap).producer(acks=0, linger_ms=60_000) as producer:
            await producer.send(topic, b"0")
            await producer.flush()  # connected from now on
            for index in range(1, 2_000):
                await producer.send(topic, b"%d" % index + b" " * 1_000)
        return await read(api, node.bootstrap, topic, 2_000)

    assert [int(record.value) for record in run(scenario())] == list(range(2_000))


def test_failures_are_those_of_their_records(api, node, new_topic):
    topic = new_topic()

    async def scenario():
        async with api.Kafka(node.bootstrap).producer() as producer:
            with pytest.raises(KafkaError, match="no partition 5"):
                await producer.send(topic, b"", partition=5)
            with pytest.raises(KafkaError) as unknown:
                await producer.send("not-there", b"")
            assert unknown.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        producer = api.Kafka(node.bootstrap).producer(batch_size=4 << 20, max_request_size=8 << 20)
        seen = await producer.send(topic, b"x" * (3 << 20))  # above the node's message.max.bytes
        assert (await seen.exception(DEADLINE_S)).code is ErrorCode.MESSAGE_TOO_LARGE
        await producer.flush()  # it was looked at
        await producer.send(topic, b"x" * (3 << 20))
        with pytest.raises(DeliveryFailed, match="1 records"):
            await producer.flush()
        await producer.close()

    run(scenario())


def test_closed_twice_is_fine_and_used_afterwards_an_error(api, node, new_topic):
    topic = new_topic()

    async def scenario():
        producer = api.Kafka(node.bootstrap).producer()
        await producer.send(topic, b"x")
        await producer.close()
        await producer.close()
        with pytest.raises((KafkaError, RuntimeError), match="closed"):
            await producer.send(topic, b"x")
        with pytest.raises(KafkaError, match="closed"):
            await producer.flush()

    run(scenario())


def test_an_option_that_is_not_known_names_the_nearest(api, node):
    async def scenario():
        with pytest.raises(ValueError, match="'lingerms' is unknown: did you mean 'linger_ms'"):
            api.Kafka(node.bootstrap).producer(lingerms=1)

    run(scenario())
