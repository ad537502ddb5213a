"""Writes to the tree under one zxid: all of them, or none.

Each method checks what ZooKeeper checks, in its order, and changes the nodes at once, so that the next operation of a multi sees it.
`roll_back` undoes everything. What happened is kept as `changes`, from which a journal makes the tree again, and as `events` for watches.

    create   ACL, parent, permission, path, exists, parent is ephemeral
    delete   path, parent, permission of the parent, node, version, children
    set      path, node, permission, version

Source: ZooKeeper `PrepRequestProcessor.pRequest2Txn`, `DataTree.processTxn`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from headrace.testing.zookeeper.state.codes import ANY_VERSION, Code, CreateMode, EventType, Perms, ZooKeeperRefusal
from headrace.testing.zookeeper.state.identity import Identity, check_allowed, resolved
from headrace.testing.zookeeper.state.jute import Acl, Stat
from headrace.testing.zookeeper.state.paths import SPECIAL, check_path
from headrace.testing.zookeeper.state.znode import OPEN, Znode, name_of, parent_of

Nodes = dict[str, Znode]

CREATION_DIGITS: Final = 10  # of a sequential name


class Created(NamedTuple):
    """A node that a transaction made; `owner` 0: it is persistent."""

    path: str
    data: bytes | None
    acl: tuple[Acl, ...]
    owner: int


class Deleted(NamedTuple):
    """A node that a transaction removed."""

    path: str


class DataSet(NamedTuple):
    """New data of a node."""

    path: str
    data: bytes | None


class AclSet(NamedTuple):
    """A new ACL of a node."""

    path: str
    acl: tuple[Acl, ...]


Change = Created | Deleted | DataSet | AclSet


class Transaction:
    """One zxid's writes.

    nodes        the tree, by path
    ephemerals   session -> paths of its nodes
    """

    def __init__(self, nodes: Nodes, ephemerals: dict[int, dict[str, None]], zxid: int, now_ms: int) -> None:
        self._nodes = nodes
        self._ephemerals = ephemerals
        self._zxid = zxid
        self._now_ms = now_ms
        self._undo: list[Callable[[], object]] = []
        self.changes: list[Change] = []
        self.events: list[tuple[EventType, str, tuple[Acl, ...]]] = []  # and which clients may read the node

    # What clients ask for

    def create(
        self, path: str, data: bytes | None, acls: list[Acl], mode: CreateMode, session_id: int, who: Identity
    ) -> str:
        """Returns the path, with its digits where it is sequential. raises ZooKeeperRefusal"""
        if "/" not in path or "\0" in path:
            raise ZooKeeperRefusal(Code.BAD_ARGUMENTS)
        acl = resolved(acls, who)
        parent = self._node(parent_of(path))
        check_allowed(parent.acl, Perms.CREATE, who)
        if mode.is_sequential:
            path += f"{parent.creations:0{CREATION_DIGITS}d}"
        check_path(path)
        if path in self._nodes:
            raise ZooKeeperRefusal(Code.NODE_EXISTS)
        if parent.owner:
            raise ZooKeeperRefusal(Code.NO_CHILDREN_FOR_EPHEMERALS)
        self.apply(Created(path, data, acl, session_id if mode.is_ephemeral else 0))
        return path

    def delete(self, path: str, version: int, who: Identity) -> None:
        """raises   ZooKeeperRefusal"""
        if "/" not in path or path in SPECIAL or "\0" in path:
            raise ZooKeeperRefusal(Code.BAD_ARGUMENTS)
        check_allowed(self._node(parent_of(path)).acl, Perms.DELETE, who)
        node = self._node(path)
        _check_version(node.version, version)
        if node.children:
            raise ZooKeeperRefusal(Code.NOT_EMPTY)
        self.apply(Deleted(path))

    def set_data(self, path: str, data: bytes | None, version: int, who: Identity) -> Stat:
        """raises   ZooKeeperRefusal"""
        check_path(path)
        node = self._node(path)
        check_allowed(node.acl, Perms.WRITE, who)
        _check_version(node.version, version)
        self.apply(DataSet(path, data))
        return node.stat()

    def set_acl(self, path: str, acls: list[Acl], version: int, who: Identity) -> Stat:
        """raises   ZooKeeperRefusal"""
        check_path(path)
        acl = resolved(acls, who)
        node = self._node(path)
        check_allowed(node.acl, Perms.ADMIN, who)
        _check_version(node.aversion, version)
        self.apply(AclSet(path, acl))
        return node.stat()

    def check(self, path: str, version: int, who: Identity) -> None:
        """raises   ZooKeeperRefusal, where the node is not of that version"""
        check_path(path)
        node = self._node(path)
        check_allowed(node.acl, Perms.READ, who)
        _check_version(node.version, version)

    def _node(self, path: str) -> Znode:
        node = self._nodes.get(path)
        if node is None:
            raise ZooKeeperRefusal(Code.NO_NODE)
        return node

    # Changes, without a check: what was checked above, and what a journal has

    def apply(self, change: Change) -> None:
        match change:
            case Created():
                self._create(change)
            case Deleted():
                self._delete(change.path)
            case DataSet():
                self._set_data(change.path, change.data)
            case AclSet():
                self._set_acl(change.path, change.acl)
        self.changes.append(change)

    def roll_back(self) -> None:
        """The tree is as it was before."""
        while self._undo:
            self._undo.pop()()
        self.changes.clear()
        self.events.clear()

    def _create(self, change: Created) -> None:
        path, parent = change.path, self._nodes[parent_of(change.path)]
        name, before = name_of(path), (parent.creations, parent.pzxid)
        zxid, now_ms = self._zxid, self._now_ms
        acl = change.acl or OPEN
        self._nodes[path] = Znode(change.data, acl, change.owner, zxid, zxid, zxid, now_ms, now_ms)
        parent.children[name] = None
        parent.creations, parent.pzxid = parent.creations + 1, zxid
        if change.owner:
            self._ephemerals.setdefault(change.owner, {})[path] = None

        def undo() -> None:
            del self._nodes[path], parent.children[name]
            parent.creations, parent.pzxid = before
            if change.owner:
                del self._ephemerals[change.owner][path]

        self._undo.append(undo)
        self.events += [(EventType.CREATED, path, acl), (EventType.CHILDREN_CHANGED, parent_of(path), parent.acl)]

    def _delete(self, path: str) -> None:
        node, parent = self._nodes.pop(path), self._nodes[parent_of(path)]
        name, pzxid = name_of(path), parent.pzxid
        del parent.children[name]
        parent.pzxid = self._zxid
        if node.owner:
            del self._ephemerals[node.owner][path]

        def undo() -> None:
            self._nodes[path] = node
            parent.children[name], parent.pzxid = None, pzxid
            if node.owner:
                self._ephemerals[node.owner][path] = None

        self._undo.append(undo)
        self.events += [(EventType.DELETED, path, node.acl), (EventType.CHILDREN_CHANGED, parent_of(path), parent.acl)]

    def _set_data(self, path: str, data: bytes | None) -> None:
        node = self._nodes[path]
        before = (node.data, node.version, node.mzxid, node.mtime_ms)
        node.data, node.version, node.mzxid, node.mtime_ms = data, node.version + 1, self._zxid, self._now_ms

        def undo() -> None:
            node.data, node.version, node.mzxid, node.mtime_ms = before

        self._undo.append(undo)
        self.events.append((EventType.DATA_CHANGED, path, node.acl))

    def _set_acl(self, path: str, acl: tuple[Acl, ...]) -> None:
        node = self._nodes[path]
        before = (node.acl, node.aversion)
        node.acl, node.aversion = acl, node.aversion + 1

        def undo() -> None:
            node.acl, node.aversion = before

        self._undo.append(undo)


def _check_version(version: int, expected: int) -> None:
    if expected not in (ANY_VERSION, version):
        raise ZooKeeperRefusal(Code.BAD_VERSION)
