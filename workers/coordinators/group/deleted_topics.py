"""Topics that are no more, and whose committed offsets have to go: one pass over the groups at a time.

    names added, loaded -> tombstones of all that is found -> committed: done         -> not: again in RETRY_MS

Each offset is checked once, however many topics. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from headrace.errors import ErrorCode
from headrace.workers.coordinators.group.events import OffsetsForgotten
from headrace.workers.coordinators.group.group import Group
from headrace.workers.coordinators.group.machine import GroupMachine

RETRY_MS: Final = 1_000


class RetryTime(NamedTuple):
    """The event of the timer that is set when offsets could not be removed."""

    serial: int


class DeletedTopics:
    """What has to be forgotten in one partition.

    names   of topics some of whose offsets may be here, or in the log
    """

    __slots__ = ("_error", "_groups_left", "_retry_timer", "_under_way", "names")

    def __init__(self) -> None:
        self.names: set[str] = set()
        self._under_way: frozenset[str] = frozenset()
        self._groups_left = 0
        self._error = ErrorCode.NONE
        self._retry_timer = 0

    def add(self, machine: GroupMachine, names: Iterable[str]) -> None:
        """Further topics; they wait for a pass that runs, or for its retry."""
        self.names.update(names)
        self.start(machine)

    def start(self, machine: GroupMachine) -> None:
        """Begin a pass, if there is something to do and nothing to wait for."""
        if machine.is_loading or not self.names or self._under_way or self._retry_timer:
            return
        found = _offsets_of(machine.groups.values(), {name.encode() for name in self.names})
        self._under_way, self._groups_left, self._error = frozenset(self.names), len(found), ErrorCode.NONE
        if not found:
            self._end(machine)
        for group, suffixes in found.items():
            machine.do(group, OffsetsForgotten(group, suffixes))

    def cleared(self, machine: GroupMachine, error: ErrorCode) -> None:
        """One group's offsets are gone, or could not be removed."""
        self._groups_left -= 1
        self._error = self._error or error
        if not self._groups_left:
            self._end(machine)

    def _end(self, machine: GroupMachine) -> None:
        names, self._under_way = self._under_way, frozenset()
        if not self._error:
            self.names -= names
            self.start(machine)
            return
        machine.warn(
            "offsets of deleted topics not removed, retrying in %d ms partition=%s topics=%d error=%s",
            RETRY_MS, machine.name, len(names), self._error.name,
        )  # fmt: skip
        self._retry_timer = machine.set_timer(machine.now_ms + RETRY_MS, RetryTime)

    def retry(self, machine: GroupMachine, event: RetryTime) -> None:
        if self._retry_timer == event.serial:
            self._retry_timer = 0
            self.start(machine)

    def unload(self, machine: GroupMachine) -> None:
        """The partition is given up: it is for another coordinator to forget them."""
        machine.cancel_timer(self._retry_timer)
        self.names.clear()
        self._retry_timer = 0


def _offsets_of(groups: Iterable[Group], names: set[bytes]) -> dict[Group, list[bytes]]:
    """Key suffixes of the offsets of these topics, committed or in flight."""
    found: dict[Group, list[bytes]] = {}
    for group in groups:
        suffixes = dict.fromkeys(suffix for suffix in group.offsets if suffix[2:-4] in names)
        suffixes.update(dict.fromkeys(suffix for suffix in group.in_flight if suffix[2:-4] in names))
        for held in group.transactions.values():
            suffixes.update(dict.fromkeys(suffix for suffix in held if suffix[2:-4] in names))
        if suffixes:
            found[group] = list(suffixes)
    return found
