"""Two followers of one leader, one with the record kernel's walk and one without: both make the same log of whatever is sent.

A check of `tests/protocol/kernel_cases.py`.
"""

import struct
import tempfile
from pathlib import Path

from headrace.errors import HeadraceError
from headrace.limits import INDEX_GROW_BYTES
from headrace.log.config import LogConfig
from headrace.log.index_layout import TIME_ENTRY
from headrace.log.recovery.replay import build_marker_record
from headrace.log.segments import index_file, segment
from headrace.protocol.message_set import build_message_set
from headrace.protocol.record_batch import (
    ATTRIBUTES_POSITION,
    CONTROL_BIT,
    CRC_POSITION,
    HEADER_BYTES,
    TRANSACTIONAL_BIT,
    Record,
    build_batch,
    compute_crc,
)
from tests.support.fake_clock import NOW_MS
from tests.support.log_fixtures import LogMaker, facts

TIMES = (0, -1, NOW_MS, NOW_MS + 3_600_000, 2**62, 2**63 - 1)
NUMBERS = {4: (-1, 0, 1, 60, 61, 2**31 - 1, -(2**31)), 8: (-1, 0, 7, 2**31, 2**63 - 1, 2**63 - 2**32, -(2**63))}
# A field of a header: where it is, how long
FIELDS = ((0, 8), (8, 4), (12, 4), (23, 4), (35, 8), (43, 8), (53, 4), (57, 4))


def config_of(lot):
    return LogConfig(
        segment_bytes=lot.choice((700, 2_500, 1 << 20)),
        segment_ms=lot.choice((1_000, 7 * 24 * 3_600_000, 2**63 - 1)),
        index_interval_bytes=lot.choice((0, 1, 300, 4096)),
        index_bytes_max=lot.choice((48, 120, 10 << 20)),
    )


def entry_of(lot, offset, epoch, times):
    """(one batch or old entry of a leader's log, the offset after it)."""
    kind = lot.random()
    time_ms = lot.choice(times) + lot.randrange(3)
    time_ms = min(time_ms, 2**63 - 1)
    count = lot.choice((1, 1, 2, 5))
    if kind < 0.04:
        records = [Record(offset + index, max(time_ms, -1), b"k", b"v") for index in range(count)]
        return build_message_set(records, lot.randrange(2)), offset + count
    if kind < 0.12:
        marker = build_marker_record(lot.random() < 0.5, 0)
        how = {"attributes": CONTROL_BIT | TRANSACTIONAL_BIT, "producer_id": lot.randrange(3), "producer_epoch": 0}
        return build_batch([marker], base_offset=offset, timestamp_ms=time_ms, leader_epoch=epoch, **how), offset + 1
    how = {}
    if lot.random() < 0.5:
        how = {"producer_id": lot.randrange(3), "producer_epoch": lot.randrange(2), "base_sequence": lot.randrange(9)}
        how["attributes"] = TRANSACTIONAL_BIT if lot.random() < 0.5 else 0
    rows = [(b"k", bytes(lot.choice((0, 1, 60, 400, 1_500))))] * count
    made = build_batch(rows, base_offset=offset, timestamp_ms=time_ms, leader_epoch=epoch, **how)
    return made, offset + count


def spoilt(data, lot):
    """A field of its header is another, or a byte anywhere; often its checksum is right all the same."""
    changed = bytearray(data)
    if lot.random() < 0.7 and len(changed) >= HEADER_BYTES:
        place, size = lot.choice(FIELDS)
        changed[place : place + size] = lot.choice(NUMBERS[size]).to_bytes(size, "big", signed=True)
    else:
        changed[lot.randrange(len(changed))] ^= 1 << lot.randrange(8)
    if lot.random() < 0.7 and len(changed) >= HEADER_BYTES:
        changed[CRC_POSITION:ATTRIBUTES_POSITION] = compute_crc(changed).to_bytes(4, "big")
    return bytes(changed)


def stream_of(lot):
    """What a leader sends: batches side by side, in epochs that grow, with gaps, maybe with one that is damaged."""
    offset, epoch, out = lot.choice((0, 0, 0, 2**40, 2**63 - 40)), lot.randrange(2), []
    times = lot.sample(TIMES, lot.randrange(1, 3))
    for _ in range(lot.choice((1, 4, 20, 60))):
        if offset >= 2**63 - 10:
            break
        data, offset = entry_of(lot, offset, epoch, times)
        out.append(data)
        if lot.random() < 0.05:
            epoch += lot.choice((1, 1, -1))
        if lot.random() < 0.05:
            offset += lot.choice((1, 1_000, 2**31 - 3, 2**33))
    if lot.random() < 0.4:
        place = lot.randrange(len(out))
        out[place] = spoilt(out[place], lot)
    if lot.random() < 0.2:
        out.insert(lot.randrange(len(out)), lot.choice(out))
    return b"".join(out)


def appended(log, data, sizes):
    """What the slices of a stream gave: bytes taken, or what was wrong."""
    found, place = [], 0
    for size in sizes:
        try:
            taken = log.append_as_follower(memoryview(data)[place : place + size], NOW_MS)
        except (HeadraceError, OverflowError, struct.error) as failure:
            return [*found, type(failure), str(failure)]
        found.append(taken)
        place += taken
    return found


def state_of(log):
    """All that the log is: bytes, indexes, what its active segment and its producers hold."""
    active = log.segments.active
    names = (
        "offset_index",
        "time_index",
        "transaction_index",
        "directory",
        "fd",
        "_disk",
        "_reserved",
        "_due_indexed_ms",
        "_clock",
    )
    held = {name: getattr(active, name) for name in type(active).__slots__ if name not in names}
    indexes = {
        path.name: path.read_bytes().rstrip(b"\0")
        for path in sorted(log.directory.iterdir())
        if path.suffix in (".index", ".timeindex", ".txnindex")
    }
    entries = (active.offset_index.entries, active.time_index.entries, active.time_index.last_timestamp)
    return facts(log), log.segment_bases, held, entries, indexes


def check_follower(kernel, lot):
    """One stream, in slices, into two logs."""
    data, config = stream_of(lot), config_of(lot)
    compare(kernel, data, config, [lot.choice((50, 900, 5_000, 1 << 20)) for _ in range(lot.choice((1, 3, 12)))])


def check_many_entries(kernel):
    """More of them in one slice than an index grows by at once."""
    count = (
        5 * INDEX_GROW_BYTES // TIME_ENTRY.size
    )  # an entry for each third batch; what ends a walk is not due for one
    batches = (
        build_batch([(None, b"")], base_offset=at, timestamp_ms=NOW_MS + at, leader_epoch=0) for at in range(count)
    )
    data = b"".join(batches)
    compare(kernel, data, LogConfig(index_interval_bytes=2 * len(data) // count), [len(data)])


def compare(kernel, data, config, sizes):
    """The same slices of a stream, with the kernel and without it."""
    before, found = (segment._take_run, index_file._store_entries), []
    with tempfile.TemporaryDirectory(prefix="headrace-follower-") as place:
        try:
            for name, used in (("kernel", kernel), ("python", None)):
                segment._take_run = getattr(used, "take_run", None)
                index_file._store_entries = getattr(used, "store_entries", None)
                (Path(place) / name).mkdir()
                maker = LogMaker(Path(place) / name)
                log = maker.open(config)
                outcome = appended(log, data, sizes)
                found.append((outcome, state_of(log)))
                log.close()
        finally:
            segment._take_run, index_file._store_entries = before
    assert found[0] == found[1], found
