"""What a topic asks of records before they go to their log: another codec, keys, a deep check, today's format.

Runs in: a network worker, on the batch where it was received; one object a topic, made with its routes. Most topics
ask nothing (`is_plain`) and their batches pass untouched. The log's owner checks the header of whatever comes out, as
of any batch, so nothing here has to be trusted there; it never decompresses.

    Produce v0 to v2                  sets of v0 and v1 become one batch of v2, in the topic's codec or their own
    compression.type                  a batch in another codec is compressed again
    cleanup.policy                    compact: each record needs a key
    headrace.validate.records.deep    records are what their header says; a wrong largest timestamp is mended.
                                      Uncompressed ones are checked in any case (`plain_admission.py`)
    a frame that is not usual         `codec_frames.py`: opened, compared with its header, compressed again in its codec, so
                                      that every client reads it; refused where it does not open

A batch whose header or checksum is wrong is passed as it is: the owner names the fault. Bounds: OPENED_BYTES_MAX and
OPENED_RECORDS_MAX for a batch, `opening_budget.py` for a request.

Source: Kafka `LogValidator.validateMessagesAndAssignOffsets`, `UnifiedLog.append`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final, NoReturn

from headrace.errors import ErrorCode, KafkaError
from headrace.ids import NO_TIMESTAMP_MS
from headrace.limits import OPENED_RECORDS_MAX
from headrace.log.config import LogConfig
from headrace.log.writing.validator import CODEC_MAX, BatchRules, rules_at
from headrace.protocol.codec_frames import has_usual_frame
from headrace.protocol.compression import Codec, CompressionError, DecompressedTooLarge, compress, decompress
from headrace.protocol.compression_levels import DEFAULT_LEVELS, compress_at
from headrace.protocol.conversion import convert_up, upgrade_set
from headrace.protocol.message_set import InvalidMessageSet, TooManyRecords, iterate_entries
from headrace.protocol.record_batch import (
    ATTRIBUTES_LOW_POSITION,
    CODEC_MASK,
    CONTROL_BIT,
    HEADER_BYTES,
    MAGIC_V2,
    CorruptRecord,
    RecordBatchHeader,
    compute_crc,
    parse_header,
    seal_batch,
)
from headrace.protocol.record_scan import RecordScan, scan_records
from headrace.settings import Settings, topic_values
from headrace.workers.network.produce.opening_budget import BATCH_COST, OpeningBudget
from headrace.workers.network.produce.plain_admission import check_plain, check_range

PRODUCER: Final = "producer"

_CODECS: Final = {
    "uncompressed": Codec.NONE,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
}

Buffer = bytes | bytearray | memoryview


class RejectedRecords(KafkaError):
    """Some records of a batch are at fault; a response tells which since v8 (KIP-467)."""

    def __init__(self, code: ErrorCode, indexes: list[int], reason: str) -> None:
        which = f"record {indexes[0]}" if len(indexes) == 1 else f"{len(indexes)} records from {indexes[0]} on"
        super().__init__(code, f"{which}: {reason}")
        self.indexes = indexes
        self.reason = reason


class RecordPolicy:
    """One topic's wishes.

    codec                  of its log, None where the producer's stays
    is_plain               batches of v2 need not come here
    serves_old_readers     `message.downconversion.enable`
    """

    __slots__ = (
        "_compress",
        "_config",
        "_inspects_records",
        "_is_compacted",
        "_is_deep",
        "codec",
        "is_plain",
        "serves_old_readers",
    )

    def __init__(self, settings: Settings, overrides: Mapping[str, str]) -> None:
        values = topic_values(settings, overrides)
        self._config = LogConfig.from_values(values)
        self._is_compacted = "compact" in values["cleanup.policy"]
        self._is_deep: bool = settings["headrace.validate.records.deep"]
        kind = values["compression.type"]
        self.codec: int | None = None if kind == PRODUCER else _CODECS[kind]
        level: Any = values.get(f"compression.{kind}.level")
        is_usual = level is None or level == DEFAULT_LEVELS[_CODECS[kind]]
        self._compress = compress if is_usual else partial(compress_at, level=level)
        self._inspects_records = self._is_compacted or self._is_deep
        self.is_plain = self.codec is None and not self._inspects_records
        self.serves_old_readers: bool = values["message.downconversion.enable"]

    def admit(self, batch: memoryview, now_ms: int, budget: OpeningBudget | None = None) -> Buffer:
        """A batch of v2 as the log shall have it.

        budget   of its request
        raises   KafkaError INVALID_RECORD, INVALID_TIMESTAMP or MESSAGE_TOO_LARGE, with the reason
        """
        if not self._inspects_records and len(batch) >= HEADER_BYTES:
            codec = batch[ATTRIBUTES_LOW_POSITION] & CODEC_MASK
            if codec == Codec.NONE:
                check_plain(batch)
            if codec == self.codec or self.codec is None:
                return batch if codec == Codec.NONE or has_usual_frame(batch) else self.reopen(batch, budget)
        header = _sound_header(batch, self._config.max_message_bytes)
        if header is None or header.codec > CODEC_MAX:
            return batch
        try:
            return self._admit(batch, header, now_ms, budget or OpeningBudget())
        except (CorruptRecord, CompressionError) as failure:
            _refuse(failure)

    def reopen(self, batch: memoryview, budget: OpeningBudget | None = None) -> Buffer:
        """A compressed batch of v2 whose frame is not usual, as one of which it is.

        It stays as it is where that would pass `max.message.bytes`.

        budget   of its request
        raises   KafkaError INVALID_RECORD, INVALID_TIMESTAMP or MESSAGE_TOO_LARGE, with the reason
        """
        most = self._config.max_message_bytes
        header = _sound_header(batch, most)
        if header is None or header.codec > CODEC_MAX:
            return batch
        try:
            plain, _scan = self._open(batch, header, budget or OpeningBudget(), is_inspected=True)
            rebuilt = self._rebuilt(header, compress(header.codec, plain), header.codec, header.max_timestamp)
        except (CorruptRecord, CompressionError) as failure:
            _refuse(failure)
        return rebuilt if len(rebuilt) <= most else batch

    def convert(self, message_set: memoryview, now_ms: int, budget: OpeningBudget | None = None) -> Buffer:
        """What a Produce of v0 to v2 carries, as a batch of v2.

        raises   KafkaError CORRUPT_MESSAGE, INVALID_RECORD, INVALID_TIMESTAMP or MESSAGE_TOO_LARGE, with the reason
        """
        most = self._config.max_message_bytes
        budget = budget or OpeningBudget()
        budget.spend(len(message_set) + BATCH_COST, 0)
        try:
            if len(message_set) > most:
                for _position, size, _magic in iterate_entries(message_set):
                    if size > most:
                        raise KafkaError(ErrorCode.MESSAGE_TOO_LARGE, f"message of {size} bytes, the limit is {most}")
            _position, _size, magic = next(iterate_entries(message_set), (0, 0, None))
            if magic == MAGIC_V2:  # whatever the version says: some clients send it
                return self.admit(message_set, now_ms, budget)
            append_time_ms = now_ms if self._config.is_log_append_time else None
            upgraded = upgrade_set(message_set, budget.limit, append_time_ms)
        except (CorruptRecord, CompressionError) as failure:
            budget.spend_in_vain(len(message_set))
            _refuse(failure, ErrorCode.CORRUPT_MESSAGE)
        budget.spend(upgraded.payload_bytes, upgraded.record_count)
        if self._is_compacted:
            _check_keys(upgraded.keyless)
        rules = rules_at(self._config, now_ms)
        no_negative = rules._replace(earliest_ms=max(rules.earliest_ms, 0))
        _check_times((upgraded.earliest_ms, upgraded.latest_ms), no_negative)
        if self.codec is None:
            codec, body = upgraded.codec, compress(upgraded.codec, upgraded.data)
        else:
            codec, body = self.codec, self._compress(self.codec, upgraded.data)
        return convert_up(upgraded, codec, body)

    def _admit(self, batch: memoryview, header: RecordBatchHeader, now_ms: int, budget: OpeningBudget) -> Buffer:
        plain, scan = self._open(batch, header, budget, is_inspected=self._inspects_records)
        latest_ms = header.max_timestamp
        if scan is not None:
            if self._is_compacted:
                _check_keys(scan.keyless)
            if self._is_deep or header.codec == Codec.NONE:
                latest_ms = self._latest(scan, header, now_ms)
        codec = header.codec if self.codec is None else self.codec
        is_same = codec == header.codec and (codec == Codec.NONE or has_usual_frame(batch))
        if is_same and latest_ms == header.max_timestamp:
            return batch
        body: Buffer = batch[HEADER_BYTES:]
        if not is_same:
            budget.spend(len(plain), 0)  # once more: it is compressed
            body = self._compress(codec, plain)
        return self._rebuilt(header, body, codec, latest_ms)

    def _open(
        self, batch: memoryview, header: RecordBatchHeader, budget: OpeningBudget, *, is_inspected: bool
    ) -> tuple[Buffer, RecordScan | None]:
        """The records of a batch, and what was found of them where they are compared with its header.

        raises   CorruptRecord, CompressionError, KafkaError
        """
        if is_inspected and header.record_count > OPENED_RECORDS_MAX:
            raise TooManyRecords(f"{header.record_count} records in a batch, the limit is {OPENED_RECORDS_MAX}")
        budget.spend(len(batch) + BATCH_COST, 0)
        try:
            plain = decompress(header.codec, batch[HEADER_BYTES:], budget.limit)
        except CompressionError:
            budget.spend_in_vain(len(batch))
            raise
        budget.spend(len(plain), header.record_count if is_inspected else 0)
        if not is_inspected:
            return plain, None
        scan = scan_records(plain, header)
        check_range(scan.min_timestamp_ms, scan.max_timestamp_ms)
        return plain, scan

    def _rebuilt(self, header: RecordBatchHeader, body: Buffer, codec: int, latest_ms: int) -> bytearray:
        """The batch with another body, codec, largest timestamp, or all of these."""
        attributes = header.attributes & ~CODEC_MASK | codec
        return seal_batch(header._replace(attributes=attributes, max_timestamp=latest_ms), body)

    def _latest(self, scan: RecordScan, header: RecordBatchHeader, now_ms: int) -> int:
        """The largest timestamp that the header should have; records out of time are refused."""
        if self._config.is_log_append_time:
            return header.max_timestamp
        _check_times((scan.min_timestamp_ms, scan.max_timestamp_ms), rules_at(self._config, now_ms))
        return scan.max_timestamp_ms


def _sound_header(batch: memoryview, max_message_bytes: int) -> RecordBatchHeader | None:
    """The header of a batch that may be opened; None where its owner will refuse it."""
    if not HEADER_BYTES <= len(batch) <= max_message_bytes:
        return None
    header = parse_header(batch)
    is_sound = (
        header.magic == MAGIC_V2
        and header.size_bytes == len(batch)
        and header.record_count > 0
        and not header.attributes & CONTROL_BIT
        and compute_crc(batch) == header.crc
    )
    return header if is_sound else None


def _check_keys(keyless: list[int]) -> None:
    if keyless:
        raise RejectedRecords(ErrorCode.INVALID_RECORD, keyless, "no key, which a compacted topic requires")


def _check_times(times_ms: Iterable[int], rules: BatchRules) -> None:
    """Each time in the bounds of the topic; no time at all is in time."""
    earliest_ms, latest_ms = rules.earliest_ms, rules.latest_ms
    if rules.is_log_append_time:
        return
    for time_ms in times_ms:
        if time_ms != NO_TIMESTAMP_MS and not earliest_ms <= time_ms <= latest_ms:
            raise KafkaError(
                ErrorCode.INVALID_TIMESTAMP, f"timestamp {time_ms} is not between {earliest_ms} and {latest_ms}"
            )


def _refuse(failure: Exception, otherwise: ErrorCode = ErrorCode.INVALID_RECORD) -> NoReturn:
    """The wire code for what is wrong with records: a set or batch that no client should send again is not retriable."""
    if isinstance(failure, (TooManyRecords, DecompressedTooLarge)):
        code = ErrorCode.MESSAGE_TOO_LARGE
    elif isinstance(failure, (InvalidMessageSet, CompressionError)):
        code = ErrorCode.INVALID_RECORD
    else:
        code = otherwise
    raise KafkaError(code, str(failure)) from None
