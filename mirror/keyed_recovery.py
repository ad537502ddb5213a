"""Where a partition that is copied by key continues after a start. Pure.

    position   (s; n, t of each target partition): the records below s are in the target, n of them in each partition
    chunks     the offsets from s on, divided: how many records each target partition gets of which offsets, in one batch
    tails      our batches in each target partition from its t on

A chunk is in the journal before any batch of it is sent, and a batch is whole or not there. So a target partition has the first chunks that
have a share for it, and lacks the others. The end of a tail says how many records are there; batches before it may be gone by compaction
or retention of the target. Ordinals are not in the journal: they are the sum of the shares before. So a chunk that is
written again with fewer records moves the ones after it by itself.

Anything else than that is no state that a mirror leaves, and is refused (`Contradiction`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from headrace.errors import HeadraceError
from headrace.mirror.journal_record import Chunk, KeyedPosition, Place
from headrace.mirror.recovery import Stored


class Contradiction(HeadraceError):
    """The target has something else than the journal says."""


class Pending(NamedTuple):
    """A chunk that some target partitions lack.

    had   target partition -> its offset after the batch, of those that have theirs
    """

    chunk: Chunk
    had: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class KeyedRecovered:
    """What follows.

    place      the position before, where it has moved: to be kept for groups
    pending    chunks above the position, in order: to be read again with the same borders
    ordinals   of the next record for each target partition
    done       chunks below the position: to be withdrawn
    """

    position: KeyedPosition
    place: Place | None
    pending: tuple[Pending, ...]
    ordinals: tuple[int, ...]
    done: tuple[Chunk, ...]


def lanes_of(position: KeyedPosition, chunks: Sequence[Chunk], partitions: int) -> int:
    """How many target partitions may have something of ours."""
    return max(partitions, len(position.ordinals), *(chunk.partitions for chunk in chunks), 0)


def recover_keyed(
    position: KeyedPosition, chunks: Sequence[Chunk], tails: Sequence[Sequence[Stored]], life: int
) -> KeyedRecovered:
    """Where a life of the mirror continues.

    position   as the journal has it
    chunks     all that the journal has of the partition
    tails      for each target partition, each batch following the one before; none before the position's
    raises     Contradiction
    """
    missing = len(tails) - len(position.ordinals)
    ordinals = [*position.ordinals, *[0] * missing]
    targets = [*position.targets, *[0] * missing]
    ends = [tail[-1].ordinal + tail[-1].records if tail else ordinals[number] for number, tail in enumerate(tails)]
    above = [one for one in chunks if (one.generation, one.source) >= (position.generation, position.source)]
    above.sort(key=lambda one: one.source)
    pending = _judged(position, above, tails, list(ordinals), list(targets), ends)
    done = [one for one in chunks if one not in above]
    source = position.source
    while pending and len(pending[0].had) == len(pending[0].chunk.shares):
        chunk, had = pending.pop(0)
        for share in chunk.shares:
            ordinals[share.partition] += share.records
            targets[share.partition] = had[share.partition]
        source = chunk.until
        done.append(chunk)
    found = replace(
        position,
        life=life,
        source=source,
        epoch=position.epoch if source == position.source else -1,
        ordinal=sum(ordinals),
        ordinals=tuple(ordinals),
        targets=tuple(targets),
    )
    place = Place(position.generation, position.source, position.targets) if source > position.source else None
    return KeyedRecovered(found, place, tuple(pending), tuple(ends), tuple(done))


def _judged(
    position: KeyedPosition,
    chunks: Sequence[Chunk],
    tails: Sequence[Sequence[Stored]],
    ordinals: list[int],
    reached: list[int],
    ends: Sequence[int],
) -> list[Pending]:
    """The chunks above a position, and who has what of them."""
    stored = [{one.ordinal: one for one in tail} for tail in tails]
    found = []
    due = position.source
    for chunk in chunks:
        if chunk.generation != position.generation or not chunk.since <= due <= chunk.source:
            raise Contradiction(
                f"the journal ends at source offset {due}, but continues at {chunk.source} (after {chunk.since})"
            )
        had = {}
        for number, records, _digest in chunk.shares:
            ordinal = ordinals[number]
            batch = stored[number].get(ordinal)
            if ordinal < ends[number]:
                if ordinal + records > ends[number] or (batch is not None and batch.records != records):
                    raise Contradiction(
                        f"target partition {number} has {batch.records if batch else ends[number] - ordinal} records from ordinal "
                        f"{ordinal} on, the journal has {records} of source offsets {chunk.source} to {chunk.until}"
                    )
                if batch is not None:
                    reached[number] = batch.target + records
                had[number] = reached[number]
            ordinals[number] += records
        found.append(Pending(chunk, had))
        due = chunk.until
    for number, end in enumerate(ends):
        if end > ordinals[number]:
            raise Contradiction(f"target partition {number} has {end} records, the journal knows of {ordinals[number]}")
    return found
