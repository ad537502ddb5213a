"""Frames that are received in an arena: whole, where they stay while a partition worker appends from there.

Holds: workers/network/connection.py
"""

import random
import socket
import struct
from collections import deque

import pytest

from headrace.limits import ARENA_BLOCK_BYTES, RECEIVE_BYTES_BUSY
from headrace.workers.network.connection import Connection
from headrace.workers.network.frame_memory import FrameMemory
from headrace.workers.network.receive_arena import ReceiveArena

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
    left = memoryview(data)[100_000:]
    found = []
    while left:
        left = left[fixture.peer.send(left[:100_000]) :]
        found += fixture.frames()
    ((frame, block, _place),) = found
    assert (frame == data[4:], block) == (True, None)
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
    left = memoryview(data)[100_000:]
    found = []
    while left:
        left = left[fixture.peer.send(left[:100_000]) :]
        found += fixture.frames()
    ((frame, block, _place),) = found
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
