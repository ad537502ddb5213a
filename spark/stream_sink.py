"""`df.writeStream.format("headrace")`: each micro-batch is written as `sink.py` writes a batch.

Runs in: Python workers; `commit` in the driver. At least once: Spark repeats a micro-batch that it did not finish, with all of its
records. With the option headrace.exactly.once what a micro-batch wrote before is found and left out (`sink_attempt.py`). One that was
committed is not written again if its rows are still the same; else its checkpoint is an older copy, and the query ends. Output mode
complete appends, as the connector's does.

Spark makes a writer in the driver for each micro-batch before its tasks run, hands it to them, and makes another one to commit. Since
PySpark 4.1, which gives Arrow batches to a stream's writer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from headrace.spark.sink import Written, commit_numbered, connect, write_numbered, write_records
from headrace.spark.sink_floors import Ends, ends_of
from headrace.spark.sink_options import TXN_APP_ID, SinkOptions
from headrace.spark.sink_task import SinkTask, task_of_stream


class HeadraceStreamWriter(DataSourceStreamArrowWriter):
    """The stream writer."""

    def __init__(self, options: SinkOptions) -> None:
        if options.txn_app_id:
            raise ValueError(f"option {TXN_APP_ID} is for batches, as in foreachBatch: a stream has its own id")
        self._options = options
        self._ends = Ends({}, {})
        if options.is_exactly_once:
            with connect(options) as cluster:
                self._ends = ends_of(cluster, options.topic)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """The rows of one task of a micro-batch. raises what `write_records` and `write_numbered` raise"""
        if not self._options.is_exactly_once:
            return Written(write_records(self._options, iterator))
        return self.write_task(iterator, task_of_stream())

    def write_task(self, iterator: Iterator[pa.RecordBatch], task: SinkTask) -> Written:
        """The rows of a task, once."""
        return write_numbered(self._options, iterator, task, self._ends)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """All tasks of a micro-batch are done. raises   StaleCheckpoint, KafkaError, ConnectionFailed"""
        commit_numbered(self._options, messages, batchId, self._ends)
