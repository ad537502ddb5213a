"""A partition of `__consumer_offsets`, read into memory, batch by batch.

Pure: the host reads slices of the log and hands their batches in; `finish` gives the groups. The last record of
a key wins; a null value takes it away. Offsets of a transaction wait for its marker. What can't be read is
reported and left out: a batch whose checksum or records are wrong, a value that does not decode, a key of a
version we don't know (Kafka's newer coordinators write some), text that no response could carry.

The log's bytes are hostile: any client that calls itself `__admin_client` may write it (Kafka's tools do), and what ends
a load ends it at each start. So whatever a batch or a group raises is reported, and the load continues; what one batch may
cost is bounded by OPENED_BYTES_MAX and OPENED_RECORDS_MAX.

A million records are read at a start, so records are not made into objects, and values are not decoded until they are read.
The record kernel takes a batch in one call, where it was built (`protocol/record_kernel.py`), no transaction is open, and
nothing in it is odd.

Source: Kafka `GroupMetadataManager.doLoadGroupsAndOffsets`.
"""

from __future__ import annotations

import logging
from typing import Final

from headrace.errors import BadFrame
from headrace.limits import (
    LOAD_REPORT_LENGTH_MAX,
    LOAD_REPORTS_MAX,
    OPENED_BYTES_MAX,
    OPENED_RECORD_COST,
    OPENED_RECORDS_MAX,
    TOPIC_NAME_LENGTH_MAX,
)
from headrace.protocol import record_kernel
from headrace.protocol.compression import decompress
from headrace.protocol.control_record import COMMIT, control_type
from headrace.protocol.old_run import read_run
from headrace.protocol.record_batch import (
    HEADER_BYTES,
    MAGIC_V2,
    CorruptRecord,
    RecordBatchHeader,
    compute_crc,
    iterate_records,
    parse_header,
    walk_spans,
)
from headrace.workers.coordinators.group.group import Group
from headrace.workers.coordinators.group.records import METADATA_BYTES_MAX, decode_group, decode_offset
from headrace.workers.coordinators.group.state import GroupState

OFFSET_KEY_VERSIONS: Final = (0, 1)
SUFFIX_BYTES_MIN: Final = 6  # an empty topic and a partition
VALUE_BYTES_MIN: Final = 20  # of an offset: version, offset, empty metadata, commit timestamp
NAME_BYTES_MAX: Final = 2**15 - 1  # a string's

_load_offsets: Final = record_kernel.load_offsets
_log: Final = logging.getLogger(__name__)

Held = dict[bytes, dict[bytes, tuple[bytes | None, int]]]  # group -> suffix -> (value, offset of its record)


class Loader:
    """One load.

    records   how many were read
    faults    how many batches and records were left out
    """

    def __init__(self, name: str) -> None:
        self.records = 0
        self.faults = 0
        self._name = name
        self._offsets: dict[bytes, dict[bytes, bytes]] = {}  # group id -> key suffix -> value
        self._suffixes: dict[bytes, bytes] = {}  # one object for the same partition in all groups
        self._judged: dict[bytes, bool] = {}  # suffix -> whether there may be such a partition
        self._groups: dict[bytes, bytes] = {}
        self._transactions: dict[int, Held] = {}  # producer id -> ...
        self._places: dict[bytes, dict[bytes, int]] = {}  # offsets of records, while transactions are open

    def take(self, header: RecordBatchHeader, batch: memoryview) -> int:
        """The next batch of the log, or entry of an old format, which Kafka before 0.11 wrote.

        returns   what it cost in bytes: its own or, where it was compressed, OPENED_RECORD_COST for each record
        """
        try:
            if header.magic < MAGIC_V2:
                data = read_run(batch, 0, len(batch), header.last_offset + 1).batch
                header, batch = parse_header(data), memoryview(data)
            if compute_crc(batch) != header.crc:
                raise CorruptRecord("the checksum is wrong")
            if header.record_count > OPENED_RECORDS_MAX:
                raise CorruptRecord(f"{header.record_count} records, the limit is {OPENED_RECORDS_MAX}")
            if header.is_control:
                self._take_marker(header, batch)
            elif header.is_transactional and header.producer_id >= 0:
                self._take_transactional(header, batch)
            else:
                self._take_plain(header, batch)
        except Exception as failure:  # whatever it is, it would come again at every start
            self.report(f"batch at offset {header.base_offset}: {_told(failure)}")
        return max(len(batch), OPENED_RECORD_COST * header.record_count) if header.codec else len(batch)

    def report(self, what: str) -> None:
        """Something is left out."""
        self.faults += 1
        if self.faults <= LOAD_REPORTS_MAX:
            _log.warning(
                "corrupt data in the offsets log skipped partition=%s what=%s",
                self._name,
                what[:LOAD_REPORT_LENGTH_MAX],
            )

    def _take_plain(self, header: RecordBatchHeader, batch: memoryview) -> None:
        """The hot loop, where there is no kernel: a key is split into group and suffix, a value kept as it is."""
        data = bytes(decompress(header.codec, batch[HEADER_BYTES : header.size_bytes], OPENED_BYTES_MAX))
        offsets, suffixes = self._offsets, self._suffixes
        places = self._places if self._transactions else None
        if places is None and _load_offsets is not None:
            others = _load_offsets(data, header.record_count, offsets, suffixes)
            if others is not None:
                self.records += header.record_count
                for key, value in others:
                    self._take_other(key, value, header.base_offset)
                return
        for spans in walk_spans(data, 0, header.record_count):
            self.records += 1
            key = data[spans.key_start : spans.key_end] if spans.key_length >= 0 else None
            value = data[spans.value_start : spans.headers] if spans.value_length >= 0 else None
            if key is None or len(key) <= 8 or key[0] or key[1] > 1:
                self._take_other(key, value, header.base_offset)
                continue
            group_end = 4 + (key[2] << 8 | key[3])
            if group_end + SUFFIX_BYTES_MIN > len(key):
                self.report(f"key of {len(key)} bytes in batch {header.base_offset}")
                continue
            group, suffix = key[4:group_end], key[group_end:]
            known = offsets.get(group)
            if value is not None:
                if known is None:
                    known = offsets[group] = {}
                known[suffixes.setdefault(suffix, suffix)] = value
            elif known is not None:
                known.pop(suffix, None)
            if places is not None:
                places.setdefault(group, {})[suffix] = header.base_offset + spans.offset_delta

    def _take_other(self, key: bytes | None, value: bytes | None, base_offset: int) -> None:
        """Any record but that of a plain offset."""
        if key is None or len(key) < 4:
            self.report(f"key {key!r} in batch {base_offset}")
            return
        version = int.from_bytes(key[:2], "big")
        group = key[4:]
        if version != 2 or len(group) != int.from_bytes(key[2:4], "big"):
            self.report(f"key of version {version} and {len(key)} bytes in batch {base_offset}")
        elif value is None:
            self._groups.pop(group, None)
        else:
            self._groups[group] = value

    def _take_transactional(self, header: RecordBatchHeader, batch: memoryview) -> None:
        held = self._transactions.setdefault(header.producer_id, {})
        for record in iterate_records(batch, OPENED_BYTES_MAX):
            self.records += 1
            key = record.key
            if key is None or len(key) < 10 or int.from_bytes(key[:2], "big") not in OFFSET_KEY_VERSIONS:
                self.report(f"key {key!r} in transactional batch {header.base_offset}")
                continue
            group_end = 4 + int.from_bytes(key[2:4], "big")
            if group_end + SUFFIX_BYTES_MIN > len(key):
                self.report(f"key {key!r} in transactional batch {header.base_offset}")
                continue
            held.setdefault(key[4:group_end], {})[key[group_end:]] = (record.value, record.offset)

    def _take_marker(self, header: RecordBatchHeader, batch: memoryview) -> None:
        for record in iterate_records(batch, OPENED_BYTES_MAX):
            self.records += 1
            held = self._transactions.pop(header.producer_id, {})
            if control_type(record.key) == COMMIT:
                for group, entries in held.items():
                    self._apply(group, entries)
        if not self._transactions:
            self._places.clear()

    def _apply(self, group: bytes, entries: dict[bytes, tuple[bytes | None, int]]) -> None:
        known = self._offsets.setdefault(group, {})
        places = self._places.setdefault(group, {})
        for suffix, (value, offset) in entries.items():
            if places.get(suffix, -1) > offset:
                continue
            places[suffix] = offset
            if value is None:
                known.pop(suffix, None)
            else:
                known[suffix] = value

    def finish(self, date_ms: int) -> dict[str, Group]:
        """The groups as the log has them: Stable, or Empty."""
        groups: dict[str, Group] = {}
        for name, value in self._groups.items():
            try:
                group_id = _name_of(name)
                groups[group_id] = Group.from_message(group_id, decode_group(value))
            except Exception as failure:  # as of a batch
                self.report(f"group {name!r}: {_told(failure)}")
        for name, offsets in self._offsets.items():
            if offsets and self._is_name(name):
                group = _group_of(groups, name, date_ms)
                group.offsets = self._readable(group.group_id, offsets)
        for producer_id, held in self._transactions.items():
            for name, entries in held.items():
                if not self._is_name(name):
                    continue
                group = _group_of(groups, name, date_ms)
                wanted = {suffix: pending for suffix, (pending, _offset) in entries.items() if pending is not None}
                for suffix, pending in self._readable(group.group_id, wanted).items():
                    group.hold(producer_id, [(suffix, pending)], entries[suffix][1])
                group.overwritten.update(self._places.get(name, {}))
        self._offsets, self._groups, self._transactions, self._places = {}, {}, {}, {}
        return groups

    def _is_name(self, name: bytes) -> bool:
        """Whether a group may be called so."""
        try:
            _name_of(name)
        except ValueError as failure:
            self.report(f"offsets of group {name!r}: {failure}")
            return False
        return True

    def _readable(self, group_id: str, offsets: dict[bytes, bytes]) -> dict[bytes, bytes]:
        """Values that decode, of partitions that can be.

        A v3 value without metadata, as clients mostly have it, is known by its length alone.
        """
        bad = []
        judged = self._judged
        for suffix, value in offsets.items():
            is_place = judged.get(suffix)
            if is_place is None:
                is_place = judged[suffix] = _is_place(suffix)
            if is_place and len(value) == 24 and value[:2] == b"\0\3" and value[14:16] == b"\0\0":
                continue
            try:
                if not is_place:
                    raise BadFrame(f"no partition has the name {suffix!r}")
                _check_offset(value)
            except Exception as failure:  # as of a batch
                self.report(f"offset of group {group_id}: {_told(failure)}")
                bad.append(suffix)
        for suffix in bad:
            del offsets[suffix]
        return offsets


def _name_of(name: bytes) -> str:
    """A group's id as text. raises ValueError, where no request or response could carry it"""
    if len(name) > NAME_BYTES_MAX:
        raise ValueError(f"a name of {len(name)} bytes")
    return name.decode()


def _is_place(suffix: bytes) -> bool:
    """Whether the end of an offset's key names a topic and a partition."""
    length = len(suffix) - SUFFIX_BYTES_MIN
    try:
        suffix[2:-4].decode()
    except ValueError:
        return False
    return 0 <= length <= TOPIC_NAME_LENGTH_MAX and int.from_bytes(suffix[:2], "big") == length


def _check_offset(value: bytes) -> None:
    """Whether a response can carry an offset's value: its metadata is text, not longer than it was.

    raises   BadFrame, ValueError
    """
    if len(value) < VALUE_BYTES_MIN:
        raise BadFrame(f"offset value of {len(value)} bytes")
    if len(decode_offset(value).metadata.encode()) > METADATA_BYTES_MAX:
        raise BadFrame("the metadata is not valid UTF-8")


def _told(failure: Exception) -> str:
    """What was raised, in words: a KeyError's text alone says nothing."""
    return f"{type(failure).__name__}: {failure}"


def _group_of(groups: dict[str, Group], name: bytes, date_ms: int) -> Group:
    group_id = name.decode()
    group = groups.get(group_id)
    if group is None:
        group = groups[group_id] = Group(group_id, date_ms)
        assert group.state is GroupState.EMPTY
    return group
