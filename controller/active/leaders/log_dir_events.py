"""Log directories that failed: which replicas are offline is for their broker to say.

Runs in: the controller process of the active node, one object a term.

    /log_dir_event_notification/log_dir_event_N   ->  LeaderAndIsr of all its replicas to that broker  ->  the node removed
    its answer: KAFKA_STORAGE_ERROR               ->  these are offline (`leaders.py`): other leaders, smaller ISRs

A directory is back when its broker starts again, with another broker epoch; until then each LeaderAndIsr is answered so. A broker that
releases a held replica writes a note as well. Replicas of deleted topics are tried again too (`deletions.py`).

Source: Kafka `KafkaController.processLogDirEventNotification`, `onBrokerLogDirFailure`; KIP-112.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from headrace.controller.active.numbered_notes import NumberedNotes
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.znodes import BadZnode

_log = logging.getLogger(__name__)


class LogDirEvents(NumberedNotes):
    """Those of a term."""

    watched = znodes.LOG_DIR_EVENTS

    async def take(self, notes: Iterator[tuple[str, bytes]]) -> None:
        """Ask each broker that told once."""
        brokers = set()
        for path, data in notes:
            try:
                brokers.add(znodes.decode_log_dir_event(path, data))
            except BadZnode as failure:
                _log.warning("log directory notification ignored reason=%s", failure)
        for broker in sorted(brokers & self._term.known.brokers.keys()):
            self._ask(broker)

    def _ask(self, broker: int) -> None:
        term = self._term
        _log.warning("a log directory failed or came back, asking its broker for offline replicas broker=%d", broker)
        for name in term.known.topics_on((broker,)):
            topic = term.known.topics[name]
            indexes = [index for index, replicas in enumerate(topic.replicas) if broker in replicas]
            term.notices.tell_leaders(name, indexes, (broker,))
        for part in term.parts():
            part.directories_changed(broker)
