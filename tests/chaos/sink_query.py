"""The query that `sink_campaign.py` kills: a topic into another one, each row once.

    python -m tests.chaos.sink_query BOOTSTRAP CHECKPOINT SOCKETS [--once] [--without] [--foreach]

SOCKETS is a directory for sockets between JVM and workers, whose path is short: with the socket's name it has at most 107 bytes.

Runs until it is killed; with --once up to the ends of the topic. With --without the option is off: at least once. With --foreach the
micro-batches are written by `foreachBatch`.

A task has all its rows in hand and writes them one to a produce request, some seconds long. So a kill finds it with a part of them
written, and a stopped one that wakes up has some left. The last query, with --once, writes as many as fit.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from headrace.spark import register, write_batches
from tests.support.spark_python import JVM

SOURCE, TARGET = "work", "out"
PARTITIONS = 3
ROWS_MAX = 6_000  # of a micro-batch


def main() -> int:
    from pyspark.sql import SparkSession

    bootstrap, checkpoint, sockets, *rest = sys.argv[1:]
    directory = Path(checkpoint).parent
    spark = (
        SparkSession.builder.master("local[2,8]")  # eight attempts of a task
        .config(
            "spark.driver.extraJavaOptions", f"{JVM} -Djava.io.tmpdir={directory}"
        )  # it is killed: what it leaves goes with the run
        .config("spark.local.dir", str(directory / "spark"))
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .config("spark.python.unix.domain.socket.dir", sockets)
        .getOrCreate()
    )
    register(spark)
    reader = spark.readStream.format("headrace").option("kafka.bootstrap.servers", bootstrap)
    reader = reader.option("subscribe", SOURCE).option("startingOffsets", "earliest")
    if "--once" not in rest:
        reader = reader.option("maxOffsetsPerTrigger", ROWS_MAX)
    frame = reader.load().selectExpr("value AS key", "value")
    slowly = {} if "--once" in rest else {"kafka.batch.size": "1", "kafka.linger.ms": "0"}
    writer = frame.writeStream.option("checkpointLocation", checkpoint)
    if "--foreach" in rest:
        writer = writer.foreachBatch(write_batches(TARGET, bootstrap_servers=bootstrap, options=slowly))
    else:
        writer = writer.format("headrace").option("kafka.bootstrap.servers", bootstrap).option("topic", TARGET)
        writer = writer.option("headrace.exactly.once", str("--without" not in rest).lower()).options(**slowly)
    trigger: dict[str, Any] = {"availableNow": True} if "--once" in rest else {"processingTime": "200 milliseconds"}
    writer.trigger(**trigger).start().awaitTermination()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
