"""Memory that one network worker receives into, and every partition worker appends from: what is too large to be copied for nothing.

The network worker alone gives places away and takes them back (`workers/network/connections/receive_arena.py`); whose place it is
now is told by messages alone:

    network worker     takes a place, receives a request into it
                       PRODUCE_AT through a ring: the batch lies there
    partition worker   checks, stamps and writes it from there
                       RESULT through a ring: the place is the network worker's again

So a place has one user at a time, and a death frees what the dead one used: a partition worker's with its rings, after `waitpid`; a
network worker's successor has an arena of its own. A PRODUCE_AT is only ever read from a ring of the same generation as the
arena, as both are attached and let go together.
"""

from __future__ import annotations

from headrace.errors import CorruptRing
from headrace.memory import view
from headrace.shm.layout import ARENA_DATA
from headrace.shm.region import Region


class Arena:
    """One network worker's, as any process has it mapped.

    memory   its bytes; places are positions in it
    """

    __slots__ = ("_region", "memory")

    def __init__(self, region: Region) -> None:
        self._region = region
        self.memory = region.memory[ARENA_DATA:]

    def at(self, place: int, length: int) -> memoryview:
        """A writable view of what lies at a place that another process named.

        raises   CorruptRing, where that is not within the arena
        """
        memory = self.memory
        if place < 0 or length < 0 or place + length > len(memory):
            raise CorruptRing(f"{self._region.name}: {length} bytes at {place}, of {len(memory)}")
        return view(memory, place, place + length)

    def close(self) -> bool:
        """Unmap; False while views that are still out keep the mapping."""
        self.memory.release()
        return self._region.close()
