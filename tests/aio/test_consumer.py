"""Consumers of both APIs, by the same scenarios."""

import asyncio
import uuid

import pytest

from headrace.client import DecodingFailed, Kafka, Str
from headrace.errors import KafkaError
from tests.aio.test_producer import run
from tests.support.waiting import DEADLINE_S

SECOND_S = 0.1  # of one poll among several


def group_id():
    return f"group-{uuid.uuid4().hex[:8]}"


def fill(node, topic, count, partitions=1):
    """Values 0, 1, ..., to the partitions in turn."""
    with Kafka(node.bootstrap).producer() as producer:
        for index in range(count):
            producer.send(topic, b"%d" % index, partition=index % partitions)


async def take(consumer, count, found=None):
    """Poll until there are so many values."""
    found = [] if found is None else found
    while len(found) < count:
        found += [int(record.value) for record in await consumer.poll(1.0)]
    return found


def test_a_record_is_done_when_the_next_is_asked_for(api, node, new_topic):
    topic, group = new_topic(), group_id()
    fill(node, topic, 10)

    async def scenario():
        kafka = api.Kafka(node.bootstrap)

        async def fail_at(offset):
            async with kafka.consumer(topic, group=group, start="earliest") as consumer:
                async for record in consumer:
                    if record.offset == offset:
                        raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await fail_at(4)
        async with kafka.consumer(topic, group=group) as consumer:
            async for record in consumer:
                if record.offset == 7:
                    break
            first = consumer.positions[topic, 0]
        async with kafka.consumer(topic, group=group) as consumer:
            [following, *_rest] = await take(consumer, 1)
        return first, following

    assert run(scenario()) == (7, 8)  # `break` leaves the last undone, a clean end of the block does not


def test_polls_without_a_wait_come_to_records(api, node, new_topic):
    topic = new_topic()
    fill(node, topic, 5)

    async def scenario():
        async with api.Kafka(node.bootstrap).consumer(topic, start="earliest") as consumer:
            found = []
            while len(found) < 5:
                found += await consumer.poll()
        return found

    assert len(run(scenario())) == 5


def test_batches_are_of_all_partitions_and_are_committed(api, node, new_topic):
    topic, group = new_topic(3), group_id()
    fill(node, topic, 300, 3)

    async def scenario():
        async with api.Kafka(node.bootstrap).consumer(topic, group=group, start="earliest") as consumer:
            rows, sizes = [], []
            async for batch in consumer.batches(70, max_wait=0.5):
                sizes.append(len(batch))
                rows += batch.to_arrow().to_pylist()
                await batch.commit()
                if len(rows) == 300:
                    break
            return sizes, rows, await consumer.committed()

    sizes, rows, committed = run(scenario())
    assert max(sizes) <= 70
    assert sorted(int(row["value"]) for row in rows) == list(range(300))
    assert {name.partition: at.offset for name, at in committed.items()} == {0: 100, 1: 100, 2: 100}


def test_what_was_gathered_before_a_failure_comes_before_it(api, node, new_topic):
    topic = new_topic()
    with Kafka(node.bootstrap).producer() as producer:
        for value in (b"a", b"b", b"\xff", b"c"):
            producer.send(topic, value).result()

    async def scenario():
        async with api.Kafka(node.bootstrap).consumer(topic, value=Str(), start="earliest") as consumer:
            found = []

            async def gather():
                async for batch in consumer.batches(100, max_wait=1.0):
                    found.append([record.value for record in batch.records])

            with pytest.raises(DecodingFailed) as failure:
                await gather()
            assert consumer.positions[topic, 0] == 2
            consumer.seek(topic, 0, failure.value.offset + 1)
            return found, [record.value for record in await consumer.poll(DEADLINE_S)]

    gathered, after = run(scenario())
    assert [value for batch in gathered for value in batch] == ["a", "b"]
    assert after == ["c"]


def test_undecodable_records_are_left_out_or_given_away(api, node, new_topic):
    topic = new_topic()
    with Kafka(node.bootstrap).producer() as producer:
        for value in (b"\xff", b"a", b"\xfe", b"b"):
            producer.send(topic, value)
    given = []

    async def scenario():
        kafka = api.Kafka(node.bootstrap)
        found = []
        for on_error in ("skip", given.append):
            async with kafka.consumer(topic, value=Str(), start="earliest", on_error=on_error) as consumer:
                some = []
                while len(some) < 2:
                    some += [record.value for record in await consumer.poll(1.0)]
                found.append(some)
        return found

    assert run(scenario()) == [["a", "b"], ["a", "b"]]
    assert [one.offset for one in given] == [0, 2]


def test_positions_are_sought_kept_and_started_at(api, node, new_topic):
    topic = new_topic(2)
    fill(node, topic, 20, 2)

    async def scenario():
        async with api.Kafka(node.bootstrap).consumer(partitions=[(topic, 0), (topic, 1)], start="latest") as consumer:
            assert await consumer.position(topic, 0) == 10
            consumer.seek(topic, 0, 7)
            late = await take(consumer, 3)
            assert consumer.assignment == ((topic, 0), (topic, 1))
            with pytest.raises(ValueError, match="offset: -1"):
                consumer.seek(topic, 0, -1)
            with pytest.raises(KafkaError, match="is not read by this consumer"):
                consumer.seek(topic, 9, 0)
            consumer.pause((topic, 1))
            consumer.seek_to_beginning()
            first = await take(consumer, 10)
            assert not await consumer.poll(SECOND_S)
            consumer.resume((topic, 1))
            second = await take(consumer, 10)
            assert await consumer.poll(0) == []  # the last are done
            kept = consumer.positions
        async with api.Kafka(node.bootstrap).consumer(topic, start="earliest", delivery="exactly_once") as consumer:
            consumer.start_at({name: offset - 1 for name, offset in kept.items()})
            last = await take(consumer, 2)
        return late, sorted(first), sorted(second), sorted(last)

    evens, odds = list(range(0, 20, 2)), list(range(1, 20, 2))
    assert run(scenario()) == ([14, 16, 18], evens, odds, [18, 19])


def test_at_most_once_is_committed_before_it_is_handed_out(api, node, new_topic):
    topic, group = new_topic(), group_id()
    fill(node, topic, 10)

    async def scenario():
        kafka = api.Kafka(node.bootstrap)
        consumer = kafka.consumer(topic, group=group, start="earliest", delivery="at_most_once", max_poll_records=4)
        async with consumer:
            first = await take(consumer, 1)
            at = await consumer.committed()
        async with kafka.consumer(topic, group=group, start="earliest") as consumer:
            rest = await take(consumer, 10 - len(first))
        return first, at[topic, 0].offset, rest

    first, at, rest = run(scenario())
    assert at == len(first)
    assert first + rest == list(range(10))


def test_two_members_share_and_hand_over(api, node, new_topic):
    topic, group = new_topic(4), group_id()
    fill(node, topic, 200, 4)
    said = {"a": [], "b": []}

    def callbacks(name):
        return {
            "on_assigned": api.callback(lambda partitions: said[name].append(("+", len(partitions)))),
            "on_revoked": api.callback(lambda partitions: said[name].append(("-", len(partitions)))),
        }

    async def scenario():
        kafka = api.Kafka(node.bootstrap)
        options = {"group": group, "start": "earliest", "heartbeat_interval_ms": 100, "auto_commit_interval_ms": 50}
        first = kafka.consumer(topic, **options, **callbacks("a"))
        found = await take(first, 50)
        second = kafka.consumer(topic, **options, **callbacks("b"))
        while not (len(first.assignment) == len(second.assignment) == 2) or len(found) < 200:
            for consumer in (first, second):
                found += [int(record.value) for record in await consumer.poll(SECOND_S)]
        shares = first.assignment, second.assignment
        await second.commit()  # what it was given last is done as well
        await second.close()
        while len(first.assignment) < 4:
            found += [int(record.value) for record in await first.poll(SECOND_S)]
        fill(node, topic, 8, 4)
        found += await take(first, 8)
        await first.close()
        return found, shares

    found, shares = run(scenario())
    assert not set(shares[0]) & set(shares[1])
    assert sorted(found) == sorted([*range(200), *range(8)]), "a record was read twice, or not at all"
    assert said["a"][0] == ("+", 4)
    assert ("-", 4) in said["a"]
    assert said["b"][0] in (("+", 2), ("+", 0))


def test_callbacks_say_where_to_begin_and_failures_of_theirs_are_raised(api, node, new_topic):
    topic, group = new_topic(), group_id()
    fill(node, topic, 10)
    failures = [ZeroDivisionError()]

    def begin(partitions):
        if failures:
            raise failures.pop()
        return dict.fromkeys(partitions, 6)

    async def scenario():
        kafka = api.Kafka(node.bootstrap)
        async with kafka.consumer(topic, group=group, on_assigned=api.callback(begin)) as consumer:
            with pytest.raises(ZeroDivisionError):
                await take(consumer, 1)
            return await take(consumer, 4)

    assert run(scenario()) == [6, 7, 8, 9]


def test_topics_by_a_pattern_and_partitions_that_are_added(api, node, new_topic):
    topic = new_topic()
    fill(node, topic, 3)

    async def scenario():
        kafka = api.Kafka(node.bootstrap)
        async with kafka.consumer(pattern=f"{topic[:-1]}.", start="earliest") as consumer:
            found = await take(consumer, 3)
            offsets = await consumer.offsets(0)
        return found, offsets

    assert run(scenario()) == ([0, 1, 2], {(topic, 0): 0})


def test_what_a_consumer_is_not_asked_for_is_an_error(api, node, new_topic):
    topic = new_topic()

    async def scenario():
        kafka = api.Kafka(node.bootstrap)
        async with kafka.consumer(topic) as consumer:
            with pytest.raises(ValueError, match="has no group"):
                await consumer.commit()
            with pytest.raises(ValueError, match="has no group"):
                await consumer.committed()
        await consumer.close()
        with pytest.raises(KafkaError, match="closed"):
            await consumer.poll()
        for wrong, said in (({}, "topics, or a pattern"), ({"pattern": "a", "start": "soon"}, "start: 'soon'")):
            with pytest.raises(ValueError, match=said):
                kafka.consumer(**wrong)

    run(scenario())


def test_health_names_what_is_waited_for(api, node, new_topic):
    topic, group = new_topic(), group_id()
    fill(node, topic, 5)

    async def scenario():
        async with api.Kafka(node.bootstrap).consumer(topic, group=group, start="earliest") as consumer:
            await take(consumer, 5)
            assert not await consumer.poll(SECOND_S)
            return consumer.health()

    health = run(scenario())
    assert health["partitions"][f"{topic}-0"]["lag"] == 0
    assert f"group {group}: stable" in health["group"]
    assert any("fetch" in text for text in health["waits_for"])


def test_a_consumer_that_computes_for_long_is_asked_for_one_list_at_a_time(node, new_topic):
    """Two tasks, one consumer: an error, before one takes what the other waits for."""
    from headrace.aio import Kafka

    topic = new_topic()

    async def scenario():
        async with Kafka(node.bootstrap).consumer(topic) as consumer:
            first = asyncio.create_task(consumer.poll(DEADLINE_S))
            await asyncio.sleep(0)
            with pytest.raises(RuntimeError, match="two callers"):
                await consumer.poll(1)
            first.cancel()
            await asyncio.wait([first])

    run(scenario())
