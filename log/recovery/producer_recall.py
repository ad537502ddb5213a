"""The batches before a snapshot that a producer may send again: the snapshot knows the last one of each alone.

A producer has up to five batches in flight. Where a worker is killed after a snapshot and before the answers, all five are
sent again, and those before the last would be out of order: the producer is stuck until its delivery timeout. So the
headers before the snapshot are read once more, backwards by segment, as far as RECALL_BYTES_MAX and RECALL_SEGMENTS_MAX go.

Only producers whose last batch has a date of the last RECALL_AGE_MS are looked for: one that is gone for good is never complete, and would
cost all these bytes of its log at each opening. Where a date is wrong, a batch that is sent again may be out of order, as in Kafka.

Runs in: the partition worker that owns the log, while it opens it. Kafka has this gap after a broker's crash.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from operator import attrgetter
from typing import Final

from headrace.limits import RECALL_AGE_MS, RECALL_BYTES_FIRST, RECALL_BYTES_MAX, RECALL_SEGMENTS_MAX
from headrace.log.reading.reader import LogReader
from headrace.log.state.producer import BATCHES_KEPT, Appended
from headrace.log.state.producer_state import ProducerState
from headrace.protocol.record_batch import CONTROL_BIT, SEQUENCE_MASK, RecordBatchHeader

_HEADER_OF: Final = attrgetter("header")


def recall_batches(
    producers: ProducerState, reader: LogReader, offset: int, end_segment: int, end_position: int, now_ms: int
) -> None:
    """Complete the batches of the producers of a snapshot, which was taken at `offset`.

    end_segment, end_position   up to where the log is known to be whole
    now_ms                      the date
    raises                      HeadraceError, OSError, where it can't be read
    """
    wanted = {
        producer_id: producer.epoch
        for producer_id, producer in producers.producers.items()
        if producer.batches and abs(now_ms - producer.last_timestamp_ms) < RECALL_AGE_MS
    }
    if not wanted:
        return
    found: dict[int, deque[Appended]] = defaultdict(lambda: deque(maxlen=BATCHES_KEPT))
    for headers in _chunks_before(reader, offset, end_segment, end_position):
        here: dict[int, deque[Appended]] = defaultdict(lambda: deque(maxlen=BATCHES_KEPT))
        for header in headers:
            if wanted.get(header.producer_id) == header.producer_epoch and not header.attributes & CONTROL_BIT:
                delta = header.last_offset - header.base_offset
                last_sequence = (header.base_sequence + delta) & SEQUENCE_MASK
                here[header.producer_id].append(
                    Appended(header.base_sequence, last_sequence, header.base_offset, header.last_offset, now_ms)
                )
        for producer_id, batches in here.items():
            found[producer_id] = deque([*batches, *found[producer_id]], maxlen=BATCHES_KEPT)
        if all(_is_complete(producers.producers[producer_id].batches, found[producer_id]) for producer_id in wanted):
            break
    for producer_id, batches in found.items():
        producer = producers.producers.get(producer_id)
        if producer is not None and producer.batches:
            _complete(producer.batches, batches)


def _is_complete(known: list[Appended], found: deque[Appended]) -> bool:
    """Whether nothing more can come: there are as many as are kept, or the first one of all."""
    oldest = min(known[0], found[0] if found else known[0], key=lambda batch: batch.first_offset)
    return len(found) == BATCHES_KEPT or oldest.first_sequence == 0


def _complete(known: list[Appended], found: deque[Appended]) -> None:
    """Put batches before the oldest known one, as far as they lead up to it without a gap."""
    for batch in reversed(found):
        oldest = known[0]
        if len(known) >= BATCHES_KEPT:
            return
        if batch.last_offset >= oldest.first_offset:
            continue
        if (batch.last_sequence + 1) & SEQUENCE_MASK != oldest.first_sequence:
            return
        known.insert(0, batch._replace(timestamp_ms=oldest.timestamp_ms))


def _chunks_before(
    reader: LogReader, offset: int, end_segment: int, end_position: int
) -> Iterator[Iterator[RecordBatchHeader]]:
    """Headers below an offset, in order within each chunk, the last chunk first; each is larger than the one before."""
    left, chunk = RECALL_BYTES_MAX, RECALL_BYTES_FIRST
    bases = [base for base in reader.segment_bases() if base < offset and base <= end_segment]
    for base in reversed(bases[-RECALL_SEGMENTS_MAX:]):
        segment = reader.segment(base)
        end = min(segment.size_bytes(), end_position) if base == end_segment else segment.size_bytes()
        place = segment.find(offset, end)
        if place is not None:
            end = place[0]
        while end > 0:
            start = segment.indexed_position(end - min(chunk, left)) if end > min(chunk, left) else 0
            if end - start > 2 * RECALL_BYTES_MAX:
                return  # the index is too sparse, or lost
            yield map(_HEADER_OF, segment.batches(start, end))  # lazily: a list would be of all batches of a part
            left -= end - start
            if left <= 0:
                return
            end = start
            chunk *= 4
