"""A driver of Spark jobs over the three hosts: one command a line, as JSON; one line with the result.

    python -m tests.spark_hosts.driver MASTER BOOTSTRAP HOST DIRECTORY

    {"job": "scan", "topic": "t", "hold": null}     -> {"rows": ..., "sum": ..., "local": bytes, "remote": bytes, "tasks": ...}
    {"job": "format", "topic": "t"}                 -> the same by .format("headrace"), which counts no bytes

With `hold`, the name of a directory, each task waits after its first batch until there is a file `go` in it; that it waits it says by
a file of its own there.
"""

import json
import os
import sys
import time
import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

CORES = 6
JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData"  # starts soon
HOLD_MAX_S = 240


def session(master, host, directory):
    from pyspark.sql import SparkSession

    settings = {
        "spark.driver.host": host,
        "spark.driver.bindAddress": host,
        "spark.driver.extraJavaOptions": JVM,
        "spark.executor.extraJavaOptions": JVM,
        "spark.executor.memory": "512m",
        "spark.executor.cores": "2",
        "spark.cores.max": str(CORES),
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
        "spark.locality.wait": "10s",  # as `headrace spark submit` sets it
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "3",
        "spark.local.dir": str(directory / "spark"),
    }
    builder = SparkSession.builder.master(master).appName("hosts")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def sums_of(hold):
    """The function of a task: rows, and the sum of the numbers that the values are."""

    def sums(batches):
        rows = total = 0
        for number, batch in enumerate(batches):
            rows += batch.num_rows
            total += pc.sum(batch["value"].cast(pa.string()).cast(pa.int64())).as_py() or 0
            if hold and number == 0:
                (Path(hold) / f"{uuid.uuid4().hex}.{os.environ['SPARK_LOCAL_HOSTNAME']}").touch()
                deadline = time.monotonic() + HOLD_MAX_S
                while not (Path(hold) / "go").exists() and time.monotonic() < deadline:
                    time.sleep(0.02)
        yield pa.RecordBatch.from_pydict({"rows": [rows], "total": [total]})

    return sums


def run(spark, bootstrap, command):
    from headrace.spark import explain, read_counts, scan

    if command["job"] == "format":
        reader = spark.read.format("headrace").option("kafka.bootstrap.servers", bootstrap)
        frame = reader.option("subscribe", command["topic"]).load()
        rows, total = frame.selectExpr("count(*)", "sum(CAST(CAST(value AS STRING) AS BIGINT))").first()
        return {"rows": rows, "sum": total}
    frame = scan(
        spark,
        command["topic"],
        bootstrap_servers=bootstrap,
        columns=["value"],
        min_partitions=command.get("tasks"),
        map_batches=sums_of(command.get("hold")),
        schema="rows bigint, total bigint",
    )
    found = frame.collect()
    counts = read_counts(frame)
    return {
        "rows": sum(row.rows for row in found),
        "sum": sum(row.total for row in found),
        "local": counts.local_bytes,
        "remote": counts.remote_bytes,
        "said": explain(frame),
    }


def main():
    master, bootstrap, host, directory = sys.argv[1:]
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = host
    from headrace.spark import register

    spark = session(master, host, Path(directory))
    register(spark)
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(run(spark, bootstrap, json.loads(line))), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
