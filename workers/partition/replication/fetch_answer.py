"""A leader's answer to a Fetch, as a follower takes it: read from its bytes where it is as most are.

Most answers name partitions by topic id and hold records and nothing else: no error, no diverging epoch, no aborted transaction,
no tag. Such a one is read in one pass, without the objects that a message is made of. Everything else is the codec's, which
also says what is wrong. Memory: PART_BYTES for each partition named; records stay where they are.

Runs in: a partition worker. Source: `protocol/schema/01_fetch.txt`; a test compares the two ways.
"""

from __future__ import annotations

import struct
from typing import Final

from headrace.memory import view
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response
from headrace.protocol.messages import ZERO_UUID
from headrace.protocol.numbers import read_int, read_long, read_short
from headrace.protocol.varint import read_uvarint

VERSION_OF_IDS: Final = 13
PART_BYTES: Final = 37  # of a partition without records: what bounds how many there can be
_UUID_BYTES: Final = len(ZERO_UUID)
_NOTHING: Final = memoryview(b"")


class FetchedPart:
    """What a leader answered for one partition.

    topic, topic_id                  one of the two, as the session names topics; the other is empty, or ZERO_UUID
    records                          where they were received; may be empty
    diverging_epoch, diverging_end   where its log parts from ours; -1: nowhere
    """

    __slots__ = (
        "diverging_end", "diverging_epoch", "error_code", "high_watermark", "index", "log_start_offset", "records",
        "topic", "topic_id",
    )  # fmt: skip

    def __init__(
        self, topic: str, topic_id: bytes, index: int, high_watermark: int, log_start_offset: int, records: memoryview
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.index = index
        self.error_code = 0
        self.high_watermark = high_watermark
        self.log_start_offset = log_start_offset
        self.diverging_epoch = -1
        self.diverging_end = -1
        self.records = records


class FetchAnswer:
    """Of any version."""

    __slots__ = ("error_code", "parts", "session_id", "throttle_ms")

    def __init__(self, throttle_ms: int, error_code: int, session_id: int) -> None:
        self.throttle_ms = throttle_ms
        self.error_code = error_code
        self.session_id = session_id
        self.parts: list[FetchedPart] = []


def read_answer(version: int, body: memoryview) -> FetchAnswer:
    """The answer in a frame, after its header. raises BadFrame"""
    found = read_plain(body) if version >= VERSION_OF_IDS else None
    return answer_of(decode_response(ApiKey.FETCH, version, body)) if found is None else found


def read_plain(body: memoryview) -> FetchAnswer | None:
    """One from version 13 on that is as most are; None for any other, an invalid one too."""
    try:
        return _read_plain(body)
    except (IndexError, ValueError, struct.error):
        return None


def answer_of(message: messages.FetchResponse) -> FetchAnswer:
    """The answer that a message has."""
    answer = FetchAnswer(message.throttle_time_ms, message.error_code, message.session_id)
    for topic in message.responses:
        for data in topic.partitions:
            part = FetchedPart(
                topic.topic,
                topic.topic_id,
                data.partition_index,
                data.high_watermark,
                data.log_start_offset,
                _NOTHING if data.records is None else data.records,
            )
            part.error_code = data.error_code
            part.diverging_epoch = data.diverging_epoch.epoch
            part.diverging_end = data.diverging_epoch.end_offset
            answer.parts.append(part)
    return answer


def _read_plain(body: memoryview) -> FetchAnswer | None:
    if read_short(body, 4):
        return None
    answer = FetchAnswer(read_int(body, 0), 0, read_int(body, 6))
    parts = answer.parts
    topics_left, position = read_uvarint(body, 10)
    while topics_left > 1:
        topics_left -= 1
        start, position = position, position + _UUID_BYTES
        topic_id = bytes(view(body, start, position))
        parts_left, position = read_uvarint(body, position)
        if not parts_left:
            return None
        while parts_left > 1:
            parts_left -= 1
            if len(body) - position < PART_BYTES or read_short(body, position + 4):
                return None
            if body[position + 30] > 1:  # aborted transactions: 0 is null, 1 is none
                return None
            size, start = read_uvarint(body, position + 35)
            end = start + max(size - 1, 0)
            if end >= len(body) or body[end]:  # it has tags
                return None
            index = read_int(body, position)
            high_watermark, log_start_offset = read_long(body, position + 6), read_long(body, position + 22)
            parts.append(FetchedPart("", topic_id, index, high_watermark, log_start_offset, view(body, start, end)))
            position = end + 1
        if body[position]:
            return None
        position += 1
    return None if body[position] or position + 1 != len(body) or not topics_left else answer
