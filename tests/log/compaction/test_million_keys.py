"""A million keyed records, a tenth of them deletes, compacted while appends go on: what is left, and in how much memory."""

import random
from pathlib import Path

import pytest

from headrace.log.config import LogConfig
from headrace.protocol.record_batch import build_batch, iterate_batches, iterate_records
from tests.support.compaction_fixtures import compaction_of, run
from tests.support.fake_clock import NOW_MS

pytestmark = pytest.mark.slow

RECORDS = 1_000_000
KEYS = 150_000
BATCH_RECORDS = 100
VALUE = b"v" * 40
LIMITS = {"map_bytes": 8 << 20, "chunk_bytes": 2 << 20}
MEMORY_MAX_BYTES = LIMITS["map_bytes"] + 24 * LIMITS["chunk_bytes"]  # beyond what the process had
CONFIG = LogConfig(is_compacted=True, segment_bytes=16 << 20, delete_retention_ms=1000)


def append(log, chance, expected, count):
    """Batches of random keys; `expected` has the last value of each, None for a deleted one."""
    for _ in range(count // BATCH_RECORDS):
        records = []
        for _ in range(BATCH_RECORDS):
            key = b"key-%06d" % chance.randrange(KEYS)
            expected[key] = None if chance.random() < 0.1 else VALUE
            records.append((key, expected[key]))
        batch = memoryview(bytearray(build_batch(records, timestamp_ms=NOW_MS)))
        ((error, _offset, _time),) = log.append_as_leader([batch], 0, NOW_MS)
        assert not error


def peak_bytes():
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def reset_peak():
    Path("/proc/self/clear_refs").write_text("5")


def read(directory):
    """Last value of each key, and how many records there are."""
    found, count = {}, 0
    for path in sorted(directory.glob("*.log")):
        for _place, _header, batch in iterate_batches(path.read_bytes()):
            for record in iterate_records(batch):
                found[record.key] = record.value
                count += 1
    return found, count


def test_a_million_records_compacted_under_load(maker):
    seed = random.randrange(1 << 30)
    chance, expected = random.Random(seed), {}
    log = maker.open(CONFIG)
    append(log, chance, expected, RECORDS)
    first_dirty = steps = 0
    reset_peak()
    before = peak_bytes()
    end = log.end_segment
    while first_dirty < end:

        def between(_step):
            nonlocal steps
            steps += 1
            append(log, chance, expected, BATCH_RECORDS)

        done = run(log, compaction_of(log, CONFIG, first_dirty, uncleanable_offset=end, **LIMITS), between)
        assert done.end_offset > first_dirty
        assert done.stats.map_bytes <= LIMITS["map_bytes"]
        first_dirty = done.end_offset
    assert peak_bytes() - before < MEMORY_MAX_BYTES, f"{(peak_bytes() - before) >> 20} MiB"
    assert steps > 50
    found, count = read(maker.directory)
    assert found.keys() >= {key for key, value in expected.items() if value is not None}, f"seed {seed}"
    assert {key: found.get(key) for key in expected} == expected, f"seed {seed}"
    assert count < KEYS + log.log_end_offset - end  # one of each key below, everything above
    # Their time is over: deleted keys are gone from what is compacted.
    run(log, compaction_of(log, CONFIG, first_dirty, NOW_MS + 1000, uncleanable_offset=end, **LIMITS))
    left, _count = read(maker.directory)
    live = {key: value for key, value in expected.items() if value is not None}
    assert {key: value for key, value in left.items() if value is not None} == live
    for path in sorted(maker.directory.glob("*.log"))[:-2]:
        for _place, header, batch in iterate_batches(path.read_bytes()):
            if header.last_offset < end:
                assert all(record.value is not None for record in iterate_records(batch))
    log.abandon()
    assert maker.open(CONFIG).log_end_offset == log.log_end_offset
