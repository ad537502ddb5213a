"""What a client's request or wait ends with where there is no response, or an error code in it."""

from __future__ import annotations

from headrace.errors import ErrorCode, HeadraceError, KafkaError


class ConnectionFailed(HeadraceError):
    """No connection, or it broke: the request may or may not have been handled."""


class NotSent(ConnectionFailed):
    """No connection: the request was not handled."""


class DeliveryFailed(HeadraceError):
    """Records were not acknowledged; the brokers may have some of them.

    records   how many
    cause     of the first of them
    """

    def __init__(self, records: int, cause: HeadraceError) -> None:
        super().__init__(f"{records} records were not acknowledged: {cause}")
        self.records = records
        self.cause = cause


class WaitTimedOut(HeadraceError):
    """What was waited for did not happen in time; the text says what it waits for."""


class OutcomeUnknown(HeadraceError):
    """A request may have been carried out, and can't be repeated without harm."""


class TransactionAbortable(KafkaError):
    """The transaction can't be committed. `abort_transaction`, and the producer goes on with the next one."""


class OutOfOrderSequence(TransactionAbortable):
    """A batch does not follow what its partition has: one before it was lost."""


class TransactionAborted(KafkaError):
    """What became of a record whose transaction was aborted before it was sent."""


class ProducerFenced(KafkaError):
    """Another producer has the transactional id by now, or the coordinator gave the transaction up. This one has ended: close it."""


class SerializerUnavailable(HeadraceError):
    """What a serializer needs does not respond. That says nothing about a record: it stays where it is, and is read again."""


class Interrupted(HeadraceError):
    """The client was left in the middle of a step: what it has sent, and what waits, is not known. It can be closed."""


def error_of(error_code: int, what: str) -> KafkaError:
    """The error of a code; for an unknown code UNKNOWN_SERVER_ERROR."""
    try:
        return KafkaError(ErrorCode(error_code), what)
    except ValueError:
        return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{what}: error code {error_code}")


def is_retriable(failure: HeadraceError) -> bool:
    """Whether the same request may succeed later: a lost connection, an error that Kafka's table calls retriable."""
    return failure.code.retriable if isinstance(failure, KafkaError) else isinstance(failure, ConnectionFailed)
