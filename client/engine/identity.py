"""The identity that a producer's batches are numbered under: given out by any broker, once for each producer.

Source: KIP-98, KIP-360.
"""

from __future__ import annotations

from typing import Final

from headrace.client.engine.requests import Requests
from headrace.client.engine.tasks import Pause, Procedure, first_to_answer, retry_pause_s
from headrace.client.failures import ConnectionFailed, error_of, is_retriable
from headrace.errors import HeadraceError
from headrace.ids import NO_PRODUCER_ID
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey

TRIES: Final = 30  # with pauses up to a second each
VERSIONS: Final = (0, 4)


class Identity:
    """What a partition's batches are numbered under: a producer id, and the next sequence.

    producer_id   NO_PRODUCER_ID: without idempotence
    is_known      the broker has a batch of it: it refuses one that does not follow
    """

    __slots__ = ("epoch", "is_known", "producer_id", "sequence")

    def __init__(self, producer_id: int = NO_PRODUCER_ID, epoch: int = -1, sequence: int = 0) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        self.sequence = sequence
        self.is_known = False


def new_identity(requests: Requests) -> Procedure[Identity]:
    """A producer id that no other producer has. raises KafkaError, ConnectionFailed"""
    request = messages.InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0)
    for tries in range(1, TRIES + 1):
        try:
            answer = yield from first_to_answer(requests, ApiKey.INIT_PRODUCER_ID, VERSIONS, request)
            if not answer.error_code:
                return Identity(answer.producer_id, answer.producer_epoch)
            failure: HeadraceError = error_of(answer.error_code, "no producer id assigned")
        except ConnectionFailed as failed:
            failure = failed
        if not is_retriable(failure) or tries == TRIES:
            raise failure
        yield Pause(retry_pause_s(tries))
    raise AssertionError("unreachable")
