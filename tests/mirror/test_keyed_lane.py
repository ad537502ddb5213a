"""One partition by key, step by step: how chunks are cut, planned again, corrected, and given up."""

import pytest

from headrace.mirror.identity import LaneName
from headrace.mirror.journal_record import Chunk, KeyedPosition, Share
from headrace.mirror.keyed_lane import KeyedLane, NotQuiet
from headrace.mirror.keyed_recovery import Contradiction, lanes_of, recover_keyed
from headrace.mirror.partitioner import target_partition
from headrace.mirror.passage import Sifted
from headrace.mirror.recovery import Stored
from headrace.protocol.record_batch import CorruptRecord, Record, iterate_records

NAME = LaneName("m", "source", "clicks", 0)
COUNT = 2
KEYS = [next(key for key in (b"%d" % n for n in range(99)) if target_partition(key, 0, 0, COUNT) == q) for q in (0, 1)]
BYTES_MAX = 100_000


def position(source=0, ordinals=(0, 0), targets=(0, 0), **fields):
    return KeyedPosition(1, 0, source, sum(ordinals), -1, ordinals=ordinals, targets=targets, **fields)


def sifted(first, parts, until=None):
    """Records from an offset on, each for a target partition; None: there is none at its offset."""
    rows = [
        (Record(first + index, 5, KEYS[part], b"v%d" % (first + index)), 0, 50)
        for index, part in enumerate(parts)
        if part is not None
    ]
    return Sifted(rows, first + len(parts) if until is None else until, 7, 0, 0)


def lane_of(chunks=(), tails=((), ()), may_correct=True, part_bytes_max=BYTES_MAX, begin=None):
    return KeyedLane(NAME, recover_keyed(begin or position(), chunks, tails, 2), part_bytes_max, may_correct)


def sent(lane, part):
    """The values of the next batch of a part."""
    outgoing = lane.parts[part].next_batch()
    return [one.value for one in iterate_records(outgoing.piece.batch)] if outgoing else None


def test_a_fetch_becomes_one_batch_for_each_target_partition():
    lane = lane_of()
    (chunk,) = lane.take(sifted(10, [0, 1, 0]))
    assert (chunk.since, chunk.source, chunk.until, chunk.partitions) == (0, 10, 13, 2)
    assert [(one.partition, one.records) for one in chunk.shares] == [(0, 2), (1, 1)]
    assert sent(lane, 0) == [b"v10", b"v12"]
    assert sent(lane, 1) == [b"v11"]
    assert sent(lane, 1) is None


def test_the_position_moves_only_once_every_part_is_acknowledged():
    lane = lane_of()
    lane.take(sifted(0, [0, 1]))
    lane.take(sifted(2, [1]))
    for part in (0, 1, 1):
        sent(lane, part)
    lane.acknowledge(lane.parts[1], 40)
    lane.acknowledge(lane.parts[1], 41)
    assert lane.acknowledged.source == 0
    lane.acknowledge(lane.parts[0], 9)
    assert (lane.acknowledged.source, lane.acknowledged.ordinals, lane.acknowledged.targets) == (3, (1, 2), (10, 42))
    assert lane.acknowledged.epoch == 7
    assert [chunk.source for chunk in lane.obsolete()] == [0, 2]
    assert lane.is_idle


def test_a_chunk_ends_before_a_batch_that_would_be_too_large():
    lane = lane_of(part_bytes_max=130)
    chunks = lane.take(sifted(0, [0, 0, 1, 0, 0]))
    assert [(chunk.source, chunk.until, len(chunk.shares)) for chunk in chunks] == [(0, 3, 2), (3, 5, 1)]
    large = lane_of(part_bytes_max=1)
    assert [chunk.until for chunk in large.take(sifted(0, [0, 0]))] == [1, 2], "a large record has a batch of its own"


def test_timestamps_that_no_batch_holds_together_are_refused():
    rows = [(Record(0, -1, KEYS[0], b"", ()), 0, 50), (Record(1, 2**63 - 1, KEYS[0], b"", ()), 0, 50)]
    with pytest.raises(CorruptRecord, match="source offset 1: timestamp_ms"):
        lane_of().take(Sifted(rows, 2, 7, 0, 0))


def test_offsets_without_records_need_no_chunk():
    lane = lane_of()
    assert lane.take(sifted(0, [None, None, None])) == []
    assert lane.acknowledged.source == 3
    (chunk,) = lane.take(sifted(3, [None, 0]))
    assert (chunk.since, chunk.source) == (0, 4)


def test_the_same_records_become_the_same_batches_after_a_start():
    before = lane_of()
    (chunk,) = before.take(sifted(0, [0, 1, 0]))
    tails = [(), (Stored(0, 1, 30, str),)]
    after = lane_of([chunk], tails, may_correct=False)
    assert after.has_pending
    assert after.take(sifted(0, [0, 1], until=2)) == [], "the chunk is not whole yet"
    assert after.take(sifted(2, [0])) == []
    assert sent(after, 0) == [b"v0", b"v2"]
    assert sent(after, 1) is None, "it has its share"
    after.acknowledge(after.parts[0], 20)
    assert (after.acknowledged.source, after.acknowledged.targets) == (3, (22, 31))


def test_other_records_wait_until_nothing_that_was_sent_can_arrive():
    (chunk,) = lane_of().take(sifted(0, [0, 1, 0]))
    with pytest.raises(NotQuiet, match="source offsets 0 to 3"):
        lane_of([chunk], may_correct=False).take(sifted(0, [None, 1, 0]))
    lane = lane_of([chunk], may_correct=True)
    (corrected,) = lane.take(sifted(0, [None, 1, 0]))
    assert (corrected.source, corrected.until, corrected.life) == (0, 3, 2)
    assert [(one.partition, one.records) for one in corrected.shares] == [(0, 1), (1, 1)]
    assert corrected.shares[1] == chunk.shares[1]
    assert sent(lane, 0) == [b"v2"]


def test_chunks_after_a_corrected_one_keep_their_numbers_and_move_by_themselves():
    first = lane_of()
    chunks = [*first.take(sifted(0, [0, 0])), *first.take(sifted(2, [0, 1]))]
    lane = lane_of(chunks)
    (corrected,) = lane.take(sifted(0, [None, 0, 0, 1]))
    assert corrected.shares == (Share(0, 1, corrected.shares[0].digest),)
    outgoing = [lane.parts[0].next_batch() for _ in range(2)]
    assert [(one.ordinal, one.piece.records) for one in outgoing] == [(0, 1), (1, 1)]
    tails = [(Stored(0, 1, 5, str),), ()]
    found = recover_keyed(position(), [corrected, chunks[1]], tails, 3)
    assert (found.position.source, found.ordinals, [one.had for one in found.pending]) == (2, (1, 0), [{}])


def test_a_chunk_of_which_nothing_is_left_is_passed_over():
    (chunk,) = lane_of().take(sifted(0, [0, 1]))
    lane = lane_of([chunk])
    lane.skip_to(10)
    (corrected,) = lane.take(sifted(10, [], until=10))
    assert corrected.shares == ()
    assert lane.is_idle
    assert lane.acknowledged.source == 10


def test_another_log_begins_only_once_the_one_before_is_quiet():
    (chunk,) = lane_of().take(sifted(0, [0, 1]))
    tails = [(), (Stored(0, 1, 30, str),)]
    with pytest.raises(NotQuiet):
        lane_of([chunk], tails, may_correct=False).begin_again(0, "new")
    lane = lane_of([chunk], tails)
    assert lane.begin_again(4, "new") == [chunk]
    found = lane.acknowledged
    assert (found.generation, found.source, found.ordinals, found.targets) == (1, 4, (0, 1), (0, 31))
    assert lane.is_idle


def test_a_target_partition_that_is_added_gets_its_share_from_the_next_chunk_on():
    lane = lane_of()
    lane.take(sifted(0, [0, 1]))
    lane.grow(3)
    (chunk,) = lane.take(sifted(2, [0, 1, 0, 1]))
    assert chunk.partitions == 3
    assert len(lane.acknowledged.targets) == 3
    assert lanes_of(position(), [chunk], 2) == 3


def test_ends_of_the_target_count_for_parts_without_anything_planned():
    lane = lane_of()
    lane.take(sifted(0, [0]))
    lane.raise_targets([50, 60])
    assert lane.acknowledged.targets == (0, 60)
    sent(lane, 0)
    lane.acknowledge(lane.parts[0], 51)
    lane.raise_targets([55, 10])
    assert lane.acknowledged.targets == (55, 60)


def test_ends_of_the_target_do_not_count_while_an_earlier_life_may_have_written():
    (chunk,) = lane_of().take(sifted(0, [0]))
    lane = lane_of([chunk], may_correct=False)
    lane.raise_targets([50, 60])
    assert lane.acknowledged.targets == (0, 0)


@pytest.mark.parametrize(
    ("tails", "text"),
    [
        (((Stored(0, 3, 0, str),), ()), "has 3 records from ordinal 0 on, the journal has 2"),
        (
            ((), (Stored(0, 1, 0, str), Stored(1, 1, 1, str))),
            "target partition 1 has 2 records, the journal knows of 1",
        ),
    ],
)
def test_what_no_mirror_leaves_is_refused(tails, text):
    (chunk,) = lane_of().take(sifted(0, [0, 1, 0]))
    with pytest.raises(Contradiction, match=text):
        recover_keyed(position(), [chunk], tails, 2)


def test_a_chunk_that_is_missing_is_refused():
    lane = lane_of()
    chunks = [*lane.take(sifted(0, [0, 0])), *lane.take(sifted(2, [0, 1]))]
    with pytest.raises(Contradiction, match="ends at source offset 0, but continues at 2"):
        recover_keyed(position(), chunks[1:], [(), ()], 2)


def test_batches_that_the_target_removed_count_by_those_after_them():
    lane = lane_of()
    chunks = [*lane.take(sifted(0, [0, 0])), *lane.take(sifted(2, [0]))]
    found = recover_keyed(position(targets=(4, 4)), chunks, [(Stored(2, 1, 9, str),), ()], 2)
    assert found.pending == ()
    assert (found.position.source, found.position.targets) == (3, (10, 4))
    assert found.place.targets == (4, 4)


def test_a_journal_of_chunks_below_the_position_is_cleared():
    old = Chunk(0, 0, 0, 5, 2, 1, (Share(0, 5, "x"),))
    found = recover_keyed(position(source=5, ordinals=(5, 0)), [old], [(), ()], 2)
    assert found.done == (old,)
    assert found.place is None
