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

from headrace.limits import ANSWER_RING_BYTES, CLUSTER_VIEW_BYTES_MAX, CONTROL_RING_BYTES
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
            ):
                regions.append(Region.create(wiring.region_name(what), size))
            fabric = cls(wiring, ProcessTable(regions[0]), regions)
            for process_id in range(count):
                fabric.processes.raise_generation(process_id)
            for writer, reader in wiring.pairs():
                fabric._create_ring(writer, reader)
        except BaseException:
            for fd in wiring.eventfds:
                os.close(fd)
            sweep(prefix)
            raise
        return fabric

    def renew(self, process_id: int) -> int:
        """Void a dead process's rings and give its successor new ones. Only after `waitpid`.

        returns   the successor's generation
        """
        wiring = self.wiring
        pairs = [pair for pair in wiring.pairs() if process_id in pair]
        for writer, reader in pairs:
            unlink(self._ring_name(writer, reader))
        generation = self.processes.generation(process_id) + 1
        for writer, reader in pairs:
            self._create_ring(writer, reader, {process_id: generation})
        raised = self.processes.raise_generation(process_id)
        assert raised == generation
        for peer in range(wiring.process_count):
            self.doorbell(peer).force()
        return generation

    def doorbell(self, process_id: int) -> Doorbell:
        return Doorbell(self.wiring.eventfds[process_id], self.processes.words, self.processes.parked_index(process_id))

    def destroy(self) -> None:
        """Unlink every region of this boot and close the doorbells."""
        for region in self._regions:
            region.close()
        for fd in self.wiring.eventfds:
            os.close(fd)
        sweep(self.wiring.prefix)

    def _ring_name(self, writer: int, reader: int, generations: dict[int, int] | None = None) -> str:
        generations = generations or {}
        return self.wiring.ring_name(
            writer,
            generations.get(writer, self.processes.generation(writer)),
            reader,
            generations.get(reader, self.processes.generation(reader)),
        )

    def _create_ring(self, writer: int, reader: int, generations: dict[int, int] | None = None) -> None:
        """Create and let go again: the two ends attach by name."""
        roles = {self.wiring.role(writer), self.wiring.role(reader)}
        if Role.CONTROLLER in roles:
            capacity = CONTROL_RING_BYTES
        elif self.wiring.role(writer) is Role.NETWORK:
            capacity = self.wiring.settings["headrace.request.ring.bytes"]
        else:
            capacity = ANSWER_RING_BYTES
        name = self._ring_name(writer, reader, generations)
        Region.create(name, layout.ring_region_bytes(capacity)).close()
