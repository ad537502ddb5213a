"""A partition of `__consumer_offsets`, read into memory, batch by batch.

Pure: the host reads slices of the log and hands their batches in; `finish` gives the groups. The last record of
a key wins; a null value takes it away. Offsets of a transaction wait for its marker. What can't be read is
reported and left out: a batch whose checksum or records are wrong, a value that does not decode, a key of a
version we don't know (Kafka's newer coordinators write some).

A million records are read at a start, so the walk over a batch is one loop over bytes: records are not made into
objects, values are not decoded before somebody asks for them.

Source: Kafka `GroupMetadataManager.doLoadGroupsAndOffsets`.
"""

from __future__ import annotations

import logging

from headrace.errors import BadFrame, HeadraceError
from headrace.protocol.compression import CompressionError, decompress
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
)
from headrace.protocol.varint import ZIGZAGS, read_varlong
from headrace.workers.coordinators.group import Group, GroupState
from headrace.workers.coordinators.group_records import decode_group, decode_offset
from headrace.workers.coordinators.offsets import Offsets

REPORTS_MAX = 20  # log lines of one load; the sum stands in the last one
OFFSET_KEY_VERSIONS = (0, 1)

_log = logging.getLogger(__name__)

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
        self._groups: dict[bytes, bytes] = {}
        self._transactions: dict[int, Held] = {}  # producer id -> ...
        self._places: dict[bytes, dict[bytes, int]] = {}  # offsets of records, while transactions are open

    def take(self, header: RecordBatchHeader, batch: memoryview) -> None:
        """The next batch of the log, or entry of an old format, which Kafka before 0.11 wrote."""
        try:
            if header.magic < MAGIC_V2:
                data = read_run(batch, 0, len(batch), header.last_offset + 1).batch
                header, batch = parse_header(data), memoryview(data)
            if compute_crc(batch) != header.crc:
                raise CorruptRecord(f"checksum of batch {header.base_offset} is wrong")
            if header.is_control:
                self._take_marker(header, batch)
                return
            if header.is_transactional:
                self._take_transactional(header, batch)
            else:
                self._take_plain(header, batch)
        except (CorruptRecord, CompressionError, IndexError, ValueError) as failure:
            self.report(f"batch at offset {header.base_offset}: {failure}")

    def report(self, what: str) -> None:
        """Something is left out."""
        self.faults += 1
        if self.faults <= REPORTS_MAX:
            _log.error("offsets log corrupt, left out partition=%s what=%s", self._name, what)

    def _take_plain(self, header: RecordBatchHeader, batch: memoryview) -> None:
        """The hot loop: framing read in place, key split into group and suffix, value kept as it is."""
        data = bytes(decompress(header.codec, batch[HEADER_BYTES : header.size_bytes]))
        zigzags, offsets, suffixes = ZIGZAGS, self._offsets, self._suffixes
        places = self._places if self._transactions else None
        position = 0
        for _ in range(header.record_count):
            if (byte := data[position]) < 128:
                length, position = zigzags[byte], position + 1
            else:
                length, position = read_varlong(data, position)
            end = position + length
            if length < 0 or end > len(data):
                raise CorruptRecord(f"record of {length} bytes at {position}, {len(data)} in all")
            position += 1
            while data[position] > 127:  # timestamp delta: of no use here
                position += 1
            position += 1
            delta_position = position
            while data[position] > 127:  # offset delta
                position += 1
            position += 1
            if (byte := data[position]) < 128:
                length, position = zigzags[byte], position + 1
            else:
                length, position = read_varlong(data, position)
            key_end = position + length
            if (byte := data[key_end if length >= 0 else position]) < 128:
                value_length, value_position = zigzags[byte], (key_end if length >= 0 else position) + 1
            else:
                value_length, value_position = read_varlong(data, key_end if length >= 0 else position)
            if value_position + value_length > end:
                raise CorruptRecord(f"value of {value_length} bytes at {value_position}, its record ends at {end}")
            self.records += 1
            if length > 8 and data[position] == 0 and data[position + 1] <= 1:
                group_end = position + 4 + (data[position + 2] << 8 | data[position + 3])
                if group_end + 6 > key_end:
                    self.report(f"key of {length} bytes in batch {header.base_offset}")
                    position = end
                    continue
                group = data[position + 4 : group_end]
                suffix = data[group_end:key_end]
                if value_length >= 0:
                    known = offsets.get(group)
                    if known is None:
                        known = offsets[group] = {}
                    known[suffixes.setdefault(suffix, suffix)] = data[value_position : value_position + value_length]
                else:
                    known = offsets.get(group)
                    if known is not None:
                        known.pop(suffix, None)
                if places is not None:
                    delta, _ = read_varlong(data, delta_position)
                    places.setdefault(group, {})[suffix] = header.base_offset + delta
            else:
                key = data[position:key_end] if length >= 0 else None
                value = data[value_position : value_position + value_length] if value_length >= 0 else None
                self._take_other(key, value, header.base_offset)
            position = end

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
        for record in iterate_records(batch):
            self.records += 1
            key = record.key
            if key is None or len(key) < 10 or int.from_bytes(key[:2], "big") not in OFFSET_KEY_VERSIONS:
                self.report(f"key {key!r} in transactional batch {header.base_offset}")
                continue
            group_end = 4 + int.from_bytes(key[2:4], "big")
            held.setdefault(key[4:group_end], {})[key[group_end:]] = (record.value, record.offset)

    def _take_marker(self, header: RecordBatchHeader, batch: memoryview) -> None:
        for record in iterate_records(batch):
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

    def finish(self, now_ms: int) -> dict[str, Group]:
        """The groups as the log has them: Stable, or Empty."""
        groups: dict[str, Group] = {}
        for name, value in self._groups.items():
            group_id = name.decode("utf-8", "replace")
            try:
                groups[group_id] = Group.from_message(group_id, decode_group(value))
            except (BadFrame, HeadraceError) as failure:
                self.report(f"group {group_id}: {failure}")
        for name, offsets in self._offsets.items():
            if offsets:
                group = _group_of(groups, name, now_ms)
                group.offsets = self._readable(group.group_id, offsets)
        for producer_id, held in self._transactions.items():
            for name, entries in held.items():
                group = _group_of(groups, name, now_ms)
                for suffix, (pending, offset) in entries.items():
                    if pending is not None:
                        Offsets.hold(group, producer_id, [(suffix, pending)], offset)
                group.overwritten.update(self._places.get(name, {}))
        self._offsets, self._groups, self._transactions, self._places = {}, {}, {}, {}
        return groups

    def _readable(self, group_id: str, offsets: dict[bytes, bytes]) -> dict[bytes, bytes]:
        """Values that decode. A v3 value, as we and Kafka write it, is known by its length fields alone."""
        bad = []
        for suffix, value in offsets.items():
            size = len(value)
            if size >= 24 and value[1] == 3 and not value[0] and size == 24 + (value[14] << 8 | value[15]):
                continue
            try:
                decode_offset(value)
            except BadFrame as failure:
                self.report(f"offset of group {group_id}: {failure}")
                bad.append(suffix)
        for suffix in bad:
            del offsets[suffix]
        return offsets


def _group_of(groups: dict[str, Group], name: bytes, now_ms: int) -> Group:
    group_id = name.decode("utf-8", "replace")
    group = groups.get(group_id)
    if group is None:
        group = groups[group_id] = Group(group_id, now_ms)
        assert group.state is GroupState.EMPTY
    return group
