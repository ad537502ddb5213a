"""Topics without an id get one: those from before inter.broker.protocol.version 2.8, and those that a client made by hand.

Runs in: the controller process of the active node, one object a term, before every other part: what they notify brokers then names the
id, and whoever has the partition without one takes it, at an equal leader epoch. Below 2.8 nobody would understand it.

    topics without an id  ->  names reserved, their nodes read  ->  one multi sets them, each at its version  ->  the agent is notified

Source: Kafka `KafkaController.processTopicIds`, `KafkaZkClient.setTopicIds`; KIP-516.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable

from headrace.controller.active.term import RETRY_MS, Part, Term
from headrace.controller.active.topics.topic_creation import encode_assignment
from headrace.controller.cluster import events
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ControllerMoved, ZkError
from headrace.controller.zookeeper.znodes import BadZnode
from headrace.errors import KafkaError
from headrace.protocol.broker_versions import inter_broker

IDS_PER_COMMIT = 100

_log = logging.getLogger(__name__)


class TopicIds(Part):
    """Of a term."""

    def __init__(self, term: Term) -> None:
        self._term = term
        self._is_enabled = inter_broker(term.settings["inter.broker.protocol.version"]).has_topic_ids
        self._waiting: dict[str, None] = {}  # names of topics that have none
        self._is_giving = False

    async def begin(self) -> None:
        self._note(self._term.known.topics)
        await self._give_all()

    def topics_read(self, names: Collection[str]) -> None:
        self._note(names)
        self._start()

    def topic_written(self, name: str) -> None:
        self.topics_read((name,))

    def _note(self, names: Iterable[str]) -> None:
        if self._is_enabled:
            self._waiting.update(dict.fromkeys(name for name in names if self._lacks_id(name)))

    def _lacks_id(self, name: str) -> bool:
        topic = self._term.known.topics.get(name)
        return topic is not None and not topic.topic_id and name not in self._term.marked

    def _start(self) -> None:
        if self._waiting and not self._is_giving and not self._term.is_over:
            self._is_giving = True
            self._term.start(self._give_later(), self._given)

    def _given(self) -> None:
        self._is_giving = False
        self._start()

    async def _give_later(self) -> None:
        try:
            await self._give_all()
        except ControllerMoved:
            raise
        except ZkError as failure:
            _log.debug("topic ids not assigned, retrying later reason=%s", failure)
            await self._term.tasks.sleep(RETRY_MS)

    async def _give_all(self) -> None:
        """Topics that another task writes are left to `topic_written`. raises   ZkError: it is called again"""
        while self._waiting and not self._term.is_over:
            names = list(self._waiting)[:IDS_PER_COMMIT]
            await self._give([name for name in names if self._lacks_id(name) and name not in self._term.reservations])
            for name in names:
                self._waiting.pop(name, None)

    async def _give(self, names: list[str]) -> None:
        reservations, is_told = self._term.reservations, False
        for name in names:
            reservations.reserve(name)
        try:
            ids = await self._write(names)
            if ids:
                self._term.tell(events.TopicIdsGiven(ids))
                _log.info("topic ids assigned count=%d first=%s epoch=%d", len(ids), next(iter(ids)), self._term.epoch)
            is_told = len(ids) == len(names)
        finally:
            for name in names:
                reservations.release(name, is_told)

    async def _write(self, names: list[str]) -> dict[str, str]:
        """The ids that were written; without those of topics that are not as they are known. raises   ZkError"""
        term = self._term
        transaction = term.guard.begin()
        ids: dict[str, str] = {}
        paths = [znodes.topic_path(name) for name in names]
        for name, path, node in zip(names, paths, await term.zk.get_many(paths), strict=True):
            topic = term.known.topics.get(name)
            if node is None or topic is None:
                continue
            try:
                found = znodes.decode_topic(name, node.data)
                if found.topic_id or found.replicas != topic.replicas:
                    continue  # it is read again
                ids[name] = znodes.new_uuid()
                transaction.set(path, encode_assignment(found._replace(topic_id=ids[name])), node.version)
            except (BadZnode, KafkaError) as failure:
                ids.pop(name, None)
                _log.warning("topic id not assigned topic=%s reason=%s", name, failure)
        if ids:
            await term.commit(transaction)
        return ids
