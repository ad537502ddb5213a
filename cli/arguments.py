"""What users type, parsed strictly: anything invalid is an error that names it (exit code 2), never a guess.

Times are milliseconds since 1970, ISO 8601 with a time zone, or relative to now: -90s, -15m, -2h, -7d.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

import typer

from headrace.ids import TopicPartition
from headrace.limits import PARTITIONS_PER_TOPIC_MAX, STRING_BYTES_MAX

OFFSET_MAX = 2**63 - 1
EARLIEST = "earliest"
LATEST = "latest"

_NUMBER = re.compile(r"[0-9]{1,19}\Z")
_AGO = re.compile(r"-([0-9]{1,9})([smhd])\Z")
_MILLISECONDS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}\Z")


class Start(NamedTuple):
    """Where reading begins: one of these is set."""

    is_earliest: bool = False
    is_latest: bool = False
    offset: int | None = None  # the same in every partition
    back: int | None = None  # records before the end of every partition
    time_ms: int | None = None


def bad(option: str, text: str, reason: str) -> typer.BadParameter:
    """The error for an invalid value."""
    return typer.BadParameter(f"{text!r} {reason}", param_hint=option)


def parse_offset(option: str, text: str) -> int:
    """An offset, >= 0."""
    if not _NUMBER.match(text) or int(text) > OFFSET_MAX:
        raise bad(option, text, "is not an offset: expected a whole number, 0 or more")
    return int(text)


def parse_shift(option: str, text: str) -> int:
    """A number of records forward, or backwards if negative."""
    if not _NUMBER.match(text.removeprefix("-").removeprefix("+")) or text[:2] in ("-+", "+-"):
        raise bad(option, text, "is not a number of records: expected 100, or -100 to go backwards")
    return int(text)


def parse_time(option: str, text: str, now_ms: int) -> int:
    """Milliseconds since 1970."""
    if _NUMBER.match(text) and int(text) <= OFFSET_MAX:
        return int(text)
    ago = _AGO.match(text)
    if ago:
        return max(0, now_ms - int(ago[1]) * _MILLISECONDS[ago[2]])
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise bad(
            option, text, "is not a time: expected 2026-11-21T08:30:00Z, milliseconds since 1970, or -15m"
        ) from None
    if when.tzinfo is None:
        raise bad(option, text, "has no time zone: add Z or +01:00")
    if when.timestamp() < 0:
        raise bad(option, text, "is before 1970")
    return round(when.timestamp() * 1000)


def parse_start(option: str, text: str, now_ms: int) -> Start:
    """earliest, latest, an offset, -N for the last N of every partition, @TIME."""
    if text == EARLIEST:
        return Start(is_earliest=True)
    if text == LATEST:
        return Start(is_latest=True)
    if text.startswith("@"):
        return Start(time_ms=parse_time(option, text[1:], now_ms))
    if _NUMBER.match(text.removeprefix("-")) and int(text) <= OFFSET_MAX:
        return Start(back=-int(text)) if text.startswith("-") else Start(offset=int(text))
    raise bad(option, text, "is not a position: expected earliest, latest, an offset, -N (the last N) or @TIME")


def parse_partitions(option: str, texts: Iterable[str]) -> list[int]:
    """`0`, `0,2`, `3-5`, in any combination; sorted, each once."""
    found: set[int] = set()
    for text in texts:
        for part in text.split(","):
            first, dash, last = part.partition("-")
            if not _NUMBER.match(first) or (dash and not _NUMBER.match(last)):
                raise bad(option, text, "is not a list of partitions: expected 0, 0,2 or 3-5")
            low, high = int(first), int(last or first)
            if not low <= high < PARTITIONS_PER_TOPIC_MAX:
                raise bad(
                    option,
                    text,
                    f"is not a range of partitions: expected 0 to {PARTITIONS_PER_TOPIC_MAX - 1}, low-high",
                )
            found.update(range(low, high + 1))
    return sorted(found)


def parse_word(option: str, text: str, words: Sequence[str]) -> str:
    """One of the words, in any case."""
    for word in words:
        if word.lower() == text.lower():
            return word
    raise bad(option, text, f"is not one of {', '.join(words)}")


def parse_pairs(option: str, texts: Sequence[str]) -> dict[str, str]:
    """KEY=VALUE, each key once; the value may be empty and may contain further =."""
    found: dict[str, str] = {}
    for key, value in parse_pair_list(option, texts):
        if key in found:
            raise bad(option, f"{key}={value}", f"sets {key} a second time")
        found[key] = value
    return found


def parse_pair_list(option: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    """KEY=VALUE in order; keys may repeat."""
    found = []
    for text in texts:
        key, separator, value = text.partition("=")
        if not separator or not key.strip():
            raise bad(option, text, "is not KEY=VALUE")
        found.append((key.strip(), value))
    return found


def parse_topic(option: str, text: str) -> str:
    """A valid topic name."""
    if not _TOPIC.match(text) or text in (".", ".."):
        raise bad(option, text, "is not a valid topic name: expected 1 to 249 characters of a-z A-Z 0-9 . _ -")
    return text


def parse_group(option: str, text: str) -> str:
    """A name that a request can carry."""
    if not text or len(text.encode()) > STRING_BYTES_MAX:
        raise bad(
            option,
            text[:40],
            "is not a valid group name"
            if not text
            else f"is too long for a group name: {len(text.encode())} bytes, at most {STRING_BYTES_MAX}",
        )
    return text


def parse_topic_partitions(option: str, text: str) -> tuple[str, list[int] | None]:
    """`TOPIC` (None: all of its partitions) or `TOPIC:0,2-3`."""
    topic, colon, partitions = text.partition(":")
    return parse_topic(option, topic), parse_partitions(option, [partitions]) if colon else None


def parse_partition(option: str, text: str) -> TopicPartition:
    """`TOPIC-P`, as a partition's directory is called, or `TOPIC:P`."""
    place = max(text.rfind("-"), text.rfind(":"))
    topic, index = text[: max(place, 0)], text[place + 1 :]
    if not topic or not _NUMBER.match(index) or int(index) >= PARTITIONS_PER_TOPIC_MAX:
        raise bad(option, text, "is not a partition: expected clicks-3")
    return TopicPartition(parse_topic(option, topic), int(index))


def only_one(options: dict[str, object]) -> str:
    """The name of the option that was given, of several that exclude each other."""
    given = [name for name, value in options.items() if value is not None and value is not False]
    if len(given) != 1:
        wanted = ", ".join(options)
        raise typer.BadParameter(
            f"one of {wanted} is required" if not given else f"{' and '.join(given)} can't be combined"
        )
    return given[0]
