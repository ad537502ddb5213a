"""Undecodable records in another topic: what is there, that no position passes one before, and what a failure does."""

import pytest

from headrace.client import DeadLetterFailed, Kafka, dead_letter
from headrace.client.consumer_options import ConsumerOptions
from headrace.client.dead_letters import check_source, headers_of
from headrace.client.failures import SerializerUnavailable
from headrace.client.records import Record as ReadRecord
from headrace.client.serializers import DecodingFailed
from headrace.errors import ErrorCode
from headrace.ids import TopicPartition
from headrace.limits import DEAD_LETTER_REASON_CHARS_MAX, DEAD_LETTERS_IN_FLIGHT_MAX
from headrace.protocol.apis import ApiKey
from headrace.protocol.record_batch import Record
from tests.support.waiting import DEADLINE_S, wait_until

NAME, DEAD = TopicPartition("t", 0), TopicPartition("t.dead", 0)


class Odd:
    """Takes odd numbers."""

    def deserialize(self, _topic, data):
        if int(data) % 2 == 0:
            raise ValueError(f"{int(data)} is even")
        return int(data)


@pytest.fixture
def filled(log, broker):
    """Ten records in one batch."""
    log.create(*NAME)
    log.create(*DEAD)
    headers = (("trace", b"x"), ("none", None))
    log.append(NAME, [Record(serial, 1_000 + serial, b"k%d" % serial, b"%d" % serial, headers) for serial in range(10)])
    return broker


@pytest.fixture
def kafka(filled):
    with Kafka(filled.address) as made:
        yield made


def reading(kafka, **options):
    options = {"value": Odd(), "on_error": dead_letter("t.dead"), **options}
    return kafka.consumer(partitions=[NAME], group="g", start="earliest", auto_commit_interval_ms=0, **options)


def take(consumer, count):
    found = []
    while len(found) < count:
        some = consumer.poll(DEADLINE_S)
        assert some, "no records came"
        found += some
    return [record.value for record in found]


def dead(log):
    return [int(record.value) for record in log.records(DEAD)]


def test_a_dead_letter_is_the_record_with_where_it_was_and_why(kafka, log):
    with reading(kafka) as consumer:
        assert take(consumer, 5) == [1, 3, 5, 7, 9]
    assert dead(log) == [0, 2, 4, 6, 8]
    letter = log.records(DEAD)[1]
    assert (letter.key, letter.value) == (b"k2", b"2")
    assert letter.timestamp_ms > 1_600_000_000_000, "by the record's own time it could be deleted at once"
    assert letter.headers == (
        ("trace", b"x"),
        ("none", None),
        ("__connect.errors.topic", b"t"),
        ("__connect.errors.partition", b"0"),
        ("__connect.errors.offset", b"2"),
        ("__connect.errors.timestamp", b"1002"),
        ("__connect.errors.stage", b"VALUE_CONVERTER"),
        ("__connect.errors.exception.class.name", b"ValueError"),
        ("__connect.errors.exception.message", b"2 is even"),
    )


def test_headers_have_a_bound_and_name_the_part():
    record = ReadRecord("t", 3, 4, -1, b"k", None, (), None)
    headers = dict(headers_of(DecodingFailed(record, "key", UnicodeError("\udc80" * 5_000))))
    assert headers["__connect.errors.stage"] == b"KEY_CONVERTER"
    assert headers["__connect.errors.exception.message"] == b"?" * DEAD_LETTER_REASON_CHARS_MAX
    named = dict(headers_of(DecodingFailed(record, "key", DeadLetterFailed("t", ZeroDivisionError()))))
    assert named["__connect.errors.exception.class.name"] == b"headrace.client.dead_letters.DeadLetterFailed"


@pytest.mark.parametrize("delivery", ["at_least_once", "at_most_once"])
def test_no_position_passes_a_record_before_its_dead_letter_is_stored(kafka, filled, log, delivery):
    filled.fail[ApiKey.PRODUCE, ErrorCode.TOPIC_AUTHORIZATION_FAILED] = 3
    with reading(kafka, delivery=delivery) as consumer:
        for _ in range(3):
            with pytest.raises(
                DeadLetterFailed, match=r"dead letter topic t\.dead: 5 records .* were not stored: .*AUTHORIZATION"
            ):
                take(consumer, 5)
            assert consumer.position(*NAME) == 0
            assert ("g", NAME) not in filled.committed
        assert take(consumer, 5) == [1, 3, 5, 7, 9]
    assert dead(log) == [0, 2, 4, 6, 8]
    assert filled.committed["g", NAME][0] == 10


def test_a_topic_that_is_missing_shows_with_the_first_records(kafka, filled, log):
    with reading(kafka, on_error=dead_letter("none")) as consumer:
        for _ in range(2):
            with pytest.raises(DeadLetterFailed, match=r"dead letter topic none: .*UNKNOWN_TOPIC"):
                consumer.poll(DEADLINE_S)
        log.create("none")
        assert take(consumer, 5) == [1, 3, 5, 7, 9]
    assert [int(record.value) for record in log.records(TopicPartition("none", 0))] == [0, 2, 4, 6, 8]
    assert ("g", NAME) in filled.committed


def test_a_poll_whose_time_is_up_leaves_the_rest_to_the_next(kafka, filled, log):
    with reading(kafka) as consumer:
        with filled._appending:  # no produce request is answered
            asked = filled.asked[ApiKey.PRODUCE]
            wait_until(lambda: not consumer.poll(0.01) and filled.asked[ApiKey.PRODUCE] > asked)
            assert not consumer.poll(0.05)
            assert consumer.health()["decoding"] == "acknowledgement of dead letters by topic t.dead"
            assert consumer.position(*NAME) == 0
        assert take(consumer, 5) == [1, 3, 5, 7, 9]
    assert dead(log) == [0, 2, 4, 6, 8], "each once"


def test_a_consumer_that_is_closed_meanwhile_commits_nothing(kafka, filled):
    with reading(kafka) as consumer, filled._appending:
        asked = filled.asked[ApiKey.PRODUCE]
        wait_until(lambda: not consumer.poll(0.01) and filled.asked[ApiKey.PRODUCE] > asked)
        consumer.close()
    assert ("g", NAME) not in filled.committed


def test_a_dead_letter_too_large_for_its_topic_stops_the_consumer(kafka, filled, log):
    filled.batch_bytes_max = 100
    with reading(kafka) as consumer:
        with pytest.raises(DeadLetterFailed, match="MESSAGE_TOO_LARGE"):
            take(consumer, 5)
        assert consumer.position(*NAME) == 0
        consumer.seek(*NAME, 9)
        assert take(consumer, 1) == [9]
    assert not dead(log)


def test_lists_of_dead_letters_alone_move_the_position(kafka, filled, log):
    log.append(NAME, [Record(serial, 1_000, None, b"0", ()) for serial in range(2 * DEAD_LETTERS_IN_FLIGHT_MAX + 1)])
    with reading(kafka) as consumer:
        assert take(consumer, 5) == [1, 3, 5, 7, 9]
        end = log.ends[NAME]
        wait_until(lambda: not consumer.poll(0.05) and consumer.position(*NAME) == end)
    assert len(dead(log)) == 5 + 2 * DEAD_LETTERS_IN_FLIGHT_MAX + 1
    assert filled.committed["g", NAME][0] == end


def test_a_batch_is_handed_out_after_its_dead_letters(kafka, log):
    with reading(kafka) as consumer:
        for batch in consumer.batches(100, max_wait=0.1):
            assert [record.value for record in batch] == [1, 3, 5, 7, 9]
            assert dead(log) == [0, 2, 4, 6, 8]
            break


def test_keys_that_can_t_be_decoded_are_dead_letters_too(kafka, log):
    class Early:
        def deserialize(self, _topic, data):
            if data > b"k7":
                raise KeyError(data)
            return data

    with reading(kafka, key=Early(), value=None) as consumer:
        assert len(take(consumer, 8)) == 8
        wait_until(lambda: not consumer.poll(0.05) and consumer.position(*NAME) == 10)
    assert dead(log) == [8, 9]


def test_dead_letters_that_would_come_again_are_refused(kafka):
    with pytest.raises(ValueError, match=r"dead_letter: topic: 't' is read by this consumer"):
        kafka.consumer("t", value=Odd(), on_error=dead_letter("t"))
    with pytest.raises(ValueError, match="is read by this consumer"):
        reading(kafka, on_error=dead_letter("t"))
    with pytest.raises(ValueError, match=r"dead_letter: topic: 't\.dead' matches pattern 't.*'"):
        kafka.consumer(pattern="t.*", value=Odd(), on_error=dead_letter("t.dead"))
    check_source("dead", ConsumerOptions.of(pattern="t.*"))
    with pytest.raises(ValueError, match="expected the name of a topic"):
        dead_letter("")


def test_a_function_of_the_caller_s_is_given_the_record_once(kafka):
    given = []

    def note(failure):
        if failure.offset == 4 and len(given) == 2:
            given.append(None)
            raise OSError("away")
        given.append((failure.record.offset, failure.record.headers[0], str(failure.cause)))

    with reading(kafka, on_error=note) as consumer:
        with pytest.raises(OSError, match="away"):
            take(consumer, 5)
        assert take(consumer, 5) == [1, 3, 5, 7, 9]
    assert [one[0] for one in given if one] == [0, 2, 4, 6, 8]
    assert given[0][1:] == (("trace", b"x"), "0 is even")


def test_a_deserializer_that_says_it_can_t_now_leaves_nothing_out(kafka, log):
    class Away(Odd):
        tries = 0

        def deserialize(self, topic, data):
            if int(data) == 3:
                self.tries += 1
                if self.tries < 3:
                    raise SerializerUnavailable("the key store does not respond")
            return super().deserialize(topic, data)

    with reading(kafka, value=Away()) as consumer:
        for _ in range(2):
            with pytest.raises(SerializerUnavailable, match="key store"):
                take(consumer, 5)
            assert consumer.position(*NAME) == 0
        assert take(consumer, 5) == [1, 3, 5, 7, 9]
    assert dead(log) == [0, 2, 4, 6, 8]
