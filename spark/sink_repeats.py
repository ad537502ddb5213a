"""A note that a task of an exactly-once sink has run more than once: its other attempts compare what is stored when they are done.

Group `headrace-sink-{query}-repeats-{batch}-{task}`, with one committed offset that means nothing: that it is there is the note. It expires
as a group's offsets do.

    an attempt that knows of another one   stores the note before its first row
    the first attempt                      looks for it after its last row is acknowledged

So what was stored in the first attempt's place by then was stored after the note. Spark numbers the attempts of a task, copies by
speculation too, but begins again where it repeats a stage (a lost shuffle file), and does not tell Python that it does: an attempt of
a repeated stage knows of another one only by rows that are there.

Runs in: Python workers.
"""

from __future__ import annotations

from headrace.client.cluster import Cluster
from headrace.client.offset_store import committed, store_offsets
from headrace.ids import TopicPartition
from headrace.spark.sink_floors import GROUP_PREFIX
from headrace.spark.sink_task import SinkTask


def note_repeat(cluster: Cluster, topic: str, task: SinkTask) -> None:
    """This attempt is not the only one; stored before this returns. raises   KafkaError, ConnectionFailed"""
    store_offsets(cluster, _group(task), {TopicPartition(topic, 0): 0})


def was_repeated(cluster: Cluster, task: SinkTask) -> bool:
    """Whether an attempt has said so by now. raises   KafkaError, ConnectionFailed"""
    return bool(committed(cluster, _group(task)))


def _group(task: SinkTask) -> str:
    return f"{GROUP_PREFIX}{task.query}-repeats-{task.batch}-{task.number}"
