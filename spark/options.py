"""The options of the `kafka` source, parsed for ours: same names, formats and refusals.

One parser for `.format("headrace")`, `scan`, `write_parquet` and (by `stream_options.py`) streams. Precedence, strongest first:
`startingTimestamp`, `startingOffsetsByTimestamp`, `startingOffsets` (and the `ending` ones). Spark passes names in lower case; errors have
Kafka's spelling.

Source: Spark's Kafka integration guide, `KafkaSourceProvider`.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.arrow.column_types import check_columns
from headrace.arrow.ranges import PATIENCE_S
from headrace.arrow.scan_options import Bound, ScanOptions
from headrace.client.cluster import EARLIEST, LATEST
from headrace.ids import TopicPartition
from headrace.spark.consumer_properties import BOOTSTRAP_SERVERS, CHECK_CRCS, ISOLATION_LEVEL, check_properties

if TYPE_CHECKING:
    from headrace.spark.decoding.decode_plan import DecodePlan

STRATEGIES = ("subscribe", "subscribePattern", "assign")
COMMIT_GROUP = "headrace.commit.group"
IN_STREAMS = ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay", COMMIT_GROUP)
MAX_PARTITIONS = "maxPartitions"
DESCRIPTORS = "headrace.descriptors"  # of `stream`: how many cores the ranges, which are read elsewhere, are for
INTERNAL = (DESCRIPTORS,)
DECODE_PREFIX = "decode."
NAMES = {
    name.lower(): name
    for name in (
        *STRATEGIES,
        *IN_STREAMS,
        "startingOffsets",
        "endingOffsets",
        "startingTimestamp",
        "endingTimestamp",
        "startingOffsetsByTimestamp",
        "endingOffsetsByTimestamp",
        "startingOffsetsByTimestampStrategy",
        "minPartitions",
        "maxRecordsPerPartition",
        MAX_PARTITIONS,
        "failOnDataLoss",
        "includeHeaders",
        "groupIdPrefix",
        "fetchOffset.numRetries",
        "fetchOffset.retryIntervalMs",
        "kafkaConsumer.pollTimeoutMs",
        "checkCrcs",
        "givePagesBack",
        "columns",
        "path",
    )
}
SOON = ("earliest", "latest")
_JAVA_CLASS = re.compile(
    r"(?:^|[^\\])(?:\\\\)*\[(?:[^\]\\]|\\.)*?(?:\[|&&)"
)  # a union or an intersection within a class


@dataclass(frozen=True, slots=True)
class SourceOptions(ScanOptions):
    """What to read, what keys and values are decoded by, and in how many tasks at most."""

    decode: DecodePlan | None = None
    max_partitions: int | None = None


def _decoded(given: Mapping[str, str]) -> DecodePlan | None:
    """What options say of decoding. raises   ValueError; ImportError, if a decoder's package is not installed"""
    if not any(key.startswith(DECODE_PREFIX) for key in given):
        return None
    from headrace.spark.decoding.decode_options import (
        decode_from_options,  # Spark's types, which `headrace.arrow` goes without
    )

    return decode_from_options(given)


def parse_options(
    options: Mapping[str, str], is_stream: bool | None = False, decode: DecodePlan | None = None
) -> SourceOptions:
    """The options of a reader.

    is_stream   None: not known yet, what either a batch or a stream takes is taken
    decode      given as an argument: then not in options too
    raises      ValueError, naming option, value and reason; ImportError, if a decoder's package is not installed
    """
    given = {key.lower(): str(value) for key, value in options.items()}
    check_properties(given)
    for key in given:
        if is_stream and key in NAMES and key.startswith("ending"):
            if NAMES[key] != "endingTimestamp":
                raise ValueError(f"option {NAMES[key]} is not allowed in a stream, which has no end")
            warnings.warn("option endingTimestamp applies to batches only: ignored in a stream", stacklevel=2)
        if NAMES.get(key) in IN_STREAMS and is_stream is False:
            warnings.warn(f"option {NAMES[key]} applies to streams only: ignored in a batch", stacklevel=2)
        elif key not in NAMES and not key.startswith(("kafka.", DECODE_PREFIX)) and key not in INTERNAL:
            warnings.warn(f"option {key} is unknown to the headrace source: ignored", stacklevel=2)
    if not given.get(BOOTSTRAP_SERVERS, "").strip():
        raise ValueError(f"option {BOOTSTRAP_SERVERS} must be set")
    strategies = [name for name in STRATEGIES if name.lower() in given]
    if len(strategies) != 1:
        found = ", ".join(strategies) or "none"
        raise ValueError(f"exactly one of {', '.join(STRATEGIES)} must be set, found {found}")
    decoded = _decoded(given)
    if decoded is not None and decode is not None:
        raise ValueError("decode is given twice, as an argument and in options")
    decode = decode or decoded
    columns = given.get("columns")
    decoded_names = () if decode is None else decode.fields().names
    _check_trigger(given)
    checks_crcs = bool_of(given, "checkCrcs", given.get(CHECK_CRCS, "true").strip().lower() == "true")
    parsed = SourceOptions(
        bootstrap_servers=given[BOOTSTRAP_SERVERS],
        topics=_topics(given.get("subscribe")),
        pattern=_pattern(given.get("subscribepattern")),
        assigned=_assigned(given.get("assign")),
        start=_bound(given, "starting", LATEST if is_stream else EARLIEST, is_stream is not False),
        end=_bound(given, "ending", LATEST),
        min_partitions=number_of(given, "minPartitions", 1),
        max_records_per_partition=number_of(given, "maxRecordsPerPartition", 1),
        fails_on_data_loss=bool_of(given, "failOnDataLoss", True),
        includes_headers=bool_of(given, "includeHeaders", False),
        unmatched_timestamp_is_latest=_strategy(given) == "latest",
        read_committed=given.get(ISOLATION_LEVEL, "").strip() == "read_committed",
        checks_crcs=checks_crcs,
        gives_pages_back=bool_of(given, "givePagesBack", True),
        columns=check_columns(columns, decoded_names) if columns is not None else None,
        attempts=max(number_of(given, "fetchOffset.numRetries", 0, 3) or 0, 1),
        retry_pause_s=(number_of(given, "fetchOffset.retryIntervalMs", 0, 1000) or 0) / 1000,
        patience_s=(number_of(given, "kafkaConsumer.pollTimeoutMs", 0, int(1000 * PATIENCE_S)) or 0) / 1000,
        decode=decode,
        max_partitions=number_of(given, MAX_PARTITIONS, 1),
    )
    _check_order(parsed)
    _check_partitions(parsed)
    return parsed


def _check_partitions(found: SourceOptions) -> None:
    """raises   ValueError, if there would have to be more tasks than there may be"""
    most = found.max_partitions
    if most is None:
        return
    if found.min_partitions is not None and found.min_partitions > most:
        raise ValueError(f"option minPartitions {found.min_partitions} must be at most {MAX_PARTITIONS} ({most})")
    if found.max_records_per_partition is not None:
        raise ValueError(
            f"options {MAX_PARTITIONS} and maxRecordsPerPartition can't be set together: one combines ranges into a"
            " task, the other splits them into tasks"
        )


def _check_trigger(given: Mapping[str, str]) -> None:
    """raises   ValueError, if a micro-batch would have more offsets at least than at most; in a batch too, as the connector does"""
    if not {"minoffsetspertrigger", "maxoffsetspertrigger"} <= given.keys():
        return
    least, most = (integer_of(given[name.lower()], name) for name in ("minOffsetsPerTrigger", "maxOffsetsPerTrigger"))
    if least > most:
        raise ValueError(f"option minOffsetsPerTrigger {least} must be at most maxOffsetsPerTrigger ({most})")


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _topics(text: str | None) -> tuple[str, ...]:
    if text is None:
        return ()
    if not _names(text):
        raise ValueError(f"option subscribe {text!r} contains no topic")
    return _names(text)


def _pattern(text: str | None) -> str | None:
    """The pattern, searched anywhere in a topic's name, as the connector does."""
    if text is None:
        return None
    text = text.strip()
    if not text:
        raise ValueError("option subscribePattern is empty")
    advice = r"Java-only syntax (\p{...}, \Q...\E, (?<name>...), && or [ in a class) must be rewritten"
    if _JAVA_CLASS.search(text):
        raise ValueError(
            f"option subscribePattern {text!r} has a character class that Python's re reads differently; {advice}"
        )
    try:
        re.compile(text)
    except re.error as failure:
        raise ValueError(
            f"option subscribePattern {text!r} is not a valid Python regular expression: {failure}; {advice}"
        ) from None
    return text


def _assigned(text: str | None) -> tuple[TopicPartition, ...]:
    if text is None:
        return ()
    found = []
    for topic, partitions in _json(text, "assign").items():
        if not isinstance(partitions, list) or not all(type(number) is int and number >= 0 for number in partitions):
            raise ValueError(
                f'option assign {text!r}: {topic} must have a list of partition numbers, such as {{"a":[0,1]}}'
            )
        found += [TopicPartition(topic, number) for number in partitions]
    if not found:
        raise ValueError(f"option assign {text!r} contains no partition")
    return tuple(dict.fromkeys(found))


def _bound(given: Mapping[str, str], side: str, default: int, may_be_latest: bool = False) -> Bound:
    timestamp = given.get(f"{side}timestamp")
    if timestamp is not None:
        return Bound(default, timestamp=integer_of(timestamp, f"{side}Timestamp"))
    option = f"{side}OffsetsByTimestamp"
    text = given.get(option.lower())
    if text is not None:
        return Bound(default, timestamps=_by_partition(text, option), option=option)
    option = f"{side}Offsets"
    text = given.get(option.lower())
    if text is None:
        return Bound(default)
    word = text.strip().lower()
    if word in SOON:
        if (side, word) in (("starting", "latest"), ("ending", "earliest")) and not may_be_latest:
            raise ValueError(f"option {option}: {word} is not allowed in a batch")
        return Bound(EARLIEST if word == "earliest" else LATEST)
    offsets = _by_partition(text, option)
    senseless, word = (LATEST, "latest") if side == "starting" else (EARLIEST, "earliest")
    for name, offset in offsets.items():
        if offset == senseless and not may_be_latest:
            raise ValueError(f"option {option}: {name} at {senseless} ({word}) is not allowed in a batch")
        if offset < EARLIEST:
            raise ValueError(f"option {option}: {name} at {offset} is not an offset")
    return Bound(default, offsets=offsets, option=option)


def _check_order(found: ScanOptions) -> None:
    """raises   ValueError, if a given start is after the given end"""
    pairs = ((found.start.offsets, found.end.offsets), (found.start.timestamps, found.end.timestamps))
    for starts, ends in pairs:
        for name in sorted(starts.keys() & ends.keys()):
            if 0 <= ends[name] < starts[name]:
                options = f"{found.start.option} and {found.end.option}"
                raise ValueError(f"options {options}: {name} starts at {starts[name]}, after its end {ends[name]}")


def _by_partition(text: str, option: str) -> dict[TopicPartition, int]:
    found = {}
    for topic, partitions in _json(text, option).items():
        try:
            found.update(
                {TopicPartition(topic, int(partition)): _long(int(value)) for partition, value in partitions.items()}
            )
        except (AttributeError, TypeError, ValueError):
            raise ValueError(
                f'option {option} {text!r}: {topic} must have numbers by partition, such as {{"a":{{"0":23,"1":-2}}}}'
            ) from None
    return found


def _json(text: str, option: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as failure:
        raise ValueError(f"option {option} {text!r} is not valid JSON: {failure}") from None
    if not isinstance(value, dict):
        raise ValueError(f"option {option} {text!r} must be a JSON object by topic")
    return value


def integer_of(text: str, option: str) -> int:
    try:
        return _long(int(text))
    except ValueError:
        raise ValueError(f"option {option} {text!r} must be a whole number within 64 bits") from None


def _long(number: int) -> int:
    """raises   ValueError, where it is no long of Java, as offsets, timestamps and counts are"""
    if not -(1 << 63) <= number < 1 << 63:
        raise ValueError(number)
    return number


def number_of(given: Mapping[str, str], option: str, least: int, default: int | None = None) -> int | None:
    if option.lower() not in given:
        return default
    value = integer_of(given[option.lower()], option)
    if value < least:
        raise ValueError(f"option {option} {value} must be at least {least}")
    return value


def _strategy(given: Mapping[str, str]) -> str:
    option = "startingOffsetsByTimestampStrategy"
    text = given.get(option.lower(), "error").strip().lower()
    if text not in ("error", "latest"):
        raise ValueError(f"option {option} {text!r} must be error or latest")
    return text


def bool_of(given: Mapping[str, str], option: str, default: bool) -> bool:
    text = given.get(option.lower(), str(default)).strip().lower()
    if text not in ("true", "false"):
        raise ValueError(f"option {option} {text!r} must be true or false")
    return text == "true"
