"""What a server of `headrace dev` keeps over its restarts: the tree and the sessions, in one file.

    length 4 | CRC-32C 4 | record        the first record is the whole state, each after it one zxid

    state   zxid | nodes: count, [path, data, ACL, owner, the numbers of znode.py]... | sessions: count, [id, password, timeout]...
    zxid    zxid | time | changes: count, [kind, fields]... | session opened | session closed

A record is written before its answer is sent, so that a server that is killed has what it acknowledged. It is not synced: a power loss
may take the last ones, and this is not a server for production. At a start the file is read up to its first record that is not whole,
and written again as one state; so it is where it has grown beyond TESTING_JOURNAL_BYTES_MAX.

Runs in: the server's process. Source: ZooKeeper `FileTxnLog`, `FileSnap`, for what has to be in it.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from struct import Struct
from typing import BinaryIO, Final

from headrace.checksum import crc32c
from headrace.limits import TESTING_JOURNAL_BYTES_MAX
from headrace.testing.zookeeper.state.jute import (
    BadJute,
    Reader,
    pack_acls,
    pack_buffer,
    pack_int,
    pack_long,
    pack_string,
)
from headrace.testing.zookeeper.state.table import NO_SESSION, Committed, Table
from headrace.testing.zookeeper.state.transaction import AclSet, Change, Created, DataSet, Deleted, Transaction
from headrace.testing.zookeeper.state.tree import Tree
from headrace.testing.zookeeper.state.znode import Znode, name_of, parent_of

FILE: Final = "testing-zookeeper.journal"
VERSION: Final = 1
_PREFIX: Final = Struct(">iI")
_CREATED, _DELETED, _DATA_SET, _ACL_SET = range(4)

_log = logging.getLogger(__name__)


class Journal:
    """The file, open at its end. Made by `open_journal`."""

    def __init__(self, path: Path, table: Table) -> None:
        self._path = path
        self._table = table
        self._file = self._begin()

    def append(self) -> None:
        """Write what the table has committed since the last call."""
        committed = self._table.committed
        if not committed:
            return
        self._file.write(b"".join(_framed(_pack_committed(one)) for one in committed))
        committed.clear()
        if self._file.tell() > TESTING_JOURNAL_BYTES_MAX:
            self._file.close()
            self._file = self._begin()

    def close(self) -> None:
        self._file.close()

    def _begin(self) -> BinaryIO:
        """A new file with the state as it is, in the place of the old one."""
        beside = self._path.with_suffix(".new")
        file = open(beside, "wb", buffering=0)  # noqa: SIM115
        file.write(_framed(_pack_state(self._table)))
        os.replace(beside, self._path)
        self._table.committed.clear()
        return file


def open_journal(path: Path, table: Table) -> Journal:
    """Bring a new table to what the file has, and continue it."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        data = b""
    position = 0
    while position < len(data):
        record = _record_at(data, position)
        if record is None:
            _log.warning(
                "journal truncated, its last entry is incomplete file=%s at=%d of=%d", path, position, len(data)
            )
            break
        _take_record(table, record, is_state=position == 0)
        position += _PREFIX.size + len(record)
    return Journal(path, table)


def _record_at(data: bytes, position: int) -> bytes | None:
    if position + _PREFIX.size > len(data):
        return None
    length, checksum = _PREFIX.unpack_from(data, position)
    record = data[position + _PREFIX.size : position + _PREFIX.size + length]
    return record if len(record) == length and crc32c(record) == checksum else None


def _framed(record: bytes) -> bytes:
    return _PREFIX.pack(len(record), crc32c(record)) + record


def _take_record(table: Table, record: bytes, is_state: bool) -> None:
    reader = Reader(record)
    version = reader.integer()
    if version != VERSION:
        raise BadJute(f"journal version {version} is not supported, this server reads {VERSION}")
    if is_state:
        table.tree = _read_tree(reader)
        for _ in range(reader.integer()):
            table.restore_session(reader.long(), reader.buffer() or b"", reader.integer())
        return
    tree = table.tree
    tree.zxid, now_ms = reader.long(), reader.long()
    transaction = Transaction(tree.nodes, tree.ephemerals, tree.zxid, now_ms)
    for _ in range(reader.integer()):
        transaction.apply(_read_change(reader))
    opened, password, timeout_ms, closed = reader.long(), reader.buffer(), reader.integer(), reader.long()
    if opened != NO_SESSION:
        table.restore_session(opened, password or b"", timeout_ms)
    if closed != NO_SESSION:
        table.sessions.pop(closed, None)
        tree.ephemerals.pop(closed, None)


def _pack_committed(one: Committed) -> bytes:
    opened, password, timeout_ms = one.opened or (NO_SESSION, b"", 0)
    changes = b"".join(map(_pack_change, one.changes))
    return b"".join(
        (
            *(pack_int(VERSION), pack_long(one.zxid), pack_long(one.now_ms), pack_int(len(one.changes)), changes),
            *(pack_long(opened), pack_buffer(password), pack_int(timeout_ms), pack_long(one.closed)),
        )
    )


def _pack_change(change: Change) -> bytes:
    path = pack_string(change.path)
    match change:
        case Created():
            return (
                pack_int(_CREATED) + path + pack_buffer(change.data) + pack_acls(change.acl) + pack_long(change.owner)
            )
        case Deleted():
            return pack_int(_DELETED) + path
        case DataSet():
            return pack_int(_DATA_SET) + path + pack_buffer(change.data)
        case AclSet():
            return pack_int(_ACL_SET) + path + pack_acls(change.acl)


def _read_change(reader: Reader) -> Change:
    kind, path = reader.integer(), reader.string()
    if kind == _CREATED:
        return Created(path, reader.buffer(), tuple(reader.acls()), reader.long())
    if kind == _DELETED:
        return Deleted(path)
    if kind == _DATA_SET:
        return DataSet(path, reader.buffer())
    return AclSet(path, tuple(reader.acls()))


def _pack_state(table: Table) -> bytes:
    nodes = table.tree.nodes
    sessions = [
        pack_long(one.session_id) + pack_buffer(one.password) + pack_int(one.timeout_ms)
        for one in table.sessions.values()
    ]
    return b"".join(
        (
            *(pack_int(VERSION), pack_long(table.tree.zxid), pack_int(len(nodes))),
            *(_pack_node(path, node) for path, node in nodes.items()),  # parents before their children
            *(pack_int(len(sessions)), *sessions),
        )
    )


def _pack_node(path: str, node: Znode) -> bytes:
    longs = (node.owner, node.czxid, node.mzxid, node.pzxid, node.ctime_ms, node.mtime_ms)
    ints = (node.version, node.creations, node.aversion)
    numbers = b"".join((*map(pack_long, longs), *map(pack_int, ints)))
    return pack_string(path) + pack_buffer(node.data) + pack_acls(node.acl) + numbers


def _read_tree(reader: Reader) -> Tree:
    tree = Tree({}, {}, reader.long())
    for _ in range(reader.integer()):
        path, data, acl = reader.string(), reader.buffer(), tuple(reader.acls())
        owner, czxid, mzxid, pzxid, ctime_ms, mtime_ms = (reader.long() for _ in range(6))
        version, creations, aversion = (reader.integer() for _ in range(3))
        node = Znode(data, acl, owner, czxid, mzxid, pzxid, ctime_ms, mtime_ms, version, creations, aversion)
        tree.nodes[path] = node
        if path != "/":
            tree.nodes[parent_of(path)].children[name_of(path)] = None
        if node.owner:
            tree.ephemerals.setdefault(node.owner, {})[path] = None
    return tree
