"""The ZooKeeper session: the only place of a node that imports kazoo. No call blocks: what has come is awaited (`runtime/tasks.py`).

Runs in: the controller process. kazoo has threads of its own: they put what has come on a queue, note what changed, and ring
our doorbell, nothing else (KAFKA-6879: work inside of session callbacks deadlocks).

    await zk.get(...)  ->  kazoo's threads  ->  replies, doorbell  ->  take_replies()  ->  the task goes on

Without a connection a call fails at once, and with one it has a deadline. Replies come in the order of the calls, which is
the order in which ZooKeeper carried them out: what a later reply says is newer. Watches come by another of kazoo's
threads, before or after such a reply.

The session's id and password are kept in a file (`session_file.py`), so that a process killed and restarted resumes
its session and its ephemeral nodes never blink. After another boot of the machine it does not: `previous` then only says
whose nodes are ours to remove.

A call without a reply raises `ZkLost`: it may have happened. Whoever called reads again and compares; all that
the controller process does can be run again for that reason.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import (
    BadVersionError,
    ConnectionClosedError,
    ConnectionLoss,
    KazooException,
    NodeExistsError,
    NoNodeError,
    RolledBackError,
    RuntimeInconsistency,
    SessionExpiredError,
    UnimplementedError,
)
from kazoo.protocol.states import KazooState, ZnodeStat

from headrace.controller.zookeeper.errors import Node, ZkConflict, ZkLost
from headrace.controller.zookeeper.handshake import is_behind
from headrace.controller.zookeeper.multi_read import read_many
from headrace.controller.zookeeper.session_file import SessionFile
from headrace.controller.zookeeper.transaction import Action, Transaction
from headrace.errors import ConfigError
from headrace.limits import READS_IN_FLIGHT_MAX
from headrace.runtime.tasks import Future, Tasks
from headrace.testing_marker import TESTING_MARKER

CALL_TIMEOUT_MS = 10_000
CONNECT_REPLY_S = 3.0  # for the reply to a connection's first request
START_CHECK_S = 0.2  # between two signs of life while the first connection is waited for
PROBE_TIMEOUT_S = 0.3  # of each step; asked again and again

_NO_REPLY = (ConnectionLoss, SessionExpiredError, ConnectionClosedError)
_OTHERS_FAULT = (RolledBackError, RuntimeInconsistency)  # of operations beside the one that failed

logging.getLogger("kazoo").setLevel(logging.CRITICAL)  # it logs each attempt of an outage; we log the outage
_log = logging.getLogger(__name__)


class ZkSession:
    """One session, resumed where the file has one that is still alive.

    tasks      who call; one that was cancelled calls no more
    on_event   called by kazoo's threads whenever there is something to take
    drops      how many connections were lost so far
    losses     how many sessions expired so far; ephemeral nodes went with each
    is_other_boot   the machine was started again since the session held before, and registration has not dealt with it
    is_new_life     the supervisor was started since, and registration has not dealt with it

    raises   ConfigError, where `connect` does not parse
    """

    def __init__(
        self,
        connect: str,
        timeout_ms: int,
        session_file: SessionFile | None,
        tasks: Tasks,
        on_event: Callable[[], None],
    ) -> None:
        self.previous = session_file.read() if session_file is not None else None
        self.is_other_boot = session_file is not None and self.previous is not None and not session_file.is_of_this_boot
        self.is_new_life = session_file is None or not session_file.is_of_this_life
        self.drops = 0
        self.losses = 0
        self._probes = 0
        self._has_multi_read = True  # until a server says otherwise
        self._session_file = session_file
        self._tasks = tasks
        self._on_event = on_event
        self._replies: deque[tuple[Future[Any], Any, BaseException | None]] = deque()  # kazoo's threads append
        self._lock = threading.Lock()
        self._changed: dict[str, None] = {}  # by the lock; at most one entry a watched path
        self._watches: dict[str, Callable[[Any], None]] = {}
        self._hosts, _, chroot = connect.partition("/")
        self._chroot = f"/{chroot.rstrip('/')}" if chroot.rstrip("/") else ""
        try:
            self._client = KazooClient(
                hosts=_repeated(self._hosts, timeout_ms),
                timeout=timeout_ms / 1000,
                client_id=None if self.is_other_boot else self.previous,
                connection_retry={"max_tries": -1, "delay": 0.05, "backoff": 1.5, "max_delay": 1.0},
            )
        except ValueError:
            raise ConfigError(
                "zookeeper.connect", connect, "must look like host:port[,host:port...][/chroot]"
            ) from None
        self._client.add_listener(self._on_state)

    @property
    def session_id(self) -> int:
        """0 while there is no connection."""
        client_id = self._client.client_id
        return client_id[0] if client_id else 0

    @property
    def is_connected(self) -> bool:
        return bool(self._client.connected)

    def begin(self) -> None:
        """Connect, as long as that takes, in kazoo's threads. The chroot is made by the first `create` below it."""
        self._client.start_async()

    def start(self, timeout_s: float, alive: Callable[[], None] = lambda: None) -> None:
        """Connect, and wait for it.

        alive    called again and again while it takes; may raise to end it
        raises   ZkLost, where no server answers in time
        """
        deadline = time.monotonic() + timeout_s
        connected = self._client.start_async()
        while not connected.wait(min(START_CHECK_S, max(0.0, deadline - time.monotonic()))):
            alive()
            if time.monotonic() >= deadline:
                self._end()
                raise ZkLost(f"no ZooKeeper responds at {self._hosts} within {timeout_s:.0f} s")
        self.save_session()

    def save_session(self) -> None:
        """Keep id and password of the session for our successor, which has the same to do while the boot or the life is another one."""
        client_id = self._client.client_id
        if self._session_file is not None and client_id is not None and not self.is_other_boot:
            self._session_file.write(client_id, has_begun=not self.is_new_life)

    async def is_refused(self) -> bool:
        """Whether a server opens sessions for others, but not for who has seen as much as we: its state is an older one.

        One server is asked, the next one at the next call; in a thread, for it takes up to 4 times PROBE_TIMEOUT_S.
        """
        last_zxid = self._client.last_zxid
        if last_zxid <= 0 or self.is_connected:
            return False
        hosts = list(dict.fromkeys(self._client.hosts))
        host, port = hosts[self._probes % len(hosts)]
        self._probes += 1
        answer: Future[bool] = Future()

        def ask() -> None:
            self._hand_in(answer, is_behind(host, port, PROBE_TIMEOUT_S, last_zxid), None)

        try:
            threading.Thread(target=ask, name="zookeeper-probe", daemon=True).start()
        except RuntimeError:  # none is to be had: the next call asks
            return False
        return await answer and not self.is_connected

    def forget_history(self) -> None:
        """Connect to servers whose state is older than what we have seen: what we know of the cluster is to be read again."""
        self._client.last_zxid = 0

    def stop(self) -> None:
        """End the session: ephemeral nodes go at once, where a server hears of it."""
        if self._end() and self._session_file is not None:
            self._session_file.remove(has_begun=not self.is_new_life)

    def take_changes(self) -> list[str]:
        """Paths whose watches fired since the last call; a lost connection fires them all."""
        if not self._changed:
            return []
        with self._lock:
            paths = list(self._changed)
            self._changed.clear()
        return paths

    def take_replies(self) -> int:
        """Let those go on who wait for what has come; returns how many replies that were."""
        replies, tasks = self._replies, self._tasks
        done = 0
        while replies:
            future, value, failure = replies.popleft()
            done += 1
            if future.is_done:  # it came too late
                continue
            tasks.unexpect(future)
            if failure is None:
                future.complete(value)
            else:
                future.fail(ZkLost(type(failure).__name__) if isinstance(failure, _NO_REPLY) else failure)
        return done

    async def get(self, path: str, watch: bool = False) -> Node | None:
        """A node, None where it is not there; a watch on it fires once, in both cases."""
        callback = self._watch(path) if watch else None
        while True:
            try:
                data, stat = await self._call(self._client.get_async, self._chroot + path, watch=callback)
                return Node(data or b"", stat.version, stat.ephemeralOwner, stat.ctime, stat.czxid)
            except NoNodeError:
                if callback is None:
                    return None
            if await self._call(self._client.exists_async, self._chroot + path, watch=callback) is None:
                return None  # else it came between the two calls: read it

    async def get_many(self, paths: list[str], watch: bool = False) -> list[Node | None]:
        """Many nodes, READS_IN_FLIGHT_MAX with one round trip of latency; a watch is on those that are there."""
        found: list[Node | None] = []
        while self._has_multi_read and not watch and len(found) < len(paths):
            part = [self._chroot + path for path in paths[len(found) : len(found) + READS_IN_FLIGHT_MAX]]
            try:
                found += [_node_of(one) for one in await self._call(read_many, self._client, part)]
            except UnimplementedError:
                self._has_multi_read = False  # older than 3.6
        for first in range(len(found), len(paths), READS_IN_FLIGHT_MAX):
            part = paths[first : first + READS_IN_FLIGHT_MAX]
            asked = [
                self._call(self._client.get_async, self._chroot + path, watch=self._watch(path) if watch else None)
                for path in part
            ]
            for path, future in ((part[-1], asked[-1]), *zip(part, asked, strict=True)):  # the last one comes last
                try:
                    await future
                except NoNodeError:
                    self._watches.pop(path, None)  # nothing is watched: it would be kept for ever
            found += [None if one.failure is not None else _node_of(one.result()) for one in asked]
        return found

    async def is_for_testing(self) -> bool:
        """Whether the server says of itself that it is for testing only."""
        return await self._call(self._client.exists_async, TESTING_MARKER) is not None

    async def sync(self) -> None:
        """Have our server catch up with the leader of the ensemble: what is read after that is not older than what anybody knows now."""
        await self._call(self._client.sync_async, self._chroot or "/")

    async def children(self, path: str, watch: bool = False) -> list[str]:
        """Names below a node, sorted; empty where it is not there."""
        callback = self._watch(path) if watch else None
        try:
            names = await self._call(self._client.get_children_async, self._chroot + path, watch=callback)
        except NoNodeError:
            return []
        return sorted(names)

    async def tree(self, path: str) -> list[str]:
        """A node and all below it, deepest first; empty where it is not there."""
        found: list[str] = []
        try:
            for name in await self._call(self._client.get_children_async, self._chroot + path):
                found.extend(await self.tree(f"{path}/{name}"))
        except NoNodeError:
            return found
        return [*found, path]

    async def create(self, path: str, data: bytes | None = b"", is_ephemeral: bool = False) -> None:
        """Create a node and its parents; raises ZkConflict, where it exists.

        data   None is no data, which Kafka tells from empty data: it doesn't start where that lies in
               /latest_producer_id_block
        """
        try:
            await self._call(
                self._client.create_async, self._chroot + path, data, ephemeral=is_ephemeral, makepath=True
            )
        except NodeExistsError:
            raise ZkConflict(path, "exists") from None

    async def ensure(self, path: str, data: bytes | None = None) -> None:
        """Create a persistent node, if it is not there."""
        try:
            await self.create(path, data)
        except ZkConflict:
            pass

    async def ensure_all(self, paths: Sequence[str]) -> None:
        """Create persistent nodes without data, and their parents, those that are not there: with two round trips of latency."""
        wanted = _with_parents(paths)
        found = await self.get_many(wanted)
        missing = [path for path, node in zip(wanted, found, strict=True) if node is None]
        for first in range(0, len(missing), READS_IN_FLIGHT_MAX):
            asked = [
                self._call(self._client.create_async, self._chroot + path, None, makepath=True)
                for path in missing[first : first + READS_IN_FLIGHT_MAX]
            ]
            for future in asked:
                try:
                    await future
                except NodeExistsError:
                    pass  # another client was faster

    async def set(self, path: str, data: bytes, version: int = -1) -> int:
        """returns the new version; raises ZkConflict, where the version is another or the node is gone"""
        try:
            return int((await self._call(self._client.set_async, self._chroot + path, data, version)).version)
        except (BadVersionError, NoNodeError) as failure:
            raise ZkConflict(path, type(failure).__name__) from None

    async def delete(self, path: str) -> None:
        """Remove a node, if it is there."""
        try:
            await self._call(self._client.delete_async, self._chroot + path)
        except NoNodeError:
            pass

    async def commit(self, transaction: Transaction) -> None:
        """All or nothing; raises ZkConflict with the path of the operation that failed."""
        request = self._client.transaction()
        for action, path, data, version, is_ephemeral, is_sequential in transaction.operations:
            path = self._chroot + path
            if action is Action.CHECK:
                request.check(path, version)
            elif action is Action.CREATE:
                request.create(path, data, ephemeral=is_ephemeral, sequence=is_sequential)
            elif action is Action.SET:
                request.set_data(path, data, version)
            else:
                request.delete(path, version)
        results = await self._call(request.commit_async)
        failures = [
            (operation.path, result)
            for operation, result in zip(transaction.operations, results, strict=True)
            if isinstance(result, Exception)
        ]
        for path, failure in sorted(failures, key=lambda entry: isinstance(entry[1], _OTHERS_FAULT)):
            raise ZkConflict(path, type(failure).__name__)

    def _call(self, operation: Callable[..., Any], *arguments: Any, **options: Any) -> Future[Any]:
        """raises   ZkLost, where there is no connection, or the session of the task that calls is over"""
        self._tasks.check()
        if not self._client.connected:
            raise ZkLost("not connected")
        reply: Future[Any] = Future()
        self._tasks.expect(reply, CALL_TIMEOUT_MS, ZkLost(f"no reply within {CALL_TIMEOUT_MS} ms"))
        operation(*arguments, **options).rawlink(partial(self._on_reply, reply))
        return reply

    # In kazoo's threads

    def _on_reply(self, reply: Future[Any], result: Any) -> None:
        self._hand_in(reply, result.value, result.exception)

    def _hand_in(self, reply: Future[Any], value: Any, failure: BaseException | None) -> None:
        self._replies.append((reply, value, failure))
        if len(self._replies) == 1:  # else somebody has rung, and nobody took it yet
            self._on_event()

    def _watch(self, path: str) -> Callable[[Any], None]:
        """The same function for the same path, until it fires: kazoo keeps watches in sets."""
        return self._watches.setdefault(path, partial(self._on_change, path))

    def _on_change(self, path: str, _event: object) -> None:
        with self._lock:
            self._changed[path] = None
        self._watches.pop(path, None)
        self._on_event()

    def _on_state(self, state: str) -> None:
        if state == KazooState.SUSPENDED:
            self.drops += 1
        elif state == KazooState.LOST:
            self.losses += 1
        self._on_event()

    def _end(self) -> bool:
        """Let kazoo's threads go; False where they would not end the session in order."""
        try:
            self._client.stop()
            self._client.close()
        except (KazooException, OSError) as failure:
            _log.warning("ZooKeeper session not closed cleanly reason=%s", type(failure).__name__)
            return False
        return True


def _node_of(found: tuple[bytes, ZnodeStat] | None) -> Node | None:
    """What was read; None where the node is not there."""
    if found is None:
        return None
    data, stat = found
    return Node(data or b"", stat.version, stat.ephemeralOwner, stat.ctime, stat.czxid)


def _with_parents(paths: Sequence[str]) -> list[str]:
    """Each path after all nodes above it, once."""
    found: dict[str, None] = {}
    for path in paths:
        names = path.split("/")
        found.update(dict.fromkeys("/".join(names[:end]) for end in range(2, len(names) + 1)))
    return list(found)


def _repeated(hosts: str, timeout_ms: int) -> str:
    """Each server some times over: kazoo gives a server its share of the session timeout to answer.

    A server that is just starting may drop what it is sent. With one server, kazoo would wait for the whole session
    timeout then, and the session be over.
    """
    servers = hosts.split(",")
    times = math.ceil(timeout_ms / 1000 / len(servers) / CONNECT_REPLY_S)
    return ",".join(servers * max(1, times))
