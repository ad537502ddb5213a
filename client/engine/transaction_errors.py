"""What an error code of a transaction means: try again, abort, or the end of the producer.

    DONE     no error
    AGAIN    the same request, after a pause
    MOVED    the same request, to a coordinator that is looked up again
    ABORT    the transaction is to be aborted; the producer goes on with the next one
    FENCED   another producer has the transactional id by now, or the coordinator gave the transaction up
    FATAL    the producer has ended

One table for all requests of a transaction, as the codes mean the same in each; what differs is named by request.

Source: Kafka `TransactionManager`: its handlers of FindCoordinator to TxnOffsetCommit; KIP-588, KIP-890.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from headrace.client.failures import OutOfOrderSequence, ProducerFenced, TransactionAbortable, error_of
from headrace.errors import ErrorCode, KafkaError
from headrace.protocol.apis import ApiKey


class Verdict(Enum):
    DONE = "done"
    AGAIN = "again"
    MOVED = "moved"
    ABORT = "abort"
    FENCED = "fenced"
    FATAL = "fatal"


_MOVED: Final = frozenset({ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.REQUEST_TIMED_OUT})
_ABORT: Final = frozenset(
    {
        ErrorCode.TRANSACTION_ABORTABLE,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.OPERATION_NOT_ATTEMPTED,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        # of the group, which has rebalanced, or of its offsets
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.FENCED_MEMBER_EPOCH,
        ErrorCode.STALE_MEMBER_EPOCH,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.INVALID_GROUP_ID,
        ErrorCode.OFFSET_METADATA_TOO_LARGE,
        ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
    }
)
_FENCED: Final = frozenset({ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH})


def verdict_of(api_key: int, code: int) -> Verdict:
    """What a code in the response to a request means; of Produce one that is not retriable, as the producer retries the others."""
    if not code:
        return Verdict.DONE
    error = error_of(code, "").code
    if api_key == ApiKey.PRODUCE:
        return _of_produce(error)
    if error in _MOVED:
        return Verdict.MOVED
    if error in _FENCED:
        return Verdict.FENCED
    if api_key == ApiKey.TXN_OFFSET_COMMIT and error is ErrorCode.UNSUPPORTED_VERSION:
        return Verdict.ABORT  # a group's member, and a broker that can't check it
    if error in _ABORT:
        return Verdict.FATAL if api_key == ApiKey.INIT_PRODUCER_ID else Verdict.ABORT  # there is none to abort
    return Verdict.AGAIN if error.retriable else Verdict.FATAL


def _of_produce(error: ErrorCode) -> Verdict:
    """A record that was refused may be left out of the next transaction; who is not allowed to write here can't go on."""
    if error is ErrorCode.PRODUCER_FENCED:
        return Verdict.FENCED
    fatal = (
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.UNSUPPORTED_VERSION,
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
    )
    return Verdict.FATAL if error in fatal else Verdict.ABORT


def failure_for(verdict: Verdict, failure: KafkaError) -> KafkaError:
    """The failure as the program sees it, by what it has to do."""
    if verdict is Verdict.FENCED:
        return ProducerFenced(failure.code, failure.message)
    if verdict is Verdict.ABORT:
        is_gap = failure.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        return (OutOfOrderSequence if is_gap else TransactionAbortable)(failure.code, failure.message)
    return failure
