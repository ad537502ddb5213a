"""Replicas that a reassignment made and no longer wants, until they are deleted: a field of ours in the topic's node. Pure.

Runs in: the controller process of the active node. Where a reassignment is cancelled, or another one takes its place, the replicas that
it had added leave `partitions` in the same write that begins this, and no node names them: a controller that dies before
their brokers were told leaves their files for ever (Kafka's does). So that write says who they are; and the last write of one that is
finished says which of the removed replicas are not deleted yet, since their brokers are away:

    {"version": 3, "partitions": {"0": [1, 2]}, ..., "headrace_unwanted": {"0": [3]}}

A successor of our kind stops them and takes the field away; one of Kafka's kind does not know it, and drops it when it writes the node.
They are not named as `removing_replicas`, which Kafka would finish: those count as replicas of the origin, and a client that
cancels again, as it does when the controller died before it answered, would have them back.

Source: KAFKA-13972; decision 010.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headrace.controller.zookeeper.znodes import NO_FIELDS, TopicAssignment

FIELD = "headrace_unwanted"

Unwanted = dict[int, tuple[int, ...]]  # broker ids by partition


def unwanted_of(assignment: TopicAssignment) -> Unwanted:
    """Those that the node names, but for replicas that are wanted again; empty, where the field is none of ours."""
    field = assignment.others.get(FIELD)
    found: Unwanted = {}
    for name, brokers in field.items() if isinstance(field, dict) else ():
        if not name.isascii() or not name.isdigit() or not isinstance(brokers, list):
            continue
        index = int(name)
        if index < len(assignment.replicas):
            found[index] = tuple(one for one in brokers if type(one) is int and one not in assignment.replicas[index])
    return {index: brokers for index, brokers in found.items() if brokers}


def with_unwanted(assignment: TopicAssignment, unwanted: Mapping[int, tuple[int, ...]]) -> TopicAssignment:
    """The assignment that names these, and no others."""
    others = {key: value for key, value in assignment.others.items() if key != FIELD}
    if named := {str(index): list(brokers) for index, brokers in sorted(unwanted.items()) if brokers}:
        others[FIELD] = named
    return assignment._replace(others=others or NO_FIELDS)


def unwanted_after(
    before: TopicAssignment, changed: TopicAssignment, stopped: Mapping[int, tuple[int, ...]]
) -> Unwanted:
    """Those that are to be deleted and that `changed` does not name: of before, and those that are stopped now."""
    found = unwanted_of(before)
    for index, brokers in stopped.items():
        found[index] = tuple(dict.fromkeys((*found.get(index, ()), *brokers)))
    return {
        index: left
        for index, brokers in found.items()
        if (left := tuple(broker for broker in brokers if broker not in changed.replicas[index]))
    }


def without_replicas(unwanted: Mapping[int, tuple[int, ...]], assignment: TopicAssignment) -> Unwanted:
    """Those that are no replicas of their partitions."""
    kept = {
        index: tuple(one for one in ids if one not in assignment.replicas[index]) for index, ids in unwanted.items()
    }
    return {index: ids for index, ids in kept.items() if ids}


def by_partition(places: Iterable[tuple[int, int]]) -> Unwanted:
    """Brokers with their partitions, as the node names them."""
    found: Unwanted = {}
    for broker, index in sorted(places):
        found[index] = (*found.get(index, ()), broker)
    return found
