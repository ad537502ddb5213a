"""From where on the records of a micro-batch can lie in its topic: the floors, kept as a group's committed offsets.

    a query's first micro-batch     the topic's ends as the driver found them before any task: stored by each task, before it writes
    after each micro-batch          the topic's ends, stored by the driver with the micro-batch's number: what is below is
                                    written once, and not read again

Group `headrace-sink-{query id}`; beside each offset {"batch": number, "run": id of the run that committed it, "rows": the digest of the
micro-batch's rows}, and the leader's epoch as it was when the end was found: all records before the end have that epoch or a lower one.
Where these end before the floor by now, the log was truncated (an unclean election, a restored disk), and what came since begins there.

A floor that is too low costs reading; else none is ever too high: a task of an older run has stored its own before it wrote, and a driver
commits when all of its tasks are done.

Runs in: the driver (commit), Python workers.
"""

from __future__ import annotations

import json
import logging
from typing import NamedTuple

from headrace.client.cluster import EARLIEST, LATEST, Cluster
from headrace.client.leader_epochs import Epochs, Position, truncations
from headrace.client.offset_store import committed, store_offsets
from headrace.ids import NO_EPOCH, TopicPartition
from headrace.spark.errors import StaleCheckpoint
from headrace.spark.sink_task import SinkTask

GROUP_PREFIX = "headrace-sink-"
NO_BATCH = -1
ADVICE = (
    "its checkpoint is an older copy, or its rows differ when Spark repeats them; continue with the newest checkpoint, or start"
    " with a new checkpointLocation at the offsets after those in the topic"
)

_log = logging.getLogger(__name__)


class Floors(NamedTuple):
    """Of one query.

    offsets   by partition; their number is what keys are hashed over
    batch     the last micro-batch that was committed, NO_BATCH: none
    run       of the query, that committed it
    rows      a `RowDigest` of it as text; empty where a version that kept none has committed it
    epochs    of the leaders when the offsets were found, as far as they are known
    """

    offsets: dict[TopicPartition, int]
    batch: int
    run: str
    rows: str = ""
    epochs: Epochs | None = None


class Ends(NamedTuple):
    """Of a topic's partitions at one time, with the epochs of their leaders as far as they are known."""

    offsets: dict[TopicPartition, int]
    epochs: Epochs


def ends_of(cluster: Cluster, topic: str) -> Ends:
    """The ends of a topic's partitions now, on the word of the leaders. raises   KafkaError, ConnectionFailed"""
    offsets = _offsets_of(cluster, topic, LATEST)
    return Ends(offsets, {name: cluster.leader_epochs[name] for name in offsets if name in cluster.leader_epochs})


def lowered(cluster: Cluster, floors: Floors, ends: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
    """The floors as the logs are now: those of a log that was truncated below them are where it was cut.

    ends     of the logs, which the leaders were asked for just before
    raises   KafkaError, ConnectionFailed
    """
    known = floors.epochs or {}
    found = {name: min(offset, ends.get(name, offset)) for name, offset in floors.offsets.items()}
    positions = {
        name: Position(offset, known.get(name, NO_EPOCH)) for name, offset in floors.offsets.items() if name in ends
    }
    for name, at in truncations(cluster, positions).items():
        found[name] = min(found[name], max(at, 0))
    for name, offset in floors.offsets.items():
        if found[name] < offset:
            _log.warning(
                "the sink's topic was truncated partition=%s stored_up_to=%d searched_from=%d",
                name,
                offset,
                found[name],
            )
    return found


def settle_floors(cluster: Cluster, topic: str, task: SinkTask, planned: Ends) -> Floors:
    """The floors of a task of a stream, stored before this returns.

    planned   the topic's ends, before the first task of the micro-batch
    raises    KafkaError, ConnectionFailed
    """
    found = read_floors(cluster, task.query, topic)
    if found is not None:
        return found
    offsets, epochs = planned
    if task.batch:
        group = GROUP_PREFIX + task.query
        _log.warning("stored offsets of the sink not found, its topic is read from the beginning group=%s", group)
        offsets, epochs = _offsets_of(cluster, topic, EARLIEST), {}
    floors = Floors(offsets, NO_BATCH, "", epochs=epochs)
    _store(cluster, task.query, floors)
    return floors


def commit_floors(cluster: Cluster, topic: str, query: str, floors: Floors) -> None:
    """A micro-batch is written. raises   StaleCheckpoint, if others rows have its number; KafkaError, ConnectionFailed"""
    found = read_floors(cluster, query, topic)
    if found is not None and found.batch >= floors.batch:
        check_number(query, floors.batch, found)
        if found.rows and found.rows != floors.rows:
            raise StaleCheckpoint(
                f"micro-batch {floors.batch} of query {query} was committed with other rows ({found.rows}) than it"
                f" has now ({floors.rows}), none of which was written: {ADVICE}"
            )
    _store(cluster, query, floors)


def check_number(query: str, batch: int, found: Floors) -> None:
    """raises   StaleCheckpoint, for a micro-batch before the last one that was committed: Spark repeats the last one alone"""
    if batch < found.batch:
        raise StaleCheckpoint(f"micro-batch {batch} of query {query} comes after micro-batch {found.batch}: {ADVICE}")


def read_floors(cluster: Cluster, query: str, topic: str) -> Floors | None:
    """What is stored; None where nothing is. raises   KafkaError, ConnectionFailed"""
    found = {name: one for name, one in committed(cluster, GROUP_PREFIX + query).items() if name.topic == topic}
    if not found:
        return None
    notes = [json.loads(one.metadata) for one in found.values()]
    last = max(notes, key=lambda note: int(note["batch"]))  # of a topic that has grown since, all are alike
    offsets = {name: one.offset for name, one in sorted(found.items())}
    epochs = {name: one.leader_epoch for name, one in found.items()}
    return Floors(offsets, int(last["batch"]), str(last["run"]), str(last.get("rows", "")), epochs)


def _store(cluster: Cluster, query: str, floors: Floors) -> None:
    note = {"batch": floors.batch, "run": floors.run, "rows": floors.rows}
    store_offsets(cluster, GROUP_PREFIX + query, floors.offsets, json.dumps(note), floors.epochs)


def _offsets_of(cluster: Cluster, topic: str, timestamp: int) -> dict[TopicPartition, int]:
    cluster.retried(lambda: None, {topic})
    names = sorted(name for name in cluster.partitions if name.topic == topic)
    return cluster.offsets(dict.fromkeys(names, timestamp))
