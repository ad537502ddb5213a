"""The producers of a log, written down now and then: a restart replays only what was appended since.

    snapshot   %020d.snapshot, named for the offset it is valid at:
               version i16 = 1 | crc32c u32 of the rest | count i32 | entries
    entry      producer_id i64 | epoch i16 | last_sequence i32 | last_offset i64 | offset_delta i32 |
               timestamp i64 | coordinator_epoch i32 | current_txn_first_offset i64

Of a producer's batches a snapshot has the last one; `recovery/producer_recall.py` finds those before it. A producer whose last
batch may be unknown (`Producer.is_behind`) is there without a sequence, and with an offset delta of -1: its epoch stays known. One with
an open transaction and no sequence is taken for such a one: of a coordinator's, which has none, the epoch alone is asked. A file that
fails its checksum is removed: the one before it is taken, and more of the log replayed.

Runs in: the partition worker that owns the log; `inspection/` reads. Source: Kafka `ProducerStateManager`.
"""

from __future__ import annotations

import logging
import os
from bisect import bisect_left, bisect_right, insort
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from struct import Struct
from typing import Final

from headrace.checksum import crc32c
from headrace.errors import HeadraceError
from headrace.log.disk import Disk
from headrace.log.names import SNAPSHOT_SUFFIX, bases_among, path_of
from headrace.log.state.producer import Appended, Producer
from headrace.protocol.record_batch import SEQUENCE_MASK

SNAPSHOT_VERSION: Final = 1
SNAPSHOTS_KEPT: Final = 2  # besides those at the beginning of a segment

_log: Final = logging.getLogger(__name__)

_HEAD: Final = Struct(">hIi")
_BEHIND: Final = -1  # an offset delta
_ENTRY: Final = Struct(">qhiqiqiq")
_CRC_START: Final = 6


class BadSnapshot(HeadraceError):
    """A snapshot file that is cut short or fails its checksum."""


class ProducerSnapshots:
    """The snapshots in the directory of one log.

    loaded_offset     of the one that was taken last, 0: none
    loaded_date_ms    when its file was written: what follows it in the log was appended later; 0: not known
    durable_offset    of one that would survive a crash of the machine, -1: none is known
    producers_count   how many were known when the last one was written, or taken
    """

    __slots__ = (
        "_directory",
        "_disk",
        "_is_swept",
        "_known",
        "durable_offset",
        "loaded_date_ms",
        "loaded_offset",
        "producers_count",
    )

    def __init__(self, directory: Path, disk: Disk) -> None:
        self._directory = directory
        self._disk = disk
        self._known: list[int] | None = None  # offsets of those in the directory, once it was listed
        self._is_swept = False  # of those that earlier lives left
        self.loaded_offset = self.loaded_date_ms = 0
        self.durable_offset = -1
        self.producers_count = 0

    def write(self, producers: Mapping[int, Producer], offset: int, bases: Sequence[int], *, is_durable: bool) -> None:
        """Write the state as of a log end offset; raises OSError.

        Old ones go, without those at the beginning of a segment: recovery of a segment, and a truncation, start there.

        bases        of the log's segments, in order
        is_durable   also against a crash of the machine
        """
        self._disk.replace_file(self._path(offset), pack_snapshot(producers), is_durable=is_durable)
        self.durable_offset = offset if is_durable else -1
        self.producers_count = len(producers)
        known = self._listed()
        if offset not in known[-1:]:
            insort(known, offset)
        self._remove_needless(known, bases)

    def load(self, limit: int) -> OrderedDict[int, Producer]:
        """Take the newest good snapshot at or below an offset; bad ones are removed. `loaded_offset` says which it was."""
        self._known, self._is_swept = None, False
        self.loaded_offset, self.loaded_date_ms, self.durable_offset, self.producers_count = 0, 0, -1, 0
        known = self._listed()
        for offset in known[::-1]:
            if offset > limit:
                continue
            try:
                producers = read_snapshot(self._path(offset))
                self.loaded_offset, self.producers_count = offset, len(producers)
                self.loaded_date_ms = os.stat(self._path(offset)).st_mtime_ns // 1_000_000
                return producers
            except BadSnapshot as failure:
                _log.warning("snapshot removed reason=%s", failure)
                self._remove(offset, known)
        return OrderedDict()

    def remove_after(self, offset: int) -> None:
        """What they say of batches after the log's end is no longer true. raises OSError"""
        known = self._listed()
        gone = known[bisect_right(known, offset) :]
        for one in gone:
            self._remove(one, known)
        if gone:
            self._disk.sync_directory(self._directory)

    def _remove_needless(self, known: list[int], bases: Sequence[int]) -> None:
        """Without a listing: a log may have a thousand segments, and rolls in a millisecond."""
        old = known[:-SNAPSHOTS_KEPT] if not self._is_swept else known[-SNAPSHOTS_KEPT - 1 : -SNAPSHOTS_KEPT]
        self._is_swept = True
        gone = {one for one in old if not _is_among(one, bases)}
        if bases:
            gone.update(known[: min(bisect_left(known, bases[0]), max(0, len(known) - SNAPSHOTS_KEPT))])
        for one in sorted(gone):
            self._remove(one, known)

    def _remove(self, offset: int, known: list[int]) -> None:
        self._disk.remove_file(self._path(offset))
        known.remove(offset)

    def _listed(self) -> list[int]:
        """Offsets of the snapshots, in order; the directory is listed once in a life."""
        if self._known is None:
            self._known = snapshot_offsets(self._directory)
        return self._known

    def _path(self, offset: int) -> Path:
        return path_of(self._directory, offset, SNAPSHOT_SUFFIX)


def pack_snapshot(producers: Mapping[int, Producer]) -> bytes:
    """The bytes of a snapshot file."""
    entries = []
    for producer_id, producer in producers.items():
        has_last = producer.batches and not producer.is_behind
        last = producer.batches[-1] if has_last else Appended(-1, -1, -1, -1, producer.last_timestamp_ms)
        entries.append(
            _ENTRY.pack(
                producer_id,
                producer.epoch,
                last.last_sequence,
                last.last_offset,
                _BEHIND if producer.is_behind else last.last_offset - last.first_offset,
                producer.last_timestamp_ms,
                producer.coordinator_epoch,
                producer.txn_first_offset,
            )
        )
    body = len(entries).to_bytes(4, "big") + b"".join(entries)
    return _HEAD.pack(SNAPSHOT_VERSION, crc32c(body), len(entries)) + body[4:]


def read_snapshot(path: Path) -> OrderedDict[int, Producer]:
    """The producers in a snapshot file.

    raises   BadSnapshot, where it is cut short, of another version, or fails its checksum
    """
    data = path.read_bytes()
    if len(data) < _HEAD.size:
        raise BadSnapshot(f"{path}: {len(data)} bytes")
    version, crc, count = _HEAD.unpack_from(data)
    if version != SNAPSHOT_VERSION or len(data) != _HEAD.size + count * _ENTRY.size:
        raise BadSnapshot(f"{path}: version {version}, {count} entries in {len(data)} bytes")
    if crc32c(data[_CRC_START:]) != crc:
        raise BadSnapshot(f"{path}: checksum differs")
    producers: OrderedDict[int, Producer] = OrderedDict()
    for index in range(count):
        fields = _ENTRY.unpack_from(data, _HEAD.size + index * _ENTRY.size)
        producer_id, epoch, last_sequence, last_offset, delta, timestamp_ms, coordinator_epoch, txn_offset = fields
        producer = producers[producer_id] = Producer(epoch)
        producer.last_timestamp_ms = timestamp_ms
        producer.coordinator_epoch = coordinator_epoch
        producer.txn_first_offset = txn_offset
        producer.is_behind = last_sequence < 0 and (delta == _BEHIND or txn_offset >= 0)
        if last_sequence >= 0:
            first_sequence = (last_sequence - delta) & SEQUENCE_MASK
            producer.batches.append(
                Appended(first_sequence, last_sequence, last_offset - delta, last_offset, timestamp_ms)
            )
    return producers


def _is_among(offset: int, bases: Sequence[int]) -> bool:
    place = bisect_left(bases, offset)
    return place < len(bases) and bases[place] == offset


def snapshot_offsets(directory: Path) -> list[int]:
    """Offsets of the snapshots in a partition's directory, in order."""
    return bases_among(os.listdir(directory), SNAPSHOT_SUFFIX)
