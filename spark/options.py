"""The options of the `kafka` source, read for ours: same names, same forms, same refusals.

Precedence, strongest first: `startingTimestamp`, `startingOffsetsByTimestamp`, `startingOffsets` (and the `ending` ones).

Source: Spark's Kafka integration guide, `KafkaSourceProvider`.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.client.cluster import EARLIEST, LATEST
from headrace.ids import TopicPartition

FORBIDDEN = {
    "kafka.auto.offset.reset": "use startingOffsets",
    "kafka.key.deserializer": "keys come as binary; cast them in the query",
    "kafka.value.deserializer": "values come as binary; cast them in the query",
    "kafka.key.serializer": "keys go as binary or string",
    "kafka.value.serializer": "values go as binary or string",
    "kafka.enable.auto.commit": "the source commits no offsets",
    "kafka.interceptor.classes": "interceptors could change what is read",
}
STRATEGIES = ("subscribe", "subscribepattern", "assign")
KNOWN = {
    *STRATEGIES,
    "kafka.bootstrap.servers",
    "startingoffsets",
    "endingoffsets",
    "startingtimestamp",
    "endingtimestamp",
    "startingoffsetsbytimestamp",
    "endingoffsetsbytimestamp",
    "startingoffsetsbytimestampstrategy",
    "minpartitions",
    "maxrecordsperpartition",
    "failondataloss",
    "includeheaders",
    "groupidprefix",
    "columns",
    "path",
}


@dataclass(frozen=True, slots=True)
class Bound:
    """One end of the offsets to read.

    offsets      by partition: an offset, EARLIEST or LATEST
    timestamps   by partition, in milliseconds
    default      for partitions that neither names
    timestamp    for all partitions, instead of the rest
    """

    default: int = EARLIEST
    offsets: Mapping[TopicPartition, int] = field(default_factory=dict)
    timestamps: Mapping[TopicPartition, int] = field(default_factory=dict)
    timestamp: int | None = None


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """What to read."""

    bootstrap_servers: str
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    assigned: tuple[TopicPartition, ...] = ()
    start: Bound = Bound(EARLIEST)
    end: Bound = Bound(LATEST)
    min_partitions: int | None = None
    max_records_per_partition: int | None = None
    fails_on_data_loss: bool = True
    includes_headers: bool = False
    unmatched_timestamp_is_latest: bool = False  # startingOffsetsByTimestampStrategy=latest
    read_committed: bool = False
    columns: tuple[str, ...] | None = None


def parse_options(options: Mapping[str, str]) -> ScanOptions:
    """The options of a reader.

    raises   ValueError, naming option, value and reason
    """
    given = {key.lower(): value for key, value in options.items()}
    for key, advice in FORBIDDEN.items():
        if key in given:
            raise ValueError(f"option {key} is not supported: {advice}")
    for key in given:
        if key not in KNOWN and key != "kafka.isolation.level" and not key.startswith("kafka."):
            warnings.warn(f"option {key} is unknown to the headrace source and ignored", stacklevel=2)
    if not given.get("kafka.bootstrap.servers"):
        raise ValueError("option kafka.bootstrap.servers must be set")
    isolation = _choice(given, "kafka.isolation.level", ("read_uncommitted", "read_committed"))
    unmatched = _choice(given, "startingoffsetsbytimestampstrategy", ("error", "latest"))
    strategies = [key for key in STRATEGIES if key in given]
    if len(strategies) != 1:
        raise ValueError(f"exactly one of subscribe, subscribePattern, assign must be set, found {strategies}")
    columns = given.get("columns")
    return ScanOptions(
        bootstrap_servers=given["kafka.bootstrap.servers"],
        topics=_names(given.get("subscribe", "")),
        pattern=_pattern(given.get("subscribepattern")),
        assigned=_assigned(given.get("assign")),
        start=_bound(given, "starting", EARLIEST),
        end=_bound(given, "ending", LATEST),
        min_partitions=_positive(given, "minpartitions"),
        max_records_per_partition=_positive(given, "maxrecordsperpartition"),
        fails_on_data_loss=_bool(given, "failondataloss", True),
        includes_headers=_bool(given, "includeheaders", False),
        unmatched_timestamp_is_latest=unmatched == "latest",
        read_committed=isolation == "read_committed",
        columns=_names(columns) if columns else None,
    )


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _pattern(text: str | None) -> str | None:
    if text is not None:
        try:
            re.compile(text)
        except re.error as failure:
            raise ValueError(f"option subscribePattern {text!r}: {failure}") from None
    return text


def _assigned(text: str | None) -> tuple[TopicPartition, ...]:
    if text is None:
        return ()
    return tuple(
        TopicPartition(topic, int(partition))
        for topic, partitions in _json(text, "assign").items()
        for partition in partitions
    )


def _bound(given: Mapping[str, str], side: str, default: int) -> Bound:
    timestamp = given.get(f"{side}timestamp")
    if timestamp is not None:
        return Bound(default, timestamp=_integer(timestamp, f"{side}Timestamp"))
    by_timestamp = given.get(f"{side}offsetsbytimestamp")
    if by_timestamp is not None:
        return Bound(default, timestamps=_by_partition(by_timestamp, f"{side}OffsetsByTimestamp"))
    text = given.get(f"{side}offsets")
    if text is None:
        return Bound(default)
    word = text.strip().lower()
    if word in ("earliest", "latest"):
        if (side, word) in (("starting", "latest"), ("ending", "earliest")):
            raise ValueError(f"option {side}Offsets: {word} makes no sense in a batch")
        return Bound(EARLIEST if word == "earliest" else LATEST)
    offsets = _by_partition(text, f"{side}Offsets")
    senseless, word = (LATEST, "latest") if side == "starting" else (EARLIEST, "earliest")
    for name, offset in offsets.items():
        if offset == senseless:
            raise ValueError(f"option {side}Offsets: {name} at {senseless} ({word}) makes no sense in a batch")
    return Bound(default, offsets=offsets)


def _by_partition(text: str, option: str) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic, int(partition)): int(value)
        for topic, partitions in _json(text, option).items()
        for partition, value in partitions.items()
    }


def _json(text: str, option: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as failure:
        raise ValueError(f"option {option} {text!r} is no JSON: {failure}") from None
    if not isinstance(value, dict):
        raise ValueError(f"option {option} {text!r} must be a JSON object by topic")
    return value


def _integer(text: str, option: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"option {option} {text!r} must be a whole number") from None


def _positive(given: Mapping[str, str], key: str) -> int | None:
    if key not in given:
        return None
    value = _integer(given[key], key)
    if value < 1:
        raise ValueError(f"option {key} {value} must be at least 1")
    return value


def _choice(given: Mapping[str, str], key: str, choices: tuple[str, str]) -> str:
    """One of the choices, the first where nothing is given."""
    text = given.get(key, choices[0]).lower()
    if text not in choices:
        raise ValueError(f"option {key} {text!r} must be {' or '.join(choices)}")
    return text


def _bool(given: Mapping[str, str], key: str, default: bool) -> bool:
    text = given.get(key, str(default)).lower()
    if text not in ("true", "false"):
        raise ValueError(f"option {key} {text!r} must be true or false")
    return text == "true"
