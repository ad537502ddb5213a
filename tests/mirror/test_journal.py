"""Rows for the journal become batches that the broker takes, in order."""

from itertools import chain

from headrace.limits import MIRROR_ENTRIES_MAX, MIRROR_JOURNAL_BYTES_MAX
from headrace.mirror.identity import LaneName
from headrace.mirror.journal import Journal, LaneNotes
from headrace.mirror.journal_record import (
    Chunk,
    Claim,
    KeyedPosition,
    Partitioning,
    Place,
    Position,
    Share,
    encode_chunk,
    encode_chunk_withdrawal,
    encode_claim,
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
    assert list(chain.from_iterable(journal.batches)) == small
    journal.batches.clear()
    large = [(b"k", bytes(MIRROR_JOURNAL_BYTES_MAX // 2 + number)) for number in range(3)] + [(b"k", b"v")]
    journal.append(LANE, large)
    assert [len(rows) for rows in journal.batches] == [1, 1, 2]
    assert list(chain.from_iterable(journal.batches)) == large
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


class Raced(Journal):
    """Another life writes rows after the first read, and before the claim arrives."""

    def __init__(self, before, meanwhile):
        super().__init__(None, lambda _lane: True, lambda: 0, "second")
        self.is_idempotent = False  # so that the claim is not read back
        self._coming, self._meanwhile = list(before), list(meanwhile)

    def read(self):
        coming, self._coming = self._coming, []
        for key, value in coming:
            self._take(key, value)

    def _append(self, lane, rows):
        self._coming += [*self._meanwhile, *rows]
        return 0


def test_a_claim_by_key_begins_where_the_life_before_it_ended():
    old = KeyedPosition(1, 0, 5, 0, -1, holder="first", ordinals=(1,), targets=(8,))
    later = KeyedPosition(1, 0, 9, 0, -1, holder="first", ordinals=(5,), targets=(12,))
    before = [encode_position(LANE, old), encode_chunk(LANE, CHUNK)]
    journal = Raced(before, [encode_position(LANE, later), encode_chunk_withdrawal(LANE, CHUNK)])
    position, _entries, known = journal.claim(LANE, old, True)
    assert (position.source, position.ordinals, position.life, position.holder) == (9, (5,), 2, "second")
    assert journal.notes(LANE).chunks == {}
    assert (known.life, known.is_released) == (1, False)


def test_a_claim_in_place_begins_where_the_life_before_it_ended():
    old, later = Position(1, 0, 5, 5, 5, holder="first"), Position(1, 0, 9, 9, 9, holder="first")
    journal = Raced([encode_position(LANE, old)], [encode_position(LANE, later)])
    position, _entries, _known = journal.claim(LANE, old, True)
    assert (position.source, position.life, position.holder) == (9, 2, "second")


def test_a_life_that_claimed_and_wrote_no_position_may_still_write():
    journal = Raced([encode_claim(LANE, Claim(1, "first", 0))], [])
    start = KeyedPosition(0, 0, 5, 0, -1, ordinals=(0,), targets=(8,))
    position, _entries, known = journal.claim(LANE, start, True)
    assert (position.life, position.source) == (2, 5)
    assert (known.life, known.is_released) == (1, False)


def test_a_release_holds_until_another_life_begins():
    released = KeyedPosition(3, 0, 5, 0, -1, is_released=True, ordinals=(0,), targets=(8,))
    journal = Raced([encode_position(LANE, released)], [])
    assert journal.claim(LANE, released, True)[2].is_released
    journal = Raced([encode_position(LANE, released), encode_claim(LANE, Claim(4, "third", 0))], [])
    assert not journal.claim(LANE, released, True)[2].is_released
