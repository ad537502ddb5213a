"""Records of the journal: what is written is read back, and what no mirror wrote is refused by name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.mirror.identity import (
    DATA_EPOCH,
    LaneName,
    data_producer_id,
    journal_identity,
    keyed_producer_id,
    ordinal_of,
    sequence_of,
    share_of,
)
from headrace.mirror.journal_record import (
    Chunk,
    Claim,
    CorruptJournal,
    Entry,
    Gap,
    KeyedPosition,
    Origin,
    Partitioning,
    Place,
    Position,
    Share,
    decode,
    encode_chunk,
    encode_chunk_withdrawal,
    encode_claim,
    encode_entry,
    encode_gap,
    encode_origin,
    encode_partitioning,
    encode_place,
    encode_place_withdrawal,
    encode_position,
    encode_withdrawal,
)

LANE = LaneName("m", "source", "clicks", 3)
NUMBERS = st.integers(0, 2**62)


@given(st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS), st.text(max_size=8))
def test_an_entry_is_read_back(numbers, digest):
    entry = Entry(*numbers, digest)
    assert decode(*encode_entry(LANE, entry)) == (LANE, entry, False)
    lane, found, is_withdrawn = decode(*encode_withdrawal(LANE, entry))
    assert (lane, found.source, found.life, is_withdrawn) == (LANE, entry.source, entry.life, True)


@given(st.tuples(NUMBERS, NUMBERS, st.integers(-1, 2**62), NUMBERS, NUMBERS))
def test_positions_gaps_and_origins_are_read_back(numbers):
    position = Position(*numbers, "id", 4, 5, "holder", True)
    assert decode(*encode_position(LANE, position)) == (LANE, position, False)
    gap = Gap(numbers[0], numbers[1], numbers[3], "retention", 7)
    assert decode(*encode_gap(LANE, gap)) == (LANE, gap, False)
    origin = Origin("clicks", ("a", "b"))
    assert decode(*encode_origin(origin)) == (None, origin, False)


@given(st.tuples(NUMBERS, NUMBERS, NUMBERS), st.lists(st.tuples(NUMBERS, NUMBERS, st.text(max_size=4)), max_size=3))
def test_what_a_copy_by_key_writes_is_read_back(numbers, shares):
    chunk = Chunk(1, *numbers, 5, 2, tuple(Share(*one) for one in shares))
    assert decode(*encode_chunk(LANE, chunk)) == (LANE, chunk, False)
    lane, found, is_withdrawn = decode(*encode_chunk_withdrawal(LANE, chunk))
    assert (lane, found.generation, found.source, is_withdrawn) == (LANE, 1, chunk.source, True)
    claim = Claim(3, "holder", 5)
    assert decode(*encode_claim(LANE, claim)) == (LANE, claim, False)
    place = Place(1, 2, numbers)
    assert decode(*encode_place(LANE, place)) == (LANE, place, False)
    assert decode(*encode_place_withdrawal(LANE, place)) == (LANE, Place(1, 2, ()), True)
    position = KeyedPosition(1, 2, 3, 4, -1, ordinals=numbers, targets=numbers)
    assert decode(*encode_position(LANE, position)) == (LANE, position, False)
    partitioning = Partitioning("m", "source", "clicks", "key")
    assert decode(*encode_partitioning(partitioning)) == (None, partitioning, False)


def test_a_position_without_ordinals_is_of_a_copy_that_keeps_partitions():
    _lane, found, _is_withdrawn = decode(*encode_position(LANE, Position(1, 2, 3, 4, 5)))
    assert type(found) is Position


@pytest.mark.parametrize(
    ("key", "value"),
    [(None, b"{}"), (b"x", b"{}"), (b'["entry", "m"]', b"{}"), (b'["what", "m", "s", "t", 0]', b"{}"), (b"[]", None)],
)
def test_a_record_that_no_mirror_wrote_is_refused(key, value):
    with pytest.raises(CorruptJournal, match="__headrace_mirror"):
        decode(key, value)


@given(NUMBERS, st.integers(-(2**30), 2**30 - 1))
def test_an_ordinal_is_found_by_its_sequence(ordinal, distance):
    assert ordinal_of(sequence_of(ordinal + distance), ordinal) == ordinal + distance


def test_ids_are_out_of_every_clusters_reach_and_differ():
    ids = {data_producer_id(LANE._replace(partition=index)) for index in range(100)}
    ids |= {journal_identity(LANE, life)[0] for life in (0, 32_000)}
    ids |= {keyed_producer_id(LANE._replace(partition=index), target) for index in range(10) for target in range(10)}
    assert len(ids) == 202
    assert all(1 << 62 <= one < 1 << 63 for one in ids)
    assert journal_identity(LANE, 31_999)[1] + 1 == 32_000 > DATA_EPOCH
    assert journal_identity(LANE, 1)[0] == journal_identity(LANE, 2)[0]


def test_each_partition_falls_to_one_process():
    shares = [share_of(LANE._replace(partition=index), 4) for index in range(1_000)]
    assert set(shares) == {0, 1, 2, 3}
    assert min(map(shares.count, range(4))) > 150
