"""States and epochs of the past: a ZooKeeper that was put back to a backup (decision 015). What it has counts, older or not.

Runs in: the controller process, where everything is read in a new session, from a server that was synced: what is older there than
what this node knows was not read too early. The logs say what the states don't; their owners find them ahead.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from headrace.controller.cluster.known_cluster import KnownCluster
from headrace.controller.cluster.topic import Topic, is_another, is_older
from headrace.limits import HELD_TOLD_MAX

_log = logging.getLogger(__name__)


def take(known: KnownCluster, found: Mapping[str, Topic], revisions: Mapping[str, int]) -> list[tuple[str, int]]:
    """Forget states that are newer than those that were read; returns the partitions.

    found       topics as they were read
    revisions   of the known ones, before that: what we wrote since is newer
    """
    past = []
    for name, topic in found.items():
        before = known.topics.get(name)
        if before is None or revisions.get(name) != before.revision or is_another(before.topic_id, topic.topic_id):
            continue
        for index, (now, state) in enumerate(zip(before.states, topic.states, strict=False)):
            if now is not None and state is not None and is_older(state, now):
                before.states[index] = state
                before.told.pop(index, None)
                known.note_held(name, index)
                past.append((name, index))
    if past:
        _log.error(
            "ZooKeeper has old partition states, as after a restored backup: they are used, and logs ahead of them are compared"
            " partitions=%d some=%s",
            len(past), ", ".join(f"{name}-{index}" for name, index in past[:HELD_TOLD_MAX]),
        )  # fmt: skip
    return past


def controller_epoch(epoch: int, seen: int) -> int:
    """The epoch that controllers are judged by: what ZooKeeper has, also below what was seen, for it gives no later one by itself."""
    if epoch < seen:
        _log.error("ZooKeeper has an old controller epoch, as after a restored backup epoch=%d seen=%d", epoch, seen)
    return epoch
