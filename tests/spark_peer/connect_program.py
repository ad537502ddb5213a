"""What `test_connect.py` runs, by a Python that has Spark Connect's packages; prints one line of JSON: what was found by its name.

python -m tests.spark_peer.connect_program DIRECTORY
"""

import json
import os
import sys
from functools import partial
from pathlib import Path

import pyarrow.compute as pc
from pyspark.errors import PySparkException

from headrace.ids import TopicPartition
from headrace.spark import (
    aggregate,
    explain,
    progress,
    read_counts,
    refresh,
    register,
    scan,
    stream,
    write_batches,
    write_parquet,
)
from tests.support.fake_broker import FakeBroker, FileLog

CLICKS, OUT = TopicPartition("clicks", 0), TopicPartition("out", 0)
RECORDS = 100
DEADLINE_S = 300
STARTS = 6


def main() -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from pyspark.sql import SparkSession

    directory = Path(sys.argv[1])
    spark = SparkSession.builder.remote("local[2]").getOrCreate()
    log = FileLog(directory / "log")
    log.append(CLICKS, [(b"k", b"v%d" % number) for number in range(RECORDS)])
    log.create(*OUT)
    with FakeBroker(log) as broker:
        program = Program(spark, log, broker.address, directory)
        steps = [name for name in vars(Program) if not name.startswith("_")]
        print(json.dumps({name: told(getattr(program, name)) for name in steps}), flush=True)
    spark.stop()


def told(step):
    try:
        return step()
    except Exception as failure:
        return f"{type(failure).__name__}: {failure}"


class Program:
    """The steps, in their order."""

    def __init__(self, spark, log, bootstrap, directory):
        self._spark = spark
        self._log = log
        self._bootstrap = bootstrap
        self._directory = directory

    def _source(self, reader):
        options = {"kafka.bootstrap.servers": self._bootstrap, "subscribe": "clicks", "startingOffsets": "earliest"}
        return reader.format("headrace").options(**options).load()

    def _ended(self, start):
        """A query to its end. Spark gives a process of it ten seconds to begin, which a busy machine takes: then once more."""
        for left in range(STARTS - 1, -1, -1):
            try:
                query = start()
                assert query.awaitTermination(DEADLINE_S)
                return query
            except PySparkException as failure:
                if not left or "failed to connect back" not in str(failure):
                    raise
        raise AssertionError("unreachable")

    def _stored(self):
        return len(self._log.records(OUT))

    def session(self):
        return type(self._spark).__module__

    def registers(self):
        return register(self._spark)

    def batch(self):
        return self._source(self._spark.read).count()

    def scans(self):
        return scan(
            self._spark, "clicks", bootstrap_servers=self._bootstrap, columns="offset", where=pc.field("offset") >= 90
        ).count()

    def aggregates(self):
        found = aggregate(
            self._spark, "clicks", {"n": "count()"}, by="partition", bootstrap_servers=self._bootstrap
        ).collect()
        return [row.asDict() for row in found]

    def writes_parquet(self):
        rows = write_parquet(self._spark, "clicks", str(self._directory / "files"), bootstrap_servers=self._bootstrap)
        return sum(one.rows for one in rows)

    def stream_into_sink(self):
        rows = self._source(self._spark.readStream).selectExpr("key", "value")
        writer = rows.writeStream.format("headrace").option("kafka.bootstrap.servers", self._bootstrap)
        writer = writer.options(**{"topic": "out", "headrace.exactly.once": "true"}).trigger(availableNow=True)
        query = self._ended(writer.option("checkpointLocation", str(self._directory / "sink")).start)
        (source,) = progress(query)["sources"]
        return [self._stored(), source["description"], source["metrics"]["maxOffsetsBehindLatest"]]

    def each_batch_with_an_id(self):
        return self._each_batch("pages")

    def each_batch_without_an_id(self):
        return self._each_batch(None)

    def _each_batch(self, app_id):
        rows = self._source(self._spark.readStream).selectExpr("key", "value")
        write = write_batches("out", bootstrap_servers=self._bootstrap, app_id=app_id)
        writer = rows.writeStream.foreachBatch(write).trigger(availableNow=True)
        self._ended(writer.option("checkpointLocation", str(self._directory / f"each-{app_id}")).start)
        return self._stored()

    def streams(self):
        target = str(self._directory / "streamed")

        def each(frame, _batch_id):
            frame.write.mode("append").parquet(target)

        start = partial(
            stream,
            self._spark,
            "clicks",
            bootstrap_servers=self._bootstrap,
            start="earliest",
            checkpoint=str(self._directory / "stream"),
            trigger={"availableNow": True},
            each_batch=each,
        )
        self._ended(start)
        return self._spark.read.parquet(target).count()

    def explains(self):
        return explain(self._source(self._spark.read))

    def counts_reads(self):
        return read_counts(scan(self._spark, "clicks", bootstrap_servers=self._bootstrap)).local_bytes

    def refreshes(self):
        return refresh(self._source(self._spark.read)).count()


if __name__ == "__main__":
    main()
