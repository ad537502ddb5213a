"""Records of `__consumer_offsets`: what a group and a committed offset look like in the log.

    key     version i16 | fields             0, 1: a committed offset; 2: a group; 3 and up: of other coordinators
    value   version i16 | fields             null: a tombstone

    offset key       group string | topic string | partition i32
    offset value v0  offset i64 | metadata string | commit timestamp i64          v2 the same
                 v1  ... | expire timestamp i64                                   where a client asked for a retention
                 v3  offset i64 | leader epoch i32 | metadata string | commit timestamp i64
    group key        group string
    group value      `GroupMetadataValue` of the schema

Field tables: `protocol/schema/records_and_headers.txt`. Offsets are packed by hand here: a million of them are
loaded at a start. In memory a committed offset stays the bytes that the log has: the key's end (topic and
partition, the `suffix`) and the whole value.

Source: Kafka `GroupMetadataManager`, `OffsetCommitValue.json`, `GroupMetadataValue.json`.
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct, error
from typing import Final, NamedTuple

from headrace.errors import BadFrame
from headrace.protocol import messages
from headrace.protocol.codec import decode_struct, encode_struct

GROUP_VALUE_VERSION: Final = 3
GROUP_VALUE_VERSION_MAX: Final = 4
OFFSET_VALUE_VERSION: Final = 3

METADATA_BYTES_MAX: Final = 2**15 - 1  # its length is an int16

NO_EXPIRY_MS: Final = -1

_SHORT: Final = Struct(">h")
_INT: Final = Struct(">i")
_V3_HEAD: Final = Struct(">hqih")  # version, offset, leader epoch, length of the metadata
_PLACE: Final = Struct(">qi")  # offset, leader epoch
_LONG: Final = Struct(">q")
_TWO_LONGS: Final = Struct(">qq")

_pack_length: Final = _SHORT.pack
_pack_int: Final = _INT.pack
_pack_long: Final = _LONG.pack


class CommittedOffset(NamedTuple):
    """A committed position of one partition."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_ms: int
    expire_ms: int = NO_EXPIRY_MS  # -1: by the node's retention


def string(text: str) -> bytes:
    """A string field: its length and its UTF-8. raises struct.error above 32767 bytes."""
    data = text.encode()
    return _pack_length(len(data)) + data


def offset_key_prefix(group_id: str) -> bytes:
    """What the keys of all offsets of a group begin with."""
    return b"\0\1" + string(group_id)


def group_key(group_id: str) -> bytes:
    return b"\0\2" + string(group_id)


@lru_cache(maxsize=65_536)
def suffix_of(topic: str, partition: int) -> bytes:
    """The end of an offset's key: topic and partition."""
    data = topic.encode()
    return _pack_length(len(data)) + data + _pack_int(partition)


@lru_cache(maxsize=65_536)
def shared_suffix(suffix: bytes) -> bytes:
    """An equal suffix that is there already: many groups commit the same partitions."""
    return suffix


def read_suffix(suffix: bytes) -> tuple[str, int]:
    """(topic, partition)."""
    return suffix[2:-4].decode("utf-8", "replace"), _INT.unpack_from(suffix, len(suffix) - 4)[0]


def encode_offset(
    offset: int, leader_epoch: int, metadata: bytes, commit_ms: int, expire_ms: int = NO_EXPIRY_MS
) -> bytes:
    """An offset's value: v3, or v1 where it expires at a time of its own."""
    return offset_value(_PLACE.pack(offset, leader_epoch), metadata, commit_ms, expire_ms)


def offset_value(place: bytes, metadata: bytes, commit_ms: int, expire_ms: int) -> bytes:
    """The same; `place` is the offset and the leader epoch in 12 bytes."""
    if expire_ms == NO_EXPIRY_MS:
        length, committed = len(metadata).to_bytes(2, "big", signed=True), commit_ms.to_bytes(8, "big", signed=True)
        return b"\0\3" + place + length + metadata + committed
    return b"\0\1" + place[:8] + _pack_length(len(metadata)) + metadata + _TWO_LONGS.pack(commit_ms, expire_ms)


def decode_offset(value: bytes) -> CommittedOffset:
    """An offset's value of any version.

    raises   BadFrame
    """
    version = int.from_bytes(value[:2], "big")
    try:
        if version == OFFSET_VALUE_VERSION:
            _, offset, leader_epoch, length = _V3_HEAD.unpack_from(value)
            if length < 0:
                raise ValueError(f"metadata of {length} bytes")
            end = _V3_HEAD.size + length
            (commit_ms,) = _LONG.unpack_from(value, end)
            return CommittedOffset(
                offset, leader_epoch, value[_V3_HEAD.size : end].decode("utf-8", "replace"), commit_ms
            )
    except (error, ValueError) as failure:
        raise BadFrame(f"offset value v{version} of {len(value)} bytes: {failure}") from None
    return _decode_other_offset(version, value)


def offset_of(value: bytes) -> int:
    """The offset alone; it lies at the same place in every version that there is."""
    return int(_LONG.unpack_from(value, 2)[0])


def commit_ms_of(value: bytes) -> tuple[int, int]:
    """(commit timestamp, expire timestamp or -1)."""
    if value[1] == OFFSET_VALUE_VERSION:
        return int(_LONG.unpack_from(value, len(value) - 8)[0]), NO_EXPIRY_MS
    found = decode_offset(value)
    return found.commit_ms, found.expire_ms


def _decode_other_offset(version: int, value: bytes) -> CommittedOffset:
    try:
        found = decode_struct("OffsetCommitValue", version, value[2:])
    except KeyError:
        raise BadFrame(f"offset value of unknown version {version}") from None
    return CommittedOffset(
        found.offset, found.leader_epoch, found.metadata, found.commit_timestamp, found.expire_timestamp
    )


def encode_group(message: messages.GroupMetadataValue) -> bytes:
    """A `GroupMetadataValue` as the log has it."""
    return _pack_length(GROUP_VALUE_VERSION) + encode_struct("GroupMetadataValue", GROUP_VALUE_VERSION, message)


def decode_group(value: bytes) -> messages.GroupMetadataValue:
    """A `GroupMetadataValue` of any version.

    raises   BadFrame
    """
    version = int.from_bytes(value[:2], "big")
    if version > GROUP_VALUE_VERSION_MAX:
        raise BadFrame(f"group value of unknown version {version}")
    return decode_struct("GroupMetadataValue", version, value[2:])
