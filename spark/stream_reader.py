"""`.format("headrace")` as a stream: what Spark asks of a source, answered by `StreamPlanner`.

Runs in: a Python process beside Spark's driver (offsets), Python workers (`read`). A stream of records reads its ranges as a batch
does; a stream of descriptors, which `stream` makes, gives the ranges themselves.

Source: `pyspark.sql.datasource.DataSourceStreamReader`; read limits and Trigger.AvailableNow since PySpark 4.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from headrace.arrow.offset_range import OffsetRange
from headrace.spark.packing import packed_at_most
from headrace.spark.reading import Reading
from headrace.spark.stream_epochs import StreamEpochs
from headrace.spark.stream_offsets import epochs_from_json, from_json, to_json
from headrace.spark.stream_options import StreamOptions
from headrace.spark.stream_planner import StreamPlanner

DESCRIPTOR_SCHEMA = pa.schema([("descriptor", pa.binary())])


class Descriptors(InputPartition):
    """Ranges as a partition of a micro-batch; `value` is a list of bytes."""


class HeadraceStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The stream reader of one query."""

    def __init__(self, options: StreamOptions, reading: Reading) -> None:
        self._options = options
        self._reading = reading
        self._planner = StreamPlanner(options)
        self._epochs = StreamEpochs(options.scan)

    def initialOffset(self) -> dict[str, Any]:
        return to_json(self._planner.initial())

    def getDefaultReadLimit(self) -> ReadLimit:
        """The options' limit. There is none of two numbers: with both, the planner knows the lower one."""
        if self._options.max_offsets is not None:
            return ReadMaxRows(self._options.max_offsets)
        if self._options.min_offsets is not None:
            return ReadMinRows(self._options.min_offsets)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        self._planner.freeze()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """The end of the next micro-batch; `start`, if there is none yet."""
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        starts, known = from_json(start), epochs_from_json(start)
        self._planner.commit(starts, known)
        ends = self._planner.latest(starts, not isinstance(limit, ReadAllAvailable), most)
        return to_json(ends, self._epochs.of_ends(starts, known, ends, self._planner.leader_epochs))

    def reportLatestOffset(self) -> dict[str, Any] | None:
        """For the query's progress."""
        newest = self._planner.newest
        return None if newest is None else to_json(newest)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """One for each range, with maxPartitions at most that many; of descriptors one for all."""
        starts, ends = from_json(start), from_json(end)
        leaders, self._planner.leader_epochs = (
            self._planner.leader_epochs,
            {},
        )  # of the ends found last: they are new once
        starts = self._epochs.checked(starts, epochs_from_json(start), ends, epochs_from_json(end), leaders)
        ranges = self._planner.ranges(starts, ends)
        if self._options.descriptors:
            return [Descriptors([one.to_bytes() for one in ranges])] if ranges else []
        tasks = packed_at_most(ranges, self._options.scan.max_partitions or len(ranges) or 1)
        return [Descriptors([one.to_bytes() for one in task]) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The records of ranges, or their descriptors."""
        if self._options.descriptors:
            yield pa.RecordBatch.from_arrays([pa.array(partition.value, pa.binary())], schema=DESCRIPTOR_SCHEMA)
            return
        for descriptor in partition.value:
            yield from self._reading.batches(OffsetRange.from_bytes(descriptor))

    def commit(self, end: dict[str, Any]) -> None:
        """Everything below `end` was processed."""
        self._planner.commit(from_json(end), epochs_from_json(end))
