"""The identity that a producer's batches are numbered under: given out by any broker, once for each producer, or the caller's own.

Source: KIP-98, KIP-360.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from headrace.client.engine.requests import Requests
from headrace.client.engine.tasks import Pause, Procedure, first_to_answer, retry_pause_s
from headrace.client.failures import ConnectionFailed, error_of, is_retriable
from headrace.errors import HeadraceError
from headrace.ids import NO_PRODUCER_ID, TopicPartition
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey

TRIES: Final = 30  # with pauses up to a second each
VERSIONS: Final = (0, 4)


class Identity:
    """What a partition's batches are numbered under: a producer id, and the next sequence.

    producer_id   NO_PRODUCER_ID: without idempotence
    attributes    of its batches: TRANSACTIONAL_BIT, or 0
    is_known      the broker has a batch of it: it refuses one that does not follow
    """

    __slots__ = ("attributes", "epoch", "is_known", "producer_id", "sequence")

    def __init__(
        self, producer_id: int = NO_PRODUCER_ID, epoch: int = -1, sequence: int = 0, attributes: int = 0
    ) -> None:
        self.attributes = attributes
        self.producer_id = producer_id
        self.epoch = epoch
        self.sequence = sequence
        self.is_known = False


@dataclass(frozen=True, slots=True)
class GivenIdentity:
    """An identity of the caller's own making (docs/decisions/023).

    Producers with the same identity and the same records append them once, however many there are: a partition takes a batch only
    with the sequence that comes next in it. Ids from 2^62 on are never handed out by a cluster.

    sequences   the next one of each partition; 0 where it is not named
    """

    producer_id: int
    epoch: int
    sequences: Mapping[TopicPartition, int]


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
