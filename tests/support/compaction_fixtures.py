"""Logs to compact, the compaction of a whole log at once, and a slow, plain account of what has to be left of it."""

from headrace.log.compaction.compaction import Compaction
from headrace.log.compaction.compaction_plan import CompactionLimits, Swap
from headrace.protocol.record_batch import (
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    TRANSACTIONAL_BIT,
    build_batch,
    iterate_batches,
    iterate_records,
)
from tests.support.fake_clock import NOW_MS

DELETE_RETENTION_MS = 1000


def keyed(offset, *records, timestamp_ms=NOW_MS, **header):
    """A batch of (key, value) at an offset."""
    return build_batch(list(records), base_offset=offset, timestamp_ms=timestamp_ms, **header)


def in_transaction(offset, producer_id, sequence, *records, **header):
    return keyed(
        offset, *records, producer_id=producer_id, producer_epoch=0, base_sequence=sequence,
        attributes=TRANSACTIONAL_BIT, **header,
    )  # fmt: skip


def marker(offset, producer_id, is_commit, epoch=0, timestamp_ms=NOW_MS):
    """A control batch that ends a transaction."""
    key = (0).to_bytes(2, "big") + int(is_commit).to_bytes(2, "big")
    return build_batch(
        [(key, (0).to_bytes(6, "big"))], base_offset=offset, timestamp_ms=timestamp_ms, producer_id=producer_id,
        producer_epoch=epoch, attributes=TRANSACTIONAL_BIT | CONTROL_BIT,
    )  # fmt: skip


def write_segments(directory, *segments):
    """Segments as files, each a list of batches; an empty one is named for the offset that follows."""
    directory.mkdir(parents=True, exist_ok=True)
    next_offset = 0
    for batches in segments:
        base = int.from_bytes(batches[0][:8], "big") if batches else next_offset
        (directory / f"{base:020d}.log").write_bytes(b"".join(batches))
        for _position, header, _data in iterate_batches(b"".join(batches)):
            next_offset = header.last_offset + 1


def compaction_of(log, config, first_dirty_offset=0, now_ms=NOW_MS, uncleanable_offset=None, **limits):
    end = log.end_segment if uncleanable_offset is None else uncleanable_offset
    return Compaction(
        log.directory, config, first_dirty_offset, end, (log.end_segment, log.end_position), now_ms,
        CompactionLimits(**{"map_bytes": 1 << 20, "chunk_bytes": 4096, **limits}),
    )  # fmt: skip


def run(log, compaction, on_step=None):
    """All steps, swaps made by the log; returns the compaction."""
    steps = compaction.steps()
    answer = None
    version = log.segments_version
    while True:
        try:
            step = steps.send(answer)
        except StopIteration:
            return compaction
        answer = log.swap_segments(step.segments, version) if isinstance(step, Swap) else None
        if on_step is not None:
            on_step(step)


def batches_of(directory):
    """(header, records) of every batch in the directory's segments."""
    found = []
    for path in sorted(directory.glob("*.log")):
        for _position, header, data in iterate_batches(path.read_bytes()):
            found.append((header, list(iterate_records(data))))
    return found


def records_of(directory, with_control=False):
    return [
        record
        for header, records in batches_of(directory)
        if with_control or not header.is_control
        for record in records
    ]


def expected_records(batches, first_dirty_offset, end_offset, now_ms):
    """What has to be left of the data records, batch by batch and with a dict: the slow account."""
    aborted, is_open = set(), {}
    for number, (header, records) in enumerate(batches):
        if not header.is_transactional:
            continue
        if header.is_control:
            numbers = is_open.pop(header.producer_id, [])
            if records and records[0].key[3] == 0:
                aborted.update(numbers)
        else:
            is_open.setdefault(header.producer_id, []).append(number)
    latest = {}
    for number, (header, records) in enumerate(batches):
        if header.is_control or number in aborted:
            continue
        for record in records:
            if record.key is not None and first_dirty_offset <= record.offset < end_offset:
                latest[record.key] = record.offset
    left = []
    for number, (header, records) in enumerate(batches):
        if header.is_control:
            continue
        for record in records:
            if header.base_offset >= end_offset:
                left.append(record)
                continue
            if number in aborted or record.key is None:
                continue
            is_due = header.attributes & DELETE_HORIZON_BIT and header.base_timestamp <= now_ms
            if record.offset >= latest.get(record.key, -1) and not (record.value is None and is_due):
                left.append(record)
    return left
