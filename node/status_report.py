"""What a node says of itself: its status and READY to the service manager, and the ready line.

Runs in: the supervisor. A status is sent where it is another than the last one.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from headrace.errors import HeadraceError
from headrace.node import status
from headrace.node.children import Child
from headrace.node.listeners import Listeners
from headrace.node.notify import Notifier
from headrace.node.placement import placement
from headrace.node.zookeeper_status import is_zookeeper_away, zookeeper_troubles
from headrace.settings import Settings
from headrace.shm.fabric import Fabric

START_EXTENSION_MS = 30_000  # what systemd grants at a time while a start makes progress

_log = logging.getLogger(__name__)


class StatusReport:
    """That of one node.

    directory   what the ready line shows
    """

    def __init__(self, notifier: Notifier, settings: Settings, directory: str) -> None:
        self._notifier = notifier
        self._settings = settings
        self._directory = directory
        self._fabric: Fabric
        self._listeners: Listeners
        self._children: list[Child] = []
        self._status = ""  # as it was sent last
        self._news: list[str] = []  # of the last reload
        self._furthest = status.NO_PROGRESS

    @property
    def has_said(self) -> bool:
        """Whether any status was sent."""
        return bool(self._status)

    def begin(self, fabric: Fabric, listeners: Listeners, children: list[Child]) -> None:
        """There are processes to say something of."""
        self._fabric, self._listeners, self._children = fabric, listeners, children
        places = placement(self._settings)
        if places:
            _log.info(
                "workers pinned %s", " ".join(f"{fabric.wiring.title(one)}={core}" for one, core in places.items())
            )

    def waiting(self, reason: str) -> None:
        """The start can't go on yet."""
        self._say(f"waiting: {reason}")

    def announce(self, on_ready: Callable[[str], None] | None) -> None:
        """The node serves.

        on_ready   called with `HOST:PORT` after the ready line
        """
        bootstrap, bound = self._listeners.bootstrap, self._listeners.bound
        listening = "" if bound == bootstrap else f" listening={bound}"
        zookeeper = self._settings["zookeeper.connect"]
        line = f"ready bootstrap={bootstrap}{listening} zookeeper={zookeeper} dir={self._directory}"
        self._status = self._serving_line()
        self._notifier.ready(self._status)
        try:
            print(line, flush=True)
            if on_ready is not None:
                on_ready(bootstrap)
        except OSError as failure:  # the reader of our standard output is gone: no reason to stop serving
            _log.warning("ready line not printed reason=%s", failure)
        _log.info("serving bootstrap=%s listening=%s processes=%d", bootstrap, bound, len(self._children))

    def serving(self) -> None:
        """How the node that serves is now."""
        self._say(self._serving_line())

    def starting(self) -> None:
        """What the start is at; more time only for as long as it gets on."""
        now = status.progress(self._fabric.processes, self._fabric.wiring)
        self._say(status.start_line(now, self._fabric.wiring.process_count, self._troubles()))
        if now.beyond(self._furthest) or is_zookeeper_away(self._fabric.processes, self._fabric.wiring):
            self._furthest = now.furthest(self._furthest)
            self._notifier.extend(START_EXTENSION_MS)

    def _serving_line(self) -> str:
        return status.serving_line(self._listeners.bootstrap, self._listeners.bound, self._troubles(), self._news)

    def _troubles(self) -> list[str]:
        return [
            *status.child_troubles(self._children, self._fabric.wiring, time.monotonic_ns()),
            *status.directory_troubles(self._fabric.processes, self._fabric.wiring),
            *zookeeper_troubles(self._fabric.processes, self._fabric.wiring),
        ]

    def _say(self, line: str) -> None:
        if line != self._status:
            self._status = line
            self._notifier.status(line)

    def reload(self, load_again: Callable[[], Settings]) -> None:
        """Read the settings again, and say which of them only a restart applies: all, for now."""
        self._notifier.reloading(time.monotonic_ns() // 1000)
        try:
            settings = load_again()
        except HeadraceError as failure:
            _log.error("reload refused, settings unchanged reason=%s", failure)
            self._news = [f"reload refused: {failure}"]
        else:
            changed = sorted(key for key in settings if settings.text(key) != self._settings.text(key))
            _log.info("settings reloaded changed=%s", ",".join(changed) or "none")
            for key in changed:
                _log.warning("setting changed, takes effect after a restart key=%s", key)
            self._news = [f"effective after a restart: {', '.join(changed)}"] if changed else []
        self._status = self._serving_line()
        self._notifier.ready(self._status)
