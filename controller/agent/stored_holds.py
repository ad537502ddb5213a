"""The znodes in which a node says what it holds (`held_znodes.py`): read when a session begins, written when something changed.

Runs in: the controller process of every node; made and driven by `holds.py`. A create without a reply is looked at before it is
believed. What can't be read stays as it is, and what is held of its topic is written beside it.
"""

from __future__ import annotations

import logging

from headrace.controller.cluster.known_cluster import KnownCluster
from headrace.controller.zookeeper import held_znodes
from headrace.controller.zookeeper.errors import ZkConflict, ZkError
from headrace.controller.zookeeper.held_reader import read_znodes, unread_in
from headrace.controller.zookeeper.session import ZkSession
from headrace.controller.zookeeper.znodes import BadZnode
from headrace.limits import HELD_WRITE_TRIES_MAX, ISR_WRITES_IN_FLIGHT_MAX
from headrace.runtime.tasks import Tasks

_log = logging.getLogger(__name__)


class StoredHolds:
    """Those of one node, over all sessions.

    is_loaded   what ZooKeeper has of us is known
    dirty       topics whose znode says something else than what is held
    """

    def __init__(self, known: KnownCluster, zk: ZkSession, tasks: Tasks) -> None:
        self.is_loaded = False
        self.dirty: set[str] = set()
        self._known = known
        self._zk = zk
        self._tasks = tasks
        self._names: set[str] = set()  # znodes of ours that were read, or written
        self._unread: set[str] = set()  # those that can't be read
        self._unsure: set[str] = set()  # those whose create was sent

    async def load(self) -> None:
        """Read them into what is held, once; later, where ZooKeeper was put back, they are to be written again. raises ZkError

        What can't be read is neither removed nor written over: nobody knows what it holds (decision 013).
        """
        known = self._known
        found, failures = await read_znodes(self._zk, known.node_id)
        unread = unread_in(failures)
        for name in unread - self._unread:
            self._note_unread(name, failures[name])
        self._unread = unread
        known.unread_holds = set(map(held_znodes.topic_of_held, unread))
        self._names = set(failures) - unread
        self._unsure.clear()
        if self.is_loaded:  # what was held when the backup was made may be over
            self.dirty |= set(map(held_znodes.topic_of_held, self._names))
            return
        known.held.update(found)
        for name, index in found:
            known.note_held(name, index)
        self.is_loaded = True

    async def write(self) -> None:
        """Have ZooKeeper say what is held. raises ZkError"""
        names = iter(sorted(self.dirty))

        async def write_some() -> None:
            for name in names:
                self.dirty.discard(name)
                try:
                    await self._store_topic(name)
                except BaseException:
                    self.dirty.add(name)
                    raise
                if name not in self.dirty:
                    self._known.unstored_holds.discard(name)

        if self.dirty:
            await self._tasks.share(min(ISR_WRITES_IN_FLIGHT_MAX, len(self.dirty)), write_some)

    async def _store_topic(self, topic: str) -> None:
        """raises   ZkError"""
        held = {index: one for (name, index), one in self._known.held.items() if name == topic}
        chunks = held_znodes.encode_chunks(topic, held)
        used = [await self._store_chunk(name, data) for name, data in chunks.items()]
        for name in [one for one in self._unsure if held_znodes.topic_of_held(one) == topic and one not in used]:
            await self._look_at(name)
        for name in [one for one in self._names if held_znodes.topic_of_held(one) == topic and one not in used]:
            await self._zk.delete(self._path_of(name))
            self._names.discard(name)

    async def _store_chunk(self, name: str, data: bytes) -> str:
        """Write the znode of some replicas, beside those that can't be read; returns its name. raises ZkError"""
        for _try in range(HELD_WRITE_TRIES_MAX):
            while name in self._unread:
                name = held_znodes.name_beside(name)
            try:
                if name in self._names:
                    await self._zk.set(self._path_of(name), data)
                else:
                    self._unsure.add(name)
                    await self._zk.create(self._path_of(name), data)
            except ZkConflict:
                await self._look_at(name)
                continue
            self._unsure.discard(name)
            self._names.add(name)
            return name
        raise ZkError(
            f"{self._path_of(name)} was changed by other clients {HELD_WRITE_TRIES_MAX} times while it was being written"
        )

    async def _look_at(self, name: str) -> None:
        """What a znode of ours is now: its create may have had no reply. raises ZkError"""
        node = await self._zk.get(self._path_of(name))
        self._unsure.discard(name)
        self._names.discard(name)
        try:
            if node is not None:
                held_znodes.decode_held(name, node.data)
                self._names.add(name)
        except BadZnode as failure:
            self._note_unread(name, failure)

    def _path_of(self, name: str) -> str:
        return f"{held_znodes.held_by_path(self._known.node_id)}/{name}"

    def _note_unread(self, name: str, failure: BadZnode | None) -> None:
        self._unread.add(name)
        self._known.unread_holds.add(held_znodes.topic_of_held(name))
        _log.error(
            "held replicas of a topic are unknown: its files are kept until it is deleted, its znode is left unchanged name=%s reason=%s",
            name, failure,
        )  # fmt: skip
