"""A model of what a copy by key meets: as `model.py`, with several target partitions, a network that delivers requests late, and answers
that are lost.

The lanes, the dividing and the recovery are the real ones.
"""

from dataclasses import replace

from headrace.mirror.identity import DATA_EPOCH, keyed_producer_id, ordinal_of
from headrace.mirror.journal_record import Chunk, KeyedPosition, Place
from headrace.mirror.keyed_lane import KeyedLane, NotQuiet
from headrace.mirror.keyed_recovery import lanes_of, recover_keyed
from headrace.mirror.passage import digest_of, sift, stamped
from headrace.mirror.places import Places
from headrace.mirror.recovery import Stored
from headrace.protocol.record_batch import iterate_records
from tests.mirror.model import NAME, Refused, Source, Target
from tests.mirror.model import Journal as PlainJournal

PART_BYTES = 150  # a few records, so that chunks end early
SPAN = 10_000  # between the numbers of a topic and of the one that is created in its place
KEYS = 7


class KeyedSource(Source):
    """Each eleventh record has no key."""

    def key_of(self, offset):
        return None if offset % 11 == 0 else b"key %d" % (offset % KEYS)


class Journal(PlainJournal):
    """With what a copy by key writes."""

    def position(self):
        return next((row for row in reversed(self.rows) if isinstance(row, KeyedPosition)), None)

    def chunks(self):
        found = {}
        for row in self.rows:
            if isinstance(row, Chunk):
                found[row.generation, row.source] = row
            elif isinstance(row, tuple) and isinstance(row[1], Chunk):
                found.pop((row[1].generation, row[1].source), None)
        return list(found.values())

    def places(self):
        found = Places()
        for row in self.rows:
            if isinstance(row, Place):
                found.add(row)
            elif isinstance(row, tuple) and isinstance(row[1], Place):
                found.withdraw(row[1])
        return found


class World:
    """Source, target partitions, journal, and the requests that are still on their way."""

    def __init__(self, partitions):
        self.source = KeyedSource()
        self.topic_id = "0"
        self.targets = [Target() for _ in range(partitions)]
        self.journal = Journal()
        self.late = []  # (target partition, batch)
        self.gone = set()  # (target partition, offset) of batches that are found no more
        self.lives = []

    def deliver(self, chance):
        """One of the late requests arrives, in any order."""
        if self.late:
            number, batch = self.late.pop(chance.randrange(len(self.late)))
            try:
                self.targets[number].append(batch)
            except Refused:
                pass

    def create_again(self):
        """The topic is deleted at the source and created again."""
        self.source = KeyedSource(self.source.base + SPAN)
        self.topic_id = str(self.source.base)

    def shorten(self, chance):
        """The target removes a batch, but not the last one of a producer."""
        number = chance.randrange(len(self.targets))
        log = self.targets[number].log
        lasts = {producer: offset for offset, producer, *_ in log}
        old = [offset for offset, producer, *_ in log if offset != lasts[producer]]
        if old:
            self.gone.add((number, chance.choice(old)))

    def pass_lease(self, life):
        """Twice the lease passes for the last life: nothing that was sent before arrives any more, others have to assert their claim."""
        self.late.clear()
        for other in self.lives:
            other.is_expired = other is not life
        life.is_quiet = True
        if life.lane is None:
            life.relocate()

    def values(self):
        """For each target partition: (offset, producer id, source offset) of our records."""
        found = []
        for target in self.targets:
            rows = []
            for offset, producer, _sequence, _count, batch in target.log:
                if batch is not None:
                    rows += [
                        (offset + index, producer, int(one.value[1:]))
                        for index, one in enumerate(iterate_records(batch))
                    ]
            found.append(rows)
        return found


class KeyedLife:
    """One process of the mirror, from its start to its end."""

    def __init__(self, world):
        self.world = world
        self.life = world.journal.claim()
        self.is_quiet = self.life == 1
        self.is_expired = False
        self.waits = 0
        self.lane = None
        self.locate()

    def relocate(self):
        self.world.journal.append(self.life, [])
        self.life = self.world.journal.claim()
        self.locate()

    def locate(self):
        journal, targets = self.world.journal, self.world.targets
        count = len(targets)
        ends = tuple(target.end for target in targets)
        first = KeyedPosition(0, 0, 0, 0, -1, self.world.topic_id, ordinals=(0,) * count, targets=ends)
        position = journal.position() or first
        chunks = journal.chunks()
        tails = [self._tail(position, number) for number in range(lanes_of(position, chunks, count))]
        found = recover_keyed(position, chunks, tails, self.life)
        places = [found.place] if found.place is not None else []
        journal.append(self.life, [*places, found.position, *(("withdrawn", chunk) for chunk in found.done)])
        self.lane = KeyedLane(NAME, found, PART_BYTES, self.is_quiet)
        if position.topic_id != self.world.topic_id:
            self._begin_again()

    def _begin_again(self):
        lane = self.lane
        try:
            gone = lane.begin_again(self.world.source.start, self.world.topic_id)
        except NotQuiet:
            self.lane = None
            self.waits += 1
            return
        rows = [("withdrawn", chunk) for chunk in (*lane.obsolete(), *gone)]
        self.world.journal.append(self.life, [lane.acknowledged, *rows])
        lane.was_saved(lane.acknowledged)

    def _tail(self, position, number):
        begins = position.targets[number] if number < len(position.targets) else 0
        near = position.ordinals[number] if number < len(position.ordinals) else 0
        stored = []
        for offset, producer, sequence, count, batch in self.world.targets[number].log:
            if (number, offset) in self.world.gone:
                continue
            if producer == keyed_producer_id(NAME, number) and offset >= begins:
                near = ordinal_of(sequence, near)
                stored.append(Stored(near, count, offset, lambda batch=batch: digest_of(batch)))
        return stored

    def fetch(self, batches_max, bytes_max):
        lane, source = self.lane, self.world.source
        if lane is None:
            return
        if lane.acknowledged.topic_id != self.world.topic_id:
            self.relocate()
            return
        if lane.next_offset < source.start:
            lane.skip_to(source.start)
        data = source.fetch(lane.next_offset, batches_max)
        try:
            chunks = [chunk for one in sift(data, lane.next_offset, None, bytes_max) for chunk in lane.take(one)]
        except NotQuiet:
            self.lane = None
            self.waits += 1
            return
        if chunks:
            self.world.journal.append(self.life, chunks)

    def send(self, number, chance, is_reliable=False):
        """Send a batch of a part; False: it has none."""
        lane = self.lane
        if lane is None or number >= len(lane.parts):
            return False
        part = lane.parts[number]
        if self.is_expired:
            self.world.journal.append(self.life, [])
        outgoing = part.next_batch()
        if outgoing is None:
            return False
        batch = outgoing.piece.batch
        if not outgoing.is_stamped:
            stamped(batch, part.producer_id, DATA_EPOCH, part.sequence_of(outgoing))
            outgoing.is_stamped = True
        fate = 1.0 if is_reliable else chance.random()
        if fate < 0.12:
            self._unanswered(part)
            self.world.late.append((number, bytes(batch)))
            return True
        try:
            base_offset = self.world.targets[number].append(batch)
        except Refused:
            self.relocate()
            return True
        if fate < 0.2:
            self._unanswered(part)
        else:
            lane.acknowledge(part, base_offset)
        return True

    def _unanswered(self, part):
        part.rewind()
        self.is_quiet = False

    def grow(self):
        if self.lane is not None:
            self.lane.grow(len(self.world.targets))

    def checkpoint(self, raises=True):
        lane, journal = self.lane, self.world.journal
        if lane is None:
            return
        if raises:
            lane.raise_targets([target.end for target in self.world.targets])
        before, position = lane.saved, replace(lane.acknowledged, life=self.life)
        rows = []
        if before.source < position.source:
            rows.append(Place(before.generation, before.source, before.targets))
        rows.append(position)
        rows += [("withdrawn", chunk) for chunk in lane.obsolete()]
        journal.append(self.life, rows)
        journal.append(self.life, [("withdrawn", place) for place in journal.places().surplus(position)])
        lane.was_saved(position)

    def finish(self, chance):
        """Copy to the end, undisturbed."""
        for _ in range(1_000):
            if self.lane is None:
                self.world.pass_lease(self)
            while any(self.send(number, chance, True) for number in range(len(self.world.targets))):
                pass
            lane = self.lane
            is_current = lane is not None and lane.acknowledged.topic_id == self.world.topic_id
            if is_current and lane.next_offset >= self.world.source.end and lane.is_idle:
                break
            self.fetch(100, 10_000)
        self.checkpoint()
