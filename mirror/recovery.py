"""Where a partition continues after a start: found from the target's log, the position and the entries. Pure.

    position   (s, n, t): the records below s are in the target, n of them, below t
    stored     the batches of our producer id at t and after it: they say how many records are there, not which
    entries    which source offset an ordinal has

An entry is written before the first batch that it is about. So whatever is in the log has its entry in the journal, but not every entry
came true: the mirror died before it wrote the batch, or another life of it wrote other records there. Therefore

- an entry at or above the end of what is stored does not apply (it is found again when the source is read again),
- an entry with a digest applies only where the batch that begins at its ordinal has this digest,
- of several that are left at one ordinal the last applies, one with a digest before one without.

Offsets in the target are taken from the batches. Where they differ from what an entry expected, since others write to the partition too,
the entry is written again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from headrace.mirror.journal_record import Entry, Position
from headrace.mirror.translation import applied


class Stored(NamedTuple):
    """A batch of ours in the target.

    digest   of its records; called only where an entry asks for it
    """

    ordinal: int
    records: int
    target: int
    digest: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Recovered:
    """What follows.

    shift         source offset - ordinal, of the run that is being written; None: there is none yet
    target_shift  target offset - ordinal, as the last entry says it
    corrections   entries to be written, with offsets that the target has in fact
    refuted       entries that did not come true, below the end: to be withdrawn
    doubtful      entries at or above the end: they may still come true, if another life of the mirror writes
    """

    position: Position
    shift: int | None
    target_shift: int | None
    corrections: tuple[Entry, ...]
    refuted: tuple[Entry, ...]
    doubtful: tuple[Entry, ...]


def recover(position: Position, entries: Sequence[Entry], stored: Sequence[Stored], life: int) -> Recovered:
    """Where a life of the mirror continues.

    position   as the journal has it
    entries    of its generation, in the order in which they were written
    stored     from the position on, each batch following the one before
    """
    end = stored[-1].ordinal + stored[-1].records if stored else position.ordinal
    known = [entry for entry in entries if entry.generation == position.generation]
    below = [entry for entry in known if entry.ordinal < position.ordinal]
    batches = {one.ordinal: one for one in stored}
    last = applied(below)[-1:]
    # all below the position's source was copied below its ordinal
    contradicting = [one for one in known if one.ordinal >= position.ordinal and one.source < position.source]
    known = [one for one in known if one not in contradicting]
    true, refuted = _judged(
        [entry for entry in known if position.ordinal <= entry.ordinal < end],
        batches,
        position.source - position.ordinal,
    )
    doubtful = tuple(entry for entry in known if entry.ordinal >= end)
    source_shift = last[0].source - last[0].ordinal if last else None
    target_shift = last[0].target - last[0].ordinal if last else None
    corrections = []
    refuted += contradicting
    by_ordinal = {entry.ordinal: entry for entry in true}
    # the position itself is a point of the run: what is before it was acknowledged, and a gap at it has an entry of its own
    next_source = position.source
    shift = position.source - position.ordinal
    for batch in stored:
        for ordinal in range_starts(batch, by_ordinal):
            entry = by_ordinal.get(ordinal)
            if entry is not None:
                shift = entry.source - ordinal
                target_shift = entry.target - ordinal
            source_shift = shift
            actual = batch.target + (ordinal - batch.ordinal)
            if target_shift != actual - ordinal:
                base = entry or Entry(position.generation, ordinal + shift, ordinal, actual, life)
                corrections.append(replace(base, target=actual, life=life))
                target_shift = actual - ordinal
                if entry is not None and entry.life != life:
                    refuted.append(entry)
        next_source = batch.ordinal + batch.records + shift
    target = stored[-1].target + stored[-1].records if stored else position.target
    found = replace(position, life=life, source=next_source, ordinal=end, target=target)
    if source_shift is not None and found.source - found.ordinal != source_shift:
        source_shift = None  # the position lies after a gap that has no entry yet
    return Recovered(found, source_shift, target_shift, tuple(corrections), tuple(refuted), doubtful)


def range_starts(batch: Stored, by_ordinal: dict[int, Entry]) -> list[int]:
    """Ordinals in a batch at which something may begin: its first, and those of entries."""
    inner = [ordinal for ordinal in by_ordinal if batch.ordinal < ordinal < batch.ordinal + batch.records]
    return [batch.ordinal, *sorted(inner)]


def _judged(entries: Sequence[Entry], batches: dict[int, Stored], shift: int) -> tuple[list[Entry], list[Entry]]:
    """(those that came true, by ordinal; the others).

    A life counts its ordinals on from each of its entries: where one is false, so are the ones after it, but for those that are proved.
    A life writes what needs proof only once no earlier life writes. So where it is proved, and an earlier life had another record
    there, all that the earlier one planned from there on is false.

    shift   source offset - ordinal at the position
    """
    proved = {entry for entry in entries if entry.needs_proof and _is_proved(entry, batches.get(entry.ordinal))}
    false_from: dict[int, int] = {}  # by life
    for entry in entries:
        if entry.needs_proof and entry not in proved:
            false_from[entry.life] = min(entry.ordinal, false_from.get(entry.life, entry.ordinal))
    true: dict[int, Entry] = {}
    refuted: list[Entry] = []
    for entry in entries:
        is_false = entry.ordinal >= false_from.get(entry.life, entry.ordinal + 1)
        around = {one.life for one in proved if 0 < entry.ordinal - one.ordinal < one.count}
        is_within = bool(around) and entry.life not in around
        is_overtaken = is_within or any(
            one.life > entry.life
            and one.ordinal <= entry.ordinal
            and _source_at(entry.life, one.ordinal, entries, shift) != one.source
            for one in proved
        )
        before = true.get(entry.ordinal)
        if entry not in proved and (is_false or is_overtaken or before in proved):
            refuted.append(entry)
            continue
        if before is not None:
            refuted.append(before)
        true[entry.ordinal] = entry
    kept: list[Entry] = []
    for ordinal in sorted(true):
        entry = true[ordinal]
        # the difference only grows: ordinals have no gaps, and source offsets have some
        while kept and entry in proved and kept[-1].source - kept[-1].ordinal > entry.source - ordinal:
            refuted.append(kept.pop())
        if entry.source - ordinal < (kept[-1].source - kept[-1].ordinal if kept else shift):
            refuted.append(entry)
        else:
            kept.append(entry)
    return kept, refuted


def _source_at(life: int, ordinal: int, entries: Sequence[Entry], shift: int) -> int:
    """The source offset that a life gave to an ordinal."""
    own = [entry for entry in entries if entry.life == life and entry.ordinal <= ordinal]
    last = max(own, key=lambda entry: entry.ordinal, default=None)
    return ordinal + (last.source - last.ordinal if last is not None else shift)


def _is_proved(entry: Entry, batch: Stored | None) -> bool:
    return batch is not None and batch.records == entry.count and batch.digest() == entry.digest
