"""One partition on its way from source to target: what is planned, written, acknowledged. Pure: no socket, no clock.

    take         what a fetch brought gets ordinals; returns the entries to be written before any of it is sent
    next_batch   the next batch to send, stamped with its sequence
    acknowledge  the first batch that was sent is in the target; returns the entries whose target offset came out otherwise
    position     how far all is acknowledged, to be written to the journal from time to time

Batches are acknowledged in the order in which they are sent. After a failure all that is not acknowledged is sent again with the same
sequences (`rewind`). A piece that needs proof is sent alone, read back, and compared before anything after it is sent
(docs/decisions/021).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import Protocol

from headrace.ids import TopicPartition
from headrace.mirror.identity import LaneName, data_producer_id, sequence_of
from headrace.mirror.journal_record import Entry
from headrace.mirror.passage import Passage, Piece, digest_of
from headrace.mirror.recovery import Recovered


@dataclass(slots=True)
class Outgoing:
    """A piece that is planned.

    ahead   entries that were written for it, by ordinal
    """

    piece: Piece
    ordinal: int
    digest: str
    ahead: dict[int, Entry] = field(default_factory=dict)
    is_stamped: bool = False


class Queue(Protocol):
    """What goes to one partition of the target, in order: a `Lane`, or a part of a `KeyedLane`."""

    producer_id: int

    @property
    def is_idle(self) -> bool: ...

    def next_batch(self) -> Outgoing | None: ...

    def sequence_of(self, outgoing: Outgoing) -> int: ...

    def rewind(self) -> None: ...


class Lane:
    """A partition of a source, and the partition of the target that it is copied to."""

    def __init__(self, name: LaneName, target: TopicPartition, recovered: Recovered) -> None:
        self.name = name
        self.target = target
        self.producer_id = data_producer_id(name)
        self.life = recovered.position.life
        self.acknowledged = recovered.position
        self.next_offset = recovered.position.source  # to fetch
        self.leader_epoch = recovered.position.epoch  # of the last record that was fetched
        self.queued_bytes = 0
        self.latest_ms = -1  # timestamp of the last record that was acknowledged
        self.records = self.bytes = self.passed = self.rebuilt = self.aborted = self.controls = 0
        self._shift = recovered.shift
        self._target_shift = recovered.target_shift
        self._doubtful = list(recovered.doubtful)
        self._is_after_removed = recovered.shift is None and recovered.position.ordinal > 0
        self._next_ordinal = recovered.position.ordinal
        self._next_target = recovered.position.target  # as far as can be known before an acknowledgement
        self.may_prove = True  # False: another life may still write, so a piece that needs proof has to wait
        self._queue: deque[Outgoing] = deque()
        self._sent = 0  # of the queue, without an acknowledgement

    @property
    def is_idle(self) -> bool:
        """Whether all that was fetched is acknowledged."""
        return not self._queue

    @property
    def in_flight(self) -> int:
        return self._sent

    def take(self, passage: Passage) -> list[Entry]:
        """Plan what a fetch brought. returns   entries, to be written to the journal before `next_batch` is asked for"""
        entries: list[Entry] = []
        for piece in passage.pieces:
            entries += self._plan(piece)
        self.next_offset = passage.next_offset
        self._is_after_removed = passage.is_after_removed
        if passage.leader_epoch >= 0:
            self.leader_epoch = passage.leader_epoch
        self.passed += passage.passed
        self.rebuilt += len(passage.pieces) - passage.passed
        self.aborted += passage.aborted_batches
        self.controls += passage.control_batches
        if self.is_idle:
            self._settle()
        return entries

    @property
    def is_after_removed(self) -> bool:
        """For the next `pass_on`."""
        return self._is_after_removed

    def _plan(self, piece: Piece) -> list[Entry]:
        needs_proof = piece.needs_proof or self._is_contradicted(piece)
        outgoing = Outgoing(piece, self._next_ordinal, digest_of(piece.batch) if needs_proof else "")
        ordinal, target = self._next_ordinal, self._next_target
        for run in piece.runs:
            is_first = ordinal == outgoing.ordinal
            if run.offset - ordinal != self._shift or (is_first and needs_proof):
                self._shift = run.offset - ordinal
                count, digest = (piece.records, outgoing.digest) if is_first else (0, "")
                generation = self.acknowledged.generation
                outgoing.ahead[ordinal] = Entry(generation, run.offset, ordinal, target, self.life, count, digest)
            ordinal += run.records
            target += run.records
        self._next_ordinal, self._next_target = ordinal, target
        self._queue.append(outgoing)
        self.queued_bytes += len(piece.batch)
        return list(outgoing.ahead.values())

    def _is_contradicted(self, piece: Piece) -> bool:
        """Whether an entry that may come true gives one of these ordinals to another record."""
        ordinal = self._next_ordinal
        for run in piece.runs:
            for entry in self._doubtful:
                if (
                    ordinal <= entry.ordinal < ordinal + run.records
                    and entry.source - entry.ordinal != run.offset - ordinal
                ):
                    return True
            ordinal += run.records
        return False

    def next_batch(self) -> Outgoing | None:
        """The next one to send; None: there is none, or it has to wait for those before it."""
        if self._sent >= len(self._queue):
            return None
        outgoing = self._queue[self._sent]
        if outgoing.digest and not self.may_prove:
            return None
        if self._sent and (outgoing.digest or self._queue[0].digest):
            return None
        self._sent += 1
        return outgoing

    def sequence_of(self, outgoing: Outgoing) -> int:
        return sequence_of(outgoing.ordinal)

    def rewind(self) -> None:
        """What is not acknowledged is to be sent again."""
        self._sent = 0

    def first(self) -> Outgoing | None:
        """The first that was sent and is not acknowledged."""
        return self._queue[0] if self._sent else None

    def acknowledge(self, base_offset: int) -> list[Entry]:
        """The first that was sent is in the target. returns   entries to be written, with the target offsets that it has in fact"""
        assert self._sent, "nothing was sent"
        outgoing = self._queue.popleft()
        self._sent -= 1
        piece = outgoing.piece
        corrections = []
        ordinal = outgoing.ordinal
        for run in piece.runs:
            written = outgoing.ahead.get(ordinal)
            if written is not None:
                self._target_shift = written.target - ordinal
            target = base_offset + ordinal - outgoing.ordinal
            if self._target_shift != target - ordinal:
                entry = Entry(self.acknowledged.generation, run.offset, ordinal, target, self.life)
                corrections.append(replace(written, target=target) if written is not None else entry)
                self._target_shift = target - ordinal
            ordinal += run.records
        end = base_offset + piece.records
        self.acknowledged = replace(
            self.acknowledged, source=piece.next_offset, ordinal=ordinal, target=end, epoch=piece.leader_epoch
        )
        self._next_target = end + self._next_ordinal - ordinal
        self.queued_bytes -= len(piece.batch)
        self.latest_ms = piece.max_timestamp_ms
        self.records += piece.records
        self.bytes += len(piece.batch)
        if self.is_idle:
            self._settle()
        return corrections

    def obsolete(self) -> list[Entry]:
        """Entries that can't come true any more, since other records have their ordinals: to be withdrawn."""
        end = self.acknowledged.ordinal
        gone = [entry for entry in self._doubtful if entry.ordinal < end]
        self._doubtful = [entry for entry in self._doubtful if entry.ordinal >= end]
        return gone

    def skip_to(self, offset: int, generation: int, topic_id: str) -> None:
        """Continue at another source offset: what is between is gone. Only while nothing is queued."""
        assert self.is_idle
        self.acknowledged = replace(
            self.acknowledged, source=offset, generation=generation, topic_id=topic_id, epoch=-1
        )
        self.next_offset = offset
        self.leader_epoch = -1
        self._shift = None
        self._is_after_removed = True

    def _settle(self) -> None:
        """Nothing is queued: what lay between the last record and the next fetch needs no copy.

        While another life may still write records that are removed by now, the position stays before them.
        """
        if self._is_after_removed and not self.may_prove:
            return
        self.acknowledged = replace(self.acknowledged, source=self.next_offset, epoch=self.leader_epoch)
