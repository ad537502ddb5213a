"""The ZooKeeper session: the only place that imports kazoo.

Runs in: the controller process. kazoo has threads of its own; its callbacks do nothing but put an event into
a queue and ring our doorbell (KAFKA-6879: work inside session callbacks deadlocks). Every call has a
deadline. The session's id and password are kept in a file, so that a process killed and restarted resumes its
session and its ephemeral nodes never blink.

A call whose reply was lost raises `ZkLost`: it may have happened; the caller reads again and compares.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from kazoo.client import KazooClient, TransactionRequest
from kazoo.exceptions import KazooException, NodeExistsError, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.states import KazooState

from headrace.errors import HeadraceError

CALL_TIMEOUT_S = 10.0
EVENTS_MAX = 10_000
SESSION_FILE = ".headrace-session"

SESSION_LOST = "session lost"
SESSION_BACK = "session back"
CHANGED = "changed"

logging.getLogger("kazoo").setLevel(logging.ERROR)
_log = logging.getLogger(__name__)


class ZkError(HeadraceError):
    """A call that ZooKeeper refused."""


class ZkLost(ZkError):
    """No reply: the call may or may not have happened."""


class ZkConflict(ZkError):
    """A version check or an existence check failed: somebody else wrote."""


class Node(NamedTuple):
    data: bytes
    version: int
    ephemeral_owner: int
    created_zxid: int


class Event(NamedTuple):
    kind: str  # SESSION_LOST, SESSION_BACK or CHANGED
    path: str


class ZkSession:
    """One session, resumed where the file has one that is still alive."""

    def __init__(self, connect: str, timeout_ms: int, session_file: Path | None, on_event: Callable[[], None]) -> None:
        self._session_file = session_file
        self._on_event = on_event
        self.events: deque[Event] = deque(maxlen=EVENTS_MAX)
        self.previous = _read_session(session_file)
        hosts, slash, chroot = connect.partition("/")
        self.chroot = slash + chroot.rstrip("/")
        self._client = KazooClient(
            hosts=hosts + self.chroot if chroot else hosts,
            timeout=timeout_ms / 1000,
            client_id=self.previous,
            connection_retry={"max_tries": -1, "delay": 0.05, "backoff": 1.5, "max_delay": 1.0},
        )
        self._client.add_listener(self._on_state)
        self._hosts = hosts

    @property
    def session_id(self) -> int:
        """0 while there is none."""
        client_id = self._client.client_id
        return client_id[0] if client_id else 0

    @property
    def is_connected(self) -> bool:
        return bool(self._client.connected)

    def start(self, timeout_s: float) -> None:
        """Connect; raises ZkLost, where no server answers in time."""
        try:
            self._client.start(timeout=timeout_s)
        except (KazooTimeoutError, KazooException) as failure:
            self._client.stop()
            self._client.close()
            raise ZkLost(f"no ZooKeeper answers at {self._hosts} within {timeout_s:.0f} s: {failure}") from None
        if self.chroot:
            self._make_chroot(timeout_s)
        self.save_session()

    def save_session(self) -> None:
        """Write id and password of the session for our successor."""
        client_id = self._client.client_id
        if self._session_file is None or client_id is None:
            return
        text = json.dumps({"id": client_id[0], "password": client_id[1].hex()})
        temporary = self._session_file.with_suffix(".tmp")
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)
        os.replace(temporary, self._session_file)

    def stop(self) -> None:
        """End the session: ephemeral nodes go at once."""
        self._client.stop()
        self._client.close()
        if self._session_file is not None:
            self._session_file.unlink(missing_ok=True)

    def get(self, path: str, watch: bool = False) -> Node | None:
        """A node, None where it is not there; a watch on it reports CHANGED once, in both cases."""
        callback = self._watch(path) if watch else None
        try:
            data, stat = self._wait(self._client.get_async(path, watch=callback))
        except NoNodeError:
            if watch:
                self._wait(self._client.exists_async(path, watch=callback))
            return None
        return Node(data, stat.version, stat.ephemeralOwner, stat.czxid)

    def get_many(self, paths: list[str]) -> list[Node | None]:
        """Many nodes with one round trip of latency."""
        found: list[Node | None] = []
        for result in [self._client.get_async(path) for path in paths]:
            try:
                data, stat = self._wait(result)
                found.append(Node(data, stat.version, stat.ephemeralOwner, stat.czxid))
            except NoNodeError:
                found.append(None)
        return found

    def children(self, path: str, watch: bool = False) -> list[str]:
        """Names below a node, sorted; empty where it is not there."""
        callback = self._watch(path) if watch else None
        try:
            return sorted(self._wait(self._client.get_children_async(path, watch=callback)))
        except NoNodeError:
            return []

    def create(self, path: str, data: bytes = b"", ephemeral: bool = False, sequence: bool = False) -> None:
        """raises   ZkConflict, where it exists; ZkLost"""
        try:
            self._wait(self._client.create_async(path, data, ephemeral=ephemeral, sequence=sequence, makepath=True))
        except NodeExistsError:
            raise ZkConflict(f"{path} exists") from None

    def ensure(self, path: str, data: bytes = b"") -> None:
        """Create a persistent node, if it is not there."""
        try:
            self.create(path, data)
        except ZkConflict:
            pass

    def set(self, path: str, data: bytes, version: int = -1) -> int:
        """returns the new version; raises ZkConflict, where the version is another or the node is gone"""
        try:
            return int(self._wait(self._client.set_async(path, data, version)).version)
        except KazooException as failure:
            raise ZkConflict(f"{path}: {type(failure).__name__}") from None

    def delete(self, path: str) -> None:
        """Remove a node, if it is there."""
        try:
            self._wait(self._client.delete_async(path))
        except NoNodeError:
            pass

    def delete_tree(self, path: str) -> None:
        """Remove a node and all below it."""
        for name in self.children(path):
            self.delete_tree(f"{path}/{name}")
        self.delete(path)

    def multi(self) -> TransactionRequest:
        """A transaction to fill and hand to `commit`."""
        return self._client.transaction()

    def commit(self, transaction: TransactionRequest) -> list[Any]:
        """All or nothing.

        raises   ZkConflict, naming the operation that failed; ZkLost
        """
        results = self._wait(transaction.commit_async())
        for operation, result in zip(transaction.operations, results, strict=True):
            if isinstance(result, Exception) and type(result).__name__ not in (
                "RolledBackError",
                "RuntimeInconsistency",
            ):
                path = getattr(operation, "path", "")
                raise ZkConflict(f"{type(operation).__name__} {path}: {type(result).__name__}")
        if any(isinstance(result, Exception) for result in results):
            raise ZkConflict("transaction rolled back")
        return list(results)

    def _wait(self, result: Any) -> Any:
        try:
            return result.get(timeout=CALL_TIMEOUT_S)
        except (KazooTimeoutError, TimeoutError):
            raise ZkLost(f"no reply within {CALL_TIMEOUT_S:.0f} s") from None
        except KazooException as failure:
            if type(failure).__name__ in ("ConnectionLoss", "SessionExpiredError", "ConnectionClosedError"):
                raise ZkLost(type(failure).__name__) from None
            raise

    def _watch(self, path: str) -> Callable[[Any], None]:
        def report(_event: Any) -> None:
            self._put(Event(CHANGED, path))

        return report

    def _on_state(self, state: str) -> None:
        if state == KazooState.LOST:
            self._put(Event(SESSION_LOST, ""))
        elif state == KazooState.CONNECTED:
            self._put(Event(SESSION_BACK, ""))

    def _put(self, event: Event) -> None:
        self.events.append(event)
        self._on_event()

    def _make_chroot(self, timeout_s: float) -> None:
        """The chroot's own path has to be made from outside of it."""
        outside = KazooClient(hosts=self._hosts, timeout=timeout_s)
        outside.start(timeout=timeout_s)
        try:
            outside.ensure_path(self.chroot)
        finally:
            outside.stop()
            outside.close()


def _read_session(path: Path | None) -> tuple[int, bytes] | None:
    if path is None:
        return None
    try:
        stored = json.loads(path.read_text())
        return int(stored["id"]), bytes.fromhex(stored["password"])
    except (OSError, ValueError, KeyError):
        return None


def wait_until_ready(connect: str, timeout_s: float) -> None:
    """Return when a session can write: `ruok` alone would not tell.

    raises   ZkLost, where it can't in time
    """
    session = ZkSession(connect, 10_000, None, threading.Event().set)
    session.start(timeout_s)
    session.ensure("/headrace-ready")
    session.stop()
