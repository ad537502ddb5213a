"""Records of `__transaction_state`: their bytes, how they are loaded, and what can't be read."""

import random

import pytest

from headrace.errors import ErrorCode as E
from headrace.protocol.record_batch import build_batch, parse_header
from headrace.workers.coordinators.coordinator import Loaded
from headrace.workers.coordinators.transaction.events import Identity
from headrace.workers.coordinators.transaction.loader import VALUE_COST
from headrace.workers.coordinators.transaction.records import (
    UnknownVersion,
    entry_of,
    id_of,
    key_of,
    value_of,
)
from headrace.workers.coordinators.transaction.state import TransactionState as S
from headrace.workers.coordinators.transaction.transaction import Entry
from tests.workers.coordinators.transaction.transaction_desk import ID, A, B, Desk

ENTRY = Entry(1000, 3, 60_000, S.ONGOING, frozenset({("t", 1), ("t", 0), ("s", 2)}), 77, 66)


def test_the_bytes_are_those_of_kafka():
    """Source: Kafka's `TransactionLogKey.json` and `TransactionLogValue.json`, version 0, written out by hand."""
    assert key_of("ab") == bytes.fromhex("0000 0002 6162")
    assert value_of(ENTRY) == bytes.fromhex(
        "0000 00000000000003e8 0003 0000ea60 01"
        "00000002 0001 73 00000001 00000002 0001 74 00000002 00000000 00000001"
        "000000000000004d 0000000000000042"
    )
    empty = value_of(ENTRY._replace(state=S.EMPTY, partitions=frozenset(), start_ms=-1))
    assert empty == bytes.fromhex("0000 00000000000003e8 0003 0000ea60 00 ffffffff 000000000000004d ffffffffffffffff")


@pytest.mark.parametrize("state", [state for state in S if state is not S.DEAD])
def test_what_is_written_is_read(state):
    entry = ENTRY._replace(state=state, partitions=frozenset() if state is S.EMPTY else ENTRY.partitions)
    assert entry_of(value_of(entry)) == entry
    assert id_of(key_of("ä" * 10)) == "ä" * 10


@pytest.mark.parametrize(
    ("value", "reason"),
    [(b"\0\2" + value_of(ENTRY)[2:], "version 2"), (b"\xff\xff", "version -1")],
)
def test_a_value_of_a_later_version_says_nothing(value, reason):
    with pytest.raises(UnknownVersion, match=reason):
        entry_of(value)


def loaded(*records, damage=None):
    desk = Desk(loading=True)
    batch = bytearray(build_batch(list(records), timestamp_ms=1))
    if damage is not None:
        batch[damage] ^= 1
    desk.coordinator.load(parse_header(batch), memoryview(batch))
    desk.step(Loaded())
    return desk


def test_the_last_record_of_an_id_counts_and_a_tombstone_takes_it_away():
    later = ENTRY._replace(state=S.EMPTY, epoch=4, partitions=frozenset())
    desk = loaded(
        (key_of(ID), value_of(ENTRY)), (key_of("gone"), value_of(ENTRY)), (key_of("gone"), None), (key_of(ID), value_of(later))
    )  # fmt: skip
    assert list(desk.coordinator.transactions) == [ID]
    assert desk.producer == (1000, 4)


def test_an_id_whose_value_can_not_be_read_is_refused_alone():
    desk = loaded((key_of(ID), b"\0\7later"), (key_of("other"), value_of(ENTRY._replace(state=S.EMPTY, epoch=0))))
    assert desk.error_of(desk.init()) is E.COORDINATOR_NOT_AVAILABLE
    assert desk.answer(desk.init(name="other")) == Identity(1000, 1)


def test_a_later_record_makes_an_id_known_again():
    desk = loaded((key_of(ID), b"\0\7later"), (key_of(ID), value_of(ENTRY._replace(state=S.EMPTY))))
    assert desk.answer(desk.init()) == Identity(1000, 4)


def test_keys_of_later_versions_are_left_out():
    desk = loaded((b"\0\1xyz", b"what"), (key_of(ID), value_of(ENTRY._replace(state=S.EMPTY))))
    assert desk.answer(desk.init()) == Identity(1000, 4)


def test_a_batch_that_can_not_be_read_may_hold_any_id():
    desk = loaded((key_of(ID), value_of(ENTRY)), damage=-1)
    assert desk.error_of(desk.init(name="any")) is E.COORDINATOR_NOT_AVAILABLE
    assert "transactions not coordinated" in desk.lines[-1]
    assert not desk.sent


def state_of(desk):
    return {
        name: (one.producer_id, one.epoch, one.timeout_ms, one.state, one.partitions)
        for name, one in desk.coordinator.transactions.items()
    }


@pytest.mark.parametrize("seed", range(40))
def test_what_lives_is_what_is_loaded(seed):
    """After any history, at rest: another coordinator that reads the log has the same ids, states and partitions."""
    draw = random.Random(seed)
    desk = Desk(expiration_ms=50_000)
    names = [ID, "b", "c"]
    for _ in range(120):
        name = draw.choice(names)
        known = desk.coordinator.transactions.get(name)
        producer = (known.producer_id, known.epoch) if known else (1, 0)
        desk.error = draw.choice([E.NONE, E.NONE, E.NONE, E.NOT_ENOUGH_REPLICAS])
        match draw.randrange(6):
            case 0:
                desk.init(name=name, expected=draw.choice([(-1, -1), producer]))
            case 1 | 2:
                desk.add(draw.choice([A, B, ("u", 7)]), producer=producer, name=name)
            case 3:
                from headrace.workers.coordinators.transaction.events import EndTransaction

                commit = draw.random() < 0.5
                desk.ask(
                    lambda ticket, one=name, who=producer, so=commit: EndTransaction(one, who, so, 1 << 62, ticket)
                )
            case 4:
                desk.wait(draw.choice([10, 100, 20_000]))
            case 5:
                if draw.random() < 0.2:
                    desk.error = E.NONE
                    desk.wait(2_000)
                    before = state_of(desk)
                    desk.fail_over()
                    assert state_of(desk) == before
    desk.error = E.NONE
    desk.wait(2_000)
    before = state_of(desk)
    desk.fail_over()
    assert state_of(desk) == before


def load(desk, *records):
    batch = build_batch(list(records), timestamp_ms=1)
    desk.coordinator.load(parse_header(batch), memoryview(batch))


def prepared(desk, room):
    """How many calls it took to have all values read."""
    calls = 0
    while desk.coordinator.prepare(room):
        calls += 1
    return calls


def test_values_are_read_in_slices_before_requests_are_taken():
    """All of them were read in one cycle of the worker."""
    desk = Desk(loading=True)
    load(desk, *((key_of(f"id{number}"), value_of(ENTRY)) for number in range(10)), (key_of("bad"), b"\0\7later"))
    assert prepared(desk, 2 * VALUE_COST) == 6
    assert desk.coordinator.is_loading
    desk.step(Loaded())
    assert len(desk.coordinator.transactions) == 10
    assert desk.error_of(desk.init(name="bad")) is E.COORDINATOR_NOT_AVAILABLE
    assert {transaction.floor for transaction in desk.coordinator.transactions.values()} == {desk.order}


def test_what_comes_after_values_were_read_counts():
    desk = Desk(loading=True)
    empty = value_of(ENTRY._replace(state=S.EMPTY, epoch=9, partitions=frozenset()))
    load(desk, *((key_of(name), value_of(ENTRY)) for name in "abc"), (key_of("d"), b"\0\7later"))
    assert prepared(desk, 1) == 4
    load(desk, (key_of("a"), None), (key_of("b"), empty), (key_of("d"), empty), (key_of("c"), b"\0\7later"))
    desk.step(Loaded())
    assert {name: held.epoch for name, held in desk.coordinator.transactions.items()} == {"b": 9, "d": 9}
    assert desk.error_of(desk.init(name="c")) is E.COORDINATOR_NOT_AVAILABLE
