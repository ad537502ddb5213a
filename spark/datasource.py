"""`.format("headrace")`: the `kafka` source's columns and options, for a query that changes nothing else.

After `headrace.spark.register(spark)`, or without it where PySpark finds `pyspark_headrace` by itself:

    spark.read.format("headrace").option("kafka.bootstrap.servers", b).option("subscribe", "clicks").load()

Batch, stream (`stream_reader.py`) and sink (`sink.py`). The Python Data Source API has no column pruning: the option `columns`, or
`.schema("value binary, offset bigint")`, names those to read. It has no preferred locations either: a range that is not on a task's host is
fetched over the network; `scan` and `stream` place their tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyspark
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceWriter, InputPartition
from pyspark.sql.types import StructType

from headrace.arrow.offset_range import OffsetRange
from headrace.arrow.planner import plan
from headrace.spark.column_types import SPARK_TYPES
from headrace.spark.executor_python import prepare_workers, quick_planning
from headrace.spark.options import DESCRIPTORS, SourceOptions, parse_options
from headrace.spark.packing import packed_at_most
from headrace.spark.reading import Reading, reading_of
from headrace.spark.sink import NO_OVERWRITE, HeadraceWriter, check_schema
from headrace.spark.sink_options import SinkOptions, parse_sink_options
from headrace.spark.stream_options import parse_stream_options

DESCRIPTOR_SCHEMA = "descriptor binary"
NO_LIMITS = "streams need PySpark 4.2 or later, which can limit a micro-batch; this is PySpark {}"
NO_STREAM_SINK = "the stream sink needs PySpark 4.1 or later, which writes Arrow batches; this is PySpark {}"


class RangesPartition(InputPartition):
    """Ranges of offsets as a partition of a DataFrame; without maxPartitions one range."""

    def __init__(self, ranges: Sequence[OffsetRange]) -> None:
        super().__init__([one.to_bytes() for one in ranges])


class HeadraceReader(DataSourceReader):
    """The batch reader: plans in the driver, reads in the workers."""

    def __init__(self, options: SourceOptions, reading: Reading) -> None:
        self._options = options
        self._reading = reading

    def partitions(self) -> list[InputPartition]:
        """One for each range; as in the connector, also for a partition without records. With maxPartitions at most that many."""
        most = self._options.max_partitions
        if most is not None:
            return [RangesPartition(task) for task in packed_at_most(plan(self._options), most)]
        return [RangesPartition([one]) for one in plan(replace(self._options, counts_empty=True))]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """The records of a task's ranges."""
        if partition is None or partition.value is None:
            return
        for descriptor in partition.value:
            one = OffsetRange.from_bytes(bytes(descriptor))
            if one.start < one.end:
                yield from self._reading.batches(one)


class HeadraceDataSource(DataSource):
    """The source that `register` registers as `headrace`."""

    @classmethod
    def name(cls) -> str:
        return "headrace"

    def schema(self) -> str | StructType:
        """The columns asked for, as the kafka source types them or as they are decoded.

        raises   ValueError for bad options: at `load()`, where Spark does not say whether it is for a batch or a stream; what
                 only one of them takes is refused by `reader` and `streamReader`
        """
        options = parse_options(self.options, is_stream=None)
        return DESCRIPTOR_SCHEMA if DESCRIPTORS in self.options else reading_of(options, None).spark_schema()

    def reader(self, schema: Any) -> DataSourceReader:
        """A batch reader of the schema's columns: ours, or a part of it that the user named."""
        options = parse_options(self.options)
        return HeadraceReader(options, _reading_for(schema, options))

    def streamReader(self, schema: Any) -> Any:
        """The same as a stream; Spark calls it at `start()`."""
        try:
            from headrace.spark.stream_reader import HeadraceStreamReader
        except ImportError:
            raise ValueError(NO_LIMITS.format(pyspark.__version__)) from None
        options = parse_stream_options(self.options)
        return HeadraceStreamReader(options, Reading(()) if options.descriptors else _reading_for(schema, options.scan))

    def writer(self, schema: Any, overwrite: bool) -> DataSourceWriter:
        """A batch writer. raises ValueError, for bad options, columns, or mode"""
        if overwrite:
            raise ValueError(NO_OVERWRITE)
        return HeadraceWriter(self._sink_options(schema))

    def streamWriter(self, schema: Any, overwrite: bool) -> Any:
        """A stream writer; `overwrite` is output mode complete, whose rows are appended. raises ValueError"""
        try:
            from headrace.spark.stream_sink import HeadraceStreamWriter
        except ImportError:
            raise ValueError(NO_STREAM_SINK.format(pyspark.__version__)) from None
        return HeadraceStreamWriter(self._sink_options(schema))

    def _sink_options(self, schema: Any) -> SinkOptions:
        options = parse_sink_options(self.options)
        check_schema(schema, options)
        return options


def _reading_for(schema: Any, options: SourceOptions) -> Reading:
    """raises   ValueError, for columns that are not the source's"""
    decoded = {} if options.decode is None else {one.name: one.dataType for one in options.decode.fields().fields}
    known = {**SPARK_TYPES, **{name: kind.simpleString() for name, kind in decoded.items()}}
    for column in schema.fields:
        wanted = known.get(column.name)
        if column.dataType.simpleString() != wanted:
            has = f"it is {wanted}" if wanted else f"choose from {', '.join(known)}"
            raise ValueError(
                f"schema: the headrace source can't read {column.name} as {column.dataType.simpleString()} ({has}); "
                "cast it in the query"
            )
    return Reading(tuple(schema.fieldNames()), options.decode)


def register(spark: SparkSession) -> None:
    """Register `.format("headrace")` in a session.

    raises   RuntimeError, if its Python workers can't import this package
    """
    prepare_workers(spark)
    try:
        with quick_planning(spark):
            spark.dataSource.register(HeadraceDataSource)
    except AnalysisException as failure:
        if "DATA_SOURCE_ALREADY_EXISTS" not in str(
            failure
        ):  # PySpark found pyspark_headrace by itself: the same source
            raise
