"""A model of what a mirror meets: a source that is compacted, a target that compares sequences, a journal that fences, several lives.

The lanes, the passage and the recovery are the real ones. What they talk to is here, in a few lines each, so that thousands of
interleavings take a second.
"""

from dataclasses import dataclass, field, replace

from headrace.ids import TopicPartition
from headrace.mirror.identity import LaneName, ordinal_of, sequence_of
from headrace.mirror.journal_record import Entry, Position
from headrace.mirror.lane import Lane
from headrace.mirror.passage import digest_of, pass_on, stamped
from headrace.mirror.recovery import Stored, recover
from headrace.mirror.translation import Translation
from headrace.protocol.record_batch import CONTROL_BIT, Record, build_batch, iterate_records, parse_header

NAME = LaneName("m", "source", "clicks", 0)
WINDOW = 5  # batches of a producer that a partition knows


class Fenced(Exception):
    """A later life writes to the journal."""


class Refused(Exception):
    """A sequence that does not come next."""


class Source:
    """A log of batches: [base offset, last offset, records or None for a marker]."""

    def __init__(self, base=0):
        self.base = base  # of the numbers in its values
        self.batches = []
        self.end = 0
        self.produced = {}  # offset -> value

    def produce(self, count):
        values = [(self.end + index, b"v%d" % (self.base + self.end + index)) for index in range(count)]
        self.batches.append([self.end, self.end + count - 1, dict(values)])
        self.produced.update(values)
        self.end += count

    def mark(self):
        self.batches.append([self.end, self.end, None])
        self.end += 1

    def compact(self, chance):
        """Remove records, markers and whole batches, but for the last batch."""
        kept = []
        for base, last, records in self.batches[:-1]:
            if records is None:
                if chance() >= 0.3:
                    kept.append([base, last, None])
                continue
            left = {offset: value for offset, value in records.items() if chance() >= 0.3}
            if left or chance() < 0.3:
                kept.append([base, last, left])
        self.batches = kept + self.batches[-1:]

    def key_of(self, _offset):
        return b"k"

    def lose_head(self, batches):
        """Retention: the first batches are gone, but not the last one of all."""
        self.batches = self.batches[min(batches, len(self.batches) - 1) :]

    @property
    def start(self):
        return self.batches[0][0] if self.batches else self.end

    def survivors(self):
        return {offset: value for _base, _last, records in self.batches for offset, value in (records or {}).items()}

    def fetch(self, offset, batches_max):
        parts = []
        for base, last, records in self.batches:
            if last < offset:
                continue
            if records is None:
                data = build_batch([(b"\0\0\0\1", b"\0" * 6)], base_offset=base, attributes=CONTROL_BIT)
            else:
                rows = [Record(at - base, 1_000 + at, self.key_of(at), value) for at, value in sorted(records.items())]
                data = bytearray(build_batch(rows, base_offset=base))
                data[23:27] = (last - base).to_bytes(4, "big")  # the cleaner keeps the last offset
                header = parse_header(data)
                from headrace.protocol.record_batch import seal_batch

                data = seal_batch(header, data[61:])
            parts.append(bytes(data))
            if len(parts) == batches_max:
                break
        return memoryview(b"".join(parts))


class Target:
    """A log that takes a batch where its sequence comes next."""

    def __init__(self):
        self.log = []  # (offset, producer id, sequence, count, batch)
        self.end = 0

    def append(self, batch):
        header = parse_header(batch)
        ours = [row for row in self.log if row[1] == header.producer_id]
        for offset, _producer, sequence, count, _batch in ours[-WINDOW:]:
            if (sequence, count) == (header.base_sequence, header.record_count):
                return offset
        due = ours[-1][2] + ours[-1][3] if ours else 0
        if header.base_sequence != due:
            raise Refused
        self.log.append((self.end, header.producer_id, header.base_sequence, header.record_count, bytes(batch)))
        self.end += header.record_count
        return self.end - header.record_count

    def append_foreign(self, count):
        self.log.append((self.end, 1, 0, count, None))
        self.end += count

    def lose_tail(self, keep):
        """An unclean election: batches from `keep` on are gone."""
        self.log = self.log[:keep]
        self.end = self.log[-1][0] + self.log[-1][3] if self.log else 0

    def batch_at(self, offset):
        return next(batch for at, _producer, _sequence, _count, batch in self.log if at == offset)

    def values(self, producer_id):
        """(target offset, value) of a producer's records."""
        found = []
        for offset, producer, _sequence, _count, batch in self.log:
            if producer == producer_id:
                found += [(offset + index, one.value) for index, one in enumerate(iterate_records(batch))]
        return found


@dataclass
class Journal:
    """Records in order, with the life that wrote each; a later life fences the earlier ones."""

    rows: list = field(default_factory=list)
    life: int = 0

    def claim(self):
        self.life += 1
        return self.life

    def append(self, life, rows):
        if life != self.life:
            raise Fenced
        self.rows += rows

    def position(self):
        return next((row for row in reversed(self.rows) if isinstance(row, Position)), Position(0, 0, 0, 0, 0))

    def translation(self):
        found = Translation()
        for row in self.rows:
            if isinstance(row, Position):
                found.place(row)
            elif isinstance(row, Entry):
                found.add(row)
            else:
                found.withdraw(row[1])
        return found


class Life:
    """One process of the mirror, from its start to its end."""

    def __init__(self, source, target, journal):
        self.source, self.target, self.journal = source, target, journal
        self.life = journal.claim()
        self.lane = None
        self.is_expired = False  # it has to assert its claim before it sends again
        self.is_alone = self.life == 1  # every life before it has expired
        self.locate()

    def expire_others(self, lives):
        """The lease of the earlier lives passes."""
        for other in lives:
            if other is not self:
                other.is_expired = True
        self.is_alone = True
        self.relocate()

    def relocate(self):
        """Begin anew, as a later life."""
        self.journal.append(self.life, [])
        self.life = self.journal.claim()
        self.locate()

    def locate(self):
        position = self.journal.position()
        entries = self.journal.translation().entries()
        stored = []
        from headrace.mirror.identity import data_producer_id

        near = position.ordinal
        for offset, producer, sequence, count, batch in self.target.log:
            if producer == data_producer_id(NAME) and offset >= position.target:
                near = ordinal_of(sequence, near)
                stored.append(Stored(near, count, offset, lambda batch=batch: digest_of(batch)))
        recovered = recover(position, entries, stored, self.life)
        rows = [("withdrawn", entry) for entry in recovered.refuted]
        self.journal.append(self.life, [*recovered.corrections, *rows, recovered.position])
        self.lane = Lane(NAME, TopicPartition("clicks", 0), recovered)
        self.lane.may_prove = self.is_alone

    def fetch(self, batches_max):
        lane = self.lane
        data = self.source.fetch(lane.next_offset, batches_max)
        entries = lane.take(pass_on(data, lane.next_offset, None, lane.is_after_removed))
        if entries:
            self.journal.append(self.life, entries)

    def send(self):
        """Send and hear the answer; False: nothing to send."""
        lane = self.lane
        if self.is_expired:
            self.journal.append(self.life, [])
        outgoing = lane.next_batch()
        if outgoing is None:
            return False
        batch = stamped(outgoing.piece.batch, lane.producer_id, 0, sequence_of(outgoing.ordinal))
        try:
            base_offset = self.target.append(batch)
        except Refused:
            self.relocate()
            return True
        if outgoing.digest and digest_of(self.target.batch_at(base_offset)) != outgoing.digest:
            self.relocate()
            return True
        corrections = lane.acknowledge(base_offset)
        if corrections:
            self.journal.append(self.life, corrections)
        return True

    def checkpoint(self):
        gone = [("withdrawn", entry) for entry in self.lane.obsolete()]
        self.journal.append(self.life, [*gone, replace(self.lane.acknowledged, life=self.life)])

    def finish(self):
        """Copy to the end, undisturbed."""
        for _ in range(1_000):
            while self.send():
                pass
            if self.lane.next_offset >= self.source.end:
                break
            self.fetch(100)
        self.checkpoint()
