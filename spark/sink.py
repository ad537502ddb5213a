"""A DataFrame into topics: `df.write.format("headrace")`, and what its stream (`stream_sink.py`) does with a micro-batch.

Columns as the connector's sink has them; others are ignored:

    value       binary or string, required; null is a tombstone
    key         binary or string
    headers     array<struct<key:string,value:binary>>
    topic       string; the option topic is stronger
    partition   int; null: by the key, without one chosen by the producer

Runs in: the driver (checks of options and columns), Python workers (`write`). At least once: a task that fails, or runs twice, has
perhaps written some of its records by then. Within one attempt a record is stored once and in order: the producer is idempotent.
With the option headrace.exactly.once a row is stored once, however often its task runs (`sink_attempt.py`). With txnAppId and txnVersion,
which mean what they mean to Delta, that holds for a batch that is written again too: in `foreachBatch`, where Spark repeats whole
micro-batches.

Source: Spark's `KafkaWriter`, `KafkaWriteTask`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from headrace.client.cluster import Cluster
from headrace.client.failures import ConnectionFailed, is_retriable
from headrace.client.kafka import Kafka
from headrace.client.kafka_producer import KafkaProducer
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.protocol.record_batch import Header
from headrace.spark.column_types import SPARK_TYPES
from headrace.spark.errors import BadRow
from headrace.spark.foreign_rows import SinkRow
from headrace.spark.row_digest import RowDigest
from headrace.spark.sink_attempt import Attempt
from headrace.spark.sink_floors import NO_BATCH, Ends, Floors, check_number, commit_floors, ends_of, settle_floors
from headrace.spark.sink_options import SinkOptions
from headrace.spark.sink_task import SinkTask, task_of_batch

TYPES = {
    "key": ("string", "binary"),
    "value": ("string", "binary"),
    "headers": (SPARK_TYPES["headers"],),
    "topic": ("string",),
    "partition": ("int",),
}
RawProducer = KafkaProducer[bytes | None, bytes | None]
NO_OVERWRITE = "mode overwrite is not supported, a topic is append-only: use .mode('append')"


@dataclass
class Written(WriterCommitMessage):
    """What a task wrote: records of this attempt. Of which query and run it was, where each is written once, and what rows it had."""

    records: int
    query: str = ""
    run: str = ""
    rows: RowDigest = field(default_factory=RowDigest)


class HeadraceWriter(DataSourceArrowWriter):
    """The batch writer."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options
        self._run = uuid4().hex  # another one if the same batch is written again
        self._ends = Ends({}, {})
        if options.is_exactly_once:
            with connect(options) as cluster:
                self._ends = ends_of(cluster, options.topic)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """The rows of one task. raises what `write_records`, `write_once` and `write_numbered` raise"""
        options = self._options
        if not options.is_exactly_once:
            return Written(write_records(options, iterator))
        if options.txn_app_id:
            task = task_of_batch(options.txn_app_id, self._run, options.txn_version)
            return write_numbered(options, iterator, task, self._ends)
        floors = Floors(self._ends.offsets, NO_BATCH, self._run, epochs=self._ends.epochs)
        return Written(write_once(options, iterator, task_of_batch(self._run, self._run), floors, self._ends))

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """All tasks are done. raises   StaleCheckpoint, KafkaError, ConnectionFailed"""
        ends = self._ends
        if self._options.txn_app_id:
            with connect(self._options) as cluster:
                ends = ends_of(
                    cluster, self._options.topic
                )  # Spark commits with a copy of the writer that it made first
        commit_numbered(self._options, messages, self._options.txn_version, ends)


def check_schema(schema: Any, options: SinkOptions) -> None:
    """Check a DataFrame's columns.

    schema   its StructType
    raises   ValueError
    """
    found = {column.name: column.dataType.simpleString() for column in schema.fields}
    if "value" not in found:
        raise ValueError(f"required column value is missing: the DataFrame has {', '.join(found) or 'none'}")
    if not options.topic and "topic" not in found:
        raise ValueError("option topic must be set if the DataFrame has no column topic")
    for name, types in TYPES.items():
        if name in found and found[name].partition(" collate ")[0] not in types:
            raise ValueError(f"column {name} is {found[name]}, but must be {' or '.join(types)}: cast it")


def write_records(options: SinkOptions, batches: Iterable[pa.RecordBatch]) -> int:
    """Produce the rows of Arrow batches; returns how many, after all of them are acknowledged.

    raises   BadRow, for a row that can't be a record; DeliveryFailed, KafkaError, ConnectionFailed
    """
    known = set()
    with _producer(options) as producer:
        send = producer.send
        for batch in batches:
            for topic, key, value, headers, partition in _rows(batch, options.topic):
                if topic not in known:
                    _wait_for(producer, topic, options)
                    known.add(topic)
                send(topic, value, key, headers=headers, partition=partition)
        producer.flush()
        return producer.acknowledged


def write_numbered(options: SinkOptions, batches: Iterable[pa.RecordBatch], task: SinkTask, ends: Ends) -> Written:
    """The rows of a task of a numbered batch, once; none of them, if that number was committed.

    ends     of the topic, before the first task of the batch
    raises   StaleCheckpoint, if a later number was committed; what `write_once` raises
    """
    with connect(options) as cluster:
        floors = settle_floors(cluster, options.topic, task, ends)
    check_number(task.query, task.batch, floors)
    rows = RowDigest()
    if task.batch > floors.batch:
        return Written(write_once(options, batches, task, floors, ends, rows), task.query, task.run, rows)
    for batch in batches:  # committed, and Spark stopped before it wrote that down
        for _topic, key, value, headers, partition in _rows(batch, options.topic):
            rows.add(key, value, headers, partition)
    return Written(0, task.query, task.run, rows)


def commit_numbered(
    options: SinkOptions, messages: Sequence[WriterCommitMessage | None], number: int, ends: Ends
) -> None:
    """All tasks of a numbered batch are done: what is in the topic now is not read again. Nothing, where rows have no number.

    raises   StaleCheckpoint, if the number was committed with other rows; KafkaError, ConnectionFailed
    """
    written = [one for one in messages if isinstance(one, Written) and one.query]
    if not written:
        return
    rows = sum((one.rows for one in written), RowDigest())
    with connect(options) as cluster:
        commit_floors(
            cluster,
            options.topic,
            written[0].query,
            Floors(ends.offsets, number, written[0].run, str(rows), ends.epochs),
        )


def write_once(
    options: SinkOptions,
    batches: Iterable[pa.RecordBatch],
    task: SinkTask,
    floors: Floors,
    planned: Ends,
    rows: RowDigest | None = None,
) -> int:
    """Produce those of a task's rows that are not in the topic; returns how many, after all of them are acknowledged.

    planned   ends of the topic, before the first task of this run
    rows      all rows of the task are added to it

    raises   RowsDiffer, and what `write_records` raises: DeliveryFailed too where another attempt writes meanwhile
    """
    attempt = Attempt(
        options.topic,
        task,
        floors,
        planned.offsets,
        batch_bytes=options.producer.batch_size,
        is_alike=task.batch == options.alike_batch,
    )
    with connect(options) as cluster:
        attempt.look(cluster)
    with _producer(options, attempt) as producer:
        _wait_for(producer, options.topic, options)
        for batch in batches:
            for _topic, key, value, headers, partition in _rows(batch, options.topic):
                if rows is not None:
                    rows.add(key, value, headers, partition)
                place = attempt.place(key, value, headers, partition)
                if place is not None:
                    _send_all(producer, options.topic, attempt.passed((value, key, headers, place)))
        _send_all(producer, options.topic, attempt.finish())
        producer.flush()
        sent = producer.acknowledged
    if sent:
        with connect(options) as cluster:
            attempt.compare(cluster)
    return sent


@contextlib.contextmanager
def _producer(options: SinkOptions, attempt: Attempt | None = None) -> Iterator[RawProducer]:
    """The producer of a task; of one that fails nothing more is sent."""
    engine = Kafka(options.bootstrap_servers).engine()
    given, on_stored = (None, None) if attempt is None else (attempt.identity, attempt.delivered)
    producer = RawProducer(engine, options.producer, None, None, _patience_s(options), given=given, on_stored=on_stored)
    try:
        yield producer
    finally:
        with contextlib.suppress(HeadraceError):  # of what was given up
            producer.close(0.0)


def _wait_for(producer: RawProducer, topic: str, options: SinkOptions) -> None:
    """Until a broker describes the topic: one that is away may come back. raises   KafkaError, ConnectionFailed"""
    deadline_s = time.monotonic() + _patience_s(options)
    while True:
        try:
            producer.partitions(topic)
            return
        except (ConnectionFailed, KafkaError) as failure:
            is_unknown = isinstance(failure, KafkaError) and failure.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if is_unknown or not is_retriable(failure) or time.monotonic() >= deadline_s:
                raise


def _send_all(producer: RawProducer, topic: str, rows: Sequence[SinkRow]) -> None:
    for value, key, headers, partition in rows:
        producer.send(topic, value, key, headers=headers, partition=partition)


def _patience_s(options: SinkOptions) -> float:
    return options.producer.delivery_timeout_ms / 1000


def connect(options: SinkOptions) -> Cluster:
    """The cluster of a sink, as patient as its producer."""
    return Cluster(options.bootstrap_servers, patience_s=_patience_s(options))


def _rows(
    batch: pa.RecordBatch, topic: str
) -> Iterator[tuple[str, bytes | None, bytes | None, Sequence[Header], int | None]]:
    """(topic, key, value, headers, partition) of each row. raises BadRow"""
    rows = batch.num_rows
    values, keys = _bytes_of(batch, "value"), _bytes_of(batch, "key")
    headers, partitions = _headers_of(batch), _list_of(batch, "partition")
    topics = [topic] * rows if topic else _texts_of(batch, "topic")
    for row in range(rows):
        if topics[row] is None:
            raise BadRow("a row has a null topic: set the option topic, or filter such rows")
        held = [_header(one) for one in headers[row]] if headers[row] else ()
        yield topics[row], keys[row], values[row], held, partitions[row]


def _bytes_of(batch: pa.RecordBatch, name: str) -> list[bytes | None]:
    if name not in batch.schema.names:
        return [None] * batch.num_rows
    column = batch.column(name)
    return column.cast(pa.large_binary()).to_pylist()  # type: ignore[no-any-return]


def _list_of(batch: pa.RecordBatch, name: str) -> list[Any]:
    return batch.column(name).to_pylist() if name in batch.schema.names else [None] * batch.num_rows


def _texts_of(batch: pa.RecordBatch, name: str) -> list[Any]:
    try:
        return _list_of(batch, name)
    except UnicodeDecodeError as failure:
        raise BadRow(f"a row has a {name} that is not UTF-8: {bytes(failure.object)!r}") from None


def _headers_of(batch: pa.RecordBatch) -> list[Any]:
    try:
        return _list_of(batch, "headers")
    except UnicodeDecodeError as failure:
        raise BadRow(
            f"a row has a header whose key is not UTF-8, as Kafka requires for header keys: {bytes(failure.object)!r}"
        ) from None


def _header(one: dict[str, Any] | None) -> Header:
    if one is None or one["key"] is None:
        raise BadRow("a row has a header without a key")
    return one["key"], one["value"]
