"""A topic's assignment as plans of its partitions have it: pure.

Runs in: the controller process of the active node; `reassignments.py` writes it.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.controller.active.reassignment.reassignment import Plan
from headrace.controller.cluster.partition_assignment import PartitionAssignment
from headrace.controller.cluster.unwanted_replicas import unwanted_after, with_unwanted
from headrace.controller.zookeeper.znodes import TopicAssignment


def with_rows(assignment: TopicAssignment, rows: Mapping[int, PartitionAssignment | None]) -> TopicAssignment:
    """The topic with other replicas of some partitions; None: as they are."""
    replicas, adding, removing = list(assignment.replicas), dict(assignment.adding), dict(assignment.removing)
    for index, row in rows.items():
        if row is None:
            continue
        replicas[index] = row.replicas
        for moves, ids in ((adding, row.adding), (removing, row.removing)):
            moves.pop(index, None)
            if ids:
                moves[index] = ids
    return assignment._replace(replicas=tuple(replicas), adding=adding, removing=removing)


def changed_by(assignment: TopicAssignment, doing: Mapping[int, Plan]) -> TopicAssignment:
    """The topic as these plans have it, with all replicas that are to be deleted and that it does not name any more."""
    changed = with_rows(assignment, {index: made.assignment for index, made in doing.items()})
    stopped = {index: made.stopped for index, made in doing.items()}
    return with_unwanted(changed, unwanted_after(assignment, changed, stopped))
