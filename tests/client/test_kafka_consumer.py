"""A blocking consumer over one broker: what it commits is what was done, whatever raises, is skipped, moved or paused."""

import time

import pytest

from headrace.client import DecodingFailed, Kafka
from headrace.ids import TopicPartition
from headrace.protocol.record_batch import CorruptRecord, Record
from tests.support.waiting import DEADLINE_S

NAME, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def filled(log, broker):
    """Ten records in each of two partitions, a batch each."""
    for name in (NAME, OTHER):
        log.create(*name)
        for serial in range(10):
            log.append(name, [Record(0, 1_000, None, b"%d" % serial, ())])
    return broker


@pytest.fixture
def kafka(filled):
    with Kafka(filled.address) as made:
        yield made


class Picky:
    """Takes numbers below a limit."""

    def __init__(self, limit):
        self.limit = limit

    def deserialize(self, _topic, data):
        if int(data) >= self.limit:
            raise ValueError(data)
        return int(data)


def reading(kafka, *partitions, **options):
    return kafka.consumer(
        partitions=partitions or [NAME], group="g", start="earliest", auto_commit_interval_ms=0, **options
    )


def take(consumer, count, found=None):
    found = [] if found is None else found
    while len(found) < count:
        some = consumer.poll(DEADLINE_S)
        assert some, "no records came"
        found += some
    return found


def committed(kafka, name=NAME):
    with reading(kafka) as consumer:
        at = consumer.committed([name]).get(name)
    return None if at is None else at.offset


def test_records_after_a_corrupt_batch_are_not_passed_over(kafka, log):
    data = b"".join(batch for _header, batch in log.batches(NAME))
    size = len(data) // 10
    log.rewrite(NAME, data[: 5 * size + 66] + b"\xff" + data[5 * size + 67 :])
    with reading(kafka) as consumer:
        for _ in range(3):
            with pytest.raises(CorruptRecord):
                take(consumer, 100)
        assert consumer.position(*NAME) == 5
        consumer.seek(*NAME, 6)
        assert [record.offset for record in take(consumer, 4)] == [6, 7, 8, 9]


def test_an_undecodable_record_is_not_passed_over(kafka):
    with reading(kafka, value=Picky(4)) as consumer:
        for _ in range(3):
            with pytest.raises(DecodingFailed):
                take(consumer, 100)
        assert consumer.position(*NAME) == 4


def test_a_dead_letter_that_fails_loses_no_record(kafka):
    calls = []

    def dead_letter(record):
        calls.append(record.offset)
        if len(calls) == 1:
            raise OSError("the other topic is away")

    found = []
    with reading(kafka, value=Picky(9), on_error=dead_letter) as consumer:
        with pytest.raises(OSError, match="away"):
            take(consumer, 100, found)
        assert consumer.position(*NAME) == 9
        consumer.poll(0.2)
        assert consumer.position(*NAME) == 10
    assert [record.offset for record in found] == list(range(9))
    assert calls == [9, 9]


def test_what_a_batch_skips_is_not_committed_before_the_batch_is_done(kafka):
    with pytest.raises(ZeroDivisionError), reading(kafka, value=Picky(1), on_error="skip") as consumer:  # noqa: PT012  # the block that fails
        for batch in consumer.batches(max_wait=0.5):
            assert len(batch) == 1
            raise ZeroDivisionError
    assert committed(kafka) is None


def test_a_failure_while_a_batch_is_gathered_comes_after_what_was_gathered(kafka, log):
    log.rewrite(OTHER, b"\0" * 8 + log.batches(OTHER)[0][1][8:66] + b"\xff" + log.batches(OTHER)[0][1][67:])
    log.ends[OTHER] = 1
    with reading(kafka, NAME, OTHER) as consumer:
        found, failures = [], 0
        while len(found) < 10 or not failures:
            try:
                for batch in consumer.batches(max_wait=0.2):
                    found += [record.offset for record in batch if record.partition == 0]
            except CorruptRecord:
                failures += 1
                if len(found) < 10:
                    consumer.pause(OTHER)
        assert found == list(range(10))


def test_a_long_run_is_handed_out_in_parts_and_committed_as_far_as_it_was_done(kafka, log):
    log.append(NAME, [Record(serial, 1_000, None, b"%d" % serial, ()) for serial in range(20)])
    with pytest.raises(ZeroDivisionError), reading(kafka, max_poll_records=7) as consumer:  # noqa: PT012  # the block that fails
        take(consumer, 10)
        assert len(consumer.poll(DEADLINE_S)) == 7
        assert len(consumer.poll(DEADLINE_S)) == 7
        raise ZeroDivisionError
    assert committed(kafka) == 17


def test_a_seek_ends_the_list_that_the_caller_goes_through(kafka, log):
    log.append(NAME, [Record(serial, 1_000, None, b"%d" % serial, ()) for serial in range(20)])
    seen = []
    with reading(kafka) as consumer:
        for record in consumer:
            seen.append(record.offset)
            if seen == [*range(12)]:
                consumer.seek(*NAME, 3)
            if len(seen) == 14:
                break
    assert seen == [*range(12), 3, 4]
    assert committed(kafka) == 5


def test_a_paused_partition_hands_out_nothing_until_it_is_resumed(kafka, log):
    log.append(NAME, [Record(serial, 1_000, None, b"%d" % serial, ()) for serial in range(20)])
    with reading(kafka, max_poll_records=3) as consumer:
        found = take(consumer, 12)
        consumer.pause(NAME)
        assert consumer.poll(0.2) == []
        consumer.resume(NAME)
        found += take(consumer, 30 - len(found))
    assert [record.offset for record in found] == list(range(30))


def test_a_paused_partition_does_not_hold_up_another(kafka):
    with reading(kafka, NAME, OTHER, max_poll_records=1) as consumer:
        (first,) = consumer.poll(DEADLINE_S)
        consumer.pause((first.topic, first.partition))
        others = take(consumer, 10)
        assert {record.partition for record in others} == {1 - first.partition}
        consumer.resume((first.topic, first.partition))
        assert [record.offset for record in take(consumer, 9)] == list(range(1, 10))


def test_a_caller_that_was_away_for_long_reads_on_over_the_same_connection(filled):
    clock = {"ahead": 0.0}
    with Kafka(filled.address) as kafka:
        consumer = reading(kafka)
        driver = consumer._driver
        driver.clock_s = driver.engine.clock_s = lambda: time.monotonic() + clock["ahead"]
        consumer._state._clock_s = driver.clock_s
        take(consumer, 10)
        consumer.poll(0.1)  # a fetch is in flight
        dropped = []
        original = driver.engine.requests.drop
        driver.engine.requests.drop = lambda *args: (dropped.append(args), original(*args))
        clock["ahead"] = 3_600.0
        filled.log.append(NAME, [Record(0, 1_000, None, b"late", ())])
        take(consumer, 1)
        assert dropped == []
