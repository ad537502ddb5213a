"""Large frames of many connections share so much memory: who has none of it waits, small frames never do."""

from contextlib import suppress

import pytest

from headrace.limits import RECEIVE_BYTES_BUSY, RECEIVE_BYTES_FIRST, RECEIVE_BYTES_KEPT, TRICKLE_DEADLINE_MS
from headrace.workers.network import loop as loop_module
from headrace.workers.network.connections.frame_memory import frame_memory_max
from headrace.workers.network.loop import CONNECTIONS_CHECK_INTERVAL_MS, SHRINK_AFTER_IDLE_MS
from tests.workers.network.network_rig import Rig, receive_answers
from tests.workers.network.test_network_turns import VERSIONS

FRAME = 6 << 20
BYTES_MAX = 13 << 20  # two frames


@pytest.fixture
def rig(tmp_path, monkeypatch):
    rig = Rig(tmp_path, {"queued.max.request.bytes": str(BYTES_MAX), "socket.request.max.bytes": str(FRAME)})
    rig.handled = []
    real = loop_module.route

    def note(context, connection, frame):
        if len(frame) < 100:
            real(context, connection, frame)
        else:
            rig.handled.append((connection.peer, len(frame)))

    monkeypatch.setattr(loop_module, "route", note)
    yield rig
    rig.close()
    assert rig.loop._frame_memory.used == 0, "whatever happened, all of it was given back"


class Sender:
    """A client that sends one frame, as far as it is told to."""

    def __init__(self, rig, size=FRAME, stop=None):
        self.rig = rig
        self.client = rig.connect()
        self.client.setblocking(False)
        whole = size.to_bytes(4, "big") + bytes(size)
        self.held = memoryview(whole)[len(whole) if stop is None else stop :]
        self.left = memoryview(whole)[: len(whole) - len(self.held)]

    def push(self):
        with suppress(BlockingIOError):
            self.left = self.left[self.client.send(self.left) :] if self.left else self.left

    def finish(self):
        self.left = memoryview(bytes(self.left) + bytes(self.held))


def turn(rig, senders, is_so):
    for _ in range(20_000):
        if is_so():
            return
        for sender in senders:
            sender.push()
        rig.turn()
    raise AssertionError("it never came")


def buffers(rig):
    return sum(len(each._buffer) for each in rig.connections if len(each._buffer) > RECEIVE_BYTES_BUSY)


def test_frames_that_do_not_end_take_no_more_than_the_bound_however_many_there_are(rig):
    senders = [Sender(rig, stop=FRAME - 10) for _ in range(6)]
    turn(rig, senders, lambda: sum(not sender.left for sender in senders) == 2)
    turn(rig, senders, lambda: len(rig.loop._frame_memory.waiting) == 4)
    for _ in range(50):
        turn(rig, senders, lambda: True)
        rig.turn()
    assert buffers(rig) <= rig.loop._frame_memory.used <= BYTES_MAX
    small = rig.connect()
    small.sendall(VERSIONS)
    assert receive_answers(rig, small, 1) == [1], "small frames need none of it"
    for sender in senders:
        sender.finish()
    for count in (2, 4, 6):
        turn(rig, senders, lambda count=count: len(rig.handled) >= count)
        rig.clock.ms += CONNECTIONS_CHECK_INTERVAL_MS
    assert buffers(rig) == 0 or rig.loop._frame_memory.used >= buffers(rig)


def test_who_waits_for_memory_keeps_its_connection_and_who_trickles_does_not(rig):
    senders = [Sender(rig, stop=FRAME - 10) for _ in range(3)]
    turn(rig, senders, lambda: sum(not sender.left for sender in senders) == 2)
    turn(rig, senders, lambda: len(rig.loop._frame_memory.waiting) == 1)
    rig.clock.ms += TRICKLE_DEADLINE_MS + CONNECTIONS_CHECK_INTERVAL_MS
    rig.turn()
    assert len(rig.connections) == 1, "the two that held it and did not end no longer exist"
    for sender in senders:
        sender.finish()
    turn(rig, senders[-1:] if not senders[-1].client._closed else [], lambda: len(rig.connections) == 1)
    waiting = next(sender for sender in senders if f"{sender.client.getsockname()[1]}" in rig.connections[0].peer)
    turn(rig, [waiting], lambda: len(rig.handled) == 1)


def test_who_sends_too_slowly_to_end_in_time_is_given_up_as_soon_as_others_wait(rig):
    idle, steady = Sender(rig, stop=2 * RECEIVE_BYTES_BUSY), Sender(rig, stop=FRAME - 10)
    turn(rig, [idle, steady], lambda: not idle.left and not steady.left and rig.loop._frame_memory.used > FRAME + 4)
    rig.clock.ms += TRICKLE_DEADLINE_MS // 3
    turn(rig, [], lambda: True)
    rig.turn()
    assert len(rig.connections) == 2, "nobody waits"
    late = Sender(rig)
    turn(rig, [late], lambda: len(rig.loop._frame_memory.waiting) == 1)
    rig.clock.ms += CONNECTIONS_CHECK_INTERVAL_MS
    turn(rig, [late], lambda: len(rig.handled) == 1)
    assert len(rig.connections) == 2
    steady.finish()
    turn(rig, [steady], lambda: len(rig.handled) == 2)


def test_memory_is_given_back_by_those_that_leave_idle_or_are_not_at_it(rig):
    memory = rig.loop._frame_memory
    gone, idle = Sender(rig, stop=FRAME - 10), Sender(rig, size=3 << 20)
    turn(rig, [gone, idle], lambda: not gone.left and len(rig.handled) == 1)
    assert memory.used == (FRAME + 4) + (3 << 20) + 4, "a buffer that is not too large is kept for what comes next"
    gone.client.close()
    turn(rig, [], lambda: memory.used == (3 << 20) + 4)
    rig.clock.ms += SHRINK_AFTER_IDLE_MS + CONNECTIONS_CHECK_INTERVAL_MS
    rig.turn()
    assert memory.used == 0
    assert len(rig.connections[0]._buffer) == RECEIVE_BYTES_FIRST


def test_kept_buffers_are_given_back_where_somebody_waits(rig):
    keepers = [Sender(rig, size=3 << 20) for _ in range(4)]
    turn(rig, keepers, lambda: len(rig.handled) == 4)
    assert rig.loop._frame_memory.used == 4 * ((3 << 20) + 4)
    late = Sender(rig)
    turn(rig, [late], lambda: rig.loop._frame_memory.waiting)
    rig.clock.ms += CONNECTIONS_CHECK_INTERVAL_MS
    turn(rig, [late], lambda: len(rig.handled) == 5)


def test_the_largest_buffers_are_not_kept(rig):
    sender = Sender(rig, size=RECEIVE_BYTES_KEPT + 1)
    turn(rig, [sender], lambda: len(rig.handled) == 1)
    sender.client.setblocking(True)
    sender.client.sendall(VERSIONS)
    assert receive_answers(rig, sender.client, 1) == [1]
    assert len(rig.connections[0]._buffer) == RECEIVE_BYTES_BUSY
    assert rig.loop._frame_memory.used == 0


def test_the_bound_is_a_share_of_the_setting_and_one_frame_at_least():
    assert frame_memory_max(-1, 100, 4) == 200
    assert frame_memory_max(1_000, 100, 4) == 250
    assert frame_memory_max(10, 100, 4) == 100
