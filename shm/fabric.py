"""All shared memory of one boot, from the supervisor's side: created, renewed after a death, destroyed.

Runs in: the supervisor, which creates and unlinks and otherwise does not touch it. Order of a renewal, which
the peers rely on:

    waitpid has returned  ->  new rings created, old ones unlinked
                          ->  generation raised, epoch moved  ->  doorbells forced  ->  fork

A process that still held the old rings (it was stopped, say) writes into memory that no process reads, and finds
its generation void. If there is no space for new rings in /dev/shm, or no descriptor, the old ones are reused, whose pages are reserved:

    waitpid has returned  ->  generation raised, epoch moved  ->  doorbells forced
                          ->  each peer that runs has released them and says so (`released`)
                          ->  emptied, renamed  ->  doorbells forced  ->  fork

So a renewal needs no space beyond what the node reserved at its start. A network worker's arena is renewed and handed on as its
rings are: here it is the pair of that worker and itself, held by every partition worker as well.
"""

from __future__ import annotations

import dataclasses
import logging
import os
import time
import uuid
from typing import Final

from headrace.clock import read_monotonic_ns, read_wall_ns
from headrace.errors import StorageFailed
from headrace.limits import RENEWAL_RETRY_MS
from headrace.settings import Settings
from headrace.shm import layout
from headrace.shm.doorbell import Doorbell
from headrace.shm.fence import check_machine
from headrace.shm.process_table import ProcessTable
from headrace.shm.region import SHM_DIRECTORY, Region, RegionError, region_prefix, rename, sweep, unlink
from headrace.shm.ring_sizes import RingSizes, bound_bytes, cluster_rows, ring_sizes, shm_bytes, view_region_bytes
from headrace.shm.steady_date import SteadyDate, kept_offset_ns
from headrace.shm.wiring import Role, Wiring

PROCESSES: Final = "processes"
PARTITIONS: Final = "partitions"
VIEW: Final = "view"
LAG: Final = "lag"
BOOT_ID_DIGITS: Final = 12

_log: Final = logging.getLogger(__name__)


class Fabric:
    """The regions and doorbells of a node's boot.

    date   the steady date of this life, to be turned now and then
    """

    def __init__(self, wiring: Wiring, processes: ProcessTable, regions: list[Region]) -> None:
        self.wiring = wiring
        self.processes = processes
        self.date = SteadyDate(processes.words)
        self._regions = regions
        self._names: dict[tuple[int, int], str] = {}  # of the ring that each (writer, reader) has, or will hand on
        self._void_since: dict[int, int] = {}  # process id -> epoch since which its last generation is void
        self._retry_ns = 0  # no try to make rings before this

    @classmethod
    def create(
        cls,
        settings: Settings,
        *,
        host: str = "",
        port: int = 0,
        clean_directories: frozenset[str] = frozenset(),
        suspect_directories: frozenset[str] = frozenset(),
        new_directories: frozenset[str] = frozenset(),
        offline_directories: frozenset[str] = frozenset(),
    ) -> Fabric:
        """Remove what earlier boots left, then create everything. The caller holds the log directories' locks.

        raises   StorageFailed, if /dev/shm is too small; ConfigError, on a machine other than x86-64
        """
        check_machine()
        bound = bound_bytes(settings, SHM_DIRECTORY)
        sizes = ring_sizes(settings, bound)
        prefix = region_prefix(settings["broker.id"], settings["log.dirs"][0])
        kept_ns = kept_offset_ns(prefix, PROCESSES)
        sweep(prefix)
        wiring = Wiring(
            prefix=prefix,
            boot_id=uuid.uuid4().hex[:BOOT_ID_DIGITS],
            settings=settings,
            network_count=settings["headrace.network.workers"],
            partition_count=settings["headrace.partition.workers"],
            host=host,
            port=port,
            clean_directories=clean_directories,
            suspect_directories=suspect_directories,
            new_directories=new_directories,
            offline_directories=offline_directories,
            ring_sizes=sizes,
        )
        _tell_sizes(settings, sizes, bound)
        count = wiring.process_count
        flags = os.EFD_NONBLOCK | os.EFD_CLOEXEC
        wiring = dataclasses.replace(wiring, eventfds=tuple(os.eventfd(0, flags) for _ in range(count)))
        regions: list[Region] = []
        try:
            for what, size in (
                (PROCESSES, layout.process_region_bytes(count)),
                (PARTITIONS, layout.partition_region_bytes(settings["headrace.partitions.max"])),
                (VIEW, view_region_bytes(settings)),
                (LAG, layout.lag_region_bytes(settings["headrace.lag.rows.max"] * wiring.partition_count)),
            ):
                regions.append(Region.create(wiring.region_name(what), size, boot_id=wiring.boot_id))
                if what == VIEW:
                    layout.lay_out_view(regions[-1].words, cluster_rows(settings))
                elif what == LAG:
                    layout.lay_out_lag(regions[-1].words, settings["headrace.lag.rows.max"])
            fabric = cls(wiring, ProcessTable(regions[0]), regions)
            fabric.date.begin(read_wall_ns(), read_monotonic_ns(), kept_ns)
            for process_id in range(count):
                fabric.processes.raise_generation(process_id)
            arenas = [(process_id, process_id) for process_id in range(count) if wiring.arena_bytes(process_id)]
            for writer, reader in [*wiring.pairs(), *arenas]:
                fabric._names[writer, reader] = fabric._create_ring(writer, reader)
        except BaseException:
            _take_down(wiring, regions)
            raise
        return fabric

    def renew(self, process_id: int) -> int:
        """Void a dead process's rings and, if there is space, create new ones for its successor. Only after `waitpid`.

        returns   the successor's generation; it may start when `settle` returns True
        """
        generation = self._generation(process_id) + 1
        is_created = self._make_rings(process_id, generation)
        raised = self.processes.raise_generation(process_id)
        assert raised == generation
        self._void_since[process_id] = self.processes.epoch()
        if not is_created:
            _log.warning("no space for new rings, reusing the old ones role=%s", self.wiring.title(process_id))
        self._ring_all()
        return generation

    def settle(self, process_id: int) -> bool:
        """Whether a renewed process has its rings, and may be forked now; call again if not."""
        pairs = [pair for pair in self._pairs_of(process_id) if self._names[pair] != self._name(*pair)]
        if pairs and not self._hand_on(pairs):
            if time.monotonic_ns() < self._retry_ns or not self._make_rings(process_id, self._generation(process_id)):
                return False
            self._ring_all()
        self.processes.set_released(process_id, 0)  # from its first instruction on it may hold any ring
        return True

    def holders(self, process_id: int) -> list[int]:
        """Peers that have not released the rings of a dead process."""
        void_since = self._void_since.get(process_id, 0)
        peers = (process_id, *self.wiring.targets(process_id))
        return [peer for peer in sorted(peers) if self.processes.released(peer) < void_since]

    def _make_rings(self, process_id: int, generation: int) -> bool:
        """Every ring of a process's generation in new memory, the old ones unlinked; False: there is no room, or no descriptor."""
        made: dict[tuple[int, int], str] = {}
        try:
            for pair in self._pairs_of(process_id):
                if self._names[pair] != self._name(*pair, (process_id, generation)):
                    made[pair] = self._create_ring(*pair, (process_id, generation))
        except StorageFailed as failure:
            for name in made.values():
                unlink(name)
            self._retry_ns = time.monotonic_ns() + RENEWAL_RETRY_MS * 1_000_000
            _log.debug("rings not created reason=%s", failure)
            return False
        for pair, name in made.items():
            unlink(self._names[pair])
            self._names[pair] = name
        return True

    def _hand_on(self, pairs: list[tuple[int, int]]) -> bool:
        """Empty rings and give them their new names; False while a peer still holds one of them, or one can't be mapped for now."""
        for writer, reader in pairs:
            void_since = max(self._void_since.get(writer, 0), self._void_since.get(reader, 0))
            holders = (writer, *self.wiring.partition_ids) if writer == reader else (writer, reader)
            if min(map(self.processes.released, holders)) < void_since:
                return False
        for writer, reader in pairs:
            try:
                region = Region.attach(self._names[writer, reader], boot_id=self.wiring.boot_id)
            except RegionError as failure:
                _log.debug("rings not handed over reason=%s", failure)
                return False
            layout.empty_ring(region.words, layout.ring_generation(self._generation(writer), self._generation(reader)))
            region.close()
            rename(self._names[writer, reader], self._name(writer, reader))
            self._names[writer, reader] = self._name(writer, reader)
        self._ring_all()
        return True

    def _pairs_of(self, process_id: int) -> list[tuple[int, int]]:
        """Of its rings, and of its arena where it has one."""
        pairs = self.wiring.pairs_of(process_id)
        return [*pairs, (process_id, process_id)] if self.wiring.arena_bytes(process_id) else pairs

    def _ring_all(self) -> None:
        for peer in range(self.wiring.process_count):
            self.doorbell(peer).force()

    def doorbell(self, process_id: int) -> Doorbell:
        return Doorbell(self.wiring.eventfds[process_id], self.processes.words, self.processes.parked_index(process_id))

    def destroy(self) -> None:
        """Unlink every region of this boot and close the doorbells."""
        _take_down(self.wiring, self._regions)

    def _generation(self, process_id: int) -> int:
        return self.processes.generation(process_id)

    def _generations(self, writer: int, reader: int, renewed: tuple[int, int]) -> tuple[int, int]:
        """Of both ends of a ring; `renewed` is a process and the generation that it is about to have."""
        process_id, generation = renewed
        return (
            generation if writer == process_id else self._generation(writer),
            generation if reader == process_id else self._generation(reader),
        )

    def _name(self, writer: int, reader: int, renewed: tuple[int, int] = (-1, 0)) -> str:
        writer_generation, reader_generation = self._generations(writer, reader, renewed)
        if writer == reader:
            return self.wiring.arena_name(writer, writer_generation)
        return self.wiring.ring_name(writer, writer_generation, reader, reader_generation)

    def _create_ring(self, writer: int, reader: int, renewed: tuple[int, int] = (-1, 0)) -> str:
        """Create and unmap: the two ends attach by name."""
        name = self._name(writer, reader, renewed)
        Region.create(
            name,
            _region_bytes(self.wiring, writer, reader),
            boot_id=self.wiring.boot_id,
            generation=layout.ring_generation(*self._generations(writer, reader, renewed)),
        ).close()
        return name


def _region_bytes(wiring: Wiring, writer: int, reader: int) -> int:
    if writer == reader:
        return layout.arena_region_bytes(wiring.arena_bytes(writer))
    return layout.ring_region_bytes(_ring_capacity(wiring, writer, reader))


def _ring_capacity(wiring: Wiring, writer: int, reader: int) -> int:
    sizes = wiring.ring_sizes
    roles = (wiring.role(writer), wiring.role(reader))
    if Role.HOUSEKEEPER in roles:
        return sizes.upkeep
    if Role.NETWORK not in roles:
        return sizes.peer
    if Role.CONTROLLER in roles:
        return sizes.control
    return sizes.request if roles[0] is Role.NETWORK else sizes.answer


def _tell_sizes(settings: Settings, sizes: RingSizes, bound: int) -> None:
    """Log what is reserved, and whether rings were shrunk, which matters for large produce requests."""
    reserved = shm_bytes(settings, sizes)
    hint = ""
    if reserved > bound:
        hint = " hint=rings can't be smaller: lower headrace.network.workers or headrace.partition.workers"
    elif sizes.request < settings["headrace.request.ring.bytes"]:
        hint = " hint=headrace.shm.bytes.max allows larger"
    _log.info(
        "shared memory bytes=%d of=%d request_rings=%d answer_rings=%d control_rings=%d peer_rings=%d arenas=%d%s",
        reserved,
        bound,
        sizes.request,
        sizes.answer,
        sizes.control,
        sizes.peer,
        sizes.arena,
        hint,
    )


def _take_down(wiring: Wiring, regions: list[Region]) -> None:
    for region in regions:
        region.close()
    for fd in wiring.eventfds:
        os.close(fd)
    sweep(wiring.prefix)
