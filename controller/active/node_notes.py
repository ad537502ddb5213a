"""Notes of brokers that are nodes of ours (`/headrace/nodes/N`), removed once a broker of another kind has the id.

Runs in: the controller process of the active node, one object a term. `headrace cluster restored` has the replicas of nodes held, and no
others: a broker of Apache Kafka holds nothing. A node notes its session once it is registered (`agent/registration.py`). So where a broker
has been registered for LOOK_MS in a session that its note does not name, no node has registered it.

    no note, or one that names no session (an older version wrote it)     left as it is
    the note is written meanwhile                                         left as it is: it is removed by its version
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from headrace.controller.active.term import RETRY_MS, Part, Term
from headrace.controller.zookeeper import held_znodes, znodes
from headrace.controller.zookeeper.errors import ControllerMoved, ZkConflict, ZkError

LOOK_MS = 60_000  # a node notes it at once; one that is killed before that has it noted when it is back

_log = logging.getLogger(__name__)


class NodeNotes(Part):
    """Those of a term."""

    def __init__(self, term: Term) -> None:
        self._term = term
        self._come: dict[int, int] = {}  # brokers that came since the last look, and their epochs
        self._is_waiting = False

    async def begin(self) -> None:
        self._look(frozenset(self._term.brokers))

    def brokers_changed(self, gone: frozenset[int], come: frozenset[int]) -> None:
        self._look(come)

    def _look(self, come: frozenset[int]) -> None:
        self._come.update((broker, epoch) for broker, epoch in self._term.brokers.items() if broker in come)
        if self._come and not self._is_waiting and not self._term.is_over:
            self._is_waiting = self._term.tasks.later(LOOK_MS, self._begin_look)

    def _begin_look(self) -> None:
        self._is_waiting = False
        come, self._come = self._come, {}
        if not self._term.is_over:
            self._term.start(self._remove_stale(come))

    async def _remove_stale(self, come: Mapping[int, int]) -> None:
        """raises   ControllerMoved"""
        term = self._term
        while not term.is_over:
            try:
                await self._remove_of(come)
                return
            except ControllerMoved:
                raise
            except ZkError as failure:
                _log.debug("notes of nodes not read, retrying later reason=%s", failure)
                await term.tasks.sleep(RETRY_MS)

    async def _remove_of(self, epochs: Mapping[int, int]) -> None:
        """Of brokers that are registered as they were.

        epochs   theirs
        raises   ZkError
        """
        zk, term, brokers = self._term.zk, self._term, list(epochs)
        registered = await zk.get_many([znodes.broker_path(broker) for broker in brokers])
        notes = await zk.get_many([held_znodes.node_path(broker) for broker in brokers])
        for broker, registration, note in zip(brokers, registered, notes, strict=True):
            session_id = held_znodes.noted_session(note.data) if note is not None else 0
            if registration is None or note is None or session_id in (0, registration.ephemeral_owner):
                continue
            if registration.created_zxid != epochs[broker]:
                continue  # it came again, and is looked at later
            transaction = term.guard.begin()
            transaction.delete(held_znodes.node_path(broker), note.version)
            try:
                await term.commit(transaction)
            except ControllerMoved:
                raise
            except ZkConflict:
                continue  # a node has the id again
            _log.warning("broker is no longer a Headrace node, its note was removed broker=%d", broker)
