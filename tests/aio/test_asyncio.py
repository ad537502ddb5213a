"""What only an event loop brings: cancellation, tasks beside each other, Ctrl-C, a client that is left without a close."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap

import pytest

import headrace.aio
from headrace.aio import ForkedClient, Kafka, WaitTimedOut
from tests.aio.test_consumer import fill, group_id, take
from tests.aio.test_producer import read, run
from tests.support.waiting import DEADLINE_S

ROUNDS_MAX = 10_000  # of a loop that looks for a state


def test_a_poll_that_is_cancelled_again_and_again_loses_nothing(node, new_topic):
    """It is cancelled while it joins, looks up offsets, commits, reads."""
    topic, group = new_topic(3), group_id()
    fill(node, topic, 90, 3)

    async def scenario():
        consumer = Kafka(node.bootstrap).consumer(
            topic, group=group, start="earliest", max_poll_records=5, delivery="at_most_once"
        )
        async with consumer:
            found, cancelled, polls = [], 0, 0
            while len(found) < 90:
                asked = asyncio.create_task(consumer.poll(DEADLINE_S))
                polls += 1
                for _ in range(polls % 40):
                    await asyncio.sleep(0)
                if (
                    polls % 20
                ):  # each twentieth goes on to its end: a join, and a commit, take longer than a few turns of the loop
                    cancelled += asked.cancel()
                try:
                    found += [int(record.value) for record in await asked]
                except asyncio.CancelledError:
                    await asyncio.sleep(0)
            assert cancelled
            return found

    assert sorted(run(scenario())) == list(range(90))


def test_a_batch_whose_gathering_is_cancelled_comes_next(node, new_topic):
    topic = new_topic()
    fill(node, topic, 10)

    async def scenario():
        async with Kafka(node.bootstrap).consumer(topic, start="earliest") as consumer:
            batches = consumer.batches(100, max_wait=DEADLINE_S)
            asked = asyncio.create_task(anext(batches))
            while not consumer._state._gathering:
                await asyncio.sleep(0.001)
            asked.cancel()
            await asyncio.wait([asked])
            assert consumer.positions[topic, 0] == 0
            return await take(consumer, 10)

    assert run(scenario()) == list(range(10))


def test_a_send_that_is_cancelled_while_it_waits_has_not_sent(node, new_topic):
    topic = new_topic()

    async def scenario():
        async with Kafka(node.bootstrap).producer(buffer_memory=4_000, batch_size=4_000) as producer:
            await (await producer.send(topic, b"x"))
            for _ in range(4):
                await producer.send(topic, b"x" * 1_000)
            waiting = asyncio.create_task(producer.send(topic, b"y"))
            await asyncio.sleep(0)
            assert not waiting.done()
            assert "room in buffer.memory" in producer.health()["waits_for"]
            waiting.cancel()
            await asyncio.wait([waiting])
            await producer.send(topic, b"z")
        return await read(headrace.aio, node.bootstrap, topic, 6)

    assert [record.value[:1] for record in run(scenario())] == [b"x"] * 5 + [b"z"]


def test_a_task_that_is_cancelled_in_a_producers_block_is_cancelled_whatever_was_not_sent(node, new_topic):
    topic = new_topic()

    async def send_and_wait(is_sent):
        async with Kafka(node.bootstrap).producer(linger_ms=60_000) as producer:
            await producer.send(topic, b"x")
            is_sent.set()
            await asyncio.sleep(600)

    async def scenario():
        is_sent = asyncio.Event()
        waiting = asyncio.create_task(send_and_wait(is_sent))
        await is_sent.wait()
        waiting.cancel()
        await asyncio.wait([waiting])
        return waiting.cancelled()

    assert run(scenario())


def test_a_delivery_that_nobody_waits_for_any_more_is_made_all_the_same(node, new_topic):
    topic = new_topic()

    async def scenario():
        async with Kafka(node.bootstrap).producer() as producer:
            done = await producer.send(topic, b"x")
            waiting = [asyncio.ensure_future(done.result()) for _ in range(2)]
            await asyncio.sleep(0)
            waiting[0].cancel()
            metas = await asyncio.gather(done, waiting[1])
            assert metas[0] == metas[1]
            with pytest.raises(WaitTimedOut, match=f"delivery to {topic}-0: not done within 0 s"):
                await (await producer.send(topic, b"x")).result(0.0)

    run(scenario())


def test_callers_that_never_wait_leave_the_loop_to_others(node, new_topic):
    topic = new_topic()
    ticks = 0

    async def tick():
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    async def scenario():
        async with Kafka(node.bootstrap) as kafka:
            async with kafka.producer() as producer:
                await (await producer.send(topic, b"0"))
                ticking = asyncio.create_task(tick())
                for _ in range(ROUNDS_MAX * 100):
                    await producer.send(topic, b"x" * 100)
                    if ticks > 3:
                        break
                sending = ticks
            async with kafka.consumer(topic, start="earliest") as consumer:
                while len(await consumer.poll()) < 100:
                    pass
            ticking.cancel()
        return sending

    assert run(scenario()) > 3


def test_many_tasks_share_a_producer(node, new_topic):
    topic = new_topic(3)

    async def one(producer, index):
        meta = await (await producer.send(topic, b"%d" % index, b"%d" % index))
        return meta.partition, meta.offset

    async def scenario():
        async with Kafka(node.bootstrap).producer() as producer:
            places = await asyncio.gather(*(one(producer, index) for index in range(1_000)))
        return places, await read(headrace.aio, node.bootstrap, topic, 1_000)

    places, records = run(scenario())
    by_place = {(record.partition, record.offset): int(record.value) for record in records}
    assert [by_place[place] for place in places] == list(range(1_000))


def test_a_callback_of_a_rebalance_may_not_poll(node, new_topic):
    topic, group = new_topic(), group_id()
    fill(node, topic, 10)
    raised = []

    async def scenario():
        async def assigned(_partitions):
            try:
                await consumer.poll(0)
            except RuntimeError as failure:
                raised.append(failure)

        consumer = Kafka(node.bootstrap).consumer(topic, group=group, start="earliest", on_assigned=assigned)
        async with consumer:
            return await take(consumer, 10)

    assert run(scenario()) == list(range(10))
    assert [type(failure) for failure in raised] == [RuntimeError]


def test_no_broker_is_an_error_with_its_address_within_the_time_that_is_given(unused_port):
    async def scenario():
        async with Kafka(f"127.0.0.1:{unused_port}").producer(max_block_ms=200) as producer:
            with pytest.raises(WaitTimedOut, match=r"metadata of topic t: not done within 0\.2 s") as failure:
                await producer.send("t", b"x")
        return str(failure.value)

    assert "waiting for" in run(scenario())


@pytest.fixture
def unused_port():
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_without_a_loop_there_is_no_client(node):
    with pytest.raises(RuntimeError, match="no running event loop"):
        Kafka(node.bootstrap).producer()


def test_a_forked_child_gets_an_error_and_its_parent_goes_on(node, new_topic):
    topic, group = new_topic(), group_id()
    fill(node, topic, 20)

    def child(producer, consumer):
        """The exit code: how many calls raised what they should."""
        count = 0
        for asked in (producer.send(topic, b"child"), producer.flush(), consumer.poll(1), consumer.commit()):
            try:
                asked.send(None)
            except ForkedClient:
                count += 1
        for closed in (producer.close(), consumer.close()):
            try:
                closed.send(None)
            except StopIteration:
                count += 1
        return count

    async def scenario():
        async with Kafka(node.bootstrap) as kafka:
            producer = kafka.producer()
            consumer = kafka.consumer(topic, group=group, start="earliest", max_poll_records=5)
            await (await producer.send(topic, b"100"))
            found = await take(consumer, 5)
            pid = os.fork()
            if not pid:
                os._exit(child(producer, consumer))
            while (ended := os.waitpid(pid, os.WNOHANG))[0] == 0:
                await asyncio.sleep(0.01)
            await (await producer.send(topic, b"101"))
            found = await take(consumer, 22, found)
            await consumer.commit()
            return os.waitstatus_to_exitcode(ended[1]), found

    code, found = run(scenario())
    assert code == 6
    assert sorted(found) == [*range(20), 100, 101]


PROGRAM = """
    import asyncio, sys
    from headrace.aio import Kafka

    async def main():
        kafka = Kafka({bootstrap!r})
        producer = kafka.producer(linger_ms=60_000)
        consumer = kafka.consumer({topic!r}, group={group!r}, start="earliest")
        async for record in consumer:
            print("read", flush=True)
            {then}

    {start}
"""


def program(then, start="asyncio.run(main())", **named):
    text = textwrap.dedent(PROGRAM).format(then=then, start=start, **named)
    return subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_client_that_is_left_without_a_close_does_not_hold_up_the_exit(node, new_topic):
    topic = new_topic()
    fill(node, topic, 1)
    running = program("break", bootstrap=node.bootstrap, topic=topic, group=group_id())
    out, complaints = running.communicate(timeout=DEADLINE_S)
    assert (running.returncode, out) == (0, "read\n"), complaints
    assert "Traceback" not in complaints


def test_ctrl_c_ends_a_consumer_that_waits(node, new_topic):
    topic = new_topic()
    fill(node, topic, 1)
    running = program("continue", bootstrap=node.bootstrap, topic=topic, group=group_id())
    assert running.stdout.readline() == "read\n"
    running.send_signal(signal.SIGINT)
    _out, complaints = running.communicate(timeout=DEADLINE_S)
    assert running.returncode == -signal.SIGINT, complaints
    assert complaints.rstrip().endswith("KeyboardInterrupt"), complaints


def test_a_consumer_that_is_dropped_leaves_no_thread_and_no_connection(node, new_topic):
    import gc
    import threading

    topic = new_topic()

    async def scenario():
        consumer = Kafka(node.bootstrap).consumer(topic, group=group_id())
        await consumer.poll(0.1)
        driver, ended = consumer._driver, consumer._state.member.ended
        del consumer
        gc.collect()
        await asyncio.wrap_future(ended)
        while not driver.is_closed:
            await asyncio.sleep(0.001)

    run(scenario())
    assert not [one for one in threading.enumerate() if one.name.startswith("headrace-group")]


def test_names_are_those_of_the_blocking_client():
    import headrace.client

    assert set(headrace.aio.__all__) == set(headrace.client.__all__)
    for name in headrace.aio.__all__:
        assert getattr(headrace.aio, name)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        headrace.aio.Nothing  # noqa: B018  # the attribute is what is tried
    for kind in ("KafkaProducer", "KafkaConsumer", "KafkaAdmin", "Delivery"):
        ours, theirs = getattr(headrace.aio, kind), getattr(headrace.client, kind)
        public = {name for name in vars(theirs) if not name.startswith("_")} - {"poll"}
        assert public <= set(dir(ours)), kind
