"""Whether a table is at a commit of ours, where its own history no longer goes back that far: by the rows that it has.

    L1 L2 D          D is of another program, and names no commit of ours: the last one before it counts, L2
    .. .. D          L1 and L2 have expired. Their commit's name is known, but was the table taken back before D?
    rows of L2       it was not
    none of them     it was, or they were deleted: the table's owner has to say which

Absence of a name proves nothing: a table whose snapshots expired is not an empty one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from headrace.ids import TopicPartition
from headrace.load.commits import Change, Snapshot
from headrace.load.errors import BrokenTarget
from headrace.load.others_rows import count_within

ACCEPTED: Final = "headrace.at"
_LAST_OFFSET: Final = 2**63 - 1


def check_rows(table: str, root: Path, name: str, view: Snapshot, loaded: Change | None) -> None:
    """That the table has rows of the last load up to a commit, and none after it.

    table    for messages
    view     what the table has of the commit's snapshot
    loaded   the last commit that added rows, up to that one; None: not known
    raises   BrokenTarget, OSError
    """
    after = [
        one
        for one, offset in view.next_offsets().items()
        if view.others and count_within(root, view.others, one, offset, _LAST_OFFSET)
    ]
    if after:
        raise BrokenTarget(
            f"{table}: its history no longer says at which commit it is, and it has rows of {after[0]} after those of commit {name}. "
            + _remedy(name)
        )
    if loaded is None or not _has_rows(root, view, loaded):
        raise BrokenTarget(
            f"{table}: its history no longer says at which commit it is, and it has no row of the last load up to commit {name}: "
            f"either it was rolled back, or they were deleted. {_remedy(name)}"
        )


def _remedy(name: str) -> str:
    return (
        f"If the table is at that commit, set its property {ACCEPTED} to {name}; if at an earlier one, to the name of that file in "
        "_headrace/commits. The next load begins at its offsets"
    )


def _has_rows(root: Path, view: Snapshot, loaded: Change) -> bool:
    if any(one.path in view.files for one in loaded.added):
        return True
    return any(
        count_within(root, view.others, TopicPartition(one.topic, one.partition), one.start, one.end)
        for one in loaded.ranges
        if one.rows > one.bad
    )
