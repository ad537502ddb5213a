"""OffsetCommit as the coordinator takes it: read from its bytes to the records that the log is to get.

Pure. A consumer commits once a second and more, so this one request has a reader of its own. What goes from the
request into the log unchanged is sliced, not decoded:

    request          group string | generation | member | ... | topics( name string | n ( index | offset, epoch | metadata ) )
    record's key     0 1 | group string                    |            name string |     index
    record's value                                                                                0 3 | offset, epoch | metadata | time
    response         throttle time                         | topics( name string | n ( index | error ) )

The response repeats names and indexes; `pieces` is all of it but the errors, one of which goes between each two.

Memory: some 600 bytes for each partition named, and its topic's name where that may exist, beside the request itself.

Source: `protocol/schema/08_offset_commit.txt`; that codec reads the same (a test compares them) and says what is wrong.
"""

from __future__ import annotations

import struct
from struct import Struct
from typing import Final, NamedTuple

from headrace.errors import BadFrame
from headrace.limits import STRING_BYTES_MAX, TOPIC_NAME_LENGTH_MAX
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request
from headrace.protocol.frames import skip_tags
from headrace.protocol.numbers import read_int, read_long, read_short
from headrace.protocol.varint import read_uvarint

VERSION_OF_GENERATION: Final = 1  # the first that comes to a coordinator; v0 goes to ZooKeeper
VERSION_OF_RETENTION: Final = 2
VERSION_OF_THROTTLE: Final = 3
VERSION_OF_NO_RETENTION: Final = 5
VERSION_OF_LEADER_EPOCH: Final = 6
VERSION_OF_INSTANCE_ID: Final = 7
VERSION_OF_TAGS: Final = 8
STORED_NAME_BYTES_MAX: Final = 2 + 4 * TOPIC_NAME_LENGTH_MAX  # of a topic's name with its length

_SHORT: Final = Struct(">h")
_NO_EPOCH: Final = b"\xff\xff\xff\xff"
_THROTTLE: Final = bytes(4)
_new: Final = tuple.__new__  # a third of the time of a NamedTuple's own constructor


class CommitRow(NamedTuple):
    """One partition's offset.

    suffix      the end of its record's key: topic and partition; of a topic whose name is too long to exist, no name
    place       offset and leader epoch as in the log, 12 bytes
    metadata    UTF-8
    stamp_ms    when it was committed, where the client says so; else -1
    """

    topic: str
    partition: int
    suffix: bytes
    place: bytes
    metadata: bytes
    stamp_ms: int


class CommitRequest(NamedTuple):
    """An OffsetCommit of v1 to v8.

    generation     -1 from those who assign partitions themselves
    retention_ms   -1 where the node's own counts
    key_prefix     the beginning of its records' keys
    rows           in the order of the request
    pieces         of the response, around the error codes: one more than there are rows
    """

    group_id: str
    generation: int
    member_id: str
    instance_id: str | None
    retention_ms: int
    key_prefix: bytes
    rows: list[CommitRow]
    pieces: list[bytes | bytearray]

    def response(self, error: int) -> bytes:
        """The response body with one error for every partition."""
        return _SHORT.pack(error).join(self.pieces)

    def response_of(self, errors: list[int]) -> bytes:
        """The response body with each row's own error."""
        parts = [self.pieces[0]]
        for error, piece in zip(errors, self.pieces[1:], strict=True):
            parts += (_SHORT.pack(error), piece)
        return b"".join(parts)


def read_commit(version: int, body: memoryview) -> CommitRequest:
    """The OffsetCommit in a frame, after its header.

    raises   BadFrame
    """
    assert VERSION_OF_GENERATION <= version <= VERSION_OF_TAGS, version
    try:
        return _read_flexible(bytes(body)) if version >= VERSION_OF_TAGS else _read_plain(version, bytes(body))
    except (IndexError, ValueError, struct.error) as failure:
        decode_request(ApiKey.OFFSET_COMMIT, version, body)  # says which field
        raise BadFrame(f"OffsetCommitRequest v{version}: {failure}") from None


def _read_plain(version: int, data: bytes) -> CommitRequest:
    """v1 to v7: strings have a length of two bytes, arrays one of four."""
    group_end = 2 + _length(data, 0)
    generation, length = read_int(data, group_end), read_short(data, group_end + 4)
    if length < 0:
        raise ValueError("the member id is null")
    position = group_end + 6 + length
    member_id = data[group_end + 6 : position].decode()
    instance_id, retention_ms = None, -1
    if version >= VERSION_OF_INSTANCE_ID:
        if data[position] == data[position + 1] == 0xFF:
            position += 2
        else:
            start = position + 2
            position = start + _length(data, position)
            instance_id = data[start:position].decode()
    elif VERSION_OF_RETENTION <= version < VERSION_OF_NO_RETENTION:
        retention_ms = read_long(data, position)
        position += 8
    place_bytes = 12 if version >= VERSION_OF_LEADER_EPOCH else 8
    rows: list[CommitRow] = []
    pieces: list[bytes | bytearray] = []
    piece_start = position  # of what the response repeats
    head = _THROTTLE if version >= VERSION_OF_THROTTLE else b""
    topics_left = read_int(data, position)
    position += 4
    if topics_left < 0:
        raise ValueError("topics are null")
    while topics_left:
        topics_left -= 1
        start = position
        position += 2 + _length(data, position)
        name_field = data[start:position]
        name = name_field[2:].decode()
        if len(name_field) > STORED_NAME_BYTES_MAX:
            name_field = b""
        partitions_left = read_int(data, position)
        position += 4
        if partitions_left < 0:
            raise ValueError("partitions are null")
        while partitions_left:
            partitions_left -= 1
            start = position + 4
            index_field = data[position:start]
            index = read_int(index_field, 0)
            pieces.append(head + data[piece_start:start])
            head = b""
            position = start + place_bytes
            place = data[start:position] if place_bytes == 12 else data[start:position] + _NO_EPOCH
            stamp_ms = -1
            if version == VERSION_OF_GENERATION:
                stamp_ms = read_long(data, position)
                position += 8
            length = read_short(data, position)
            position += 2
            metadata = b""
            if length > 0:
                metadata = data[position : position + length]
                metadata.decode()  # it has to be
                position += length
            elif length < -1:
                raise ValueError(f"metadata of {length} bytes")
            piece_start = position
            rows.append(_new(CommitRow, (name, index, name_field + index_field, place, metadata, stamp_ms)))
    if position > len(data):
        raise ValueError("it is truncated")
    pieces.append(head + data[piece_start:position])
    group_field = data[:group_end]
    group_id = group_field[2:].decode()
    fields = (group_id, generation, member_id, instance_id, retention_ms, b"\0\1" + group_field, rows, pieces)
    return _new(CommitRequest, fields)


def _read_flexible(data: bytes) -> CommitRequest:
    """v8: lengths are varints and one more than they say, tags follow every struct."""
    group, position = _string(data, 0)
    generation = read_int(data, position)
    member, position = _string(data, position + 4)
    instance, position = (None, position + 1) if not data[position] else _string(data, position)
    rows: list[CommitRow] = []
    pieces: list[bytes | bytearray] = []
    piece: bytes | bytearray = _THROTTLE
    piece_start = position
    topics_left, position = _count(data, position)
    while topics_left:
        topics_left -= 1
        name_bytes, position = _string(data, position)
        name = name_bytes.decode()
        name_field = _SHORT.pack(len(name_bytes)) + name_bytes if len(name_bytes) < STORED_NAME_BYTES_MAX else b""
        partitions_left, position = _count(data, position)
        if not partitions_left and type(piece) is bytes:
            piece = bytearray(piece)  # grows in place: there may be a million of such topics in a row
        while partitions_left:
            partitions_left -= 1
            index_field = data[position : position + 4]
            index = read_int(index_field, 0)
            pieces.append(piece + data[piece_start : position + 4])
            place = data[position + 4 : position + 16]
            position += 16
            metadata = b""
            if data[position] > 1:
                metadata, position = _string(data, position)
                metadata.decode()  # it has to be
            else:
                position += 1
            position = skip_tags(data, position)
            piece = b"\0"  # the response's own tags
            piece_start = position
            rows.append(_new(CommitRow, (name, index, name_field + index_field, place, metadata, -1)))
        piece += data[piece_start:position] + b"\0"
        piece_start = position = skip_tags(data, position)
    piece += data[piece_start:position] + b"\0"
    position = skip_tags(data, position)
    if position > len(data):
        raise ValueError("it is truncated")
    pieces.append(piece)
    key_prefix = b"\0\1" + _SHORT.pack(len(group)) + group
    instance_id = None if instance is None else instance.decode()
    fields = (group.decode(), generation, member.decode(), instance_id, -1, key_prefix, rows, pieces)
    return _new(CommitRequest, fields)


def _length(data: bytes, position: int) -> int:
    """Of a string that must not be null."""
    length = data[position] << 8 | data[position + 1]
    if length > STRING_BYTES_MAX:
        raise ValueError(f"string of {length - 2**16} bytes")
    return length


def _string(data: bytes, position: int) -> tuple[bytes, int]:
    """(bytes of a compact string, position after it); null is refused."""
    length = data[position]
    if length > 127:
        length, position = read_uvarint(data, position)
    else:
        position += 1
    end = position + length - 1
    if not 0 < length <= STRING_BYTES_MAX + 1:
        raise ValueError(f"string of {length - 1} bytes")
    return data[position:end], end


def _count(data: bytes, position: int) -> tuple[int, int]:
    """(elements of a compact array, position after the count); null is refused."""
    count = data[position]
    if count > 127:
        count, position = read_uvarint(data, position)
    else:
        position += 1
    if not count:
        raise ValueError("an array is null")
    return count - 1, position
