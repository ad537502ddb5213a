"""The operations: each reads its record, asks the tree, and returns the record of its answer.

A handler raises `ZooKeeperRefusal` with the code of the reply's header. A multi answers each of its operations by itself:

    all or none    [header(type, false, 0) | answer]...                     header(-1, true, -1)
    where one fails    [header(-1, false, code) | code]...                  header(-1, true, -1)
                       0 before it, its own, RUNTIME_INCONSISTENCY after it

Source: ZooKeeper `FinalRequestProcessor`, `zookeeper.jute`, `MultiOperationRecord`.
"""

from __future__ import annotations

from typing import Final

from headrace.limits import TESTING_MULTI_OPERATIONS_MAX
from headrace.testing.zookeeper.state.codes import (
    MULTI_END,
    Code,
    CreateMode,
    EventType,
    Operation,
    Perms,
    ZooKeeperRefusal,
)
from headrace.testing.zookeeper.state.identity import check_allowed, digest_id, shown
from headrace.testing.zookeeper.state.jute import (
    BadJute,
    Reader,
    pack_acls,
    pack_bool,
    pack_buffer,
    pack_int,
    pack_stat,
    pack_string,
    pack_strings,
)
from headrace.testing.zookeeper.state.table import Call, Handler
from headrace.testing.zookeeper.state.transaction import Transaction
from headrace.testing.zookeeper.state.watches import Paths
from headrace.testing.zookeeper.state.znode import Znode

_PERSISTENT, _PERSISTENT_RECURSIVE = 0, 1  # of addWatch
_CHILDREN, _DATA, _ANY = 1, 2, 3  # of checkWatches and removeWatches


# Writes


def write(call: Call, kind: int) -> bytes:
    """One operation under a zxid of its own, which one that fails spends as well. raises ZooKeeperRefusal, BadJute"""
    transaction = call.table.begin()
    try:
        return _carry_out(call, transaction, kind)
    finally:
        call.table.commit(transaction)


def multi(call: Call) -> bytes:
    """All or none. raises BadJute"""
    transaction, bodies = call.table.begin(), []
    kinds: list[int] = []
    failed, code = -1, Code.OK
    while (kind := _next_of_multi(call.reader, len(kinds))) is not None:
        kinds.append(kind)
        if failed >= 0:
            _carry_out(call, transaction, kind, is_read_only=True)
            continue
        try:
            bodies.append(_header(kind) + _carry_out(call, transaction, kind))
        except ZooKeeperRefusal as refusal:
            failed, code = len(kinds) - 1, refusal.code
            transaction.roll_back()
        except BadJute:
            transaction.roll_back()
            call.table.commit(transaction)
            raise
    if failed >= 0:
        call.table.commit(transaction)
        codes = [Code.OK] * failed + [code] + [Code.RUNTIME_INCONSISTENCY] * (len(kinds) - failed - 1)
        return b"".join(map(_failure, codes)) + _END
    call.table.commit(transaction)
    return b"".join(bodies) + _END


def _carry_out(call: Call, transaction: Transaction, kind: int, is_read_only: bool = False) -> bytes:
    """One operation's record read, and written unless `is_read_only`. raises ZooKeeperRefusal, BadJute"""
    reader, who = call.reader, call.known.identity
    path = reader.string()
    if kind in (Operation.CREATE, Operation.CREATE_2, Operation.CREATE_CONTAINER, Operation.CREATE_TTL):
        data, acls, flags = reader.buffer(), reader.acls(), reader.integer()
        if kind == Operation.CREATE_TTL:
            reader.long()
        if is_read_only:
            return b""
        path = transaction.create(path, data, acls, _mode(flags), call.session.session_id, who)
        is_plain = kind == Operation.CREATE
        return pack_string(path) + (b"" if is_plain else pack_stat(call.table.tree.node(path).stat()))
    if kind == Operation.SET_DATA:
        data, version = reader.buffer(), reader.integer()
        return b"" if is_read_only else pack_stat(transaction.set_data(path, data, version, who))
    if kind == Operation.SET_ACL:
        acls, version = reader.acls(), reader.integer()
        return pack_stat(transaction.set_acl(path, acls, version, who))
    version = reader.integer()
    if is_read_only:
        return b""
    if kind == Operation.DELETE:
        transaction.delete(path, version, who)
    else:
        assert kind == Operation.CHECK
        transaction.check(path, version, who)
    return b""


def _mode(flags: int) -> CreateMode:
    """raises   ZooKeeperRefusal, where nodes of that kind are not kept here: containers, those with a time to live"""
    try:
        mode = CreateMode(flags)
    except ValueError:
        raise ZooKeeperRefusal(Code.BAD_ARGUMENTS) from None
    if mode >= CreateMode.CONTAINER:
        raise ZooKeeperRefusal(Code.UNIMPLEMENTED)
    return mode


def _next_of_multi(reader: Reader, count: int) -> int | None:
    """The type of the next operation, None after the last one. raises BadJute"""
    kind, is_done = reader.integer(), reader.flag()
    reader.integer()
    if is_done:
        return None
    if kind not in _IN_MULTI:
        raise BadJute(f"operation {kind} in a multi")
    if count >= TESTING_MULTI_OPERATIONS_MAX:
        raise BadJute(f"more than {TESTING_MULTI_OPERATIONS_MAX} operations in a multi")
    return kind


def _header(kind: int, is_done: bool = False, error: int = 0) -> bytes:
    return pack_int(kind) + pack_bool(is_done) + pack_int(error)


def _failure(code: Code) -> bytes:
    return _header(MULTI_END, error=code) + pack_int(code)


# Reads


def exists(call: Call) -> bytes:
    path, is_watched = call.reader.string(), call.reader.flag()
    if "\0" in path:
        raise ZooKeeperRefusal(Code.BAD_ARGUMENTS)
    node, watches = call.table.tree.nodes.get(path), call.table.watches
    if node is not None:
        check_allowed(node.acl, Perms.READ, call.known.identity)
    if is_watched:  # on a node that is not there as well
        watches.add(watches.data, path, call.link)
    return pack_stat(call.table.tree.node(path).stat())


def get_data(call: Call) -> bytes:
    path, is_watched = call.reader.string(), call.reader.flag()
    body = _data_of(call, path)
    watches = call.table.watches
    if is_watched:
        watches.add(watches.data, path, call.link)
    return body


def get_children(call: Call) -> bytes:
    return _children_of(call)[0]


def get_children_2(call: Call) -> bytes:
    names, node = _children_of(call)
    return names + pack_stat(node.stat())


def _data_of(call: Call, path: str) -> bytes:
    node = call.table.tree.node(path)
    check_allowed(node.acl, Perms.READ, call.known.identity)
    return pack_buffer(node.data) + pack_stat(node.stat())


def _children_of(call: Call) -> tuple[bytes, Znode]:
    path, is_watched = call.reader.string(), call.reader.flag()
    node = call.table.tree.node(path)
    check_allowed(node.acl, Perms.READ, call.known.identity)
    watches = call.table.watches
    if is_watched:
        watches.add(watches.child, path, call.link)
    return pack_strings(list(node.children)), node


def multi_read(call: Call) -> bytes:
    """getData and getChildren, each with its own error; no watches."""
    reader = call.reader
    bodies: list[bytes] = []
    while True:
        kind, is_done = reader.integer(), reader.flag()
        reader.integer()
        if is_done:
            return b"".join(bodies) + _END
        if kind not in (Operation.GET_DATA, Operation.GET_CHILDREN) or len(bodies) >= TESTING_MULTI_OPERATIONS_MAX:
            raise BadJute(f"operation {kind} as number {len(bodies)} of a multiRead")
        path = reader.string()
        reader.flag()
        try:
            node = call.table.tree.node(path)
            check_allowed(node.acl, Perms.READ, call.known.identity)
        except ZooKeeperRefusal as refusal:
            bodies.append(_failure(refusal.code))
            continue
        is_data = kind == Operation.GET_DATA
        body = pack_buffer(node.data) + pack_stat(node.stat()) if is_data else pack_strings(list(node.children))
        bodies.append(_header(kind) + body)


def get_acl(call: Call) -> bytes:
    node, who = call.table.tree.node(call.reader.string()), call.known.identity
    check_allowed(node.acl, Perms.READ | Perms.ADMIN, who)
    return pack_acls(shown(node.acl, who)) + pack_stat(node.stat())


def get_ephemerals(call: Call) -> bytes:
    prefix = call.reader.string()
    paths = call.table.tree.ephemerals.get(call.session.session_id, {})
    return pack_strings([path for path in paths if path.startswith(prefix)])


def get_all_children_number(call: Call) -> bytes:
    path = call.reader.string()
    node = call.table.tree.node(path)
    check_allowed(node.acl, Perms.READ, call.known.identity)
    return pack_int(sum(1 for _ in call.table.tree.below(path)))


def sync(call: Call) -> bytes:
    """One server: it has everything that was committed."""
    return pack_string(call.reader.string())


# Sessions and watches


def ping(_call: Call) -> bytes:
    return b""


def close_session(call: Call) -> bytes:
    call.table.close_session(call.session)
    return b""


def auth(call: Call) -> bytes:
    """raises   ZooKeeperRefusal, after which the connection ends"""
    call.reader.integer()
    scheme, credentials = call.reader.string(), call.reader.buffer() or b""
    if scheme == "digest":
        proved = (scheme, digest_id(credentials))
        if proved not in call.known.identity:
            call.known.identity += (proved,)
    elif scheme != "ip":
        raise ZooKeeperRefusal(Code.AUTH_FAILED)
    return b""


def set_watches(call: Call) -> bytes:
    """After a client connected again: what changed since `zxid` fires now, the rest is watched."""
    return _set_watches(call, has_persistent=False)


def set_watches_2(call: Call) -> bytes:
    return _set_watches(call, has_persistent=True)


def _set_watches(call: Call, has_persistent: bool) -> bytes:
    table, reader, watches, link = call.table, call.reader, call.table.watches, call.link
    nodes, zxid = table.tree.nodes, reader.long()
    data, absent, child = reader.strings(), reader.strings(), reader.strings()
    persistent, recursive = (reader.strings(), reader.strings()) if has_persistent else ([], [])
    for path in data:
        node = nodes.get(path)
        if node is None:
            table.notify(link, EventType.DELETED, path)
        elif node.mzxid > zxid:
            table.notify(link, EventType.DATA_CHANGED, path)
        else:
            watches.add(watches.data, path, link)
    for path in absent:
        if path in nodes:
            table.notify(link, EventType.CREATED, path)
        else:
            watches.add(watches.data, path, link)
    for path in child:
        node = nodes.get(path)
        if node is None:
            table.notify(link, EventType.DELETED, path)
        elif node.pzxid > zxid:
            table.notify(link, EventType.CHILDREN_CHANGED, path)
        else:
            watches.add(watches.child, path, link)
    for path in persistent:
        watches.add(watches.persistent, path, link)
    for path in recursive:
        watches.add(watches.recursive, path, link)
    return b""


def add_watch(call: Call) -> bytes:
    path, mode = call.reader.string(), call.reader.integer()
    watches = call.table.watches
    if mode not in (_PERSISTENT, _PERSISTENT_RECURSIVE):
        raise ZooKeeperRefusal(Code.BAD_ARGUMENTS)
    watches.add(watches.persistent if mode == _PERSISTENT else watches.recursive, path, call.link)
    return pack_int(Code.OK)


def check_watches(call: Call) -> bytes:
    path, watches = call.reader.string(), call.table.watches
    if not any(watches.has(kind, path, call.link) for kind in _kinds_of(call)):
        raise ZooKeeperRefusal(Code.NO_WATCHER)
    return b""


def remove_watches(call: Call) -> bytes:
    path, watches = call.reader.string(), call.table.watches
    if not [kind for kind in _kinds_of(call) if watches.remove(kind, path, call.link)]:
        raise ZooKeeperRefusal(Code.NO_WATCHER)
    return b""


def _kinds_of(call: Call) -> list[Paths]:
    """raises   ZooKeeperRefusal"""
    kind, watches = call.reader.integer(), call.table.watches
    found = {
        _CHILDREN: [watches.child],
        _DATA: [watches.data],
        _ANY: [watches.child, watches.data, watches.persistent, watches.recursive],
    }.get(kind)
    if found is None:
        raise ZooKeeperRefusal(Code.BAD_ARGUMENTS)
    return found


def reconfig(_call: Call) -> bytes:
    raise ZooKeeperRefusal(Code.RECONFIG_DISABLED)


_END: Final = _header(MULTI_END, is_done=True, error=-1)
_IN_MULTI: Final = frozenset(
    {
        Operation.CREATE,
        Operation.CREATE_2,
        Operation.CREATE_CONTAINER,
        Operation.CREATE_TTL,
        Operation.DELETE,
        Operation.SET_DATA,
        Operation.CHECK,
    }
)
_WRITES: Final = _IN_MULTI | {Operation.SET_ACL}


def _writer(kind: int) -> Handler:
    return lambda call: write(call, kind)


HANDLERS: Final[dict[int, Handler]] = {
    **{kind: _writer(kind) for kind in _WRITES},
    Operation.MULTI: multi,
    Operation.EXISTS: exists,
    Operation.GET_DATA: get_data,
    Operation.GET_CHILDREN: get_children,
    Operation.GET_CHILDREN_2: get_children_2,
    Operation.MULTI_READ: multi_read,
    Operation.GET_ACL: get_acl,
    Operation.GET_EPHEMERALS: get_ephemerals,
    Operation.GET_ALL_CHILDREN_NUMBER: get_all_children_number,
    Operation.SYNC: sync,
    Operation.PING: ping,
    Operation.CLOSE_SESSION: close_session,
    Operation.AUTH: auth,
    Operation.SET_WATCHES: set_watches,
    Operation.SET_WATCHES_2: set_watches_2,
    Operation.ADD_WATCH: add_watch,
    Operation.CHECK_WATCHES: check_watches,
    Operation.REMOVE_WATCHES: remove_watches,
    Operation.RECONFIG: reconfig,
}
