"""A partition as Kafka 0.7 left it: `.kafka` segments, named for the byte where they begin.

    topic-partition/00000000000000000000.kafka, 00000000000536870912.kafka, ...

A message's offset is its byte: the segment's name plus its position in the file. Segments follow each other without a gap.
What is damaged is told and passed over: one message, where its length leads to the next; else everything up to the next two
messages in a row (`segment_file_07.py`). What is cut at the end of the last segment was being written: it ends the log, and is no
damage. As much as MESSAGE_07_BYTES_MAX may come out of a compressed message.

Source: Kafka 0.7 `Log`, `FileMessageSet`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from headrace.errors import HeadraceError
from headrace.ids import TopicPartition
from headrace.limits import MESSAGE_07_BYTES_MAX
from headrace.log.kafka07.segment_file_07 import SegmentFile07
from headrace.protocol.compression import CompressionError
from headrace.protocol.message_07 import CutMessage, Message07, payloads_of
from headrace.protocol.record_batch import CorruptRecord

SEGMENT_SUFFIX_07 = ".kafka"

_SEGMENT_NAME = re.compile(r"[0-9]{1,20}\.kafka")
_FOLDER_NAME = re.compile(r"(?P<topic>.+)-(?P<partition>[0-9]{1,10})")


class Place(NamedTuple):
    """Where a message is: its segment, its byte in that file, its number in a compressed set. Orders as the log does."""

    segment: int
    position: int
    inner: int = 0


class Damage(NamedTuple):
    """What can't be read, and how many bytes are passed over (0: a message inside of a compressed set)."""

    path: str
    place: Place
    what: str
    lost_bytes: int

    def __str__(self) -> str:
        return f"{self.path} byte {self.place.position}: {self.what}"


class Carried(NamedTuple):
    """One message: what it carries, where it is, and where the next one is."""

    payload: bytes
    place: Place
    next_place: Place


OnDamage = Callable[[Damage], None]


class Entry07(NamedTuple):
    """A message as it stands in a segment, compressed sets closed."""

    position: int
    message: Message07


class Log07:
    """One partition. `segments` are the base offsets, in order."""

    def __init__(self, directory: Path) -> None:
        """raises   OSError"""
        self.directory = directory
        found = {int(name.partition(".")[0]): name for name in os.listdir(directory) if _SEGMENT_NAME.fullmatch(name)}
        self._names = dict(sorted(found.items()))
        self.segments = list(self._names)

    def size_bytes(self) -> int:
        return sum(self.path_of(base).stat().st_size for base in self.segments)

    def path_of(self, base: int) -> Path:
        return self.directory / self._names[base]

    def read(self, start: Place | None, on_damage: OnDamage) -> Iterator[Carried]:
        """The messages from a place on, None for the first.

        on_damage   called with what can't be read, before it is passed over; it may raise
        raises      OSError
        """
        for index, base in enumerate(self.segments):
            if start is not None and base < start.segment:
                continue
            is_start = start is not None and base == start.segment
            first = start.position if start is not None and is_start else 0
            skip = start.inner if start is not None and is_start else 0
            following = self.segments[index + 1] if index + 1 < len(self.segments) else None
            size = self.path_of(base).stat().st_size
            yield from self._read_segment(base, first, skip, following is None, on_damage)
            if following is not None and following != base + size:
                what = f"the next segment is {following}, {base + size} was expected"
                lost_bytes = max(following - base - size, 0)
                on_damage(Damage(str(self.path_of(base)), Place(base, size), what, lost_bytes))

    def _read_segment(self, base: int, first: int, skip: int, is_last: bool, on_damage: OnDamage) -> Iterator[Carried]:
        path = self.path_of(base)
        for entry in read_segment_07(path, base, first, is_last, on_damage):
            position, message = entry
            after_entry = Place(base, position + message.size)
            if not message.is_valid:
                on_damage(
                    Damage(str(path), Place(base, position), "the checksum of the message is wrong", message.size)
                )
                skip = 0
                continue
            damages: list[Damage] = []

            def damaged(inner: int, what: str, at: int = position, into: list[Damage] = damages) -> None:
                into.append(
                    Damage(str(path), Place(base, at, inner), f"message {inner} of the compressed set: {what}", 0)
                )

            try:
                payloads = payloads_of(message, MESSAGE_07_BYTES_MAX, damaged)
            except (CorruptRecord, CompressionError) as failure:
                on_damage(Damage(str(path), Place(base, position), f"a compressed set: {failure}", message.size))
                skip = 0
                continue
            if not skip:
                for damage in damages:
                    on_damage(damage)
            last = max((inner for inner, payload in enumerate(payloads) if payload is not None), default=-1)
            for inner, payload in enumerate(payloads):
                if payload is not None and inner >= skip:
                    following = after_entry if inner == last else Place(base, position, inner + 1)
                    yield Carried(payload, Place(base, position, inner), following)
            skip = 0


def read_segment_07(path: Path, base: int, start: int, is_last: bool, on_damage: OnDamage) -> Iterator[Entry07]:
    """The messages of one segment from a byte on, compressed sets closed; one with a wrong checksum comes, and says so.

    base      what the segment is named for
    is_last   the segment may end in a message that was being written
    raises    OSError
    """
    with open(path, "rb", buffering=0) as file:
        source = SegmentFile07(file.fileno())
        position, size = start, source.size_bytes
        while position < size:
            is_cut = False
            try:
                message = source.message(position)
                following = position + message.size
                if message.is_valid or source.is_boundary(following):
                    yield Entry07(position, message)
                    position = following
                    continue
                what = "the checksum of the message is wrong, and no message follows it"
            except CutMessage as failure:
                is_cut = True
                what = f"the segment is truncated: {failure}"
            except CorruptRecord as failure:
                what = f"no message begins here: {failure}"
            following = source.next_message(position + 1)
            if is_cut and is_last and following == size:
                return
            on_damage(Damage(str(path), Place(base, position), what, following - position))
            position = following


def partitions_07(directory: Path, topic: str) -> dict[int, Log07]:
    """The partitions of a topic in a log directory of Kafka 0.7, by number.

    raises   HeadraceError, where there are none: it names the topics that are there; OSError
    """
    found: dict[int, Log07] = {}
    others: set[str] = set()
    for name in sorted(os.listdir(directory)):
        folder = folder_name_07(name)
        if folder is None or not (directory / name).is_dir():
            continue
        log = Log07(directory / name)
        if folder.topic == topic and log.segments:
            found[folder.partition] = log
        elif log.segments:
            others.add(folder.topic)
    if not found:
        there = f"topics there: {', '.join(sorted(others))}" if others else "no directory there has .kafka segments"
        raise HeadraceError(f"{directory}: no segments of Kafka 0.7 of topic {topic!r}; {there}")
    return dict(sorted(found.items()))


def folder_name_07(name: str) -> TopicPartition | None:
    """The partition that a directory is named for, None for another name."""
    match = _FOLDER_NAME.fullmatch(name)
    return TopicPartition(match["topic"], int(match["partition"])) if match else None
