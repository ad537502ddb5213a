"""Places of an arena: nobody has two users, all come back, and what is free lies together."""

import random

import pytest

from headrace.limits import ARENA_BLOCK_BYTES
from headrace.workers.network.connections.receive_arena import ReceiveArena

UNITS = 16


@pytest.fixture
def arena():
    return ReceiveArena(memoryview(bytearray(UNITS * ARENA_BLOCK_BYTES + 100)))


def test_what_is_taken_and_given_back_in_any_order_is_never_taken_twice(arena):
    chance = random.Random(4)
    held = []
    for _ in range(5_000):
        if chance.random() < 0.5:
            block = arena.take(chance.randint(1, 5 * ARENA_BLOCK_BYTES))
            if block is not None:
                held.append(block)
        elif held:
            held.pop(chance.randrange(len(held))).leave()
        units = sorted(
            (block.place // ARENA_BLOCK_BYTES, len(block.memory) // ARENA_BLOCK_BYTES, True) for block in held
        )
        units += [(start, count, False) for start, count in zip(arena._starts, arena._free, strict=True)]
        end, was_free = 0, False
        for start, count, is_taken in sorted(units):
            assert start == end, "no gap, no overlap"
            assert is_taken or not was_free, "free stretches side by side"
            end, was_free = start + count, not is_taken
        assert end == UNITS
    for block in held:
        block.leave()
    assert (arena._starts, arena._free) == ([0], [UNITS])
    assert arena.free_bytes == UNITS * ARENA_BLOCK_BYTES


def test_a_block_is_free_when_it_was_left_and_nothing_pins_it_in_either_order(arena):
    for order in ("pin pin leave unpin unpin", "pin unpin leave", "leave", "pin pin unpin leave unpin"):
        block = arena.take(1)
        for step in order.split():
            assert arena.free_bytes == (UNITS - 1) * ARENA_BLOCK_BYTES
            getattr(block, step)()
        assert arena.free_bytes == UNITS * ARENA_BLOCK_BYTES


def test_an_arena_without_room_gives_nothing_and_one_without_a_block_never_does(arena):
    taken = [arena.take(3 * ARENA_BLOCK_BYTES) for _ in range(5)]
    assert all(taken)
    assert arena.take(2 * ARENA_BLOCK_BYTES) is None
    assert arena.take(ARENA_BLOCK_BYTES) is not None
    assert arena.take(1) is None
    none = ReceiveArena(memoryview(bytearray(ARENA_BLOCK_BYTES - 1)))
    assert none.take(1) is None


def test_blocks_for_small_frames_are_smaller_where_most_is_taken(arena):
    assert arena.usual_bytes == 2 * ARENA_BLOCK_BYTES
    arena.take(9 * ARENA_BLOCK_BYTES)
    assert arena.usual_bytes == ARENA_BLOCK_BYTES
