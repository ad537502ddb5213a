"""ISRs that leaders changed themselves, as they do at an inter.broker.protocol.version below 2.7.

Runs in: the controller process of the active node, of whatever version; one object a term. A leader writes the state's node, and then

    /isr_change_notification/isr_change_N   ->  states read again  ->  the agent, UpdateMetadata to all  ->  the node removed

Source: Kafka `KafkaController.processIsrChangeNotification`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from headrace.controller.active.numbered_notes import NumberedNotes
from headrace.controller.active.term import Term
from headrace.controller.cluster import events
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.znodes import BadZnode, PartitionState
from headrace.limits import READS_IN_FLIGHT_MAX

_log = logging.getLogger(__name__)


class IsrNotifications(NumberedNotes):
    """Those of a term."""

    watched = znodes.ISR_CHANGES

    async def take(self, notes: Iterator[tuple[str, bytes]]) -> None:
        """Read the states again."""
        partitions: dict[tuple[str, int], None] = {}
        for path, data in notes:
            try:
                partitions.update(dict.fromkeys(znodes.decode_isr_change(path, data)))
            except BadZnode as failure:
                _log.warning("ISR change notification ignored reason=%s", failure)
        await read_states(self._term, list(partitions))


async def read_states(term: Term, partitions: list[tuple[str, int]]) -> None:
    """Read states of partitions that others may have written, and tell them; raises ZkError.

    What is known already is sent to brokers all the same: a leader of this node wrote it, or it was read for another reason.
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
                _log.error("partition state left unchanged reason=%s", failure)
                continue
            if state.version > now.version:
                newer.setdefault(name, {})[index] = state
        for name, indexes in found.items():
            if name in newer:
                term.tell(events.StatesWritten(name, known.topics[name].topic_id, newer[name]))
            tell_isrs(term, name, indexes)


def tell_isrs(term: Term, name: str, indexes: list[int]) -> None:
    """Notify brokers and the parts that leaders changed ISRs; the known cluster has it."""
    term.notices.tell_metadata(name, indexes)
    for part in term.parts():
        part.isrs_changed(name, indexes)
