"""Frames that are received in an arena: whole, where they stay while a partition worker appends from there."""

import random
import socket
import struct
from collections import deque

import pytest

from headrace.limits import ARENA_BLOCK_BYTES, RECEIVE_BYTES_BUSY, UNPLACED_RECEIVES_MAX
from headrace.workers.network.connections.connection import Connection
from headrace.workers.network.connections.frame_memory import FrameMemory
from headrace.workers.network.connections.receive_arena import ReceiveArena

FRAME_MAX = 4 << 20


class Fixture:
    """A connection with an arena of so many units, and its peer."""

    def __init__(self, units):
        self.memory = memoryview(bytearray(units * ARENA_BLOCK_BYTES))
        self.arena = ReceiveArena(self.memory)
        self.units = units
        ours, self.peer = socket.socketpair()
        ours.setblocking(False)
        self.frame_memory = FrameMemory(64 << 20)
        self.connection = Connection(ours, "peer", 1, FRAME_MAX, set(), 0, self.frame_memory, self.arena)
        self.connection.begin_placing()
        self.in_arena = 0

    def frames(self):
        """What has come: each frame, its block and where it lies in the arena, as a handler sees it."""
        connection = self.connection
        while True:
            try:
                connection.receive()
            except BlockingIOError:
                return
            while (frame := connection.next_frame(5)) is not None:
                yield frame, connection.block, connection.place_of(len(frame), 0)

    def push(self, data):
        """Send it in pieces; the frames that came, copied: (bytes, block)."""
        left, found = memoryview(data), []
        while left:
            left = left[self.peer.send(left[:100_000]) :]
            found += [(bytes(frame), block) for frame, block, _place in self.frames()]
        return found

    @property
    def is_whole(self):
        return self.arena.free_bytes == self.units * ARENA_BLOCK_BYTES

    def close(self):
        self.connection.close()
        self.peer.close()


def frame_of(chance, size):
    return struct.pack(">i", size) + chance.randbytes(size)


def sizes_of(chance, kind):
    if kind == "mixed":
        return [chance.choice((8, 200, 9_000, 16_600, 70_000, 140_000, 600_000)) for _ in range(120)]
    if kind == "small":
        return [16_500 + chance.randint(0, 50) for _ in range(300)]
    return [900_000 + chance.randint(0, 2_000) for _ in range(12)]


@pytest.mark.parametrize("units", [2, 17, 256])
@pytest.mark.parametrize("kind", ["mixed", "small", "large"])
@pytest.mark.parametrize("pinned", [0, 1, 6])
def test_frames_are_whole_and_stay_as_they_are_while_they_are_pinned(units, kind, pinned):
    chance = random.Random(units + pinned)
    fixture = Fixture(units)
    expected = [frame_of(chance, size) for size in sizes_of(chance, kind)]
    stream = memoryview(b"".join(expected))
    held = deque()  # (block, view, bytes): requests whose results are due
    found = position = 0
    while position < len(stream):
        step = chance.choice((1, 700, 20_000, 150_000))
        position += fixture.peer.send(stream[position : position + step])
        for frame, block, place in fixture.frames():
            assert bytes(frame) == expected[found][4:]
            found += 1
            if block is None:
                assert place == -1
                continue
            fixture.in_arena += 1
            assert fixture.memory[place : place + len(frame)] == frame
            if pinned:
                block.pin()
                held.append((block, frame, bytes(frame)))
            while len(held) > pinned:
                old, view, content = held.popleft()
                assert view == content, "received over what a partition worker was told of"
                old.unpin()
    assert found == len(expected)
    if units == 256:
        assert fixture.in_arena >= found - 2
    elif units == 2:
        assert fixture.in_arena < found
    for block, view, content in held:
        assert view == content
        block.unpin()
    fixture.close()
    assert fixture.is_whole
    assert fixture.frame_memory.used == 0


def test_large_frames_of_a_size_are_not_moved():
    """Only what had come before the size was known is copied: no frame of one block begins in another."""
    chance = random.Random(1)
    fixture = Fixture(256)
    for number in range(6):
        left = memoryview(frame_of(chance, 1_000_000 + 3 * number))
        blocks = []
        while left:
            left = left[fixture.peer.send(left[:100_000]) :]
            for _frame, block, _place in fixture.frames():
                block.pin()
                blocks.append(block)
            if left and number:
                assert fixture.connection.block is not None
                assert len(fixture.connection._buffer) >= 1_000_000
        assert len(blocks) == 1
    assert fixture.arena.free_bytes == (256 - 7 * 16) * ARENA_BLOCK_BYTES, "of each frame, and of the next"
    fixture.close()


def test_a_block_of_a_closed_connection_is_free_when_its_last_result_is_there():
    fixture = Fixture(17)
    fixture.peer.sendall(frame_of(random.Random(2), 20_000))
    ((_frame, block, _place),) = fixture.frames()
    block.pin()
    fixture.close()
    assert not fixture.is_whole
    block.unpin()
    assert fixture.is_whole


def test_an_idle_connection_gives_its_block_back_and_receives_on():
    fixture = Fixture(17)
    chance = random.Random(2)
    for _ in range(2):
        fixture.connection.begin_placing()
        data = frame_of(chance, 20_000)
        fixture.peer.sendall(data)
        ((frame, block, _place),) = fixture.frames()
        assert (bytes(frame), block is None) == (data[4:], False)
        fixture.connection.shrink()
        assert fixture.is_whole
        assert not fixture.connection.is_placing


def test_a_frame_that_the_arena_does_not_hold_waits_for_memory_as_ever():
    fixture = Fixture(17)
    data = frame_of(random.Random(2), 1_200_000)
    fixture.frame_memory.take(fixture.connection, (64 << 20) - 1_000)
    fixture.peer.sendall(data[:100_000])
    assert list(fixture.frames()) == []
    assert fixture.connection.is_short
    fixture.frame_memory.give((64 << 20) - 1_000)
    assert fixture.frame_memory.admit() == [fixture.connection]
    assert fixture.push(data[100_000:]) == [(data[4:], None)]
    fixture.close()
    assert fixture.frame_memory.used == 0


def test_memory_that_was_set_aside_for_a_frame_is_given_back_where_a_block_takes_it():
    fixture = Fixture(40)
    fixture.connection.is_placing = False
    data = frame_of(random.Random(2), 500_000)
    fixture.peer.sendall(data[:100_000])
    assert list(fixture.frames()) == []
    assert fixture.frame_memory.used > 0
    fixture.connection.begin_placing()
    ((frame, block),) = fixture.push(data[100_000:])
    assert (frame == data[4:], block is None) == (True, False)
    assert fixture.frame_memory.used == 0
    assert len(fixture.connection._buffer) > RECEIVE_BYTES_BUSY
    fixture.close()
    assert fixture.is_whole


def test_without_an_arena_nothing_is_placed():
    ours, peer = socket.socketpair()
    connection = Connection(ours, "peer", 1, FRAME_MAX, set(), 0)
    connection.begin_placing()
    assert not connection.is_placing
    connection.close()
    peer.close()


def test_a_block_of_a_large_frame_is_given_back_where_small_ones_come():
    fixture = Fixture(256)
    chance = random.Random(2)
    assert len(fixture.push(frame_of(chance, 3_000_000))) == 1
    for _ in range(3):
        fixture.peer.sendall(frame_of(chance, 100))
        assert len(list(fixture.frames())) == 1
    assert fixture.arena.free_bytes >= (256 - 2) * ARENA_BLOCK_BYTES
    fixture.close()
    assert fixture.is_whole


def test_who_places_nothing_for_long_has_no_block_any_more():
    fixture = Fixture(17)
    chance = random.Random(2)
    for _ in range(UNPLACED_RECEIVES_MAX + 2):
        fixture.peer.sendall(frame_of(chance, 100))
        fixture.connection.receive()
        assert fixture.connection.next_frame(5) is not None
    assert fixture.is_whole
    assert not fixture.connection.is_placing
    fixture.connection.begin_placing()
    fixture.peer.sendall(frame_of(chance, 100))
    assert [block is None for _frame, block, _place in fixture.frames()] == [False]
    fixture.close()


def test_frames_that_no_block_holds_are_received_as_without_an_arena():
    fixture = Fixture(16)
    chance = random.Random(2)
    for number in range(4):
        data = frame_of(chance, 700_000)
        assert fixture.push(data) == [(data[4:], None)]
        assert number == 0 or fixture.is_whole
    fixture.close()
    assert fixture.is_whole
    assert fixture.frame_memory.used == 0


def test_a_small_arena_is_used():
    fixture = Fixture(4)
    chance = random.Random(2)
    for _ in range(9):
        fixture.peer.sendall(frame_of(chance, 20_000))
        list(fixture.frames())
    assert fixture.in_arena == 0
    assert fixture.connection.block is not None
    fixture.close()


def test_a_connection_in_line_takes_no_block_and_keeps_no_memory_that_it_does_not_use():
    fixture = Fixture(40)
    chance = random.Random(2)
    blocks = [fixture.arena.take(10 * ARENA_BLOCK_BYTES) for _ in range(4)]
    fixture.frame_memory.take(fixture.connection, (64 << 20) - 1_000)
    data = frame_of(chance, 500_000)
    fixture.peer.sendall(data[:100_000])
    assert list(fixture.frames()) == []
    assert fixture.connection.is_short
    for block in blocks:
        block.leave()
    assert fixture.connection.next_frame(5) is None
    assert fixture.connection.is_short, "its turn comes"
    fixture.frame_memory.give((64 << 20) - 1_000)
    fixture.frame_memory.admit()
    ((frame, block),) = fixture.push(data[100_000:])
    assert (frame == data[4:], block is None) == (True, False)
    assert fixture.frame_memory.used == 0
    fixture.close()


def test_connections_that_wait_for_each_others_memory_are_let_in_one_by_one():
    """Each kept the memory of a frame that has come, has some bytes of the next one, and needs more for it."""
    memory = FrameMemory(1_900_000)
    pairs = []
    for _ in range(2):
        ours, peer = socket.socketpair()
        ours.setblocking(False)
        pairs.append((Connection(ours, "peer", 1, FRAME_MAX, set(), 0, memory), peer))

    def receive(connection):
        while True:
            try:
                connection.receive()
            except BlockingIOError:
                return
            while connection.next_frame(5) is not None:
                pass

    first, second = (struct.pack(">i", size) + bytes(size) for size in (600_000, 1_400_000))
    for connection, peer in pairs:
        left = memoryview(first + second[:3])
        while left:
            left = left[peer.send(left[:100_000]) :]
            receive(connection)
    for connection, peer in pairs:
        peer.sendall(second[3:1_000])
        receive(connection)
    assert [connection.is_short for connection, _peer in pairs] == [True, True]
    assert memory.admit() == [pairs[0][0]]
    left = memoryview(second[1_000:])
    while left:
        left = left[pairs[0][1].send(left[:100_000]) :]
        receive(pairs[0][0])
    pairs[0][0].close()
    assert memory.admit() == [pairs[1][0]]
    for connection, peer in pairs:
        connection.close()
        peer.close()
    assert memory.used == 0
