"""A ZooKeeper in a dict, with as many sessions as a test wants, and faults at chosen writes.

It has the calls of `controller/zookeeper/session.py` that the controller's parts use, and its exceptions. A call is carried out at
once, unless the ensemble has a `gate`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar

from headrace.controller.zookeeper.errors import Node, ZkConflict, ZkLost
from headrace.controller.zookeeper.transaction import ANY_VERSION, Action, Transaction

T = TypeVar("T")


class Killed(BaseException):
    """The process ends here."""


class FakeEnsemble:
    """The tree, and who watches what.

    gate   carries out each call of a session when it likes; None: at once
    on_write   called with the ordinal of each write before it happens; it may raise
    after_write   the same afterwards: an exception then is a lost reply
    """

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.sessions: dict[int, FakeZk] = {}
        self.writes = 0
        self.zxid = 0  # of the last transaction
        self.on_write: Callable[[int], None] = lambda _ordinal: None
        self.after_write: Callable[[int], None] = lambda _ordinal: None
        self.gate: Callable[[FakeZk, Callable[[], Any]], Awaitable[Any]] | None = None
        self._next_session = 100

    def session(self) -> FakeZk:
        self._next_session += 1
        return FakeZk(self, self._next_session)

    def run(self, coroutine: Coroutine[Any, None, T]) -> T:
        """Run a procedure that never waits, for no call does."""
        try:
            coroutine.send(None)
        except StopIteration as stop:
            return stop.value
        raise AssertionError("it waits")

    def data(self, path: str) -> bytes:
        return self.nodes[path].data

    def write(self, change: Callable[[], object]) -> object:
        ordinal = self.writes
        self.writes += 1
        self.on_write(ordinal)
        result = change()
        self.after_write(ordinal)
        return result

    def apply(self, transaction: Transaction, session_id: int) -> None:
        """All of it on a copy, or ZkConflict."""
        nodes, touched = dict(self.nodes), []
        self.zxid += 1
        for action, path, data, version, is_ephemeral, is_sequential in transaction.operations:
            if is_sequential:
                path += f"{self.writes:010d}"
            node = nodes.get(path)
            if action is Action.CREATE:
                parent = path.rpartition("/")[0]
                if node is not None:
                    raise ZkConflict(path, "NodeExistsError")
                if parent and parent not in nodes:
                    raise ZkConflict(path, "NoNodeError")
                nodes[path] = Node(data, 0, session_id if is_ephemeral else 0, created_zxid=self.zxid)
                touched += [path, parent]
                continue
            if node is None:
                raise ZkConflict(path, "NoNodeError")
            if version not in (ANY_VERSION, node.version):
                raise ZkConflict(path, "BadVersionError")
            if action is Action.SET:
                nodes[path] = node._replace(data=data, version=node.version + 1)
                touched.append(path)
            elif action is Action.DELETE:
                if any(other.startswith(f"{path}/") for other in nodes):
                    raise ZkConflict(path, "NotEmptyError")
                del nodes[path]
                touched += [path, path.rpartition("/")[0]]
        self.nodes = nodes
        self.fire(touched)

    def fire(self, paths: list[str]) -> None:
        for session in self.sessions.values():
            for path in paths:
                if path in session.watched:
                    session.watched.discard(path)
                    session.changes[path] = None

    def put(self, path: str, data: bytes = b"") -> None:
        """Somebody with a shell writes; parents come along."""
        parts = path.split("/")
        for depth in range(2, len(parts)):
            parent = "/".join(parts[:depth])
            if parent not in self.nodes:
                self._one(Action.CREATE, parent, b"")
        self._one(Action.SET if path in self.nodes else Action.CREATE, path, data)

    def remove(self, path: str) -> None:
        for below in sorted((node for node in self.nodes if f"{node}/".startswith(f"{path}/")), reverse=True):
            self._one(Action.DELETE, below, b"")

    def _one(self, action: Action, path: str, data: bytes) -> None:
        transaction = Transaction()
        if action is Action.CREATE:
            transaction.create(path, data)
        elif action is Action.SET:
            transaction.set(path, data)
        else:
            transaction.delete(path)
        self.apply(transaction, 0)


class FakeZk:
    """One session."""

    def __init__(self, ensemble: FakeEnsemble, session_id: int) -> None:
        self.ensemble = ensemble
        self.session_id = session_id
        self.previous: tuple[int, bytes] | None = None
        self.is_other_boot = self.is_new_life = False
        self.is_connected = True
        self.watched: set[str] = set()
        self.changes: dict[str, None] = {}
        self.on_read: Callable[[], None] = lambda: None
        ensemble.sessions[session_id] = self

    def successor(self) -> FakeZk:
        """The same session in the hands of a restarted process: its watches are gone."""
        return FakeZk(self.ensemble, self.session_id)

    def expire(self) -> None:
        """The session ends: ephemeral nodes go."""
        del self.ensemble.sessions[self.session_id]
        owned = [path for path, node in self.ensemble.nodes.items() if node.ephemeral_owner == self.session_id]
        for path in owned:
            self.ensemble.remove(path)

    def take_changes(self) -> list[str]:
        changes, self.changes = list(self.changes), {}
        return changes

    async def get(self, path: str, watch: bool = False) -> Node | None:
        return await self._call(lambda: self._get(path, watch))

    async def get_many(self, paths: list[str], watch: bool = False) -> list[Node | None]:
        return await self._call(lambda: [self._get(path, watch) for path in paths])

    async def sync(self) -> None:
        self._check()

    async def children(self, path: str, watch: bool = False) -> list[str]:
        return await self._call(lambda: self._children(path, watch))

    async def tree(self, path: str) -> list[str]:
        if await self.get(path) is None:
            return []
        below = [node for name in await self.children(path) for node in await self.tree(f"{path}/{name}")]
        return [*below, path]

    async def create(self, path: str, data: bytes | None = b"", is_ephemeral: bool = False) -> None:
        def create() -> None:
            transaction = Transaction()
            parts = path.split("/")
            for depth in range(2, len(parts)):
                parent = "/".join(parts[:depth])
                if parent not in self.ensemble.nodes:
                    transaction.create(parent)
            transaction.create(path, data or b"", is_ephemeral=is_ephemeral)
            self._apply(transaction)

        await self._call(create)

    async def ensure(self, path: str, data: bytes | None = None) -> None:
        if path not in self.ensemble.nodes:
            try:
                await self.create(path, data)
            except ZkConflict:
                pass

    async def ensure_all(self, paths: Sequence[str]) -> None:
        for path in paths:
            await self.ensure(path)

    async def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> int:
        def change() -> int:
            transaction = Transaction()
            transaction.set(path, data, version)
            self._apply(transaction)
            return self.ensemble.nodes[path].version

        return await self._call(change)

    async def delete(self, path: str) -> None:
        def delete() -> None:
            if path in self.ensemble.nodes:
                transaction = Transaction()
                transaction.delete(path)
                self._apply(transaction)

        await self._call(delete)

    async def commit(self, transaction: Transaction) -> None:
        await self._call(lambda: self._apply(transaction))

    async def _call(self, operation: Callable[[], T]) -> T:
        gate = self.ensemble.gate
        self._check()
        if gate is None:
            return operation()
        return await gate(self, operation)

    def _get(self, path: str, watch: bool) -> Node | None:
        self.on_read()
        if watch:
            self.watched.add(path)
        return self.ensemble.nodes.get(path)

    def _children(self, path: str, watch: bool) -> list[str]:
        self.on_read()
        if watch:
            self.watched.add(path)
        prefix = f"{path}/"
        names = (node.removeprefix(prefix) for node in self.ensemble.nodes if node.startswith(prefix))
        return sorted(name for name in names if "/" not in name)

    def _apply(self, transaction: Transaction) -> None:
        self.ensemble.write(lambda: self.ensemble.apply(transaction, self.session_id))

    def _check(self) -> None:
        if not self.is_connected:
            raise ZkLost("not connected")
