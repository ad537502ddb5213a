"""The judge: a history of operations in, what it shows of anomalies out. Pure.

Used by: the campaign, at the end of each round; `test_judge.py` shows that it catches each class.

    lost-write              acknowledged, or read once, and not there at the end, at its offset
    duplicate               one value at two offsets
    inconsistent-offsets    two values at one offset
    changed                 a value that nobody sent: bytes changed, or made up
    G1a                     a value is there whose send certainly failed, or whose transaction was aborted
    unseen                  there at the end, and a consumer that read on past it never saw it, nor any member of a group
                            that committed past it
    poll-skip               between two polls of a client a record is left out that is known to be there
    nonmonotonic-poll       a client is given what lies before its last poll
    int-poll-skip, int-nonmonotonic-poll    the same within one poll, or within one transaction
    nonmonotonic-send       a client's later send lies before its earlier one
    int-send-skip, int-nonmonotonic-send    records of one batch are not one after the other, in order; the second one
                            also: of one transaction
    brought-back            a record below where records were deleted, or of an older incarnation of its topic, is read
    committed-back          a group's offset is lower than one acknowledged before
    committed-lost          a group's offset is gone
    committed-stale         a group has an offset in a topic that it was never given there: of an older incarnation

Deleted records (DeleteRecords) may come back where all of the node is killed before its checkpoint is written, as with
Kafka; so a crash counts what the checkpoint says then, and what was firm once has to stay gone.

Jepsen's other classes are of transactions alone: precommitted-read, G0, G1c (`transaction_judge.py`). What a record of a
transaction counts for follows from the transaction's end: aborted, it must not be read by who reads what is committed.

Source: Jepsen's `tests.kafka`; hazards, "How delivery is judged".
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from tests.chaos.history import (
    FRESH,
    NO_OFFSET,
    CleanStop,
    Commit,
    Committed,
    Crash,
    Create,
    Delete,
    Operation,
    Outcome,
    Poll,
    Send,
    TransactionEnd,
    Trim,
)

CLASSES = (
    "lost-write",
    "duplicate",
    "inconsistent-offsets",
    "changed",
    "G1a",
    "unseen",
    "poll-skip",
    "nonmonotonic-poll",
    "int-poll-skip",
    "int-nonmonotonic-poll",
    "nonmonotonic-send",
    "int-send-skip",
    "int-nonmonotonic-send",
    "brought-back",
    "committed-back",
    "committed-lost",
    "committed-stale",
)


class Anomaly(NamedTuple):
    """One thing that must not happen; `kind` is one of CLASSES (or of `key_judge.CLASSES`)."""

    kind: str
    text: str


class Place(NamedTuple):
    """Where a record lies."""

    topic: str
    generation: int
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}#{self.generation}-{self.partition}@{self.offset}"


Log = tuple[str, int, int]  # topic, generation, partition


def judge(operations: Sequence[Operation]) -> list[Anomaly]:
    """Everything that a history shows."""
    facts = _Facts(operations)
    return [
        *_judge_places(facts),
        *_judge_final(facts),
        *_judge_unseen(facts),
        *_judge_groups(facts, operations),
        *_judge_polls(facts),
        *_judge_sends(facts),
        *_judge_deleted(operations),
        *_judge_commits(operations),
    ]


class _Facts:
    """Indexes over a history."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self.sends = settled_sends(operations)
        self.polls = [one for one in operations if isinstance(one, Poll)]
        self.trims: dict[Log, list[Trim]] = defaultdict(list)
        for one in operations:
            if isinstance(one, Trim):
                self.trims[one.topic, one.generation, one.partition].append(one)
        self.send_of = {value: send for send in self.sends for value in send.values}
        self.read_committed = {record.value for poll in self.polls if poll.reads_committed for record in poll.records}
        self.places: dict[str, dict[Place, None]] = defaultdict(dict)  # of a value, where it was read
        self.values: dict[Place, dict[str, None]] = defaultdict(dict)  # at a place, acknowledged or read
        self.final: dict[Place, str] = {}
        for poll in self.polls:
            for record in poll.records:
                place = Place(poll.topic, poll.generation, record.partition, record.offset)
                self.places[record.value][place] = None
                self.values[place][record.value] = None
                if poll.client == FRESH:
                    self.final[place] = record.value
        for send in self.sends:
            if send.outcome is Outcome.OK and send.base_offset != NO_OFFSET:
                for index, value in enumerate(send.values):
                    place = Place(send.topic, send.generation, send.partition, send.base_offset + index)
                    self.values[place][value] = None
        self.live = _live_generations(operations)

    def is_visible(self, value: str) -> bool:
        """Whether it is there for those too who read only what is committed."""
        send = self.send_of.get(value)
        return send is None or not send.transaction or send.outcome is Outcome.OK or value in self.read_committed

    def trimmed_to(self, log: Log, before: float = float("inf")) -> int:
        """The highest offset up to which somebody asked, until then, to have records deleted."""
        asked = [
            max(trim.asked, trim.low_watermark)
            for trim in self.trims.get(log, ())
            if trim.began <= before and trim.outcome is not Outcome.FAILED
        ]
        return max(asked, default=0)


def settled_sends(operations: Iterable[Operation]) -> list[Send]:
    """The sends, those of transactions with the outcome that the end of their transaction gives them."""
    operations = list(operations)
    ends = {one.transaction: one.outcome for one in operations if isinstance(one, TransactionEnd)}
    found = []
    for one in operations:
        if isinstance(one, Send):
            end = ends.get(one.transaction, Outcome.UNKNOWN) if one.transaction else Outcome.OK
            found.append(one if end is Outcome.OK or one.outcome is Outcome.FAILED else one._replace(outcome=end))
    return found


def _live_generations(operations: Iterable[Operation]) -> dict[str, int]:
    """The generation of each topic that has to be there at the end; 0 where nobody spoke of any."""
    live: dict[str, int] = {}
    for one in operations:
        if isinstance(one, Send | Poll):
            live.setdefault(one.topic, one.generation)
        elif isinstance(one, Create):
            live[one.topic] = one.generation
        elif isinstance(one, Delete):
            live[one.topic] = NO_OFFSET
    return live


def _judge_places(facts: _Facts) -> Iterator[Anomaly]:
    """What is wrong with single values and single places."""
    for value, places in facts.places.items():
        send = facts.send_of.get(value)
        first = next(iter(places))
        if send is None:
            yield Anomaly("changed", f"{value[:120]!r} read at {first}, nobody sent it")
            continue
        if send.outcome is Outcome.FAILED and (not send.transaction or value in facts.read_committed):
            yield Anomaly("G1a", f"{value} read at {first}, its send had failed")
        for place in places:
            if place.topic != send.topic or place.partition != send.partition:
                yield Anomaly("changed", f"{value} read at {place}, sent to {send.topic}-{send.partition}")
            elif place.generation > send.generation and send.outcome is not Outcome.UNKNOWN:
                yield Anomaly("brought-back", f"{value} of incarnation {send.generation} read at {place}")
    for value, send in facts.send_of.items():
        known = dict(facts.places.get(value, ()))
        if send.outcome is Outcome.OK and send.base_offset != NO_OFFSET:
            index = send.values.index(value) if len(send.values) > 1 else 0
            known[Place(send.topic, send.generation, send.partition, send.base_offset + index)] = None
        if len({place[2:] for place in known}) > 1:
            yield Anomaly("duplicate", f"{value} at {' and '.join(map(str, known))}")
    for place, values in facts.values.items():
        if len(values) > 1:
            yield Anomaly("inconsistent-offsets", f"{place}: {' and '.join(values)}")


def _judge_final(facts: _Facts) -> Iterator[Anomaly]:
    """What was acknowledged or read has to be there at the end."""
    floors: dict[Log, int] = {}
    for place, values in facts.values.items():
        if facts.live.get(place.topic) != place.generation or place in facts.final:
            continue
        if not any(map(facts.is_visible, values)):
            continue
        log = place[:3]
        if log not in floors:
            floors[log] = facts.trimmed_to(log)
        if place.offset >= floors[log]:
            value = next(iter(values))
            known = facts.send_of.get(value)
            how = "acknowledged" if known is not None and known.outcome is Outcome.OK else "read"
            yield Anomaly("lost-write", f"{value} was {how} at {place}, nothing is there at the end")
    for send in facts.sends:
        if send.outcome is Outcome.OK and send.base_offset == NO_OFFSET:
            yield from _judge_somewhere(facts, send)
    for place, value in facts.final.items():
        for other in facts.values[place]:
            send = facts.send_of.get(other)
            if other != value and send is not None and send.outcome is Outcome.OK:
                yield Anomaly("lost-write", f"{other} was acknowledged at {place}, {value[:120]} is there at the end")


def _judge_somewhere(facts: _Facts, send: Send) -> Iterator[Anomaly]:
    """A duplicate that the broker knew again is acknowledged without its offset: the record has to be somewhere."""
    log = (send.topic, send.generation, send.partition)
    if facts.live.get(send.topic) == send.generation and not facts.trimmed_to(log):
        for value in send.values:
            if not any(place in facts.final for place in facts.places.get(value, ())):
                yield Anomaly("lost-write", f"{value} was acknowledged in {log}, it is nowhere at the end")


def _judge_unseen(facts: _Facts) -> Iterator[Anomaly]:
    """A consumer that reads on and on sees everything before the last record that it saw."""
    seen: dict[tuple[str, Log], set[int]] = defaultdict(set)
    for poll in facts.polls:
        if poll.is_buffered and not poll.group:
            for record in poll.records:
                seen[poll.client, (poll.topic, poll.generation, record.partition)].add(record.offset)
    final: dict[Log, list[int]] = defaultdict(list)
    for place, value in facts.final.items():
        if facts.is_visible(value):
            final[place[:3]].append(place.offset)
    for (client, log), offsets in seen.items():
        floor, end = facts.trimmed_to(log), max(offsets)
        for offset in sorted(final.get(log, ())):
            if floor <= offset < end and offset not in offsets:
                yield Anomaly("unseen", f"{facts.final[Place(*log, offset)]} at {Place(*log, offset)} by {client}")


def _judge_groups(facts: _Facts, operations: Iterable[Operation]) -> Iterator[Anomaly]:
    """What a group committed past, one of its members was given."""
    given: dict[str, set[Place]] = defaultdict(set)
    for poll in facts.polls:
        if poll.group:
            given[poll.group].update(
                Place(poll.topic, poll.generation, one.partition, one.offset) for one in poll.records
            )
    ends: dict[tuple[str, Log], int] = defaultdict(int)
    for one in operations:
        if isinstance(one, Commit) and one.group in given and one.outcome is Outcome.OK:
            key = (one.group, (one.topic, one.generation, one.partition))
            ends[key] = max(ends[key], one.offset)
    floors = {log: facts.trimmed_to(log) for _group, log in ends}
    for (group, log), end in ends.items():
        for place, value in facts.final.items():
            is_owed = place[:3] == log and floors[log] <= place.offset < end and facts.is_visible(value)
            if is_owed and place not in given[group]:
                yield Anomaly("unseen", f"{value} at {place} by {group}, which committed {end}")


def _judge_polls(facts: _Facts) -> Iterator[Anomaly]:
    """Each client is given the records of a partition in order, and none is left out."""
    known: dict[Log, list[int]] = defaultdict(list)
    for place, values in facts.values.items():
        if any(map(facts.is_visible, values)):
            known[place[:3]].append(place.offset)
    for offsets in known.values():
        offsets.sort()
    last: dict[tuple[str, Log], int] = {}
    inside: dict[tuple[str, Log], str] = {}  # the transaction of the last poll
    for poll in facts.polls:
        within: set[int] = set()
        for record in poll.records:
            log = (poll.topic, poll.generation, record.partition)
            before = last.get((poll.client, log))
            is_first = record.partition not in within
            within.add(record.partition)
            if is_first and poll.position != NO_OFFSET:
                before = poll.position - 1
            is_inside = poll.transaction != "" and inside.get((poll.client, log)) == poll.transaction
            last[poll.client, log], inside[poll.client, log] = record.offset, poll.transaction
            if before is None:
                continue
            prefix = "" if is_first and not is_inside else "int-"
            if record.offset <= before:
                yield Anomaly(
                    f"{prefix}nonmonotonic-poll", f"{poll.client}: {Place(*log, record.offset)} after {before}"
                )
                continue
            if record.offset == before + 1:
                continue
            index = bisect_left(known[log], before + 1)
            index = max(index, bisect_left(known[log], facts.trimmed_to(log, poll.ended)))
            if index < len(known[log]) and known[log][index] < record.offset:
                left_out = Place(*log, known[log][index])
                yield Anomaly(
                    f"{prefix}poll-skip", f"{poll.client}: {record.offset} after {before}, {left_out} left out"
                )


def _judge_sends(facts: _Facts) -> Iterator[Anomaly]:
    """Sends of one client lie in their order, records of one batch side by side."""
    acknowledged: dict[tuple[str, Log], list[Send]] = defaultdict(list)
    for send in facts.sends:
        if send.outcome is Outcome.OK and send.base_offset != NO_OFFSET:
            acknowledged[send.client, (send.topic, send.generation, send.partition)].append(send)
        if len(send.values) > 1:
            yield from _judge_batch(facts, send)
    for (client, _log), sends in acknowledged.items():
        sends.sort(key=lambda send: send.began)
        for one, other in pairwise(sends):
            if other.base_offset <= one.base_offset:
                is_inside = one.transaction != "" and one.transaction == other.transaction
                yield Anomaly(
                    "int-nonmonotonic-send" if is_inside else "nonmonotonic-send",
                    f"{client}: {other.values[0]} at {other.base_offset}, sent after {one.values[0]} at {one.base_offset}",
                )


def _judge_batch(facts: _Facts, send: Send) -> Iterator[Anomaly]:
    final = {
        value: place
        for value in send.values
        for place in facts.places.get(value, ())
        if facts.final.get(place) == value
    }
    if not final:
        return
    offsets = [final[value].offset for value in send.values if value in final]
    bases = {place.offset - send.values.index(value) for value, place in final.items()}
    generation = next(iter(final.values())).generation
    floor = facts.trimmed_to((send.topic, generation, send.partition))
    missing = [min(bases) + index for index, value in enumerate(send.values) if value not in final]
    if any(other <= one for one, other in pairwise(offsets)):
        yield Anomaly("int-nonmonotonic-send", f"{send.client}: {send.values[0]}... lie at {offsets}")
    elif len(bases) > 1 or any(offset >= floor for offset in missing):
        yield Anomaly("int-send-skip", f"{send.client}: {len(send.values)} of {send.values[0]}... lie at {offsets}")


def _judge_deleted(operations: Sequence[Operation]) -> Iterator[Anomaly]:
    """No unbuffered poll that began after records were deleted shows one of them."""
    acknowledged: dict[Log, int] = {}
    firm: dict[Log, int] = {}
    trims = [(one.ended, 0, one) for one in operations if isinstance(one, Trim) and one.outcome is Outcome.OK]
    ends = [(one.at, 1, one) for one in operations if isinstance(one, Crash | CleanStop)]
    polls = [(one.began, 2, one) for one in operations if isinstance(one, Poll) and not one.is_buffered]
    created = {(one.topic, one.generation): one.ended for one in operations if isinstance(one, Create)}
    for _at, _order, one in sorted([*trims, *ends, *polls], key=lambda event: event[:2]):
        if isinstance(one, Trim):
            log = (one.topic, one.generation, one.partition)
            acknowledged[log] = max(acknowledged.get(log, 0), one.low_watermark)
        elif isinstance(one, CleanStop):
            firm.update(acknowledged)
        elif isinstance(one, Crash):
            for log, floor in acknowledged.items():
                if created.get(log[:2], 0.0) <= one.at:
                    written = one.log_starts.get((log[0], log[2]), 0)
                    firm[log] = max(firm.get(log, 0), min(floor, written))
            acknowledged = dict(firm)
        elif isinstance(one, Poll):
            for record in one.records:
                floor = acknowledged.get((one.topic, one.generation, record.partition), 0)
                if record.offset < floor:
                    place = Place(one.topic, one.generation, record.partition, record.offset)
                    yield Anomaly("brought-back", f"{one.client}: {place} read, deleted up to {floor}")
                    break


def _judge_commits(operations: Sequence[Operation]) -> Iterator[Anomaly]:
    """What groups read of their offsets against what they were told is stored. Each commit of a group is higher."""
    floors: dict[tuple[str, Log], int] = {}
    possible: dict[tuple[str, str, int], list[Commit]] = defaultdict(list)
    for one in operations:
        if isinstance(one, Commit) and one.outcome is not Outcome.FAILED:
            possible[one.group, one.topic, one.partition].append(one)
    commits = [(one.ended, 0, one) for one in operations if isinstance(one, Commit) and one.outcome is Outcome.OK]
    reads = [(one.began, 1, one) for one in operations if isinstance(one, Committed)]
    for _at, _order, one in sorted([*commits, *reads], key=lambda event: event[:2]):
        key = (one.group, (one.topic, one.generation, one.partition))
        if isinstance(one, Commit):
            floors[key] = max(floors.get(key, NO_OFFSET), one.offset)
            continue
        floor = floors.get(key, NO_OFFSET)
        where = f"{one.group} in {one.topic}#{one.generation}-{one.partition}"
        if one.offset == NO_OFFSET:
            if floor != NO_OFFSET:
                yield Anomaly("committed-lost", f"{where}: none, {floor} was acknowledged")
        elif one.is_settled and not any(
            commit.offset == one.offset
            and (
                commit.generation == one.generation
                or (commit.outcome is Outcome.UNKNOWN and commit.generation < one.generation)
            )
            for commit in possible[one.group, one.topic, one.partition]
        ):
            yield Anomaly("committed-stale", f"{where}: {one.offset}, which it was not given there")
        elif one.offset < floor:
            yield Anomaly("committed-back", f"{where}: {one.offset}, {floor} was acknowledged")
