"""Offsets of a source as offsets of its target: exact where there is a record, the next one where there is none."""

from hypothesis import given
from hypothesis import strategies as st

from headrace.mirror.journal_record import Entry, Position
from headrace.mirror.translation import Translation, applied

STEPS = st.lists(st.tuples(st.sampled_from(["record", "marker", "foreign"]), st.integers(1, 4)), max_size=40)


def built(steps):
    """(translation, source offset -> target offset of its record, end of the source, end of the target)."""
    found = Translation()
    source = target = ordinal = 5
    places, shift = {}, None
    first = (source, ordinal)
    for kind, count in steps:
        if kind == "marker":
            source += count
        elif kind == "foreign":
            target += count
        else:
            for _ in range(count):
                if shift != (source - ordinal, target - ordinal):
                    found.add(Entry(0, source, ordinal, target, 1))
                    shift = (source - ordinal, target - ordinal)
                places[source] = target
                source, target, ordinal = source + 1, target + 1, ordinal + 1
    found.place(Position(1, 0, source, ordinal, target))
    return found, places, first[0], source, target


@given(STEPS)
def test_each_offset_is_that_of_the_next_record(steps):
    translation, places, start, source_end, target_end = built(steps)
    for offset in range(start - 2, source_end + 3):
        following = [places[one] for one in sorted(places) if one >= offset]
        expected = following[0] if following else None
        found = translation.translate(offset)
        if expected is not None:
            assert found == expected
        elif offset >= source_end:
            assert found == target_end


@given(STEPS)
def test_it_never_goes_backwards(steps):
    translation, _places, start, source_end, _end = built(steps)
    found = [translation.translate(offset) for offset in range(start - 2, source_end + 3)]
    assert found == sorted(found)


def test_nothing_is_translated_before_something_was_copied():
    translation = Translation()
    assert translation.translate(5) is None
    translation.place(Position(1, 0, -1, 0, 0))
    assert translation.translate(5) is None


def test_what_is_not_copied_yet_is_not_translated_further_than_the_position():
    translation = Translation()
    translation.add(Entry(0, 0, 0, 0, 1))
    translation.add(Entry(0, 10, 8, 8, 1))  # written ahead
    translation.place(Position(1, 0, 5, 5, 5))
    assert [translation.translate(offset) for offset in (4, 5, 12)] == [4, 5, 5]


def test_a_claim_with_an_older_position_does_not_take_back_a_later_one():
    translation = Translation()
    translation.place(Position(1, 0, 5, 5, 5, "id", 3, 10, "first"))
    translation.place(Position(1, 0, 9, 8, 8, "id", 4, 20, "first", True))
    translation.place(Position(2, 0, 5, 5, 5, "id", 3, 30, "second"))
    assert translation.position == Position(2, 0, 9, 8, 8, "id", 4, 30, "second", False)
    translation.place(Position(2, 1, 0, 8, 8))
    assert translation.position.source == 0, "the offsets of another log begin again"


def test_entries_of_a_topic_that_is_gone_do_not_count():
    translation = Translation()
    translation.add(Entry(0, 0, 0, 0, 1))
    translation.add(Entry(1, 0, 100, 100, 2))
    translation.place(Position(2, 1, 10, 110, 110))
    assert translation.translate(3) == 103


def test_an_entry_that_is_withdrawn_does_not_count():
    translation = Translation()
    wrong = Entry(0, 3, 2, 9, 1)
    translation.add(Entry(0, 0, 0, 0, 1))
    translation.add(wrong)
    translation.withdraw(wrong)
    translation.place(Position(2, 0, 10, 10, 10))
    assert translation.translate(4) == 4
    assert [one.source for one in applied(translation.entries())] == [0]
