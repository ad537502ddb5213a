"""Run one of the jobs over a topic of activity, in a batch or as a stream, and show its result or write it into a topic.

Needs a clone's root as the working directory: `python -m examples.run_job --help`.
"""

from __future__ import annotations

import argparse
import inspect
import signal
import sys
from collections.abc import Sequence
from typing import Any

import pyarrow.compute as pc
from pyspark import SparkConf
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from examples import in_worker
from examples.activity import SCHEMA
from examples.jobs import JOBS, Job
from headrace.errors import HeadraceError
from headrace.spark import register, scan
from headrace.spark.decoding import json

EXAMPLES = """examples:
  python -m examples.run_job top                                          the topic so far
  python -m examples.run_job rates --set window="10 seconds" --rows
  python -m examples.run_job sessions --stream --until-now                the same as a stream, up to now
  python -m examples.run_job alerts --stream --to alerts --checkpoint data/alerts    until Ctrl-C

jobs:
"""


def read_batch(spark: SparkSession, job: Job, topic: str, bootstrap_servers: str) -> DataFrame:
    """Activity up to now. Values are parsed in the Python worker; records that are no activity are left out there."""
    return scan(
        spark,
        topic,
        bootstrap_servers=bootstrap_servers,
        columns=job.columns,
        decode=json(SCHEMA),
        decode_mode="null",
        where=pc.field(_main_field(job)).is_valid(),
    )


def read_stream(
    spark: SparkSession, job: Job, topic: str, bootstrap_servers: str, late: str = "1 minute", **options: Any
) -> DataFrame:
    """Activity from the topic's beginning on. `late`: how far records may be out of order; options: further ones of the source"""
    reader = spark.readStream.format("headrace").option("kafka.bootstrap.servers", bootstrap_servers)
    reader = reader.option("subscribe", topic).option("startingOffsets", "earliest")
    reader = reader.option("decode.value.format", "json").option("decode.value.schema", SCHEMA)
    reader = reader.option("decode.mode", "null").option("columns", job.columns).options(**options)
    return reader.load().where(F.col(_main_field(job)).isNotNull()).withWatermark("timestamp", late)


def as_records(result: DataFrame, key: str) -> DataFrame:
    """Rows of a result as records: the key, and the whole row as JSON."""
    return result.select(F.col(key).alias("key"), F.to_json(F.struct("*")).alias("value"))


def write_batch(result: DataFrame, job: Job, topic: str, bootstrap_servers: str) -> None:
    """A result into a topic; at least once."""
    records = as_records(result, job.key).write.format("headrace").mode("append")
    records.option("kafka.bootstrap.servers", bootstrap_servers).option("topic", topic).save()


def write_stream(
    result: DataFrame, job: Job, topic: str, bootstrap_servers: str, checkpoint: str, until_now: bool
) -> Any:
    """A stream's result into a topic; at least once. Returns the query."""
    if job.mode == "update":  # a micro-batch is written as a batch, whatever the sink says of modes
        writer = result.writeStream.outputMode(job.mode)
        writer = writer.foreachBatch(lambda rows, _batch_id: write_batch(rows, job, topic, bootstrap_servers))
    else:
        writer = as_records(result, job.key).writeStream.format("headrace")
        writer = writer.option("kafka.bootstrap.servers", bootstrap_servers).option("topic", topic)
    return _started(writer.option("checkpointLocation", checkpoint), until_now)


def show_stream(result: DataFrame, job: Job, checkpoint: str | None, until_now: bool, rows: int) -> Any:
    """Print what each micro-batch gives. Returns the query."""

    def show(frame: DataFrame, _batch_id: int) -> None:
        if not frame.isEmpty():
            _show(frame, job, rows)

    writer = result.writeStream.outputMode(job.mode).foreachBatch(show)
    return _started(writer.option("checkpointLocation", checkpoint) if checkpoint else writer, until_now)


def _show(result: DataFrame, job: Job, rows: int) -> None:
    order = [name for name in ("window", "rank", job.key) if name in result.columns]
    result.orderBy(*order).show(rows, truncate=False)


def _started(writer: Any, until_now: bool) -> StreamingQuery:
    found: StreamingQuery = writer.trigger(
        **({"availableNow": True} if until_now else {"processingTime": "5 seconds"})
    ).start()
    return found


def _main_field(job: Job) -> str:
    """The field without which a record counts for nothing: the one after the timestamp."""
    return job.columns.split(",")[1]


def arguments(words: Sequence[str] | None) -> argparse.Namespace:
    """Of the command line; exits with 2 where they are wrong."""
    lines = [f"  {name:<10} {(job.function.__doc__ or '').strip()}" for name, job in JOBS.items()]
    parser = argparse.ArgumentParser(
        prog="python -m examples.run_job",
        description=__doc__.partition("\n")[0],
        epilog=EXAMPLES + "\n".join(lines),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("job", choices=JOBS, metavar="JOB", help="one of those below")
    parser.add_argument("--topic", default="activity", help="topic of activity (default: %(default)s)")
    parser.add_argument(
        "--bootstrap-server", default="127.0.0.1:9092", metavar="HOST:PORT", help="default: %(default)s"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an argument of the job, such as window='10 minutes' or pages=3; repeatable",
    )
    parser.add_argument(
        "--rows", action="store_true", help="batch: count in Spark over all rows, not in the Python workers"
    )
    parser.add_argument("--stream", action="store_true", help="as a stream, until Ctrl-C")
    parser.add_argument("--until-now", action="store_true", help="stream: end where the topic ends now")
    parser.add_argument(
        "--late", default="1 minute", help="stream: how far records may be out of order (default: %(default)s)"
    )
    parser.add_argument(
        "--to", metavar="TOPIC", help="write the result into this topic, which must exist; default: show it"
    )
    parser.add_argument("--checkpoint", metavar="DIR", help="stream: where its state is kept; needed with --to")
    parser.add_argument(
        "--show", type=int, default=20, metavar="ROWS", help="how many rows to show (default: %(default)s)"
    )
    given = parser.parse_args(words)
    if given.stream and given.to and not given.checkpoint:
        parser.error("--stream --to TOPIC needs --checkpoint DIR: without it a restart writes everything again")
    if not given.stream and (given.until_now or given.checkpoint):
        parser.error("--until-now and --checkpoint need --stream")
    try:
        given.settings = settings_of(JOBS[given.job], given.set)
    except ValueError as failure:
        parser.error(str(failure))
    return given


def settings_of(job: Job, words: Sequence[str]) -> dict[str, Any]:
    """NAME=VALUE words as keyword arguments of a job, of the types of its defaults. raises ValueError"""
    known = {
        name: one.default
        for name, one in inspect.signature(job.function).parameters.items()
        if one.default is not one.empty
    }
    found = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not sign or name not in known:
            raise ValueError(f"--set {word}: {job.function.__name__} takes NAME=VALUE of {', '.join(known)}")
        try:
            found[name] = type(known[name])(value)
        except ValueError:
            raise ValueError(f"--set {word}: {name} must be of type {type(known[name]).__name__}") from None
    return found


def _session() -> SparkSession:
    """What spark-submit or spark-defaults.conf say is stronger."""
    conf = SparkConf().setIfMissing("spark.master", "local[*]").setIfMissing("spark.app.name", "headrace-example")
    conf.setIfMissing("spark.sql.shuffle.partitions", "4")  # of Spark's 200 a stream opens each in each micro-batch
    conf.setIfMissing("spark.sql.session.timeZone", "UTC").setIfMissing("spark.log.level", "ERROR")
    conf.setIfMissing("spark.ui.showConsoleProgress", "false")
    return SparkSession.builder.config(conf=conf).getOrCreate()


def run_batch(spark: SparkSession, given: argparse.Namespace) -> None:
    job = JOBS[given.job]
    if given.rows or given.job not in in_worker.JOBS:
        result = job.function(read_batch(spark, job, given.topic, given.bootstrap_server), **given.settings)
    else:
        counted = in_worker.Counted(spark, given.topic, given.bootstrap_server)
        result = in_worker.JOBS[given.job](counted, **given.settings)
    if given.to:
        write_batch(result, job, given.to, given.bootstrap_server)
    else:
        _show(result, job, given.show)


def run_stream(spark: SparkSession, given: argparse.Namespace) -> None:
    job = JOBS[given.job]
    events = read_stream(spark, job, given.topic, given.bootstrap_server, given.late)
    result = job.function(events, **given.settings)
    if given.to:
        query = write_stream(result, job, given.to, given.bootstrap_server, given.checkpoint, given.until_now)
    else:
        query = show_stream(result, job, given.checkpoint, given.until_now, given.show)
    try:
        query.awaitTermination()
    except KeyboardInterrupt:
        query.stop()


def main(words: Sequence[str] | None = None) -> int:
    given = arguments(words)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    spark = _session()
    register(spark)
    try:
        (run_stream if given.stream else run_batch)(spark, given)
    except (HeadraceError, ValueError, PySparkException) as failure:
        print(f"{given.job}: {str(failure).strip().splitlines()[-1]}", file=sys.stderr)
        return 1
    finally:
        spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
