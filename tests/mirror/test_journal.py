"""Rows for the journal become batches that the broker takes, in order."""

from headrace.limits import MIRROR_ENTRIES_MAX, MIRROR_JOURNAL_BYTES_MAX
from headrace.mirror.identity import LaneName
from headrace.mirror.journal import Journal, LaneNotes
from headrace.mirror.journal_record import (
    Chunk,
    KeyedPosition,
    Partitioning,
    Place,
    Share,
    encode_chunk,
    encode_chunk_withdrawal,
    encode_partitioning,
    encode_place,
    encode_place_withdrawal,
    encode_position,
)

LANE = LaneName("m", "source", "clicks", 0)
CHUNK = Chunk(0, 0, 5, 9, 2, 1, (Share(0, 4, "x"),))


class Written(Journal):
    """Keeps the batches that would be appended."""

    def __init__(self):
        super().__init__(None, lambda _lane: True, lambda: 0, "")
        self.batches = []

    def _append(self, lane, rows):
        self.batches.append(list(rows))
        return 0


def test_batches_are_bounded_by_count_and_by_bytes():
    journal = Written()
    small = [(b"%d" % number, None) for number in range(MIRROR_ENTRIES_MAX + 1)]
    journal.append(LANE, small)
    assert [len(rows) for rows in journal.batches] == [MIRROR_ENTRIES_MAX, 1]
    assert sum(journal.batches, []) == small
    journal.batches.clear()
    large = [(b"k", bytes(MIRROR_JOURNAL_BYTES_MAX // 2 + number)) for number in range(3)] + [(b"k", b"v")]
    journal.append(LANE, large)
    assert [len(rows) for rows in journal.batches] == [1, 1, 2]
    assert sum(journal.batches, []) == large
    journal.batches.clear()
    journal.append(LANE, [])
    assert journal.batches == []


def test_what_a_copy_by_key_wrote_is_there_until_it_is_withdrawn():
    journal = Written()
    place = Place(0, 3, (7,))
    position = KeyedPosition(1, 0, 5, 0, -1, ordinals=(1,), targets=(8,))
    for key, value in (
        encode_position(LANE, position),
        encode_chunk(LANE, CHUNK),
        encode_place(LANE, place),
        encode_partitioning(Partitioning("m", "source", "clicks", "key")),
    ):
        journal._take(key, value)
    notes = journal.lanes[LANE]
    assert notes.position == position
    assert notes.chunks == {(0, 5): CHUNK}
    assert notes.places.of(0) == [place]
    assert journal.partitioners == {("m", "source", "clicks"): "key"}
    journal._take(*encode_chunk_withdrawal(LANE, CHUNK))
    journal._take(*encode_place_withdrawal(LANE, place))
    assert notes.chunks == {}
    assert notes.places.of(0) == []


def test_a_chunk_of_an_earlier_life_is_left_out_once_a_later_one_has_claimed():
    journal = Written()
    journal.lanes[LANE] = LaneNotes(life=2)
    journal._take(*encode_chunk(LANE, CHUNK))
    assert journal.lanes[LANE].chunks == {}
