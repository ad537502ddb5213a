"""What a partition's owner tells of the producers in its logs, and how much of it at a time."""

from types import SimpleNamespace

from headrace.errors import ErrorCode
from headrace.limits import PRODUCERS_DESCRIBED_MAX
from headrace.log.state.producer import Appended, Producer
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response
from headrace.shm.messages import DESCRIBED_LOG
from headrace.workers.partition.producer_description import ProducerDescription


def replica(key, producers, is_leader=True):
    return SimpleNamespace(
        key=key, is_leader=is_leader, log=SimpleNamespace(producers=SimpleNamespace(producers=producers))
    )


def describe(replicas, *asked):
    answers = []
    handler = ProducerDescription(replicas).handlers()[ApiKey.DESCRIBE_PRODUCERS]
    handler(0, memoryview(b"".join(DESCRIBED_LOG.pack(*one) for one in asked)), answers.append)
    (topic,) = decode_response(ApiKey.DESCRIBE_PRODUCERS, 0, memoryview(answers[0])).topics
    return topic.partitions


def a_producer(epoch, last_sequence=None, txn_first_offset=-1):
    made = Producer(epoch)
    made.txn_first_offset = txn_first_offset
    made.last_timestamp_ms = 77
    if last_sequence is not None:
        made.batches.append(Appended(0, last_sequence, 0, last_sequence, 77))
    return made


def test_each_producer_of_a_log_is_told():
    replicas = {3: replica(33, {7: a_producer(1, 9), 8: a_producer(2, None, 40)})}
    (row,) = describe(replicas, (3, 33))
    assert row.error_code == 0
    assert [tuple(state) for state in row.active_producers] == [(7, 1, 9, 77, -1, -1), (8, 2, -1, 77, -1, 40)]


def test_a_slot_that_holds_another_partition_by_now_is_not_told():
    replicas = {3: replica(33, {7: a_producer(1)}), 4: replica(44, {7: a_producer(1)}, is_leader=False)}
    rows = describe(replicas, (3, 34), (4, 44), (5, 55), (3, 33))
    assert [row.error_code for row in rows] == [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 3 + [0]


def test_one_answer_has_no_more_than_a_log_or_the_bound():
    one = a_producer(0)
    many = dict.fromkeys(range(PRODUCERS_DESCRIBED_MAX), one)
    few = dict.fromkeys(range(2), one)
    rows = describe({1: replica(1, many), 2: replica(2, few), 3: replica(3, {})}, (1, 1), (2, 2), (3, 3))
    assert [(row.error_code, len(row.active_producers)) for row in rows] == [
        (0, PRODUCERS_DESCRIBED_MAX),
        (ErrorCode.INVALID_REQUEST, 0),
        (0, 0),
    ]
    rows = describe({1: replica(1, many), 2: replica(2, few)}, (2, 2), (1, 1))
    assert [row.error_code for row in rows] == [0, ErrorCode.INVALID_REQUEST]
