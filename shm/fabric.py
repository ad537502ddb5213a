"""All shared memory of one boot, from the supervisor's side: made, renewed after a death, taken down.

Runs in: the supervisor, which creates and unlinks and otherwise does not touch it. Order of a renewal, which
the peers rely on:

    waitpid has returned  ->  old rings unlinked  ->  new rings created  ->  generation raised, epoch moved
    ->  doorbells forced  ->  fork

A process that still held the old rings (it was stopped, say) writes into memory that nobody reads, and finds
its generation void.
"""

from __future__ import annotations

import dataclasses
import os
import uuid

from headrace.limits import ANSWER_RING_BYTES, CLUSTER_VIEW_BYTES_MAX, CONTROL_RING_BYTES, UPKEEP_RING_BYTES
from headrace.settings import Settings
from headrace.shm import layout
from headrace.shm.doorbell import Doorbell
from headrace.shm.fence import check_machine
from headrace.shm.process_table import ProcessTable
from headrace.shm.region import Region, region_prefix, sweep, unlink
from headrace.shm.wiring import Role, Wiring

PROCESSES = "processes"
PARTITIONS = "partitions"
VIEW = "view"
LAG = "lag"
VIEW_BUFFER_BYTES = CLUSTER_VIEW_BYTES_MAX // 4
BOOT_ID_DIGITS = 12


class Fabric:
    """The regions and doorbells of a node's boot."""

    def __init__(self, wiring: Wiring, processes: ProcessTable, regions: list[Region]) -> None:
        self.wiring = wiring
        self.processes = processes
        self._regions = regions

    @classmethod
    def create(
        cls,
        settings: Settings,
        *,
        host: str = "",
        port: int = 0,
        clean_directories: frozenset[str] = frozenset(),
        offline_directories: frozenset[str] = frozenset(),
    ) -> Fabric:
        """Sweep what earlier boots left, then make everything. The caller holds the log directories' locks.

        raises   StorageFailed, where /dev/shm is too small; ConfigError, on a machine other than x86-64
        """
        check_machine()
        prefix = region_prefix(settings["broker.id"], settings["log.dirs"][0])
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
            offline_directories=offline_directories,
        )
        count = wiring.process_count
        flags = os.EFD_NONBLOCK | os.EFD_CLOEXEC
        wiring = dataclasses.replace(wiring, eventfds=tuple(os.eventfd(0, flags) for _ in range(count)))
        regions: list[Region] = []
        try:
            for what, size in (
                (PROCESSES, layout.process_region_bytes(count)),
                (PARTITIONS, layout.partition_region_bytes(settings["headrace.partitions.max"])),
                (VIEW, layout.view_region_bytes(VIEW_BUFFER_BYTES)),
                (LAG, layout.lag_region_bytes(settings["headrace.lag.rows.max"] * wiring.partition_count)),
            ):
                regions.append(Region.create(wiring.region_name(what), size, boot_id=wiring.boot_id))
            fabric = cls(wiring, ProcessTable(regions[0]), regions)
            for process_id in range(count):
                fabric.processes.raise_generation(process_id)
            for writer, reader in wiring.pairs():
                fabric._create_ring(writer, reader)
        except BaseException:
            _take_down(wiring, regions)
            raise
        return fabric

    def renew(self, process_id: int) -> int:
        """Void a dead process's rings and give its successor new ones. Only after `waitpid`.

        returns   the successor's generation
        """
        wiring = self.wiring
        pairs = [pair for pair in wiring.pairs() if process_id in pair]
        for writer, reader in pairs:
            unlink(wiring.ring_name(writer, self._generation(writer), reader, self._generation(reader)))
        generation = self._generation(process_id) + 1
        for writer, reader in pairs:
            self._create_ring(writer, reader, renewed=process_id)
        raised = self.processes.raise_generation(process_id)
        assert raised == generation
        for peer in range(wiring.process_count):
            self.doorbell(peer).force()
        return generation

    def doorbell(self, process_id: int) -> Doorbell:
        return Doorbell(self.wiring.eventfds[process_id], self.processes.words, self.processes.parked_index(process_id))

    def destroy(self) -> None:
        """Unlink every region of this boot and close the doorbells."""
        _take_down(self.wiring, self._regions)

    def _generation(self, process_id: int) -> int:
        return self.processes.generation(process_id)

    def _create_ring(self, writer: int, reader: int, renewed: int = -1) -> None:
        """Create and let go again: the two ends attach by name. `renewed` gets the ring of its next generation."""
        writer_generation = self._generation(writer) + (writer == renewed)
        reader_generation = self._generation(reader) + (reader == renewed)
        Region.create(
            self.wiring.ring_name(writer, writer_generation, reader, reader_generation),
            layout.ring_region_bytes(_ring_capacity(self.wiring, writer, reader)),
            boot_id=self.wiring.boot_id,
            generation=layout.ring_generation(writer_generation, reader_generation),
        ).close()


def _ring_capacity(wiring: Wiring, writer: int, reader: int) -> int:
    if wiring.controller_id in (writer, reader):
        return CONTROL_RING_BYTES
    if wiring.housekeeper_id in (writer, reader):
        return UPKEEP_RING_BYTES
    if wiring.role(writer) is Role.NETWORK:
        return int(wiring.settings["headrace.request.ring.bytes"])
    return ANSWER_RING_BYTES


def _take_down(wiring: Wiring, regions: list[Region]) -> None:
    for region in regions:
        region.close()
    for fd in wiring.eventfds:
        os.close(fd)
    sweep(wiring.prefix)
