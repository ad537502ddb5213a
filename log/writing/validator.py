"""What a leader takes from a client: one batch of format v2 that agrees with itself and with the topic's settings.

Pure functions over bytes. `LeaderAppend.append` makes the same checks in one expression for the batch
that has nothing wrong with it, and asks here which error to answer, or whether an unusual batch is one to take.

    bytes that are no batch, or two                    INVALID_RECORD
    format v0 or v1                                    UNSUPPORTED_FOR_MESSAGE_FORMAT
    another magic, a length or checksum that is wrong  CORRUPT_MESSAGE
    above `max.message.bytes`                          MESSAGE_TOO_LARGE
    base offset not 0, a control batch                 INVALID_RECORD
    count <= 0, or more than the bytes can hold        INVALID_RECORD
    count and offsets that disagree                    INVALID_RECORD
    a producer id without epoch or sequence            INVALID_RECORD
    a transaction without a producer id                INVALID_RECORD
    codec 5 to 7                                       UNSUPPORTED_COMPRESSION_TYPE
    timestamp out of range                             INVALID_TIMESTAMP

Timestamps are those of the header: records are not decoded here. Those of uncompressed batches were compared with it by the
network worker (`plain_admission.py`); what is in compressed ones is not known here, so a reader that computes with their timestamps has to
clamp them (`read_records` does). Source: Kafka `LogValidator`, `UnifiedLog.analyzeAndValidateRecords`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from headrace.errors import ErrorCode
from headrace.ids import NO_TIMESTAMP_MS
from headrace.limits import COMPACTED_RECORDS_MAX
from headrace.log.config import LogConfig
from headrace.protocol.record_batch import (
    CODEC_MASK,
    CONTROL_BIT,
    HEADER_BYTES,
    LOG_APPEND_TIME_BIT,
    LOG_OVERHEAD_BYTES,
    MAGIC_POSITION,
    MAGIC_V2,
    NO_SEQUENCE,
    RECORD_BYTES_MIN,
    TRANSACTIONAL_BIT,
    compute_crc,
    store_attributes,
    store_crc,
    store_max_timestamp,
    unpack_header,
)

CODEC_MAX: Final = 4
# Attributes that need no further check: a known codec, in a transaction or not.
PLAIN_ATTRIBUTES: Final = frozenset(codec | bit for codec in range(CODEC_MAX + 1) for bit in (0, TRANSACTIONAL_BIT))

# Of a timestamp. The lower one is far from the last of 64 bits, so that a time span may be taken off it: compaction does.
TIME_MIN: Final = -(2**62)
TIME_MAX: Final = 2**63 - 1
# What a compressed batch may at most hold: its reader stops there.
COMPRESSED_RECORDS_MAX: Final = COMPACTED_RECORDS_MAX
_RATIOS_MAX: Final = (1, 1_032, 22, 255, 32_768)  # of the codecs: bytes that can come of one


class BatchRules(NamedTuple):
    """A topic's settings as they stand for one call; timestamps are not bounded where the leader sets them."""

    max_message_bytes: int
    is_log_append_time: bool
    earliest_ms: int
    latest_ms: int


def rules_at(config: LogConfig, now_ms: int) -> BatchRules:
    """The rules for batches that arrive now."""
    return BatchRules(*bounds_at(config, now_ms))


def bounds_at(config: LogConfig, now_ms: int) -> tuple[int, bool, int, int]:
    """The fields of `rules_at`."""
    if config.is_log_append_time:
        return config.max_message_bytes, True, TIME_MIN, TIME_MAX
    return (
        config.max_message_bytes,
        False,
        max(now_ms - config.timestamp_before_max_ms, TIME_MIN),
        min(now_ms + config.timestamp_after_max_ms, TIME_MAX),
    )


def fault_of(batch: memoryview, rules: BatchRules, *, may_lack_sequence: bool = False) -> ErrorCode:
    """Why a batch is refused; NONE where it is not.

    may_lack_sequence   a coordinator made it, whose batches of a producer have none
    """
    fault = _fault_of_shape(batch, rules.max_message_bytes)
    return fault if fault is not ErrorCode.NONE else _fault_of_header(batch, rules, may_lack_sequence)


def _fault_of_shape(batch: memoryview, max_message_bytes: int) -> ErrorCode:
    """Size, magic, length and checksum: whether the header means anything."""
    size = len(batch)
    magic = batch[MAGIC_POSITION] if size > MAGIC_POSITION else -1
    if 0 <= magic < MAGIC_V2:
        return ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
    if size < HEADER_BYTES:
        return ErrorCode.INVALID_RECORD
    if magic != MAGIC_V2:
        return ErrorCode.CORRUPT_MESSAGE
    _base_offset, length, _epoch, _magic, crc, *_rest = unpack_header(batch, 0)
    announced = length + LOG_OVERHEAD_BYTES
    if announced != size:
        is_followed_by_another = HEADER_BYTES <= announced < size
        return ErrorCode.INVALID_RECORD if is_followed_by_another else ErrorCode.CORRUPT_MESSAGE
    if size > max_message_bytes:
        return ErrorCode.MESSAGE_TOO_LARGE
    return ErrorCode.NONE if compute_crc(batch) == crc else ErrorCode.CORRUPT_MESSAGE


def _fault_of_header(batch: memoryview, rules: BatchRules, may_lack_sequence: bool) -> ErrorCode:
    (
        base_offset, _length, _epoch, _magic, _crc, attributes, last_delta,
        base_timestamp, max_timestamp, producer_id, producer_epoch, sequence, count,
    ) = unpack_header(batch, 0)  # fmt: skip
    if base_offset or count <= 0 or last_delta != count - 1 or attributes & CONTROL_BIT:
        return ErrorCode.INVALID_RECORD
    lacks_sequence = sequence < 0 and not (may_lack_sequence and sequence == NO_SEQUENCE)
    if producer_id >= 0 and (lacks_sequence or producer_epoch < 0):
        return ErrorCode.INVALID_RECORD
    if producer_id < 0 and attributes & TRANSACTIONAL_BIT:
        return ErrorCode.INVALID_RECORD  # no marker could end it
    if attributes & CODEC_MASK > CODEC_MAX:
        return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    if not _may_hold(count, len(batch) - HEADER_BYTES, attributes & CODEC_MASK):
        return ErrorCode.INVALID_RECORD
    if base_timestamp < TIME_MIN:
        return ErrorCode.INVALID_TIMESTAMP
    if rules.is_log_append_time or max_timestamp == NO_TIMESTAMP_MS:
        # Only the leader may say that a time is its own.
        return ErrorCode.INVALID_TIMESTAMP if attributes & LOG_APPEND_TIME_BIT else ErrorCode.NONE
    is_in_time = rules.earliest_ms <= max_timestamp <= rules.latest_ms
    return ErrorCode.NONE if is_in_time else ErrorCode.INVALID_TIMESTAMP


def _may_hold(count: int, body_bytes: int, codec: int) -> bool:
    """Whether so many records can be in so many bytes, as they are or compressed."""
    if codec and count > COMPRESSED_RECORDS_MAX:
        return False
    return count * RECORD_BYTES_MIN <= body_bytes * _RATIOS_MAX[codec]


def stamp_append_time(batch: memoryview, attributes: int, now_ms: int) -> None:
    """LogAppendTime: the leader's clock in the header. The checksum covers it, so it is computed again."""
    store_max_timestamp(batch, now_ms)
    _stamp_attributes(batch, attributes | LOG_APPEND_TIME_BIT)


def stamp_create_time(batch: memoryview, attributes: int) -> None:
    """CreateTime, in a batch whose client claims LogAppendTime: the records' own times count, as with Kafka."""
    _stamp_attributes(batch, attributes & ~LOG_APPEND_TIME_BIT)


def _stamp_attributes(batch: memoryview, attributes: int) -> None:
    store_attributes(batch, attributes)
    store_crc(batch)
