"""Which batches of idempotent producers were refused here a moment ago, so that none that comes after them is taken first.

A log takes any sequence of a producer that it does not know, as Kafka does since KIP-360. But a producer has five batches in flight:
where the first is refused (no room, too few replicas, no leader yet) and the second finds the log in service, the second
would begin the producer, and the first would be out of order for ever. librdkafka takes it for stored then: it is lost.
So a batch after a refused one is refused too, as NOT_LEADER_OR_FOLLOWER: the producer sends both again, in order.

    (partition, producer id) -> epoch, first sequence of the earliest batch that was refused, refusals left, until when

Of a producer that the log knows nothing is asked: the log judges its sequences. A producer that has given the refused batch up is
refused PRODUCE_IN_FLIGHT_MAX times at most, and not after REFUSED_PRODUCER_MS.

Runs in: a partition worker, for all of its partitions. Bound: REFUSED_PRODUCERS_MAX; the oldest entry goes first. What a network
worker has refused is told with the next batch (`refused_batches.py`).
"""

from __future__ import annotations

from headrace.ids import PartitionKey
from headrace.limits import PRODUCE_IN_FLIGHT_MAX, REFUSED_PRODUCER_MS, REFUSED_PRODUCERS_MAX
from headrace.protocol.record_batch import HEADER_BYTES, is_after, producer_of


class RefusedProducers:
    """What was refused by one process."""

    __slots__ = ("_refused",)

    def __init__(self) -> None:
        self._refused: dict[tuple[PartitionKey, int], tuple[int, int, int, int]] = {}

    def __len__(self) -> int:
        return len(self._refused)

    def note(self, key: PartitionKey, batch: memoryview, monotonic_ms: int) -> None:
        """A batch is refused with an error for which its producer sends it again."""
        if len(batch) < HEADER_BYTES:
            return
        producer_id, epoch, sequence = producer_of(batch)
        if producer_id < 0:
            return
        place = (key, producer_id)
        known = self._refused.pop(place, None)
        if known is not None and known[0] == epoch and is_after(sequence, known[1]):
            sequence = known[1]
        if len(self._refused) >= REFUSED_PRODUCERS_MAX:
            del self._refused[next(iter(self._refused))]
        self._refused[place] = (epoch, sequence, PRODUCE_IN_FLIGHT_MAX, monotonic_ms + REFUSED_PRODUCER_MS)

    def is_behind(self, key: PartitionKey, producer_id: int, epoch: int, sequence: int, monotonic_ms: int) -> bool:
        """Whether a batch comes after one that was refused; the log does not know its producer."""
        place = (key, producer_id)
        known = self._refused.get(place)
        if known is None:
            return False
        known_epoch, refused, left, until_ms = known
        if epoch == known_epoch and left and monotonic_ms < until_ms and is_after(sequence, refused):
            self._refused[place] = (epoch, refused, left - 1, until_ms)
            return True
        del self._refused[place]
        return False

    def expire(self, monotonic_ms: int) -> None:
        """Forget what is no moment ago; the oldest are first."""
        while self._refused:
            place = next(iter(self._refused))
            if monotonic_ms < self._refused[place][3]:
                return
            del self._refused[place]
