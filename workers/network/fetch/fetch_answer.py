"""The answer to a Fetch: partitions as the handlers found them, and the frame that tells them.

Runs in: a network worker. This one answer leaves for every batch that a consumer waits for, so it has a writer of its own, into one
buffer, without the objects that a message is made of:

    size | correlation id [| tags] | throttle [| error | session] | topics( name or id | partitions( numbers | aborted | records ) )
    since v12   lengths are varints and one more than they say, tags follow every struct

Memory: one buffer for all but the records; few of these are copied into it (INLINE_BYTES a partition), others are parts of their own.

Source: `protocol/schema/01_fetch.txt`; the generated codec writes the same (a test compares them).
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from headrace.ids import NO_EPOCH
from headrace.memory import copy_in, view
from headrace.protocol.frames import pack_head
from headrace.protocol.numbers import pack_int, pack_long
from headrace.shm.partition_table import PartitionRow

if TYPE_CHECKING:
    from headrace.workers.network.connections.exchange import Exchange

VERSION_OF_THROTTLE: Final = 1
VERSION_OF_STABLE_OFFSET: Final = 4
VERSION_OF_LOG_START: Final = 5
VERSION_OF_SESSIONS: Final = 7
VERSION_OF_CLOSEST: Final = 11
VERSION_OF_TAGS: Final = 12
VERSION_OF_TOPIC_IDS: Final = 13

INLINE_BYTES: Final = 4096  # of a partition's records
HEAD_BYTES: Final = 32  # before the topics, and after them, at most
TOPIC_BYTES: Final = 32  # its name not counted
PARTITION_BYTES: Final = 80  # aborted transactions and records not counted
ABORTED_BYTES: Final = 17
DIVERGING_TAG_BYTES: Final = 13

_FIRST: Final = Struct(">ihq")  # partition, error, high watermark
_SESSION: Final = Struct(">hi")  # error, session id
_PAIR: Final = Struct(">qq")  # producer id, first offset
_EPOCH_END: Final = Struct(">iq")  # epoch, end offset


def pack_first(frame: memoryview, position: int, index: int, error: int, high_watermark: int) -> None:
    """What all versions have of a partition."""
    _FIRST.pack_into(frame, position, index, error, high_watermark)


def pack_session(frame: memoryview, position: int, error: int, session_id: int) -> None:
    """Error of the whole answer, and its session."""
    _SESSION.pack_into(frame, position, error, session_id)


def pack_pair(frame: memoryview, position: int, producer_id: int, first_offset: int) -> None:
    """An aborted transaction."""
    _PAIR.pack_into(frame, position, producer_id, first_offset)


def pack_epoch_end(frame: memoryview, position: int, epoch: int, end_offset: int) -> None:
    """Where an epoch ended."""
    _EPOCH_END.pack_into(frame, position, epoch, end_offset)


class PartitionAnswer:
    """What a Fetch finds of one partition; the handlers add what the row does not have.

    aborted                 (producer id, first offset) of the transactions that its reader leaves out; None: that was not asked
    records                 bytes, or whatever has a `len`: a range of a file
    preferred_read_replica  who should be asked instead, -1: nobody
    diverging_epoch         the latest epoch that leader and follower have both, and
    diverging_end           where that ends; NO_EPOCH: nothing diverges
    """

    __slots__ = (
        "aborted",
        "diverging_end",
        "diverging_epoch",
        "error_code",
        "high_watermark",
        "index",
        "last_stable_offset",
        "log_start_offset",
        "preferred_read_replica",
        "records",
    )

    def __init__(
        self, index: int, error_code: int, high_watermark: int, last_stable_offset: int, log_start_offset: int
    ) -> None:
        self.index = index
        self.error_code = error_code
        self.high_watermark = high_watermark
        self.last_stable_offset = last_stable_offset
        self.log_start_offset = log_start_offset
        self.aborted: list[tuple[int, int]] | None = None
        self.records: Any = b""
        self.preferred_read_replica = -1
        self.diverging_epoch = NO_EPOCH
        self.diverging_end = -1


class TopicAnswer:
    """The partitions of one topic. `topic_id` is told since v13, the name before."""

    __slots__ = ("name", "partitions", "topic_id")

    def __init__(self, name: str, topic_id: bytes, partitions: list[PartitionAnswer]) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = partitions


def refusal(index: int, error: int) -> PartitionAnswer:
    """A partition without records; nothing is known of it."""
    return PartitionAnswer(index, int(error), -1, -1, -1)


def as_row(index: int, row: PartitionRow) -> PartitionAnswer:
    """A partition as its row has it, no records yet."""
    return PartitionAnswer(index, 0, row.high_watermark, row.last_stable_offset, row.log_start_offset)


def answer_fetch(exchange: Exchange, topics: list[TopicAnswer], session_id: int = 0, error: int = 0) -> None:
    """Tell who asked. The records of the partitions are not copied beyond INLINE_BYTES."""
    version = exchange.api_version
    is_flexible = version >= VERSION_OF_TAGS
    names = [topic.name.encode() for topic in topics] if version < VERSION_OF_TOPIC_IDS else []
    frame = memoryview(bytearray(_size_max(topics, names)))
    parts: list[Any] = []
    begun = elsewhere = 0  # where the part begins that is being written; bytes of parts that are not of `frame`
    ranges = 0  # bytes among these that are in no memory of ours
    position = 9 if is_flexible else 8
    if version >= VERSION_OF_THROTTLE:
        position += 4
    if version >= VERSION_OF_SESSIONS:
        pack_session(frame, position, error, session_id)
        position += 6
    position = _put_count(frame, position, len(topics), is_flexible)
    for number, topic in enumerate(topics):
        if version >= VERSION_OF_TOPIC_IDS:
            copy_in(frame, position, topic.topic_id)
            position += 16
        else:
            position = _put_name(frame, position, names[number], is_flexible)
        position = _put_count(frame, position, len(topic.partitions), is_flexible)
        for partition in topic.partitions:
            position = _put_numbers(frame, position, partition, version)
            records = partition.records
            size = len(records)
            position = _put_count(frame, position, size, is_flexible)
            if size <= INLINE_BYTES and type(records) is bytes:
                copy_in(frame, position, records)
                position += size
            else:
                parts.append(view(frame, begun, position))
                parts.append(records)
                begun = position
                elsewhere += size
                if type(records) is not bytes:
                    ranges += size
            if is_flexible:
                position = _put_tags(frame, position, partition)
        if is_flexible:
            position += 1
    if is_flexible:
        position += 1
    pack_head(frame, 0, position + elsewhere - 4, exchange.correlation_id)
    parts.append(view(frame, begun, position))
    exchange.answer_parts(parts, position + elsewhere - ranges)


def _size_max(topics: list[TopicAnswer], names: list[bytes]) -> int:
    """What the frame takes at most, records that are parts of their own left out."""
    size = HEAD_BYTES + TOPIC_BYTES * len(topics)
    for name in names:
        size += len(name)
    for topic in topics:
        size += PARTITION_BYTES * len(topic.partitions)
        for partition in topic.partitions:
            size += min(len(partition.records), INLINE_BYTES)
            if partition.aborted:
                size += ABORTED_BYTES * len(partition.aborted)
    return size


def _put_count(frame: memoryview, position: int, count: int, is_flexible: bool) -> int:
    """The length of what follows; returns the position after it."""
    if is_flexible:
        return _put_uvarint(frame, position, count + 1)
    pack_int(frame, position, count)
    return position + 4


def _put_uvarint(frame: memoryview, position: int, value: int) -> int:
    while value > 127:
        frame[position] = value & 127 | 128
        value >>= 7
        position += 1
    frame[position] = value
    return position + 1


def _put_name(frame: memoryview, position: int, name: bytes, is_flexible: bool) -> int:
    if is_flexible:
        position = _put_uvarint(frame, position, len(name) + 1)
    else:
        frame[position] = len(name) >> 8
        frame[position + 1] = len(name) & 255
        position += 2
    copy_in(frame, position, name)
    return position + len(name)


def _put_numbers(frame: memoryview, position: int, partition: PartitionAnswer, version: int) -> int:
    """All before the records."""
    pack_first(frame, position, partition.index, partition.error_code, partition.high_watermark)
    position += 14
    if version >= VERSION_OF_STABLE_OFFSET:
        pack_long(frame, position, partition.last_stable_offset)
        position += 8
        if version >= VERSION_OF_LOG_START:
            pack_long(frame, position, partition.log_start_offset)
            position += 8
        is_flexible = version >= VERSION_OF_TAGS
        aborted = partition.aborted
        if aborted is None:
            position = _put_count(frame, position, -1, is_flexible)
        else:
            position = _put_count(frame, position, len(aborted), is_flexible)
            for producer_id, first_offset in aborted:
                pack_pair(frame, position, producer_id, first_offset)
                position += ABORTED_BYTES if is_flexible else 16
    if version >= VERSION_OF_CLOSEST:
        pack_int(frame, position, partition.preferred_read_replica)
        position += 4
    return position


def _put_tags(frame: memoryview, position: int, partition: PartitionAnswer) -> int:
    """None, mostly; tag 0 is the diverging epoch."""
    if partition.diverging_epoch == NO_EPOCH and partition.diverging_end == -1:
        return position + 1
    frame[position] = 1
    frame[position + 2] = DIVERGING_TAG_BYTES
    pack_epoch_end(frame, position + 3, partition.diverging_epoch, partition.diverging_end)
    return position + 3 + DIVERGING_TAG_BYTES
