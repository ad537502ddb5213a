"""Places in this network worker's arena: who receives there, and which of them partition workers still append from.

Runs in: a network worker, one object; no other process takes or gives places. A connection that brings large batches receives into a
block, as it would into memory of its own. A produce request whose batches lie in it pins the block until the last of their results
is there (`shm/arena.py`), so nothing is received over them. A block that its connection has left is free when nothing pins it.

    taken by a connection -> pinned by n requests -> left by the connection -> unpinned -> free

Bound: the arena. Where there is no place, requests are received into memory of the connection and copied into a ring, as small
ones always are.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

from headrace.limits import ARENA_BLOCK_BYTES, ARENA_FRAME_SHARE
from headrace.memory import view

_UNIT: Final = ARENA_BLOCK_BYTES


class Block:
    """A stretch of the arena.

    place     its first byte, in the arena
    memory    its bytes
    pins      requests whose batches lie in it
    is_left   its connection receives elsewhere
    """

    __slots__ = ("_owner", "is_left", "memory", "pins", "place")

    def __init__(self, owner: ReceiveArena, place: int, memory: memoryview) -> None:
        self._owner = owner
        self.place = place
        self.memory = memory
        self.pins = 0
        self.is_left = False

    def pin(self) -> None:
        """A partition worker is notified of a place in it."""
        self.pins += 1

    def unpin(self) -> None:
        """It has told what became of all that one request had there."""
        self.pins -= 1
        assert self.pins >= 0
        if self.is_left and not self.pins:
            self._owner.give(self)

    def leave(self) -> None:
        """Its connection has no use for it any more."""
        assert not self.is_left
        self.is_left = True
        if not self.pins:
            self._owner.give(self)


class ReceiveArena:
    """Free stretches of the arena, in whole units, in order, never side by side; the first that is large enough is taken.

    memory            of the arena
    free_bytes        in all
    frame_bytes_max   a larger frame has no block
    """

    __slots__ = ("_free", "_memory", "_starts", "frame_bytes_max", "free_bytes")

    def __init__(self, memory: memoryview) -> None:
        units = len(memory) // _UNIT
        self._memory = memory
        self._starts = [0] * (units > 0)  # in units
        self._free = [units] * (units > 0)  # units from each of these on
        self.free_bytes = units * _UNIT
        self.frame_bytes_max = len(memory) // ARENA_FRAME_SHARE

    @property
    def usual_bytes(self) -> int:
        """Of a block for small frames: fewer where most of the arena is taken."""
        is_roomy = 2 * self.free_bytes >= len(self._memory) and self.frame_bytes_max >= 2 * _UNIT
        return 2 * _UNIT if is_roomy else _UNIT

    def take(self, size_bytes: int) -> Block | None:
        """A block of this size or more; None where there is no room for it."""
        units = (size_bytes + _UNIT - 1) // _UNIT
        free = self._free
        for index, length in enumerate(free):
            if length >= units:
                start = self._starts[index]
                if length == units:
                    del free[index], self._starts[index]
                else:
                    free[index] = length - units
                    self._starts[index] = start + units
                self.free_bytes -= units * _UNIT
                return Block(self, start * _UNIT, view(self._memory, start * _UNIT, (start + units) * _UNIT))
        return None

    def give(self, block: Block) -> None:
        """A block that nothing uses: joined with what is free on either side of it."""
        start, units = block.place // _UNIT, len(block.memory) // _UNIT
        self.free_bytes += units * _UNIT
        starts, free = self._starts, self._free
        index = bisect_left(starts, start)
        assert index == len(starts) or start + units <= starts[index], "a block was released twice"
        if index < len(starts) and starts[index] == start + units:
            units += free[index]
            del starts[index], free[index]
        if index and starts[index - 1] + free[index - 1] == start:
            free[index - 1] += units
            return
        starts.insert(index, start)
        free.insert(index, units)
