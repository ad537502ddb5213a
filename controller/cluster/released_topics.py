"""What an operator reads of topics that left ZooKeeper without a mark: their files stay, and how to have them back.

Runs in: the controller process.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from headrace.controller.cluster.topic import Topic
from headrace.controller.zookeeper import znodes
from headrace.limits import ASSIGNMENT_TOLD_MAX, RELEASES_TOLD_MAX

_log: Final = logging.getLogger(__name__)


def report_released(topics: Sequence[Topic], node_id: int) -> None:
    """One ERROR line for each of the first RELEASES_TOLD_MAX topics, and the number of the others."""
    for topic in topics[:RELEASES_TOLD_MAX]:
        _log.error(
            "topic released, its files and offsets are kept topic=%s topic_id=%s replicas_here=%d reason=%s is gone and"
            " /admin/delete_topics has no mark for it: create it again with %s to have the topic back; DeleteTopics"
            " removes it for good",
            topic.name, topic.topic_id, sum(node_id in row for row in topic.replicas), znodes.topic_path(topic.name),
            znodes.encode_topic(topic.assignment)[:ASSIGNMENT_TOLD_MAX].decode(),
        )  # fmt: skip
    if len(topics) > RELEASES_TOLD_MAX:
        _log.error("topics released, their files and offsets are kept more=%d", len(topics) - RELEASES_TOLD_MAX)
