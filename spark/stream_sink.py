"""`df.writeStream.format("headrace")`: each micro-batch is written as `sink.py` writes a batch, at least once.

Runs in: Python workers. Spark repeats a micro-batch that it did not finish, with all of its records. Output mode complete
appends, as the connector's does. Since PySpark 4.1, which gives Arrow batches to a stream's writer.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamArrowWriter

from headrace.spark.sink import Written, write_records
from headrace.spark.sink_options import SinkOptions


class HeadraceStreamWriter(DataSourceStreamArrowWriter):
    """The stream writer."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """The rows of one task of a micro-batch. raises what `write_records` raises"""
        return Written(write_records(self._options, iterator))
