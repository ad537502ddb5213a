"""A process's own place in the fabric: its row, its ring ends, its doorbell, its peers.

Runs in: every forked process, right after the fork. `changed()` is the process's one check per cycle of who else
was replaced: a single load while nothing happened.
"""

from __future__ import annotations

import gc
import time
from typing import Final

from headrace.errors import Fenced
from headrace.limits import JOIN_TRIES_MAX
from headrace.shm.arena import Arena
from headrace.shm.doorbell import Doorbell
from headrace.shm.fabric import LAG, PARTITIONS, PROCESSES, VIEW
from headrace.shm.lag_table import LagTable
from headrace.shm.layout import ring_generation
from headrace.shm.partition_table import PartitionTable
from headrace.shm.process_table import Leave, ProcessState, ProcessTable
from headrace.shm.region import Region, RegionError
from headrace.shm.ring import RingReader, RingWriter
from headrace.shm.view_reader import ClusterViewReader
from headrace.shm.view_writer import ClusterViewWriter
from headrace.shm.wiring import Role, Wiring

JOIN_PAUSE_S: Final = 0.001  # a renewal by the supervisor takes a few of these

_NOTHING: Final[frozenset[int]] = frozenset()


class Seat:
    """One process's ends of everything.

    readers, writers   ring ends by the peer's process id; the dicts stay the same objects, their values change with
                       generations
    arenas             by the id of the network worker that receives into them, in the same way: its own, or those of all of them

    raises   RegionError, where the node's regions are gone or of another boot
    """

    def __init__(self, wiring: Wiring, process_id: int) -> None:
        self.wiring = wiring
        self.process_id = process_id
        self.role = wiring.role(process_id)
        boot_id = wiring.boot_id
        self.processes = ProcessTable(Region.attach(wiring.region_name(PROCESSES), boot_id=boot_id))
        self._epoch = self.processes.epoch()
        self.generation = self.processes.generation(process_id)
        self.partitions = PartitionTable(
            Region.attach(wiring.region_name(PARTITIONS), boot_id=boot_id), wiring.settings["headrace.partitions.max"]
        )
        view_region = Region.attach(wiring.region_name(VIEW), writable=self.role is Role.CONTROLLER, boot_id=boot_id)
        self.view: ClusterViewReader = ClusterViewReader(view_region)
        self.view_writer = ClusterViewWriter(view_region) if self.role is Role.CONTROLLER else None
        self.lags = LagTable(Region.attach(wiring.region_name(LAG), boot_id=boot_id))
        self.counters = self.processes.counters(process_id)
        self._doorbells = [
            Doorbell(fd, self.processes.words, self.processes.parked_index(peer))
            for peer, fd in enumerate(wiring.eventfds)
        ]
        self.doorbell = self._doorbells[process_id]
        self._leaving: list[RingWriter | RingReader | Arena] = []  # closed, but views of them are still out
        self.writers: dict[int, RingWriter] = {}
        self.readers: dict[int, RingReader] = {}
        self.arenas: dict[int, Arena] = {}
        if wiring.arena_bytes(process_id):
            self.arenas[process_id] = Arena(self._attach_arena(process_id, self.generation))
        self._generations = dict.fromkeys(wiring.targets(process_id), 0)
        self._join_all()
        if self.role is Role.NETWORK:
            self.partitions.clear_waits(process_id)
        self.set_state(ProcessState.STARTING)

    def ring(self, process_id: int) -> None:
        """Wake a peer if it sleeps; after the commit."""
        self._doorbells[process_id].ring()

    def changed(self) -> frozenset[int]:
        """Peers that died or were replaced since the last call: what was in flight to them is lost.

        The ring ends of a successor are reattached. Until it has rings, the ends lead to memory of our own, where
        nothing arrives and nothing comes from; the peer is named once more when they are there.

        raises   Fenced, where this process itself was replaced
        """
        if self.processes.epoch() == self._epoch:
            return _NOTHING
        self._epoch = self.processes.epoch()
        return self._follow_generations(self._epoch)

    def beat(self, now_ns: int) -> None:
        """Say that the process turns."""
        self.processes.set_heartbeat(self.process_id, now_ns)

    def set_state(self, state: ProcessState) -> None:
        self.processes.set_state(self.process_id, state)

    def set_followed(self, view_version: int) -> None:
        """A partition worker: everything that this version of the view says has been done, its groups' part as well."""
        self.processes.set_followed(self.process_id, view_version)

    def followed_by_all(self) -> int:
        """The version of the view that every partition worker has followed."""
        return min(map(self.processes.followed, self.wiring.partition_ids))

    def set_away_since(self, date_ms: int) -> None:
        """The controller process: since when it is without ZooKeeper, 0 while it is not."""
        self.processes.set_away_since(self.process_id, date_ms)

    def is_leaving(self) -> bool:
        """The controller process: whether the node is about to stop."""
        return self.processes.is_leaving()

    def set_leave(self, leave: Leave) -> None:
        """The controller process: whether a stop has to wait until leaders have moved."""
        self.processes.set_leave(self.process_id, leave)

    def offline_dirs(self) -> int:
        """Log directories that failed any process of the node: bit n for the n-th of `log.dirs`."""
        mask = 0
        for process_id in range(self.wiring.process_count):
            mask |= self.processes.offline_dirs(process_id)
        return mask

    def report_offline_dirs(self, mask: int) -> None:
        """Notify every process that log directories failed; they stay failed until the node restarts."""
        self.processes.add_offline_dirs(self.process_id, mask)

    def detach(self) -> None:
        """Unmap everything."""
        for writer in self.writers.values():
            writer.close()
        for reader in self.readers.values():
            reader.close()
        for arena in self.arenas.values():
            arena.close()
        self.writers.clear()
        self.readers.clear()
        self.arenas.clear()
        self.view.close()
        self.lags.close()
        self.partitions.close()
        self.processes.close()

    def _follow_generations(self, epoch: int) -> frozenset[int]:
        own = self.processes.generation(self.process_id)
        if own != self.generation:
            raise Fenced(f"process {self.process_id} is of generation {self.generation}, but the node has {own}")
        changed = set()
        for peer, known in self._generations.items():
            generation = self.processes.generation(peer)
            if generation == known:
                continue
            if self._join(peer, generation):
                self._generations[peer] = generation
                changed.add(peer)
            elif known:
                self._let_go(peer)
                self._generations[peer] = 0
                changed.add(peer)
                if self._leaving:
                    gc.collect()  # views in a cycle of garbage are out as well
        self._leaving = [end for end in self._leaving if not end.close()]
        if self._leaving:
            self._epoch = 0  # compare again in the next cycle
        else:
            self.processes.set_released(self.process_id, epoch)
        return frozenset(changed)

    def _join_all(self) -> None:
        """The first attach: every peer, even those being renewed right now."""
        for _ in range(JOIN_TRIES_MAX):
            self._follow_generations(self.processes.epoch())
            if len(self.writers) == len(self._generations):
                return
            time.sleep(JOIN_PAUSE_S)
        missing = sorted(self._generations.keys() - self.writers.keys())
        raise RegionError(f"process {self.process_id}: no rings to processes {missing}")

    def _join(self, peer: int, generation: int) -> bool:
        """Attach the rings to and from a peer; False where they are gone again, because the peer died again."""
        own, own_generation = self.process_id, self.generation
        attached: list[Region] = []
        try:
            attached.append(self._attach_ring(own, own_generation, peer, generation))
            attached.append(self._attach_ring(peer, generation, own, own_generation))
            if self._has_arena_of(peer):
                attached.append(self._attach_arena(peer, generation))
        except RegionError:
            for region in attached:
                region.close()
            self._epoch = 0  # compare again in the next cycle
            return False
        outward, inward, *arena = attached
        self._take_ends(peer, RingWriter(outward), RingReader(inward), *map(Arena, arena))
        return True

    def _let_go(self, peer: int) -> None:
        """A dead peer's rings may be handed on: hold memory of our own in their place."""
        outward, inward = (Region.private(end.region_bytes) for end in (self.writers[peer], self.readers[peer]))
        self._take_ends(peer, RingWriter(outward), RingReader(inward))

    def _take_ends(self, peer: int, writer: RingWriter, reader: RingReader, arena: Arena | None = None) -> None:
        """What a peer is reached by from now on. Nothing in a ring of our own names a place: it needs no arena."""
        old_ends = [self.writers.get(peer), self.readers.get(peer), self.arenas.pop(peer, None)]
        self.writers[peer], self.readers[peer] = writer, reader
        if arena is not None:
            self.arenas[peer] = arena
        self._leaving += [end for end in old_ends if end is not None and not end.close()]

    def _has_arena_of(self, peer: int) -> bool:
        """Whether a peer tells us of places in its arena."""
        return self.role is Role.PARTITION and self.wiring.arena_bytes(peer) > 0

    def _attach_arena(self, process_id: int, generation: int) -> Region:
        return Region.attach(
            self.wiring.arena_name(process_id, generation),
            boot_id=self.wiring.boot_id,
            generation=ring_generation(generation, generation),
        )

    def _attach_ring(self, writer: int, writer_generation: int, reader: int, reader_generation: int) -> Region:
        return Region.attach(
            self.wiring.ring_name(writer, writer_generation, reader, reader_generation),
            boot_id=self.wiring.boot_id,
            generation=ring_generation(writer_generation, reader_generation),
        )
