"""One partition on its way from source to target by the keys of its records: planned, written, acknowledged. Pure: no socket, no clock.

    take          what a fetch brought becomes chunks; returns those to be written to the journal before any of it is sent
    parts         one for each target partition: batches to be sent, each with the ordinals of this pair of partitions as sequences
    acknowledge   the first batch that a part sent is in the target
    acknowledged  how far everything is acknowledged: always the border of a chunk

        source offsets   100 .......... 140 ......... 170 ...
        chunk                  |               |
        part 0            3 records       2 records
        part 1            1 record            -
        part 2               -            4 records

After a start the chunks that some part lacks are planned again, with the borders that they had (`keyed_recovery.py`). Where the source has
the same records for them, the batches are the same, whichever life of the mirror sends them. Where it was compacted meanwhile, a chunk
is written again with what is left, and that has to wait until nothing that was planned before can arrive any more (`NotQuiet`):
docs/decisions/021.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from headrace.errors import HeadraceError
from headrace.limits import MIRROR_CHUNK_BYTES_MAX
from headrace.mirror.identity import LaneName, keyed_producer_id, sequence_of
from headrace.mirror.journal_record import Chunk, KeyedPosition, Share
from headrace.mirror.keyed_recovery import KeyedRecovered, Pending
from headrace.mirror.lane import Outgoing
from headrace.mirror.partitioner import target_partition
from headrace.mirror.passage import Piece, Run, Sifted
from headrace.protocol.batch_builder import BatchBuilder
from headrace.protocol.record_batch import CorruptRecord, Record

Records = Sequence[tuple[Record, int, int]]  # with codec and size, as `Sifted` has them


class NotQuiet(HeadraceError):
    """The source no longer has what was planned, and what was planned may still arrive at the target."""


@dataclass(slots=True)
class _Planned:
    """A chunk in the queue.

    ends      target partition -> its offset after the batch
    waiting   batches that are not acknowledged
    epoch     of the source's leader, for its last record; -1: not known
    """

    chunk: Chunk
    ends: dict[int, int] = field(default_factory=dict)
    waiting: int = 0
    epoch: int = -1


class _Cut:
    """What a target partition gets of a chunk, while it is put together."""

    __slots__ = ("_codec", "_offset", "builder")

    def __init__(self, offset: int, codec: int) -> None:
        self._offset = offset  # of the source
        self._codec = codec
        self.builder = BatchBuilder()

    def append(self, record: Record) -> None:
        """raises   CorruptRecord, where its timestamp does not go with those before"""
        offset, timestamp_ms, key, value, headers = record
        try:
            self.builder.append(timestamp_ms, key, value, headers)
        except ValueError as failure:
            raise CorruptRecord(f"source offset {offset}: {failure}") from None

    def share(self, partition: int) -> Share:
        with self.builder.records() as plain:
            digest = blake2b(plain, digest_size=8).hexdigest()
        return Share(partition, self.builder.count, digest)

    def piece(self, until: int) -> Piece:
        count = self.builder.count
        batch = bytearray(self.builder.build(self._codec))
        return Piece(batch, count, (Run(self._offset, count, False),), until, self.builder.max_timestamp_ms, -1)


class KeyedPart:
    """What goes to one target partition."""

    def __init__(self, name: LaneName, partition: int, ordinal: int) -> None:
        self.partition = partition
        self.producer_id = keyed_producer_id(name, partition)
        self.next_ordinal = ordinal
        self._queue: deque[tuple[Outgoing, _Planned]] = deque()
        self._sent = 0

    @property
    def is_idle(self) -> bool:
        return not self._queue

    def next_batch(self) -> Outgoing | None:
        """The next one to send, if there is one."""
        if self._sent >= len(self._queue):
            return None
        self._sent += 1
        return self._queue[self._sent - 1][0]

    def sequence_of(self, outgoing: Outgoing) -> int:
        return sequence_of(outgoing.ordinal)

    def rewind(self) -> None:
        """What is not acknowledged is to be sent again."""
        self._sent = 0

    def add(self, piece: Piece, planned: _Planned) -> None:
        self._queue.append((Outgoing(piece, self.next_ordinal, ""), planned))
        self.next_ordinal += piece.records
        planned.waiting += 1

    def pop(self) -> tuple[Outgoing, _Planned]:
        assert self._sent, "nothing was sent"
        self._sent -= 1
        return self._queue.popleft()


class KeyedLane:
    """A partition of a source, and the partitions of the target that its records go to.

    part_bytes_max   of a batch, uncompressed; a single record may have more
    may_correct      whether nothing that was planned before can still arrive
    """

    def __init__(self, name: LaneName, recovered: KeyedRecovered, part_bytes_max: int, may_correct: bool) -> None:
        position = recovered.position
        self.name = name
        self.life = position.life
        self.acknowledged = position
        self.saved = position  # as the journal has it
        self.partitions = len(recovered.ordinals)  # of the chunks that are planned from now on
        self.next_offset = recovered.pending[0].chunk.source if recovered.pending else position.source
        self.leader_epoch = position.epoch if self.next_offset == position.source else -1
        self.queued_bytes = 0
        self.latest_ms = -1  # timestamp of the last record that was acknowledged
        self.records = self.bytes = self.passed = self.rebuilt = self.aborted = self.controls = 0
        self.parts = [KeyedPart(name, number, ordinal) for number, ordinal in enumerate(recovered.ordinals)]
        self._part_bytes_max = part_bytes_max
        self._may_correct = may_correct
        self._pending = deque(recovered.pending)
        self._gathered: list[tuple[Record, int, int]] = []  # of the first pending chunk
        self._planned: deque[_Planned] = deque()
        self._done: list[Chunk] = []  # acknowledged, and still in the journal
        self._border = position.source  # where the last chunk ended
        self._ordinals = list(position.ordinals)
        self._targets = list(position.targets)

    @property
    def has_pending(self) -> bool:
        """Whether chunks of an earlier start are still to be planned again."""
        return bool(self._pending)

    @property
    def is_idle(self) -> bool:
        """Whether all that was fetched is acknowledged."""
        return not self._planned and not self._pending

    def grow(self, partitions: int) -> None:
        """The target has more partitions: they get their share from the next chunk on."""
        for number in range(len(self.parts), partitions):
            self.parts.append(KeyedPart(self.name, number, 0))
            self._ordinals.append(0)
            self._targets.append(0)
        self.partitions = max(self.partitions, partitions)
        self._place(self.acknowledged.source, self.acknowledged.epoch)

    # From the source

    def take(self, sifted: Sifted) -> list[Chunk]:
        """Plan what a fetch brought. returns   chunks, to be written to the journal before anything is sent

        raises   NotQuiet, where a pending chunk would change too early: this lane is of no use any more; CorruptRecord
        """
        written: list[Chunk] = []
        records = sifted.records
        index = 0
        while self._pending:
            until = self._pending[0].chunk.until
            first = index
            while index < len(records) and records[index][0].offset < until:
                index += 1
            self._gathered += records[first:index]
            if index == len(records) and sifted.next_offset < until:
                break
            gathered, self._gathered = self._gathered, []
            written += self._plan_again(self._pending[0], gathered)
            self._pending.popleft()
        if not self._pending:
            written += self._plan(records[index:], sifted.next_offset)
        self.next_offset = sifted.next_offset
        if sifted.leader_epoch >= 0:
            self.leader_epoch = sifted.leader_epoch
        if written and self._planned[-1].chunk.until == self.next_offset:
            self._planned[-1].epoch = self.leader_epoch
        self.aborted += sifted.aborted_batches
        self.controls += sifted.control_batches
        self._advance()
        return written

    def _plan(self, records: Records, end: int) -> list[Chunk]:
        """New chunks. One ends where a batch or the whole has enough bytes."""
        chunks: list[Chunk] = []
        cuts: dict[int, _Cut] = {}
        total = 0
        partition, count, part_bytes_max = self.name.partition, self.partitions, self._part_bytes_max
        start = records[0][0].offset if records else end
        for record, codec, size in records:
            offset = record[0]
            number = target_partition(record[2], partition, offset, count)
            cut = cuts.get(number)
            is_full = cut is not None and cut.builder.size_bytes + size > part_bytes_max
            if is_full or (cuts and total + size > MIRROR_CHUNK_BYTES_MAX):
                chunks.append(self._add(self._new_chunk(start, offset, cuts), cuts, {}))
                cuts, cut, total, start = {}, None, 0, offset
            if cut is None:
                cut = cuts[number] = _Cut(offset, codec)
            cut.append(record)
            total += size
        if cuts:
            chunks.append(self._add(self._new_chunk(start, end, cuts), cuts, {}))
        return chunks

    def _new_chunk(self, source: int, until: int, cuts: Mapping[int, _Cut]) -> Chunk:
        shares = tuple(cuts[number].share(number) for number in sorted(cuts))
        generation = self.acknowledged.generation
        return Chunk(generation, self._border, source, until, self.partitions, self.life, shares)

    def _plan_again(self, pending: Pending, records: Records) -> list[Chunk]:
        """A chunk that some parts lack. returns   the chunk, where it is another one now"""
        chunk = pending.chunk
        before = {share.partition: share for share in chunk.shares}
        cuts: dict[int, _Cut] = {}
        for record, codec, _size in records:
            number = target_partition(record.key, self.name.partition, record.offset, chunk.partitions)
            if number in pending.had:
                continue
            cut = cuts.get(number)
            if cut is None:
                cut = cuts[number] = _Cut(record.offset, codec)
            cut.append(record)
        now = {number: before[number] for number in pending.had}
        now |= {number: cut.share(number) for number, cut in cuts.items()}
        if now == before:
            self._add(chunk, cuts, pending.had)
            return []
        if not self._may_correct:
            raise NotQuiet(f"source offsets {chunk.source} to {chunk.until} have other records than before")
        shares = tuple(now[number] for number in sorted(now))
        return [self._add(replace(chunk, life=self.life, shares=shares), cuts, pending.had)]

    def _add(self, chunk: Chunk, cuts: Mapping[int, _Cut], had: Mapping[int, int]) -> Chunk:
        """Queue the batches of a chunk."""
        planned = _Planned(chunk, dict(had))
        for number in sorted(cuts):
            piece = cuts[number].piece(chunk.until)
            self.parts[number].add(piece, planned)
            self.queued_bytes += len(piece.batch)
        self._planned.append(planned)
        self._border = chunk.until
        return chunk

    # From the target

    def acknowledge(self, part: KeyedPart, base_offset: int) -> None:
        """The first batch that a part sent is in the target."""
        outgoing, planned = part.pop()
        piece = outgoing.piece
        planned.ends[part.partition] = base_offset + piece.records
        planned.waiting -= 1
        self.queued_bytes -= len(piece.batch)
        self.latest_ms = max(self.latest_ms, piece.max_timestamp_ms)
        self.records += piece.records
        self.bytes += len(piece.batch)
        self.rebuilt += 1
        self._advance()

    def _advance(self) -> None:
        """Over the chunks that every part has."""
        source, epoch = self.acknowledged.source, self.acknowledged.epoch
        while self._planned and not self._planned[0].waiting:
            planned = self._planned.popleft()
            for number, records, _digest in planned.chunk.shares:
                self._ordinals[number] += records
                self._targets[number] = planned.ends[number]
            self._done.append(planned.chunk)
            source, epoch = planned.chunk.until, planned.epoch
        if self.is_idle:
            source, epoch = self.next_offset, self.leader_epoch  # what lies between has no record
        if (source, epoch) != (self.acknowledged.source, self.acknowledged.epoch):
            self._place(source, epoch)

    def _place(self, source: int, epoch: int) -> None:
        self.acknowledged = replace(
            self.acknowledged,
            source=source,
            epoch=epoch,
            ordinal=sum(self._ordinals),
            ordinals=tuple(self._ordinals),
            targets=tuple(self._targets),
        )

    def raise_targets(self, ends: Sequence[int]) -> None:
        """The target partitions end here: what they have not got of us can only come after.

        Not while chunks are pending: an earlier life may have written them since the tails were read.
        """
        if self._pending:
            return
        for number, end in enumerate(ends[: len(self.parts)]):
            if self._ordinals[number] == self.parts[number].next_ordinal and end > self._targets[number]:
                self._targets[number] = end
        if tuple(self._targets) != self.acknowledged.targets:
            self._place(self.acknowledged.source, self.acknowledged.epoch)

    # The journal

    def obsolete(self) -> list[Chunk]:
        """Chunks below what is acknowledged, to be withdrawn after the position is written."""
        return list(self._done)

    def was_saved(self, position: KeyedPosition) -> None:
        """A position is in the journal, and the obsolete chunks are withdrawn."""
        self.saved = position
        self._done.clear()
        self._border = max(self._border, position.source)

    # Gaps

    def skip_to(self, offset: int) -> None:
        """Continue at another offset of the same log: the records between are gone. Pending chunks are planned again with what is left."""
        self.next_offset = offset
        self.leader_epoch = -1
        self._advance()

    def begin_again(self, offset: int, topic_id: str) -> list[Chunk]:
        """The source has another log. returns   chunks that will not be completed, to be withdrawn

        raises   NotQuiet, where they may still arrive
        """
        if self._pending and not self._may_correct:
            raise NotQuiet("batches of the previous log may still arrive")
        gone = [pending.chunk for pending in self._pending]
        for pending in self._pending:
            for number, end in pending.had.items():
                self._targets[number] = end
        self._pending.clear()
        self._gathered = []
        self._ordinals = [part.next_ordinal for part in self.parts]
        self.next_offset = self._border = offset
        self.leader_epoch = -1
        self.acknowledged = replace(self.acknowledged, generation=self.acknowledged.generation + 1, topic_id=topic_id)
        self._place(offset, -1)
        return gone
