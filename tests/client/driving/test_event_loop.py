"""The asyncio driver against a broker that is a few lines: how often it turns, what becomes of what does not connect, or stops to read."""

import asyncio
import random
import struct

import pytest

from headrace.client.driving.event_loop import EventLoopDriver
from headrace.client.engine.engine import Engine
from headrace.client.engine.tasks import Ask
from headrace.client.failures import ConnectionFailed, WaitTimedOut
from headrace.client.steps import Call, Done, Heard, Pass, Until, Whole
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import encode_response
from tests.support.waiting import DEADLINE_S


class Broker:
    """Answers ApiVersions to say that it has Heartbeat, and that with an error code of its own."""

    def __init__(self):
        self.asked = []
        self.is_reading = asyncio.Event()
        self.is_reading.set()

    async def serve(self, reader, writer):
        try:
            while True:
                size = struct.unpack(">i", await reader.readexactly(4))[0]
                data = await reader.readexactly(size)
                api_key, version, correlation_id = struct.unpack_from(">hhi", data)
                self.asked.append(api_key)
                writer.write(self.answer(api_key, version, correlation_id))
                await self.is_reading.wait()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def answer(self, api_key, version, correlation_id):
        if api_key == ApiKey.API_VERSIONS:
            kind = messages.ApiVersionsResponse
            body = kind(api_keys=[kind.ApiVersion(api_key=int(key), min_version=0, max_version=0) for key in ApiKey])
        else:
            body = messages.HeartbeatResponse(error_code=7)
        frame = struct.pack(">i", correlation_id) + bytes(encode_response(api_key, version, body))
        return struct.pack(">i", len(frame)) + frame


def run(scenario):
    async def within():
        broker = Broker()
        server = await asyncio.start_server(broker.serve, "127.0.0.1", 0)
        driver = EventLoopDriver(Engine([server.sockets[0].getsockname()[:2]], "test", None, random.random))
        try:
            async with asyncio.timeout(DEADLINE_S):
                return await scenario(broker, driver)
        finally:
            driver.close()
            driver.close()
            server.close()

    return asyncio.run(within())


def ask(member_id=""):
    request = messages.HeartbeatRequest(group_id="g", generation_id=1, member_id=member_id)
    answer = yield Ask(-1, ApiKey.HEARTBEAT, (0, 0), request)
    return answer.error_code


def test_a_task_is_waited_for_over_a_connection():
    async def scenario(broker, driver):
        assert await driver.wait(driver.engine.start(ask(), "a heartbeat")) == 7
        assert driver.describe() == "nothing"
        return broker.asked

    assert run(scenario) == [ApiKey.API_VERSIONS, ApiKey.HEARTBEAT]


def test_what_happens_in_one_iteration_takes_one_turn():
    async def scenario(_broker, driver):
        turns = []
        turn, driver.engine.turn = driver.engine.turn, lambda now_s: turns.append(now_s) or turn(now_s)
        for _ in range(100):
            driver.turn_soon()
            driver.wake()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return len(turns)

    assert run(scenario) <= 2


def test_a_caller_that_is_cancelled_leaves_the_task_at_work():
    async def scenario(_broker, driver):
        task = driver.engine.start(ask(), "a heartbeat")
        waiting = asyncio.create_task(driver.wait(task))
        await asyncio.sleep(0)
        assert "a heartbeat" in driver.waits_for()
        waiting.cancel()
        await asyncio.wait([waiting])
        return await driver.wait(task)

    assert run(scenario) == 7


def test_a_large_request_goes_out_as_the_other_end_reads():
    async def scenario(broker, driver):
        await driver.wait(driver.engine.start(ask(), "the first"))
        broker.is_reading.clear()
        tasks = [driver.engine.start(ask("m" * 30_000), "a heartbeat") for _ in range(400)]
        driver.turn()
        [connection] = driver._connections.values()
        assert connection.held, "the socket took all: nothing is tested"
        assert driver.engine.requests.has_unsent
        assert connection.transport.get_write_buffer_size() <= 40_000  # the rest is not copied
        broker.is_reading.set()
        return {await driver.wait(task) for task in tasks}

    assert run(scenario) == {7}


def test_what_is_not_there_names_its_address():
    async def scenario():
        for host, said in (("127.0.0.1", "[Rr]efused"), ("a" * 70 + ".invalid", "label")):
            driver = EventLoopDriver(Engine([(host, 1)], "test", None, random.random))
            task = driver.engine.start(ask(), "a heartbeat")
            with pytest.raises(ConnectionFailed, match=f"{host}:1: .*{said}"):
                await driver.wait(task)
            driver.close()

    asyncio.run(scenario())


def test_waits_end_in_time_or_when_it_closes():
    async def scenario(_broker, driver):
        assert not await driver.wait_until(lambda: False, 0.0, "")
        assert not await driver.wait_until(lambda: False, 0.01, "")
        with pytest.raises(WaitTimedOut, match=r"the moon: not done within 0\.01 s; waiting for the moon"):
            await driver.wait_until(lambda: False, 0.01, "the moon")
        with pytest.raises(ZeroDivisionError):
            await driver.wait_until(lambda: driver._waits and 1 // 0, 1.0, "nothing")
        waiting = asyncio.create_task(driver.wait_until(lambda: False, None, "the end"))
        await asyncio.sleep(0)
        driver.close()
        with pytest.raises(ConnectionFailed, match="closed"):
            await waiting
        with pytest.raises(ConnectionFailed, match="closed"):
            await driver.wait_until(lambda: False, 1.0, "more")

    run(scenario)


def test_steps_wait_for_all_there_is():
    from concurrent.futures import ThreadPoolExecutor

    async def double(number):
        await asyncio.sleep(0)
        return number * 2

    async def scenario(_broker, driver):
        done = []

        def whole():
            yield Pass()
            done.append((yield Call(double, 21)))

        def steps(pool):
            yield Whole(whole, DEADLINE_S)
            code = yield Done(driver.engine.start(ask(), "a heartbeat"))
            heard = yield Heard(pool.submit(lambda: 5), DEADLINE_S, "a thread")
            so = yield Until(lambda: True, 1.0, "the truth")
            try:
                yield Call(lambda _argument: 1 // 0, None)
            except ZeroDivisionError:
                return code, heard, so, yield_free(done)

        with ThreadPoolExecutor(1) as pool:
            return await driver.run(steps(pool))

    def yield_free(found):
        return found[0]

    assert run(scenario) == (7, 5, True, 42)


def test_whole_steps_go_on_where_their_caller_is_cancelled():
    async def scenario(_broker, driver):
        gate = asyncio.Event()
        runs = []

        def whole():
            runs.append("began")
            yield Call(lambda _argument: gate.wait(), None)
            runs.append("ended")

        def steps():
            return (yield Whole(whole, DEADLINE_S))

        first = asyncio.create_task(driver.run(steps()))
        await asyncio.sleep(0.01)
        first.cancel()
        await asyncio.wait([first])
        second = asyncio.create_task(driver.run(steps()))
        await asyncio.sleep(0)
        gate.set()
        assert await second
        return runs

    assert run(scenario) == ["began", "ended"]
