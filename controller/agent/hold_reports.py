"""What an operator reads of holds: lines of the log, and their parts.

Runs in: the controller process of every node (`holds.py`).
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from headrace.controller.agent.hold_decision import LogEnd
from headrace.controller.zookeeper.held_znodes import NO_OFFSET, HeldReplica
from headrace.limits import HELD_TOLD_MAX

Place = tuple[str, int]  # topic and partition

_log = logging.getLogger(__name__)


def report_loss(place: Place, offset: int, held: HeldReplica, why: str) -> None:
    """Records may be lost from an offset on."""
    _log.error(
        "acknowledged records may be lost partition=%s-%d first_offset=%d checkpointed_high_watermark=%s"
        " reason=%s; compare what its consumers have read from that offset on, and produce missing records again",
        *place, offset, held.high_watermark if held.high_watermark > offset else "unknown", why,
    )  # fmt: skip


def report_missing(place: Place) -> None:
    """A replica is held since it has no log here."""
    _log.error(
        "replica held: it is in sync, and its log is not found in any log directory partition=%s-%d; is a disk not mounted? mount it"
        " and restart the node, or give up what this replica had: headrace cluster accept-loss %s:%d",
        *place, *place,
    )  # fmt: skip


class Choice(NamedTuple):
    """A log of which an operator may say that it counts.

    loses_from   the lowest offset of a record of the others that is lost then; NO_OFFSET: it is not known
    """

    broker: int
    end: LogEnd
    loses_from: int


def choices_of(
    node_id: int,
    held: HeldReplica,
    others: Mapping[int, LogEnd | None],
    partings: Mapping[int, int],
    brokers: Sequence[int],
) -> list[Choice]:
    """What each of these brokers' logs would lose of what the others have.

    partings   up to where the others' logs are the same as ours; two others are the same as far as both are, at the least
    """
    own = LogEnd(held.end_epoch, held.end_offset, held.high_watermark)
    found = []
    for broker in brokers:
        end = own if broker == node_id else others.get(broker)
        if end is None:
            continue
        rivals = [one for one in brokers if one not in (broker, node_id)]
        parted = [partings.get(one, NO_OFFSET) for one in (rivals if broker == node_id else [broker, *rivals])]
        found.append(Choice(broker, end, min(parted, default=NO_OFFSET)))
    return found


def report_choices(place: Place, choices: Sequence[Choice]) -> None:
    """No log has all that the others have, and an operator has to say which one counts."""
    _log.error(
        "replica held: the logs have diverged and none has all records; an operator must choose one partition=%s-%d: %s",
        *place, said_choices(place, choices),
    )  # fmt: skip


def said_choices(place: Place, choices: Sequence[Choice]) -> str:
    """The command for each, and what is lost with it."""
    return "; ".join(
        f"headrace cluster accept-loss {place[0]}:{place[1]} --keep {one.broker} keeps log_end={one.end.offset}"
        f" log_epoch={one.end.epoch} high_watermark={_offset(one.end.high_watermark)}"
        f" and loses the records of the others from offset {_offset(one.loses_from)} on"
        for one in choices
    )


def _offset(offset: int) -> str:
    return str(offset) if offset >= 0 else "unknown"


def ends_of(others: Mapping[int, LogEnd | None]) -> str:
    """Where the logs of other brokers end."""
    return ", ".join(
        f"{broker} {'is unknown' if end is None else f'ends at {end.offset} in epoch {end.epoch}'}"
        for broker, end in others.items()
    )


def some_of(places: Collection[Place]) -> str:
    """The first of them."""
    return ", ".join(f"{name}-{index}" for name, index in list(places)[:HELD_TOLD_MAX])
