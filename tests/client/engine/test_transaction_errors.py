"""What each error code of each request of a transaction means."""

import pytest

from headrace.client.engine.transaction_errors import Verdict, failure_for, verdict_of
from headrace.client.failures import OutOfOrderSequence, ProducerFenced, TransactionAbortable
from headrace.errors import ErrorCode, KafkaError
from headrace.protocol.apis import ApiKey

E = ErrorCode
REQUESTS = (
    ApiKey.FIND_COORDINATOR,
    ApiKey.INIT_PRODUCER_ID,
    ApiKey.ADD_PARTITIONS_TO_TXN,
    ApiKey.ADD_OFFSETS_TO_TXN,
    ApiKey.TXN_OFFSET_COMMIT,
    ApiKey.END_TXN,
)
MOVED = {E.NOT_COORDINATOR, E.COORDINATOR_NOT_AVAILABLE, E.REQUEST_TIMED_OUT}
FENCED = {E.PRODUCER_FENCED, E.INVALID_PRODUCER_EPOCH}
ABORT = {
    E.TRANSACTION_ABORTABLE, E.INVALID_TXN_STATE, E.INVALID_PRODUCER_ID_MAPPING, E.UNKNOWN_PRODUCER_ID, E.OPERATION_NOT_ATTEMPTED,
    E.TOPIC_AUTHORIZATION_FAILED, E.GROUP_AUTHORIZATION_FAILED, E.ILLEGAL_GENERATION, E.UNKNOWN_MEMBER_ID, E.REBALANCE_IN_PROGRESS,
    E.FENCED_INSTANCE_ID, E.FENCED_MEMBER_EPOCH, E.STALE_MEMBER_EPOCH, E.GROUP_ID_NOT_FOUND, E.INVALID_GROUP_ID,
    E.OFFSET_METADATA_TOO_LARGE, E.INVALID_COMMIT_OFFSET_SIZE,
}  # fmt: skip
AGAIN = {  # of these Kafka's clients name the first six
    E.CONCURRENT_TRANSACTIONS, E.COORDINATOR_LOAD_IN_PROGRESS, E.UNKNOWN_TOPIC_OR_PARTITION, E.NOT_ENOUGH_REPLICAS,
    E.NOT_LEADER_OR_FOLLOWER, E.KAFKA_STORAGE_ERROR,
    *(code for code in E if code.retriable and code not in MOVED),
}  # fmt: skip
NO_PRODUCE = {
    E.CLUSTER_AUTHORIZATION_FAILED, E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, E.UNSUPPORTED_VERSION, E.UNSUPPORTED_FOR_MESSAGE_FORMAT,
}  # fmt: skip


def expected(api_key, code):
    if code is E.NONE:
        return Verdict.DONE
    if api_key is ApiKey.PRODUCE:
        if code is E.PRODUCER_FENCED:
            return Verdict.FENCED
        return Verdict.FATAL if code in NO_PRODUCE else Verdict.ABORT
    if code in MOVED:
        return Verdict.MOVED
    if code in FENCED:
        return Verdict.FENCED
    if code in AGAIN:
        return Verdict.AGAIN
    if code in ABORT and api_key is not ApiKey.INIT_PRODUCER_ID:
        return Verdict.ABORT
    if code is E.UNSUPPORTED_VERSION and api_key is ApiKey.TXN_OFFSET_COMMIT:
        return Verdict.ABORT
    return Verdict.FATAL


@pytest.mark.parametrize("api_key", [*REQUESTS, ApiKey.PRODUCE])
def test_each_code_of_each_request(api_key):
    for code in ErrorCode:
        assert verdict_of(api_key, code) is expected(api_key, code), (api_key, code)


def test_a_code_of_the_future_is_fatal():
    assert verdict_of(ApiKey.END_TXN, 9_999) is Verdict.FATAL


def test_each_verdict_has_its_failure():
    failure = KafkaError(E.INVALID_TXN_STATE, "why")
    assert type(failure_for(Verdict.ABORT, failure)) is TransactionAbortable
    assert type(failure_for(Verdict.FENCED, failure)) is ProducerFenced
    assert failure_for(Verdict.FATAL, failure) is failure
    gap = KafkaError(E.OUT_OF_ORDER_SEQUENCE_NUMBER, "why")
    assert type(failure_for(Verdict.ABORT, gap)) is OutOfOrderSequence
