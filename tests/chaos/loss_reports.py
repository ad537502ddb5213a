"""Whether every acknowledged record that is gone was reported by a node: partition, and an offset at or below the record's. Pure.

Used by: the cluster campaign with --power-losses. A node says where a replica leads after its machine went down:

    ... ERROR ... acknowledged records may be lost partition=T-P first_offset=N ...

    unreported-loss   no node has said so since the record was acknowledged
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from tests.chaos.history import FRESH, NO_OFFSET, Operation, Outcome, Poll, Send
from tests.chaos.judge import Anomaly, Place

_REPORT = re.compile(r"^(\S+ \S+) ERROR .*acknowledged records may be lost partition=(\S+)-(\d+) first_offset=(\d+) ")
_PLACE = re.compile(r"(\S+)#\d+-(\d+)@\d+")
# What clients see of a loss: in a partition whose loss was reported it is no other anomaly
SEEN_OF_LOSSES = frozenset((
    "lost-write", "inconsistent-offsets", "unseen", "poll-skip", "nonmonotonic-poll", "int-poll-skip",
    "int-nonmonotonic-poll", "nonmonotonic-send", "int-send-skip", "int-nonmonotonic-send", "committed-back",
    "committed-lost",
))  # fmt: skip
DUPLICATE = "duplicate"  # producers are not idempotent here
OFFSETS_TOPIC = "__consumer_offsets"


class Report(NamedTuple):
    """One line."""

    topic: str
    partition: int
    first_offset: int
    date_s: float  # when it was said, since 1970


def read_reports(lines: Iterable[str]) -> list[Report]:
    """Those among a node's log lines."""
    found = []
    for line in lines:
        match = _REPORT.match(line)
        if match:
            date_s = datetime.fromisoformat(match[1]).timestamp()
            found.append(Report(match[2], int(match[3]), int(match[4]), date_s))
    return found


def lost_records(operations: Sequence[Operation]) -> list[tuple[Place, float]]:
    """Acknowledged records that are not at their offset at the end, and when they were acknowledged."""
    final = {
        Place(one.topic, one.generation, record.partition, record.offset): record.value
        for one in operations
        if isinstance(one, Poll) and one.client == FRESH
        for record in one.records
    }
    found = []
    for one in operations:
        if isinstance(one, Send) and one.outcome is Outcome.OK and one.base_offset != NO_OFFSET:
            for index, value in enumerate(one.values):
                place = Place(one.topic, one.generation, one.partition, one.base_offset + index)
                if final.get(place) != value:
                    found.append((place, one.ended))
    return found


def judge_losses(lost: Iterable[tuple[Place, float]], reports: Sequence[Report], epoch_s: float) -> list[Anomaly]:
    """Losses that nobody has reported.

    epoch_s   what is to be added to times of the history, to get a date
    """
    anomalies = []
    for place, ended in lost:
        is_told = any(
            (one.topic, one.partition) == (place.topic, place.partition)
            and one.first_offset <= place.offset
            and one.date_s >= ended + epoch_s - 1  # log lines are dated to the millisecond, and clocks are two
            for one in reports
        )
        if not is_told:
            anomalies.append(Anomaly("unreported-loss", f"{place} was acknowledged, and is gone; no node says so"))
    return anomalies


def without_reported(anomalies: Iterable[Anomaly], reports: Sequence[Report]) -> list[Anomaly]:
    """What clients saw, but for what they saw of losses in partitions where some were reported."""
    told = {(one.topic, one.partition) for one in reports}
    has_offsets = any(topic == OFFSETS_TOPIC for topic, _partition in told)
    kept = []
    for one in anomalies:
        places = {(topic, int(partition)) for topic, partition in _PLACE.findall(one.text)}
        is_seen = one.kind in SEEN_OF_LOSSES and (bool(places & told) or (not places and has_offsets))
        is_seen = is_seen or one.kind == DUPLICATE
        if not is_seen:
            kept.append(one)
    return kept
