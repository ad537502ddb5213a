"""Large frames of many connections share so much memory: who has none of it waits, small frames never do."""

import os
from contextlib import suppress

import pytest
from test_network_loop import Bench, receive_answers
from test_network_turns import VERSIONS

from headrace.limits import RECEIVE_BYTES_BUSY, RECEIVE_BYTES_FIRST, RECEIVE_BYTES_KEPT, TRICKLE_DEADLINE_MS
from headrace.workers.network import loop as loop_module
from headrace.workers.network.frame_memory import frame_memory_max
from headrace.workers.network.loop import LOOK_AT_CONNECTIONS_INTERVAL_MS, SHRINK_AFTER_IDLE_MS

FRAME = 6 << 20
BYTES_MAX = 13 << 20  # two frames


@pytest.fixture
def bench(tmp_path, monkeypatch):
    bench = Bench(tmp_path, {"queued.max.request.bytes": str(BYTES_MAX), "socket.request.max.bytes": str(FRAME)})
    bench.handled = []
    real = loop_module.route

    def note(context, connection, frame):
        if len(frame) < 100:
            real(context, connection, frame)
        else:
            bench.handled.append((connection.peer, len(frame)))

    monkeypatch.setattr(loop_module, "route", note)
    yield bench
    for client in bench.clients:
        client.close()
    bench.loop.drain()
    bench.loop.close()
    bench.poller.close()
    os.close(bench.seat.doorbell.fd)
    assert bench.loop._frame_memory.used == 0, "whatever happened, all of it was given back"


class Sender:
    """A client that sends one frame, as far as it is told to."""

    def __init__(self, bench, size=FRAME, stop=None):
        self.bench = bench
        self.client = bench.connect()
        self.client.setblocking(False)
        whole = size.to_bytes(4, "big") + bytes(size)
        self.held = memoryview(whole)[len(whole) if stop is None else stop :]
        self.left = memoryview(whole)[: len(whole) - len(self.held)]

    def push(self):
        with suppress(BlockingIOError):
            self.left = self.left[self.client.send(self.left) :] if self.left else self.left

    def finish(self):
        self.left = memoryview(bytes(self.left) + bytes(self.held))


def turn(bench, senders, is_so):
    for _ in range(20_000):
        if is_so():
            return
        for sender in senders:
            sender.push()
        bench.turn()
    raise AssertionError("it never came")


def buffers(bench):
    return sum(len(each._buffer) for each in bench.connections if len(each._buffer) > RECEIVE_BYTES_BUSY)


def test_frames_that_do_not_end_take_no_more_than_the_bound_however_many_there_are(bench):
    senders = [Sender(bench, stop=FRAME - 10) for _ in range(6)]
    turn(bench, senders, lambda: sum(not sender.left for sender in senders) == 2)
    turn(bench, senders, lambda: len(bench.loop._frame_memory.waiting) == 4)
    for _ in range(50):
        turn(bench, senders, lambda: True)
        bench.turn()
    assert buffers(bench) <= bench.loop._frame_memory.used <= BYTES_MAX
    small = bench.connect()
    small.sendall(VERSIONS)
    assert receive_answers(bench, small, 1) == [1], "small frames need none of it"
    for sender in senders:
        sender.finish()
    for count in (2, 4, 6):
        turn(bench, senders, lambda count=count: len(bench.handled) >= count)
        bench.clock.ms += LOOK_AT_CONNECTIONS_INTERVAL_MS
    assert buffers(bench) == 0 or bench.loop._frame_memory.used >= buffers(bench)


def test_who_waits_for_memory_keeps_its_connection_and_who_trickles_does_not(bench):
    senders = [Sender(bench, stop=FRAME - 10) for _ in range(3)]
    turn(bench, senders, lambda: sum(not sender.left for sender in senders) == 2)
    turn(bench, senders, lambda: len(bench.loop._frame_memory.waiting) == 1)
    bench.clock.ms += TRICKLE_DEADLINE_MS + LOOK_AT_CONNECTIONS_INTERVAL_MS
    bench.turn()
    assert len(bench.connections) == 1, "the two that held it and did not end are gone"
    for sender in senders:
        sender.finish()
    turn(bench, senders[-1:] if not senders[-1].client._closed else [], lambda: len(bench.connections) == 1)
    waiting = next(sender for sender in senders if f"{sender.client.getsockname()[1]}" in bench.connections[0].peer)
    turn(bench, [waiting], lambda: len(bench.handled) == 1)


def test_who_sends_too_slowly_to_end_in_time_is_given_up_as_soon_as_others_wait(bench):
    idle, steady = Sender(bench, stop=2 * RECEIVE_BYTES_BUSY), Sender(bench, stop=FRAME - 10)
    turn(bench, [idle, steady], lambda: not idle.left and not steady.left and bench.loop._frame_memory.used > FRAME + 4)
    bench.clock.ms += TRICKLE_DEADLINE_MS // 3
    turn(bench, [], lambda: True)
    bench.turn()
    assert len(bench.connections) == 2, "nobody waits"
    late = Sender(bench)
    turn(bench, [late], lambda: len(bench.loop._frame_memory.waiting) == 1)
    bench.clock.ms += LOOK_AT_CONNECTIONS_INTERVAL_MS
    turn(bench, [late], lambda: len(bench.handled) == 1)
    assert len(bench.connections) == 2
    steady.finish()
    turn(bench, [steady], lambda: len(bench.handled) == 2)


def test_memory_is_given_back_by_those_that_leave_idle_or_are_not_at_it(bench):
    memory = bench.loop._frame_memory
    gone, idle = Sender(bench, stop=FRAME - 10), Sender(bench, size=3 << 20)
    turn(bench, [gone, idle], lambda: not gone.left and len(bench.handled) == 1)
    assert memory.used == (FRAME + 4) + (3 << 20) + 4, "a buffer that is not too large is kept for what comes next"
    gone.client.close()
    turn(bench, [], lambda: memory.used == (3 << 20) + 4)
    bench.clock.ms += SHRINK_AFTER_IDLE_MS + LOOK_AT_CONNECTIONS_INTERVAL_MS
    bench.turn()
    assert memory.used == 0
    assert len(bench.connections[0]._buffer) == RECEIVE_BYTES_FIRST


def test_kept_buffers_are_given_back_where_somebody_waits(bench):
    keepers = [Sender(bench, size=3 << 20) for _ in range(4)]
    turn(bench, keepers, lambda: len(bench.handled) == 4)
    assert bench.loop._frame_memory.used == 4 * ((3 << 20) + 4)
    late = Sender(bench)
    turn(bench, [late], lambda: bench.loop._frame_memory.waiting)
    bench.clock.ms += LOOK_AT_CONNECTIONS_INTERVAL_MS
    turn(bench, [late], lambda: len(bench.handled) == 5)


def test_the_largest_buffers_are_not_kept(bench):
    sender = Sender(bench, size=RECEIVE_BYTES_KEPT + 1)
    turn(bench, [sender], lambda: len(bench.handled) == 1)
    sender.client.setblocking(True)
    sender.client.sendall(VERSIONS)
    assert receive_answers(bench, sender.client, 1) == [1]
    assert len(bench.connections[0]._buffer) == RECEIVE_BYTES_BUSY
    assert bench.loop._frame_memory.used == 0


def test_the_bound_is_a_share_of_the_setting_and_one_frame_at_least():
    assert frame_memory_max(-1, 100, 4) == 200
    assert frame_memory_max(1_000, 100, 4) == 250
    assert frame_memory_max(10, 100, 4) == 100
