"""ISRs that leaders changed themselves, as they do at an inter.broker.protocol.version below 2.7.

Runs in: the controller process of the active node, of whatever version; one object a term. A leader writes the state's node, and then

    /isr_change_notification/isr_change_N   ->  states read again  ->  the agent, UpdateMetadata to all  ->  the node removed

Source: Kafka `KafkaController.processIsrChangeNotification`.
"""

from __future__ import annotations

import logging

from headrace.controller.active.term import RETRY_MS, Part, Term
from headrace.controller.cluster import events
from headrace.controller.zookeeper import notifications, znodes
from headrace.controller.zookeeper.errors import ControllerMoved, ZkError
from headrace.controller.zookeeper.znodes import BadZnode, PartitionState
from headrace.limits import READS_IN_FLIGHT_MAX

_log = logging.getLogger(__name__)


class IsrNotifications(Part):
    """Those of a term; one task at a time follows them."""

    watched = znodes.ISR_CHANGES

    def __init__(self, term: Term) -> None:
        self._term = term
        self._is_following = False
        self._has_more = False  # it was told of more meanwhile

    async def begin(self) -> None:
        """What came since everything was read."""
        self.notified()

    def notified(self) -> None:
        self._has_more = True
        if not self._is_following and not self._term.is_over:
            self._is_following = True
            self._term.start(self._follow_all(), self._followed)

    def _followed(self) -> None:
        self._is_following = False
        if self._has_more:
            self.notified()

    async def _follow_all(self) -> None:
        while self._has_more and not self._term.is_over:
            self._has_more = False
            try:
                await self._follow()
            except ControllerMoved:
                raise
            except ZkError as failure:
                self._has_more = True
                _log.debug("changes of ISRs are followed later reason=%s", failure)
                await self._term.tasks.sleep(RETRY_MS)

    async def _follow(self) -> None:
        """raises   ZkError"""
        zk = self._term.zk
        names = await zk.children(znodes.ISR_CHANGES, watch=True)
        for first in range(0, len(names), READS_IN_FLIGHT_MAX):
            paths = [f"{znodes.ISR_CHANGES}/{name}" for name in names[first : first + READS_IN_FLIGHT_MAX]]
            partitions: dict[tuple[str, int], None] = {}
            for path, node in zip(paths, await zk.get_many(paths), strict=True):
                if node is None:
                    continue
                try:
                    partitions.update(dict.fromkeys(znodes.decode_isr_change(path, node.data)))
                except BadZnode as failure:
                    _log.warning("change of ISRs ignored reason=%s", failure)
            await read_states(self._term, list(partitions))
            await notifications.remove(self._term.guard, paths)


async def read_states(term: Term, partitions: list[tuple[str, int]]) -> None:
    """Read states of partitions that others may have written, and tell them; raises ZkError.

    What is known already is told to brokers all the same: a leader of this node wrote it, or it was read for another reason.
    """
    known = term.known
    for first in range(0, len(partitions), READS_IN_FLIGHT_MAX):
        part = partitions[first : first + READS_IN_FLIGHT_MAX]
        paths = [znodes.state_path(name, index) for name, index in part]
        found: dict[str, list[int]] = {}
        newer: dict[str, dict[int, PartitionState]] = {}
        for (name, index), path, node in zip(part, paths, await term.zk.get_many(paths), strict=True):
            topic = known.topics.get(name)
            now = topic.states[index] if topic is not None and index < len(topic.states) else None
            if node is None or now is None:
                continue
            found.setdefault(name, []).append(index)
            try:
                state = znodes.decode_state(path, node.data, node.version)
            except BadZnode as failure:
                _log.error("partition state kept as it was reason=%s", failure)
                continue
            if state.version > now.version:
                newer.setdefault(name, {})[index] = state
        for name, indexes in found.items():
            if name in newer:
                term.tell(events.StatesWritten(name, known.topics[name].topic_id, newer[name]))
            tell_isrs(term, name, indexes)


def tell_isrs(term: Term, name: str, indexes: list[int]) -> None:
    """Tell brokers and the parts that leaders changed ISRs; the known cluster has it."""
    term.notices.tell_metadata(name, indexes)
    for part in term.parts():
        part.isrs_changed(name, indexes)
