"""Who runs: rows, generations, counters."""

import pytest

from headrace.shm import counters, layout
from headrace.shm.process_table import ProcessState, ProcessTable
from headrace.shm.region import Region


@pytest.fixture
def table(names):
    return ProcessTable(Region.create(names(), layout.process_region_bytes(5)))


def test_a_new_table_knows_nobody(table):
    for process_id in range(5):
        assert table.generation(process_id) == 0
        assert table.state(process_id) is ProcessState.NONE
        assert table.heartbeat_ns(process_id) == 0
    assert table.epoch() == 0
    assert not table.is_clean_stop()


def test_raising_a_generation_moves_the_epoch_and_clears_what_the_dead_said(table):
    table.set_state(3, ProcessState.READY)
    table.set_heartbeat(3, 10**15)
    table.words[table.parked_index(3)] = 1
    assert table.raise_generation(3) == 1
    assert table.raise_generation(3) == 2
    assert (table.generation(3), table.epoch()) == (2, 2)
    assert (table.state(3), table.heartbeat_ns(3)) == (ProcessState.NONE, 0)
    assert table.words[table.parked_index(3)] == 0
    assert table.generation(2) == table.generation(4) == 0


def test_starts_and_exits_are_kept(table):
    table.set_started(1, 4711)
    assert (table.pid(1), table.starts(1), table.exit_code(1)) == (4711, 1, None)
    table.set_exited(1, 128 + 9)
    assert table.exit_code(1) == 137
    table.set_started(1, 4712)
    assert (table.pid(1), table.starts(1), table.exit_code(1)) == (4712, 2, None)


def test_counters_are_those_of_one_process_and_outlive_it(table):
    own = table.counters(2)
    own.add(counters.REQUESTS, 3)
    own.add(counters.REQUESTS, 4)
    own.add(len(counters.NAMES) - 1, 1)
    table.raise_generation(2)
    assert table.counters(2).read()["requests"] == 7
    assert table.counters(2).read()[counters.NAMES[-1]] == 1
    assert not any(table.counters(1).read().values())
    assert not any(table.counters(3).read().values())


def test_a_counter_goes_round_instead_of_failing(table):
    own = table.counters(0)
    own.add(counters.BYTES_IN, 2**64 - 1)
    own.add(counters.BYTES_IN, 3)
    assert own.read()["bytes_in"] == 2


def test_every_counter_has_its_constant():
    for index, name in enumerate(counters.NAMES):
        assert getattr(counters, name.upper()) == index
