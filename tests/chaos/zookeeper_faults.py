"""Faults of ZooKeeper: connections cut, sessions ended, the server stopped, killed, away at a start, taken back to an older
state; a znode that somebody damaged.

Used by: the campaign. The node reaches ZooKeeper through a proxy; what is done here goes there directly.
"""

from __future__ import annotations

import json
import os
import queue
import random
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from functools import partial

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException
from kazoo.handlers.threading import KazooTimeoutError

from tests.chaos.process_faults import early_stop
from tests.chaos.raw_client import EARLIEST, raw_client, until
from tests.chaos.running_node import Node
from tests.chaos.stage import Fault, Kind, Orphan, Stage
from tests.chaos.topic_clients import TopicClient
from tests.support.session_thief import end_session

SESSION_FILE = ".headrace-session"
FLAP_S = 8.0
CUTS_MAX = 6
PAUSE_MAX_S = 3.0
WAITING_START_S = 2.0  # how long a start without ZooKeeper is watched
WAITING_TIMEOUT_MS = "1000"
ORPHAN_RECORDS = 30
MEND_S = 60.0
HOLD_S = 30.0
LATE_TOPICS_MAX = 3
ZK_ERRORS = (KazooException, KazooTimeoutError, OSError)


class Cut(Fault):
    """All connections to ZooKeeper are closed."""

    name, weight = "zk-cut", 4.0

    def fire(self, stage: Stage, chance: random.Random) -> float | None:
        now = time.monotonic()
        return now if stage.proxy.cut() else None


class Expire(Fault):
    """The node's session ends, as if it had expired."""

    name, weight, kind = "zk-expire", 2.0, Kind.JOB

    def fire(self, stage: Stage, chance: random.Random) -> float | None:
        return time.monotonic() if _end_session(stage) else None


class Flap(Fault):
    """The session ends, and the connection is cut again and again while the node rejoins and clients create topics."""

    name, weight, kind = "zk-flap", 2.0, Kind.JOB

    def fire(self, stage: Stage, chance: random.Random) -> float | None:
        cuts = [int(10 ** chance.uniform(1.7, 4.3)) for _ in range(chance.randint(1, CUTS_MAX))]
        now = time.monotonic()
        stage.proxy.cut_next(cuts)
        if not _end_session(stage):
            stage.proxy.cut_next([])
            return None
        stage.proxy.cut()
        deadline = now + FLAP_S
        made = 0
        while stage.proxy.cuts_left and time.monotonic() < deadline and not stage.is_ending.is_set():
            made += _try_topic(stage, f"flap-{stage.number()}", chance)
            time.sleep(0.02)
            if made >= LATE_TOPICS_MAX:
                break
        stage.proxy.cut_next([])
        return time.monotonic()


class Pause(Fault):
    """SIGSTOP to ZooKeeper, SIGCONT after a while."""

    name, weight = "zk-stop-cont", 1.0

    def fire(self, stage: Stage, chance: random.Random) -> float | None:
        now = time.monotonic()
        pid = stage.zookeeper.pid
        os.kill(pid, signal.SIGSTOP)
        stage.later(chance.uniform(0.1, PAUSE_MAX_S), partial(os.kill, pid, signal.SIGCONT))
        return now


class Restart(Fault):
    """SIGKILL to ZooKeeper; it is away for a while, and starts again."""

    name, weight, kind = "zk-restart", 0.3, Kind.HEAVY

    def fire(self, stage: Stage, chance: random.Random) -> float | None:
        now = time.monotonic()
        _kill_zookeeper(stage)
        stage.sleep(chance.choice([0.0, 0.3, 1.0]))
        stage.zookeeper.start()
        return now


class StartWithout(Fault):
    """The node ends, uncleanly or not, and starts while there is no ZooKeeper; then there is one.

    Such a start may wait, or end with 78; waiting, it may be told to end.
    """

    name, weight, kind = "start-without-zk", 0.5, Kind.HEAVY

    def fire(self, stage: Stage, chance: random.Random) -> float | None:
        now = time.monotonic()
        stage.kill_tree() if chance.random() < 0.6 else stage.stop_node()
        _kill_zookeeper(stage)
        node = stage.node
        with _setting(node, "zookeeper.connection.timeout.ms", WAITING_TIMEOUT_MS):
            node.launch()
        outcome = node.wait_ready(WAITING_START_S)
        stage.notes[f"a start without ZooKeeper: {'waits' if outcome == 'late' else outcome}"] += 1
        if outcome == "late" and chance.random() < 0.4:
            early_stop(stage, "to a start that waits")
            outcome = 0
        stage.zookeeper.start()
        if outcome == "late":
            outcome = node.wait_ready(MEND_S)
        if outcome == "late":
            stage.blame("not-ready", "a start that waited for ZooKeeper did not go on when it was there")
            stage.kill_tree()
        if outcome != "ready":
            node.start()
        return now


class Restore(Fault):
    """ZooKeeper is taken back to a copy of its data; topics that were made since have to keep their files."""

    name, weight, kind = "zk-restore", 0.2, Kind.HEAVY

    def fire(self, stage: Stage, chance: random.Random) -> float | None:
        hold = _Hold(stage)
        try:
            return self._restore(stage, chance) if stage.drain() and hold.take() else None
        finally:
            hold.end()

    def _restore(self, stage: Stage, chance: random.Random) -> float | None:
        data, copy = stage.directory / "zookeeper" / "data", stage.directory / "zookeeper-copy"
        shutil.rmtree(copy, ignore_errors=True)
        subprocess.run(["cp", "-a", "--sparse=always", str(data), str(copy)], check=True)
        late = [f"late-{stage.number()}" for _ in range(chance.randint(1, LATE_TOPICS_MAX))]
        made = [topic for topic in late if _orphan(stage, topic)]
        now = time.monotonic()
        _kill_zookeeper(stage)
        shutil.rmtree(data)
        subprocess.run(["cp", "-a", "--sparse=always", str(copy), str(data)], check=True)
        stage.zookeeper.start()
        stage.notes["topics that ZooKeeper forgot"] += len(made)
        if chance.random() < 0.5:
            stage.kill_tree()
            stage.node.start()
        else:
            for pid in stage.node.children().get("controller", ()):
                stage.node.signal(pid, signal.SIGKILL)
        return now


class BadZnode(Fault):
    """Somebody damages a topic's znode, the controller starts again; then it is mended."""

    name, weight, kind = "bad-znode", 1.0, Kind.JOB

    def fire(self, stage: Stage, chance: random.Random) -> float | None:
        client = chance.choice(stage.resting)
        path = chance.choice([f"/config/topics/{client.topic}", f"/brokers/topics/{client.topic}"])
        with _lock_of(stage, path) as is_ours:
            if not is_ours:
                return None
            whole = _change(stage, path, lambda data: data[:-1])
            if whole is None:
                return None
            _kill_controller(stage)
            time.sleep(chance.uniform(0.3, 1.0))
            deadline = time.monotonic() + MEND_S
            while _change(stage, path, lambda _data: whole) is None:
                if time.monotonic() > deadline:
                    stage.blame("campaign", f"{path} could not be mended")
                    return None
                time.sleep(0.1)
            _kill_controller(stage)
        with raw_client(lambda: stage.node.port) as raw:
            try:
                until(lambda: raw.offset(client.topic, 0, EARLIEST), MEND_S)
            except TimeoutError as failure:
                stage.blame("not-served", f"{client.topic} after its znode was mended: {failure}")
        return time.monotonic()


class _Hold:
    """Keeps the clients that delete and create topics from doing so."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._arrived = threading.Semaphore(0)
        self._is_over = threading.Event()

    def take(self) -> bool:
        """True, once none of them is at it."""
        deadline = time.monotonic() + HOLD_S
        for client in self._stage.churned:
            while time.monotonic() < deadline:
                try:
                    client.jobs.put(self._wait, timeout=0.05)
                    break
                except queue.Full:
                    self._stage.run_due()
        return all(self._arrived.acquire(timeout=max(0.0, deadline - time.monotonic())) for _ in self._stage.churned)

    def end(self) -> None:
        self._is_over.set()

    def _wait(self) -> None:
        self._arrived.release()
        while not self._is_over.wait(0.05) and not self._stage.is_ending.is_set():
            pass


class _setting:
    """A setting for one start."""

    def __init__(self, node: Node, key: str, value: str) -> None:
        self._node, self._key, self._value = node, key, value

    def __enter__(self) -> None:
        self._before = self._node.settings.get(self._key)
        self._node.settings[self._key] = self._value

    def __exit__(self, *_: object) -> None:
        if self._before is None:
            del self._node.settings[self._key]
        else:
            self._node.settings[self._key] = self._before


class _lock_of:
    """Nobody else damages the same znode meanwhile."""

    def __init__(self, stage: Stage, path: str) -> None:
        self._stage, self._path = stage, path

    def __enter__(self) -> bool:
        self._is_ours = self._path not in self._stage.damaged
        if self._is_ours:
            self._stage.damaged.add(self._path)
        return self._is_ours

    def __exit__(self, *_: object) -> None:
        if self._is_ours:
            self._stage.damaged.discard(self._path)


def _end_session(stage: Stage) -> bool:
    """Of the files that tell of a session, the last one counts."""
    try:
        paths = [path / SESSION_FILE for path in stage.node.log_dirs]
        told = [path for path in paths if path.exists()]
        end_session(stage.zookeeper.connect, max(told, key=lambda path: json.loads(path.read_text()).get("serial", 0)))
    except (OSError, ValueError, AssertionError):
        return False
    return True


def _kill_zookeeper(stage: Stage) -> None:
    os.kill(stage.zookeeper.pid, signal.SIGKILL)
    stage.zookeeper.stop()
    stage.proxy.cut()


def _kill_controller(stage: Stage) -> None:
    for pid in stage.node.children().get("controller", ()):
        stage.node.signal(pid, signal.SIGKILL)


def _change(stage: Stage, path: str, change: Callable[[bytes], bytes]) -> bytes | None:
    """The node's data as they were before; None where ZooKeeper did not do it."""
    client = KazooClient(hosts=stage.zookeeper.connect, timeout=4.0)
    try:
        client.start(timeout=4)
        data, _stat = client.get(path)
        client.set(path, change(data))
    except ZK_ERRORS:
        return None
    finally:
        client.stop()
        client.close()
    return bytes(data)


def _try_topic(stage: Stage, topic: str, chance: random.Random) -> bool:
    """A topic at rest that is made now, with some records and a committed offset; False where that did not work."""
    client = TopicClient(topic, stage.node, stage.history, chance)
    try:
        if not client.try_create(1.0):
            return False
        for _ in range(3):
            client.write(0)
        client.read(0)
        client.commit(0)
    finally:
        client.raw.close()
    stage.resting.append(client)
    return True


def _orphan(stage: Stage, topic: str) -> bool:
    """A topic with records that are acknowledged, which is about to be forgotten."""
    with raw_client(lambda: stage.node.port) as raw:
        try:
            until(lambda: raw.create(topic) in (0, 36) or None, MEND_S)
            values = [f"{topic}-{number}" for number in range(ORPHAN_RECORDS)]
            until(lambda: raw.produce(topic, {0: values})[0][1] == 0 or None, MEND_S)
        except TimeoutError:
            return False
    stage.orphans.append(Orphan(topic, values))
    return True


ZOOKEEPER_FAULTS: list[Fault] = [
    Cut(),
    Expire(),
    Flap(),
    Pause(),
    Restart(),
    StartWithout(),
    Restore(),
    BadZnode(),
]
