"""The coordinator of the groups in one partition of `__consumer_offsets`: events in, effects out.

    loading    the log is read into memory (`load`); requests are refused as `REQUESTS` says
    active     requests, timers and outcomes of appends go to their group, by the rows of `table.py`
    unloaded   what waited was answered NOT_COORDINATOR; only outcomes of what was being appended come still

Pure. Theory in `group.py`, `rebalance.py` and `joining.py`; table in `table.py`; engine here and in `machine.py`.
Source: Kafka `GroupCoordinator.validateGroupStatus`, `onGroupLoaded`, `onGroupUnloaded`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from headrace.errors import ErrorCode
from headrace.limits import GROUP_STRING_LENGTH_MAX
from headrace.protocol import messages
from headrace.protocol.record_batch import RecordBatchHeader
from headrace.state_table import UnexpectedEvent
from headrace.workers.coordinators.coordinator import (
    Appended,
    AppendFailed,
    Loaded,
    TopicsDeleted,
    Unloaded,
    Upkeep,
)
from headrace.workers.coordinators.group.config import GroupConfig
from headrace.workers.coordinators.group.deleted_topics import DeletedTopics, RetryTime
from headrace.workers.coordinators.group.events import (
    Commit,
    DeleteGroup,
    GroupLoaded,
    GroupUnloaded,
    MarkerAppended,
    OffsetsChecked,
    TransactionEnded,
)
from headrace.workers.coordinators.group.group import Group
from headrace.workers.coordinators.group.loader import Loader
from headrace.workers.coordinators.group.machine import GroupMachine, IsKnown
from headrace.workers.coordinators.group.queries import Fetched, describe_group, fetch_offsets, list_groups
from headrace.workers.coordinators.group.table import FAILED, REQUESTS, ROWS, STORED, RequestRow

_E = ErrorCode


class GroupCoordinator:
    """Groups of one offsets partition.

    name        of the partition
    new_id      makes the random part of member ids
    new_timer   draws the number of a timer, never 0
    has_timers  whether a client may cause one more
    is_known    whether a topic has a partition
    """

    def __init__(
        self,
        name: str,
        config: GroupConfig,
        new_id: Callable[[], str],
        new_timer: Callable[[], int],
        has_timers: Callable[[], bool],
        is_known: IsKnown,
    ) -> None:
        self._machine = GroupMachine(name, ROWS, config, new_id, new_timer, has_timers, is_known)
        self._loader = Loader(name)
        self._deleted = DeletedTopics()
        self._by_type: dict[Any, Callable[[Any], None]] = {
            AppendFailed: self._fail,
            Upkeep: self._upkeep,
            TopicsDeleted: self._forget_topics,
            RetryTime: self._retry_topics,
            MarkerAppended: self._end_transaction,
            Loaded: self._finish_load,
            Unloaded: self._unload,
        }

    @property
    def is_loading(self) -> bool:
        return self._machine.is_loading

    @property
    def has_followed(self) -> bool:
        return not self._deleted.names

    @property
    def groups(self) -> dict[str, Group]:
        """By id; to be read only."""
        return self._machine.groups

    # Loading

    def load(self, header: RecordBatchHeader, batch: memoryview) -> int:
        """The next batch of the log; returns what it cost, in bytes."""
        return self._loader.take(header, batch)

    def prepare(self, room: int) -> int:
        """`Loaded` does it all: values stay the bytes that they are."""
        return 0

    def report(self, fault: str) -> None:
        """Something of the log is left out."""
        self._loader.report(fault)

    def reload(self) -> None:
        """The log is read again from its start."""
        self._loader = Loader(self._machine.name)

    # Events

    def step(self, event: Any, now_ms: int, date_ms: int) -> list[Any]:
        """The effects of an event, in order.

        now_ms    for deadlines: no date
        date_ms   for what is stored
        raises    UnexpectedEvent
        """
        machine = self._machine
        machine.now_ms, machine.date_ms = now_ms, date_ms
        effects: list[Any] = []
        machine.effects = effects
        kind = type(event)
        if kind is Appended:
            what = event.what
            machine.run(STORED[type(what)][what.group.state.column], what.group, event)
        elif (row := REQUESTS.get(kind)) is not None:
            group = machine.groups.get(event.group_id)
            if group is None or row.fault_of is not None:
                self._take_request(row, group, event)
            else:
                machine.run(row.cells[group.state.column], group, event)
        elif kind in ROWS:
            machine.do(event.group, event)
        elif kind in self._by_type:
            self._by_type[kind](event)
        else:
            raise UnexpectedEvent(f"{kind.__name__} is not a group event")
        while machine.cleared:
            self._deleted.cleared(machine, machine.cleared.pop(0))
        return effects

    def _take_request(self, row: RequestRow, group: Group | None, event: Any) -> None:
        """A request that may have a fault, or no group."""
        machine = self._machine
        error = self._fault_without_group(row, event) if group is None else None
        if error is None and row.fault_of is not None:
            error = row.fault_of(machine, event) or None
        if error is not None:
            machine.refuse(event, error)
        elif group is not None:
            machine.run(row.cells[group.state.column], group, event)
        elif isinstance(row.absent, ErrorCode):
            machine.refuse(event, row.absent)
        else:
            row.absent(machine, None, event)

    def _fault_without_group(self, row: RequestRow, event: Any) -> ErrorCode | None:
        """Why no group is looked for, which may be NONE: a heartbeat is taken for good while the partition is loaded."""
        if not 0 < len(event.group_id) <= GROUP_STRING_LENGTH_MAX and not _may_have_id(event):
            return _E.INVALID_GROUP_ID
        return row.loading if self._machine.is_loading else None

    def _fail(self, event: AppendFailed) -> None:
        what = event.what
        self._machine.run(FAILED[type(what)][what.group.state.column], what.group, event)

    def _finish_load(self, _event: Loaded) -> None:
        """The log was read: sessions start again, requests are taken."""
        machine = self._machine
        machine.groups = self._loader.finish(machine.date_ms)
        for group in machine.groups.values():
            for producer_id in group.transactions:
                machine.holders.setdefault(producer_id, {})[group] = None
        machine.is_loading = False
        self._each_group(GroupLoaded)
        self._deleted.start(machine)

    def _unload(self, _event: Unloaded) -> None:
        machine = self._machine
        self._each_group(GroupUnloaded)
        self._deleted.unload(machine)
        machine.groups, machine.holders = {}, {}

    def _upkeep(self, event: Upkeep) -> None:
        """Forget offsets whose retention is over, and groups of which nothing is left."""
        machine = self._machine
        machine.expired = 0
        self._each_group(lambda group: OffsetsChecked(group, event.expiry_ms))
        if machine.expired:
            machine.info("offsets expired partition=%s offsets=%d", machine.name, machine.expired)

    def _each_group(self, event: Callable[[Group], Any]) -> None:
        for group in list(self._machine.groups.values()):
            self._machine.do(group, event(group))

    def _forget_topics(self, event: TopicsDeleted) -> None:
        self._deleted.add(self._machine, event.names)

    def _retry_topics(self, event: RetryTime) -> None:
        self._deleted.retry(self._machine, event)

    def _end_transaction(self, event: MarkerAppended) -> None:
        machine = self._machine
        for group in machine.holders.pop(event.producer_id, {}):
            if machine.groups.get(group.group_id) is group:
                machine.do(group, TransactionEnded(group, event.producer_id, event.is_commit))

    # Questions

    def fetch(
        self, group_id: str, topics: Iterable[tuple[str, Sequence[int]]] | None, require_stable: bool
    ) -> tuple[ErrorCode, Fetched]:
        """Committed offsets of partitions, or of all that the group has.

        returns   (error for the group, offsets by topic); an offset of -1 where nothing is committed
        """
        if self.is_loading:
            return _E.COORDINATOR_LOAD_IN_PROGRESS, {}
        return _E.NONE, fetch_offsets(self.groups.get(group_id), topics, require_stable)

    def describe(self, group_id: str, with_operations: bool) -> messages.DescribeGroupsResponse.DescribedGroup:
        """A `DescribedGroup`; a group that is not there is described as Dead."""
        return describe_group(self.groups.get(group_id), group_id, with_operations, self.is_loading)

    def rows(
        self, states: set[str], types: set[str]
    ) -> tuple[ErrorCode, list[messages.ListGroupsResponse.ListedGroup]]:
        """`ListedGroup` rows; states and types in small letters, none for all."""
        if self.is_loading:
            return _E.COORDINATOR_LOAD_IN_PROGRESS, []
        return _E.NONE, list_groups(self.groups.values(), states, types)

    def snapshot(self) -> str:
        """What it holds, and what its load has read; nothing where that is nothing."""
        offsets = sum(len(group.offsets) for group in self.groups.values())
        loader = self._loader
        if not (self.groups or loader.records or loader.faults):
            return ""
        return f"groups={len(self.groups)} offsets={offsets} records={loader.records} left_out={loader.faults}"


def _may_have_id(event: Any) -> bool:
    """Whether a request is one of those that Kafka takes with an empty group id, or with one that is too long."""
    return type(event) is DeleteGroup or (type(event) is Commit and not event.group_id)
