"""Produce as the handler takes it: read from its bytes, without the objects that a message is made of.

Runs in: a network worker. This one request comes with every batch, so it has a reader of its own:

    request      [transactional id] | acks | timeout | topics( name | partitions( index | records ) )
    since v9     lengths are varints and one more than they say, tags follow every struct

The whole request is read before anything is done with it. Memory: ROW_BYTES and TOPIC_BYTES for what is named, bounded as of a
decoded message; the records stay where they are.

Source: `protocol/schema/00_produce.txt`; that codec reads the same (a test compares them) and says what is wrong.
"""

from __future__ import annotations

import struct
from typing import Final

from headrace.errors import BadFrame
from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.memory import is_at, view
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request
from headrace.protocol.frames import skip_tags
from headrace.protocol.numbers import read_int, read_short
from headrace.protocol.varint import read_uvarint

VERSION_OF_TRANSACTIONS: Final = 3
VERSION_OF_TAGS: Final = 9
ROW_BYTES: Final = 500  # a row with its view of the records
TOPIC_BYTES: Final = 300  # its name's characters not counted


class ProducedRow:
    """One partition's records. `records` lie in the frame, at a position of its body."""

    __slots__ = ("index", "position", "records", "topic")

    def __init__(self, topic: str, index: int, records: memoryview | None, position: int) -> None:
        self.position = position
        self.topic = topic
        self.index = index
        self.records = records


class ProduceRequest:
    """A Produce of any version.

    transactional_id   in UTF-8; None: null or empty, or a version before transactions
    rows               in the order of the request
    topics             the names and indexes of the rows, as the response repeats them
    """

    __slots__ = ("acks", "rows", "timeout_ms", "topics", "transactional_id")

    def __init__(self, acks: int, timeout_ms: int, transactional_id: bytes | None) -> None:
        self.acks = acks
        self.timeout_ms = timeout_ms
        self.transactional_id = transactional_id
        self.rows: list[ProducedRow] = []
        self.topics: list[tuple[str, list[int]]] = []


class LastName:
    """The topic that a connection named last: its producer names it again and again."""

    __slots__ = ("_encoded", "_text")

    def __init__(self) -> None:
        self._encoded = b""
        self._text = ""

    def text_of(self, body: memoryview, start: int, end: int) -> str:
        """The name in these bytes. raises UnicodeDecodeError"""
        if end - start != len(self._encoded) or not is_at(body, start, self._encoded):
            encoded = bytes(view(body, start, end))
            self._text = encoded.decode()
            self._encoded = encoded
        return self._text


def read_produce(version: int, body: memoryview, last: LastName) -> ProduceRequest:
    """The Produce in a frame, after its header.

    last     of its connection
    raises   BadFrame
    """
    try:
        return _read(version, body, last)
    except (IndexError, ValueError, struct.error) as failure:
        decode_request(ApiKey.PRODUCE, version, body)  # says which field
        raise BadFrame(f"ProduceRequest v{version}: {failure}") from None


def _read(version: int, body: memoryview, last: LastName) -> ProduceRequest:
    is_flexible = version >= VERSION_OF_TAGS
    position = 0
    transactional_id: bytes | None = None
    if version >= VERSION_OF_TRANSACTIONS:
        start, position = _text(body, 0, is_flexible, True)
        if start < position:
            transactional_id = bytes(body[start:position])
            transactional_id.decode()  # it has to be UTF-8
    request = ProduceRequest(read_short(body, position), read_int(body, position + 2), transactional_id)
    rows = request.rows
    room = DECODED_REQUEST_BYTES_MAX
    topics_left, position = _count(body, position + 6, is_flexible)
    room -= topics_left * TOPIC_BYTES
    while topics_left and room >= 0:
        topics_left -= 1
        start, position = _text(body, position, is_flexible, False)
        name = last.text_of(body, start, position)
        partitions_left, position = _count(body, position, is_flexible)
        room -= partitions_left * ROW_BYTES
        indexes: list[int] = []
        while partitions_left and room >= 0:
            partitions_left -= 1
            index = read_int(body, position)
            size, position = _records_size(body, position + 4, is_flexible)
            records: memoryview | None = None
            begin = position
            if size >= 0:
                if size > len(body) - position:
                    raise ValueError(f"{size} bytes announced, {len(body) - position} remain")
                records = view(body, position, position + size)
                position += size
            if is_flexible:
                position = skip_tags(body, position)
            indexes.append(index)
            rows.append(ProducedRow(name, index, records, begin))
        if is_flexible:
            position = skip_tags(body, position)
        request.topics.append((name, indexes))
    if room < 0:
        raise ValueError(f"{len(rows)} partitions and more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    if is_flexible:
        skip_tags(body, position)
    return request


def _text(body: memoryview, position: int, is_flexible: bool, is_nullable: bool) -> tuple[int, int]:
    """(where a string begins, where it ends); null is an empty one where it may be."""
    if is_flexible:
        length, start = read_uvarint(body, position)
        length -= 1
    else:
        length, start = read_short(body, position), position + 2
    if length < 0:
        if not is_nullable or length < -1:
            raise ValueError(f"string of {length} bytes")
        length = 0
    end = start + length
    if length > STRING_BYTES_MAX or end > len(body):
        raise ValueError(f"string of {length} bytes, {len(body) - start} remain")
    return start, end


def _count(body: memoryview, position: int, is_flexible: bool) -> tuple[int, int]:
    """(elements of an array, position after the count); each takes two bytes and more."""
    if is_flexible:
        count, position = read_uvarint(body, position)
        count -= 1
    else:
        count, position = read_int(body, position), position + 4
    if not 0 <= count <= len(body) - position:
        raise ValueError(f"{count} elements announced, {len(body) - position} bytes remain")
    return count, position


def _records_size(body: memoryview, position: int, is_flexible: bool) -> tuple[int, int]:
    """(bytes of records, -1 for null; position after the size)."""
    if is_flexible:
        size, position = read_uvarint(body, position)
        size -= 1
    else:
        size, position = read_int(body, position), position + 4
    if size < -1:
        raise ValueError(f"records of {size} bytes")
    return size, position
