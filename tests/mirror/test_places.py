"""Where groups continue, of a copy by key: never after something that they have not read, and not far before it."""

from hypothesis import given
from hypothesis import strategies as st

from headrace.mirror.journal_record import KeyedPosition, Place
from headrace.mirror.places import Places

STEPS = st.lists(st.integers(1, 5_000), min_size=1, max_size=300)


def position(source, targets, ordinals=None, generation=0):
    return KeyedPosition(
        1, generation, source, 0, -1, ordinals=tuple(ordinals or (1,) * len(targets)), targets=tuple(targets)
    )


def thinned(steps):
    """(places, last position) after checkpoints that are so many offsets apart; the target grows by half of it."""
    places, source = Places(), 0
    for step in steps:
        places.add(Place(0, source, (source // 2,)))
        source += step
        for place in places.surplus(position(source, [source // 2])):
            places.withdraw(place)
    return places, position(source, [source // 2])


@given(STEPS)
def test_a_group_reads_at_most_its_lag_again_and_one_checkpoint(steps):
    places, last = thinned(steps)
    for offset in {one.source + shift for one in places.of(0) for shift in (-1, 0, 1)} | {last.source - 1}:
        if 0 <= offset < last.source:
            (found,) = places.translate(last, offset)
            assert found <= offset // 2
            assert offset - 2 * found <= (last.source - offset) + max(steps) + 1


@given(STEPS)
def test_the_number_of_places_is_bounded_by_the_logarithm(steps):
    places, last = thinned(steps)
    assert len(places.of(0)) <= 2 * last.source.bit_length() + 3
    assert places.of(0)[0].source == 0  # of a group that has read nothing


def test_a_group_that_has_read_all_continues_at_the_position():
    places, last = thinned([10, 10])
    assert places.translate(last, 20) == places.translate(last, 25) == (10,)


def test_a_group_without_an_offset_begins_with_the_first_record():
    places = Places()
    places.add(Place(0, 5, (7, 8, 9)))
    assert places.translate(position(50, [70, 80, 90], [3, 0, 4]), None) == (7, 80, 9)
    assert places.translate(position(50, [70, 80, 90], [3, 0, 4]), 2) == (7, 80, 9)


def test_a_target_partition_that_is_newer_than_a_place_counts_from_its_beginning():
    places = Places()
    places.add(Place(0, 5, (7,)))
    assert places.translate(position(50, [70, 80]), 6) == (7, 0)


def test_places_of_a_log_that_is_gone_do_not_count():
    places = Places()
    places.add(Place(0, 0, (1,)))
    places.add(Place(1, 0, (9,)))
    later = position(50, [70], generation=1)
    assert places.translate(later, 3) == (9,)
    assert places.surplus(later) == [Place(0, 0, (1,))]
