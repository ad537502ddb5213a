"""The engine of the group coordinator: finds the cell of `table.py`, does it, and keeps what the functions share.

Every function of the table gets the machine, a group and an event; what it wants done it adds to `effects`. Refusals of the
table are answered here, and nowhere else.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from headrace.errors import ErrorCode
from headrace.limits import GROUPS_PER_PARTITION_MAX
from headrace.state_table import IGNORED, AnyCell, Row, Story, Transition, UnexpectedEvent
from headrace.workers.coordinators.effects import Answer, CancelTimer, LogLine, SetTimer
from headrace.workers.coordinators.group.config import GroupConfig
from headrace.workers.coordinators.group.group import Group
from headrace.workers.coordinators.group.records import METADATA_BYTES_MAX
from headrace.workers.coordinators.group.refusals import refusal_of

# Whether a partition exists.
IsKnown = Callable[[str, int], bool]


class GroupMachine:
    """What the functions of the table share: one for each offsets partition.

    effects       of the event that is being handled, in order
    now_ms        its time, for deadlines: no date
    date_ms       its date, for what is stored
    groups        by their id
    holders       groups that hold offsets of a transaction, by its producer id, until the marker comes
    handed_out    member ids that were handed out, the oldest first -> their group
    expired       offsets that went by the present Upkeep
    cleared       outcomes of OffsetsForgotten, whose tombstones are settled in this step
    is_loading    until the log was read
    name          of the partition
    new_id        makes the random part of member ids
    new_timer     draws the number of a timer
    has_timers    whether a client may cause one more
    is_known      whether a topic has a partition
    short_bytes   metadata up to here is not too long for sure
    story         the last transitions of its groups
    """

    __slots__ = (
        "_rows", "cleared", "config", "date_ms", "effects", "expired", "groups", "handed_out", "has_timers", "holders",
        "is_known", "is_loading", "name", "new_id", "new_timer", "now_ms", "short_bytes", "story",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        rows: Mapping[Any, Row],
        config: GroupConfig,
        new_id: Callable[[], str],
        new_timer: Callable[[], int],
        has_timers: Callable[[], bool],
        is_known: IsKnown,
    ) -> None:
        self.name = name
        self._rows = rows
        self.config = config
        self.new_id = new_id
        self.new_timer = new_timer
        self.has_timers = has_timers
        self.is_known = is_known
        self.effects: list[Any] = []
        self.now_ms = self.date_ms = 0
        self.groups: dict[str, Group] = {}
        self.holders: dict[int, dict[Group, None]] = {}
        self.handed_out: dict[str, Group] = {}
        self.expired = 0
        self.cleared: list[ErrorCode] = []
        self.is_loading = True
        self.story = Story()
        self.short_bytes = min(config.metadata_bytes_max, METADATA_BYTES_MAX)

    # The engine

    def do(self, group: Group, event: Any) -> None:
        """An event meets a group: what the table says.

        raises   UnexpectedEvent
        """
        row = self._rows.get(type(event))
        if row is None:
            raise UnexpectedEvent(f"{type(event).__name__} has no row")
        self.run(row[group.state.column], group, event)

    def run(self, cell: AnyCell, group: Group, event: Any) -> None:
        """Do one cell; every refusal of the table ends here."""
        if type(cell) is Transition:
            act, states = cell
            before = group.state
            act(self, group, event)
            after = group.state
            if after is not before:
                self.story.note(group.group_id, before, type(event), after)
            assert after in states, f"{group.group_id}: {type(event).__name__} led to {after.value}; {self.story}"
        elif cell is not IGNORED:
            if not isinstance(cell, ErrorCode):
                raise UnexpectedEvent(
                    f"{type(event).__name__} in {group.state.value} group={group.group_id}; {self.story}"
                )
            self.refuse(event, cell)

    def refuse(self, event: Any, error: ErrorCode) -> None:
        """A request is answered with an error."""
        self.effects.append(Answer(event.ticket, refusal_of(event, error)))

    # What functions want done

    def answer(self, ticket: Any, message: Any) -> None:
        self.effects.append(Answer(ticket, message))

    def set_timer(self, deadline_ms: int, kind: Callable[..., Any], *subject: Any) -> int:
        """Have `kind(*subject, serial)` come at a time; returns the serial."""
        serial = self.new_timer()
        self.effects.append(SetTimer(serial, deadline_ms, kind(*subject, serial)))
        return serial

    def cancel_timer(self, serial: int) -> None:
        """0 is none."""
        if serial:
            self.effects.append(CancelTimer(serial))

    def info(self, text: str, *arguments: Any) -> None:
        self.effects.append(LogLine(logging.INFO, text, arguments))

    def warn(self, text: str, *arguments: Any) -> None:
        self.effects.append(LogLine(logging.WARNING, text, arguments))

    # Groups

    @property
    def has_room(self) -> bool:
        """Whether a client may make one more group."""
        return len(self.groups) < GROUPS_PER_PARTITION_MAX

    def hold(self, group: Group, producer_id: int, suffixes: Iterable[tuple[bytes, bytes]], offset: int) -> None:
        """Keep a transaction's offsets until its marker, which finds the group by its producer."""
        group.hold(producer_id, suffixes, offset)
        self.holders.setdefault(producer_id, {})[group] = None

    def new_group(self, group_id: str) -> Group:
        group = self.groups[group_id] = Group(group_id, self.date_ms)
        return group
