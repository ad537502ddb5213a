"""What a group does: for each event and each state the function that is called, or why none is.

A row has a cell for each state; a request's has two more: while the partition is loaded, and for a group that does not
exist. A cell is `to(function, states that may follow)`, an error that the request is refused with, IGNORED or NEVER
(`headrace/state_table.py`). What is no function is answered in one place, `GroupMachine.run`. Afterwards the group is in one of the
states named, which the engine asserts; `TRANSITIONS` in `group.py` has the single steps.

    _TABLE, ROWS      all events but the outcomes of appends
    _STORED, STORED   what `Appended` does, by what was to be appended
    _FAILED, FAILED   the same for `AppendFailed`
    REQUESTS          rows of requests, with what may be wrong with one in any state

While it loads, a heartbeat is taken for good, so that members stay, and a SyncGroup is sent back to JoinGroup: the rebalance
that it belongs to is lost.

Pure. Source: Kafka `GroupCoordinator`. Forms: h11's tables of triggers, Dask's `_TRANSITIONS_TABLE`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

from headrace.errors import ErrorCode
from headrace.state_table import IGNORED, NEVER, AnyCell, Row, to
from headrace.workers.coordinators.group.commits import (
    commit_completing,
    commit_empty,
    commit_member,
    commit_transaction_empty,
    commit_transaction_member,
    commit_transaction_unknown_group,
    commit_unknown_group,
    end_transaction,
    fault_of_transactional,
    hold_nothing,
    hold_offsets,
    keep_nothing,
    keep_offsets,
    refuse_commit,
    refuse_transaction,
)
from headrace.workers.coordinators.group.deletion import (
    delete_group,
    delete_offsets_in_use,
    delete_offsets_unread,
    expire_offsets_of_empty,
    expire_offsets_of_stable,
    forget_offsets,
    keep_deleted,
    remove_offsets,
)
from headrace.workers.coordinators.group.events import (
    AssignmentRecord,
    Commit,
    CommitRecords,
    CommitTransactional,
    DeleteGroup,
    DeleteOffsets,
    EmptyGroupRecord,
    GroupLoaded,
    GroupUnloaded,
    Heartbeat,
    IdDropped,
    IdTime,
    Join,
    JoinTime,
    LeaderRejoined,
    Leave,
    MemberGone,
    MemberIdWanted,
    MemberRejoined,
    MetadataChanged,
    NewMember,
    OffsetsChecked,
    OffsetsForgotten,
    SessionTime,
    StaticMemberRecord,
    StaticReturned,
    StoreTime,
    Sync,
    SyncTime,
    Tombstones,
    TransactionEnded,
    TransactionRecords,
)
from headrace.workers.coordinators.group.joining import (
    add_member,
    add_member_and_prepare,
    answer_again,
    answer_leader_again,
    fault_of_join,
    join_empty,
    join_generation,
    join_preparing,
    join_unknown_group,
    prepare_for_leader,
    prepare_for_metadata,
    wait_again,
)
from headrace.workers.coordinators.group.machine import GroupMachine
from headrace.workers.coordinators.group.membership import (
    heartbeat,
    heartbeat_in_join_phase,
    leave,
    leave_unknown_group,
    remove_and_prepare,
    remove_in_join_phase,
    resume_sessions,
    unload,
)
from headrace.workers.coordinators.group.pending_ids import (
    drop_id,
    drop_id_in_join_phase,
    expire_id,
    expire_id_in_join_phase,
    hand_out,
)
from headrace.workers.coordinators.group.rebalance import end_join_phase, report_empty_not_stored
from headrace.workers.coordinators.group.sessions import check_session
from headrace.workers.coordinators.group.state import GroupState
from headrace.workers.coordinators.group.static_members import (
    answer_static,
    replace_static,
    replace_static_and_prepare,
    replace_static_in_stable,
    restore_static,
)
from headrace.workers.coordinators.group.syncing import (
    fault_of_sync,
    hand_out_assignment,
    remove_not_synced,
    store_again,
    sync_completing,
    sync_in_join_phase,
    sync_stable,
    withdraw_assignment,
)


class Place(Enum):
    """Where a request may find no group to meet."""

    LOADING = "loading"
    ABSENT = "absent"


Loading, Absent = Place
E, P, C, S, D = GroupState

_N = ErrorCode
GONE, NOT_YET = _N.COORDINATOR_NOT_AVAILABLE, _N.COORDINATOR_LOAD_IN_PROGRESS
UNKNOWN, NO_GROUP, IN_USE = _N.UNKNOWN_MEMBER_ID, _N.GROUP_ID_NOT_FOUND, _N.NON_EMPTY_GROUP


def _stays(act: Callable[..., None]) -> dict[Any, AnyCell]:
    """Cells that do the same in every state, and stay in it."""
    return {state: to(act, state) for state in GroupState}


_TABLE: dict[Any, dict[Any, Any]] = {
    # Requests
    Join: {
        Loading: NOT_YET,
        Absent: join_unknown_group,
        E: to(join_empty, E, P),
        P: to(join_preparing, P, C, E),
        C: to(join_generation, C, P),
        S: to(join_generation, S, P, C),
        D: GONE,
    },
    Sync: {
        Loading: _N.REBALANCE_IN_PROGRESS,
        Absent: UNKNOWN,
        E: UNKNOWN,
        P: to(sync_in_join_phase, P),
        C: to(sync_completing, C),
        S: to(sync_stable, S),
        D: GONE,
    },
    Heartbeat: {
        Loading: _N.NONE,
        Absent: UNKNOWN,
        E: UNKNOWN,
        P: to(heartbeat_in_join_phase, P),
        C: to(heartbeat, C),
        S: to(heartbeat, S),
        D: GONE,
    },
    Leave: {
        Loading: NOT_YET,
        Absent: leave_unknown_group,
        E: to(leave, E),
        P: to(leave, P, C, E),
        C: to(leave, C, P, E),
        S: to(leave, S, P, C, E),
        D: GONE,
    },
    Commit: {
        Loading: NOT_YET,
        Absent: commit_unknown_group,
        E: to(commit_empty, E),
        P: to(commit_member, P),
        C: to(commit_completing, C),
        S: to(commit_member, S),
        D: GONE,
    },
    CommitTransactional: {
        Loading: NOT_YET,
        Absent: commit_transaction_unknown_group,
        E: to(commit_transaction_empty, E),
        P: to(commit_transaction_member, P),
        C: to(commit_transaction_member, C),
        S: to(commit_transaction_member, S),
        D: GONE,
    },
    DeleteOffsets: {
        Loading: NOT_YET,
        Absent: NO_GROUP,
        E: to(delete_offsets_unread, E, D),
        P: to(delete_offsets_in_use, P),
        C: to(delete_offsets_in_use, C),
        S: to(delete_offsets_in_use, S),
        D: NO_GROUP,
    },
    DeleteGroup: {
        Loading: NOT_YET,
        Absent: NO_GROUP,
        E: to(delete_group, D),
        P: IN_USE,
        C: IN_USE,
        S: IN_USE,
        D: NO_GROUP,
    },
    # Joins
    NewMember: {
        E: to(add_member_and_prepare, P),
        P: to(add_member, P),
        C: to(add_member_and_prepare, P),
        S: to(add_member_and_prepare, P, C),
        D: NEVER,
    },
    MemberIdWanted: {
        E: to(hand_out, E),
        P: to(hand_out, P, C, E),  # the oldest id, which makes room, may be the last one that the group waited for
        C: to(hand_out, C),
        S: to(hand_out, S),
        D: NEVER,
    },
    MemberRejoined: {
        E: NEVER,
        P: to(wait_again, P),
        C: to(answer_again, C),
        S: to(answer_again, S),
        D: NEVER,
    },
    LeaderRejoined: {
        E: NEVER,
        P: to(wait_again, P),
        C: to(answer_leader_again, C),
        S: to(prepare_for_leader, P, C),
        D: NEVER,
    },
    MetadataChanged: {
        E: NEVER,
        P: to(wait_again, P),
        C: to(prepare_for_metadata, P, C),
        S: to(prepare_for_metadata, P, C),
        D: NEVER,
    },
    StaticReturned: {
        E: NEVER,
        P: to(replace_static, P),
        C: to(replace_static_and_prepare, P, C),
        S: to(replace_static_in_stable, S, P, C),
        D: NEVER,
    },
    # Departures
    MemberGone: {
        E: NEVER,
        P: to(remove_in_join_phase, P, C, E),
        C: to(remove_and_prepare, P, E),
        S: to(remove_and_prepare, P, C, E),
        D: NEVER,
    },
    IdDropped: {
        E: to(drop_id, E),
        P: to(drop_id_in_join_phase, P, C, E),
        C: to(drop_id, C),
        S: to(drop_id, S),
        D: NEVER,
    },
    # Timers
    JoinTime: {
        E: IGNORED,
        P: to(end_join_phase, P, C, E),
        C: IGNORED,
        S: IGNORED,
        D: IGNORED,
    },
    SyncTime: {
        E: IGNORED,
        P: IGNORED,
        C: to(remove_not_synced, C, P, E),
        S: to(remove_not_synced, S, P, C, E),
        D: IGNORED,
    },
    SessionTime: {
        E: IGNORED,
        P: to(check_session, P, C, E),
        C: to(check_session, C, P, E),
        S: to(check_session, S, P, C, E),
        D: IGNORED,
    },
    StoreTime: {
        E: IGNORED,
        P: IGNORED,
        C: to(store_again, C),
        S: IGNORED,
        D: IGNORED,
    },
    IdTime: {
        E: to(expire_id, E),
        P: to(expire_id_in_join_phase, P, C, E),
        C: to(expire_id, C),
        S: to(expire_id, S),
        D: IGNORED,
    },
    # Of the node
    GroupLoaded: {
        E: IGNORED,
        P: NEVER,
        C: NEVER,
        S: to(resume_sessions, S, P),
        D: NEVER,
    },
    GroupUnloaded: {
        E: to(unload, D),
        P: to(unload, D),
        C: to(unload, D),
        S: to(unload, D),
        D: IGNORED,
    },
    OffsetsChecked: {
        E: to(expire_offsets_of_empty, E, D),
        P: IGNORED,
        C: IGNORED,
        S: to(expire_offsets_of_stable, S),
        D: IGNORED,
    },
    OffsetsForgotten: {**_stays(forget_offsets), D: NEVER},
    TransactionEnded: {**_stays(end_transaction), D: IGNORED},
}

_STORED: dict[Any, dict[Any, AnyCell]] = {
    AssignmentRecord: {
        E: IGNORED,
        P: IGNORED,
        C: to(hand_out_assignment, C, S),
        S: IGNORED,
        D: IGNORED,
    },
    StaticMemberRecord: {
        E: IGNORED,
        P: IGNORED,
        C: IGNORED,
        S: to(answer_static, S),
        D: IGNORED,
    },
    EmptyGroupRecord: {
        E: IGNORED,
        P: IGNORED,
        C: IGNORED,
        S: IGNORED,
        D: IGNORED,
    },
    CommitRecords: {
        E: to(keep_offsets, E),
        P: to(keep_offsets, P),
        C: to(keep_offsets, C),
        S: to(keep_offsets, S),
        D: to(keep_nothing, D),
    },
    TransactionRecords: {
        E: to(hold_offsets, E),
        P: to(hold_offsets, P),
        C: to(hold_offsets, C),
        S: to(hold_offsets, S),
        D: to(hold_nothing, D),
    },
    Tombstones: {**_stays(remove_offsets), E: to(remove_offsets, E, D)},
}

_FAILED: dict[Any, dict[Any, AnyCell]] = {
    AssignmentRecord: {
        E: IGNORED,
        P: IGNORED,
        C: to(withdraw_assignment, C, P),
        S: IGNORED,
        D: IGNORED,
    },
    StaticMemberRecord: {
        E: IGNORED,
        P: to(restore_static, P),
        C: IGNORED,
        S: to(restore_static, S),
        D: IGNORED,
    },
    EmptyGroupRecord: _stays(report_empty_not_stored),
    CommitRecords: _stays(refuse_commit),
    TransactionRecords: _stays(refuse_transaction),
    Tombstones: _stays(keep_deleted),
}


class RequestRow(NamedTuple):
    """A request's cells.

    fault_of   what is wrong with it, whatever group it meets; None: nothing can be
    loading    while the partition is loaded
    absent     where there is no such group; a function gets None for the group
    cells      by the state of its group
    """

    fault_of: Callable[[GroupMachine, Any], ErrorCode] | None
    loading: ErrorCode
    absent: Callable[[GroupMachine, None, Any], None] | ErrorCode
    cells: Row


def _row(cells: dict[Any, AnyCell]) -> Row:
    """By the state's column; KeyError where a state has no cell."""
    return tuple(cells[state] for state in GroupState)


_FAULTS: dict[Any, Callable[[GroupMachine, Any], ErrorCode]] = {
    Join: fault_of_join,
    Sync: fault_of_sync,
    CommitTransactional: fault_of_transactional,
}

ROWS: dict[Any, Row] = {event: _row(cells) for event, cells in _TABLE.items()}
STORED: dict[Any, Row] = {what: _row(cells) for what, cells in _STORED.items()}
FAILED: dict[Any, Row] = {what: _row(cells) for what, cells in _FAILED.items()}
REQUESTS: dict[Any, RequestRow] = {
    event: RequestRow(_FAULTS.get(event), cells[Loading], cells[Absent], ROWS[event])
    for event, cells in _TABLE.items()
    if Loading in cells
}
