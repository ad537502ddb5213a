"""What every process of a node inherits: names, counts, descriptors, settings.

Made once by the supervisor before it forks; never changed after.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from headrace.limits import RING_BYTES_MIN
from headrace.settings import Settings
from headrace.shm.ring_sizes import RingSizes


class Role(Enum):
    """What a process of the node does."""

    NETWORK = "network"
    PARTITION = "partition"
    CONTROLLER = "controller"
    HOUSEKEEPER = "housekeeper"


@dataclass(frozen=True, slots=True)
class Wiring:
    """The plan of one boot of a node.

    eventfds            doorbells by process id
    host, port          what clients are sent (advertised)
    clean_directories   log directories that the last stop left with their clean-shutdown marker: true of each log until it is opened
    suspect_directories those whose logs may have lost what was not synced
    new_directories     those that nothing shows to have been used by this node: new, emptied, or not mounted
    offline_directories those that could not be used at the start
    ring_sizes          capacities of the rings, by kind
    """

    prefix: str
    boot_id: str
    settings: Settings
    network_count: int
    partition_count: int
    eventfds: tuple[int, ...] = ()
    host: str = ""
    port: int = 0
    clean_directories: frozenset[str] = field(default_factory=frozenset)
    suspect_directories: frozenset[str] = field(default_factory=frozenset)
    new_directories: frozenset[str] = field(default_factory=frozenset)
    offline_directories: frozenset[str] = field(default_factory=frozenset)
    ring_sizes: RingSizes = field(default_factory=lambda: RingSizes(RING_BYTES_MIN))

    @property
    def log_dirs(self) -> tuple[str, ...]:
        """The log directories that could be used at the start."""
        return tuple(path for path in self.settings["log.dirs"] if path not in self.offline_directories)

    def log_dir_bit(self, log_dir: str) -> int:
        """The bit of a log directory in `Seat.offline_dirs`."""
        place: int = self.settings["log.dirs"].index(log_dir)
        return 1 << place

    @property
    def process_count(self) -> int:
        return self.network_count + self.partition_count + 2

    @property
    def controller_id(self) -> int:
        return self.network_count + self.partition_count

    @property
    def housekeeper_id(self) -> int:
        return self.network_count + self.partition_count + 1

    @property
    def network_ids(self) -> range:
        return range(self.network_count)

    @property
    def partition_ids(self) -> range:
        return range(self.network_count, self.network_count + self.partition_count)

    def role(self, process_id: int) -> Role:
        if process_id < self.network_count:
            return Role.NETWORK
        if process_id < self.controller_id:
            return Role.PARTITION
        return Role.CONTROLLER if process_id == self.controller_id else Role.HOUSEKEEPER

    def index(self, process_id: int) -> int:
        """Ordinal of a process within its role."""
        return process_id - self.network_count if process_id in self.partition_ids else (
            process_id if process_id < self.network_count else 0
        )  # fmt: skip

    def title(self, process_id: int) -> str:
        """A name for logs and `ps`, at most 15 bytes: hr-network-0."""
        return f"hr-{self.role(process_id).value[:9]}-{self.index(process_id)}"

    def region_name(self, what: str) -> str:
        return f"/{self.prefix}-{self.boot_id}-{what}"

    def ring_name(self, writer: int, writer_generation: int, reader: int, reader_generation: int) -> str:
        return self.region_name(f"ring.{writer}.{writer_generation}.{reader}.{reader_generation}")

    def arena_name(self, process_id: int, generation: int) -> str:
        return self.region_name(f"arena.{process_id}.{generation}")

    def arena_bytes(self, process_id: int) -> int:
        """What a process receives into; 0: it has no arena."""
        return self.ring_sizes.arena if process_id < self.network_count else 0

    def targets(self, process_id: int) -> tuple[int, ...]:
        """Process ids this process has a ring to; it has a ring from each of them as well."""
        role = self.role(process_id)
        if role is Role.NETWORK:
            return (*self.partition_ids, self.controller_id)
        if role is Role.PARTITION:
            others = [other for other in self.partition_ids if other != process_id]
            return (*self.network_ids, *others, self.controller_id, self.housekeeper_id)
        return (*self.network_ids, *self.partition_ids) if role is Role.CONTROLLER else tuple(self.partition_ids)

    def pairs(self) -> list[tuple[int, int]]:
        """Every (writer, reader) that is joined by a ring."""
        return [(writer, reader) for writer in range(self.process_count) for reader in self.targets(writer)]

    def pairs_of(self, process_id: int) -> list[tuple[int, int]]:
        """The pairs that a process is in."""
        return [pair for peer in self.targets(process_id) for pair in ((process_id, peer), (peer, process_id))]
