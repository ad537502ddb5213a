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

A log takes any sequence of a producer that it does not know. So it is said with a batch (AFTER_REFUSAL) that one before it was
refused here, or was lost with its partition worker: the log leaves it out then, if it does not know its producer. What a partition
worker refuses it knows itself (`refused_producers.py`).

    missing    hash of (topic, partition) -> the first batch that was refused: producer id, epoch, sequence, and how many batches
               after it may still be notified of; gone with that batch, when it comes again

Runs in: a network worker. Bound: REFUSED_PARTITIONS_MAX for each connection, of both; further ones are told what the log says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from headrace.errors import ErrorCode
from headrace.limits import PRODUCE_IN_FLIGHT_MAX, REFUSED_PARTITIONS_MAX
from headrace.protocol.record_batch import HEADER_BYTES, is_after, producer_of

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

_MISSING: Final = _REFUSALS | {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}  # soon it may be there
_LOST: Final = (-1, -1, -1, PRODUCE_IN_FLIGHT_MAX)  # which batch it was is not known

Refused = dict[tuple[str, int], int]
Missing = dict[int, tuple[int, int, int, int]]
Buffer = bytes | bytearray | memoryview


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


def note_missing(missing: Missing, topic: str, partition: int, error: int, batch: memoryview | None) -> None:
    """A batch is refused before any log sees it.

    batch   of v2; None: it is lost with its partition worker, its owner is gone with its sequence
    """
    if error not in _MISSING or (batch is not None and len(batch) < HEADER_BYTES):
        return
    place = hash((topic, partition))
    entry = _LOST
    if batch is not None:
        producer_id, epoch, sequence = producer_of(batch)
        if producer_id < 0:
            return
        entry = (producer_id, epoch, sequence, PRODUCE_IN_FLIGHT_MAX)
        known = missing.get(place, _LOST)
        if known[:2] == entry[:2] and is_after(sequence, known[2]):
            entry = known
    if place in missing or len(missing) < REFUSED_PARTITIONS_MAX:
        missing[place] = entry


def follows_missing(missing: Missing, topic: str, partition: int, batch: Buffer) -> bool:
    """Whether a batch comes after one that was refused: not to be said more often than there may be batches in flight."""
    place = hash((topic, partition))
    known = missing.get(place)
    if known is None or len(batch) < HEADER_BYTES:
        return False
    producer_id, epoch, sequence = producer_of(memoryview(batch))
    if producer_id < 0:
        return False
    known_id, known_epoch, known_sequence, left = known
    is_behind = sequence > 0 if known_id < 0 else is_after(sequence, known_sequence)
    if known_id >= 0 and (known_id, known_epoch) != (producer_id, epoch):
        return False
    if is_behind and left:
        missing[place] = (known_id, known_epoch, known_sequence, left - 1)
        return True
    del missing[place]
    return False
