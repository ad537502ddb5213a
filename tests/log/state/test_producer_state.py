"""Producers: sequences, epochs, transactions, expiry, snapshots; through the state itself and through a log that restarts."""

import random
from collections import deque

import pytest

from headrace.errors import ErrorCode
from headrace.log.config import LogConfig
from headrace.log.disk import Disk
from headrace.log.state import producer_snapshot
from headrace.log.state.producer_snapshot import read_snapshot, snapshot_offsets
from headrace.log.state.producer_state import ProducerBudget, ProducerState
from headrace.protocol.record_batch import TRANSACTIONAL_BIT
from tests.support.fake_clock import NOW_MS
from tests.support.log_fixtures import batch

DAY_MS = 86_400_000

LAST = 2**31 - 1


def one(producer_id, sequence, count=1, epoch=0, *, is_transactional=False):
    return batch(
        count,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        attributes=TRANSACTIONAL_BIT if is_transactional else 0,
    )


def append(log, *batches):
    return [result[:2] for result in log.append_as_leader(list(batches), 0, log._clock.now_ms())]


def test_several_producers_with_duplicates_in_one_append(maker):
    log = maker.open()
    assert append(log, one(1, 0), one(2, 0, 3), one(1, 0), one(1, 1), one(2, 0, 3), one(2, 3), one(1, 1)) == [
        (0, 0), (0, 1), (0, 0), (0, 4), (0, 1), (0, 5), (0, 4),
    ]  # fmt: skip
    assert log.log_end_offset == 6


def test_a_sequence_may_wrap_within_a_batch_and_between_two(maker):
    log = maker.open()
    for producer_id in (1, 2):
        log.producers.update(producer_id, 0, LAST - 2, 0, 0, NOW_MS)
    assert append(log, one(1, LAST - 1, 2), one(1, 0)) == [(0, 0), (0, 2)]
    assert append(log, one(2, LAST - 1, 4), one(2, 2)) == [(0, 3), (0, 7)]
    assert append(log, one(2, LAST - 1, 4), one(2, 4)) == [(0, 3), (int(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER), -1)]
    log.abandon()
    again = maker.open()
    assert append(again, one(2, LAST - 1, 4), one(2, 3)) == [(0, 3), (0, 8)]


def test_a_fenced_epoch_stays_fenced_after_a_restart(maker):
    log = maker.open()
    assert append(log, one(1, 0, epoch=3), one(1, 1, epoch=2)) == [(0, 0), (int(ErrorCode.INVALID_PRODUCER_EPOCH), -1)]
    log.close()
    again = maker.open(clean=True)
    assert append(again, one(1, 1, epoch=2), one(1, 1, epoch=3)) == [
        (int(ErrorCode.INVALID_PRODUCER_EPOCH), -1),
        (0, 1),
    ]


def test_idle_producers_expire_and_those_in_a_transaction_do_not(maker):
    log = maker.open(producer_expiration_ms=1000)
    append(log, one(1, 0), one(2, 0, is_transactional=True))
    maker.clock.ms += 900
    append(log, one(3, 0))
    maker.clock.ms += 200
    assert log.producers.expire(maker.clock.ms) == 1
    assert sorted(log.producers.producers) == [2, 3]


@pytest.mark.parametrize("step_ms", [-3_600_000, 3_600_000])
def test_no_producer_expires_because_the_date_was_set_and_none_outlives_its_time(maker, step_ms):
    log = maker.open(producer_expiration_ms=1000)
    append(log, one(1, 0), one(2, 0))
    log.producers.write_snapshot(2, [], is_durable=False)
    maker.clock.step_ms = step_ms
    maker.clock.ms += 900
    append(log, one(3, 0))
    assert log.truncate_to(2)  # what is loaded of a snapshot in the same process is as old as it knows
    assert sorted(log.producers.producers) == [1, 2]
    assert log.producers.expire(maker.clock.ms) == 0
    maker.clock.ms += 200
    assert log.producers.expire(maker.clock.ms) == 2


@pytest.mark.parametrize("step_ms", [2 * DAY_MS, -2 * DAY_MS])
def test_no_producer_is_forgotten_by_an_opening_because_the_date_was_set(maker, step_ms):
    """Its last batch was not answered, since the worker was killed, or the answer was lost: it comes again."""
    config = LogConfig(segment_bytes=1000)
    log = maker.open(config)
    append(log, one(7, 0), one(7, 1))
    while log.end_segment == 0:  # the roll takes a snapshot
        log.append_as_leader([batch()], 0, NOW_MS)
    place, end = (log.end_segment, log.end_position), log.log_end_offset
    log.abandon()
    maker.clock.step_ms = step_ms
    again = maker.open(config, trusted=place)
    assert append(again, one(7, 1)) == [(0, 1)], "a duplicate"
    assert again.log_end_offset == end


def test_of_producers_that_an_opening_found_the_longest_idle_go_first(tmp_path):
    state = ProducerState(tmp_path, Disk())
    for number in range(40):
        state.update(number, 0, 0, 0, number, NOW_MS - 1000 * (number % 20))
    state.write_snapshot(40, [0], is_durable=False)
    again = ProducerState(tmp_path, Disk(), budget=ProducerBudget(32))
    again.now_ms = 5000
    again.load(40)
    left = {number % 20 for number in again.producers}
    assert left == set(range(max(left) + 1)), "those of the latest dates stay"


def test_a_marker_is_a_sign_of_life_of_its_producer(maker):
    """KAFKA-9144: its last batch may be old when its transaction ends."""
    log = maker.open(producer_expiration_ms=1000)
    append(log, one(1, 0, is_transactional=True))
    maker.clock.ms += 900
    assert log.append_marker(1, 0, 0, False, 0, maker.clock.ms) == (0, 1)
    maker.clock.ms += 900
    assert log.producers.expire(maker.clock.ms) == 0
    maker.clock.ms += 200
    assert log.producers.expire(maker.clock.ms) == 1


def test_a_producer_outlives_its_records(maker):
    """KAFKA-7190, KIP-360: its next batch is no gap, and the one before it is a duplicate still."""
    log = maker.open(LogConfig(segment_bytes=200))
    for sequence in range(10):
        append(log, one(1, sequence))
    log.roll_if_older(2**62)
    log.advance_log_start(10)
    log.delete_segments(len(log.segment_bases) - 1)
    assert append(log, one(1, 9)) == [(0, 9)]
    log.close()
    log = maker.open(LogConfig(segment_bytes=200), is_clean=True, log_start_offset=10)
    assert append(log, one(1, 9), one(1, 10)) == [(0, 9), (0, 10)]


def test_a_producer_that_expired_goes_on_with_its_next_sequence(maker):
    """As with Kafka since 2.5: aiokafka and others never send again where they are refused."""
    log = maker.open(producer_expiration_ms=1000)
    append(log, one(1, 0))
    maker.clock.ms += 2000
    log.producers.expire(maker.clock.ms)
    assert append(log, one(1, 17), one(1, 18), one(1, 17), one(1, 20)) == [
        (0, 1),
        (0, 2),
        (0, 1),
        (int(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER), -1),
    ]


def test_a_producer_that_was_evicted_goes_on(maker):
    """`headrace.producer.ids.max` takes the idlest, which may live."""
    log = maker.open(producer_budget=ProducerBudget(10))
    append(log, one(1, 0), *(one(number, 0) for number in range(2, 40)))
    assert 1 not in log.producers.producers
    assert append(log, one(1, 1), one(1, 2)) == [(0, 39), (0, 40)]


def test_the_number_of_producers_is_bounded_and_open_transactions_are_kept(maker):
    log = maker.open(producer_budget=ProducerBudget(10))
    append(log, one(0, 0, is_transactional=True), *(one(number, 0) for number in range(1, 50)))
    assert len(log.producers.producers) == 10
    assert 0 in log.producers.producers
    assert log.producers.last_stable_offset(50) == 0


def test_beyond_the_bound_the_idlest_go_over_all_logs(tmp_path):
    budget = ProducerBudget(100)
    states = [ProducerState(tmp_path, Disk(), budget=budget) for _ in range(4)]
    for number in range(80):
        states[0].now_ms = number
        states[0].update(number, 0, 0, 0, number, NOW_MS, int(number == 3))
    for number in range(200):
        state = states[number % 3 + 1]
        state.now_ms = 1000 + number
        state.update(1000 + number, 0, 0, 0, number, NOW_MS)
        assert 1000 + number in state.producers
        assert sum(len(each.producers) for each in states) <= 100
    assert list(states[0].producers) == [3]  # its transaction is open
    left = {name for each in states[1:] for name in each.producers}
    assert left == set(range(1200 - len(left), 1200))
    del states[1:], state
    states[0].now_ms = 5000
    for number in range(90):
        states[0].update(5000 + number, 0, 0, 0, number, NOW_MS + 5000)
    assert len(states[0].producers) == 91  # a log that was closed takes no room


def test_snapshots_that_are_read_are_bounded_too(tmp_path):
    directories = [tmp_path / name for name in "abc"]
    for directory in directories:
        directory.mkdir()
        state = ProducerState(directory, Disk())
        for number in range(50):
            state.update(number, 0, 0, 0, number, NOW_MS + number)
        state.write_snapshot(50, [0], is_durable=False)
    budget = ProducerBudget(100)
    states = [ProducerState(directory, Disk(), budget=budget) for directory in directories]
    for state in states:
        assert state.load(50) == 50
    assert sum(len(state.producers) for state in states) <= 100


def test_a_roll_lists_no_directory(maker, monkeypatch):
    """In a log of a thousand segments that was most of its time."""
    config = LogConfig(segment_bytes=400)
    log = maker.open(config)
    append(log, one(1, 0))
    monkeypatch.setattr(producer_snapshot, "snapshot_offsets", lambda directory: 1 / 0)
    for sequence in range(1, 30):
        append(log, one(1, sequence))
    bases = log.segment_bases
    assert len(bases) > 8
    monkeypatch.undo()
    assert set(bases[1:]) <= set(snapshot_offsets(maker.directory))
    log.advance_log_start(bases[4])
    log.delete_segments(4)
    log.roll_if_older(2**62)
    assert snapshot_offsets(maker.directory)[0] == bases[0]  # those of deleted segments are gone


def test_a_write_outside_of_the_open_transaction_is_refused(maker):
    log = maker.open()
    assert append(log, one(1, 0, is_transactional=True), one(1, 1)) == [(0, 0), (int(ErrorCode.INVALID_TXN_STATE), -1)]


def test_snapshots_say_what_the_state_was(tmp_path):
    chance = random.Random(11)
    state = ProducerState(tmp_path, Disk())
    for number in range(300):
        producer_id = chance.randrange(20)
        state.update(producer_id, number // 100, number % 7, 2, number * 3, NOW_MS + number, chance.randrange(2))
    state.end_transaction(4, 5, 9, 901, True, NOW_MS + 301)
    state.write_snapshot(903, [], is_durable=True)
    again = ProducerState(tmp_path, Disk())
    assert again.load(1000) == 903
    assert list(again.producers) == list(state.producers)
    for producer_id, producer in state.producers.items():
        read = again.producers[producer_id]
        assert list(read.batches) == [*producer.batches][-1:]
        assert (read.epoch, read.coordinator_epoch, read.txn_first_offset, read.last_timestamp_ms) == (
            producer.epoch, producer.coordinator_epoch, producer.txn_first_offset, producer.last_timestamp_ms,
        )  # fmt: skip
    assert again.last_stable_offset(903) == min(
        producer.txn_first_offset for producer in state.producers.values() if producer.txn_first_offset >= 0
    )


@pytest.mark.slow
def test_every_cut_and_every_flipped_bit_of_a_snapshot_is_seen(maker):
    log = maker.open()
    append(log, one(1, 0), one(2, 0, is_transactional=True))
    log.close()
    (path,) = maker.directory.glob("*.snapshot")
    data = path.read_bytes()
    good = {producer_id: list(producer.batches) for producer_id, producer in read_snapshot(path).items()}
    damaged = [data[:size] for size in range(len(data))]
    damaged += [
        data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :] for at in range(len(data)) for bit in range(8)
    ]
    for content in damaged:
        path.write_bytes(content)
        log = maker.open(clean=True)
        assert {name: list(producer.batches) for name, producer in log.producers.producers.items()} == good or (
            # the times are those of the replay
            {name: [item[:4] for item in producer.batches] for name, producer in log.producers.producers.items()}
            == {name: [item[:4] for item in items] for name, items in good.items()}
        )
        assert log.producers.last_stable_offset(2) == 1
        log.abandon()


def test_snapshots_stay_at_the_beginning_of_segments_and_two_more(maker):
    config = LogConfig(segment_bytes=2000)
    log = maker.open(config, snapshot_interval_bytes=500)
    for sequence in range(60):
        append(log, one(1, sequence))
    bases = sorted(int(path.stem) for path in maker.directory.glob("*.log"))
    assert len(bases) > 3
    offsets = snapshot_offsets(maker.directory)
    assert set(bases[1:]) <= set(offsets)
    assert len(set(offsets) - set(bases)) <= 2


def test_snapshots_are_rebuilt_after_an_unclean_stop(maker):
    config = LogConfig(segment_bytes=2000)
    log = maker.open(config)
    for sequence in range(60):
        append(log, one(1, sequence))
    log.abandon()
    for path in maker.directory.glob("*.snapshot"):
        path.write_bytes(path.read_bytes()[:-1])
    again = maker.open(config)
    assert append(again, one(1, 59), one(1, 60)) == [(0, 59), (0, 60)]
    again.close()
    assert read_snapshot(maker.directory / f"{61:020d}.snapshot")[1].batches[-1].last_sequence == 60


@pytest.mark.parametrize("seed", range(5))
def test_a_state_that_was_replayed_is_the_one_that_was(maker, seed):
    """From any snapshot, or none; the last batch of each producer, its epoch, its open transaction, aborted ones."""
    chance = random.Random(seed)
    config = LogConfig(segment_bytes=1500)
    log = maker.open(config, snapshot_interval_bytes=700)
    sequences = {}
    for _ in range(80):
        producer_id = chance.randrange(6)
        if producer_id < 3 and chance.random() < 0.3:
            log.append_marker(producer_id, 0, 0, chance.random() < 0.5, 0, NOW_MS)
            continue
        sequence = sequences.get(producer_id, 0)
        count = chance.randrange(1, 4)
        sequences[producer_id] = sequence + count
        ((error, _offset),) = append(log, one(producer_id, sequence, count, is_transactional=producer_id < 3))
        assert error == 0
    wanted = facts(log)
    log.abandon()
    saved = {path.name: path.read_bytes() for path in maker.directory.iterdir()}
    for offset in [-1, *snapshot_offsets(maker.directory)]:
        for path in maker.directory.iterdir():
            path.unlink()
        for name, data in saved.items():
            if not name.endswith(".snapshot") or int(name[:20]) <= offset:
                (maker.directory / name).write_bytes(data)
        for how in ({}, {"trusted": (log.end_segment, log.end_position)}, {"recovery_point": log.end_segment}):
            again = maker.open(config, **how)
            assert facts(again) == wanted, f"seed {seed} from {offset} {how}"
            again.abandon()


def facts(log):
    producers = {
        name: (producer.epoch, producer.txn_first_offset, producer.batches[-1][:4] if producer.batches else None)
        for name, producer in log.producers.producers.items()
    }
    indexes = {path.name: path.read_bytes() for path in log.directory.glob("*.txnindex")}
    return producers, indexes, log.producers.last_stable_offset(log.log_end_offset)


# Epochs


def test_a_batch_of_a_later_epoch_does_not_end_the_transaction_that_is_open(maker):
    """It is refused, as one of the same epoch is: Kafka's `ProducerAppendInfo.appendDataBatch` asks nothing of the epoch."""
    log = maker.open()
    assert append(log, one(1, 0, is_transactional=True)) == [(0, 0)]
    refused = (int(ErrorCode.INVALID_TXN_STATE), -1)
    assert append(log, one(1, 1), one(1, 0, epoch=1)) == [refused, refused]
    assert append(log, one(1, 0, epoch=1, is_transactional=True)) == [(0, 1)]


@pytest.mark.parametrize("restarts", [1, 2, 3])
def test_the_epoch_of_a_coordinators_producer_is_known_after_restarts(maker, restarts):
    """Its batches have no sequence. One restart comes with the transaction open, the others after its marker."""
    log = maker.open()
    kind = {"producer_id": 7, "attributes": TRANSACTIONAL_BIT}
    log.append_as_leader([batch(producer_epoch=3, **kind)], 0, NOW_MS, is_of_coordinator=True)
    for number in range(restarts):
        log.close()
        log = maker.open(clean=True, recovery_point=log.log_end_offset)
        if not number:
            assert log.append_marker(7, 3, 0, False, 0, NOW_MS) == (0, 1)
    old = [batch(producer_epoch=2, **kind)]
    ((error, _offset, _time),) = log.append_as_leader(old, 0, NOW_MS, is_of_coordinator=True)
    assert error == ErrorCode.INVALID_PRODUCER_EPOCH


# The last stable offset


class NotWalked(deque):
    """Markers that wait: whoever looks takes them from an end."""

    def __iter__(self):
        raise AssertionError("each append walks all that wait")


def test_the_last_stable_offset_is_that_of_every_transaction_whatever_the_order_of_begins_and_marks(tmp_path):
    seed = random.randrange(1 << 30)
    chance = random.Random(seed)
    state = ProducerState(tmp_path, Disk())
    state._unreplicated = NotWalked()
    begun, ended, mark = {}, [], 0
    for offset in range(3000):
        producer_id = chance.randrange(9)
        if producer_id not in begun:
            begun[producer_id] = offset
            state.update(producer_id, 0, -1, 0, offset, NOW_MS, 1)
        elif chance.random() < 0.5:
            ended.append((begun.pop(producer_id), offset))
            state.end_transaction(producer_id, 0, 0, offset, chance.random() < 0.5, NOW_MS)
        if chance.random() < 0.3:
            mark = chance.choice([mark, chance.randint(mark, offset + 1), offset + 1])
        undecided = [*begun.values(), *(first for first, marker in ended if marker >= mark)]
        assert state.last_stable_offset(mark) == min([mark, *undecided]), seed
    assert len(ended) > 500
