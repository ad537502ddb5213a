"""`.format("headrace")`: the `kafka` source's columns and options, for a query that changes nothing else.

After `headrace.spark.register(spark)`:

    spark.read.format("headrace").option("kafka.bootstrap.servers", b).option("subscribe", "clicks").load()

Batch. The Python Data Source API knows no column pruning: the option `columns` names those to read (all of Kafka's where it is not set).
It knows no preferred locations either: a range that is not on a task's host comes over the network; `scan` places its tasks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from headrace.spark.columns import KAFKA_COLUMNS, check_columns, spark_schema
from headrace.spark.options import ScanOptions, parse_options
from headrace.spark.planner import plan
from headrace.spark.ranges import OffsetRange, read_range


class RangePartition(InputPartition):
    """One range of offsets as a partition of a DataFrame."""

    def __init__(self, one: OffsetRange) -> None:
        super().__init__(one.to_bytes())


class HeadraceReader(DataSourceReader):
    """The batch reader: plans in the driver, reads in the workers."""

    def __init__(self, options: ScanOptions, names: tuple[str, ...], parallelism: int) -> None:
        self._options = options
        self._names = names
        self._parallelism = parallelism

    def partitions(self) -> list[InputPartition]:
        """One for each range."""
        return [RangePartition(one) for one in plan(self._options, self._parallelism)]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """The records of one range."""
        if partition is not None and partition.value is not None:
            yield from read_range(OffsetRange.from_bytes(bytes(partition.value)), self._names)


class HeadraceDataSource(DataSource):
    """The source that `register` makes known as `headrace`."""

    parallelism = 2

    @classmethod
    def name(cls) -> str:
        return "headrace"

    def schema(self) -> str:
        """The columns asked for, as the kafka source types them."""
        return spark_schema(self._names(parse_options(self.options)))

    def reader(self, schema: Any) -> DataSourceReader:
        """A batch reader."""
        options = parse_options(self.options)
        return HeadraceReader(options, self._names(options), self.parallelism)

    @staticmethod
    def _names(options: ScanOptions) -> tuple[str, ...]:
        if options.columns is not None:
            return check_columns(options.columns)
        return (*KAFKA_COLUMNS, "headers") if options.includes_headers else KAFKA_COLUMNS


def register(spark: SparkSession) -> None:
    """Make `.format("headrace")` known to a session."""
    parallelism = 2
    if hasattr(spark, "_jsparkSession"):
        parallelism = int(spark.sparkContext.defaultParallelism)
    spark.dataSource.register(type("HeadraceDataSource", (HeadraceDataSource,), {"parallelism": parallelism}))
