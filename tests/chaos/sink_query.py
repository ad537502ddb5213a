"""The query that `sink_campaign.py` kills: a topic into another one, each row once.

    python -m tests.chaos.sink_query BOOTSTRAP CHECKPOINT [--once]

Runs until it is killed; with --once up to the ends of the topic. Its rows come slowly, 50 at a time, so that a kill may find a task
that has written some of them. It seldom does yet: with the option off, 16 kills left no row twice.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any

from headrace.spark import register

SOURCE, TARGET = "work", "out"
PARTITIONS = 3
PAUSE_S = 0.02  # between 50 rows of a task


def slowly(batches: Iterator[Any]) -> Iterator[Any]:
    """As they are, in their order."""
    for batch in batches:
        yield batch
        time.sleep(PAUSE_S)


def main() -> int:
    from pyspark.sql import SparkSession

    bootstrap, checkpoint, *rest = sys.argv[1:]
    spark = (
        SparkSession.builder.master("local[2,8]")  # eight attempts of a task
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "50")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .getOrCreate()
    )
    register(spark)
    reader = spark.readStream.format("headrace").option("kafka.bootstrap.servers", bootstrap)
    reader = (
        reader.option("subscribe", SOURCE).option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", "6000")
    )
    frame = reader.load().selectExpr("value AS key", "value")
    frame = frame.mapInArrow(slowly, frame.schema)
    writer = frame.writeStream.format("headrace").option("kafka.bootstrap.servers", bootstrap).option("topic", TARGET)
    writer = writer.option("headrace.exactly.once", "true").option("checkpointLocation", checkpoint)
    writer = writer.option("kafka.batch.size", "1000").option(
        "kafka.linger.ms", "0"
    )  # many requests for a task to die in
    writer = (
        writer.trigger(availableNow=True) if "--once" in rest else writer.trigger(processingTime="200 milliseconds")
    )
    writer.start().awaitTermination()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
