"""Where the row says that a mark lies: never at the end of a segment that rolled, which compaction makes shorter."""

import os

import pytest

from headrace.errors import ErrorCode
from headrace.log.compaction.compaction_plan import Swap
from headrace.log.config import LogConfig
from headrace.log.reading.reader import LogReader
from headrace.protocol.record_batch import TRANSACTIONAL_BIT
from headrace.workers.partition.replication.followers import Followers
from headrace.workers.partition.replication.live_brokers import LiveBrokers
from tests.support.compaction_fixtures import compaction_of
from tests.support.fake_clock import NOW_MS
from tests.support.log_fixtures import batch
from tests.workers.partition.test_upkeep import Pair

CONFIG = LogConfig(segment_bytes=20_000, is_compacted=True)


@pytest.fixture
def pair(tmp_path):
    """A leader whose follower holds the mark back."""
    pair = Pair(tmp_path, CONFIG)
    replica = pair.replica
    replica.isr = replica.replicas = (0, 2)
    replica.followers = Followers(0, (0, 2), (0, 2), 1, pair.log.log_end_offset, 0, LiveBrokers(0))
    return pair


def fetched(pair):
    """The follower has all that there is."""
    replica = pair.replica
    replica.followers.note_fetch(replica.followers.get(2), pair.log.log_end_offset, 0, -1)
    replica.catch_up_high_watermark()


def rolled(pair, transactional):
    """Appends up to the one that rolled, of which nothing is committed, or stable; returns where it began."""
    while pair.log.end_segment == 0:
        fetched(pair)
        begun_at = pair.log.log_end_offset
        kind = {"attributes": TRANSACTIONAL_BIT, "producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
        is_last = pair.log.end_position + 1_500 > CONFIG.segment_bytes
        more = kind if transactional and is_last else {}
        pair.replica.append([batch(1, 1_000, timestamp_ms=NOW_MS, **more)], NOW_MS)
    if transactional:
        fetched(pair)
    return begun_at


def compacted(pair):
    """The housekeeper's pass over what is below both marks."""
    row = pair.row
    compaction = compaction_of(
        pair.log, CONFIG, uncleanable_offset=min(row.high_watermark, row.last_stable_offset), chunk_bytes=1 << 20
    )
    swap = next(step for step in compaction.steps() if isinstance(step, Swap))
    assert pair.owners.swap_segments(pair.hosted(), swap.segments, pair.told.append)
    pair.serve()
    assert pair.told == [ErrorCode.NONE]


@pytest.mark.parametrize("transactional", [False, True], ids=["high watermark", "last stable offset"])
def test_a_mark_where_an_append_rolled_is_found_after_a_compaction(pair, transactional):
    begun_at = rolled(pair, transactional)
    assert pair.log.end_segment == begun_at
    size = (pair.log.directory / f"{0:020d}.log").stat().st_size
    for is_compacted in (False, True):
        if is_compacted:
            compacted(pair)
        row = pair.row
        assert row.last_stable_offset == begun_at
        place = (row.lso_segment, row.lso_position)
        assert place == (begun_at, 0)
        if not transactional:
            assert (row.high_watermark, row.hw_segment, row.hw_position) == (begun_at, *place)
        reader = LogReader(pair.log.directory)
        reader.refresh(row.segments_version)
        found = reader.locate(0, 1 << 20, *place, True, begun_at)
        assert found.position + found.length <= os.fstat(found.fd).st_size
    assert (pair.log.directory / f"{0:020d}.log").stat().st_size < size / 2


def test_a_mark_within_a_segment_that_rolled_lies_where_its_append_began(pair):
    fetched(pair)
    pair.replica.append([batch(1, 1_000, timestamp_ms=NOW_MS)], NOW_MS)
    second = (pair.log.log_end_offset, pair.log.end_position)
    pair.replica.append([batch(1, 1_000, timestamp_ms=NOW_MS)], NOW_MS)
    while pair.log.end_segment == 0:
        pair.replica.append([batch(1, 1_000, timestamp_ms=NOW_MS)], NOW_MS)
    pair.replica.move_high_watermark(second[0])
    row = pair.row
    assert (row.high_watermark, row.hw_segment, row.hw_position) == (second[0], 0, second[1])
