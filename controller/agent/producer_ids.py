"""Producer ids, unique in the cluster: blocks of a thousand from ZooKeeper, handed out one by one.

Runs in: the controller process of every node, active or not. A block is claimed by a versioned write before
its first id is given, and once however many wait for it. What is left of a block when the process ends is lost, and so
is a block whose claim got no reply: ids are many, and only twice the same would harm.

A ZooKeeper that was restored from a backup would give them twice. So each node knows up to where they were given (`producer_id_file.py`),
and compares that with the counter when it joins, after each outage, and when it claims a block. A counter that is below is of the past: it
is raised above what is known, by as much as `headrace cluster restored` skips, since other nodes may know of later ones; what was left
of the block at hand is not given out. Until the first node has found it, a node that knows of nothing may claim what was given before.

Source: Kafka `ZkProducerIdManager`.
"""

from __future__ import annotations

import logging

from headrace.controller.agent.producer_id_file import PRODUCER_ID_MAX, ProducerIdFile
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ZkConflict, ZkError
from headrace.controller.zookeeper.session import ZkSession
from headrace.controller.zookeeper.znodes import BadZnode
from headrace.limits import PRODUCER_ID_TRIES_MAX, PRODUCER_IDS_SKIPPED
from headrace.runtime.tasks import Future

BLOCK = 1000

_log = logging.getLogger(__name__)


class ProducerIds:
    """The block at hand."""

    def __init__(self, zk: ZkSession, node_id: int, given: ProducerIdFile | None = None) -> None:
        self._zk = zk
        self._given = given or ProducerIdFile()
        self._node_id = node_id
        self._next = 0
        self._end = 0
        self._claimed: Future[None] | None = None  # a claim that is on its way

    async def prepare(self) -> None:
        """Have a block at hand, so that producers start in a short outage of ZooKeeper. raises ZkError"""
        while self._next >= self._end:
            if self._claimed is not None:
                await self._claimed  # another client's claim; the ids of its block may be gone by the time we go on
                continue
            claimed = self._claimed = Future()
            try:
                await self._claim()
                claimed.complete(None)
            except Exception as failure:
                claimed.fail(failure)
                raise
            finally:
                self._claimed = None

    async def take(self) -> int:
        """The next id; raises ZkError, where no block can be had."""
        await self.prepare()
        self._next += 1
        return self._next - 1

    async def _claim(self) -> None:
        self._next = await self.claim_block(self._node_id)
        self._end = self._next + BLOCK

    async def claim_block(self, broker_id: int) -> int:
        """The first of BLOCK ids that are a broker's from now on; raises ZkError, where no block can be had."""
        for _ in range(PRODUCER_ID_TRIES_MAX):
            node = await self._zk.get(znodes.PRODUCER_ID_BLOCK)
            if node is None:
                await self._zk.ensure(znodes.PRODUCER_ID_BLOCK)
                continue
            counted = znodes.decode_producer_id_block(node.data)
            first = self._unused_from(counted)
            if first > PRODUCER_ID_MAX - BLOCK:
                raise ZkError(f"producer ids are exhausted: the next block would begin at {first}")
            data = znodes.encode_producer_id_block(broker_id, first, first + BLOCK - 1)
            try:
                await self._zk.set(znodes.PRODUCER_ID_BLOCK, data, node.version)
            except ZkConflict:
                continue
            self._note_restored(counted, first)
            self._given.note(first + BLOCK)
            return first
        raise ZkError(f"no producer id block in {PRODUCER_ID_TRIES_MAX} tries")

    async def compare(self) -> None:
        """After ZooKeeper was away, or another one came: have it count on from what was given out. raises ZkError

        A counter that can't be read is left as it is. No ids are given until it can be, and nothing else waits for that.
        """
        for _ in range(PRODUCER_ID_TRIES_MAX):
            node = await self._zk.get(znodes.PRODUCER_ID_BLOCK)
            try:
                counted = 0 if node is None else znodes.decode_producer_id_block(node.data)
            except BadZnode as failure:
                _log.error("producer ids not allocated reason=%s", failure)
                return
            first = self._unused_from(counted)
            if first == counted:
                self._given.note(counted)
                return
            if node is None:
                await self._zk.ensure(znodes.PRODUCER_ID_BLOCK)
                continue
            data = znodes.encode_producer_id_block(self._node_id, counted, first - 1)
            try:
                await self._zk.set(znodes.PRODUCER_ID_BLOCK, data, node.version)
            except ZkConflict:
                continue
            self._note_restored(counted, first)
            self._given.note(first)
            return
        raise ZkError(
            f"the counter of producer ids was changed by other clients {PRODUCER_ID_TRIES_MAX} times while it was being compared"
        )

    def _unused_from(self, counted: int) -> int:
        """The first id that nobody has, by what ZooKeeper counted and what is known here."""
        return counted if counted >= self._given.next else self._given.next + PRODUCER_IDS_SKIPPED

    def _note_restored(self, counted: int, first: int) -> None:
        if first == counted:
            return
        _log.error(
            "producer id counter in ZooKeeper is too low, as after a restored backup, skipping ids counted=%d given=%d next=%d",
            counted,
            self._given.next,
            first,
        )
        self._next = self._end  # of the block at hand others may have been given some
