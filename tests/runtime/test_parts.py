"""Bodies in parts: whole again, with others in between, or not at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.limits import MAIL_BEGUN_COST
from headrace.runtime.parts import Parts, cut

PEER, OTHER = 1, 2
BODY_MAX = 1_000
PEER_MAX = 3 * (BODY_MAX + MAIL_BEGUN_COST)


@pytest.fixture
def parts():
    return Parts(BODY_MAX, PEER_MAX)


def give(parts, request_id, begun, size, process_id=PEER):
    parts.take(process_id, request_id, begun, memoryview(bytes(size)))


@given(st.binary(max_size=300), st.integers(1, 100))
def test_what_is_cut_is_put_together_again(body, bytes_max):
    parts = Parts(BODY_MAX, PEER_MAX)
    pieces = list(cut(body, bytes_max))
    assert all(len(piece) <= bytes_max for _begun, piece in pieces)
    for begun, piece in pieces[:-1]:
        parts.take(PEER, 7, begun, piece)
    assert parts.finish(PEER, 7, *pieces[-1]) == body
    assert len(parts) == parts.bytes_of(PEER) == 0


@given(st.data())
def test_parts_of_several_bodies_may_come_in_between_each_other(data):
    parts = Parts(BODY_MAX, 8 * PEER_MAX)
    bodies = {number: data.draw(st.binary(min_size=1, max_size=100)) for number in range(4)}
    queues = {number: list(cut(body, 9)) for number, body in bodies.items()}
    while queues:
        number = data.draw(st.sampled_from(sorted(queues)))
        begun, piece = queues[number].pop(0)
        if queues[number]:
            parts.take(PEER, number, begun, piece)
        else:
            assert parts.finish(PEER, number, begun, piece) == bodies[number]
            del queues[number]


@pytest.mark.parametrize("begun", [0, 9, 11, 2**32 - 1])
def test_a_part_that_does_not_follow_costs_its_body(parts, begun):
    give(parts, 7, 0, 10)
    give(parts, 7, begun, 5)
    assert parts.finish(PEER, 7, 15, memoryview(b"end")) is None
    assert parts.bytes_of(PEER) == 0


@pytest.mark.parametrize("begun", [1, 9, 11, 2**32 - 1])
def test_an_end_that_does_not_follow_finds_nothing(parts, begun):
    give(parts, 7, 0, 10)
    assert parts.finish(PEER, 7, begun, memoryview(b"end")) is None
    assert len(parts) == 0


def test_an_end_without_a_beginning_finds_nothing(parts):
    assert parts.finish(PEER, 7, 10, memoryview(b"end")) is None
    give(parts, 7, 10, 5)
    assert len(parts) == 0


def test_an_end_that_says_that_nothing_came_before_is_all_there_is(parts):
    give(parts, 7, 0, 10)
    assert parts.finish(PEER, 7, 0, memoryview(b"end")) == b"end"
    assert len(parts) == 0


def test_an_empty_first_part_withdraws_what_came(parts):
    give(parts, 7, 0, 10)
    give(parts, 7, 0, 0)
    assert len(parts) == parts.bytes_of(PEER) == 0


def test_a_body_above_its_bound_is_let_go_of(parts):
    give(parts, 7, 0, BODY_MAX)
    assert parts.finish(PEER, 7, BODY_MAX, memoryview(b"x")) is None
    give(parts, 8, 0, BODY_MAX)
    give(parts, 8, BODY_MAX, 1)
    assert len(parts) == 0


def test_the_oldest_gives_way_where_a_peer_has_begun_too_much(parts):
    for number in range(4):
        give(parts, number, 0, BODY_MAX)
        assert parts.bytes_of(PEER) <= PEER_MAX
    assert parts.finish(PEER, 0, BODY_MAX, memoryview(b"")) is None
    assert parts.finish(PEER, 1, BODY_MAX, memoryview(b"")) == bytes(BODY_MAX)


def test_many_small_beginnings_are_bounded_too(parts):
    for number in range(10_000):
        give(parts, number, 0, 1)
    assert len(parts) <= PEER_MAX // MAIL_BEGUN_COST


def test_a_peer_that_dies_takes_its_beginnings_along_and_no_others(parts):
    give(parts, 7, 0, 10)
    give(parts, 7, 0, 10, OTHER)
    parts.forget(PEER)
    assert parts.finish(PEER, 7, 10, memoryview(b"end")) is None
    assert parts.finish(OTHER, 7, 10, memoryview(b"end")) == bytes(10) + b"end"
