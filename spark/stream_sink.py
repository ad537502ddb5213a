"""`df.writeStream.format("headrace")`: each micro-batch is written as `sink.py` writes a batch.

Runs in: Python workers; `commit` in the driver. At least once: Spark repeats a micro-batch that it did not finish, with all of its
records. With the option headrace.exactly.once what a micro-batch wrote before is found and left out (`sink_attempt.py`), and one that was
committed is not written again. Output mode complete appends, as the connector's does.

Spark makes a writer in the driver for each micro-batch before its tasks run, hands it to them, and makes another one to commit. Since
PySpark 4.1, which gives Arrow batches to a stream's writer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from headrace.ids import TopicPartition
from headrace.spark.sink import Written, connect, write_once, write_records
from headrace.spark.sink_floors import Floors, commit_floors, ends_of, settle_floors
from headrace.spark.sink_options import SinkOptions
from headrace.spark.sink_task import SinkTask, task_of_stream


class HeadraceStreamWriter(DataSourceStreamArrowWriter):
    """The stream writer."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options
        self._ends: dict[TopicPartition, int] = {}
        if options.is_exactly_once:
            with connect(options) as cluster:
                self._ends = ends_of(cluster, options.topic)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """The rows of one task of a micro-batch. raises what `write_records` and `write_once` raise"""
        if not self._options.is_exactly_once:
            return Written(write_records(self._options, iterator))
        return self.write_task(iterator, task_of_stream())

    def write_task(self, iterator: Iterator[pa.RecordBatch], task: SinkTask) -> Written:
        """The rows of a task, once."""
        options = self._options
        with connect(options) as cluster:
            floors = settle_floors(cluster, options.topic, task, self._ends)
        if task.batch <= floors.batch:  # committed, and Spark stopped before it wrote that down
            for _batch in iterator:  # what comes before the sink may have to see the end of its rows
                pass
            return Written(0, task.query, task.run)
        return Written(write_once(options, iterator, task, floors), task.query, task.run)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """All tasks of a micro-batch are done: what is in the topic now is not read again."""
        written = [one for one in messages if isinstance(one, Written) and one.query]
        if written and self._options.is_exactly_once:
            with connect(self._options) as cluster:
                commit_floors(cluster, written[0].query, Floors(self._ends, batchId, written[0].run))
