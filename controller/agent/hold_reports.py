"""What an operator reads of holds: lines of the log, and their parts.

Runs in: the controller process of every node (`holds.py`).
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping

from headrace.controller.agent.hold_decision import LogEnd
from headrace.controller.zookeeper.held_znodes import HeldReplica
from headrace.limits import HELD_TOLD_MAX

Place = tuple[str, int]  # topic and partition

_log = logging.getLogger(__name__)


def report_loss(place: Place, offset: int, held: HeldReplica, why: str) -> None:
    """Records may be lost from an offset on."""
    _log.error(
        "acknowledged records may be lost partition=%s-%d first_offset=%d checkpointed_high_watermark=%s"
        " reason=%s; compare what its consumers have seen from that offset on, and send again what is missing",
        *place, offset, held.high_watermark if held.high_watermark > offset else "unknown", why,
    )  # fmt: skip


def report_missing(place: Place) -> None:
    """A replica is held since it has no log here."""
    _log.error(
        "replica held: it is in sync, and its log is not found in any log directory partition=%s-%d; is a disk not mounted? mount it"
        " and restart the node, or give up what this replica had: headrace cluster accept-loss %s:%d",
        *place, *place,
    )  # fmt: skip


def ends_of(others: Mapping[int, LogEnd | None]) -> str:
    """Where the logs of other brokers end."""
    return ", ".join(
        f"{broker} {'is not known' if end is None else f'ends at {end.offset} in epoch {end.epoch}'}"
        for broker, end in others.items()
    )


def some_of(places: Collection[Place]) -> str:
    """The first of them."""
    return ", ".join(f"{name}-{index}" for name, index in list(places)[:HELD_TOLD_MAX])
