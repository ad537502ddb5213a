"""`stream`: micro-batches of records read in place.

Spark's own stream carries descriptors, one small row for each range of offsets; each micro-batch becomes a DataFrame as `scan` makes
it, located on the hosts of the replicas, which the Python Data Source API can't express:

    offsets -> checkpoint -> ranges of the micro-batch -> foreachBatch -> located `mapInArrow` -> each_batch(frame, batch_id)

    stream(spark, "clicks", bootstrap_servers=b, checkpoint="/data/checkpoint", each_batch=lambda frame, batch_id: ...)

Runs in: Spark's driver. A micro-batch that was not finished is repeated with the same offsets and the same `batch_id`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from headrace.arrow.ranges import OffsetRange
from headrace.ids import TopicPartition
from headrace.spark.datasource import register
from headrace.spark.decoding.decode_plan import Decode
from headrace.spark.options import COMMIT_GROUP, DESCRIPTORS, SOON
from headrace.spark.reading import Where, reading_of
from headrace.spark.scan import (
    MapBatches,
    frame_of,
    joined,
    merged_options,
    parallelism_of,
    plan_of,
    struct_of,
    tasks_of,
)
from headrace.spark.stream_offsets import to_json
from headrace.spark.stream_options import parse_stream_options

EachBatch = Callable[[DataFrame, int], None]


def stream(
    spark: SparkSession,
    topics: str | Sequence[str] | None = None,
    *,
    each_batch: EachBatch,
    checkpoint: str | None = None,
    trigger: Mapping[str, Any] | None = None,
    query_name: str | None = None,
    bootstrap_servers: str | Sequence[str] | None = None,
    columns: str | Sequence[str] | None = None,
    decode: Decode | None = None,
    decode_mode: str = "fail",
    where: Where = None,
    start: str | Mapping[TopicPartition, int] | None = None,
    max_offsets: int | None = None,
    map_batches: MapBatches | None = None,
    schema: str | StructType | None = None,
    commit_group: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> StreamingQuery:
    """Start a query that gives each micro-batch's records to a function.

    each_batch     called with (frame, batch_id), as by `foreachBatch`; frame is a `scan` of the micro-batch's offsets, possibly empty
    checkpoint     a directory; None: Spark's default, which only a query_name finds again
    trigger        what `DataStreamWriter.trigger` takes: {"availableNow": True}, {"processingTime": "10 seconds"}; None: without a pause
    start          of a new query: "latest" (None), "earliest", or offsets by TopicPartition of every partition
    max_offsets    of a micro-batch (maxOffsetsPerTrigger)
    commit_group   a consumer group whose offsets follow the query (headrace.commit.group)
    options        further options of `.format("headrace")` as a stream: subscribePattern, minOffsetsPerTrigger, ...
    returns        the running query; its numInputRows counts ranges, not records
    raises         ValueError, RuntimeError: at once; what the offsets and each_batch raise ends the query

    The other arguments are those of `scan`.
    """
    if not callable(each_batch):
        raise ValueError(f"each_batch must be a function of a DataFrame and a batch id, not {each_batch!r}")
    if (map_batches is None) != (schema is None):
        raise ValueError("map_batches and schema must be given together")
    given = {
        "subscribe": joined(topics, "topics"),
        "kafka.bootstrap.servers": joined(bootstrap_servers, "bootstrap_servers"),
        "startingOffsets": _start(start),
        "maxOffsetsPerTrigger": max_offsets,
        COMMIT_GROUP: commit_group,
        DESCRIPTORS: parallelism_of(spark),
    }
    merged = merged_options(given, options)
    reading = reading_of(parse_stream_options(merged, plan_of(decode, decode_mode)).scan, columns, where)
    wanted = None if schema is None else struct_of(spark, schema)
    register(spark)

    def process(descriptors: DataFrame, batch_id: int) -> None:
        ranges = [OffsetRange.from_bytes(bytes(row.descriptor)) for row in descriptors.collect()]
        session = descriptors.sparkSession
        tasks = tasks_of(session, ranges, pack=True, options=merged)
        each_batch(frame_of(session, tasks, reading, map_batches, wanted), batch_id)

    writer = spark.readStream.format("headrace").options(**merged).load().writeStream.foreachBatch(process)
    if trigger is not None:
        writer = writer.trigger(**trigger)
    if checkpoint is not None:
        writer = writer.option("checkpointLocation", checkpoint)
    if query_name is not None:
        writer = writer.queryName(query_name)
    return writer.start()


def _start(start: str | Mapping[TopicPartition, int] | None) -> str | dict[str, dict[str, int]] | None:
    if start is None or start in SOON:
        return start
    try:
        return to_json({TopicPartition(*name): int(offset) for name, offset in start.items()})  # type: ignore[union-attr]
    except (AttributeError, TypeError, ValueError):
        raise ValueError(f"start is 'earliest', 'latest' or offsets by (topic, partition), not {start!r}") from None
