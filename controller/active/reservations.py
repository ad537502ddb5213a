"""Names of topics that a task writes in several steps: nothing else writes, reads or deletes them meanwhile.

Runs in: the controller process of the active node, over all of its terms: what a task of an earlier one writes still is reserved.
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.controller.cluster import events
from headrace.runtime.tasks import Future


class Reservations:
    """The names.

    tell         takes what the agent has to know
    is_marked    whether a topic of this name is marked for deletion
    on_written   called with a name that is free again, where all that was written was reported
    """

    def __init__(
        self,
        tell: Callable[[events.ToAgent], None],
        is_marked: Callable[[str], bool],
        on_written: Callable[[str], None],
    ) -> None:
        self._tell = tell
        self._is_marked = is_marked
        self._on_written = on_written
        self._writing: dict[str, Future[None]] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._writing

    async def wait_free(self, name: str) -> None:
        """Wait until no task writes a topic of this name. Until the caller's next await none will."""
        while name in self._writing:
            await self._writing[name]

    def reserve(self, name: str) -> None:
        """Call after `wait_free`."""
        self._writing[name] = Future()
        self._tell(events.NameReserved(name))

    def release(self, name: str, is_told: bool) -> None:
        """is_told   whether the agent knows all that was written; of a marked name the marks are read again"""
        self._tell(events.NameReleased(name, is_told and not self._is_marked(name)))
        self._writing.pop(name).complete(None)
        if is_told:
            self._on_written(name)
