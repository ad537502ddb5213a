"""What comes after a refused batch in a producer's pipeline is refused alike, so that the producer keeps its sequence.

An idempotent producer has up to five batches of a partition in flight. Where the first one is refused since its partition is not
in service (a worker starts again, a disk is full), the next ones may find it in service: they are out of order, and the log
says so. librdkafka then begins a new epoch, and sends again under it whatever had no answer yet, on any partition:
what is stored of that is stored twice. Kafka has this gap too, but a broker's death takes the connection with it there.

So the connection remembers the refusal, and an error of sequence that follows is told as NOT_LEADER_OR_FOLLOWER:
the producer waits until nothing is in flight, and begins with the refused batch again.

The same where others may have deposed the leader without its knowledge (`Context.is_control_current`): what its log lacks may
be in that of the next one, and librdkafka takes OUT_OF_ORDER_SEQUENCE_NUMBER of a first batch for its end.

    refused    (topic, partition) -> how many answers may still be told so; gone with the first batch that is taken

Runs in: a network worker. Bound: REFUSED_PARTITIONS_MAX for each connection; further ones are told what the log says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from headrace.errors import ErrorCode
from headrace.limits import PRODUCE_IN_FLIGHT_MAX, REFUSED_PARTITIONS_MAX

_NOT_STORED: Final = int(ErrorCode.NOT_LEADER_OR_FOLLOWER)
_REFUSALS: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NOT_ENOUGH_REPLICAS,
    }
)  # that say nothing of the batch: it will be sent again as it is. Not of topics that are not there: a client chooses their names
_SEQUENCE_ERRORS: Final = frozenset({ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID})

Refused = dict[tuple[str, int], int]


def error_to_tell(refused: Refused, topic: str, partition: int, error: int, is_current: Callable[[], bool]) -> int:
    """What the answer says of a batch that came to this error (0: it is stored); `refused` is kept.

    is_current   whether nobody else can be the leader
    """
    if error in _SEQUENCE_ERRORS and not is_current():
        error = _NOT_STORED
    if not refused and error not in _REFUSALS:
        return error
    place = (topic, partition)
    if error in _SEQUENCE_ERRORS:
        left = refused.pop(place, 0)
        if left > 1:
            refused[place] = left - 1
        return _NOT_STORED if left else error
    if error in _REFUSALS:
        if place in refused or len(refused) < REFUSED_PARTITIONS_MAX:
            refused[place] = PRODUCE_IN_FLIGHT_MAX - 1
    else:
        refused.pop(place, None)
    return error
