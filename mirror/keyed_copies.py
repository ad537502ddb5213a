"""Partitions that are copied by key, in the loop of `copier.py`: located, planned, acknowledged, their positions written.

The order of what becomes durable: chunk, batches, position. docs/decisions/021 says why a restart at any point finds its place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from headrace.client.admin import Admin
from headrace.client.cluster import LATEST, Cluster
from headrace.client.connection import ConnectionFailed
from headrace.errors import KafkaError
from headrace.ids import TopicPartition
from headrace.limits import MIRROR_CHUNK_BYTES_MAX, MIRROR_PIECE_BYTES_MAX
from headrace.mirror.identity import keyed_producer_id
from headrace.mirror.journal import Journal
from headrace.mirror.journal_record import (
    Chunk,
    Gap,
    KeyedPosition,
    KeyValue,
    Place,
    encode_chunk,
    encode_chunk_withdrawal,
    encode_gap,
    encode_place,
    encode_place_withdrawal,
    encode_position,
)
from headrace.mirror.keyed_lane import KeyedLane, KeyedPart
from headrace.mirror.keyed_recovery import lanes_of, recover_keyed
from headrace.mirror.partition_copy import Outlet, PartitionCopy
from headrace.mirror.passage import sift
from headrace.mirror.recovery import Stored
from headrace.mirror.target_tail import Sought, read_tails

MESSAGE_BYTES = "max.message.bytes"
BATCH_EXTRA_BYTES = 4 << 10  # of a batch, beside its records

assert BATCH_EXTRA_BYTES < MIRROR_PIECE_BYTES_MAX


class KeyedCopies:
    """Of one process.

    append   writes rows to the journal; False: the partition is located again. raises   NotAlone
    """

    def __init__(
        self,
        target: Cluster,
        journal: Journal,
        append: Callable[[PartitionCopy, list[KeyValue]], bool],
        wall_ms: Callable[[], int],
    ) -> None:
        self._target = target
        self._journal = journal
        self._append = append
        self._wall_ms = wall_ms
        self._ends: dict[str, tuple[float, list[int]]] = {}  # by target topic: when they were asked for

    def first_position(self, copy: PartitionCopy, source: int) -> KeyedPosition:
        """Where a partition begins that the journal does not know. raises   KafkaError, ConnectionFailed"""
        ends = self._list_ends(copy.target.topic)
        ordinals = (0,) * len(ends)
        return KeyedPosition(0, 0, source, 0, -1, copy.topic_id, ordinals=ordinals, targets=tuple(ends))

    # Located

    def locate(self, copy: PartitionCopy, position: KeyedPosition) -> KeyedLane:
        """The lane of a partition that is claimed; the journal has its position.

        raises   TargetLost, Contradiction: the partition is stopped; KafkaError, ConnectionFailed, NotAlone
        """
        topic = copy.target.topic
        notes = self._journal.notes(copy.name)
        chunks = list(notes.chunks.values())
        names = [
            TopicPartition(topic, number) for number in range(lanes_of(position, chunks, self.partitions_of(topic)))
        ]
        missing = len(names) - len(position.ordinals)
        begins = zip((*position.ordinals, *(0,) * missing), (*position.targets, *(0,) * missing), strict=True)
        tails: list[list[Stored]] = [[] for _ in names]
        if self._journal.is_idempotent:
            wanted = {
                name: Sought(keyed_producer_id(copy.name, name.partition), ordinal, target)
                for name, (ordinal, target) in zip(names, begins, strict=True)
            }
            found = read_tails(self._target, wanted)
            tails = [found[name] for name in names]
        recovered = recover_keyed(position, chunks, tails, position.life)
        rows = [encode_position(copy.name, recovered.position)]
        if recovered.place is not None:
            notes.places.add(recovered.place)
            rows.insert(0, encode_place(copy.name, recovered.place))
        rows += [encode_chunk_withdrawal(copy.name, chunk) for chunk in recovered.done]
        self._journal.append(copy.name, rows)
        for chunk in recovered.done:
            notes.chunks.pop((chunk.generation, chunk.source), None)
        return KeyedLane(copy.name, recovered, self._batch_bytes(topic), copy.is_alone)

    def partitions_of(self, topic: str) -> int:
        """How many the target has, without a gap between their numbers."""
        count = 0
        while TopicPartition(topic, count) in self._target.partitions:
            count += 1
        return count

    def _batch_bytes(self, topic: str) -> int:
        """How many bytes of records a batch may have, so that the target takes it. raises   ConnectionFailed"""
        try:
            rows = Admin(self._target).describe_configs([topic], [MESSAGE_BYTES])[topic]
            largest = next(
                (int(one.value) for one in rows if one.name == MESSAGE_BYTES and one.value), MIRROR_PIECE_BYTES_MAX
            )
        except KafkaError:
            return MIRROR_PIECE_BYTES_MAX  # before DescribeConfigs (Kafka 0.11), or it is not allowed
        return max(1, min(MIRROR_PIECE_BYTES_MAX, largest - BATCH_EXTRA_BYTES))

    # Copied

    def fetched(
        self, copy: PartitionCopy, lane: KeyedLane, data: memoryview, aborted: list[tuple[int, int]] | None
    ) -> None:
        """Plan what a fetch brought. raises   CorruptRecord, CompressionError; NotQuiet; NotAlone"""
        chunks: list[Chunk] = []
        for sifted in sift(data, lane.next_offset, aborted, MIRROR_CHUNK_BYTES_MAX):
            chunks += lane.take(sifted)
        if chunks:
            self._append(copy, [encode_chunk(copy.name, chunk) for chunk in chunks])

    def stored(self, outlet: Outlet, lane: KeyedLane, base_offset: int) -> None:
        """A batch is in the target."""
        part = outlet.lane
        assert isinstance(part, KeyedPart)
        lane.acknowledge(part, base_offset)

    # Positions

    def is_due(self, copy: PartitionCopy, lane: KeyedLane, now_s: float) -> bool:
        """Whether there is a later position than the journal has; also one of which only the target's offsets are later."""
        self._raise_targets(copy, lane, now_s)
        return (lane.acknowledged.source, lane.acknowledged.targets) != (lane.saved.source, lane.saved.targets)

    def checkpoint(self, copy: PartitionCopy, lane: KeyedLane, now_s: float, is_released: bool) -> bool:
        """Write the position. raises   NotAlone"""
        self._raise_targets(copy, lane, now_s)
        places = self._journal.notes(copy.name).places
        before = lane.saved
        position = replace(lane.acknowledged, time_ms=self._wall_ms(), is_released=is_released)
        rows = []
        if before.generation == position.generation and before.source < position.source:
            place = Place(before.generation, before.source, before.targets)
            places.add(place)
            rows.append(encode_place(copy.name, place))
        rows.append(encode_position(copy.name, position))
        surplus = places.surplus(position)
        rows += [encode_place_withdrawal(copy.name, place) for place in surplus]
        rows += [encode_chunk_withdrawal(copy.name, chunk) for chunk in lane.obsolete()]
        if not self._append(copy, rows):
            return False
        for place in surplus:
            places.withdraw(place)
        lane.was_saved(position)
        return True

    def _raise_targets(self, copy: PartitionCopy, lane: KeyedLane, now_s: float) -> None:
        """As far as the target's ends can be asked for; what was asked for in the same turn is late, not wrong."""
        topic = copy.target.topic
        asked_s, ends = self._ends.get(topic, (-1.0, []))
        if asked_s != now_s:
            try:
                ends = self._list_ends(topic)
            except (KafkaError, ConnectionFailed):
                return
            self._ends[topic] = (now_s, ends)
        lane.raise_targets(ends)

    def _list_ends(self, topic: str) -> list[int]:
        names = [TopicPartition(topic, number) for number in range(self.partitions_of(topic))]
        found = self._target.offsets(dict.fromkeys(names, LATEST))
        return [found[name] for name in names]

    # Gaps

    def skip(self, copy: PartitionCopy, lane: KeyedLane, gap: Gap, is_new_log: bool) -> bool:
        """Continue after records that the source lost. raises   NotQuiet, where a pending chunk has to wait; NotAlone"""
        rows = [encode_gap(copy.name, gap)]
        if is_new_log:
            gone = lane.begin_again(gap.until, copy.topic_id)
            position = replace(lane.acknowledged, time_ms=self._wall_ms())
            rows.append(encode_position(copy.name, position))
            rows += [encode_chunk_withdrawal(copy.name, chunk) for chunk in (*lane.obsolete(), *gone)]
            if not self._append(copy, rows):
                return False
            lane.was_saved(position)
            return True
        lane.skip_to(gap.until)
        return self._append(copy, rows)
