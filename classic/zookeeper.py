"""A ZooKeeper session of a classic client: calls that wait, watches that only wake. Beside `controller/zookeeper/` the only one.

kazoo calls watchers and listeners on its own thread: they call `on_change`, which sets a flag, and return
(KAFKA-6879: work inside of session callbacks deadlocks). The client's own thread then reads everything again. A watch
is set by the read and fires once; the next read sets it again.

    losses   sessions that expired so far: all ephemeral nodes went with each, and have to be made again
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import (
    KazooException,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
)
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.states import KazooState

from headrace.errors import ConfigError, HeadraceError

PERSISTENT, EPHEMERAL = False, True


class ZooKeeperUnavailable(HeadraceError):
    """No connection to ZooKeeper, or a call without a reply: it may have happened."""


class ZooKeeper:
    """One session; any thread may call."""

    def __init__(
        self, connect: str, session_timeout_ms: int, connection_timeout_ms: int, on_change: Callable[[], None]
    ) -> None:
        """raises   ConfigError, ZooKeeperUnavailable"""
        self.losses = 0
        self._on_change = on_change
        self._timeout_s = connection_timeout_ms / 1000
        hosts, _, chroot = connect.partition("/")
        try:
            self._client = KazooClient(
                hosts=connect if chroot.strip("/") else hosts,
                timeout=session_timeout_ms / 1000,
                connection_retry={"max_tries": -1, "delay": 0.05, "backoff": 1.5, "max_delay": 1.0},
                logger=_silent(),
            )
        except ValueError:
            raise ConfigError("zookeeper.connect", connect, "expected host:port[,host:port...][/chroot]") from None
        self._client.add_listener(self._on_state)
        try:
            self._client.start(timeout=self._timeout_s)
        except KazooTimeoutError:
            self.close()
            raise ZooKeeperUnavailable(f"{connect}: no connection within {connection_timeout_ms} ms") from None

    @property
    def session_id(self) -> int:
        """0 while there is no connection."""
        known = self._client.client_id
        return known[0] if known else 0

    def children(self, path: str, is_watched: bool = False) -> list[str] | None:
        """Sorted names of the nodes below; None if the path does not exist. raises ZooKeeperUnavailable"""
        try:
            found: list[str] = self._ask(self._client.get_children_async, path, watch=self._watch(is_watched))
            return sorted(found)
        except NoNodeError:
            if is_watched:  # the creation is a change as well
                self._ask(self._client.exists_async, path, watch=self._watch(True))
            return None

    def get(self, path: str, is_watched: bool = False) -> bytes | None:
        """The data of a node; None if it does not exist. raises ZooKeeperUnavailable"""
        try:
            data: bytes = self._ask(self._client.get_async, path, watch=self._watch(is_watched))[0]
            return data
        except NoNodeError:
            return None

    def owner_session(self, path: str) -> int:
        """The session of an ephemeral node, 0 for another or none."""
        stat = self._ask(self._client.exists_async, path)
        return int(stat.ephemeralOwner) if stat is not None else 0

    def create(self, path: str, data: bytes, is_ephemeral: bool) -> bool:
        """Create a node, and the persistent ones above it; False if it exists. raises ZooKeeperUnavailable"""
        try:
            self._ask(self._client.create_async, path, data, ephemeral=is_ephemeral, makepath=True)
            return True
        except NodeExistsError:
            return False

    def put(self, path: str, data: bytes) -> None:
        """Set the data of a persistent node, which is created if it does not exist. raises ZooKeeperUnavailable"""
        try:
            self._ask(self._client.set_async, path, data)
        except NoNodeError:
            if not self.create(path, data, PERSISTENT):
                self._ask(self._client.set_async, path, data)

    def delete(self, path: str) -> None:
        """Delete a node without children, if it exists. raises ZooKeeperUnavailable"""
        try:
            self._ask(self._client.delete_async, path)
        except (NoNodeError, NotEmptyError):
            pass

    def close(self) -> None:
        """End the session: its ephemeral nodes go at once. Can be repeated."""
        self._client.remove_listener(self._on_state)
        self._client.stop()
        self._client.close()

    def _ask(self, call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        try:
            return call(*arguments, **options).get(timeout=self._timeout_s)
        except (NoNodeError, NodeExistsError, NotEmptyError):
            raise
        except (KazooException, KazooTimeoutError) as failure:
            raise ZooKeeperUnavailable(f"{arguments[0]}: {type(failure).__name__}") from None

    def _watch(self, is_watched: bool) -> Callable[[Any], None] | None:
        return self._on_watch if is_watched else None

    def _on_watch(self, _event: Any) -> None:
        self._on_change()

    def _on_state(self, state: str) -> None:
        if state == KazooState.LOST:
            self.losses += 1
        self._on_change()


def _silent() -> logging.Logger:
    """kazoo logs each attempt of an outage."""
    logger = logging.getLogger("headrace.classic.kazoo")
    logger.setLevel(logging.CRITICAL)
    return logger
