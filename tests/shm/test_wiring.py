"""The plan of a node: ids, names, who has a ring to whom."""

import pytest

from headrace.settings import Settings
from headrace.shm.wiring import Role, Wiring


@pytest.fixture
def wiring():
    return Wiring("headrace-1-abc", "b00", Settings({}), network_count=2, partition_count=3)


def test_process_ids_follow_one_another_by_role(wiring):
    roles = [wiring.role(process_id) for process_id in range(wiring.process_count)]
    assert roles == [Role.NETWORK] * 2 + [Role.PARTITION] * 3 + [Role.CONTROLLER, Role.HOUSEKEEPER]
    assert [wiring.index(process_id) for process_id in range(wiring.process_count)] == [0, 1, 0, 1, 2, 0, 0]
    assert (wiring.controller_id, wiring.housekeeper_id) == (5, 6)


def test_titles_are_unique_and_short_enough_for_the_kernel(wiring):
    titles = {wiring.title(process_id) for process_id in range(wiring.process_count)}
    assert len(titles) == wiring.process_count
    assert all(len(title) <= 15 for title in titles)


def test_every_ring_has_its_way_back(wiring):
    pairs = wiring.pairs()
    assert len(pairs) == len(set(pairs)) == 2 * (2 * 3 + 2 + 3) + 3 * 2 + 2 * 3
    assert {(reader, writer) for writer, reader in pairs} == set(pairs)
    assert {writer for writer, reader in pairs if reader == wiring.housekeeper_id} == set(wiring.partition_ids)
    assert not [writer for writer, reader in pairs if writer == reader]


def test_a_partition_worker_has_rings_with_every_other_process(wiring):
    for process_id in wiring.partition_ids:
        assert set(wiring.targets(process_id)) == set(range(wiring.process_count)) - {process_id}


def test_the_pairs_of_a_process_are_those_that_it_is_in(wiring):
    for process_id in range(wiring.process_count):
        own = wiring.pairs_of(process_id)
        assert sorted(own) == sorted(pair for pair in wiring.pairs() if process_id in pair)


def test_a_new_generation_of_either_end_is_a_new_name(wiring):
    names = {wiring.ring_name(*ends) for ends in [(0, 1, 2, 1), (0, 2, 2, 1), (0, 1, 2, 2), (2, 1, 0, 1)]}
    assert len(names) == 4
    assert all(name.startswith("/headrace-1-abc-b00-ring.") for name in names)
