"""Serializers of a registry, and dead letters, in both APIs and over a node."""

import asyncio
import dataclasses
import threading
import uuid

import pytest

from headrace.client import Avro, DecodingFailed, Kafka, Registry, RegistryUnavailable, SchemaRefused, Str, dead_letter
from headrace.client.schemas import schema_registry
from tests.aio.test_producer import run
from tests.support.fake_registry import FakeRegistry
from tests.support.order_messages import ORDER_AVRO, Line, Order
from tests.support.waiting import DEADLINE_S

STEP_S = 0.02


@dataclasses.dataclass
class Bought:
    id: int
    note: str | None = None


@pytest.fixture
def fake(monkeypatch):
    monkeypatch.setattr(schema_registry, "PAUSE_FIRST_S", 0.001)
    with FakeRegistry() as registry:
        yield registry


async def take(consumer, count):
    found = []
    while len(found) < count:
        found += await consumer.poll(DEADLINE_S)
    return found


def test_records_go_there_and_back(api, node, new_topic, fake):
    topic = new_topic()
    registry = Registry(fake.url)

    async def scenario():
        kafka = api.Kafka(node.bootstrap)
        async with kafka.producer(key=registry.avro('"string"'), value=registry.avro(ORDER_AVRO, Bought)) as producer:
            for serial in range(3):
                await producer.send(topic, Bought(serial), "k")
            await producer.send_many(topic, [Bought(3), None, Bought(5)], ["k", None, "k"])
        async with kafka.producer(value=registry.protobuf(Order)) as producer:
            await (await producer.send(topic, Order(line=Line(sku="a")), partition=0))
        options = {"key": registry.avro(), "value": registry.avro(ORDER_AVRO, Bought), "start": "earliest"}
        async with kafka.consumer(topic, on_error="skip", **options) as consumer:
            return [(record.key, record.value) for record in await take(consumer, 6)]

    found = run(scenario())
    assert sorted(one.id for _key, one in found if one) == [0, 1, 2, 3, 5]
    assert {key for key, one in found if one} == {"k"}
    assert (None, None) in found
    assert len(fake.subjects[f"{topic}-key"]) == 1
    assert len(fake.subjects[f"{topic}-value"]) == 2


def test_what_the_registry_refuses_is_raised_by_the_send(api, node, new_topic, fake):
    topic = new_topic()
    fake.refused.add(f"{topic}-value")

    async def scenario():
        async with api.Kafka(node.bootstrap).producer(value=Registry(fake.url).avro(ORDER_AVRO)) as producer:
            with pytest.raises(SchemaRefused, match="incompatible"):
                await producer.send(topic, {"id": 1})
            with pytest.raises(SchemaRefused, match="incompatible"):
                await producer.send_many(topic, [{"id": 1}])
            fake.refused.clear()
            with pytest.raises(ValueError, match="not of the Avro schema"):
                await producer.send(topic, {"id": "x"})
            await (await producer.send(topic, {"id": 1}))

    run(scenario())


@pytest.mark.parametrize("on_error", ["raise", "skip", "dead"])
def test_a_registry_that_is_away_costs_no_record(api, node, new_topic, fake, on_error):
    """It is no fault of a record: none is left out, whatever `on_error` says."""
    topic, other = new_topic(), new_topic()
    one = Registry(fake.url).avro(ORDER_AVRO, Bought)
    with Kafka(node.bootstrap).producer(value=one) as producer:
        for serial in range(5):
            producer.send(topic, Bought(serial))
    fake.failures = [500] * schema_registry.ATTEMPTS

    async def scenario():
        chosen = dead_letter(other) if on_error == "dead" else on_error
        async with api.Kafka(node.bootstrap).consumer(
            topic, value=Registry(fake.url + "/").avro(kind=Bought, schema=None), start="earliest", on_error=chosen
        ) as consumer:
            with pytest.raises(RegistryUnavailable, match="did not respond"):
                await take(consumer, 1)
            return [record.value.id for record in await take(consumer, 5)]

    assert run(scenario()) == [0, 1, 2, 3, 4]


def test_the_loop_goes_on_while_the_registry_is_asked(node, fake):
    """A producer's tasks and a consumer wait for one that does not respond yet; the loop does not."""
    topic = f"aio-{uuid.uuid4().hex[:8]}"
    with Kafka(node.bootstrap).admin() as admin:
        admin.create_topic(topic, partitions=1)
    registry = Registry(fake.url, timeout_s=DEADLINE_S)

    async def scenario():
        from headrace.aio import Kafka as AsyncKafka

        kafka = AsyncKafka(node.bootstrap)
        async with kafka.producer(value=registry.avro(ORDER_AVRO, Bought)) as producer:
            fake.gate.clear()
            sends = [asyncio.create_task(producer.send(topic, Bought(serial))) for serial in range(10)]
            while not fake.posted:
                await asyncio.sleep(STEP_S)
            assert not any(one.done() for one in sends)
            assert "schema of topic" in str(producer.health()["waits_for"])
            lookups = [one for one in threading.enumerate() if one.name == "headrace-lookup"]
            assert len(lookups) == len(fake.posted) == 1, "they share one"
            sends.pop().cancel()
            fake.gate.set()
            for one in sends:
                await (await one)
        assert len(fake.posted) == 1
        async with kafka.consumer(topic, value=registry.avro(), start="earliest") as consumer:
            fake.gate.clear()
            while not any("/schemas/ids" in path for path in fake.asked):
                assert not await consumer.poll(STEP_S), "its time is kept"
            assert "schema id 1 of registry" in consumer.health()["decoding"]
            reading = asyncio.create_task(consumer.poll(DEADLINE_S))
            await asyncio.sleep(STEP_S)
            reading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reading
            fake.gate.set()
            found = [record.value["id"] for record in await take(consumer, 9)]
        assert len(fake.asked) == 1
        return found

    assert sorted(asyncio.run(scenario())) == list(range(9))


def test_undecodable_records_are_in_the_topic_of_dead_letters(api, node, new_topic, fake):
    topic, other, group = new_topic(), new_topic(), f"group-{uuid.uuid4().hex[:8]}"
    one = Registry(fake.url).avro(ORDER_AVRO, Bought)
    with Kafka(node.bootstrap).producer() as producer:
        for serial in range(6):
            value = one.serialize(topic, Bought(serial)) if serial % 2 else b"\0\0\0\1%d" % serial
            producer.send(topic, value, b"k%d" % serial, headers=[("h", b"1")])

    async def scenario():
        kafka = api.Kafka(node.bootstrap)
        async with kafka.consumer(
            topic, group=group, value=one, start="earliest", on_error=dead_letter(other)
        ) as consumer:
            found = [record.value.id for record in await take(consumer, 3)]
            await consumer.commit()
            committed = await consumer.committed()
        async with kafka.consumer(other, start="earliest") as consumer:
            return found, committed[topic, 0].offset, await take(consumer, 3)

    found, committed, letters = run(scenario())
    assert found == [1, 3, 5]
    assert committed == 6
    assert [letter.key for letter in letters] == [b"k0", b"k2", b"k4"]
    headers = dict(letters[1].headers)
    assert headers["h"] == b"1"
    assert headers["__connect.errors.topic"] == topic.encode()
    assert headers["__connect.errors.offset"] == b"2"
    assert headers["__connect.errors.exception.class.name"] == b"headrace.client.schemas.failures.BadRecord"


def test_plain_avro_needs_no_registry(api, node, new_topic):
    topic = new_topic()

    async def scenario():
        kafka = api.Kafka(node.bootstrap)
        async with kafka.producer(key=Str(), value=Avro(ORDER_AVRO, Bought)) as producer:
            await (await producer.send(topic, Bought(1, "n"), "k"))
            await producer.send_many(topic, [Bought(2)])
        async with kafka.consumer(topic, value=Avro(ORDER_AVRO, Bought), start="earliest") as consumer:
            found = [record.value for record in await take(consumer, 2)]
        async with kafka.consumer(topic, value=Avro('"boolean"'), start="earliest") as consumer:
            with pytest.raises(DecodingFailed, match="BadRecord: not a record of the schema"):
                await take(consumer, 1)
        return found

    assert run(scenario()) == [Bought(1, "n"), Bought(2)]


def test_a_group_moves_partitions_while_a_schema_is_looked_up(node, new_topic, fake):
    """The second member gets its share though the first waits for the registry, and no record is left out."""
    from headrace.aio import Kafka as AsyncKafka

    topic, group = new_topic(2), f"group-{uuid.uuid4().hex[:8]}"
    with Kafka(node.bootstrap).producer(value=Registry(fake.url).avro(ORDER_AVRO, Bought)) as producer:
        for partition in range(2):
            producer.send(topic, Bought(partition), partition=partition)

    async def scenario():
        kafka = AsyncKafka(node.bootstrap)
        value = Registry(fake.url + "/", timeout_s=DEADLINE_S).avro(ORDER_AVRO, Bought)
        options = {"group": group, "value": value, "start": "earliest", "assignors": "range", "on_error": "skip"}
        fake.gate.clear()
        async with kafka.consumer(topic, **options) as first:
            reading = asyncio.create_task(first.poll(DEADLINE_S))
            while first.health()["decoding"] is None:
                await asyncio.sleep(STEP_S)
            async with kafka.consumer(topic, **options) as second:
                joining = asyncio.create_task(second.poll(DEADLINE_S))
                while len(first.assignment) != 1 or len(second.assignment) != 1:
                    assert not reading.done()
                    await asyncio.sleep(STEP_S)
                assert not first.health()["not_committed"]
                fake.gate.set()
                return [record.value.id for record in [*await reading, *await joining]]

    assert sorted(run(scenario())) == [0, 1]
